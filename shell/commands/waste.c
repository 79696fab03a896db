// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * waste: arrays, and with them lists and hash tables, that are less than half full.
 *
 * No array records how many of its elements are used. Four sources tell, and the smallest answer
 * counts, as elements that a list has given up may still look used:
 *
 *	slots   an element that is a pointer or a structure is used if it is not all zero, or
 *		points somewhere; a number may well be 0
 *
 *	count   struct list { struct item *items; int count; int capacity; };
 *	        where a number beside the pointer is the array's length, another one beside it
 *	        that is named as numbers of elements are (count, length, used...) is the use
 *
 *	end     std::vector { T *start; T *finish; T *end_of_storage; };
 *	        where the pointer after the next one points to the array's end, the next one
 *	        points to the end of the used elements
 *
 *	deque   std::deque's iterators to its first element and behind its last one, for the chunks
 *		that they are in; its array of chunks is always larger than needed, and no waste
 *
 * Where the bytes were not kept, only pointers are known: structures without pointers have no
 * slots to examine then, and an array of pointers may be fuller than reported, by the pointers
 * that lead outside the heap.
 *
 * Contents are read in the order in which they are stored: first those of the arrays, then those
 * of their holders.
 */
#include "lib/base/array.h"
#include "lib/types/member_path.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/series/filter.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEAST_ELEMENTS = 8,
	SHORT_LIST = 25,     // groups that are shown without --limit
	MAX_HOLDERS = 16,    // of an array; more are ignored
	MAX_READ = 64 << 10, // bytes of an object
	MAX_DEPTH = 16,      // structures inside each other
	REPORTED = 4096, // arrays between two reports of progress: each may be read from the file
};

enum measure {
	UNKNOWN,
	BY_SLOTS,
	BY_COUNT,
	BY_END,
	BY_DEQUE,
};

static const char *const measures[] = { "", "slots", "count", "end", "deque" };

struct array {
	heap_object_id object;
	heap_object_id holder; // or HEAP_NO_OBJECT: a root, or nobody
	uint32_t edge;         // the holder's; or index in root_edges, or UINT32_MAX
	uint64_t used;
	enum measure by;
};

struct arrays {
	struct array *arrays; // [count]
	size_t count, capacity;
	uint8_t *bytes; // [MAX_READ] of an object
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
static bool count_slots(const struct heap_snapshot *snapshot, const struct arrays *arrays,
			heap_object_id object, uint64_t *result)
{
	uint64_t size = heap_types_size(&snapshot->types, snapshot->type[object]);
	uint64_t elements = snapshot->elements[object], seen = arrays->kept / size, used = 0;
	uint32_t edge = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	if (seen > elements)
		seen = elements;
	if (is_number(&snapshot->types, snapshot->type[object]))
		return false;
	if (seen < elements && heap_types_visit_pointers(&snapshot->types, snapshot->type[object],
							 stop_at_first, NULL))
		return false; // the elements have no pointers
	for (uint64_t i = 0; i < seen; i++)
		used += !is_zero(arrays->bytes + i * size, size);
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
static struct heap_error *read_object(struct session *session, struct arrays *arrays,
				      heap_object_id object)
{
	return heap_snapshot_read_content(session->snapshot, object, arrays->bytes, MAX_READ,
					  &arrays->kept);
}

// Finds the holder of an array's start, preferably one whose type has a pointer there.
static void find_holder(const struct heap_graph *graph, struct array *array)
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
static struct heap_error *add_array(struct session *session, struct arrays *arrays,
				    heap_object_id object)
{
	struct array array = { .object = object, .holder = HEAP_NO_OBJECT, .edge = UINT32_MAX };

	HEAP_TRY(read_object(session, arrays, object));
	HEAP_TRY(heap_reserve(arrays->arrays, arrays->capacity, arrays->count + 1));
	if (count_slots(session->snapshot, arrays, object, &array.used))
		array.by = BY_SLOTS;
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
static bool ask_deque(const struct heap_snapshot *snapshot, const struct holder *holder,
		      struct array *array)
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
		array->by = UNKNOWN;
		return true;
	}
	begin = begin >= first && begin < end ? begin : first;
	finish = finish >= first && finish < end ? finish : end;
	array->used = begin <= finish ? (finish - begin) / size : 0;
	array->by = BY_DEQUE;
	return true;
}

static void ask_holder(const struct heap_snapshot *snapshot, const struct holder *holder,
		       struct array *array)
{
	uint64_t used;
	enum measure by = UNKNOWN;

