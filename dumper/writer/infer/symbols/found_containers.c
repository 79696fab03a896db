// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/found_containers.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/symbols/library_types.h"
#include "dumper/writer/infer/symbols/node_types.h"
#include "dumper/writer/infer/symbols/vector_buffers.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD = 8,
	MAX_NAME = 1024,
	MAX_KNOWN = 256, // values that other containers are compared with
};

// The values of containers that have been named.
struct known {
	uint8_t part;
	struct shape value;
	heap_type_id node;
};

struct naming {
	struct capture *capture;
	const struct shape_reader *reader;
	struct shape_types *types;
	struct library_types *library;
	struct container_nodes nodes;
	struct HEAP_ARRAY(struct known) known;
};

static bool has_name(const struct naming *naming, heap_object_id object)
{
	return names_of(&naming->capture->names, object)->evidence != HEAP_EVIDENCE_NONE;
}

HEAP_MUST_CHECK
static struct heap_error *set(struct naming *naming, heap_object_id object, heap_type_id type,
			      uint64_t elements, enum heap_evidence evidence)
{
	if (has_name(naming, object))
		return NULL;
	return names_set(&naming->capture->names, object, type, elements, evidence);
}

static uint64_t size_of(const struct naming *naming, heap_object_id object)
{
	return objects_size(&naming->capture->objects, object);
}

// --- values of nodes -----------------------------------------------------------

// Reads the values of some nodes. Sizes that were rounded differ: the smallest is nearest to the truth.
static struct word_tally tally_nodes(const struct naming *naming, const struct container *container,
				     uint64_t start)
{
	const heap_object_id *members = naming->nodes.members.items + container->first;
	uint32_t step = (container->count + SHAPE_SAMPLES - 1) / SHAPE_SAMPLES;
	uint64_t size = UINT64_MAX;
	struct word_tally tally;

	for (uint32_t i = 0; i < container->count; i++)
		size = size_of(naming, members[i]) < size ? size_of(naming, members[i]) : size;
	tally = word_tally_start(size > start ? size - start : 0);
	for (uint32_t i = 0; i < container->count; i += step)
		word_tally_add(naming->reader,
			       objects_address(&naming->capture->objects, members[i]) + start,
			       &tally);
	return tally;
}

// True if a word of the nodes agrees with the field of another container's nodes. Zeros agree with any.
static bool agrees(const struct word_tally *tally, enum field_class class, size_t word)
{
	const uint32_t *counts = tally->counts[word];
	uint32_t pointers = counts[FIELD_POINTER] + counts[FIELD_TEXT_POINTER];
	uint32_t others = counts[FIELD_TEXT] + counts[FIELD_NUMBER];

	if (shape_field_is_library(class))
		return !tally->found[class - FIELD_LIBRARY][word].refuted;
	switch (class) {
	case FIELD_NOTHING:
		return pointers + others == 0;
	case FIELD_POINTER:
		return others == 0;
	case FIELD_TEXT_POINTER:
		return others + counts[FIELD_POINTER] == 0;
	default:
		return pointers == 0 || others > 0;
	}
}

static bool is_like(const struct naming *naming, const struct word_tally *tally,
		    const struct known *known)
{
	for (uint32_t i = 0; i < known->value.count; i++) {
		const struct field *field = &known->value.fields[i];
		size_t width = shape_field_width(naming->reader, field->class);

		for (size_t j = 0; j < field->words; j += width) {
			size_t word = field->offset / WORD + j;

			if (word + width > tally->words || !agrees(tally, field->class, word))
				return false;
		}
	}
	return true;
}

// The shape of a container's values. A last word of zeros may be beyond what the program requested.
static struct shape find_value(const struct naming *naming, const struct word_tally *tally)
{
	struct shape value = { .size = tally->words * WORD };
	struct field *last;

	shape_find_fields(naming->reader, tally, NULL, &value);
	last = &value.fields[value.count - 1];
	if (value.count > 0 && last->class == FIELD_NOTHING &&
	    last->offset + last->words * WORD == value.size && value.size > WORD) {
		value.size -= WORD;
		last->words--;
		value.count -= last->words == 0;
	}
	return value;
}

