// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/series/identity.h"

#include "lib/base/cleanup.h"

#include <string.h>

enum {
	WORDS = 32, // compared of each object
};

// A process's start is worked out from clocks that are not read at one moment, and that are set.
static const uint64_t START_TOLERANCE = 2000000000; // ns; no pid comes back that fast

bool heap_knows_births(const struct heap_snapshot *snapshot)
{
	// Blocks of allocators beside malloc have none. A snapshot that no file has may have no such text at all.
	const char *allocators = snapshot->info.allocators;

	return snapshot->info.origin == HEAP_ORIGIN_LIBRARY && !(allocators && *allocators);
}

static bool is_one_start(const struct heap_info *a, const struct heap_info *b)
{
	uint64_t between = a->start_time_ns > b->start_time_ns
				   ? a->start_time_ns - b->start_time_ns
				   : b->start_time_ns - a->start_time_ns;

	// A core file does not tell.
	if (a->origin == HEAP_ORIGIN_CORE || b->origin == HEAP_ORIGIN_CORE)
		return strcmp(a->program, b->program) == 0;
	if (a->origin == HEAP_ORIGIN_LIBRARY && b->origin == HEAP_ORIGIN_LIBRARY)
		return between == 0;
	return between <= START_TOLERANCE;
}

bool heap_is_one_process(const struct heap_info *a, const struct heap_info *b)
{
	return a->pid == b->pid && is_one_start(a, b) && strcmp(a->host, b->host) == 0;
}

static bool are_alike(const uint64_t *a, const uint64_t *b, size_t words)
{
	size_t filled = 0, equal = 0;

	for (size_t i = 0; i < words; i++) {
		filled += (a[i] | b[i]) != 0;
		equal += a[i] == b[i] && a[i] != 0;
	}
	return equal * 2 >= filled;
}

struct heap_error *heap_is_one_object(struct heap_snapshot *a, heap_object_id in_a,
				      struct heap_snapshot *b, heap_object_id in_b, bool *result)
{
	uint64_t words_a[WORDS], words_b[WORDS];
	size_t kept_a, kept_b;

	if (heap_knows_births(a) && heap_knows_births(b)) {
		*result = heap_snapshot_birth_ns(a, in_a) == heap_snapshot_birth_ns(b, in_b);
		return NULL;
	}
	HEAP_TRY(heap_snapshot_read_content(a, in_a, words_a, sizeof(words_a), &kept_a));
	HEAP_TRY(heap_snapshot_read_content(b, in_b, words_b, sizeof(words_b), &kept_b));
	*result = are_alike(words_a, words_b, (kept_a < kept_b ? kept_a : kept_b) / 8);
	return NULL;
}
