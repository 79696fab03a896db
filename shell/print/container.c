// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/container.h"

#include "shell/print/value_print.h"
#include "shell/print/container_parts.h"
#include "shell/print/container_text.h"
#include "shell/print/container_walk.h"
#include "shell/print/describe.h"
#include "shell/print/room.h"
#include "shell/print/rust_enum.h"
#include "shell/print/std_any.h"

#include <inttypes.h>
#include <string.h>

// A container that is being printed; the same for all kinds.
struct printing {
	struct session *session;
	struct place place;
	const char *name; // of the field
	int indent;
	enum value_limit limit;
};

static void print_place(const struct printing *printing, const struct place *place,
			const char *name, int indent)
{
	value_print(printing->session, place->value, place->type, place->offset, name, indent,
		    printing->limit);
}

// The same on the line of the container itself: optionals, atomics.
static bool print_inside(const struct printing *printing, const struct place *place)
{
	print_place(printing, place, printing->name, printing->indent);
	return true;
}

static bool print_word(const struct printing *printing, const char *word)
{
	value_print_word(printing->session, printing->name, printing->indent, word);
	return true;
}

// --- elements ----------------------------------------------------------------

static const char *describe_length(struct session *session, const struct container_walk *walk)
{
	const char *capacity =
		walk->capacity > walk->length
			? session_format(session, " (capacity %" PRIu64 ")", walk->capacity)
			: "";

	if (!walk->has_length)
		return walk->name;
	return session_format(session, "%s of %" PRIu64 "%s", walk->name, walk->length, capacity);
}

static void open_elements(const struct printing *printing, const struct container_walk *walk)
{
	struct session *session = printing->session;
	struct output *output = session->output;

	value_begin_line(session, printing->name, printing->indent);
	output_text(output, "%s {\n", describe_length(session, walk));
	output_open_object(output, printing->name);
	output_string(output, "container", walk->name);
	if (walk->has_length)
		output_number(output, "length", walk->length);
	if (walk->has_capacity)
		output_number(output, "capacity", walk->capacity);
	output_open_array(output, "elements");
}

// The reason why elements are missing at the end.
static void close_elements(const struct printing *printing, const struct container_walk *walk,
			   uint64_t shown)
{
	struct output *output = printing->session->output;
	bool rest = walk->has_length ? walk->index < walk->length : walk->at != 0;
	const char *why = walk->unknown          ? ", of unknown type"
			  : walk->index == shown ? " (--all shows them)"
						 : ", not kept";

	output_close(output);
	if (rest && walk->has_length) {
		output_text(output, "%*s… %" PRIu64 " more%s\n", printing->indent + 2, "",
			    walk->length - walk->index, why);
		output_number(output, "missing", walk->length - walk->index);
	} else if (rest) {
		output_text(output, "%*s… more%s\n", printing->indent + 2, "", why);
	}
	output_text(output, "%*s}\n", printing->indent, "");
	output_close(output);
}

static void print_pair(const struct printing *printing, const struct place *key,
		       const struct place *value, uint64_t index)
{
	struct session *session = printing->session;
	int indent = printing->indent + 2;
	const char *text = value_describe(session, key->value, key->type, key->offset);

	if (output_is_json(session->output)) {
		output_open_object(session->output, NULL);
		print_place(printing, key, "key", indent);
		print_place(printing, value, "value", indent);
		output_close(session->output);
	} else if (*text && strncmp(text, "std::", strlen("std::")) != 0) {
		print_place(printing, value, session_format(session, "[%s]", text), indent);
	} else {
		output_text(session->output, "%*s[%" PRIu64 "] = {\n", indent, "", index);
		print_place(printing, key, "key", indent + 2);
		print_place(printing, value, "value", indent + 2);
		output_text(session->output, "%*s}\n", indent, "");
	}
}

static void print_element(const struct printing *printing, const struct container_walk *walk,
			  struct place *element)
{
	struct session *session = printing->session;
	uint64_t index = walk->index - 1;
	struct place key, value;

