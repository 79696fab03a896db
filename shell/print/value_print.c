// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/value_print.h"

#include "shell/print/container.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/print/library_value.h"
#include "shell/base/format.h"
#include "shell/print/part.h"
#include "shell/print/room.h"

#include "lib/types/scalar.h"
#include "lib/types/virtual_bases.h"

#include <inttypes.h>
#include <string.h>

enum {
	SHORT_BYTES = 256,
	MAX_NESTING = 24,
	OPAQUE_BYTES = 32,
};

// --- lines -------------------------------------------------------------------

void value_begin_line(struct session *session, const char *name, int indent)
{
	output_text(session->output, "%*s", indent, "");
	if (name)
		output_text(session->output,
			    "%s%s%s = ", output_colour(session->output, COLOUR_FIELD), name,
			    output_colour(session->output, COLOUR_PLAIN));
}

void value_print_word(struct session *session, const char *name, int indent, const char *word)
{
	value_begin_line(session, name, indent);
	output_text(session->output, "%s\n", word);
	output_string(session->output, name, word);
}

// --- scalars -----------------------------------------------------------------

static int64_t sign_extend(uint64_t value, unsigned bits)
{
	return bits == 0 || bits >= 64 ? (int64_t)value
				       : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static bool is_text(const struct heap_type *type)
{
	return (type->flags & HEAP_TYPE_CHARACTER) && type->size == 1;
}

static const char *describe_integer(struct session *session, const struct heap_type *type,
				    uint64_t value, unsigned bits)
{
	if (type->flags & HEAP_TYPE_BOOLEAN)
		return value ? "true" : "false";
	if (is_text(type)) {
		char byte = (char)value;

		return session_format(session, "%" PRId64 " '%s'",
				      type->flags & HEAP_TYPE_SIGNED ? sign_extend(value, bits)
								     : (int64_t)value,
				      session_keep(session, format_escaped(&byte, 1)));
	}
	if (type->flags & HEAP_TYPE_SIGNED)
		return session_format(session, "%" PRId64, sign_extend(value, bits));
	return session_format(session, "%" PRIu64, value);
}

static void print_integer(struct session *session, const struct heap_type *type, uint64_t value,
			  unsigned bits, const char *name, int indent)
{
	value_begin_line(session, name, indent);
	output_text(session->output, "%s\n", describe_integer(session, type, value, bits));
	if (type->flags & HEAP_TYPE_BOOLEAN)
		output_boolean(session->output, name, value != 0);
	else if (type->flags & HEAP_TYPE_SIGNED)
		output_signed(session->output, name, sign_extend(value, bits));
	else
		output_number(session->output, name, value);
}

// Reads any number. @return false if it is none, or was not kept
static bool load_scalar(const struct session *session, const struct value *value, heap_type_id id,
			uint64_t offset, struct heap_scalar *result)
{
	const struct heap_member_place place = { .type = id, .offset = offset };

	return heap_scalar_load(&session->snapshot->types, &place, value->bytes, value->kept,
				result);
}

static const char *describe_number(struct session *session, const struct heap_type *type,
				   const struct heap_scalar *scalar)
{
	char text[HEAP_SCALAR_TEXT];

	if (scalar->kind <= HEAP_SCALAR_SIGNED && scalar->size <= 8)
		return describe_integer(session, type, scalar->number, scalar->size * 8u);
	heap_scalar_format(scalar, text);
	return session_format(session, "%s", text);
}

// Readers of JSON have no integers of 16 bytes: those that need them are texts.
static void number_json(struct session *session, const struct heap_type *type,
			const struct heap_scalar *scalar, const char *text, const char *name)
{
	struct output *output = session->output;
	bool is_signed = scalar->kind == HEAP_SCALAR_SIGNED;
	uint64_t high = is_signed && scalar->number >> 63 ? UINT64_MAX : 0;

	if (scalar->kind == HEAP_SCALAR_REAL) {
		output_real(output, name, (double)scalar->real);
	} else if (scalar->kind == HEAP_SCALAR_COMPLEX) {
		output_open_object(output, name);
		output_real(output, "real", (double)scalar->real);
		output_real(output, "imaginary", (double)scalar->imaginary);
		output_close(output);
	} else if (scalar->high != high) {
		output_string(output, name, text);
	} else if (type->flags & HEAP_TYPE_BOOLEAN) {
		output_boolean(output, name, scalar->number != 0);
	} else if (is_signed) {
		output_signed(output, name, (int64_t)scalar->number);
	} else {
		output_number(output, name, scalar->number);
	}
}

// By name; a value that is several enumerators' bits together as A|B.
static const char *describe_enumerator(struct session *session, const struct heap_type *type,
				       int64_t value)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_enumerator *all = types->enumerators + type->first_member;
	const char *text = "";
	uint64_t rest = (uint64_t)value;

	for (uint32_t i = 0; i < type->members; i++) {
		if (all[i].value == value)
			return describe_name(session, heap_types_string(types, all[i].name));
	}
	for (uint32_t i = 0; i < type->members; i++) {
		uint64_t bit = (uint64_t)all[i].value;

		if (bit == 0 || (bit & (bit - 1)) || (rest & bit) != bit)
			continue;
		text = session_format(
			session, "%s%s%s", text, *text ? "|" : "",
			describe_name(session, heap_types_string(types, all[i].name)));
		rest &= ~bit;
	}
	return *text && rest == 0 ? text : session_format(session, "%" PRId64, value);
}

