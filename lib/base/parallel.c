// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/parallel.h"

#include <sched.h>
#include <stdatomic.h>

enum {
	MAX_THREADS = 64,
	USUAL_THREADS = 4,
	WORTH_A_THREAD = 4, // pieces; a thread costs about as much as one of them
	STACK_BYTES = 1 << 20,
};

struct crew {
	struct heap_error *(*work)(void *context, size_t number);
	void *context;
	size_t count;
	atomic_size_t next;
	_Atomic(struct heap_error *) error;
};

static unsigned wanted_threads; // 0: not said

void heap_parallel_set_threads(unsigned count)
{
	wanted_threads = count > MAX_THREADS ? MAX_THREADS : count;
}

unsigned heap_parallel_threads(void)
{
	cpu_set_t processors;

	if (wanted_threads > 0)
		return wanted_threads;
	if (sched_getaffinity(0, sizeof(processors), &processors) != 0)
		return 1;

	unsigned count = (unsigned)CPU_COUNT(&processors);

	return count > USUAL_THREADS ? USUAL_THREADS : count;
}

static void *work_on(void *argument)
{
	struct crew *crew = argument;
	size_t number;

	while (!atomic_load(&crew->error) &&
	       (number = atomic_fetch_add(&crew->next, 1)) < crew->count) {
		struct heap_error *error = crew->work(crew->context, number);
		struct heap_error *none = NULL;

		if (error && !atomic_compare_exchange_strong(&crew->error, &none, error))
			heap_error_destroy(error);
	}
	return NULL;
}

// Has `extra` threads help the caller.
HEAP_MUST_CHECK
static struct heap_error *run(struct crew *crew, unsigned extra)
{
	pthread_t threads[MAX_THREADS];
	pthread_attr_t attributes;
	unsigned started = 0;

	if (extra > 0) {
		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, STACK_BYTES);
		while (started < extra &&
		       pthread_create(&threads[started], &attributes, work_on, crew) == 0)
			started++;
		pthread_attr_destroy(&attributes);
	}
	work_on(crew);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	return crew->error;
}

struct heap_error *heap_parallel_run(size_t count,
				     struct heap_error *(*work)(void *context, size_t number),
				     void *context)
{
	struct crew crew = { .work = work, .context = context, .count = count };

	return run(&crew, count >= WORTH_A_THREAD ? heap_parallel_threads() - 1 : 0);
}

struct heap_error *heap_parallel_share(unsigned count,
				       struct heap_error *(*work)(void *context, size_t number),
				       void *context)
{
	struct crew crew = { .work = work, .context = context, .count = count };

	return run(&crew, count - 1);
}

bool heap_parallel_begin(struct heap_parallel_job *job, void *(*work)(void *context), void *context)
{
	pthread_attr_t attributes;

	job->is_running = false;
	if (heap_parallel_threads() < 2)
		return false;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	job->is_running = pthread_create(&job->thread, &attributes, work, context) == 0;
	pthread_attr_destroy(&attributes);
	return job->is_running;
}

void heap_parallel_await(struct heap_parallel_job *job)
{
	if (job->is_running)
		pthread_join(job->thread, NULL);
	job->is_running = false;
}
