// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/value.h"

#include "shell/describe.h"
#include "shell/format.h"

#include <inttypes.h>
#include <string.h>

enum {
	SHORT_ELEMENTS = 16,
	SHORT_BYTES = 256,
	MAX_NESTING = 24,
	MAX_FLAGS = 16,
};

static uint64_t load_integer(const struct value *value, uint64_t offset, uint64_t size)
{
	uint64_t result = 0;

	memcpy(&result, value->bytes + offset, size < 8 ? size : 8);
	return result;
}

static bool is_kept(const struct value *value, uint64_t offset, uint64_t size)
{
	return offset <= value->kept && size <= value->kept - offset;
}

// --- lines -------------------------------------------------------------------

static void begin_line(struct session *session, const char *name, int indent)
{
	output_text(session->output, "%*s", indent, "");
	if (name)
		output_text(session->output,
			    "%s%s%s = ", output_colour(session->output, COLOUR_FIELD), name,
			    output_colour(session->output, COLOUR_PLAIN));
}

static void print_word(struct session *session, const char *name, int indent, const char *word)
{
	begin_line(session, name, indent);
	output_text(session->output, "%s\n", word);
	output_string(session->output, name, word);
}

// --- scalars -----------------------------------------------------------------

static int64_t sign_extend(uint64_t value, unsigned bits)
{
	return bits == 0 || bits >= 64 ? (int64_t)value
				       : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static void print_integer(struct session *session, const struct heap_type *type, uint64_t value,
			  unsigned bits, const char *name, int indent)
{
	begin_line(session, name, indent);
	if (type->flags & HEAP_TYPE_BOOLEAN) {
		output_text(session->output, "%s\n", value ? "true" : "false");
		output_boolean(session->output, name, value != 0);
	} else if ((type->flags & HEAP_TYPE_CHARACTER) && type->size == 1) {
		char byte = (char)value;
		const char *escaped = session_keep(session, format_escaped(&byte, 1));

		output_text(session->output, "%" PRId64 " '%s'\n", sign_extend(value, bits),
			    escaped);
		output_signed(session->output, name, sign_extend(value, bits));
	} else if (type->flags & HEAP_TYPE_SIGNED) {
		output_text(session->output, "%" PRId64 "\n", sign_extend(value, bits));
		output_signed(session->output, name, sign_extend(value, bits));
	} else {
		output_text(session->output, "%" PRIu64 "\n", value);
		output_number(session->output, name, value);
	}
}

static void print_float(struct session *session, const struct value *value, uint64_t offset,
			uint64_t size, const char *name, int indent)
{
	const uint8_t *at = value->bytes + offset;
	long double number = 0;
	float single;
	double twice;

	if (size == sizeof(single)) {
		memcpy(&single, at, sizeof(single));
		number = single;
	} else if (size == sizeof(twice)) {
		memcpy(&twice, at, sizeof(twice));
		number = twice;
	} else if (size == sizeof(number)) {
		memcpy(&number, at, sizeof(number));
	}
	begin_line(session, name, indent);
	output_text(session->output, "%.*Lg\n", size == 4 ? 7 : 15, number);
	output_real(session->output, name, (double)number);
}

// By name; a value that is several enumerators' bits together as A|B.
static const char *describe_enumerator(struct session *session, const struct heap_type *type,
				       int64_t value)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_enumerator *all = types->enumerators + type->first_member;
	char text[512] = "";
	uint64_t rest = (uint64_t)value;
	unsigned shown = 0;

	for (uint32_t i = 0; i < type->members; i++) {
		if (all[i].value == value)
			return session_keep(session,
					    format_name(heap_types_string(types, all[i].name)));
	}
	for (uint32_t i = 0; i < type->members && shown < MAX_FLAGS; i++) {
		uint64_t bit = (uint64_t)all[i].value;
		size_t length = strlen(text);

		if (bit == 0 || (bit & (bit - 1)) || (rest & bit) != bit)
			continue;
		snprintf(text + length, sizeof(text) - length, "%s%s", shown ? "|" : "",
			 heap_types_string(types, all[i].name));
		rest &= ~bit;
		shown++;
	}
	if (shown > 0 && rest == 0)
		return session_keep(session, format_name(text));
	return session_format(session, "%" PRId64, value);
}