	if (walk->keyed && container_find_pair(session, element, &key, &value))
		print_pair(printing, &key, &value, index);
	else
		print_place(printing, element,
			    output_is_json(session->output)
				    ? NULL
				    : session_format(session, "[%" PRIu64 "]", index),
			    printing->indent + 2);
}

static bool print_elements(const struct printing *printing, struct container_walk *walk)
{
	struct session *session = printing->session;
	uint64_t shown = value_shown(printing->place.value, walk->length, printing->limit);
	uint64_t room;

	if (walk->has_length && walk->length == 0 && !output_is_json(session->output))
		return print_word(printing, session_format(session, "%s, empty", walk->name));
	if (room_is_short(session)) {
		value_begin_line(session, printing->name, printing->indent);
		output_text(session->output, "%s {… (--all)}\n", describe_length(session, walk));
		return true;
	}
	room = room_take_braces(session);
	shown = room_for_elements(session, HEAP_NO_TYPE, shown);
	open_elements(printing, walk);
	while (walk->index < shown && !session_must_stop(session)) {
		const void *mark = session_mark(session);
		struct place element;
		bool found = container_walk_next(session, walk, &element);

		if (found)
			print_element(printing, walk, &element);
		session_release(session, mark);
		if (!found)
			break;
	}
	session->room = room;
	close_elements(printing, walk, shown);
	return true;
}

static bool print_tuple(const struct printing *printing)
{
	struct session *session = printing->session;
	struct place element;

	if (!container_find_tuple_element(session, &printing->place, 0, &element))
		return false;
	value_begin_line(session, printing->name, printing->indent);
	output_text(session->output, "std::tuple {\n");
	output_open_object(session->output, printing->name);
	output_string(session->output, "container", "std::tuple");
	output_open_array(session->output, "elements");
	for (unsigned i = 0; container_find_tuple_element(session, &printing->place, i, &element) &&
			     !session_must_stop(session);
	     i++)
		print_place(printing, &element,
			    output_is_json(session->output) ? NULL
							    : session_format(session, "[%u]", i),
			    printing->indent + 2);
	output_close(session->output);
	output_close(session->output);
	output_text(session->output, "%*s}\n", printing->indent, "");
	return true;
}

static bool load_bit(const struct place *words, uint64_t bit, bool *result)
{
	uint64_t word;

	if (!value_load_number(words->value, words->offset + bit / 64 * 8, 8, &word))
		return false;
	*result = word >> bit % 64 & 1;
	return true;
}

// A std::vector<bool> is made of words.
static bool print_bits(const struct printing *printing, struct container_walk *walk,
		       const struct place *words)
{
	struct session *session = printing->session;
	uint64_t shown = value_shown(printing->place.value, walk->length, printing->limit);
	bool bit;

	if (walk->length == 0 && !output_is_json(session->output))
		return print_word(printing, "std::vector<bool>, empty");
	open_elements(printing, walk);
	for (; walk->index < shown && session_take_line(session); walk->index++) {
		if (!load_bit(words, walk->index, &bit))
			break;
		output_text(session->output, "%*s[%" PRIu64 "] = %s\n", printing->indent + 2, "",
			    walk->index, bit ? "true" : "false");
		output_boolean(session->output, NULL, bit);
	}
	close_elements(printing, walk, shown);
	return true;
}

static bool find_bits(struct session *session, const struct place *place,
		      struct container_walk *walk, struct place *words)
{
	uint64_t start, finish, offset;

	*walk = (struct container_walk){ .name = "std::vector<bool>", .has_length = true };
	if (place_find_pointer(session, place, "_M_impl._M_start._M_p", &start) &&
	    place_find_pointer(session, place, "_M_impl._M_finish._M_p", &finish) &&
	    place_find_number(session, place, "_M_impl._M_finish._M_offset", &offset)) {
		if (finish < start || offset >= 64)
			return false;
		walk->length = (finish - start) * 8 + offset;
	} else if (!place_find_pointer(session, place, "__begin_", &start) ||
		   !place_find_number(session, place, "__size_", &walk->length)) {
		return false;
	}
	return walk->length == 0 ||
	       (walk->length < UINT64_MAX - 63 &&
		place_follow(session, place, start, (walk->length + 63) / 64 * 8, words));
}

