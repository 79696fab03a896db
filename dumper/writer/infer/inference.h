// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef INFERENCE_H
#define INFERENCE_H

/**
 * The workings of type inference, shared by its stages; infer.c tells how they play together.
 *
 *	claims   a block is of that type; the best waits in the queue of its rank
 *	hints    there is something of that type at that offset of the block, whatever it is
 *	kinds    the blocks of one site and size, which are nearly always of one type
 *	content  whether what a block holds agrees with its being of a type
 *	pools    what to do with blocks that the program cuts up itself
 */

#include "dumper/writer/infer/infer.h"
#include "dumper/writer/infer/layout.h"
#include "dumper/writer/infer/meanings.h"
#include "dumper/writer/scan/page_cache.h"
#include "lib/types/repetitions.h"

/** The ranks of names, best first. Within one rank the first level that is heard stays. */
enum rank {
	RANK_DECLARED, /**< the program's word */
	RANK_VTABLE,
	RANK_EXACT,    /**< a typed slot points to its start, and the size is the type's */
	RANK_FLEXIBLE, /**< likewise, of a header and elements */
	RANK_LOCAL,    /**< either of these by a local variable, which may not be set yet */
	RANK_STRING,   /**< a char * points to its start, and it reads like text */
	RANK_TAG,      /**< its tag is that of blocks whose types are known */
	RANK_TAG_LIKELY,
	RANK_PASSED_EXACT,    /**< as RANK_EXACT, but what holds the slot has a lesser name */
	RANK_PASSED_FLEXIBLE, /**< likewise */
	RANK_EMBEDDED,        /**< the only type of its size that has the hinted parts */
	RANK_SITE,            /**< what the code that allocated it means by it */
	RANK_VOTE,            /**< what its siblings are */
	RANK_ARRAY,           /**< a whole number of what a typed slot points to */
	RANK_TEXT,
	RANK_SLACK,   /**< elements and a rest */
	RANK_ELEMENT, /**< a typed slot points to an element in its middle */
	RANK_NONE,
	RANKS = RANK_NONE,
};

enum {
	NO_HINT = 0,
};

/** Many may wait at once: 16 bytes. */
struct claim {
	heap_object_id object;
	heap_type_id type;
	uint64_t elements : 55;
	uint64_t evidence : 8;
	uint64_t is_sure : 1; /**< nothing has been guessed on the way from a root to this claim */
};

struct queue {
	struct claim *claims; // [head, tail) wait; those before are heard, or being heard
	size_t head, tail, capacity;
};

/** A typed slot's word on a block that it does not name. */
struct hint {
	uint32_t next; /**< of the same block, or NO_HINT */
	heap_object_id object;
	heap_type_id type;
	uint32_t interior; /**< in bytes */
	uint32_t count;    /**< slots that said so */
	bool either;       /**< a union's: this or another of its members */
};

/** Where the hints are on blocks that have more than a few: by all that they say. */
struct hint_table {
	uint32_t *slots; /**< [size] hash table of hints; NO_HINT: free */
	size_t size, count;
};

#define NO_TAG UINT64_MAX

/** How good the evidence is by which blocks are named. */
enum naming_evidence {
	NAMING_SURE,   /**< texts, the only types that have the hinted parts, results of calls */
	NAMING_LIKELY, /**< what the code handles, what siblings are, what agrees best */
	NAMINGS,
};

enum {
	MAX_BASES = 32,
};

/** The blocks of one site and size, and with one tag. */
struct kind {
	heap_site_id site;
	uint64_t tag; /**< NO_TAG: none is known */
	uint32_t count;
	uint32_t first;         /**< in kinds.members */
	uint64_t size;          /**< bytes of each */
	uint32_t news[NAMINGS]; /**< how much has been heard of them since naming looked */
	bool is_mixed[NAMINGS]; /**< there was no one name for all */
};

struct kinds {
	struct kind *kinds; /**< [count] by site, by tag, by size */
	uint32_t count;
	heap_object_id *members;   /**< [objects] by kind */
	uint32_t *of;              /**< [objects] its kind */
	uint8_t *base;             /**< [objects] by whose number it has its tag; 0: none */
	struct meanings *meanings; /**< [sites] */
	uint32_t sites;
};

/** Which blocks are looked at. */
enum naming_pass {
	PASS_NEWS, /**< kinds, and single ones, of which something has been heard since */
	PASS_ALL,
};

