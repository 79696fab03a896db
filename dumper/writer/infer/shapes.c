// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/shapes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/scan/page_cache.h"
#include "dumper/writer/scan/sites.h"
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/hash_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEAST_BLOCKS = 4, // fewer of one kind have no shape
	LOOKED_AT = 64,   // of each kind
	MAX_WORDS = 64,   // of a block that are examined
	MAX_FIELDS = 12,  // of a shape; what follows is bytes
	LEAST_TEXT = 4,   // letters
	LONG_TEXT = 16,   // which is text whatever comes after it
	SMALLEST = 24,    // bytes of glibc's smallest block; the program may have requested fewer
	AGREEMENT = 90,   // per cent of the words of a field that hold anything
	LEAST_ADDRESS = 65536,
	NAME_SIZE = 256,
};

enum field_class {
	FIELD_NOTHING, // always 0
	FIELD_POINTER,
	FIELD_TEXT_POINTER, // to a block of characters
	FIELD_TEXT,         // characters in the block itself
	FIELD_NUMBER,
	FIELD_CLASSES,
};

static const char *const class_names[FIELD_CLASSES] = {
	[FIELD_NOTHING] = "zero", [FIELD_POINTER] = "ptr", [FIELD_TEXT_POINTER] = "text",
	[FIELD_TEXT] = "char",    [FIELD_NUMBER] = "long",
};

// Words of one class, one after the other.
struct field {
	enum field_class class;
	uint64_t offset, words;
};

struct shape {
	struct field fields[MAX_FIELDS];
	uint32_t count;
	uint64_t size; // of the block
};

struct naming {
	struct capture *capture;
	struct pages *pages;
	heap_object_id *members; // [objects] by kind
	uint32_t *first;         // [kinds + 1] of members
	heap_type_id character, text, pointer, number;
	struct heap_hash_table by_name;
	heap_type_id *types; // [by_name.count]
	uint32_t type_capacity;
};

// --- what words hold ---------------------------------------------------------

static bool is_ascii(unsigned char byte)
{
	return (byte >= ' ' && byte < 0x7f) || (byte >= '\t' && byte <= '\r');
}

// Bytes of the printable letter that begins there; 0: there is none.
static size_t letter_size(const unsigned char *bytes, size_t left)
{
	size_t size = is_ascii(bytes[0]) ? 1 : heap_utf8_length((const char *)bytes, left);

	return size > 1 || is_ascii(bytes[0]) ? size : 0;
}

// True if a word is a piece of text: letters, and after them only NULs.
static bool is_text_word(uint64_t word)
{
	const unsigned char *bytes = (const unsigned char *)&word;
	size_t length = 0;

	while (length < sizeof(word) && is_ascii(bytes[length]))
		length++;
	for (size_t i = length; i < sizeof(word); i++) {
		if (bytes[i] != '\0')
			return false;
	}
	return length >= LEAST_TEXT;
}

static bool is_address(const struct naming *naming, uint64_t word)
{
	return word >= LEAST_ADDRESS && image_find(&naming->capture->image, word);
}

static enum field_class classify(const struct naming *naming, uint64_t word)
{
	const struct capture *capture = naming->capture;
	heap_object_id target;

	if (word == 0)
		return FIELD_NOTHING;
	if (is_address(naming, word)) {
		target = objects_find(&capture->objects, word);
		return target != HEAP_NO_OBJECT &&
				       capture->snapshot.type[target] == naming->character
			       ? FIELD_TEXT_POINTER
			       : FIELD_POINTER;
	}
	return is_text_word(word) ? FIELD_TEXT : FIELD_NUMBER;
}

// True if the sizes of blocks are those that the program requested.
static bool has_exact_sizes(const struct capture *capture)
{
	return capture->process.origin != HEAPSNAP_ORIGIN_ATTACHED &&
	       capture->process.origin != HEAPSNAP_ORIGIN_CORE;
}

/*
 * True for a string in a block of its own: letters up to a NUL, which fill a good part of the block.
 * An address is no text, though its bytes may read as letters.
 */
