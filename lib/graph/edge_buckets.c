// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/edge_buckets.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"
#include "lib/graph/offsets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK = 2730,   // edges, which are 16 KiB
	SEGMENT = 1024, // chunks that are allocated together
	BATCHES = 4,
};

#define NO_CHUNK UINT32_MAX

// Edges to nodes of one bucket.
struct chunk {
	uint32_t next; // the chunk that was filled before, or NO_CHUNK
	uint32_t from[CHUNK];
	uint16_t to[CHUNK]; // number in its bucket
};

struct bucket {
	uint32_t chunk; // the chunk that is being filled, or NO_CHUNK
	uint32_t used;  // edges in it
	uint32_t count; // edges in all chunks
};

struct heap_edge_buckets {
	struct bucket *buckets; // [count]
	size_t count;
	struct chunk **segments; // [segment_count] of segment_size; NULL: not allocated yet
	size_t segment_count;
	uint32_t segment_size, chunk_count;

	// Batches form a ring. The caller fills the one after those that wait.
	struct heap_numbered_edge *batches; // [BATCHES * HEAP_EDGE_BATCH]
	struct heap_edge_batch batch;       // that is being filled
	struct heap_parallel_job job;       // begun with the first full batch
	pthread_mutex_t mutex;              // of the members below
	pthread_cond_t changed;
	size_t begin, waiting; // batches that wait for the thread
	bool is_complete;
	struct heap_error *error;
};

// --- buckets -----------------------------------------------------------------

static struct chunk *get_chunk(const struct heap_edge_buckets *buckets, uint32_t chunk)
{
	return &buckets->segments[chunk / buckets->segment_size][chunk % buckets->segment_size];
}

HEAP_MUST_CHECK
static struct heap_error *add_chunk(struct heap_edge_buckets *buckets, struct bucket *bucket)
{
	uint32_t segment = buckets->chunk_count / buckets->segment_size;

	if (!buckets->segments[segment])
		HEAP_TRY(heap_column_create(buckets->segment_size, sizeof(**buckets->segments),
					    &buckets->segments[segment]));
	get_chunk(buckets, buckets->chunk_count)->next = bucket->chunk;
	bucket->chunk = buckets->chunk_count++;
	bucket->used = 0;
	return NULL;
}

// Puts the edges of a batch into their buckets.
HEAP_MUST_CHECK
static struct heap_error *distribute(struct heap_edge_buckets *buckets,
				     const struct heap_numbered_edge *edges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bucket *bucket = &buckets->buckets[edges[i].to / HEAP_EDGE_BUCKET];
		struct chunk *chunk;

		if (bucket->chunk == NO_CHUNK || bucket->used == CHUNK)
			HEAP_TRY(add_chunk(buckets, bucket));
		chunk = get_chunk(buckets, bucket->chunk);
		chunk->from[bucket->used] = edges[i].from;
		chunk->to[bucket->used++] = (uint16_t)(edges[i].to % HEAP_EDGE_BUCKET);
		bucket->count++;
	}
	return NULL;
}

// --- the thread --------------------------------------------------------------

static struct heap_numbered_edge *batch_at(const struct heap_edge_buckets *buckets, size_t number)
{
	return buckets->batches + number % BATCHES * HEAP_EDGE_BATCH;
}

// Distributes full batches until no more come. After an error it only takes them.
static void *work(void *context)
{
	struct heap_edge_buckets *buckets = context;

	pthread_mutex_lock(&buckets->mutex);
	while (buckets->waiting > 0 || !buckets->is_complete) {
		struct heap_error *error = NULL;

		if (buckets->waiting == 0) {
			pthread_cond_wait(&buckets->changed, &buckets->mutex);
			continue;
		}
		if (!buckets->error) {
			pthread_mutex_unlock(&buckets->mutex);
			error = distribute(buckets, batch_at(buckets, buckets->begin),
					   HEAP_EDGE_BATCH);
			pthread_mutex_lock(&buckets->mutex);
			buckets->error = error;
		}
		buckets->begin++;
		buckets->waiting--;
		pthread_cond_signal(&buckets->changed);
	}
	pthread_mutex_unlock(&buckets->mutex);
	return NULL;
}

// Waits until there is room for another batch, and takes the error that the thread met.
HEAP_MUST_CHECK
static struct heap_error *queue(struct heap_edge_buckets *buckets)
{
	struct heap_error *error;

	pthread_mutex_lock(&buckets->mutex);
	buckets->waiting++;
	pthread_cond_signal(&buckets->changed);
	while (buckets->waiting == BATCHES)
		pthread_cond_wait(&buckets->changed, &buckets->mutex);
	buckets->batch.edges = batch_at(buckets, buckets->begin + buckets->waiting);
	error = buckets->error;
	buckets->error = NULL;
	pthread_mutex_unlock(&buckets->mutex);
	return error;
}

struct heap_error *heap_edge_buckets_hand_over(struct heap_edge_buckets *buckets)
{
	size_t count = buckets->batch.count;

	buckets->batch.count = 0;
	if (buckets->job.is_running || heap_parallel_begin(&buckets->job, work, buckets))
		return queue(buckets);
	return distribute(buckets, buckets->batch.edges, count);
}

