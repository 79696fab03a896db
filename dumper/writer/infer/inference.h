// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef INFERENCE_H
#define INFERENCE_H

/**
 * State that the stages of type inference share. Each stage keeps its own state, behind the header of
 * its name; README.md tells how they work together.
 */

#include "dumper/writer/infer/apply_claims.h"
#include "dumper/writer/infer/parts/arena_pieces.h"
#include "dumper/writer/infer/prefixes/block_prefixes.h"
#include "dumper/writer/casts/casts.h"
#include "dumper/writer/infer/claims.h"
#include "dumper/writer/infer/content.h"
#include "dumper/writer/infer/classes/coroutine_frames.h"
#include "dumper/writer/infer/sizes/derived_structs.h"
#include "dumper/writer/infer/tags/discriminators.h"
#include "dumper/writer/infer/tags/enum_tags.h"
#include "dumper/writer/infer/arrays/flagged_pointers.h"
#include "dumper/writer/infer/parts/free_lists.h"
#include "dumper/writer/infer/frontier.h"
#include "dumper/writer/infer/classes/held_parts.h"
#include "dumper/writer/infer/hints.h"
#include "dumper/writer/infer/kinds.h"
#include "dumper/writer/infer/sizes/larger_blocks.h"
#include "dumper/writer/infer/tags/pointer_tags.h"
#include "dumper/writer/infer/classes/template_arguments.h"
#include "dumper/writer/infer/classes/thin_templates.h"
#include "dumper/writer/infer/parts/pools.h"
#include "dumper/writer/infer/tags/profiles.h"
#include "dumper/writer/infer/classes/single_objects.h"
#include "dumper/writer/infer/symbols/symbol_types.h"
#include "dumper/writer/infer/texts/text_ends.h"
#include "dumper/writer/infer/classes/thrown_exceptions.h"
#include "dumper/writer/infer/classes/trait_objects.h"
#include "dumper/writer/infer/tags/union_tags.h"
#include "dumper/writer/scan/capture.h"
#include "lib/base/bits.h"
#include "lib/base/prefetch.h"
#include "lib/types/repetitions.h"

/** Reasons to visit an object again. */
enum news {
	NEWS_SURE = 1 << NAMING_SURE,     /**< a new hint */
	NEWS_LIKELY = 1 << NAMING_LIKELY, /**< likewise */
	NEWS_TEXT = 1 << NAMINGS,         /**< a char * leads to its start */
	NEWS_LATE = 1 << (NAMINGS + 1),   /**< it waits in tags.late */
	/** No reason, but the reverse, until there is a new hint: no type of its size has the hinted parts. */
	NEWS_NO_WHOLE = 1 << (NAMINGS + 2),
};

/** Limits expensive passes: one runs at first, then when many claims have been applied since. */
struct gate {
	uint64_t applied; /**< claims, when it was last passed */
	uint32_t few;     /**< how often it was passed for few claims */
};

enum {
	MAX_STAGES = 40,
};

/** How many objects each type had when it was counted last. */
struct type_counts {
	uint32_t *list; /**< [types]; NULL: never */
	uint32_t types;
	uint64_t applied, changes; /**< those of claims then */
};

