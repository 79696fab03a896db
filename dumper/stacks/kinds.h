// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_KINDS_H
#define HEAPSNAP_KINDS_H

/**
 * The kinds of blocks: each site and size, with the backtrace of its first block, and how often the
 * callers of the site have been observed.
 *
 * An observation counts for nothing when the code of the site has been unmapped since, or when a function
 * has become a wrapper and that of the site only passes sizes on.
 *
 * The writer reads the kinds (protocol.h). Without locks, and async-signal-safe.
 */

#include "dumper/base/protocol.h"
#include "dumper/stacks/wrappers.h"

#include <stdbool.h>

enum {
	HEAPSNAP_MORE_KINDS = 1 << 17, /**< besides the first ones: few kinds touch few pages */
	HEAPSNAP_KINDS = HEAPSNAP_FIRST_KINDS + HEAPSNAP_MORE_KINDS,
};

struct heapsnap_more_kinds {
	struct heapsnap_kind kinds[HEAPSNAP_MORE_KINDS];
	uint32_t made[HEAPSNAP_MORE_KINDS];
	uint8_t closed[HEAPSNAP_MORE_KINDS];
};

struct heapsnap_kinds {
	struct heapsnap_kind first[HEAPSNAP_FIRST_KINDS];
	uint32_t made[HEAPSNAP_FIRST_KINDS];  /**< numbers, in the order in which they were made */
	uint8_t closed[HEAPSNAP_FIRST_KINDS]; /**< marks of seen.h, by number; 0: open */
	struct heapsnap_more_kinds *more;     /**< which go on with them; NULL: not yet */
};

/** A kind's number, and the other way round. */
uint32_t heapsnap_kind_number(const struct heapsnap_kind *kind);
struct heapsnap_kind *heapsnap_kind_numbered(uint32_t number);

/** The marks of seen.h for a kind. */
uint8_t *heapsnap_kind_marks(uint32_t number);

/**
 * @param room   zeros
 * @param known  the wrappers that are known
 */
void heapsnap_kinds_init(struct heapsnap_kinds *room, const struct heapsnap_wrappers *known);

/** True if a result of heapsnap_kinds_look_up() is a kind that has been made. */
static inline bool heapsnap_kind_is_known(const struct heapsnap_kind *kind)
{
	return kind && __atomic_load_n(&kind->site, __ATOMIC_RELAXED) != 0;
}

/** The entry of a site and size, or the one that it may take; NULL if there is neither. */
struct heapsnap_kind *heapsnap_kinds_look_up(uint64_t site, uint64_t size);

/** The entry of a site and size, which is made if need be; NULL if there is no room. */
struct heapsnap_kind *heapsnap_kinds_find(uint64_t site, uint64_t size);

/** True if no whole backtrace has been taken of a kind. */
bool heapsnap_kind_needs_backtrace(const struct heapsnap_kind *kind);

/** True if a kind's callers have not been observed often enough. */
bool heapsnap_kind_needs_look(const struct heapsnap_kind *kind);

/** Counts an observation. @param is_partial  the backtrace is not whole */
void heapsnap_kind_add_look(struct heapsnap_kind *kind, bool is_partial);

/** Notes that the function of the site will never be a wrapper: one whole backtrace is enough. */
void heapsnap_kind_settle(struct heapsnap_kind *kind);

/** A function has become a wrapper: kinds whose code passes sizes on are observed anew. */
void heapsnap_kinds_judge_anew(void);

/** Begins a round through all kinds, in the order in which they were made. */
void heapsnap_kinds_begin_round(void);

bool heapsnap_kinds_round_is_over(void);

/** The next kind of the round; NULL if it is over. */
struct heapsnap_kind *heapsnap_kinds_next(void);

#endif