	if (ask_deque(snapshot, holder, array))
		return;
	if (find_end(snapshot, holder, array->object, &used))
		by = BY_END;
	else if (find_count(holder, snapshot->elements[array->object], &used))
		by = BY_COUNT;
	if (by == UNKNOWN || (array->by != UNKNOWN && used >= array->used))
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

static void ask_root(const struct heap_snapshot *snapshot, struct array *array)
{
	const struct heap_root_edge *edge = &snapshot->root_edges[array->edge];
	const struct heap_root *root = &snapshot->roots[edge->root];
	struct holder holder = { &snapshot->types, root->type, edge->offset,
				 snapshot->root_content + root->content, root->content_size };

	ask_holder(snapshot, &holder, array);
}

HEAP_MUST_CHECK
static struct heap_error *ask_object(struct session *session, struct arrays *arrays,
				     struct array *array)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct heap_error *error = read_object(session, arrays, array->holder);
	struct holder holder = { &snapshot->types, snapshot->type[array->holder],
				 (uint64_t)snapshot->edge_slot[array->edge] * 8, arrays->bytes,
				 arrays->kept };

	if (error)
		return error;
	enter_element(&holder);
	ask_holder(snapshot, &holder, array);
	return NULL;
}

static int compare_holders(const void *left, const void *right)
{
	const struct array *a = left, *b = right;

	if (a->holder != b->holder)
		return a->holder < b->holder ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

HEAP_MUST_CHECK
static struct heap_error *measure_all(struct session *session, struct heap_filter *filter,
				      struct arrays *arrays)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_progress *progress = &session->progress.progress;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (i % REPORTED == 0)
			HEAP_TRY(heap_progress_report(progress, "arrays", i,
						      snapshot->object_count));
		if (is_array(snapshot, i) && heap_filter_matches(filter, i))
			HEAP_TRY(add_array(session, arrays, i));
	}
	HEAP_TRY(session_filter_finish(session, filter));
	if (arrays->count > 0)
		qsort(arrays->arrays, arrays->count, sizeof(*arrays->arrays), compare_holders);
	for (size_t i = 0; i < arrays->count; i++) {
		struct array *array = &arrays->arrays[i];

		if (i % REPORTED == 0)
			HEAP_TRY(heap_progress_report(progress, "holders", i, arrays->count));
		if (array->holder != HEAP_NO_OBJECT)
			HEAP_TRY(ask_object(session, arrays, array));
		else if (array->edge != UINT32_MAX)
			ask_root(snapshot, array);
	}
	return NULL;
}

// --- groups ------------------------------------------------------------------

// Arrays of one type, in one field of one type or in one variable.
struct group {
	uint64_t arrays, elements, used, wasted;
	const struct array *worst;
	uint64_t worst_wasted;
};

// Where arrays of a group are held, as a number; roots are above all types.
static uint64_t place_of(const struct heap_snapshot *snapshot, const struct array *array)
{
	if (array->edge == UINT32_MAX)
		return UINT64_MAX;
	if (array->holder == HEAP_NO_OBJECT)
		return (UINT64_C(1) << 62) + snapshot->root_edges[array->edge].root;

	uint64_t offset = (uint64_t)snapshot->edge_slot[array->edge] * 8;
	const struct heap_part *part = heap_snapshot_part_at(snapshot, array->holder, offset);
	heap_type_id type = part ? part->type : snapshot->type[array->holder];
	uint64_t size = heap_types_size(&snapshot->types, type);

	offset -= part ? part->offset : 0;
	return (uint64_t)type << 30 | ((size ? offset % size : offset) & ((1 << 30) - 1));
}