struct inference {
	struct capture *capture;
	struct layouts layouts;
	struct heap_repetitions repetitions;
	struct pages *pages;
	uint8_t *news; /**< [objects] enum news: evidence since naming last visited it */
	struct block_prefixes block_prefixes;
	struct storage_headers storage_headers;
	struct casts casts;
	struct template_arguments template_arguments;
	struct thin_templates thin_templates;
	struct claims claims;
	struct coroutine_frames coroutine_frames;
	struct flagged_pointers flagged_pointers;
	struct frontier frontier;
	struct named_part named_part; /**< for rounds of one piece */
	struct hints hints;
	struct kinds kinds;
	struct common_prefixes common_prefixes;
	struct discriminators discriminators;
	struct enum_tags enum_tags;
	struct pointer_tags pointer_tags;
	struct profiles profiles;
	struct single_objects single_objects;
	struct larger_blocks larger_blocks;
	struct pools pools;
	struct free_lists free_lists;
	uint32_t
		linked_prefixes; /**< blocks with prefixes when these were last spread by their links */
	struct symbol_types symbol_types;
	struct text_ends text_ends;
	struct thrown_exceptions thrown_exceptions;
	struct trait_objects trait_objects;
	struct union_tags union_tags;
	struct gate gates[MAX_STAGES]; /**< those of the list in stages.c */
	struct gate learning;          /**< learning discriminators and profiles */
	struct gate telling;           /**< the same, where only weaker evidence is left */
	struct gate likeness;          /**< comparing blocks with those whose types are known */
	uint32_t ring_hints_seen;      /**< see ring_arrays.h */
	bool has_texts;                /**< those are known that only void pointers lead to */
	bool has_conflicts; /**< some are noted in the snapshot's columns CONFLICT_TYPES and CONFLICTS */
	uint64_t named;   /**< how often an object without a type got one: for progress */
	int small_rounds; /**< those that were not cheap, and named few */
	bool is_last;     /**< all passes look at what is new once more, however little that is */
	struct type_counts type_counts;
	struct held_parts *held;
	struct smaller_targets *smaller_targets;
	struct larger_targets *larger_targets;
	uint8_t *unset; /**< [roots / 8 + 1] bits.h: local variables that have no value yet */
	uint8_t *
		libc_types; /**< [types / 8 + 1] libc_blocks.h: of libc's own; NULL: none are known */
	heap_type_id *counted; /**< [counted_types] by element; NULL: none */
	uint32_t counted_types;
};

struct pointer {
	heap_object_id target;
	uint64_t interior;
	bool local;   /**< it is in a local variable */
	bool is_sure; /**< its holder's type is not a guess */
	heap_type_id holder_type;
	uint64_t holder; /**< where that value begins; 0: unknown */
	bool is_passing; /**< a local variable itself, no member of one: code looks at a place for a while */
	bool may_be_bytes; /**< a union's, of which bytes may hold instead: see struct heap_slot */
};

/** The kind of a block. */
static inline uint32_t kinds_of(const struct inference *inference, heap_object_id object)
{
	const struct kinds *kinds = &inference->kinds;

	return kinds->of ? kinds->of[object]
			 : kinds->of_kind[objects_kind(&inference->capture->objects, object)];
}

/** The types that the code handles which allocates an object. */
static inline const struct site_types *inference_site_types(const struct inference *inference,
							    heap_object_id object)
{
	const struct kinds *kinds = &inference->kinds;

	return &kinds->site_types[kinds->kinds[kinds_of(inference, object)].site];
}

/** Prefetches what kinds_of() reads. */
static inline void kinds_prefetch(const struct inference *inference, heap_object_id object)
{
	const uint32_t *of = inference->kinds.of;

	if (of)
		heap_prefetch(&of[object]);
	else
		objects_prefetch_kind(&inference->capture->objects, object);
}

/** The site that a block was allocated at. */
static inline heap_site_id inference_site(const struct inference *inference, heap_object_id object)
{
	const struct capture *capture = inference->capture;

	return capture->site_of_kind[objects_kind(&capture->objects, object)];
}

/** The type of an object, HEAP_NO_TYPE: it has none. Thread-safe while claims are added. */
static inline heap_type_id inference_type(const struct inference *inference, heap_object_id object)
{
	return names_type(&inference->capture->names, object);
}

/** True for a type of libc's own, which no block of the program has. */
static inline bool inference_is_of_libc(const struct inference *inference, heap_type_id type)
{
	return inference->libc_types && heap_bit_get(inference->libc_types, type);
}

/** The length of a block's prefix; see block_prefixes.h. */
static inline uint32_t inference_prefix(const struct inference *inference, heap_object_id object)
{
	return inference->block_prefixes.of ? inference->block_prefixes.of[object] : 0;
}

/** True for a block that has no prefix, is no pool, and that all evidence so far has left without a name. */
static inline bool inference_is_open(const struct inference *inference, heap_object_id object)
{
	return claims_lack(&inference->claims, object) &&
	       inference_prefix(inference, object) == 0 && !pools_have(&inference->pools, object);
}

/**
 * The first object from one on, before @p end, that nothing claims and that has hints; @p end if there is none. While
 * most have no name, few have hints, and later it is the other way round: each leaps to the other's next one.
 */