static bool is_text(const struct naming *naming, heap_object_id object)
{
	unsigned char bytes[MAX_WORDS * 8];
	const struct capture *capture = naming->capture;
	uint64_t size = objects_size(&capture->objects, object);
	uint32_t edge = capture->snapshot.edge_first[object];
	size_t seen = size < sizeof(bytes) ? size : sizeof(bytes), length = 0, letter;
	uint64_t first = 0;

	pages_read(naming->pages, capture->objects.address[object], bytes, seen);
	while (length < seen && (letter = letter_size(bytes + length, seen - length)) > 0)
		length += letter;
	// The bytes behind the text may be left over from the block that was there before.
	if (edge < capture->snapshot.edge_first[object + 1] &&
	    capture->snapshot.edge_slot[edge] * UINT64_C(8) < length)
		return false;
	if (length == seen)
		return size > seen;
	memcpy(&first, bytes, seen < sizeof(first) ? seen : sizeof(first));
	return length >= LEAST_TEXT && bytes[length] == '\0' && !is_address(naming, first) &&
	       (length >= LONG_TEXT || length >= size / 2 ||
		(size <= SMALLEST && !has_exact_sizes(capture)));
}

// --- the shape of a kind -----------------------------------------------------

// The class of nearly all words of one place that hold anything.
static enum field_class choose_class(const uint32_t counts[FIELD_CLASSES])
{
	uint32_t pointers = counts[FIELD_POINTER] + counts[FIELD_TEXT_POINTER];
	uint32_t all = pointers + counts[FIELD_TEXT] + counts[FIELD_NUMBER];

	if (all == 0)
		return FIELD_NOTHING;
	if (counts[FIELD_TEXT_POINTER] * 100 >= all * AGREEMENT)
		return FIELD_TEXT_POINTER;
	if (pointers * 100 >= all * AGREEMENT)
		return FIELD_POINTER;
	return counts[FIELD_TEXT] * 100 >= all * AGREEMENT ? FIELD_TEXT : FIELD_NUMBER;
}

static void find_shape(const struct naming *naming, const heap_object_id *members, uint32_t count,
		       struct shape *shape)
{
	const struct objects *objects = &naming->capture->objects;
	uint32_t counts[MAX_WORDS][FIELD_CLASSES] = { { 0 } };
	uint64_t words[MAX_WORDS], size = objects_size(objects, members[0]);
	size_t word_count = size / 8 < MAX_WORDS ? size / 8 : MAX_WORDS;
	uint32_t step = (count + LOOKED_AT - 1) / LOOKED_AT;

	*shape = (struct shape){ .size = size };
	for (uint32_t i = 0; i < count; i += step) {
		progress_step();
		pages_read(naming->pages, objects->address[members[i]], words, word_count * 8);
		for (size_t j = 0; j < word_count; j++)
			counts[j][classify(naming, words[j])]++;
	}
	for (size_t j = 0; j < word_count; j++) {
		enum field_class class = choose_class(counts[j]);
		struct field *last = shape->count > 0 ? &shape->fields[shape->count - 1] : NULL;

		if (last && last->class == class)
			last->words++;
		else if (shape->count == MAX_FIELDS)
			break;
		else
			shape->fields[shape->count++] = (struct field){ class, j * 8, 1 };
	}
}

// --- its type ----------------------------------------------------------------

static uint64_t end_of(const struct shape *shape)
{
	const struct field *last = &shape->fields[shape->count - 1];

	return last->offset + last->words * 8;
}

static void append(char name[NAME_SIZE], const char *text, uint64_t count)
{
	size_t length = strlen(name);

	snprintf(name + length, NAME_SIZE - length, count > 1 ? "%s[%" PRIu64 "]" : "%s", text,
		 count);
}

// "{ptr, ptr, text, long[3]}"
static void describe(const struct shape *shape, char name[NAME_SIZE])
{
	strcpy(name, "{");
	for (uint32_t i = 0; i < shape->count; i++) {
		const struct field *field = &shape->fields[i];

		append(name, i > 0 ? ", " : "", 1);
		append(name, class_names[field->class],
		       field->class == FIELD_TEXT ? field->words * 8 : field->words);
	}
	if (end_of(shape) < shape->size) {
		append(name, ", byte", 1);
		append(name, "", shape->size - end_of(shape));
	}
	append(name, "}", 1);
}