// --- owners ------------------------------------------------------------------

static bool print_unique(const struct printing *printing)
{
	struct session *session = printing->session;
	uint64_t pointer;

	if (!container_find_unique(session, &printing->place, &pointer))
		return false;
	value_begin_line(session, printing->name, printing->indent);
	output_text(session->output, "%s\n",
		    value_describe_pointer(session, pointer, HEAP_NO_TYPE));
	output_open_object(session->output, printing->name);
	output_string(session->output, "container", "std::unique_ptr");
	value_pointer_json(session, pointer, HEAP_NO_TYPE);
	output_close(session->output);
	return true;
}

struct counts {
	uint64_t uses, weak;
};

// Both libraries count all owners together as one more weak one; libc++ counts from -1.
static bool find_counts(struct session *session, const struct place *place, uint64_t control,
			struct counts *counts)
{
	struct place block;
	uint64_t uses, weak;

	// Two words behind the vtable pointer: of 4 bytes in libstdc++, of 8 in libc++.
	if (place_find_pointer(session, place, "_M_refcount._M_pi", &uses)) {
		if (!place_follow(session, place, control, 16, &block) ||
		    !value_load_number(block.value, block.offset + 8, 4, &uses) ||
		    !value_load_number(block.value, block.offset + 12, 4, &weak))
			return false;
		weak -= uses > 0;
	} else {
		if (!place_follow(session, place, control, 24, &block) ||
		    !value_load_number(block.value, block.offset + 8, 8, &uses) ||
		    !value_load_number(block.value, block.offset + 16, 8, &weak))
			return false;
		uses++;
		weak += uses ==
			0; // the count of the owners is gone, and that of the weak ones begins at -1
	}
	*counts = (struct counts){ uses, weak };
	return true;
}

// make_shared() puts the object behind the counts, into one block with them.
static const char *describe_shared(struct session *session, const struct place *place,
				   uint64_t pointer, uint64_t control)
{
	heap_object_id object = heap_snapshot_find(session->snapshot, pointer);
	struct place found;

	if (object == HEAP_NO_OBJECT || pointer <= control ||
	    heap_snapshot_find(session->snapshot, control) != object ||
	    (!place_find(session, place, "_M_ptr", &found) &&
	     !place_find(session, place, "__ptr_", &found)))
		return value_describe_pointer(session, pointer, HEAP_NO_TYPE);
	session_remember(session, object);
	return session_format(session, "%s%s%s at %s%#" PRIx64 "%s, made with its counts",
			      output_colour(session->output, COLOUR_TYPE),
			      describe_type(session, place_pointee(session, &found)),
			      output_colour(session->output, COLOUR_PLAIN),
			      output_colour(session->output, COLOUR_ADDRESS), pointer,
			      output_colour(session->output, COLOUR_PLAIN));
}

static bool print_shared_pointer(const struct printing *printing, const char *kind)
{
	struct session *session = printing->session;
	struct output *output = session->output;
	const struct place *place = &printing->place;
	uint64_t pointer, control;
	struct counts counts;

	if (!container_find_shared(session, place, &pointer, &control))
		return false;

	bool counted = control != 0 && find_counts(session, place, control, &counts);

	value_begin_line(session, printing->name, printing->indent);
	output_text(output, "%s", describe_shared(session, place, pointer, control));
	if (counted)
		output_text(output, " (use count %" PRIu64 ", weak count %" PRIu64 ")", counts.uses,
			    counts.weak);
	output_text(output, "\n");
	output_open_object(output, printing->name);
	output_string(output, "container", kind);
	value_pointer_json(session, pointer, HEAP_NO_TYPE);
	if (counted) {
		output_number(output, "use_count", counts.uses);
		output_number(output, "weak_count", counts.weak);
	}
	output_close(output);
	return true;
}

static bool print_shared(const struct printing *printing)
{
	return print_shared_pointer(printing, "std::shared_ptr");
}

static bool print_weak(const struct printing *printing)
{
	return print_shared_pointer(printing, "std::weak_ptr");
}

