// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/hprof_classes.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/types/member_path.h"
#include "shell/export/export.h"
#include "shell/print/node.h"

#include <inttypes.h>
#include <string.h>

enum {
	FIELDS_MOST = 4096, // bytes of a type that gets fields; others are arrays of words
	WORD = 8,
};

void hprof_classes_deinit(struct hprof_classes *classes)
{
	for (size_t i = 0; i < classes->list.count; i++) {
		free(classes->list.items[i].pointers);
		heap_array_deinit(&classes->list.items[i].fields);
	}
	heap_array_deinit(&classes->list);
	heap_hash_table_deinit(&classes->by_name);
	free(classes->of_node);
}

// --- the class of an object ------------------------------------------------------

static bool has_edges(const struct hprof_classes *classes, heap_node_id node)
{
	return classes->nodes->edge_first[node] < classes->nodes->edge_first[node + 1];
}

static bool has_edges_behind(const struct hprof_classes *classes, heap_node_id node, uint64_t size)
{
	const struct heap_snapshot *nodes = classes->nodes;

	for (uint32_t i = nodes->edge_first[node]; i < nodes->edge_first[node + 1]; i++) {
		uint32_t edge = heap_divided_edge(classes->session->divided, i);

		if (edge != UINT32_MAX &&
		    (uint64_t)node_slot(classes->session, node, edge) * WORD + WORD > size)
			return true;
	}
	return false;
}

// A block may be larger than its type where allocators round sizes up.
static enum hprof_shape shape_of(const struct hprof_classes *classes, heap_node_id node)
{
	const struct heap_types *types = &classes->session->snapshot->types;
	heap_type_id type = classes->nodes->type[node];
	const struct heap_type *stripped = &types->types[heap_types_strip(types, type)];
	uint64_t size = heap_types_size(types, type);
	heap_node_id first;

	if (type == HEAP_NO_TYPE ||
	    heap_divided_parts(classes->session->divided, node, &first) > first)
		return HPROF_WORDS;
	if ((stripped->flags & HEAP_TYPE_CHARACTER) && size == 1 && !has_edges(classes, node))
		return HPROF_BYTES;
	if (heap_types_has_members(stripped) && node_elements(classes->session, node) == 1 &&
	    size > 0 && size <= FIELDS_MOST && size <= classes->nodes->size[node] &&
	    !heap_types_flexible(types, type, NULL, NULL) && !has_edges_behind(classes, node, size))
		return HPROF_FIELDS;
	return HPROF_WORDS;
}

// Types of one name are told apart by their sizes.
static const char *name_of(struct session *session, heap_node_id object, enum hprof_shape shape)
{
	const char *name = export_class(session, object);
	size_t length = strlen(name);

	if (shape == HPROF_BYTES)
		return "byte[]";
	if (shape == HPROF_FIELDS || (length > 1 && strcmp(name + length - 2, "[]") == 0))
		return name;
	return session_format(session, "%s[]", name);
}

static uint64_t fields_size(const struct hprof_classes *classes, heap_node_id node,
			    enum hprof_shape shape)
{
	return shape == HPROF_FIELDS ? heap_types_size(&classes->session->snapshot->types,
						       classes->nodes->type[node])
				     : 0;
}

HEAP_MUST_CHECK
static struct heap_error *add_class(struct hprof_classes *classes, heap_node_id node, uint32_t name,
				    enum hprof_shape shape)
{
	uint64_t size = fields_size(classes, node, shape);
	struct hprof_class class = {
		.name = name, .shape = (uint8_t)shape, .size = (uint32_t)size, .example = node
	};

	HEAP_TRY(heap_array_reserve(&classes->list, 1));
	if (shape == HPROF_FIELDS) {
		class.pointers = calloc(size / WORD / 8 + 1, 1);
		if (!class.pointers)
			return heap_error_out_of_memory();
	}
	classes->list.items[classes->list.count++] = class;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_class(struct hprof_classes *classes, heap_node_id node,
				     uint32_t *result)
{
	enum hprof_shape shape = shape_of(classes, node);
	uint32_t name = export_texts_add(classes->texts, name_of(classes->session, node, shape));
	uint64_t size = fields_size(classes, node, shape);
	const uint64_t parts[] = { name, shape, size };
	uint64_t hash = heap_hash_bytes(HEAP_HASH_START, parts, sizeof(parts));

	*result = heap_hash_find(&classes->by_name, hash, i,
				 classes->list.items[i].name == name &&
					 classes->list.items[i].shape == shape &&
					 classes->list.items[i].size == size);
	if (*result != HEAP_HASH_NONE)
		return NULL;
	*result = (uint32_t)classes->list.count;
	HEAP_TRY(add_class(classes, node, name, shape));
	return heap_hash_add(&classes->by_name, hash, *result);
}

// A pointer slot that is not at a multiple of 8 stays a number.
static void note_pointers(const struct hprof_classes *classes, heap_node_id node,
			  struct hprof_class *class)
{
	const struct heap_snapshot *nodes = classes->nodes;