HEAP_MUST_CHECK
static struct heap_error *add_array(struct heap_types *types, heap_type_id element, uint64_t count,
				    heap_type_id *result)
{
	return heap_types_add(types,
			      &(struct heap_type){ .kind = HEAP_TYPE_ARRAY,
						   .target = element,
						   .count = count,
						   .size = count * types->types[element].size },
			      result);
}

// The type of a field's words.
HEAP_MUST_CHECK
static struct heap_error *find_field_type(struct naming *naming, const struct field *field,
					  heap_type_id *result)
{
	struct heap_types *types = &naming->capture->snapshot.types;
	const heap_type_id of_class[FIELD_CLASSES] = {
		[FIELD_NOTHING] = naming->number,    [FIELD_POINTER] = naming->pointer,
		[FIELD_TEXT_POINTER] = naming->text, [FIELD_TEXT] = naming->character,
		[FIELD_NUMBER] = naming->number,
	};

	*result = of_class[field->class];
	if (field->class == FIELD_TEXT)
		return add_array(types, *result, field->words * 8, result);
	return field->words > 1 ? add_array(types, *result, field->words, result) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_member(struct heap_types *types, uint64_t offset, heap_type_id type)
{
	struct heap_member member = { .type = type, .offset = offset };
	char name[32];

	snprintf(name, sizeof(name), "at_%" PRIu64, offset);
	HEAP_TRY(heap_types_add_string(types, name, &member.name));
	return heap_types_add_member(types, &member);
}

// Adds the members of a shape: the last of a table's.
HEAP_MUST_CHECK
static struct heap_error *add_members(struct naming *naming, const struct shape *shape,
				      struct heap_type *type)
{
	struct heap_types *types = &naming->capture->snapshot.types;
	heap_type_id members[MAX_FIELDS + 1];
	uint64_t rest = shape->size - end_of(shape);

	// Their types first: the members of a type are added one after the other.
	for (uint32_t i = 0; i < shape->count; i++)
		HEAP_TRY(find_field_type(naming, &shape->fields[i], &members[i]));
	if (rest > 0)
		HEAP_TRY(add_array(types, naming->character, rest, &members[shape->count]));
	type->first_member = types->member_count;
	for (uint32_t i = 0; i < shape->count; i++)
		HEAP_TRY(add_member(types, shape->fields[i].offset, members[i]));
	if (rest > 0)
		HEAP_TRY(add_member(types, end_of(shape), members[shape->count]));
	type->members = types->member_count - type->first_member;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_struct(struct naming *naming, const struct shape *shape,
				     const char *name, heap_type_id *result)
{
	struct heap_types *types = &naming->capture->snapshot.types;
	struct heap_type type = { .kind = HEAP_TYPE_STRUCT, .size = shape->size };

	HEAP_TRY(add_members(naming, shape, &type));
	HEAP_TRY(heap_types_add_string(types, name, &type.name));
	return heap_types_add(types, &type, result);
}

// The struct of a shape: the same one for all kinds that look alike.
HEAP_MUST_CHECK
static struct heap_error *find_struct(struct naming *naming, const struct shape *shape,
				      heap_type_id *result)
{
	const struct heap_types *types = &naming->capture->snapshot.types;
	char name[NAME_SIZE];
	uint32_t number;

	describe(shape, name);

	uint64_t hash = heap_hash_mix(heap_hash_string(name), shape->size);

	number = heap_hash_find(
		&naming->by_name, hash, i,
		types->types[naming->types[i]].size == shape->size &&
			strcmp(types->strings + types->types[naming->types[i]].name, name) == 0);
	if (number == HEAP_HASH_NONE) {
		number = naming->by_name.count;
		HEAP_TRY(heap_reserve(naming->types, naming->type_capacity, (size_t)number + 1));
		HEAP_TRY(add_struct(naming, shape, name, &naming->types[number]));
		HEAP_TRY(heap_hash_add(&naming->by_name, hash, number));
	}
	*result = naming->types[number];
	return NULL;
}

// --- all kinds ---------------------------------------------------------------

static void set_one(struct naming *naming, heap_object_id object, heap_type_id type,
		    uint64_t elements)
{
	naming->capture->snapshot.type[object] = type;
	naming->capture->snapshot.elements[object] = elements;
	naming->capture->snapshot.evidence[object] = HEAP_EVIDENCE_SHAPE;
}

static void set(struct naming *naming, uint32_t kind, heap_type_id type, uint64_t elements)
{
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++)
		set_one(naming, naming->members[i], type, elements);
}

// True if debug information tells the types of the code that allocates a kind of blocks, or if that is not known.
static bool has_debug(const struct capture *capture, uint32_t kind)
{
	return sites_has_types(capture, capture->site_of_kind[kind]);
}

// True if nothing is known of the code that allocates a kind of blocks but its name.
static bool is_unknown(const struct capture *capture, uint32_t kind)
{
	const struct heap_site *site = &capture->snapshot.sites[capture->site_of_kind[kind]];

	return site->module == HEAP_NO_INDEX || !has_debug(capture, kind);
}

// True if its code has no debug information, and no block of it has a type or parts.
static bool is_wanted(const struct naming *naming, uint32_t kind)
{
	const struct capture *capture = naming->capture;

	if (has_debug(capture, kind))
		return false;
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++) {
		if (capture->snapshot.evidence[naming->members[i]] != HEAP_EVIDENCE_NONE)
			return false;
	}
	return naming->first[kind] < naming->first[kind + 1];
}