static int compare_places(const void *left, const void *right, void *context)
{
	const struct heap_snapshot *snapshot = context;
	const struct array *a = left, *b = right;
	uint64_t first = place_of(snapshot, a), second = place_of(snapshot, b);

	if (first != second)
		return first < second ? -1 : 1;
	if (snapshot->type[a->object] != snapshot->type[b->object])
		return snapshot->type[a->object] < snapshot->type[b->object] ? -1 : 1;
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

static bool is_same_group(const struct heap_snapshot *snapshot, const struct array *a,
			  const struct array *b)
{
	return place_of(snapshot, a) == place_of(snapshot, b) &&
	       snapshot->type[a->object] == snapshot->type[b->object] && a->by == b->by;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->wasted != b->wasted)
		return a->wasted > b->wasted ? -1 : 1;
	return a->worst->object < b->worst->object ? -1 : a->worst->object > b->worst->object;
}

static bool is_wasteful(const struct heap_snapshot *snapshot, const struct array *array, bool all)
{
	uint64_t elements = snapshot->elements[array->object];

	return array->by != UNKNOWN && array->used < elements &&
	       (all || array->used < elements - array->used);
}

// Sorts arrays into groups. @return [*count] until the command ends, or NULL
static struct group *make_groups(struct session *session, struct arrays *arrays, bool all,
				 size_t *count)
{
	struct heap_snapshot *snapshot = session->snapshot;
	struct group *groups = session_allocate(session, (arrays->count + 1) * sizeof(*groups));
	struct group *group = NULL;

	*count = 0;
	if (!groups)
		return NULL;
	if (arrays->count > 0)
		qsort_r(arrays->arrays, arrays->count, sizeof(*arrays->arrays), compare_places,
			snapshot);
	for (size_t i = 0; i < arrays->count; i++) {
		const struct array *array = &arrays->arrays[i];
		uint64_t elements = snapshot->elements[array->object];
		uint64_t size = heap_types_size(&snapshot->types, snapshot->type[array->object]);
		uint64_t wasted = (elements - array->used) * size;

		if (!is_wasteful(snapshot, array, all))
			continue;
		if (!group || !is_same_group(snapshot, group->worst, array)) {
			group = &groups[(*count)++];
			*group = (struct group){ .worst = array };
		}
		group->arrays++;
		group->elements += elements;
		group->used += array->used;
		group->wasted += wasted;
		if (wasted > group->worst_wasted) {
			group->worst = array;
			group->worst_wasted = wasted;
		}
	}
	qsort(groups, *count, sizeof(*groups), compare_groups);
	return groups;
}

// --- the answer --------------------------------------------------------------

// ".items of struct list", "the global variable table (app.c:7)".
static const char *describe_holder(struct session *session, const struct array *array)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	if (array->edge == UINT32_MAX)
		return "nobody known";
	if (array->holder == HEAP_NO_OBJECT)
		return describe_root(session, snapshot->root_edges[array->edge].root);

	uint64_t offset = (uint64_t)snapshot->edge_slot[array->edge] * 8, elements;
	heap_type_id type = snapshot->type[array->holder];
	const struct heap_part *part = heap_snapshot_part_at(snapshot, array->holder, offset);
	const char *field = part ? field_of_part(session, part, offset)
				 : field_of_object(session, array->holder, offset);

	elements = part ? part->elements : snapshot->elements[array->holder];
	// The same for each of several structures in a row.
	if (elements > 1 && *field == '[' && strchr(field, ']'))
		field = strchr(field, ']') + 1;
	return session_format(session, "%s of %s", *field ? field : "an element",
			      part                   ? describe_type(session, part->type)
			      : type == HEAP_NO_TYPE ? describe_type_of(session, array->holder)
						     : describe_type(session, type));
}