const char *value_describe_pointer(struct session *session, uint64_t pointer, heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id target = heap_snapshot_find(snapshot, pointer);

	if (pointer == 0)
		return "NULL";
	if (target == HEAP_NO_OBJECT)
		return field_describe_address(session, pointer, pointee);
	session_remember(session, target);
	return field_describe_target(session, target, pointer - snapshot->address[target], pointee);
}

// The string literal that a pointer points to.
static void constant_json(struct session *session, uint64_t pointer, heap_type_id pointee)
{
	size_t length;
	bool is_whole;
	const char *text = field_constant(session, pointer, pointee, &length, &is_whole);

	if (text)
		output_format(session->output, "text", "%.*s%s", (int)length, text,
			      is_whole ? "" : "…");
}

void value_pointer_json(struct session *session, uint64_t pointer, heap_type_id pointee)
{
	heap_object_id target = heap_snapshot_find(session->snapshot, pointer);

	output_address(session->output, "pointer", pointer);
	if (target == HEAP_NO_OBJECT) {
		constant_json(session, pointer, pointee);
		return;
	}
	describe_object_json(session, "object", target);

	const struct heap_part *part = heap_snapshot_part_at(
		session->snapshot, target, pointer - session->snapshot->address[target]);

	if (part)
		part_json(session, "part", part);
}

static void print_pointer(struct session *session, uint64_t pointer, heap_type_id pointee,
			  const char *name, int indent)
{
	const char *text = value_describe_pointer(session, pointer, pointee);

	value_begin_line(session, name, indent);
	output_text(session->output, "%s\n", text);
	if (!output_is_json(session->output))
		return;
	output_open_object(session->output, name);
	value_pointer_json(session, pointer, pointee);
	output_close(session->output);
}

static void print_text(struct session *session, const struct value *value, uint64_t offset,
		       uint64_t size, const char *name, int indent)
{
	if (offset >= value->kept && size > 0) {
		value_print_word(session, name, indent, "(not kept)");
		return;
	}

	const char *at = (const char *)value->bytes + offset;
	uint64_t kept = value->kept - offset < size ? value->kept - offset : size;
	size_t length = strnlen(at, kept);

	value_begin_line(session, name, indent);
	output_text(session->output, "\"%s\"%s\n",
		    session_keep(session, format_escaped(at, length)),
		    length == kept && kept < size ? "…" : "");
	output_string(session->output, name, session_keep(session, strndup(at, length)));
}