// --- one value, or none ------------------------------------------------------

static bool print_optional(const struct printing *printing)
{
	struct session *session = printing->session;
	struct place value;
	bool engaged;

	if (!container_find_optional(session, &printing->place, &engaged, &value))
		return false;
	if (engaged)
		return print_inside(printing, &value);
	value_begin_line(session, printing->name, printing->indent);
	output_text(session->output, "std::optional, empty\n");
	output_null(session->output, printing->name);
	return true;
}

// Prints the alternative that a variant holds, with its type where the value does not tell it.
static bool print_alternative(const struct printing *printing, const struct place *place)
{
	struct session *session = printing->session;
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, place->type)];
	const char *text = value_describe(session, place->value, place->type, place->offset);
	// libc++'s name for the type is an alias of its own.
	const char *name = describe_type(session, heap_types_strip(types, place->type));
	size_t length;

	if (output_is_json(session->output) || type->kind == HEAP_TYPE_POINTER)
		return print_inside(printing, place);
	if (*text)
		return print_word(printing, session_format(session, "%s (%s)", text, name));
	if (heap_types_has_members(type) && type->members == 0)
		return print_word(printing, name);
	place_standard_name(session, place->type, &length);
	if (!heap_types_has_members(type) || length > 0)
		return print_inside(printing, place);
	value_begin_line(session, printing->name, printing->indent);
	output_text(session->output, "%s {\n", name);
	value_print_fields(session, place->value, place->type, place->offset, printing->indent + 2,
			   printing->limit);
	output_text(session->output, "%*s}\n", printing->indent, "");
	return true;
}

static bool print_variant(const struct printing *printing)
{
	struct place found;

	return container_find_variant(printing->session, &printing->place, &found) &&
	       print_alternative(printing, &found);
}

// The value of a std::any that has it inside, if it is a pointer or of a type that is known; or "".
static const char *describe_any(struct session *session, const struct place *storage,
				const char *type)
{
	heap_type_id id = heap_types_find(&session->snapshot->types, type, 0);
	uint64_t pointer;

	if (type[strlen(type) - 1] == '*' &&
	    value_load_pointer(session, storage->value, storage->offset, &pointer))
		return value_describe_pointer(session, pointer, HEAP_NO_TYPE);
	return id == HEAP_NO_TYPE ? ""
				  : value_describe(session, storage->value, id, storage->offset);
}

static bool has_type(const struct session *session, uint64_t pointer)
{
	heap_object_id object = heap_snapshot_find(session->snapshot, pointer);

	return object != HEAP_NO_OBJECT && session->snapshot->type[object] != HEAP_NO_TYPE;
}

static bool print_any(const struct printing *printing)
{
	struct session *session = printing->session;
	uint64_t manager, pointer;
	struct place storage;
	bool is_inside, is_typed = false;

	if ((!place_find_pointer(session, &printing->place, "_M_manager", &manager) ||
	     !place_find(session, &printing->place, "_M_storage", &storage)) &&
	    (!place_find_pointer(session, &printing->place, "__h", &manager) ||
	     !place_find(session, &printing->place, "__s", &storage)))
		return false;
	if (manager == 0)
		return print_word(printing, "std::any, empty");

	const char *type = std_any_type(session, manager, &is_inside);
	const char *text = "";

	if (!type)
		return false;
	if (is_inside) {
		text = describe_any(session, &storage, type);
	} else if (value_load_pointer(session, storage.value, storage.offset, &pointer)) {
		text = value_describe_pointer(session, pointer, HEAP_NO_TYPE);
		is_typed = has_type(session, pointer);
	}
	value_begin_line(session, printing->name, printing->indent);
	// A value elsewhere is a block, whose type its text begins with, if it has one.
	if (!is_typed || !*text)
		output_text(session->output, "std::any of %s%s%s\n", type, *text ? ": " : "", text);
	else
		output_text(session->output, "std::any of %s\n", text);
	output_open_object(session->output, printing->name);
	output_string(session->output, "container", "std::any");
	output_string(session->output, "held", type);
	output_string(session->output, "value", text);
	output_close(session->output);
	return true;
}