static void print_group(struct session *session, const struct group *group)
{
	struct output *output = session->output;
	const char *holder = describe_holder(session, group->worst);
	const char *by = measures[group->worst->by];

	table_row(output, "%12s\t%8" PRIu64 "\t%10" PRIu64 " of %-10" PRIu64 "\t%-5s\t%s: %s",
		  describe_bytes(session, group->wasted), group->arrays, group->used,
		  group->elements, by, holder, describe_object(session, group->worst->object));
	session_remember(session, group->worst->object);
	output_open_object(output, NULL);
	output_string(output, "held_by", holder);
	output_string(output, "measure", by);
	output_number(output, "arrays", group->arrays);
	output_number(output, "elements", group->elements);
	output_number(output, "used", group->used);
	output_number(output, "wasted", group->wasted);
	describe_object_json(session, "worst", group->worst->object);
	output_close(output);
}

static void print_groups(struct session *session, const struct group *groups, size_t count,
			 uint64_t limit)
{
	struct output *output = session->output;
	uint64_t arrays = 0, wasted = 0;

	output_open_object(output, NULL);
	if (count > 0)
		table_header(output, "0213",
			     "%12s\t%8s\t%10s of %-10s\t%-5s\theld by, and the worst", "wasted",
			     "arrays", "used", "elements", "as by");
	output_open_array(output, "groups");
	for (size_t i = 0; i < count && i < limit && !session_must_stop(session); i++)
		print_group(session, &groups[i]);
	output_close(output);
	for (size_t i = 0; i < count; i++) {
		arrays += groups[i].arrays;
		wasted += groups[i].wasted;
	}
	if (!session->quiet && count > 0)
		output_text(output, "Total: %s wasted in %" PRIu64 " array%s\n",
			    describe_bytes(session, wasted), arrays, format_plural(arrays));
	output_number(output, "arrays", arrays);
	output_number(output, "wasted", wasted);
	output_close(output);
}

static void arrays_deinit(struct arrays *arrays)
{
	free(arrays->arrays);
}

static enum command_status find_waste(struct session *session, struct heap_filter *filter, bool all,
				      uint64_t limit)
{
	CLEANUP(arrays_deinit)
	struct arrays arrays = { .bytes = session_allocate(session, MAX_READ) };
	struct heap_error *error =
		arrays.bytes ? measure_all(session, filter, &arrays) : heap_error_out_of_memory();
	const struct group *groups;
	size_t count = 0;

	if (error)
		return command_fail(session, error);
	groups = make_groups(session, &arrays, all, &count);
	if (!groups)
		return command_fail(session, heap_error_out_of_memory());
	print_groups(session, groups, count, limit);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status waste_run(struct session *session, int argc, char **argv)
{
	bool all = command_option(&argc, argv, "--all", NULL);
	uint64_t limit = output_is_json(session->output) ? UINT64_MAX : SHORT_LIST;
	struct heap_filter *filter;

	if (!command_number(&argc, argv, "--limit", &limit))
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error)
		error = session_graph(session);
	if (!error)
		error = session_filter(session, argc - 1, argv + 1, &filter);
	if (error)
		return command_fail(session, error);

	enum command_status status = find_waste(session, filter, all, limit);

	heap_filter_destroy(filter);
	return status;
}

const struct command waste_command = {
	.name = "waste",
	.synopsis = "[--all] [--limit N] [FILTER...]",
	.summary = "arrays, lists and hash tables that are less than half full",
	.details =
		"Arrays of 8 elements or more, grouped by what holds them, the most wasted bytes\n"
		"first. The used part is known from slots: elements that are not zero; from a "
		"count\n"
		"beside the pointer, if another number there is the length; or from the end that "
		"a\n"
		"std::vector or std::deque has. --all also shows fuller ones. (For texts: strings\n"
		"--duplicates.)\n"
		"\n"
		"  waste\n"
		"  waste --limit 5 type 'struct slot'",
	.run = waste_run,
	.nothing = "No array, list or hash table of 8 elements and more is less than half full; "
		   "texts are not judged.",
	.words = WORDS_FILTER,
};
