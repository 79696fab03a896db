// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Jobs whose functions handle both their arguments and their result, either of which they may be by their sizes. The
 * results are kept by void pointers, in futures that optimized code has in the register of the frame pointer.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	JOBS = 400,
	SIZES = 16,
};

struct worker {
	uint64_t steps;
	const char *last;
	unsigned number;
};

struct future {
	void *result;
	struct worker *worker;
	int is_ready;
};

struct job {
	struct job *next;
	void (*run)(struct worker *worker, void *arguments, struct future *future);
	void *arguments;
	struct future *future;
};

struct sum_arguments {
	long *numbers;
	size_t count;
};

struct sum_result {
	long sum;
	double mean;
};

struct mail_arguments {
	char *address, *subject;
	struct mail_arguments *copy;
};

struct mail_result {
	int code;
	char *reply;
};

struct scale_arguments {
	char *path;
	unsigned width, height;
};

struct scale_result {
	short *pixels;
	unsigned width, height;
};

static struct job *jobs;

static void note(struct worker *worker, const char *what)
{
	worker->steps++;
	worker->last = what;
}

static void finish(struct future *future, struct worker *worker, void *result)
{
	future->result = result;
	future->worker = worker;
	future->is_ready = 1;
}

static void run_sum(struct worker *worker, void *argument, struct future *future)
{
	struct sum_arguments *arguments = argument;
	struct sum_result *result = NEW(struct sum_result);

	result->sum = 0;
	for (size_t i = 0; i < arguments->count; i++)
		result->sum += arguments->numbers[i];
	result->mean = (double)result->sum / (double)arguments->count;
	note(worker, "sum");
	finish(future, worker, result);
}

static void run_mail(struct worker *worker, void *argument, struct future *future)
{
	struct mail_arguments *arguments = argument;
	struct mail_result *result = NEW(struct mail_result);
	char text[64];

	result->code = 250;
	snprintf(text, sizeof(text), "queued for %s", arguments->address);
	result->reply = TEXT(strdup(text));
	note(worker, arguments->subject);
	finish(future, worker, result);
}

static void run_scale(struct worker *worker, void *argument, struct future *future)
{
	struct scale_arguments *arguments = argument;
	struct scale_result *result = NEW(struct scale_result);

	result->width = arguments->width / 2;
	result->height = arguments->height / 2;
	result->pixels = NEW_ZEROED_ARRAY(short, (size_t)result->width * result->height);
	for (unsigned i = 0; i < result->width * result->height; i++)
		result->pixels[i] = (short)(i * 37);
	note(worker, arguments->path);
	finish(future, worker, result);
}

static struct job *add(void (*run)(struct worker *, void *, struct future *), void *arguments)
{
	struct job *job = NEW(struct job);

	job->run = run;
	job->arguments = arguments;
	job->future = NEW_ZEROED(struct future);
	job->next = jobs;
	jobs = job;
	return job;
}

static void add_sum(void)
{
	struct sum_arguments *arguments = NEW(struct sum_arguments);

	arguments->count = 3 + next() % 8;
	arguments->numbers = NEW_ARRAY(long, arguments->count);
	for (size_t i = 0; i < arguments->count; i++)
		arguments->numbers[i] = (long)(next() % 1000);
	add(run_sum, arguments);
}

static void add_mail(unsigned number)
{
	struct mail_arguments *arguments = NEW(struct mail_arguments);
	char text[40];

	snprintf(text, sizeof(text), "somebody%u@example.org", number);
	arguments->address = TEXT(strdup(text));
	arguments->subject = TEXT(strdup("the invoice of the month"));
	arguments->copy = NULL;
	add(run_mail, arguments);
}

static void add_scale(unsigned number)
{
	struct scale_arguments *arguments = NEW(struct scale_arguments);
	char text[40];

	snprintf(text, sizeof(text), "/photos/of/%u.jpeg", number);
	arguments->path = TEXT(strdup(text));
	arguments->width = 8 + number % SIZES;
	arguments->height = 10;
	add(run_scale, arguments);
}

int main(void)
{
	struct worker *worker = NEW_ZEROED(struct worker);

	for (unsigned i = 0; i < JOBS; i++) {
		unsigned sort = i % 3; // in turn, so that every third pointer leads to one type

		if (sort == 0)
			add_sum();
		else if (sort == 1)
			add_mail(i);
		else
			add_scale(i);
	}
	for (struct job *job = jobs; job; job = job->next)
		job->run(worker, job->arguments, job->future);
	truth_capture();
	printf("%d %lu\n", jobs->future->is_ready, (unsigned long)worker->steps);
	return 0;
}