static bool are_texts(const struct naming *naming, uint32_t kind)
{
	uint32_t count = naming->first[kind + 1] - naming->first[kind];
	uint32_t step = (count + LOOKED_AT - 1) / LOOKED_AT;

	for (uint32_t i = 0; i < count; i += step) {
		if (!is_text(naming, naming->members[naming->first[kind] + i]))
			return false;
	}
	return true;
}

// Names each block of a kind that reads as text and has no type: blocks beside it may be something else.
static void name_texts(struct naming *naming, uint32_t kind)
{
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++) {
		heap_object_id object = naming->members[i];

		progress_step();
		if (naming->capture->snapshot.evidence[object] == HEAP_EVIDENCE_NONE &&
		    is_text(naming, object))
			set_one(naming, object, naming->character,
				objects_size(&naming->capture->objects, object));
	}
}

// The class of a kind's blocks, if nothing but its name and its size is known.
static heap_type_id find_opaque(const struct naming *naming, uint32_t kind)
{
	const struct capture *capture = naming->capture;
	heap_type_id id = naming->first[kind] < naming->first[kind + 1]
				  ? capture->snapshot.type[naming->members[naming->first[kind]]]
				  : HEAP_NO_TYPE;
	const struct heap_type *type = &capture->snapshot.types.types[id];
	bool is_opaque = type->kind == HEAP_TYPE_CLASS && type->members == 0 && type->size >= 8 &&
			 type->size == capture->objects.kinds.list[kind].size;

	if (!is_opaque || has_debug(capture, kind))
		return HEAP_NO_TYPE;
	for (uint32_t i = naming->first[kind]; i < naming->first[kind + 1]; i++) {
		if (capture->snapshot.type[naming->members[i]] != id)
			return HEAP_NO_TYPE;
	}
	return id;
}

// A class that symbols have named gets the members that its blocks show.
HEAP_MUST_CHECK
static struct heap_error *fill_classes(struct naming *naming)
{
	for (uint32_t i = 0; i < naming->capture->objects.kinds.count; i++) {
		heap_type_id id = find_opaque(naming, i);
		struct heap_type type;
		struct shape shape;

		if (id == HEAP_NO_TYPE)
			continue;
		type = naming->capture->snapshot.types.types[id];
		find_shape(naming, &naming->members[naming->first[i]],
			   naming->first[i + 1] - naming->first[i], &shape);
		HEAP_TRY(add_members(naming, &shape, &type));
		naming->capture->snapshot.types.types[id] = type;
	}
	return NULL;
}

