// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/own_methods.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/tags/tag_places.h"

enum {
	MIN_BLOCKS = 4, // that begin with a pointer to a table
};

static const struct method_table *read_table(const struct inference *inference,
					     heap_object_id object)
{
	const struct method_table *table;
	uint64_t word;

	if (inference_size(inference, object) < sizeof(word))
		return NULL;
	pages_read(inference->pages, inference_address(inference, object), &word, sizeof(word));
	table = method_tables_find(&inference->pointer_tags.tables, word);
	return table && table->blocks >= MIN_BLOCKS ? table : NULL;
}

// True if a struct may begin with a pointer to a table. Functions that objects have in them are no table, and what calls
// one may get a union: of any pointer, or the value itself.
static bool may_have_table(const struct inference *inference, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);

	return inference->layouts.types->types[type].kind != HEAP_TYPE_UNION && slots &&
	       slots->count > 0 && slots->list[0].offset == 0;
}

// True if a block may be one value of a type.
static bool may_be(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	struct content content;

	if (layouts_is_compound(&inference->layouts, type) && may_have_table(inference, type) &&
	    !layouts_is_flexible(&inference->layouts, type))
		claim = inference_fit(inference, type, object);
	if (claim.fit != LAYOUT_EXACT || claim.type != type || claim.elements != 1 ||
	    hints_ask(inference, object, type) == VERDICT_AGAINST)
		return false;
	content_read(inference, object, words, &content);
	return content_score(inference, &content, type, 1) >= 0;
}

// The only receiver of a table's functions that a block may be, or HEAP_NO_TYPE.
static heap_type_id find_receiver(const struct inference *inference,
				  const struct method_table *table, heap_object_id object)
{
	const struct method_receiver *receivers =
		inference->pointer_tags.tables.receivers.items + table->first_receiver;
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < table->receivers; i++) {
		progress_step();
		if (receivers[i].type == found || !may_be(inference, object, receivers[i].type))
			continue;
		if (found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		found = receivers[i].type;
	}
	return found;
}

struct heap_error *own_methods_claim(struct inference *inference, uint64_t *claimed)
{
	const heap_object_id count = inference->capture->objects.count;
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct claims *claims = &inference->claims;

	if (tags->tables.list.count == 0)
		return NULL;
	if (!tags->holders)
		HEAP_TRY(tag_places_find_holders(inference));
	for (heap_object_id i = claims_next(claims, RANK_NONE, 0, count);
	     i < count && !progress_is_late(); i = claims_next(claims, RANK_NONE, i + 1, count)) {
		const struct method_table *table;
		heap_type_id type;

		progress_step();
		if (!tag_places_is_holder(tags, i) || pools_have(&inference->pools, i))
			continue;
		table = read_table(inference, i);
		type = table ? find_receiver(inference, table, i) : HEAP_NO_TYPE;
		if (type == HEAP_NO_TYPE)
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, RANK_DISCRIMINATOR_LIKELY,
				    &(struct claim){ i, type, 1, HEAP_EVIDENCE_METHODS, false }));
	}
	return NULL;
}
