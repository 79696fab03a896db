// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/array_use.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/types/member_path.h"

#include <stdlib.h>
#include <string.h>

enum {
	LEAST_ELEMENTS = 8,
	MAX_HOLDERS = 16,    // of an array; more are ignored
	MAX_READ = 64 << 10, // bytes of an object
	MAX_DEPTH = 16,      // structures inside each other
	REPORTED = 4096, // arrays between two reports of progress: each may be read from the file
};

// The bytes of the object that was read last.
struct reading {
	uint8_t *bytes; // [MAX_READ]
	size_t kept;
};

// --- slots -------------------------------------------------------------------

static bool stop_at_first(void *context, uint64_t offset, heap_type_id pointer)
{
	(void)context;
	(void)offset;
	(void)pointer;
	return false;
}

static bool is_array(const struct heap_snapshot *snapshot, heap_object_id object)
{
	const struct heap_types *types = &snapshot->types;
	heap_type_id type = snapshot->type[object];

	return type != HEAP_NO_TYPE && snapshot->elements[object] >= LEAST_ELEMENTS &&
	       !(types->types[type].flags & HEAP_TYPE_CHARACTER) &&
	       heap_types_size(types, type) > 0 &&
	       snapshot->elements[object] <=
		       snapshot->size[object] / heap_types_size(types, type) &&
	       !heap_types_flexible(types, type, NULL, NULL) &&
	       heap_types_counted(types, type) == HEAP_NO_TYPE;
}

