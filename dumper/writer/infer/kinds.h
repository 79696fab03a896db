// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef KINDS_H
#define KINDS_H

/**
 * Kinds: the blocks of one site and size, and with one discriminator, which are nearly always of
 * one type.
 */

#include "dumper/writer/infer/sites/site_types.h"

struct inference;

#define NO_TAG UINT64_MAX

/** The quality of the evidence for a name. */
enum naming_evidence {
	NAMING_SURE,   /**< texts, the only types that have the hinted parts, results of calls */
	NAMING_LIKELY, /**< types in the code, the siblings' names, the best agreement */
	NAMINGS,
};

/** The blocks of one site and size, and with one tag. */
struct kind {
	heap_site_id site;
	uint64_t tag; /**< its discriminator's value; NO_TAG: none is known */
	uint32_t count;
	uint32_t first;         /**< in kinds.members */
	uint64_t size;          /**< bytes of each */
	uint32_t news[NAMINGS]; /**< new hints and names since naming visited it */
	bool is_mixed[NAMINGS]; /**< there was no one name for all */
	/** The number of its first members that have good names, and have kept them. */
	uint32_t named;
	/** Members, when kinds_count() counted: with good names, without but with hints, with no claim. */
	uint32_t good, hinted, free;
	uint32_t
		open; /**< of those with hints, all that are not NEWS_NO_WHOLE; there may be fewer now */
};

struct kinds {
	struct kind *kinds; /**< [count] by site, by tag, by size */
	uint32_t count, capacity;
	heap_object_id *members; /**< [objects] by kind */
	/**< [kinds of objects] of all objects of that kind; NULL when they differ in tags or prefixes */
	uint32_t *of_kind;
	uint32_t *of;    /**< [objects] its kind; NULL: see of_kind, and kinds_of() */
	uint8_t *prefix; /**< [objects] the common prefix that has its tag; NULL, 0: none */
	struct site_types *site_types; /**< [sites] */
	bool *is_wrapper; /**< [sites] blocks of its kinds have other sites: those of its callers */
	uint32_t sites;
	uint64_t counted; /**< the changes of claims and hints when members were counted */
};

/** Finds the types that the sites' code handles, which may add types to the capture's. */
HEAP_MUST_CHECK
struct heap_error *kinds_init(struct kinds *kinds, struct capture *capture);

void kinds_deinit(struct kinds *kinds);

/** Notes @p count new hints or names of blocks of a kind, which is to be considered again. */
static inline void kinds_note_news(struct kinds *kinds, uint32_t kind, uint32_t count)
{
	kinds->kinds[kind].news[NAMING_SURE] += count;
	kinds->kinds[kind].news[NAMING_LIKELY] += count;
}

/** A kind's member, and prefetches the ranks and hints of those behind it, for loops over members. */
heap_object_id kinds_member(const struct inference *inference, const struct kind *kind,
			    uint32_t number);

/** Counts the members of each kind, unless nothing has changed since. */
HEAP_MUST_CHECK
struct heap_error *kinds_count(struct inference *inference);

/** Bytes of a kind's size that the program may not have asked for. */
uint64_t kinds_slack(const struct inference *inference, const struct kind *kind);

/** Finds the kinds of all blocks, or finds them again when discriminators have become known. */
HEAP_MUST_CHECK
struct heap_error *kinds_sort(struct inference *inference);

#endif
