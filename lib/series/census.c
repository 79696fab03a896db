// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/series/census.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_SLOTS = 256,
};

struct kind {
	uint64_t key;
	char *name;                  // or NULL
	struct heap_amount *amounts; // [amount_count]; those of later snapshots are 0
	size_t amount_count;
};

struct heap_census {
	uint64_t *times; // [length]
	size_t length;
	struct kind *kinds; // [kind_count]
	heap_kind_id kind_count, kind_capacity;
	heap_kind_id *slots; // [slot_count] a power of two; number + 1 of a kind, by its key
	size_t slot_count;
};

uint64_t heap_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (const uint8_t *at = bytes; size > 0; at++, size--)
		hash = (hash ^ *at) * UINT64_C(0x100000001b3);
	return hash;
}

struct heap_error *heap_census_create(struct heap_census **result)
{
	struct heap_census *census = calloc(1, sizeof(*census));

	if (!census)
		return heap_error_out_of_memory();
	census->slots = calloc(FIRST_SLOTS, sizeof(*census->slots));
	census->slot_count = FIRST_SLOTS;
	if (!census->slots) {
		free(census);
		return heap_error_out_of_memory();
	}
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
	free(census->slots);
	free(census->times);
	free(census);
}

// Room for the latest snapshot's amount.
HEAP_MUST_CHECK
static struct heap_error *widen(const struct heap_census *census, struct kind *kind)
{
	struct heap_amount *wider = realloc(kind->amounts, (census->length + 1) * sizeof(*wider));

	if (!wider)
		return heap_error_out_of_memory();
	memset(wider + kind->amount_count, 0,
	       (census->length + 1 - kind->amount_count) * sizeof(*wider));
	kind->amounts = wider;
	kind->amount_count = census->length + 1;
	return NULL;
}

struct heap_error *heap_census_next(struct heap_census *census, uint64_t time_ns)
{
	uint64_t *times = realloc(census->times, (census->length + 1) * sizeof(*times));

	if (!times)
		return heap_error_out_of_memory();
	census->times = times;
	for (heap_kind_id i = 0; i < census->kind_count; i++) {
		struct heap_error *error = widen(census, &census->kinds[i]);

		if (error)
			return error;
	}
	census->times[census->length++] = time_ns;
	return NULL;
}

// Where the key is, or would be.
static size_t find_slot(const struct heap_census *census, uint64_t key)
{
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (census->slot_count - 1);

	while (census->slots[at] && census->kinds[census->slots[at] - 1].key != key)
		at = (at + 1) & (census->slot_count - 1);
	return at;
}

HEAP_MUST_CHECK
static struct heap_error *grow_slots(struct heap_census *census)
{
	size_t count = census->slot_count * 2;
	heap_kind_id *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return heap_error_out_of_memory();
	free(census->slots);
	census->slots = slots;
	census->slot_count = count;
	for (heap_kind_id i = 0; i < census->kind_count; i++)
		slots[find_slot(census, census->kinds[i].key)] = i + 1;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_kind(struct heap_census *census, uint64_t key)
{
	if (census->kind_count == census->kind_capacity) {
		heap_kind_id capacity = census->kind_capacity ? census->kind_capacity * 2 : 64;
		struct kind *kinds = realloc(census->kinds, capacity * sizeof(*kinds));

		if (!kinds)
			return heap_error_out_of_memory();
		census->kinds = kinds;
		census->kind_capacity = capacity;
	}
	if ((size_t)census->kind_count * 2 >= census->slot_count)
		HEAP_TRY(grow_slots(census));

	struct kind *kind = &census->kinds[census->kind_count];

	*kind = (struct kind){ .key = key };
	HEAP_TRY(widen(census, kind));
	census->slots[find_slot(census, key)] = ++census->kind_count;
	return NULL;
}

struct heap_error *heap_census_kind(struct heap_census *census, uint64_t key, heap_kind_id *result,
				    bool *is_new)
{
	heap_kind_id found = census->slots[find_slot(census, key)];

	if (is_new)
		*is_new = !found;
	if (!found) {
		struct heap_error *error = add_kind(census, key);

		if (error)
			return error;
		found = census->kind_count;
	}
	*result = found - 1;
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
	struct heap_amount *amount = &census->kinds[kind].amounts[census->length - 1];

	amount->objects += objects;
	amount->bytes += bytes;
}

size_t heap_census_length(const struct heap_census *census)
{
	return census->length;
}

heap_kind_id heap_census_kinds(const struct heap_census *census)
{
	return census->kind_count;
}

const uint64_t *heap_census_times(const struct heap_census *census)
{
	return census->times;
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