/** All kinds of a site with one tag. */
struct site_summary {
	heap_site_id site;
	uint64_t tag;
	uint32_t first; /**< of its kinds */
	uint32_t sizes; /**< and how many it has */
	uint32_t objects;
	const struct meanings *meanings;
	enum naming_pass pass;
};

/** A number in the header of a struct. */
struct header_member {
	const char *name; /**< the types' */
	uint32_t offset;  /**< bytes */
	uint8_t size;     /**< bytes */
	uint8_t shift, bits;
};

/** Structs with which others begin, and to which slots point that do not know more. */
struct bases {
	heap_type_id types[MAX_BASES]; /**< [count] */
	uint32_t count;
	uint8_t *of;    /**< [types] with which base one begins, counted from 1; 0: none */
	uint64_t *keys; /**< [types] that are equal if two begin alike */
	struct base_member *members; /**< [member_count] numbers in headers of types, by hash */
	size_t member_count, member_capacity;
	uint32_t *pointed; /**< [types] blocks to whose start pointers to one lead */
	uint32_t hints_seen;
};

struct tag_value {
	uint64_t tag;      /**< the base, and the number that it has there */
	heap_type_id type; /**< of nearly all blocks with that tag whose types are sure */
	bool is_elected;   /**< there are none: of those that have a name */
};

/** The numbers that tell what a block is. */
struct tags {
	struct header_member members[MAX_BASES]; /**< by base, if */
	bool has_member[MAX_BASES];
	bool is_renewed[MAX_BASES]; /**< kinds have not been sorted by it yet */
	uint32_t hints_heard;       /**< that led to claims */
	struct tag_value *values;   /**< [count] by tag */
	uint32_t count, capacity;
	bool *is_told;        /**< [types] whether there is a value for it; NULL: none is known */
	heap_object_id *late; /**< [late_count] blocks with many hints, which are heard last */
	uint32_t late_count, late_capacity;
};

/** What the numbers of a base are in the blocks of one type. */
struct profiles {
	struct profile *list; /**< [count] by type */
	uint32_t count;
};

enum {
	CONTENT_WORDS = 512, /**< of a block, as many are looked at */
};

/** The parts of blocks that the program cuts up. */
struct pools {
	struct heap_part *parts; /**< [count] as they were found */
	uint32_t count, capacity;
	uint32_t *changed; /**< [changed_count] parts that have not been followed yet */
	uint32_t changed_count, changed_capacity;
	uint32_t *slots; /**< [size] hash table by object and offset: part + 1 */
	size_t size;
	uint32_t hints_seen;
	bool *is_pool;      /**< [objects] */
	bool *is_pool_kind; /**< [kinds of objects] whether blocks without a name are */
};

/** What there is to look at in a single object. */
enum news {
	NEWS_SURE = 1 << NAMING_SURE,     /**< a new hint */
	NEWS_LIKELY = 1 << NAMING_LIKELY, /**< likewise */
	NEWS_TEXT = 1 << NAMINGS,         /**< a char * leads to its start */
	NEWS_LATE = 1 << (NAMINGS + 1),   /**< it waits in tags.late */
};

/** Lets through what costs much: at first always, then when much has been heard since. */
struct gate {
	uint64_t heard; /**< claims, when it was last passed */
	uint32_t few;   /**< how often it was passed for few claims */
};

struct inference {
	struct capture *capture;
	struct layouts layouts;
	struct heap_repetitions repetitions;
	struct queue queues[RANKS];
	bool *renamed;       /**< [objects] by its rivals */
	bool *is_sure;       /**< [objects] as its claim */
	uint8_t *rank;       /**< [objects] of its name, or of the best claim that waits for it */
	uint8_t *name_rank;  /**< [objects] of its name */
	uint32_t *waiting;   /**< [objects] where in the queue of its rank its last claim is */
	uint32_t *hint_head; /**< [objects] its first hint, or NO_HINT */
	uint8_t *news;       /**< [objects] enum news: what has been heard since naming looked */
	struct hint *hints;  /**< [hint_count] [0] is none */
	uint32_t hint_count, hint_capacity;
	uint64_t claims_heard; /**< that have named objects */
	struct gate learning;  /**< what the blocks of a base have in common */
	struct gate telling;   /**< the same, where only weaker evidence is left */
	struct gate all_kinds; /**< looking at all kinds */
	uint32_t texts;        /**< hints that were not looked at, by which blocks are texts */
	uint64_t named;        /**< how often an object without a type got one: for progress */
	struct hint_table hint_table;
	struct pages *pages;
	struct kinds kinds;
	struct bases bases;
	struct tags tags;
	struct profiles profiles;
	struct pools pools;
	heap_type_id *counted; /**< [counted_types] by element; NULL: none */
	uint32_t counted_types;
};

