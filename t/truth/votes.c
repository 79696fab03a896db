// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Names that turn out to be wrong after their siblings have been named by them. Jobs wait in a list whose
 * pointers take them for links, as the only larger struct with a link begins; their workers know better, but
 * are named later. Most jobs are held by nothing that has a type.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct link {
	struct link *next, *previous;
};

struct timer {
	struct link link;
	uint64_t due, period, fired, id;
};

struct job {
	void *next, *previous;
	uint64_t priority, cost, started, id;
};

struct worker {
	struct job *job;
	uint64_t done, failed;
};

struct crew {
	struct worker *first;
	uint64_t size;
};

static struct link *waiting;
struct timer *timers[2];
void *crews[64], *jobs[2000];

static __attribute__((noinline)) void *make_job(void)
{
	return truth_log(calloc(1, sizeof(struct job)), TRUTH_ARRAY, "struct job", 1);
}

static void add_worker(size_t number, struct job *job)
{
	struct worker *worker = NEW(struct worker);
	struct crew *crew = NEW(struct crew);

	*worker = (struct worker){ job, number, 0 };
	*crew = (struct crew){ worker, 1 };
	crews[number] = crew;
}

static void enqueue(void *job)
{
	struct link *link = job;

	link->next = waiting;
	if (waiting)
		waiting->previous = link;
	waiting = link;
}

int main(void)
{
	timers[0] = NEW_ZEROED(struct timer);
	timers[1] = NEW_ZEROED(struct timer);
	timers[0]->link.next = &timers[1]->link;
	for (size_t i = 0; i < 2000; i++) {
		jobs[i] = make_job();
		if (i >= 64)
			continue;
		enqueue(jobs[i]);
		add_worker(i, jobs[i]);
	}
	truth_capture();
	return jobs[0] == NULL;
}
