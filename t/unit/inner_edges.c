// SPDX-License-Identifier: GPL-3.0-or-later
// Objects with edges into the middle of others, as by looking at each edge.
#include "t/unit/unit.h"

#include "dumper/writer/infer/inner_edges.h"
#include "lib/base/bits.h"
#include "lib/base/hash.h"

enum {
	OBJECTS = 300,
	EDGES = 3 * OBJECTS,
	MOST = 4, // edges of an object
};

static uint32_t first[OBJECTS + 1], interior[EDGES + MOST];

// Objects have 0 to MOST - 1 edges; one in `share` edges is an inner one.
static struct heap_snapshot make(uint64_t seed, uint64_t share)
{
	uint32_t edges = 0;

	for (uint32_t i = 0; i < OBJECTS; i++) {
		first[i] = edges;
		edges += heap_hash_u64(seed + i) % MOST;
	}
	first[OBJECTS] = edges;
	for (uint32_t i = 0; i < edges; i++)
		interior[i] = heap_hash_u64(seed * EDGES + i) % share == 0 ? 1 + i : 0;
	return (struct heap_snapshot){ .edge_first = first, .edge_interior = interior };
}

static bool has_inner(heap_object_id object)
{
	for (uint32_t i = first[object]; i < first[object + 1]; i++) {
		if (interior[i] != 0)
			return true;
	}
	return false;
}

static void finds_each_object(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 50; seed++) {
		struct heap_snapshot snapshot = make(seed, 1 + seed * seed);
		heap_object_id end = seed % 3 ? OBJECTS : OBJECTS / 2;
		heap_object_id at = inner_edges_next(&snapshot, 0, end);

		for (heap_object_id i = 0; i < end; i++) {
			if (!has_inner(i))
				continue;
			assert_int_equal(at, i);
			at = inner_edges_next(&snapshot, i + 1, end);
		}
		assert_int_equal(at, end);
	}
}

static void counts_bits(void **state)
{
	(void)state;
	assert_int_equal(heap_bits_count(0), 0);
	assert_int_equal(heap_bits_count(UINT64_MAX), 64);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(heap_bits_count(heap_hash_u64(i)),
				 __builtin_popcountll(heap_hash_u64(i)));
}

UNIT_TESTS("inner edges", cmocka_unit_test(finds_each_object), cmocka_unit_test(counts_bits))