// --- compounds ---------------------------------------------------------------

static const char *member_name(struct session *session, const struct heap_member *member)
{
	const struct heap_types *types = &session->snapshot->types;

	if (member->flags & HEAP_MEMBER_BASE)
		return describe_type(session, member->type);
	if (member->name)
		return describe_name(session, heap_types_string(types, member->name));
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

	if (!value_is_kept(value, offset, bytes) || bytes > 8) {
		value_print_word(session, name, indent, "(not kept)");
		return;
	}

	uint64_t field = value_load_integer(value, offset, bytes) >> member->bit_offset;

	if (bits < 64)
		field &= (UINT64_C(1) << bits) - 1;
	if (type->kind == HEAP_TYPE_ENUM)
		value_print_word(session, name, indent,
				 describe_enumerator(session, type, (int64_t)field));
	else
		print_integer(session, type, field, bits, name, indent);
}

// An empty base class says nothing of the value.
static bool is_empty_base(const struct session *session, const struct heap_member *member)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, member->type)];

	return (member->flags & HEAP_MEMBER_BASE) && type->members == 0 && type->size == 1;
}

static void print_compound(struct session *session, const struct value *value,
			   const struct heap_type *type, uint64_t offset, const char *name,
			   int indent, enum value_limit limit, bool is_base);

// A base class, whose virtual bases are those of the object around it.
static void print_base(struct session *session, const struct value *value,
		       const struct heap_member *member, uint64_t offset, int indent,
		       enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, member->type)];
	struct heap_virtual_base bases[HEAP_VIRTUAL_BASES];
	const char *name = member_name(session, member);

	if (heap_virtual_bases_find(types, member->type, bases) > 0 && session_take_line(session))
		print_compound(session, value, type, offset, name, indent, limit, true);
	else
		value_print(session, value, member->type, offset, name, indent, limit);
}

// @param is_base  it is a base class of what is around it
static void print_members(struct session *session, const struct value *value,
			  const struct heap_type *type, uint64_t offset, int indent,
			  enum value_limit limit, bool is_base)
{
	const struct heap_types *types = &session->snapshot->types;
	struct heap_virtual_base bases[HEAP_VIRTUAL_BASES];
	size_t placed = is_base ? 0
				: heap_virtual_bases_find(
					  types, (heap_type_id)(type - types->types), bases);
	struct room room;

	room_begin(&room, session, type);
	for (uint32_t i = 0; i < type->members && !session_must_stop(session); i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!room_take(&room, i)) {
			output_text(session->output, "%*s… %" PRIu32 " more members (--all)\n",
				    indent, "", type->members - i);
			break;
		}
		if (is_empty_base(session, member))
			continue;
		if (member->flags & HEAP_MEMBER_BIT_FIELD)
			print_bit_field(session, value, member, offset + member->offset, indent);
		else if (member->flags & HEAP_MEMBER_VIRTUAL_BASE && placed > 0)
			continue;
		else if (member->flags & HEAP_MEMBER_VIRTUAL_BASE)
			value_print_word(session, member_name(session, member), indent,
					 "(virtual base)");
		else if (member->flags & HEAP_MEMBER_BASE)
			print_base(session, value, member, offset + member->offset, indent, limit);
		else
			value_print(session, value, member->type, offset + member->offset,
				    member_name(session, member), indent, limit);
	}
	for (size_t i = 0; i < placed; i++) {
		const struct heap_member base = { .type = bases[i].type,
						  .flags = HEAP_MEMBER_BASE };

		print_base(session, value, &base, offset + bases[i].offset, indent, limit);
	}
	room_end(&room);
}

void value_print_fields(struct session *session, const struct value *value, heap_type_id id,
			uint64_t offset, int indent, enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (type->kind == HEAP_TYPE_STRUCT || type->kind == HEAP_TYPE_CLASS)
		print_members(session, value, type, offset, indent, limit, false);
}