// Ends the thread once it has distributed all batches.
static void end_thread(struct heap_edge_buckets *buckets)
{
	pthread_mutex_lock(&buckets->mutex);
	buckets->is_complete = true;
	pthread_cond_signal(&buckets->changed);
	pthread_mutex_unlock(&buckets->mutex);
	heap_parallel_await(&buckets->job);
}

struct heap_error *heap_edge_buckets_finish(struct heap_edge_buckets *buckets)
{
	end_thread(buckets);
	if (buckets->error)
		return keep(buckets->error);
	return distribute(buckets, buckets->batch.edges, buckets->batch.count);
}

// --- sorting -----------------------------------------------------------------

static void count_edges(const struct heap_edge_buckets *buckets, const struct bucket *bucket,
			uint32_t *first)
{
	uint32_t used = bucket->used;

	for (uint32_t i = bucket->chunk; i != NO_CHUNK; used = CHUNK) {
		const struct chunk *chunk = get_chunk(buckets, i);

		for (uint32_t j = 0; j < used; j++)
			first[chunk->to[j] + 1]++;
		i = chunk->next;
	}
}

void heap_edge_buckets_sort(const struct heap_edge_buckets *buckets, uint32_t number,
			    struct heap_sorted_edges *sorted)
{
	const struct bucket *bucket = &buckets->buckets[number];
	uint32_t used = bucket->used, *first = sorted->first;

	memset(first, 0, (HEAP_EDGE_BUCKET + 1) * sizeof(*first));
	count_edges(buckets, bucket, first);
	heap_offsets_from_counts(first, HEAP_EDGE_BUCKET);
	// From their ends: then they begin where they end now.
	for (uint32_t i = bucket->chunk; i != NO_CHUNK; used = CHUNK) {
		const struct chunk *chunk = get_chunk(buckets, i);

		for (uint32_t j = 0; j < used; j++)
			sorted->from[--first[chunk->to[j] + 1]] = chunk->from[j];
		i = chunk->next;
	}
	memmove(first, first + 1, HEAP_EDGE_BUCKET * sizeof(*first));
	first[HEAP_EDGE_BUCKET] = bucket->count;
}

struct heap_error *heap_sorted_edges_init(struct heap_sorted_edges *sorted,
					  const struct heap_edge_buckets *buckets)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < buckets->count; i++)
		largest = buckets->buckets[i].count > largest ? buckets->buckets[i].count : largest;
	sorted->first = malloc((HEAP_EDGE_BUCKET + 1) * sizeof(*sorted->first));
	if (!sorted->first)
		return heap_error_out_of_memory();
	return heap_column_create((size_t)largest + 1, sizeof(*sorted->from), &sorted->from);
}

void heap_sorted_edges_deinit(struct heap_sorted_edges *sorted)
{
	free(sorted->first);
	heap_column_destroy(sorted->from);
}

// --- all of it ---------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *allocate(struct heap_edge_buckets *buckets, uint64_t edges)
{
	// The last chunk of each bucket may have room for more.
	uint64_t chunks = edges / CHUNK + buckets->count;

	buckets->segment_size = chunks < SEGMENT ? (uint32_t)chunks : SEGMENT;
	buckets->segment_count = chunks / buckets->segment_size + 1;
	buckets->segments = calloc(buckets->segment_count, sizeof(*buckets->segments));
	buckets->buckets = calloc(buckets->count, sizeof(*buckets->buckets));
	if (!buckets->segments || !buckets->buckets)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < buckets->count; i++)
		buckets->buckets[i].chunk = NO_CHUNK;
	HEAP_TRY(heap_column_create((size_t)BATCHES * HEAP_EDGE_BATCH, sizeof(*buckets->batches),
				    &buckets->batches));
	buckets->batch.edges = buckets->batches;
	return NULL;
}

static void destroy(struct heap_edge_buckets **buckets)
{
	heap_edge_buckets_destroy(*buckets);
}

struct heap_error *heap_edge_buckets_create(uint32_t numbers, uint64_t edges,
					    struct heap_edge_buckets **result)
{
	CLEANUP(destroy) struct heap_edge_buckets *buckets = calloc(1, sizeof(*buckets));

	if (!buckets)
		return heap_error_out_of_memory();
	pthread_mutex_init(&buckets->mutex, NULL);
	pthread_cond_init(&buckets->changed, NULL);
	buckets->count = numbers / HEAP_EDGE_BUCKET + (size_t)1;
	HEAP_TRY(allocate(buckets, edges));
	*result = keep(buckets);
	return NULL;
}

void heap_edge_buckets_destroy(struct heap_edge_buckets *buckets)
{
	if (!buckets)
		return;
	end_thread(buckets);
	for (size_t i = 0; buckets->segments && i < buckets->segment_count; i++)
		heap_column_destroy(buckets->segments[i]);
	heap_column_destroy(buckets->batches);
	heap_error_destroy(buckets->error);
	pthread_mutex_destroy(&buckets->mutex);
	pthread_cond_destroy(&buckets->changed);
	free(buckets->segments);
	free(buckets->buckets);
	free(buckets);
}

struct heap_edge_batch *heap_edge_buckets_batch(struct heap_edge_buckets *buckets)
{
	return &buckets->batch;
}
