// SPDX-License-Identifier: GPL-3.0-or-later
// The free chunks of an arena, by the places of owners in other arenas.
#include "t/unit/unit.h"

#include "dumper/writer/infer/parts/arena_owners.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WORD = 8,
	START = 32,  // bytes of the arena's head
	HEADER = 16, // of a chunk: its owner or the next free chunk, and its size
	CHUNK = 32,
	CHUNKS = 7,
	SIZE = START + CHUNKS * CHUNK,
	OTHERS = 5,
};

// A place of the owner in both headers and heads.
enum place {
	AT_FIRST = 0,
	AT_SECOND = WORD,
};

// Fills an arena of which the last chunk is in use: the others are linked to each other.
static void fill(uint64_t words[SIZE / WORD])
{
	uint64_t owner = (uintptr_t)words;

	memset(words, 0, SIZE);
	words[0] = owner;
	for (uint64_t i = 0; i < CHUNKS; i++) {
		uint64_t *header = &words[(START + i * CHUNK) / WORD];

		header[0] = i + 1 < CHUNKS ? owner + START + (i + 1) * CHUNK : owner;
		header[1] = CHUNK;
	}
}

static struct arena make_arena(heap_object_id object, uint32_t place)
{
	return (struct arena){
		.object = object,
		.count = CHUNKS,
		.header = HEADER,
		.start = START,
		.end = SIZE,
		.owner_at = place,
		.owner_in = place,
	};
}

// @param places  of the owners in other arenas
// @return free chunks that are found in the filled one; -1: its owner is not known
static int count_free(const enum place *places, uint32_t count)
{
	static uint64_t words[SIZE / WORD] __attribute__((aligned(16)));
	struct arena list[1 + OTHERS];
	struct arena_chunk chunks[CHUNKS];
	struct arenas arenas = { .list = list, .count = 1 + count, .chunks = chunks };
	struct capture *capture = calloc(1, sizeof(*capture));
	struct object_range range = { .start = (uintptr_t)words,
				      .end = (uintptr_t)words + sizeof(words),
				      .count = 1 };
	int result = 0;

	assert_non_null(capture);
	fill(words);
	assert_null(image_init(&capture->image, getpid()));
	assert_null(objects_init(&capture->objects));
	assert_null(objects_add(&capture->objects, range.start,
				heapsnap_extent(SIZE, 0, HEAPSNAP_BEFORE, 0), 0));
	assert_null(objects_add_range(&capture->objects, &range));
	list[0] = make_arena(0, ARENA_NO_OWNER);
	for (uint32_t i = 0; i < CHUNKS; i++)
		chunks[i] =
			(struct arena_chunk){ .offset = START + i * CHUNK, .size = CHUNK - HEADER };
	for (uint32_t i = 0; i < count; i++)
		list[1 + i] = make_arena(1 + i, places[i]);
	assert_null(arena_owners_complete(capture, &arenas));
	for (uint32_t i = 0; i < CHUNKS; i++)
		result += chunks[i].is_free;
	objects_deinit(&capture->objects);
	image_deinit(&capture->image);
	free(capture);
	return list[0].owner_at == ARENA_NO_OWNER ? -1 : result;
}

static void the_place_of_most_arenas_tells_the_owner(void **state)
{
	static const enum place places[OTHERS] = { AT_SECOND, AT_FIRST, AT_SECOND, AT_FIRST,
						   AT_FIRST };

	(void)state;
	assert_int_equal(count_free(places, OTHERS), CHUNKS - 1);
	assert_int_equal(count_free(places, 0), -1);
}

// Arenas come in the order of their addresses, which differ from run to run.
static void the_order_of_arenas_decides_nothing(void **state)
{
	static const enum place orders[][4] = {
		{ AT_FIRST, AT_FIRST, AT_SECOND, AT_SECOND },
		{ AT_FIRST, AT_SECOND, AT_SECOND, AT_FIRST },
		{ AT_SECOND, AT_FIRST, AT_SECOND, AT_FIRST },
		{ AT_SECOND, AT_SECOND, AT_FIRST, AT_FIRST },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		assert_int_equal(count_free(orders[i], 4), -1);
}

UNIT_TESTS("owners of arenas", cmocka_unit_test(the_place_of_most_arenas_tells_the_owner),
	   cmocka_unit_test(the_order_of_arenas_decides_nothing))