static void print_pointer(struct session *session, uint64_t pointer, const char *name, int indent)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id target = heap_snapshot_find(snapshot, pointer);
	const char *text;

	if (pointer == 0)
		text = "NULL";
	else if (target == HEAP_NO_OBJECT)
		text = describe_address(session, pointer);
	else if (pointer == snapshot->address[target])
		text = describe_object(session, target);
	else
		text = session_format(session, "%s + %" PRIu64, describe_object(session, target),
				      pointer - snapshot->address[target]);
	if (target != HEAP_NO_OBJECT)
		session_remember(session, target);
	begin_line(session, name, indent);
	output_text(session->output, "%s\n", text);
	if (!output_is_json(session->output))
		return;
	output_open_object(session->output, name);
	output_address(session->output, "pointer", pointer);
	if (target != HEAP_NO_OBJECT)
		describe_object_json(session, "object", target);
	output_close(session->output);
}

static void print_text(struct session *session, const struct value *value, uint64_t offset,
		       uint64_t size, const char *name, int indent)
{
	const char *at = (const char *)value->bytes + offset;
	uint64_t kept = offset < value->kept ? value->kept - offset : 0;
	size_t length = strnlen(at, kept < size ? kept : size);
	const char *escaped = session_keep(session, format_escaped(at, length));

	begin_line(session, name, indent);
	output_text(session->output, "\"%s\"%s\n", escaped,
		    length == kept && kept < size ? "…" : "");
	output_string(session->output, name, session_format(session, "%.*s", (int)length, at));
}

// --- compounds ---------------------------------------------------------------

static const char *member_name(struct session *session, const struct heap_member *member)
{
	const struct heap_types *types = &session->snapshot->types;

	if (member->flags & HEAP_MEMBER_BASE)
		return describe_type(session, member->type);
	if (member->name)
		return session_keep(session, format_name(heap_types_string(types, member->name)));
	// An anonymous struct or union.
	return types->types[heap_types_strip(types, member->type)].kind == HEAP_TYPE_UNION
		       ? "(union)"
		       : "(struct)";
}

static void print_bit_field(struct session *session, const struct value *value,
			    const struct heap_member *member, uint64_t offset, int indent)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, member->type)];
	unsigned bits = member->bit_size;
	uint64_t bytes = (member->bit_offset + bits + 7u) / 8;
	const char *name = member_name(session, member);

	if (!is_kept(value, offset, bytes) || bytes > 8) {
		print_word(session, name, indent, "(not kept)");
		return;
	}

	uint64_t field = load_integer(value, offset, bytes) >> member->bit_offset;

	if (bits < 64)
		field &= (UINT64_C(1) << bits) - 1;
	if (type->kind == HEAP_TYPE_ENUM)
		print_word(session, name, indent,
			   describe_enumerator(session, type, (int64_t)field));
	else
		print_integer(session, type, field, bits, name, indent);
}

static void print_members(struct session *session, const struct value *value,
			  const struct heap_type *type, uint64_t offset, int indent,
			  enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;

	for (uint32_t i = 0; i < type->members && !session_interrupted; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->flags & HEAP_MEMBER_BIT_FIELD)
			print_bit_field(session, value, member, offset + member->offset, indent);
		else if (member->flags & HEAP_MEMBER_VIRTUAL_BASE)
			print_word(session, member_name(session, member), indent, "(virtual base)");
		else
			value_print(session, value, member->type, offset + member->offset,
				    member_name(session, member), indent, limit);
	}
}

static void print_compound(struct session *session, const struct value *value,
			   const struct heap_type *type, uint64_t offset, const char *name,
			   int indent, enum value_limit limit)
{
	begin_line(session, name, indent);
	output_text(session->output, "{\n");
	output_open_object(session->output, name);
	print_members(session, value, type, offset, indent + 2, limit);
	output_close(session->output);
	output_text(session->output, "%*s}\n", indent, "");
}

static bool is_text(const struct heap_type *type)
{
	return (type->flags & HEAP_TYPE_CHARACTER) && type->size == 1;
}

static void print_array(struct session *session, const struct value *value,
			const struct heap_type *type, uint64_t offset, const char *name, int indent,
			enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id element = heap_types_strip(types, type->target);
	uint64_t stride = heap_types_size(types, element);
	uint64_t count = type->count;

	// A flexible array is as long as the object is.
	if ((type->flags & HEAP_TYPE_FLEXIBLE) && stride > 0 && value->size > offset)
		count = (value->size - offset) / stride;
	if (is_text(&types->types[element])) {
		print_text(session, value, offset, count, name, indent);
		return;
	}
	begin_line(session, name, indent);
	output_text(session->output, "{\n");
	output_open_array(session->output, name);
	value_print_elements(session, value, element, offset, count, indent + 2, limit);
	output_close(session->output);
	output_text(session->output, "%*s}\n", indent, "");
}

