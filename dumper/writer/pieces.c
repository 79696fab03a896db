// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/pieces.h"

#include "lib/parallel.h"

#include <stdlib.h>

enum {
	PIECES_PER_THREAD = 4, // of a wave: some take longer than others
};

struct wave {
	const struct piece_work *work;
	size_t first; // piece
	char *parts;
};

HEAP_MUST_CHECK
static struct heap_error *work_on(void *context, size_t number)
{
	const struct wave *wave = context;
	const struct piece_work *work = wave->work;

	return work->work(work->context, wave->first + number,
			  wave->parts + number * work->part_size);
}

struct heap_error *pieces_run(const struct piece_work *work)
{
	size_t room = (size_t)heap_parallel_threads() * PIECES_PER_THREAD;
	struct wave wave = { .work = work, .parts = calloc(room, work->part_size) };
	struct heap_error *error = wave.parts ? NULL : heap_error_out_of_memory();

	for (; !error && wave.first < work->count; wave.first += room) {
		size_t left = work->count - wave.first;
		size_t count = left < room ? left : room;

		error = heap_parallel_run(count, work_on, &wave);
		for (size_t i = 0; !error && i < count; i++)
			error = work->join(work->context, wave.parts + i * work->part_size);
	}
	for (size_t i = 0; wave.parts && i < room; i++)
		work->release(wave.parts + i * work->part_size);
	free(wave.parts);
	return error;
}
