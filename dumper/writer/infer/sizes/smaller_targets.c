// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/smaller_targets.h"

#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/sizes/smaller_structs.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>

enum {
	LEAST_CONFIRMED = 8,
};

// The claim that a pointee makes on blocks of some size.
struct smaller_target {
	heap_type_id pointee;
	uint64_t size, slack;
	struct layout_claim claim;
	uint32_t confirmed; // blocks whose contents speak for it
};

struct smaller_targets {
	struct HEAP_ARRAY(struct smaller_target) list; // each once
	struct heap_hash_table by_pointee;
};

struct smaller_targets *smaller_targets_create(void)
{
	return calloc(1, sizeof(struct smaller_targets));
}

void smaller_targets_destroy(struct smaller_targets *targets)
{
	if (!targets)
		return;
	heap_array_deinit(&targets->list);
	heap_hash_table_deinit(&targets->by_pointee);
	free(targets);
}

bool smaller_targets_may_be(const struct inference *inference, heap_type_id pointee,
			    uint64_t interior, heap_object_id target)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id type = layouts_strip(layouts, pointee);

	return !inference_has_sites(inference) && layouts_is_start(interior) &&
	       layouts_is_compound(layouts, type) &&
	       inference_size(inference, target) < layouts_size(layouts, type);
}

// Few pairs of a struct and a size matter, and each is looked for among all types. @param number  set: in the list
HEAP_MUST_CHECK
static struct heap_error *find(struct inference *inference, heap_type_id type, uint64_t size,
			       uint64_t slack, uint32_t *number)
{
	struct smaller_targets *targets = inference->smaller_targets;
	const struct smaller_target *list = targets->list.items;
	uint64_t hash = heap_hash_pair(type, size);
	struct smaller_target target = { .pointee = type, .size = size, .slack = slack };

	*number = heap_hash_find(&targets->by_pointee, hash, i,
				 list[i].pointee == type && list[i].size == size &&
					 list[i].slack == slack);
	if (*number != HEAP_HASH_NONE)
		return NULL;
	target.claim = smaller_structs_fit(&inference->layouts, type, size, slack);
	*number = (uint32_t)targets->list.count;
	HEAP_TRY(heap_hash_add(&targets->by_pointee, hash, *number));
	return heap_array_append(&targets->list, target);
}

// True if a block's contents allow the claim.
static bool agrees(const struct inference *inference, struct smaller_target *target,
		   heap_type_id type, const struct pointer *pointer)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;
	int score;

	content_read(inference, pointer->target, words, &content);
	score = content_score(inference, &content, target->claim.type, target->claim.elements);
	target->confirmed += score > 0;
	return score > 0 ||
	       (score == 0 && pointer->holder_type == type && target->confirmed >= LEAST_CONFIRMED);
}

struct heap_error *smaller_targets_claim(struct inference *inference, heap_type_id pointee,
					 const struct pointer *pointer)
{
	heap_type_id type = layouts_strip(&inference->layouts, pointee);
	heap_object_id object = pointer->target;
	struct smaller_target *target;
	uint32_t number;

	HEAP_TRY(find(inference, type, inference_size(inference, object),
		      inference_slack(inference, object), &number));
	target = &inference->smaller_targets->list.items[number];
	if (target->claim.fit == LAYOUT_NONE || !agrees(inference, target, type, pointer))
		return NULL;
	return claims_add(&inference->claims, RANK_EMBEDDED,
			  &(struct claim){ object, target->claim.type, target->claim.elements,
					   HEAP_EVIDENCE_POINTER, false });
}
