// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/pointer_tags.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/tags/tag_groups.h"
#include "dumper/writer/infer/tags/tag_names.h"
#include "dumper/writer/infer/tags/tag_places.h"
#include "dumper/writer/infer/tags/tag_types.h"

#include <stdlib.h>

enum {
	MIN_NEWS = 64, // one in so many objects has a new name or hint: look again
	TAG_SHIFT = 56,
	TAG_KIND = 0xff, // above the number of the group; discriminators have less
};

// --- tags of kinds -------------------------------------------------------------

uint64_t pointer_tags_read(const struct pointer_tags *tags, heap_object_id object)
{
	return tags->of && tags->of[object]
		       ? (uint64_t)TAG_KIND << TAG_SHIFT | (tags->of[object] - 1)
		       : NO_TAG;
}

bool pointer_tags_made(uint64_t tag)
{
	return tag != NO_TAG && tag >> TAG_SHIFT == TAG_KIND;
}

bool pointer_tags_exclude(const struct inference *inference, const struct kind *kind,
			  heap_type_id type)
{
	const struct pointer_tags *tags = &inference->pointer_tags;
	const struct tag_group *group = &tags->groups.items[(uint32_t)kind->tag];

	if (group->type != HEAP_NO_TYPE)
		return group->type != type;
	return !group->is_guessed &&
	       !tag_places_have(inference, type, &tags->places.items[group->place]);
}

// --- groups and their claims ---------------------------------------------------

// True if the code that allocates a block has a variable for it of another struct, which has the block's very size: what
// seems to be a tag may be a key, for instance.
static bool is_made_as_other(const struct inference *inference, heap_object_id object,
			     heap_type_id type)
{
	const struct site_types *types = inference_site_types(inference, object);

	for (uint32_t i = 0; i < types->count; i++) {
		heap_type_id own = types->list[i].type;

		if (layouts_is_compound(&inference->layouts, own) &&
		    layouts_size(&inference->layouts, own) == inference_size(inference, object) &&
		    !layouts_has(&inference->layouts, own, type, 0))
			return true;
	}
	return false;
}

// True if a tag is that of a storage header, which says nothing of what is stored behind it.
static bool is_before_prefix(const struct inference *inference, const struct tag_group *group,
			     heap_object_id object)
{
	return storage_headers_have(&inference->storage_headers, object) &&
	       inference_prefix(inference, object) != group->prefix;
}

HEAP_MUST_CHECK
static struct heap_error *claim_members(struct inference *inference, const struct tag_group *group,
					uint64_t *claimed)
{
	const uint32_t *members = inference->pointer_tags.members + group->first;

	for (uint32_t i = 0; i < group->count; i++) {
		heap_object_id object = members[i];
		uint64_t size = inference_size(inference, object);
		struct layout_claim claim = inference_fit(inference, group->type, object);

		progress_step();
		if (is_before_prefix(inference, group, object))
			continue;
		if (group->evidence == HEAP_EVIDENCE_SITE &&
		    is_made_as_other(inference, object, group->type))
			continue;
		if (group->evidence == HEAP_EVIDENCE_METHODS &&
		    tag_types_is_owned(inference, group, object))
			continue;
		if (claim.fit == LAYOUT_NONE) {
			if (group->is_elected ||
			    size < layouts_size(&inference->layouts, group->type))
				continue;
			claim = (struct layout_claim){ LAYOUT_EXACT, group->type, 1 };
		}
		if (inference->claims.rank[object] <= group->rank)
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, group->rank,
				    &(struct claim){ object, claim.type, claim.elements,
						     group->evidence, group->rank == RANK_TAG }));
	}
	return NULL;
}

// True if enough has been learned since the last search for groups.
static bool is_due(struct inference *inference, bool is_thorough)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	uint64_t known = inference->claims.applied + inference->hints.count +
			 inference->block_prefixes.count;

	if (tags->tables.list.count == 0 || known == tags->applied ||
	    (tags->applied > 0 && !is_thorough &&
	     (known - tags->applied) * MIN_NEWS < inference->capture->objects.count))
		return false;
	tags->applied = known;
	return true;
}

struct heap_error *pointer_tags_apply(struct inference *inference, bool is_thorough,
				      uint64_t *claimed)
{
	struct pointer_tags *tags = &inference->pointer_tags;

	if (!is_due(inference, is_thorough))
		return NULL;
	if (!tags->holders)
		HEAP_TRY(tag_places_find_holders(inference));
	HEAP_TRY(tag_groups_find(inference));
	if (tags->groups.count == 0)
		return NULL;
	for (size_t i = 0; i < tags->groups.count && !progress_is_late(); i++) {
		struct tag_group *group = &tags->groups.items[i];

		if (group->type == HEAP_NO_TYPE || group->rank != RANK_TAG) {
			HEAP_TRY(tag_places_list(inference, group->place));
			tag_types_find(inference, group);
		}
		if (group->type != HEAP_NO_TYPE)
			HEAP_TRY(claim_members(inference, group, claimed));
	}
	return tags->is_renewed || inference->block_prefixes.is_renewed ? kinds_sort(inference)
									: NULL;
}

struct heap_error *pointer_tags_take_bases(struct inference *inference, uint64_t *claimed)
{
	struct pointer_tags *tags = &inference->pointer_tags;

	if (!tags->takes_bases)
		tags->applied = 0;
	tags->takes_bases = true;
	return pointer_tags_apply(inference, true, claimed);
}

struct heap_error *pointer_tags_finish(struct inference *inference)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	struct capture *capture = inference->capture;

	if (tags->groups.count == 0)
		return NULL;
	capture->snapshot.tags = calloc(tags->groups.count, sizeof(*capture->snapshot.tags));
	if (!capture->snapshot.tags)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < tags->groups.count; i++)
		capture->snapshot.tags[capture->snapshot.tag_count++] = (struct heap_tag){
			.address = tags->groups.items[i].value,
			.name = tag_names_add(inference, tags->groups.items[i].value),
		};
	capture->snapshot.tag = tags->of;
	tags->of = NULL;
	return NULL;
}

struct heap_error *pointer_tags_init(struct pointer_tags *tags, struct capture *capture,
				     const struct head_words *heads)
{
	return method_tables_init(&tags->tables, capture, heads);
}

void pointer_tags_deinit(struct pointer_tags *tags)
{
	method_tables_deinit(&tags->tables);
	for (size_t i = 0; i < tags->places.count; i++)
		heap_array_deinit(&tags->places.items[i].types);
	heap_array_deinit(&tags->places);
	heap_array_deinit(&tags->groups);
	heap_hash_table_deinit(&tags->by_value);
	free(tags->holders);
	free(tags->of);
	free(tags->members);
}
