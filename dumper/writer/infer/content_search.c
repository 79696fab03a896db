// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/content_search.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/pieces.h"

#include <stdlib.h>

enum {
	PIECE = 4096, // blocks that are judged by one thread
};

// A block and its claim.
struct judged {
	heap_object_id object;
	struct layout_claim claim;
};

// The claims on the blocks of a piece.
struct part {
	struct pages *pages;
	struct judged *found; // [count]
	size_t count;
	uint64_t words[CONTENT_WORDS + 1];
};

HEAP_MUST_CHECK
static struct heap_error *prepare(const struct inference *inference, struct part *part)
{
	part->count = 0;
	if (!part->pages)
		part->pages = pages_create(&inference->capture->image, PAGES_IN_ORDER);
	if (!part->found)
		part->found = malloc(PIECE * sizeof(*part->found));
	return part->pages && part->found ? NULL : heap_error_out_of_memory();
}

// Several threads visit pieces, and none changes data that another one reads.
HEAP_MUST_CHECK
static struct heap_error *judge_piece(void *context, size_t number, void *result)
{
	const struct content_search *search = context;
	struct inference *inference = search->inference;
	heap_object_id first = (heap_object_id)number * PIECE;
	heap_object_id left = inference->capture->objects.count - first;
	heap_object_id end = first + (left < PIECE ? left : PIECE);
	struct part *part = result;

	HEAP_TRY(prepare(inference, part));
	for (heap_object_id i = search->next(inference, first, end); !progress_is_late() && i < end;
	     i = search->next(inference, i + 1, end)) {
		struct judged *judged = &part->found[part->count];
		struct content content;

		progress_step();
		content_read_from(inference, part->pages, i, part->words, &content);
		judged->object = i;
		// cppcheck-suppress returnDanglingLifetime; an error is no address of the content
		HEAP_TRY(search->judge(inference, &content, &judged->claim));
		part->count += judged->claim.fit != LAYOUT_NONE;
	}
	progress_flush();
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *join_piece(void *context, void *result)
{
	const struct content_search *search = context;
	const struct part *part = result;

	*search->claimed += part->count;
	for (size_t i = 0; i < part->count; i++)
		HEAP_TRY(search->claim(search->inference, part->found[i].object,
				       &part->found[i].claim));
	return NULL;
}

static void release_piece(void *result)
{
	struct part *part = result;

	pages_destroy(part->pages);
	free(part->found);
}

struct heap_error *content_search_run(const struct content_search *search)
{
	return heap_pieces_run(&(struct heap_piece_work){
		.count = ((size_t)search->inference->capture->objects.count + PIECE - 1) / PIECE,
		.part_size = sizeof(struct part),
		.work = judge_piece,
		.join = join_piece,
		.release = release_piece,
		.context = (void *)search,
	});
}