static bool print_atomic(const struct printing *printing)
{
	struct place value;

	return container_find_atomic(printing->session, &printing->place, &value) &&
	       print_inside(printing, &value);
}

// A function's target: what is called is known by its address; what it was given, when that
// is in the heap, by its block.
static bool print_function(const struct printing *printing)
{
	struct session *session = printing->session;
	const struct place *place = &printing->place;
	uint64_t target, code;

	if (!place_find_pointer(session, place, "_M_manager", &target) &&
	    !place_find_pointer(session, place, "__f_.__f_", &target))
		return false;
	if (target == 0)
		return print_word(printing, "std::function, empty");
	if (!place_find_pointer(session, place, "_M_invoker", &code))
		code = target;

	uint64_t kept = target;
	struct place data;

	if (place_find(session, place, "_M_functor", &data) &&
	    !value_load_pointer(session, data.value, data.offset, &kept))
		kept = 0;

	const char *text = heap_snapshot_find(session->snapshot, kept) != HEAP_NO_OBJECT
				   ? value_describe_pointer(session, kept, HEAP_NO_TYPE)
			   : heap_snapshot_function(session->snapshot, kept)
				   ? describe_address(session, kept)
				   : describe_address(session, code);

	value_begin_line(session, printing->name, printing->indent);
	output_text(session->output, "std::function of %s\n", text);
	output_open_object(session->output, printing->name);
	output_string(session->output, "container", "std::function");
	output_string(session->output, "target", text);
	value_pointer_json(session, kept, HEAP_NO_TYPE);
	output_close(session->output);
	return true;
}

// --- all of them -------------------------------------------------------------

static bool print_string(const struct printing *printing)
{
	return container_text_print(printing->session, &printing->place, printing->name,
				    printing->indent, printing->limit);
}

// Rust's Rc and Arc: counts before the value. All owners together hold one of the weak references.
static bool find_counted(struct session *session, const struct place *place, uint64_t *pointer,
			 struct counts *counts)
{
	struct place block;

	if (!place_find_pointer(session, place, "ptr.pointer", pointer) ||
	    !place_follow(session, place, *pointer, 16, &block) ||
	    !value_load_number(block.value, block.offset, 8, &counts->uses) ||
	    !value_load_number(block.value, block.offset + 8, 8, &counts->weak))
		return false;
	counts->weak -= counts->uses > 0;
	return true;
}

static bool print_counted(const struct printing *printing)
{
	struct session *session = printing->session;
	struct counts counts;
	uint64_t pointer;

	if (!find_counted(session, &printing->place, &pointer, &counts))
		return false;
	value_begin_line(session, printing->name, printing->indent);
	output_text(session->output, "%s (strong count %" PRIu64 ", weak count %" PRIu64 ")\n",
		    value_describe_pointer(session, pointer, HEAP_NO_TYPE), counts.uses,
		    counts.weak);
	output_open_object(session->output, printing->name);
	value_pointer_json(session, pointer, HEAP_NO_TYPE);
	output_number(session->output, "strong_count", counts.uses);
	output_number(session->output, "weak_count", counts.weak);
	output_close(session->output);
	return true;
}

// --- enums of Rust ----------------------------------------------------------------

// Prints the value of a variant, in parentheses if that is one value on one line: Some(7).
static const char *describe_variant(struct session *session, const struct place *variant,
				    const char *name)
{
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, variant->type)];
	struct place only;

	if (type->members != 1 || !place_find(session, variant, "__0", &only))
		return "";

	const char *text = value_describe(session, only.value, only.type, only.offset);

	return *text ? session_format(session, "%s(%s)", name, text) : "";
}