static inline heap_object_id inference_next_hinted(const struct inference *inference,
						   heap_object_id object, heap_object_id end)
{
	heap_object_id unclaimed = object;

	do {
		object = hints_next(&inference->hints, unclaimed, end);
		unclaimed = claims_next(&inference->claims, RANK_NONE, object, end);
	} while (object != unclaimed);
	return object;
}

/** Bytes of a block behind its prefix. */
static inline uint64_t inference_size(const struct inference *inference, heap_object_id object)
{
	return objects_size(&inference->capture->objects, object) -
	       inference_prefix(inference, object);
}

/** inference_slack() of a block that may be a chunk of an arena. */
uint64_t inference_chunk_slack(const struct inference *inference, heap_object_id object);

/** Bytes of inference_size() that the program may not have asked for: the allocator has rounded. */
static inline uint64_t inference_slack(const struct inference *inference, heap_object_id object)
{
	// Few programs have any, and the column is a cache miss away.
	return inference->capture->objects.all_flags & (ARENA_ROUNDED | ARENA_SLOT)
		       ? inference_chunk_slack(inference, object)
		       : layouts_slack(&inference->layouts, inference_size(inference, object));
}

/** layouts_fit() of a block behind its prefix; of a struct that only the allocating code knows, if there is one. */
static inline struct layout_claim inference_fit(const struct inference *inference,
						heap_type_id pointee, heap_object_id object)
{
	struct layout_claim claim =
		layouts_fit(&inference->layouts, pointee, inference_size(inference, object),
			    inference_slack(inference, object));

	return claim.fit == LAYOUT_FLEXIBLE
		       ? derived_structs_extend(inference, object, &claim, LAYOUT_FLEXIBLE)
		       : claim;
}

/** Bytes in which a block's type may have pointers: behind one struct, a block that is larger has none of that type. */
static inline uint64_t inference_extent(const struct inference *inference, heap_object_id object)
{
	const struct name *name = names_of(&inference->capture->names, object);
	uint64_t size = inference_size(inference, object);
	uint64_t own = layouts_size(&inference->layouts, name->type);

	return name->elements == 1 && own > 0 && own < size &&
			       layouts_is_compound(&inference->layouts, name->type) &&
			       !layouts_is_flexible(&inference->layouts, name->type)
		       ? own
		       : size;
}

/**
 * The bytes that the allocator may have given a block beyond those that it was asked for, as they are too few for a
 * block of their own: glibc adds what is left of a free chunk. 0: it has none.
 */
static inline uint64_t inference_rest(const struct inference *inference, heap_object_id object)
{
	const uint64_t rest = 16, least = 24;

	return inference->layouts.block_sizes == HEAP_BLOCK_SIZES_GLIBC &&
			       !(inference->capture->objects.flags[object] & ARENA_CHUNK) &&
			       inference_size(inference, object) > least
		       ? rest
		       : 0;
}

/** inference_fit() also of a block that is one struct and such a rest. */
static inline struct layout_claim inference_fit_with_rest(const struct inference *inference,
							  heap_type_id pointee,
							  heap_object_id object)
{
	struct layout_claim claim = inference_fit(inference, pointee, object);
	uint64_t rest = inference_rest(inference, object);

	if (claim.fit != LAYOUT_NONE || rest == 0)
		return claim;
	claim = layouts_fit(&inference->layouts, pointee, inference_size(inference, object) - rest,
			    inference_slack(inference, object));
	return claim.fit == LAYOUT_EXACT && claim.elements == 1 &&
			       layouts_is_compound(&inference->layouts, claim.type)
		       ? claim
		       : (struct layout_claim){ LAYOUT_NONE, HEAP_NO_TYPE, 0 };
}

/** layouts_is_ambiguous() of a block behind its prefix. */
static inline bool inference_is_ambiguous(const struct inference *inference, heap_type_id type,
					  heap_object_id object)
{
	return layouts_is_ambiguous(&inference->layouts, type, inference_size(inference, object),
				    inference_slack(inference, object));
}

/** layouts_fit_weakly() of a block behind its prefix. */
static inline struct layout_claim inference_fit_weakly(const struct inference *inference,
						       heap_type_id pointee, uint64_t interior,
						       heap_object_id object)
{
	return layouts_fit_weakly(&inference->layouts, pointee, interior,
				  inference_size(inference, object),
				  inference_slack(inference, object));
}

