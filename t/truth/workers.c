// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads that work on a queue: jobs whose arguments and results are void *, what each thread
 * keeps in thread-local variables and on its stack, a table by macros for each type.
 */
#include "t/truth/truth.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// A growing array of any type, by macro.
#define VECTOR(T) \
	struct { \
		size_t count, allocated; \
		T *items; \
	}
#define VECTOR_PUSH(T, vector, item) \
	do { \
		if ((vector)->count == (vector)->allocated) { \
			(vector)->allocated = (vector)->allocated ? (vector)->allocated * 2 : 4; \
			(vector)->items = RENEW_ARRAY(T, (vector)->items, (vector)->allocated); \
		} \
		(vector)->items[(vector)->count++] = item; \
	} while (0)

// A tail queue, by macro.
#define TAILQ_HEAD(name, type) \
	struct name { \
		struct type *first, **last; \
	}
#define TAILQ_ENTRY(type) \
	struct { \
		struct type *next, **previous; \
	}
#define TAILQ_INSERT_TAIL(head, element, field) \
	do { \
		(element)->field.next = NULL; \
		(element)->field.previous = (head)->last; \
		*(head)->last = (element); \
		(head)->last = &(element)->field.next; \
	} while (0)
#define TAILQ_REMOVE(head, element, field) \
	do { \
		if ((element)->field.next) \
			(element)->field.next->field.previous = (element)->field.previous; \
		else \
			(head)->last = (element)->field.previous; \
		*(element)->field.previous = (element)->field.next; \
	} while (0)

typedef void *job_function(void *argument);

struct job {
	TAILQ_ENTRY(job) link;
	job_function *run;
	void *argument, *result;
	uint32_t serial;
	bool is_done;
};

TAILQ_HEAD(job_list, job);

struct image {
	uint16_t width, height;
	unsigned char *pixels;
	char *title;
};

struct thumbnail {
	const struct image *of;
	unsigned char *pixels;
	uint8_t quality;
};

struct query {
	char *text;
	unsigned limit;
};

struct hit {
	uint32_t document;
	float score;
	const struct query *query;
};

struct answer {
	VECTOR(struct hit) hits;
	double elapsed;
};

struct scratch { // a thread's own
	struct scratch *outer;
	size_t size;
	long uses;
	unsigned char bytes[200];
};

struct worker {
	pthread_t thread;
	unsigned number;
	struct pool *pool;
	VECTOR(struct job *) finished;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t wake, idle;
	struct job_list waiting;
	struct worker **workers;
	unsigned worker_count, running;
};

static __thread struct scratch *scratch;

static struct scratch *scratch_push(void)
{
	struct scratch *pushed = NEW_ZEROED(struct scratch);

	pushed->outer = scratch;
	pushed->size = sizeof(pushed->bytes);
	scratch = pushed;
	return pushed;
}

static void *make_thumbnail(void *argument)
{
	const struct image *image = argument;
	struct thumbnail *thumbnail = NEW(struct thumbnail);

	thumbnail->of = image;
	thumbnail->quality = 80;
	thumbnail->pixels = (unsigned char *)NEW_TEXT(64);
	for (int i = 0; i < 64; i++)
		thumbnail->pixels[i] = image->pixels[i * 4];
	scratch->uses++;
	return thumbnail;
}

static void *search(void *argument)
{
	const struct query *query = argument;
	struct answer *answer = NEW_ZEROED(struct answer);

	for (uint32_t i = 0; i < query->limit; i++) {
		struct hit hit = { i * 31 % 10007, 1.0f / (float)(i + 1), query };
		VECTOR_PUSH(struct hit, &answer->hits, hit);
	}
	answer->elapsed = query->limit * 0.1;
	scratch->uses++;
	return answer;
}

static struct job *take(struct pool *pool)
{
	struct job *job = pool->waiting.first;

	if (job) {
		TAILQ_REMOVE(&pool->waiting, job, link);
		pool->running++;
	}
	return job;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct pool *pool = worker->pool;
	struct job *job;

	scratch_push();
	scratch_push();
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!(job = take(pool)))
			pthread_cond_wait(&pool->wake, &pool->lock);
		pthread_mutex_unlock(&pool->lock);
		job->result = job->run(job->argument);
		job->is_done = true;
		VECTOR_PUSH(struct job *, &worker->finished, job);
		pthread_mutex_lock(&pool->lock);
		if (!--pool->running && !pool->waiting.first)
			pthread_cond_signal(&pool->idle);
	}
	return NULL;
}

static void submit(struct pool *pool, job_function *run, void *argument)
{
	static uint32_t serial;
	struct job *job = NEW_ZEROED(struct job);

	job->run = run;
	job->argument = argument;
	job->serial = ++serial;
	pthread_mutex_lock(&pool->lock);
	TAILQ_INSERT_TAIL(&pool->waiting, job, link);
	pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
}

static struct pool *pool_create(unsigned workers)
{
	struct pool *pool = NEW_ZEROED(struct pool);

	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pthread_cond_init(&pool->idle, NULL);
	pool->waiting.last = &pool->waiting.first;
	pool->workers = NEW_ARRAY(struct worker *, workers);
	for (; pool->worker_count < workers; pool->worker_count++) {
		struct worker *worker = NEW_ZEROED(struct worker);
		worker->number = pool->worker_count;
		worker->pool = pool;
		pool->workers[worker->number] = worker;
		pthread_create(&worker->thread, NULL, work, worker);
	}
	return pool;
}

static void pool_drain(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->running || pool->waiting.first)
		pthread_cond_wait(&pool->idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

static struct image *image_load(unsigned number)
{
	struct image *image = NEW(struct image);

	image->width = image->height = 16;
	image->pixels = (unsigned char *)NEW_TEXT(256);
	memset(image->pixels, (int)(number % 251), 256);
	if (asprintf(&image->title, "image %u", number) < 0)
		exit(1);
	TEXT(image->title);
	return image;
}

static struct query *query_parse(unsigned number)
{
	struct query *query = NEW(struct query);
	char text[48];

	snprintf(text, sizeof(text), "heap and snapshot not core:%u", number);
	query->text = TEXT(strdup(text));
	query->limit = number % 12;
	return query;
}

int main(void)
{
	struct pool *pool = pool_create(3);
	size_t finished = 0;

	for (unsigned i = 0; i < 800; i++) {
		if (i % 2)
			submit(pool, make_thumbnail, image_load(i));
		else
			submit(pool, search, query_parse(i));
	}
	pool_drain(pool);
	truth_capture();
	for (unsigned i = 0; i < pool->worker_count; i++)
		finished += pool->workers[i]->finished.count;
	printf("%zu jobs\n", finished);
	return 0;
}
