// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/pieces.h"

#include "lib/base/cleanup.h"
#include "lib/base/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	PARTS_PER_THREAD = 3, // some pieces take longer than others
};

struct run {
	const struct heap_piece_work *work;
	size_t room;
	char *parts;          // [room] of piece n: n % room
	bool *is_done;        // [room]
	pthread_mutex_t lock; // of all below, and of is_done
	pthread_cond_t changed;
	size_t taken, joined; // pieces
	bool is_joining, has_failed;
};

static void *part_of(const struct run *run, size_t number)
{
	return run->parts + number % run->room * run->work->part_size;
}

// Leaves the lock while it works. @return false if there is nothing that can be done now
static bool do_something(struct run *run, struct heap_error **error)
{
	const struct heap_piece_work *work = run->work;
	bool can_join = !run->is_joining && run->is_done[run->joined % run->room];

	if (can_join) {
		run->is_joining = true;
		pthread_mutex_unlock(&run->lock);
		*error = work->join(work->context, part_of(run, run->joined));
		pthread_mutex_lock(&run->lock);
		run->is_joining = false;
		run->is_done[run->joined++ % run->room] = false;
	} else if (run->taken < work->count && run->taken - run->joined < run->room) {
		size_t number = run->taken++;

		pthread_mutex_unlock(&run->lock);
		*error = work->work(work->context, number, part_of(run, number));
		pthread_mutex_lock(&run->lock);
		run->is_done[number % run->room] = true;
	} else {
		return false;
	}
	run->has_failed |= *error != NULL;
	pthread_cond_broadcast(&run->changed);
	return true;
}

// The work of each thread.
HEAP_MUST_CHECK
static struct heap_error *take_part(void *context, size_t number)
{
	struct run *run = context;
	struct heap_error *error = NULL;

	(void)number;
	pthread_mutex_lock(&run->lock);
	while (!run->has_failed && run->joined < run->work->count) {
		if (!do_something(run, &error))
			pthread_cond_wait(&run->changed, &run->lock);
	}
	pthread_mutex_unlock(&run->lock);
	return error;
}

static size_t room_for(const struct heap_piece_work *work, unsigned threads)
{
	size_t room = threads > 1 ? (size_t)threads * PARTS_PER_THREAD : 1;

	return work->parts > 0 && work->parts < room ? work->parts : room;
}

static unsigned threads_for(const struct heap_piece_work *work)
{
	unsigned threads = heap_parallel_threads();

	return work->count < threads ? (unsigned)work->count : threads;
}

struct heap_error *heap_pieces_run(const struct heap_piece_work *work)
{
	unsigned threads = threads_for(work);
	struct run run = {
		.work = work,
		.room = room_for(work, threads),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};

	if (work->count == 0)
		return NULL;

	CLEANUP_FREE char *parts = run.parts = calloc(run.room, work->part_size);
	CLEANUP_FREE bool *is_done = run.is_done = calloc(run.room, sizeof(*is_done));

	if (!parts || !is_done)
		return heap_error_out_of_memory();

	struct heap_error *error = heap_parallel_share(threads, take_part, &run);

	for (size_t i = 0; i < run.room; i++)
		work->release(part_of(&run, i));
	return error;
}