// Texts first: a pointer to one of them is a field of its own class.
HEAP_MUST_CHECK
static struct heap_error *name_all(struct naming *naming)
{
	const struct object_kinds *kinds = &naming->capture->objects.kinds;

	for (uint32_t i = 0; i < kinds->count; i++) {
		if (is_wanted(naming, i) && are_texts(naming, i))
			set(naming, i, naming->character, kinds->list[i].size);
	}
	for (uint32_t i = 0; i < kinds->count && !progress_is_late(); i++) {
		uint32_t count = naming->first[i + 1] - naming->first[i];
		struct shape shape;
		heap_type_id type;

		if (count < LEAST_BLOCKS || kinds->list[i].size < 8 || !is_wanted(naming, i))
			continue;
		find_shape(naming, &naming->members[naming->first[i]], count, &shape);
		// Zeros alone show nothing.
		if (shape.count == 1 && shape.fields[0].class == FIELD_NOTHING)
			continue;
		HEAP_TRY(find_struct(naming, &shape, &type));
		set(naming, i, type, 1);
	}
	for (uint32_t i = 0; i < kinds->count && !progress_is_late(); i++) {
		if (is_unknown(naming->capture, i))
			name_texts(naming, i);
	}
	return NULL;
}

// Sorts the objects by their kinds.
static void sort_members(struct naming *naming)
{
	const struct objects *objects = &naming->capture->objects;

	for (heap_object_id i = 0; i < objects->count; i++)
		naming->first[objects->kind[i]]++;
	for (uint32_t i = 1; i <= objects->kinds.count; i++)
		naming->first[i] += naming->first[i - 1];
	for (heap_object_id i = objects->count; i-- > 0;)
		naming->members[--naming->first[objects->kind[i]]] = i;
}

HEAP_MUST_CHECK
static struct heap_error *find_base(struct heap_types *types, const char *name, uint8_t flags,
				    uint8_t size, heap_type_id *result)
{
	struct heap_type type = { .kind = HEAP_TYPE_BASE, .flags = flags, .size = size };

	*result = heap_types_find(types, name, 0);
	if (*result != HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(heap_types_add_string(types, name, &type.name));
	return heap_types_add(types, &type, result);
}

HEAP_MUST_CHECK
static struct heap_error *add_types(struct naming *naming)
{
	struct heap_types *types = &naming->capture->snapshot.types;

	HEAP_TRY(find_base(types, "char", HEAP_TYPE_SIGNED | HEAP_TYPE_CHARACTER, 1,
			   &naming->character));
	HEAP_TRY(find_base(types, "long", HEAP_TYPE_SIGNED, 8, &naming->number));
	HEAP_TRY(heap_types_add(types,
				&(struct heap_type){ .kind = HEAP_TYPE_POINTER,
						     .size = 8,
						     .target = naming->character },
				&naming->text));
	return heap_types_add(types, &(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = 8 },
			      &naming->pointer);
}

static void naming_deinit(struct naming *naming)
{
	pages_destroy(naming->pages);
	heap_hash_table_deinit(&naming->by_name);
	free(naming->types);
}

HEAP_MUST_CHECK
static struct heap_error *name_blocks(struct capture *capture)
{
	const struct objects *objects = &capture->objects;
	CLEANUP_FREE heap_object_id *members = calloc((size_t)objects->count + 1, sizeof(*members));
	CLEANUP_FREE uint32_t *first = calloc((size_t)objects->kinds.count + 1, sizeof(*first));
	CLEANUP(naming_deinit)
	struct naming naming = { .capture = capture, .members = members, .first = first };

	naming.pages = pages_create(&capture->image, PAGES_IN_ORDER);
	if (!members || !first || !naming.pages)
		return heap_error_out_of_memory();
	HEAP_TRY(add_types(&naming));
	sort_members(&naming);
	HEAP_TRY(name_all(&naming));
	return fill_classes(&naming);
}

struct heap_error *shapes_name(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->objects.kinds.count; i++) {
		if (is_unknown(capture, i))
			return name_blocks(capture);
	}
	return NULL;
}
