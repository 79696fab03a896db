// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/claim_queue.h"

#include "lib/base/array.h"

#include <stdlib.h>

enum {
	SHORT = 4096, // objects of a list, whatever bits would take
	SHARE = 32,   // of so many objects, one in a list takes as much memory as the bits of all
};

static void free_memory(struct claim_queue *queue)
{
	free(queue->list);
	free(queue->bits);
	*queue = claim_queue_make(queue->objects);
}

void claim_queue_deinit(struct claim_queue *queue)
{
	free_memory(queue);
}

static void set(struct claim_queue *queue, heap_object_id object)
{
	queue->bits[object / CLAIM_QUEUE_WORD] |= UINT64_C(1) << object % CLAIM_QUEUE_WORD;
}

HEAP_MUST_CHECK
static struct heap_error *make_bits(struct claim_queue *queue)
{
	queue->bits = calloc((size_t)queue->objects / CLAIM_QUEUE_WORD + 1, sizeof(*queue->bits));
	if (!queue->bits)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < queue->count; i++) {
		if (queue->list[i] != HEAP_NO_OBJECT)
			set(queue, queue->list[i]);
	}
	free(queue->list);
	queue->list = NULL;
	queue->capacity = 0;
	return NULL;
}

struct heap_error *claim_queue_add(struct claim_queue *queue, heap_object_id object)
{
	if (!queue->bits && queue->count >= SHORT && queue->count >= queue->objects / SHARE)
		HEAP_TRY(make_bits(queue));
	if (queue->bits) {
		set(queue, object);
		queue->count++;
		return NULL;
	}
	HEAP_TRY(heap_reserve(queue->list, queue->capacity, queue->count + 1));
	queue->list[queue->count++] = object;
	return NULL;
}

void claim_queue_clear(struct claim_queue *queue)
{
	if (queue->bits || queue->capacity > SHORT)
		free_memory(queue);
	queue->count = 0;
}