void value_print_elements(struct session *session, const struct value *value, heap_type_id type,
			  uint64_t offset, uint64_t count, int indent, enum value_limit limit)
{
	uint64_t stride = heap_types_size(&session->snapshot->types, type);
	uint64_t shown = limit == VALUE_SHORT && count > SHORT_ELEMENTS ? SHORT_ELEMENTS : count;

	for (uint64_t i = 0; i < shown && !session_interrupted; i++) {
		if (offset + i * stride >= value->kept) {
			output_text(session->output, "%*s… %" PRIu64 " more, not kept\n", indent,
				    "", count - i);
			return;
		}
		// In JSON elements have no keys.
		value_print(session, value, type, offset + i * stride,
			    output_is_json(session->output)
				    ? NULL
				    : session_format(session, "[%" PRIu64 "]", i),
			    indent, limit);
	}
	if (shown < count)
		output_text(session->output, "%*s… %" PRIu64 " more (--all shows them)\n", indent,
			    "", count - shown);
}

void value_print(struct session *session, const struct value *value, heap_type_id id,
		 uint64_t offset, const char *name, int indent, enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	uint64_t size = heap_types_size(types, id);

	if (indent > 2 * MAX_NESTING) {
		print_word(session, name, indent, "…");
		return;
	}
	switch (type->kind) {
	case HEAP_TYPE_STRUCT:
	case HEAP_TYPE_CLASS:
	case HEAP_TYPE_UNION:
		print_compound(session, value, type, offset, name, indent, limit);
		return;
	case HEAP_TYPE_ARRAY:
		print_array(session, value, type, offset, name, indent, limit);
		return;
	}
	if (size == 0 || !is_kept(value, offset, size)) {
		print_word(session, name, indent, size == 0 ? "(of unknown type)" : "(not kept)");
		return;
	}
	switch (type->kind) {
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
		print_pointer(session, load_integer(value, offset, size), name, indent);
		break;
	case HEAP_TYPE_ENUM:
		print_word(session, name, indent,
			   describe_enumerator(session, type,
					       sign_extend(load_integer(value, offset, size),
							   (unsigned)size * 8)));
		break;
	default:
		if (type->flags & HEAP_TYPE_FLOAT)
			print_float(session, value, offset, size, name, indent);
		else
			print_integer(session, type, load_integer(value, offset, size),
				      (unsigned)(size < 8 ? size * 8 : 64), name, indent);
	}
}

void value_print_members(struct session *session, const struct value *value, heap_type_id id,
			 int indent, enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS &&
	    type->kind != HEAP_TYPE_UNION) {
		value_print(session, value, id, 0, "value", indent, limit);
		return;
	}
	output_open_object(session->output, "fields");
	print_members(session, value, type, 0, indent, limit);
	output_close(session->output);
}

void value_print_bytes(struct session *session, const struct value *value, int indent,
		       enum value_limit limit)
{
	struct output *output = session->output;
	uint64_t shown =
		limit == VALUE_SHORT && value->kept > SHORT_BYTES ? SHORT_BYTES : value->kept;
	char *hex = session_allocate(session, shown * 2 + 1);

	for (uint64_t at = 0; at < shown; at += 16) {
		char text[17] = "";

		output_text(output, "%*s%04" PRIx64 " ", indent, "", at);
		for (uint64_t i = at; i < at + 16; i++) {
			if (i < shown) {
				uint8_t byte = value->bytes[i];

				output_text(output, " %02x", byte);
				text[i - at] = byte >= 0x20 && byte < 0x7f ? (char)byte : '.';
			} else {
				output_text(output, "   ");
			}
		}
		output_text(output, "  %s\n", text);
	}
	if (shown < value->size)
		output_text(output, "%*s… %" PRIu64 " more bytes%s\n", indent, "",
			    value->size - shown,
			    shown < value->kept ? " (--all shows them)" : ", not kept");
	for (uint64_t i = 0; hex && i < shown; i++)
		sprintf(hex + i * 2, "%02x", value->bytes[i]);
	output_string(output, "bytes", hex ? hex : "");
}
