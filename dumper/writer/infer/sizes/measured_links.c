// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/measured_links.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	LEAST_BITS = 16, // of a number
	MIN_BLOCKS = 8,  // that have theirs
	MAX_WHOLES = 64, // structs that begin with a link
};

// A struct of any length that begins with a link, and one of its numbers.
struct measured_node {
	heap_type_id type;
	struct header_member number;
	uint64_t size;  // of the first block
	uint32_t count; // blocks
	bool has_sizes; // these have several
};

// A block whose number tells that it is one.
struct measured_block {
	heap_object_id object;
	uint32_t node;
};

struct search {
	struct inference *inference;
	struct HEAP_ARRAY(struct measured_node) nodes;
	struct HEAP_ARRAY(struct measured_block) blocks;
};

static void release(struct search *search)
{
	heap_array_deinit(&search->nodes);
	heap_array_deinit(&search->blocks);
}

// True if a number is that of the elements behind the header, as far as the block's size tells.
static bool is_length(const struct inference *inference, heap_object_id object, heap_type_id type,
		      uint64_t number)
{
	const struct layout_facts *facts = &inference->layouts.facts[type];
	uint64_t stride = layouts_size(&inference->layouts, facts->element);
	uint64_t size = inference_size(inference, object), room;

	if (number == 0 || stride == 0 || size < facts->start)
		return false;
	room = size - facts->start;
	return number <= room / stride &&
	       room - number * stride <= inference_slack(inference, object);
}

HEAP_MUST_CHECK
static struct heap_error *note_block(struct search *search, heap_object_id object,
				     heap_type_id type, const struct header_member *number)
{
	uint64_t size = inference_size(search->inference, object);
	uint32_t at = 0;

	while (at < search->nodes.count &&
	       (search->nodes.items[at].type != type ||
		search->nodes.items[at].number.offset != number->offset))
		at++;
	progress_steps(at);
	if (at == search->nodes.count)
		HEAP_TRY(heap_array_append(
			&search->nodes, ((struct measured_node){ type, *number, size, 0, false })));
	search->nodes.items[at].count++;
	search->nodes.items[at].has_sizes |= search->nodes.items[at].size != size;
	return heap_array_append(&search->blocks, ((struct measured_block){ object, at }));
}

// Notes a block for the numbers of a struct that may be its type.
HEAP_MUST_CHECK
static struct heap_error *measure(struct search *search, heap_object_id object, heap_type_id type)
{
	const struct inference *inference = search->inference;
	struct header_members members = { .count = 0 };
	struct header header;

	if (hints_ask(inference, object, type) == VERDICT_AGAINST)
		return NULL;
	headers_gather(inference->layouts.types, type, &members);
	inference_read_header(inference, object, &header);
	for (uint32_t i = 0; i < members.count; i++) {
		const struct header_member *member = &members.list[i];

		if (member->bits >= LEAST_BITS &&
		    is_length(inference, object, type, headers_value(member, &header)))
			HEAP_TRY(note_block(search, object, type, member));
	}
	return NULL;
}

// The link that pointers to a block's start lead to; HEAP_NO_TYPE: there is none.
static heap_type_id find_link(const struct inference *inference, heap_object_id object)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (layouts_is_start(hint->interior) && !hint->either &&
		    layouts_is_link(&inference->layouts, hint->type))
			return hint->type;
	}
	return HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *measure_all(struct search *search)
{
	struct inference *inference = search->inference;
	const struct layouts *layouts = &inference->layouts;

	const heap_object_id count = inference->capture->objects.count;

	for (heap_object_id i = inference_next_hinted(inference, 0, count);
	     i < count && !progress_is_late(); i = inference_next_hinted(inference, i + 1, count)) {
		struct layout_wholes wholes;
		heap_type_id link = HEAP_NO_TYPE;

		progress_step();
		if (inference_is_open(inference, i))
			link = find_link(inference, i);
		if (link == HEAP_NO_TYPE)
			continue;
		wholes = layouts_flexible_wholes(layouts, link, 0, inference_size(inference, i));
		for (int j = 0; j < MAX_WHOLES && wholes.at + j < wholes.end; j++)
			HEAP_TRY(measure(search, i, wholes.at[j].whole));
	}
	return NULL;
}

static bool is_telling(const struct measured_node *node)
{
	return node->count >= MIN_BLOCKS && node->has_sizes;
}

// The struct whose number a block has, from its first entry on; HEAP_NO_TYPE: none, or one of several.
// @param next  gets its last entry's successor
static heap_type_id find_only(const struct search *search, size_t first, size_t *next)
{
	const struct measured_block *blocks = search->blocks.items;
	heap_type_id found = HEAP_NO_TYPE;
	bool is_only = true;
	size_t i = first;

	for (; i < search->blocks.count && blocks[i].object == blocks[first].object; i++) {
		const struct measured_node *node = &search->nodes.items[blocks[i].node];

		if (!is_telling(node))
			continue;
		is_only &= found == HEAP_NO_TYPE || found == node->type;
		found = node->type;
	}
	*next = i;
	return is_only ? found : HEAP_NO_TYPE;
}

struct heap_error *measured_links_claim(struct inference *inference, uint64_t *claimed)
{
	CLEANUP(release) struct search search = { .inference = inference };

	if (inference_has_sites(inference))
		return NULL;
	HEAP_TRY(measure_all(&search));
	for (size_t i = 0, next; i < search.blocks.count; i = next) {
		heap_type_id type = find_only(&search, i, &next);
		heap_object_id object = search.blocks.items[i].object;
		struct layout_claim claim;

		if (type == HEAP_NO_TYPE)
			continue;
		claim = inference_fit(inference, type, object);
		if (claim.fit == LAYOUT_NONE)
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, RANK_EMBEDDED,
				    &(struct claim){ object, claim.type, claim.elements,
						     HEAP_EVIDENCE_EMBEDDING, false }));
	}
	return NULL;
}