// Adds the type of a value, "{std::string, ptr}", and that of the nodes.
HEAP_MUST_CHECK
static struct heap_error *add_node(struct naming *naming, enum container_part part,
				   const struct shape *value, heap_type_id *result)
{
	struct heap_types *types = naming->types->types;
	struct heap_type type = { .kind = HEAP_TYPE_STRUCT, .size = value->size };
	bool is_libcxx = naming->nodes.is_libcxx;
	char fields[SHAPE_NAME_SIZE], name[MAX_NAME];
	heap_type_id id;
	size_t before = types->count;

	shape_types_describe(naming->types, value, fields);
	HEAP_TRY(heap_types_add_string(types, fields, &type.name));
	HEAP_TRY(library_types_add(naming->library, &type, &id));
	if (types->count > before)
		HEAP_TRY(shape_types_add_members(naming->types, value, id));
	snprintf(name, sizeof(name), "%s%s%s>", node_types_template(part, is_libcxx), fields,
		 is_libcxx ? ", void*" : "");
	HEAP_TRY(library_types_find(naming->library, name, strlen(name), result));
	return library_types_complete(naming->library);
}

// --- containers ------------------------------------------------------------------

// Finds the type of a container's nodes: that of others like them, or a new one.
HEAP_MUST_CHECK
static struct heap_error *find_node(struct naming *naming, const struct container *container,
				    heap_type_id *result)
{
	enum container_part part = (enum container_part)container->part;
	uint64_t start = container_nodes_value(&naming->nodes, part);
	struct word_tally tally = tally_nodes(naming, container, start);
	struct known known = { .part = container->part };

	*result = HEAP_NO_TYPE;
	if (tally.words == 0)
		return NULL;
	known.value = find_value(naming, &tally);
	for (size_t i = 0; i < naming->known.count; i++) {
		const struct known *other = &naming->known.items[i];

		progress_step();
		if (other->part == known.part &&
		    other->value.size / (2 * WORD) == known.value.size / (2 * WORD) &&
		    is_like(naming, &tally, other)) {
			*result = other->node;
			return NULL;
		}
	}
	HEAP_TRY(add_node(naming, part, &known.value, result));
	known.node = *result;
	return naming->known.count < MAX_KNOWN ? heap_array_append(&naming->known, known) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *name_nodes(struct naming *naming, const struct container *container)
{
	const heap_object_id *members = naming->nodes.members.items + container->first;
	heap_type_id type = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < container->count; i++) {
		if (has_name(naming, members[i]))
			continue;
		if (type == HEAP_NO_TYPE)
			HEAP_TRY(find_node(naming, container, &type));
		if (type == HEAP_NO_TYPE)
			return NULL;
		HEAP_TRY(set(naming, members[i], type, 1, HEAP_EVIDENCE_POINTER));
	}
	return NULL;
}

// The largest ones first: they show most of the fields.
static int compare_containers(const void *a, const void *b)
{
	const struct container *left = a, *right = b;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->first < right->first ? -1 : left->first > right->first;
}

// Texts and tables of buckets, which are known without a look at other blocks.
HEAP_MUST_CHECK
static struct heap_error *name_plain_parts(struct naming *naming)
{
	static const char buckets[] = "std::__detail::_Hash_node_base*";
	const char *bucket = naming->nodes.is_libcxx ? "void*" : buckets;
	heap_type_id type;

	HEAP_TRY(library_types_find(naming->library, bucket, strlen(bucket), &type));
	for (heap_object_id i = 0; i < naming->capture->objects.count; i++) {
		if (naming->nodes.part[i] == CONTAINER_TEXT)
			HEAP_TRY(set(naming, i, naming->reader->character, size_of(naming, i),
				     HEAP_EVIDENCE_POINTER));
		else if (naming->nodes.part[i] == CONTAINER_BUCKETS)
			HEAP_TRY(set(naming, i, type, size_of(naming, i) / WORD,
				     HEAP_EVIDENCE_POINTER));
	}
	return NULL;
}

// --- vectors ---------------------------------------------------------------------