// True if a value's bytes were not kept, nor does it have pointers, which are known from the edges.
static bool is_lost(const struct session *session, const struct value *value, uint64_t offset,
		    uint64_t size)
{
	uint32_t edge;

	if (size == 0 || offset < value->kept)
		return false;
	edge = value_next_edge(session, value, offset);
	return edge == UINT32_MAX ||
	       (uint64_t)session->snapshot->edge_slot[edge] * 8 - offset >= size;
}

static void print_compound(struct session *session, const struct value *value,
			   const struct heap_type *type, uint64_t offset, const char *name,
			   int indent, enum value_limit limit, bool is_base)
{
	// Members of an anonymous structure belong to the structure around it, as in C.
	bool anonymous = name && name[0] == '(';
	uint64_t room;

	value_begin_line(session, name, indent);
	if (!output_is_json(session->output) && is_lost(session, value, offset, type->size)) {
		output_text(session->output, "(not kept)\n");
		return;
	}
	if (type->members > 0 && room_is_short(session)) {
		output_text(session->output, "{… %" PRIu32 " member%s (--all)}\n", type->members,
			    format_plural(type->members));
		return;
	}
	output_text(session->output, "{\n");
	if (!anonymous)
		output_open_object(session->output, name);
	room = room_take_braces(session);
	print_members(session, value, type, offset, indent + 2, limit, is_base);
	session->room = room;
	if (!anonymous)
		output_close(session->output);
	output_text(session->output, "%*s}\n", indent, "");
}

static void print_array(struct session *session, const struct value *value,
			const struct heap_type *type, uint64_t offset, const char *name, int indent,
			enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id element = heap_types_strip(types, type->target);
	uint64_t stride = heap_types_size(types, element);
	uint64_t count = type->count, room;

	// A flexible array, x[] or the old x[1], is as long as the object is.
	if (((type->flags & HEAP_TYPE_FLEXIBLE) ||
	     (value->flexible && offset == value->flexible)) &&
	    stride > 0 && value->size > offset)
		count = (value->size - offset) / stride;
	if (is_text(&types->types[element])) {
		print_text(session, value, offset, count, name, indent);
		return;
	}
	value_begin_line(session, name, indent);
	if (count > 0 && room_is_short(session)) {
		output_text(session->output, "{… %" PRIu64 " element%s (--all)}\n", count,
			    format_plural(count));
		return;
	}
	output_text(session->output, "{\n");
	output_open_array(session->output, name);
	room = room_take_braces(session);
	value_print_elements(session, value, element, offset, count, indent + 2, limit);
	session->room = room;
	output_close(session->output);
	output_text(session->output, "%*s}\n", indent, "");
}

void value_print_elements(struct session *session, const struct value *value, heap_type_id type,
			  uint64_t offset, uint64_t count, int indent, enum value_limit limit)
{
	uint64_t stride = heap_types_size(&session->snapshot->types, type);
	uint64_t shown = value_shown(value, count, limit);
	uint64_t room = session->room;

	if (stride == 0) {
		value_print_word(session, NULL, indent, "(of unknown type)");
		return;
	}
	shown = room_for_elements(session, type, shown);
	for (uint64_t i = 0; i < shown && !session_must_stop(session); i++) {
		uint64_t at = offset + i * stride;

		if (at >= value->kept && value_next_edge(session, value, at) == UINT32_MAX) {
			output_text(session->output, "%*s… %" PRIu64 " more, not kept\n", indent,
				    "", count - i);
			session->room = room;
			return;
		}
		// In JSON elements have no keys.
		value_print(session, value, type, at,
			    output_is_json(session->output)
				    ? NULL
				    : session_format(session, "[%" PRIu64 "]", i),
			    indent, limit);
	}
	session->room = room;
	if (shown < count)
		output_text(session->output, "%*s… %" PRIu64 " more (--all shows them)\n", indent,
			    "", count - shown);
}