/** True if a block has room for so many elements, and for no more than the allocator may have added. */
static inline bool inference_has_length(const struct inference *inference, heap_object_id object,
					heap_type_id element, uint64_t count)
{
	uint64_t size = inference_size(inference, object);
	uint64_t stride = layouts_size(&inference->layouts, element);

	return count > 0 && stride > 0 && count <= size / stride &&
	       size - count * stride <= inference_slack(inference, object);
}

/** Where a block begins behind its prefix. */
static inline uint64_t inference_address(const struct inference *inference, heap_object_id object)
{
	return objects_address(&inference->capture->objects, object) +
	       inference_prefix(inference, object);
}

/** Reads the header of a block, which begins behind its prefix. */
static inline void inference_read_header(const struct inference *inference, heap_object_id object,
					 struct header *result)
{
	pages_read(inference->pages, inference_address(inference, object), result->words,
		   sizeof(result->words));
}

/**
 * Counts the objects of each type, so that a stage for few types need not visit the others' objects. Several stages
 * in a row ask, each when the one before it has found nothing: it counts anew only when names have changed.
 *
 * @param result  gets an array by type, which is valid until the next call
 */
HEAP_MUST_CHECK
struct heap_error *inference_count_types(struct inference *inference, const uint32_t **result);

/** An object as a value, from behind its prefix on. */
static inline struct held_value inference_value(const struct inference *inference,
						heap_object_id object)
{
	return held_parts_value(inference->held, inference_type(inference, object),
				inference_address(inference, object), object);
}

/**
 * Applies the typed slot at an offset of a block to the object that it points to.
 *
 * @param flags  of the edge: HEAP_EDGE_TYPED is set if there is such a slot
 */
HEAP_MUST_CHECK
struct heap_error *inference_follow(struct inference *inference,
				    const struct heap_repetition *repetition, uint64_t offset,
				    const struct pointer *pointer, uint8_t *flags);

/** Applies an edge of an object whose type is known. */
HEAP_MUST_CHECK
struct heap_error *inference_apply(struct inference *inference, const struct typed_edge *edge);

/** Applies a pointer of a known type, which its holder holds for certain. */
HEAP_MUST_CHECK
struct heap_error *inference_apply_pointer(struct inference *inference, heap_type_id pointee,
					   const struct pointer *pointer);

/**
 * Notes the claim or hint that an edge makes, if that is known without its hints and its contents, or that
 * inference_apply() would change nothing, now or later in this round. Thread-safe.
 */
void inference_foresee(const struct inference *inference, struct typed_edge *edge);

/** True if a place in an object is only known to be bytes. */
bool inference_is_raw(const struct inference *inference, heap_object_id object, uint64_t interior);

/** A root's value: one or several of a type, with the slots of that type. */
struct root_value {
	heap_type_id type; /**< HEAP_NO_TYPE: unknown or not set yet, and so is the rest */
	const struct heap_repetition *repetition;
	struct held_value held;
};

/** Describes a root's value. Thread-safe, as heap_repetitions_find() is. */
HEAP_MUST_CHECK
struct heap_error *inference_root_value(struct inference *inference, const struct heap_root *root,
					struct root_value *result);

/** True if a value of a type, or an array of them, has a part of that type there. */
bool inference_type_has(const struct inference *inference, heap_type_id type, heap_type_id part,
			uint64_t interior);

/**
 * True if one of the first pointers of an object leads to another one. Where a table has a pointer to such an object, it
 * may be the end to which empty places and the last nodes lead, whatever the others are.
 */
bool inference_leads_to(const struct inference *inference, heap_object_id object,
			heap_object_id other);

/** True if an object that has a name has a part of that type there. */
bool inference_has(const struct inference *inference, heap_object_id object, heap_type_id part,
		   uint64_t interior);

/** Takes an object's name away, once and for all: see claims_withdraw(). */
void inference_unname(struct inference *inference, heap_object_id object);

/** True if the sites of blocks are known, so that blocks of one site are alike. */
static inline bool inference_has_sites(const struct inference *inference)
{
	return capture_has_headers(inference->capture);
}

/** True if blocks of that site are alike. Chunks of arenas have none. */
static inline bool inference_knows_site(const struct inference *inference, heap_site_id site)
{
	return inference_has_sites(inference) && site < inference->capture->snapshot.site_count;
}

#endif