/** Puts a claim into the queue of its rank, unless the object has a name as good. */
HEAP_MUST_CHECK
struct heap_error *inference_claim(struct inference *inference, enum rank rank,
				   const struct claim *claim);

/**
 * True if a type is taken rather than another one for which there is as much evidence: the one that
 * has the other as its first part, or else any, but the same one in each run.
 */
bool inference_prefers(const struct inference *inference, heap_type_id one, heap_type_id other);

/** Whether an object has a name that is better than what a single hint makes of it. */
static inline bool inference_is_named(const struct inference *inference, heap_object_id object)
{
	return inference->rank[object] < RANK_ARRAY;
}

struct pointer {
	heap_object_id target;
	uint64_t interior;
	bool local;   /**< it stands in a local variable */
	bool is_sure; /**< nothing has been guessed of what it stands in */
};

/**
 * Hears what the typed slot at an offset of a block says of the object that it points to.
 *
 * @param flags  of the edge: HEAP_EDGE_TYPED is set if there is such a slot
 */
HEAP_MUST_CHECK
struct heap_error *inference_follow(struct inference *inference,
				    const struct heap_repetition *repetition, uint64_t offset,
				    const struct pointer *pointer, uint8_t *flags);

/** Whether nothing is known of a place in an object but that there are bytes. */
bool inference_is_raw(const struct inference *inference, heap_object_id object, uint64_t interior);

/** The type of which a root is one or several; HEAP_NO_TYPE if it is unknown. */
heap_type_id inference_root_type(const struct inference *inference, const struct heap_root *root);

/** Whether a value of a type, or an array of them, has a part of that type there. */
bool inference_type_has(const struct inference *inference, heap_type_id type, heap_type_id part,
			uint64_t interior);

/** Whether an object that has a name has a part of that type there. */
bool inference_has(const struct inference *inference, heap_object_id object, heap_type_id part,
		   uint64_t interior);

/** Hears all claims that wait, and those that they lead to. */
HEAP_MUST_CHECK
struct heap_error *inference_settle(struct inference *inference);

/* --- content --- */

/** What a block holds, read once to be held against several types. */
struct content {
	heap_object_id object;
	uint64_t *words; /**< [count] */
	size_t count;
};

/**
 * How much a block's words speak for its being of a type: below 0 if more of them contradict.
 *
 * @param elements  of the type, as capture's column of that name has it
 */
int content_score(const struct inference *inference, const struct content *content,
		  heap_type_id type, uint64_t elements);

/** Reads a block's first words. @param words  [CONTENT_WORDS] the caller's */
void content_read(const struct inference *inference, heap_object_id object, uint64_t *words,
		  struct content *result);

/** The same with pages of the caller's own, for threads. */
void content_read_from(const struct inference *inference, struct pages *pages,
		       heap_object_id object, uint64_t *words, struct content *result);

/** Whether it is a string: text up to a NUL, and nothing but NULs or leftovers after that. */
bool content_is_text(const struct inference *inference, const struct content *content,
		     uint64_t size);

/* --- kinds --- */

/** Finds what the sites' code means, which may add types: to be called before layouts_init(). */
HEAP_MUST_CHECK
struct heap_error *kinds_init(struct kinds *kinds, struct capture *capture);

void kinds_deinit(struct kinds *kinds);

/** Notes that something has been heard of an object: it, or its kind, is to be looked at. */
static inline void kinds_note_news(struct inference *inference, heap_object_id object)
{
	struct kind *kind = &inference->kinds.kinds[inference->kinds.of[object]];

	kind->news[NAMING_SURE]++;
	kind->news[NAMING_LIKELY]++;
}

/** Finds the kinds of all blocks, or finds them again when tags have become known. */
HEAP_MUST_CHECK
struct heap_error *kinds_sort(struct inference *inference);

/* --- bases, their tags, and profiles --- */

struct base_types;

/** Finds the numbers that tell what blocks are. @param learned  adds how many values */
HEAP_MUST_CHECK
struct heap_error *tags_learn(struct inference *inference, const struct base_types *samples,
			      uint64_t *learned);