const char *value_describe(struct session *session, const struct value *value, heap_type_id id,
			   uint64_t offset)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	struct heap_scalar scalar;
	uint64_t pointer;

	switch (type->kind) {
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
		return value_load_pointer(session, value, offset, &pointer)
			       ? value_describe_pointer(session, pointer, type->target)
			       : "";
	case HEAP_TYPE_ENUM:
	case HEAP_TYPE_BASE:
		break;
	default:
		return container_describe(session, value, id, offset);
	}
	if (!load_scalar(session, value, id, offset, &scalar))
		return "";
	if (type->kind == HEAP_TYPE_ENUM)
		return describe_enumerator(session, type,
					   sign_extend(scalar.number, scalar.size * 8u));
	return describe_number(session, type, &scalar);
}

// Bytes whose meaning is not known, from the lowest address on.
static void print_opaque(struct session *session, const struct value *value, uint64_t offset,
			 uint64_t size, const char *name, int indent)
{
	uint64_t shown = size < OPAQUE_BYTES ? size : OPAQUE_BYTES;
	const char *text = "";

	for (uint64_t i = 0; i < shown; i++)
		text = session_format(session, "%s%s%02x", text, i ? " " : "",
				      value->bytes[offset + i]);
	value_print_word(session, name, indent,
			 session_format(session, "(bytes) %s%s", text, shown < size ? "…" : ""));
}

// A value that is no structure and no array. @return false if it was not kept
static bool print_scalar(struct session *session, const struct value *value, heap_type_id id,
			 uint64_t offset, const char *name, int indent)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	uint64_t size = heap_types_size(types, id);
	struct heap_scalar scalar;
	uint64_t pointer;

	if (type->kind == HEAP_TYPE_POINTER || type->kind == HEAP_TYPE_REFERENCE) {
		if (!value_load_pointer(session, value, offset, &pointer))
			return false;
		print_pointer(session, pointer, type->target, name, indent);
		return true;
	}
	if (!value_is_kept(value, offset, size))
		return false;
	if (!load_scalar(session, value, id, offset, &scalar)) {
		print_opaque(session, value, offset, size, name, indent);
	} else if (type->kind == HEAP_TYPE_ENUM) {
		value_print_word(session, name, indent, value_describe(session, value, id, offset));
	} else {
		const char *text = describe_number(session, type, &scalar);

		value_begin_line(session, name, indent);
		output_text(session->output, "%s\n", text);
		number_json(session, type, &scalar, text, name);
	}
	return true;
}

// A program that reads JSON, and a person who wants all, get the members.
static bool print_library_value(struct session *session, const struct value *value,
				heap_type_id type, uint64_t offset, const char *name, int indent,
				enum value_limit limit)
{
	const char *text;

	if (limit == VALUE_ALL || output_is_json(session->output))
		return false;
	text = library_value_describe(session, value, type, offset);
	if (*text)
		value_print_word(session, name, indent, text);
	return *text != '\0';
}

void value_print(struct session *session, const struct value *value, heap_type_id id,
		 uint64_t offset, const char *name, int indent, enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	uint64_t size = heap_types_size(types, id);

	if (!session_take_line(session))
		return;
	if (indent > 2 * MAX_NESTING) {
		value_print_word(session, name, indent, "…");
		return;
	}
	if (print_library_value(session, value, id, offset, name, indent, limit))
		return;
	switch (type->kind) {
	case HEAP_TYPE_STRUCT:
	case HEAP_TYPE_CLASS:
		if (container_print(session, value, id, offset, name, indent, limit))
			break;
		// fall through
	case HEAP_TYPE_UNION:
		print_compound(session, value, type, offset, name, indent, limit, false);
		break;
	case HEAP_TYPE_ARRAY:
		print_array(session, value, type, offset, name, indent, limit);
		break;
	default:
		if (size == 0)
			value_print_word(session, name, indent, "(of unknown type)");
		else if (!print_scalar(session, value, id, offset, name, indent))
			value_print_word(session, name, indent, "(not kept)");
	}
}