	for (uint32_t i = nodes->edge_first[node]; i < nodes->edge_first[node + 1]; i++) {
		uint32_t edge = heap_divided_edge(classes->session->divided, i);

		if (edge == UINT32_MAX)
			class->has_pool = true;
		else
			heap_bit_set(class->pointers, node_slot(classes->session, node, edge));
	}
}

static bool note_typed_pointer(void *context, uint64_t offset, heap_type_id pointer)
{
	struct hprof_class *class = context;

	(void)pointer;
	if (offset % WORD == 0 && offset + WORD <= class->size)
		heap_bit_set(class->pointers, (uint32_t)(offset / WORD));
	return true;
}

// --- fields ----------------------------------------------------------------------

static enum hprof_type integer_of(uint64_t size)
{
	return size >= 8   ? HPROF_LONG
	       : size >= 4 ? HPROF_INT
	       : size >= 2 ? HPROF_SHORT
			   : HPROF_BYTE;
}

// The bytes that a number at an offset may have: up to the next pointer.
static uint64_t room_at(const struct hprof_class *class, uint64_t offset)
{
	uint64_t end = offset / WORD * WORD + WORD;

	while (end < class->size && !heap_bit_get(class->pointers, (uint32_t)(end / WORD)))
		end += WORD;
	return (end < class->size ? end : class->size) - offset;
}

// True if two fields are elements of one array.
static bool are_in_one_array(const char *one, const char *other)
{
	const char *index = strrchr(one, '[');

	return index && index[strcspn(index, "]") + 1] == '\0' &&
	       strncmp(one, other, (size_t)(index + 1 - one)) == 0;
}

// A number as the type has it, or else as many bytes as fit.
static enum hprof_type number_at(const struct heap_types *types, heap_type_id type,
				 const char *name, uint64_t offset, uint64_t room)
{
	struct heap_member_place place;
	uint64_t size;

	if (!heap_member_find(types, type, name, &place) || place.offset != offset ||
	    place.bit_size != 0)
		return integer_of(offset % WORD == 0 ? room : 1);

	const struct heap_type *found = &types->types[heap_types_strip(types, place.type)];

	size = heap_types_size(types, place.type);
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return integer_of(room);
	if (size > room)
		return integer_of(room);
	if (found->flags & HEAP_TYPE_FLOAT)
		return size == 8 ? HPROF_DOUBLE : size == 4 ? HPROF_FLOAT : integer_of(size);
	return integer_of(size);
}

HEAP_MUST_CHECK
static struct heap_error *add_pool_field(struct hprof_classes *classes, struct hprof_class *class)
{
	struct hprof_field field = {
		.name = export_texts_add(classes->texts, HPROF_POOL_FIELD),
		.offset = class->size,
		.type = HPROF_OBJECT,
	};

	class->size += WORD;
	return heap_array_append(&class->fields, field);
}

HEAP_MUST_CHECK
static struct heap_error *add_fields(struct hprof_classes *classes, struct hprof_class *class)
{
	struct session *session = classes->session;
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id type = classes->nodes->type[class->example];

	heap_types_visit_pointers(types, type, note_typed_pointer, class);
	for (uint64_t offset = 0; offset < class->size;) {
		SESSION_SCOPE(session);
		const char *name = node_field_at(session, class->example, offset);
		bool is_pointer = offset % WORD == 0 && offset + WORD <= class->size &&
				  heap_bit_get(class->pointers, (uint32_t)(offset / WORD));
		struct hprof_field field = { .offset = (uint32_t)offset, .type = HPROF_OBJECT };

		uint64_t room = room_at(class, offset);

		if (!is_pointer)
			field.type = (uint8_t)number_at(types, type, name, offset, room);
		// Texts go by words, rather than by characters.
		if (field.type == HPROF_BYTE && room >= WORD &&
		    are_in_one_array(name,
				     node_field_at(session, class->example, offset + WORD - 1)))
			field.type = HPROF_LONG;
		field.name = export_texts_add(classes->texts, *name == '.' ? name + 1 : name);
		HEAP_TRY(heap_array_append(&class->fields, field));
		offset += hprof_type_size(field.type);
	}
	return class->has_pool ? add_pool_field(classes, class) : NULL;
}

struct heap_error *hprof_classes_init(struct hprof_classes *classes, struct session *session,
				      const struct heap_snapshot *nodes, struct export_texts *texts)
{
	*classes = (struct hprof_classes){ .texts = texts, .session = session, .nodes = nodes };
	classes->of_node = calloc((size_t)nodes->object_count + 1, sizeof(*classes->of_node));
	if (!classes->of_node)
		return heap_error_out_of_memory();
	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		SESSION_SCOPE(session);

		if (session_must_stop(session))
			return NULL;
		HEAP_TRY(find_class(classes, i, &classes->of_node[i]));

		struct hprof_class *class = &classes->list.items[classes->of_node[i]];

		if (class->shape == HPROF_FIELDS)
			note_pointers(classes, i, class);
	}
	for (size_t i = 0; i < classes->list.count; i++) {
		if (classes->list.items[i].shape == HPROF_FIELDS)
			HEAP_TRY(add_fields(classes, &classes->list.items[i]));
	}
	return NULL;
}