/** The base by whose number an object has its tag; 0: none is known. */
uint32_t tags_base(const struct inference *inference, heap_object_id object);

/** An object's tag, of a base that is not 0. */
uint64_t tags_read(const struct inference *inference, heap_object_id object, uint32_t base);

/** Whether there are hints that tags_hear() has not heard. */
static inline bool tags_wait(const struct inference *inference)
{
	return inference->tags.count > 0 && inference->tags.hints_heard < inference->hint_count;
}

/**
 * Claims that objects are what their tags say of which something is hinted. Those with many
 * hints wait, or each hint on one would lead to all of them.
 */
HEAP_MUST_CHECK
struct heap_error *tags_hear(struct inference *inference);

/** The same for those with many hints. */
HEAP_MUST_CHECK
struct heap_error *tags_hear_late(struct inference *inference);

/** Whether the tag says that blocks of a kind are not of a type. */
bool tags_exclude(const struct inference *inference, const struct kind *kind, heap_type_id type);

void tags_deinit(struct tags *tags);

/** Notes what the blocks whose types are sure hold. */
HEAP_MUST_CHECK
struct heap_error *profiles_learn(struct inference *inference, const struct base_types *samples);

/** Whether a block holds what none of a type does. */
bool profiles_exclude(const struct inference *inference, heap_object_id object, heap_type_id type);

void profiles_deinit(struct profiles *profiles);

void bases_deinit(struct bases *bases);

/* --- hints --- */

/** Notes that there is something of a type where a pointer points to. */
HEAP_MUST_CHECK
struct heap_error *hints_add(struct inference *inference, heap_type_id type,
			     const struct pointer *pointer, bool either);

/** What a hint says of an object's being of a type. */
enum word {
	WORD_NONE,
	WORD_FOR,
	WORD_AGAINST,
};

/** What one hint says. Only structs speak clearly: an int * may point anywhere. */
enum word hint_ask(const struct inference *inference, const struct hint *hint, heap_type_id type);

/** What all hints on an object say: the majority's word. */
enum word hints_ask(const struct inference *inference, heap_object_id object, heap_type_id type);

/** The type of a char * that points to the start of an object, or HEAP_NO_TYPE. */
heap_type_id hints_find_text(const struct inference *inference, heap_object_id object);

/** Finds the best that the hints on a block make of it alone; LAYOUT_NONE if that is nothing. */
HEAP_MUST_CHECK
struct heap_error *hints_weigh(const struct inference *inference, const struct content *content,
			       struct layout_claim *result);

/** True if there are more than a few hints on a block, as on arenas and large arrays. */
bool hints_are_many(const struct inference *inference, heap_object_id object);

/* --- naming --- */

/** Claims what blocks without a name are by their kinds (evidence 4 to 7). */
HEAP_MUST_CHECK
struct heap_error *naming_claim(struct inference *inference, enum naming_evidence evidence,
				enum naming_pass pass, uint64_t *claimed);

/** Claims what single hints make of blocks that have no name: arrays and bytes. */
HEAP_MUST_CHECK
struct heap_error *naming_weigh_hints(struct inference *inference, uint64_t *claimed);

/** Drops likely names that what has been named since speaks against. */
HEAP_MUST_CHECK
struct heap_error *naming_reconsider(struct inference *inference, uint64_t *dropped);

/* --- pools --- */

/**
 * Cuts blocks that have no name, but several hints, into parts.
 *
 * @param at_the_end  nothing else is left to try: one part will do
 */
HEAP_MUST_CHECK
struct heap_error *pools_cut(struct inference *inference, bool at_the_end, uint64_t *cut);

/** True if a block has turned out to be one that the program cuts up itself. */
static inline bool pools_has(const struct inference *inference, heap_object_id object)
{
	return inference->pools.is_pool && inference->pools.is_pool[object];
}

/** Puts the parts of all pools in order into capture. */
HEAP_MUST_CHECK
struct heap_error *pools_finish(struct inference *inference);

void pools_deinit(struct pools *pools);

/* --- rivals --- */

/**
 * Counts for each object which typed slots agree with its name. Where more disagree, and agree
 * with each other, the object is renamed as they say.
 */
HEAP_MUST_CHECK
struct heap_error *rivals_weigh(struct inference *inference, uint64_t *renamed);

#endif