static bool print_rust_enum(const struct printing *printing)
{
	struct session *session = printing->session;
	const struct heap_types *types = &session->snapshot->types;
	struct place variant;
	const char *name;

	if (!rust_enum_find(session, &printing->place, &variant, &name))
		return false;

	const char *text = describe_variant(session, &variant, name);
	bool is_empty = types->types[heap_types_strip(types, variant.type)].members == 0;

	value_begin_line(session, printing->name, printing->indent);
	output_open_object(session->output, printing->name);
	output_string(session->output, "variant", name);
	if (is_empty || (*text && !output_is_json(session->output))) {
		output_text(session->output, "%s\n", *text ? text : name);
	} else {
		output_text(session->output, "%s {\n", name);
		value_print_fields(session, variant.value, variant.type, variant.offset,
				   printing->indent + 2, printing->limit);
		output_text(session->output, "%*s}\n", printing->indent, "");
	}
	output_close(session->output);
	return true;
}

static const struct {
	const char *name;
	bool (*print)(const struct printing *printing);
} printers[] = {
	{ "String", print_string },
	{ "Rc", print_counted },
	{ "Arc", print_counted },
	{ "basic_string", print_string },
	{ "basic_string_view", print_string },
	{ "tuple", print_tuple },
	{ "unique_ptr", print_unique },
	{ "shared_ptr", print_shared },
	{ "weak_ptr", print_weak },
	{ "optional", print_optional },
	{ "variant", print_variant },
	{ "any", print_any },
	{ "atomic", print_atomic },
	{ "function", print_function },
};

static bool print_kind(const struct printing *printing, const char *kind, size_t length,
		       bool *known)
{
	struct session *session = printing->session;
	struct container_walk walk;
	struct place words;

	*known = true;
	for (size_t i = 0; i < sizeof(printers) / sizeof(*printers); i++) {
		if (strncmp(printers[i].name, kind, length) == 0 &&
		    printers[i].name[length] == '\0')
			return printers[i].print(printing);
	}
	if (strncmp(kind, "vector<bool,", strlen("vector<bool,")) == 0)
		return find_bits(session, &printing->place, &walk, &words) &&
		       print_bits(printing, &walk, &words);
	*known = container_walk_is_known(kind, length);
	return *known && container_walk_begin(session, &printing->place, kind, length, &walk) &&
	       print_elements(printing, &walk);
}

bool container_print(struct session *session, const struct value *value, heap_type_id type,
		     uint64_t offset, const char *name, int indent, enum value_limit limit)
{
	const struct printing printing = { session, { value, offset, type }, name, indent, limit };
	uint64_t size = heap_types_size(&session->snapshot->types, type);
	size_t length;
	const char *kind = place_standard_name(session, type, &length);
	bool known;

	if (length == 0)
		return print_rust_enum(&printing);
	if (print_kind(&printing, kind, length, &known))
		return true;
	// Its members would only say the same.
	return known && (offset > value->kept || size > value->kept - offset) &&
	       print_word(&printing, "(not kept)");
}

// Those that stand on one line: strings and owners.
static const char *describe_short(struct session *session, const struct place *place,
				  const char *kind, size_t length)
{
	uint64_t pointer, control;

	if ((length == strlen("basic_string") && strncmp(kind, "basic_string", length) == 0) ||
	    (length == strlen("String") && strncmp(kind, "String", length) == 0))
		return container_text_describe(session, place);
	if (length == strlen("unique_ptr") && strncmp(kind, "unique_ptr", length) == 0)
		return container_find_unique(session, place, &pointer)
			       ? value_describe_pointer(session, pointer, HEAP_NO_TYPE)
			       : "";
	if (length == strlen("shared_ptr") && strncmp(kind, "shared_ptr", length) == 0)
		return container_find_shared(session, place, &pointer, &control)
			       ? describe_shared(session, place, pointer, control)
			       : "";
	return "";
}

const char *container_describe(struct session *session, const struct value *value,
			       heap_type_id type, uint64_t offset)
{
	const struct place place = { value, offset, type };
	size_t length;
	const char *kind = place_standard_name(session, type, &length);
	const char *text = describe_short(session, &place, kind, length);
	struct container_walk walk;
	struct place words;

	if (*text || length == 0)
		return text;
	if (strncmp(kind, "vector<bool,", strlen("vector<bool,")) == 0)
		return find_bits(session, &place, &walk, &words) ? describe_length(session, &walk)
								 : "";
	return container_walk_begin(session, &place, kind, length, &walk)
		       ? describe_length(session, &walk)
		       : "";
}
