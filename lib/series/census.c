// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/series/census.h"

#include "lib/base/array.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>
#include <string.h>

struct kind {
	uint64_t key;
	char *name;                  // or NULL
	struct heap_amount *amounts; // [amount_count]; those of later snapshots are 0
	size_t amount_count, amount_capacity;
};

struct heap_census {
	struct HEAP_ARRAY(uint64_t) times; // of each snapshot
	struct kind *kinds;                // [kind_count]
	heap_kind_id kind_count, kind_capacity;
	struct heap_hash_table by_key; // kinds
};

struct heap_error *heap_census_create(struct heap_census **result)
{
	struct heap_census *census = calloc(1, sizeof(*census));

	if (!census)
		return heap_error_out_of_memory();
	*result = census;
	return NULL;
}

void heap_census_destroy(struct heap_census *census)
{
	if (!census)
		return;
	for (heap_kind_id i = 0; i < census->kind_count; i++) {
		free(census->kinds[i].name);
		free(census->kinds[i].amounts);
	}
	free(census->kinds);
	heap_hash_table_deinit(&census->by_key);
	heap_array_deinit(&census->times);
	free(census);
}

// Makes room for amounts in @p length snapshots. New ones are 0.
HEAP_MUST_CHECK
static struct heap_error *widen(struct kind *kind, size_t length)
{
	HEAP_TRY(heap_reserve(kind->amounts, kind->amount_capacity, length));
	memset(kind->amounts + kind->amount_count, 0,
	       (length - kind->amount_count) * sizeof(*kind->amounts));
	kind->amount_count = length;
	return NULL;
}

struct heap_error *heap_census_next(struct heap_census *census, uint64_t time_ns)
{
	HEAP_TRY(heap_array_reserve(&census->times, 1));
	for (heap_kind_id i = 0; i < census->kind_count; i++)
		HEAP_TRY(widen(&census->kinds[i], census->times.count + 1));
	return heap_array_append(&census->times, time_ns);
}

void heap_census_drop(struct heap_census *census, size_t snapshot)
{
	size_t after = --census->times.count - snapshot;
	uint64_t *time = &census->times.items[snapshot];

	memmove(time, time + 1, after * sizeof(*time));
	for (heap_kind_id i = 0; i < census->kind_count; i++) {
		struct heap_amount *amount = &census->kinds[i].amounts[snapshot];

		memmove(amount, amount + 1, after * sizeof(*amount));
		census->kinds[i].amount_count--;
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_kind(struct heap_census *census, uint64_t key)
{
	struct kind kind = { .key = key };

	HEAP_TRY(
		heap_reserve(census->kinds, census->kind_capacity, (size_t)census->kind_count + 1));
	HEAP_TRY(heap_hash_reserve(&census->by_key, 1));
	HEAP_TRY(widen(&kind, census->times.count));
	census->kinds[census->kind_count] = kind;
	return heap_hash_add(&census->by_key, heap_hash_u64(key), census->kind_count++);
}

struct heap_error *heap_census_kind(struct heap_census *census, uint64_t key, heap_kind_id *result,
				    bool *is_new)
{
	heap_kind_id found =
		heap_hash_find(&census->by_key, heap_hash_u64(key), i, census->kinds[i].key == key);

	if (is_new)
		*is_new = found == HEAP_HASH_NONE;
	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(add_kind(census, key));
		found = census->kind_count - 1;
	}
	*result = found;
	return NULL;
}

struct heap_error *heap_census_name(struct heap_census *census, heap_kind_id kind, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return heap_error_out_of_memory();
	free(census->kinds[kind].name);
	census->kinds[kind].name = copy;
	return NULL;
}

void heap_census_add(struct heap_census *census, heap_kind_id kind, uint64_t objects,
		     uint64_t bytes)
{
	struct heap_amount *amount = &census->kinds[kind].amounts[census->times.count - 1];

	amount->objects += objects;
	amount->bytes += bytes;
}

size_t heap_census_length(const struct heap_census *census)
{
	return census->times.count;
}

heap_kind_id heap_census_kinds(const struct heap_census *census)
{
	return census->kind_count;
}

const uint64_t *heap_census_times(const struct heap_census *census)
{
	return census->times.items;
}

const char *heap_census_name_of(const struct heap_census *census, heap_kind_id kind)
{
	return census->kinds[kind].name ? census->kinds[kind].name : "";
}

struct heap_amount heap_census_amount(const struct heap_census *census, heap_kind_id kind,
				      size_t snapshot)
{
	return census->kinds[kind].amounts[snapshot];
}