void value_print_members_at(struct session *session, const struct value *value, heap_type_id id,
			    uint64_t offset, int indent, enum value_limit limit)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS &&
	    type->kind != HEAP_TYPE_UNION) {
		value_print(session, value, id, offset, "value", indent, limit);
		return;
	}
	if (container_print(session, value, id, offset, "value", indent, limit))
		return;
	output_open_object(session->output, "fields");
	print_members(session, value, type, offset, indent, limit, false);
	output_close(session->output);
}

void value_print_members(struct session *session, const struct value *value, heap_type_id id,
			 int indent, enum value_limit limit)
{
	value_print_members_at(session, value, id, 0, indent, limit);
}

// True if the bytes up to the NUL are printable, line ends and escape characters included.
static bool looks_like_text(const struct value *value)
{
	size_t length = strnlen((const char *)value->bytes, value->kept);

	for (size_t i = 0; i < length; i++) {
		uint8_t byte = value->bytes[i];

		if ((byte < 0x20 && !strchr("\n\t\r\x1b", byte)) || byte == 0x7f)
			return false;
	}
	return length > 0 || value->size <= 1;
}

static uint64_t stored_of(const struct value *value)
{
	return value->stored > value->kept ? value->stored : value->kept;
}

void value_print_missing(struct session *session, const struct value *value, int indent)
{
	uint64_t missing = value->size - stored_of(value);

	if (stored_of(value) < value->size)
		output_text(session->output,
			    "%*s… %" PRIu64 " more byte%s, not kept (heapsnap run --content all "
			    "keeps them)\n",
			    indent, "", missing, format_plural(missing));
}

void value_print_characters(struct session *session, const struct value *value, int indent,
			    enum value_limit limit)
{
	if (value->kept == 0 || !looks_like_text(value)) {
		value_print_bytes(session, value, indent, limit);
		return;
	}
	print_text(session, value, 0, value->size, "value", indent);
	if (strnlen((const char *)value->bytes, value->kept) == value->kept)
		value_print_missing(session, value, indent);
}

void value_print_bytes(struct session *session, const struct value *value, int indent,
		       enum value_limit limit)
{
	value_print_bytes_from(session, value, 0, "bytes", indent, limit);
}

void value_print_bytes_from(struct session *session, const struct value *value, uint64_t offset,
			    const char *key, int indent, enum value_limit limit)
{
	struct output *output = session->output;
	uint64_t kept = value->kept > offset ? value->kept - offset : 0;
	uint64_t shown = limit == VALUE_SHORT && kept > SHORT_BYTES ? SHORT_BYTES : kept;
	const uint8_t *bytes = value->bytes + offset;
	char *hex = session_allocate(session, shown * 2 + 1);

	for (uint64_t at = 0; at < shown; at += 16) {
		char text[17] = "";

		output_text(output, "%*s%04" PRIx64 " ", indent, "", offset + at);
		for (uint64_t i = at; i < at + 16; i++) {
			if (i < shown) {
				output_text(output, " %02x", bytes[i]);
				text[i - at] =
					bytes[i] >= 0x20 && bytes[i] < 0x7f ? (char)bytes[i] : '.';
			} else {
				output_text(output, "   ");
			}
		}
		output_text(output, "  %s\n", text);
	}
	if (shown < kept)
		output_text(output, "%*s… %" PRIu64 " more bytes (--all shows them)\n", indent, "",
			    stored_of(value) - offset - shown);
	value_print_missing(session, value, indent);
	for (uint64_t i = 0; hex && i < shown; i++)
		sprintf(hex + i * 2, "%02x", bytes[i]);
	output_string(output, key, hex ? hex : "");
}
