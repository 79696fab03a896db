// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTENT_SEARCH_H
#define CONTENT_SEARCH_H

/**
 * Claims on blocks by what is in them, each by itself: several threads judge, and memory is read once and by ascending
 * address. One thread at a time makes the claims, in the order of the blocks.
 */

#include "dumper/writer/infer/content.h"
#include "dumper/writer/infer/inference.h"

struct content_search {
	struct inference *inference;
	uint64_t *claimed; /**< claims are added */

	/**
	 * The first block from one on that is to be judged; @p end if there is none. May change what is that block's own.
	 * It must not read what claim() changes of other blocks.
	 */
	heap_object_id (*next)(struct inference *inference, heap_object_id from,
			       heap_object_id end);

	/** @param claim  its fit is LAYOUT_NONE: no claim is made */
	struct heap_error *(*judge)(const struct inference *inference,
				    const struct content *content, struct layout_claim *claim);

	struct heap_error *(*claim)(struct inference *inference, heap_object_id object,
				    const struct layout_claim *claim);
};

HEAP_MUST_CHECK
struct heap_error *content_search_run(const struct content_search *search);

#endif