// The class of all elements of a vector, if they are values of the library or pointers; FIELD_NOTHING: others.
static enum field_class find_element(const struct naming *naming, uint64_t address, uint64_t used)
{
	for (int value = 0; value < LIBRARY_VALUES; value++) {
		enum field_class class = (enum field_class)(FIELD_LIBRARY + value);
		size_t width = naming->reader->widths[value];
		struct word_tally tally = word_tally_start(width * WORD);

		if (used % (width * WORD) != 0)
			continue;
		for (uint64_t i = 0; i < SHAPE_SAMPLES && (i + 1) * width * WORD <= used; i++)
			word_tally_add(naming->reader, address + i * width * WORD, &tally);
		if (word_tally_choose(&tally, 0) == class)
			return class;
	}
	for (uint64_t i = 0; i < used / WORD && i < SHAPE_SAMPLES; i++) {
		struct word_tally tally = word_tally_start(WORD);

		word_tally_add(naming->reader, address + i * WORD, &tally);
		if (tally.counts[0][FIELD_POINTER] + tally.counts[0][FIELD_TEXT_POINTER] == 0)
			return FIELD_NOTHING;
	}
	return used % WORD == 0 ? FIELD_POINTER : FIELD_NOTHING;
}

HEAP_MUST_CHECK
static struct heap_error *visit_buffer(void *context, heap_object_id buffer, uint64_t used,
				       uint64_t capacity)
{
	struct naming *naming = context;
	struct shape shape = { .count = 1, .is_element = true };
	heap_type_id type;

	if (has_name(naming, buffer))
		return NULL;
	shape.fields[0].class =
		find_element(naming, objects_address(&naming->capture->objects, buffer), used);
	if (shape.fields[0].class == FIELD_NOTHING)
		return NULL;
	shape.fields[0].words = shape_field_width(naming->reader, shape.fields[0].class);
	shape.size = shape.fields[0].words * WORD;
	HEAP_TRY(shape_types_find(naming->types, &shape, &type));
	return set(naming, buffer, type, capacity / shape.size, HEAP_EVIDENCE_SHAPE);
}

// --- all ---------------------------------------------------------------------------

static void naming_deinit(struct naming *naming)
{
	library_types_destroy(naming->library);
	container_nodes_deinit(&naming->nodes);
	heap_array_deinit(&naming->known);
}

// Finds the kinds of which a block has no name. Where debug information tells nearly all, little is left to look for.
static void find_unnamed(const struct naming *naming, bool *is_unnamed)
{
	const struct objects *objects = &naming->capture->objects;

	for (heap_object_id i = 0; i < objects->count; i++)
		is_unnamed[objects_kind(objects, i)] |= !has_name(naming, i);
	progress_steps(objects->count);
}

struct heap_error *found_containers_name(struct capture *capture, const struct shape_reader *reader,
					 struct shape_types *types)
{
	struct cxx_libraries libraries = library_values_libraries(&capture->modules);
	CLEANUP(naming_deinit)
	struct naming naming = { .capture = capture, .reader = reader, .types = types };
	CLEANUP_FREE bool *is_wanted = calloc((size_t)capture->objects.kinds.count + 1, 1);

	if (capture->block_sizes == HEAP_BLOCK_SIZES_EXACT ||
	    (!libraries.has_stdcxx && !libraries.has_libcxx))
		return NULL;
	if (!is_wanted)
		return heap_error_out_of_memory();
	find_unnamed(&naming, is_wanted);
	HEAP_TRY(library_types_create(types->types, &naming.library));
	HEAP_TRY(container_nodes_find(&naming.nodes, capture, is_wanted));
	HEAP_TRY(name_plain_parts(&naming));
	if (naming.nodes.containers.count > 0)
		qsort(naming.nodes.containers.items, naming.nodes.containers.count,
		      sizeof(*naming.nodes.containers.items), compare_containers);
	for (size_t i = 0; i < naming.nodes.containers.count && !progress_is_late(); i++)
		HEAP_TRY(name_nodes(&naming, &naming.nodes.containers.items[i]));
	return vector_buffers_visit(&reader->values, is_wanted, visit_buffer, &naming);
}