static bool is_zero(const uint8_t *bytes, uint64_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static bool is_number(const struct heap_types *types, heap_type_id type)
{
	uint8_t kind = types->types[heap_types_strip(types, type)].kind;

	return kind == HEAP_TYPE_BASE || kind == HEAP_TYPE_ENUM;
}

// Counts the elements that are not all zero, or point somewhere.
// @return false if that is not known
static bool count_slots(const struct heap_snapshot *snapshot, const struct reading *reading,
			heap_object_id object, uint64_t *result)
{
	uint64_t size = heap_types_size(&snapshot->types, snapshot->type[object]);
	uint64_t elements = snapshot->elements[object], seen = reading->kept / size, used = 0;
	uint32_t edge = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	if (seen > elements)
		seen = elements;
	if (is_number(&snapshot->types, snapshot->type[object]))
		return false;
	if (seen < elements && heap_types_visit_pointers(&snapshot->types, snapshot->type[object],
							 stop_at_first, NULL))
		return false; // the elements have no pointers
	for (uint64_t i = 0; i < seen; i++)
		used += !is_zero(reading->bytes + i * size, size);
	for (uint64_t next = seen; edge < end; edge++) {
		uint64_t element = (uint64_t)snapshot->edge_slot[edge] * 8 / size;

		if (element >= next && element < elements) {
			next = element + 1;
			used++;
		}
	}
	*result = used;
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *read_object(struct session *session, struct reading *reading,
				      heap_object_id object)
{
	return heap_snapshot_read_content(session->snapshot, object, reading->bytes, MAX_READ,
					  &reading->kept);
}

// Finds the holder of an array's start, preferably one whose type has a pointer there.
static void find_holder(const struct heap_graph *graph, struct array_use *array)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint32_t first = graph->in_first[array->object], end = graph->in_first[array->object + 1];

	for (uint32_t i = first; i < end && i - first < MAX_HOLDERS; i++) {
		uint32_t edge = graph->in_edge[i];

		if (snapshot->edge_interior[edge] != 0 ||
		    !(snapshot->edge_flags[edge] & HEAP_EDGE_TYPED))
			continue;
		array->holder = graph->in_source[i];
		array->edge = edge;
		return;
	}
	first = graph->root_in_first[array->object];
	end = graph->root_in_first[array->object + 1];
	for (uint32_t i = first; i < end && i - first < MAX_HOLDERS; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[graph->root_in[i]];

		if (edge->interior == 0 && (edge->flags & HEAP_EDGE_TYPED)) {
			array->edge = graph->root_in[i];
			return;
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_array(struct session *session, struct reading *reading,
				    struct array_uses *arrays, heap_object_id object)
{
	struct array_use array = { .object = object, .holder = HEAP_NO_OBJECT, .edge = UINT32_MAX };

	HEAP_TRY(read_object(session, reading, object));
	HEAP_TRY(heap_reserve(arrays->arrays, arrays->capacity, arrays->count + 1));
	if (count_slots(session->snapshot, reading, object, &array.used))
		array.by = ARRAY_USE_BY_SLOTS;
	find_holder(session->graph, &array);
	arrays->arrays[arrays->count++] = array;
	return NULL;
}

// --- the holder's fields -----------------------------------------------------

// The holder of an array: a value of a type, with those of its bytes that were kept.
struct holder {
	const struct heap_types *types;
	heap_type_id type;
	uint64_t offset; // of the pointer in it
	const uint8_t *bytes;
	uint64_t kept;
};

// The type of the member of a structure that a byte is in; HEAP_NO_TYPE: there is none.
// @param start  gets where it begins in the structure
static heap_type_id find_inside(const struct heap_types *types, heap_type_id id, uint64_t offset,
				uint64_t *start)
{
	const struct heap_type *type = &types->types[id];

	*start = 0;
	if (!heap_types_has_members(type))
		return HEAP_NO_TYPE;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if ((member->flags & HEAP_MEMBER_VIRTUAL_BASE) || offset < member->offset ||
		    offset - member->offset >= heap_types_size(types, member->type))
			continue;
		*start = member->offset;
		return heap_types_strip(types, member->type);
	}
	return HEAP_NO_TYPE;
}

// The innermost structure around the pointer. @param start  gets where it begins in the holder
static const struct heap_type *find_structure(const struct holder *holder, uint64_t *start)
{
	const struct heap_types *types = holder->types;
	heap_type_id type = heap_types_strip(types, holder->type);
	const struct heap_type *found = NULL;
	uint64_t at = 0, inside;

	for (int depth = 0; heap_types_has_members(&types->types[type]) && depth < MAX_DEPTH;
	     depth++) {
		found = &types->types[type];
		*start = at;
		type = find_inside(types, type, holder->offset - at, &inside);
		at += inside;
	}
	return found;
}

// A name such as those of numbers of elements: "count", "item_count", "nitems", "used".
static bool names_count(const char *name)
{
	static const char *const words[] = { "count", "length", "len",   "size",    "used",
					     "num",   "fill",   "items", "entries", "elements" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasestr(name, words[i]))
			return true;
	}
	return name[0] == 'n' && (name[1] == '\0' || name[1] == '_');
}

// Reads an integer member. @return false if it is none, or was not kept
static bool read_integer(const struct holder *holder, const struct heap_member *member,
			 uint64_t start, uint64_t *result)
{
	const struct heap_type *type =
		&holder->types->types[heap_types_strip(holder->types, member->type)];
	uint64_t offset = start + member->offset;

	if (type->kind != HEAP_TYPE_BASE || type->size < 2 || type->size > 8 ||
	    (type->flags & (HEAP_TYPE_FLOAT | HEAP_TYPE_BOOLEAN)) ||
	    (member->flags & (HEAP_MEMBER_BIT_FIELD | HEAP_MEMBER_BASE)) || offset > holder->kept ||
	    type->size > holder->kept - offset)
		return false;
	*result = 0;
	memcpy(result, holder->bytes + offset, type->size);
	return true;
}

// Reads the used length beside the pointer, if another number there is the array's length.
static bool find_count(const struct holder *holder, uint64_t elements, uint64_t *result)
{
	uint64_t start = 0, value, best = 0;
	const struct heap_type *type = find_structure(holder, &start);
	bool has_length = false, has_count = false;

	for (uint32_t i = 0; type && i < type->members; i++) {
		const struct heap_member *member = &holder->types->members[type->first_member + i];

		if (!read_integer(holder, member, start, &value))
			continue;
		if (value == elements) {
			has_length = true;
		} else if (value < elements &&
			   names_count(heap_types_string(holder->types, member->name))) {
			has_count = true;
			best = value > best ? value : best;
		}
	}
	*result = best;
	return has_length && has_count;
}

// Reads the end of the used elements from the next pointer, if the one after it ends the array.
static bool find_end(const struct heap_snapshot *snapshot, const struct holder *holder,
		     heap_object_id object, uint64_t *result)
{
	uint64_t size = heap_types_size(&snapshot->types, snapshot->type[object]);
	uint64_t start = snapshot->address[object], pointers[2];

	if (holder->offset > holder->kept || holder->kept - holder->offset < 8 + sizeof(pointers))
		return false;
	memcpy(pointers, holder->bytes + holder->offset + 8, sizeof(pointers));
	if (pointers[0] < start || pointers[0] > pointers[1] ||
	    pointers[1] - start != snapshot->elements[object] * size ||
	    (pointers[0] - start) % size != 0)
		return false;
	*result = (pointers[0] - start) / size;
	return true;
}

// The std::deque around the pointer. @param start  gets where it begins in the holder
static heap_type_id find_deque(const struct holder *holder, uint64_t *start)
{
	static const char name[] = "std::_Deque_base<";
	const struct heap_types *types = holder->types;
	heap_type_id type = heap_types_strip(types, holder->type);

	*start = 0;
	for (int depth = 0; type != HEAP_NO_TYPE && depth < MAX_DEPTH; depth++) {
		const char *its_name = heap_types_string(types, types->types[type].name);
		uint64_t at;

		if (strncmp(its_name, name, strlen(name)) == 0)
			return type;
		type = find_inside(types, type, holder->offset - *start, &at);
		*start += at;
	}
	return HEAP_NO_TYPE;
}

static bool read_member(const struct holder *holder, heap_type_id type, uint64_t start,
			const char *path, uint64_t *result)
{
	struct heap_member_place place;

	if (!heap_member_find(holder->types, type, path, &place) ||
	    start + place.offset > holder->kept || holder->kept - start - place.offset < 8)
		return false;
	memcpy(result, holder->bytes + start + place.offset, 8);
	return true;
}

// Counts the elements of a deque's chunk. @return true for arrays of deques; nothing is known about
// the array of chunks itself
static bool measure_by_deque(const struct heap_snapshot *snapshot, const struct holder *holder,
			     struct array_use *array)
{
	uint64_t size = heap_types_size(&snapshot->types, snapshot->type[array->object]);
	uint64_t first = snapshot->address[array->object];
	uint64_t end = first + snapshot->elements[array->object] * size;
	uint64_t start, begin, finish;
	heap_type_id deque = find_deque(holder, &start);
	struct heap_member_place map;

	if (deque == HEAP_NO_TYPE)
		return false;
	if (!heap_member_find(holder->types, deque, "_M_impl._M_map", &map) ||
	    holder->offset == start + map.offset ||
	    !read_member(holder, deque, start, "_M_impl._M_start._M_cur", &begin) ||
	    !read_member(holder, deque, start, "_M_impl._M_finish._M_cur", &finish)) {
		array->by = ARRAY_USE_UNKNOWN;
		return true;
	}
	begin = begin >= first && begin < end ? begin : first;
	finish = finish >= first && finish < end ? finish : end;
	array->used = begin <= finish ? (finish - begin) / size : 0;
	array->by = ARRAY_USE_BY_DEQUE;
	return true;
}

static void measure_by_holder(const struct heap_snapshot *snapshot, const struct holder *holder,
			      struct array_use *array)
{
	uint64_t used;
	enum array_measure by = ARRAY_USE_UNKNOWN;

	if (measure_by_deque(snapshot, holder, array))
		return;
	if (find_end(snapshot, holder, array->object, &used))
		by = ARRAY_USE_BY_END;
	else if (find_count(holder, snapshot->elements[array->object], &used))
		by = ARRAY_USE_BY_COUNT;
	if (by == ARRAY_USE_UNKNOWN || (array->by != ARRAY_USE_UNKNOWN && used >= array->used))
		return;
	array->used = used;
	array->by = by;
}

// One of several structures in a row is a holder by itself.
static void enter_element(struct holder *holder)
{
	uint64_t size = heap_types_size(holder->types, holder->type);
	uint64_t start = size ? holder->offset / size * size : 0;

	holder->offset -= start;
	holder->bytes += start < holder->kept ? start : holder->kept;
	holder->kept -= start < holder->kept ? start : holder->kept;
}

static void measure_by_root(const struct heap_snapshot *snapshot, struct array_use *array)
{
	const struct heap_root_edge *edge = &snapshot->root_edges[array->edge];
	const struct heap_root *root = &snapshot->roots[edge->root];
	struct holder holder = { &snapshot->types, root->type, edge->offset,
				 snapshot->root_content + root->content, root->content_size };

	measure_by_holder(snapshot, &holder, array);
}

HEAP_MUST_CHECK
static struct heap_error *measure_by_object(struct session *session, struct reading *reading,
					    struct array_use *array)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct heap_error *error = read_object(session, reading, array->holder);
	struct holder holder = { &snapshot->types, snapshot->type[array->holder],
				 (uint64_t)snapshot->edge_slot[array->edge] * 8, reading->bytes,
				 reading->kept };

	if (error)
		return error;
	enter_element(&holder);
	measure_by_holder(snapshot, &holder, array);
	return NULL;
}

static int compare_holders(const void *left, const void *right)
{
	const struct array_use *a = left, *b = right;

	if (a->holder != b->holder)
		return a->holder < b->holder ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

// --- all of them -------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *measure_all(struct session *session, struct heap_filter *filter,
				      struct reading *reading, struct array_uses *arrays)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_progress *progress = &session->progress.progress;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (i % REPORTED == 0)
			HEAP_TRY(heap_progress_report(progress, "arrays", i,
						      snapshot->object_count));
		if (is_array(snapshot, i) && heap_filter_matches(filter, i))
			HEAP_TRY(add_array(session, reading, arrays, i));
	}
	HEAP_TRY(heap_filter_finish(filter));
	if (arrays->count > 0)
		qsort(arrays->arrays, arrays->count, sizeof(*arrays->arrays), compare_holders);
	for (size_t i = 0; i < arrays->count; i++) {
		struct array_use *array = &arrays->arrays[i];

		if (i % REPORTED == 0)
			HEAP_TRY(heap_progress_report(progress, "holders", i, arrays->count));
		if (array->holder != HEAP_NO_OBJECT)
			HEAP_TRY(measure_by_object(session, reading, array));
		else if (array->edge != UINT32_MAX)
			measure_by_root(snapshot, array);
	}
	return NULL;
}

void array_uses_deinit(struct array_uses *uses)
{
	free(uses->arrays);
}

struct heap_error *array_uses_find(struct session *session, struct heap_filter *filter,
				   struct array_uses *result)
{
	CLEANUP(array_uses_deinit) struct array_uses uses = { NULL, 0, 0 };
	struct reading reading = { .bytes = session_allocate(session, MAX_READ) };

	if (!reading.bytes)
		return heap_error_out_of_memory();
	HEAP_TRY(measure_all(session, filter, &reading, &uses));
	*result = uses;
	uses.arrays = NULL;
	return NULL;
}

const char *array_measure_name(enum array_measure measure)
{
	static const char *const names[] = { "", "slots", "count", "end", "deque" };

	return names[measure];
}
