// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/names.h"

#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"

#include <stdlib.h>

enum {
	FEW = 32,                // of so many objects, one that has a name waits for another
	WORTH_THREADS = 1 << 16, // objects that take longer to count than threads to start
};

static bool is_same(const struct name *one, const struct name *other)
{
	return one->type == other->type && one->elements == other->elements &&
	       one->evidence == other->evidence && one->is_sure == other->is_sure;
}

struct heap_error *names_init(struct names *names, heap_object_id objects)
{
	uint32_t none;

	*names = (struct names){ .objects = objects };
	HEAP_TRY(heap_column_create((size_t)objects + 1, sizeof(*names->of), &names->of));
	return names_find(names, &(struct name){ 0 }, &none);
}

void names_deinit(struct names *names)
{
	for (unsigned i = 0; i < NAMES_CHUNKS; i++)
		free(names->chunks[i]);
	heap_hash_table_deinit(&names->by_name);
	heap_column_destroy(names->of);
	names_end_waiting(names);
}

// Makes the chunk that has a number, if it is the first one there.
HEAP_MUST_CHECK
static struct heap_error *make_room(struct names *names, uint32_t number)
{
	uint32_t place = number + (1u << NAMES_BITS);
	uint32_t bits = 31 - (uint32_t)__builtin_clz(place);
	struct name **chunk = &names->chunks[bits - NAMES_BITS];

	if (!*chunk)
		*chunk = malloc((sizeof(**chunk)) << bits);
	return *chunk ? NULL : heap_error_out_of_memory();
}

struct heap_error *names_find(struct names *names, const struct name *name, uint32_t *result)
{
	uint64_t hash, key;
	uint32_t found;

	*result = names->last;
	// Claims in a row often give the same name.
	if (names->last < names->count && is_same(names_get(names, names->last), name))
		return NULL;
	key = (uint64_t)name->elements << 9 | name->evidence << 1 | name->is_sure;
	hash = heap_hash_pair(key, name->type);
	found = heap_hash_find(&names->by_name, hash, i, is_same(names_get(names, i), name));
	if (found == HEAP_HASH_NONE) {
		found = names->count;
		if (found > UINT32_MAX >> NAME_FLAGS)
			return heap_error_create(HEAP_ERROR_ARGUMENT, "more than 2^30 names");
		HEAP_TRY(make_room(names, found));
		HEAP_TRY(heap_hash_add(&names->by_name, hash, found));
		*names_get(names, found) = *name;
		names->count++;
	}
	*result = names->last = found;
	return NULL;
}

struct heap_error *names_set(struct names *names, heap_object_id object, heap_type_id type,
			     uint64_t elements, enum heap_evidence evidence)
{
	uint32_t number, awaited = names->of[object];

	HEAP_TRY(names_find(names,
			    &(struct name){ .elements = elements,
					    .evidence = evidence,
					    .is_sure = names_is_sure(names, object),
					    .type = type },
			    &number));
	names_give(names, object, number);
	return awaited & NAME_WAITS ? names_await(names, object, awaited >> NAME_FLAGS) : NULL;
}

struct counting {
	const struct names *names;
	heap_object_id objects;
	uint32_t *counts; // [threads * names]
	unsigned threads;
};

HEAP_MUST_CHECK
static struct heap_error *count_share(void *context, size_t thread)
{
	const struct counting *counting = context;
	uint32_t *counts = counting->counts + thread * counting->names->count;
	uint32_t end = heap_share_begin(counting->objects, thread + 1, counting->threads);

	for (heap_object_id i = heap_share_begin(counting->objects, thread, counting->threads);
	     i < end; i++)
		counts[names_number(counting->names, i)]++;
	return NULL;
}

struct heap_error *names_count(const struct names *names, heap_object_id objects, uint32_t **counts)
{
	unsigned threads = objects < WORTH_THREADS ? 1 : heap_parallel_threads();

	*counts = calloc((size_t)names->count * threads + 1, sizeof(**counts));
	if (!*counts)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_parallel_share(threads, count_share,
				     &(struct counting){ names, objects, *counts, threads }));
	for (size_t i = names->count; i < (size_t)names->count * threads; i++)
		(*counts)[i % names->count] += (*counts)[i];
	return NULL;
}

void names_renumber(struct names *names, const heap_type_id *map)
{
	for (uint32_t i = 0; i < names->count; i++)
		names_get(names, i)->type = map[names_get(names, i)->type];
}

// --- names that objects wait for ----------------------------------------------

static uint32_t find_awaited(const struct names *names, heap_object_id object)
{
	return heap_hash_find(&names->by_object, heap_hash_u64(object), i,
			      names->awaited.items[i].object == object);
}

static void end_list(struct names *names)
{
	heap_array_deinit(&names->awaited);
	heap_hash_table_deinit(&names->by_object);
}

// Makes a column of the list.
HEAP_MUST_CHECK
static struct heap_error *make_column(struct names *names)
{
	HEAP_TRY(heap_column_create((size_t)names->objects + 1, sizeof(*names->awaited_of),
				    &names->awaited_of));
	for (size_t i = 0; i < names->awaited.count; i++)
		names->awaited_of[names->awaited.items[i].object] = names->awaited.items[i].number;
	end_list(names);
	return NULL;
}

struct heap_error *names_await(struct names *names, heap_object_id object, uint32_t number)
{
	uint32_t of = names->of[object], found;

	if (of & NAME_WAITS || of >> NAME_FLAGS == 0) {
		names->of[object] = number << NAME_FLAGS | NAME_WAITS | (of & NAME_IS_SURE);
		return NULL;
	}
	if (!names->awaited_of && names->awaited.count > names->objects / FEW)
		HEAP_TRY(make_column(names));
	if (names->awaited_of) {
		names->awaited_of[object] = number;
		return NULL;
	}
	found = find_awaited(names, object);
	if (found != HEAP_HASH_NONE) {
		names->awaited.items[found].number = number;
		return NULL;
	}
	HEAP_TRY(heap_hash_reserve(&names->by_object, 1));
	HEAP_TRY(heap_array_append(&names->awaited, (struct awaited_name){ object, number }));
	return heap_hash_add(&names->by_object, heap_hash_u64(object),
			     (uint32_t)names->awaited.count - 1);
}

uint32_t names_awaited(const struct names *names, heap_object_id object)
{
	uint32_t of = names->of[object];

	if (of & NAME_WAITS)
		return of >> NAME_FLAGS;
	return names->awaited_of ? names->awaited_of[object]
				 : names->awaited.items[find_awaited(names, object)].number;
}

void names_end_waiting(struct names *names)
{
	end_list(names);
	heap_column_destroy(names->awaited_of);
	names->awaited_of = NULL;
}
