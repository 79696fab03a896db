// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_WRAPPERS_H
#define HEAPSNAP_WRAPPERS_H

/**
 * Functions like xmalloc() and g_malloc(), which allocate on behalf of their callers.
 *
 * A wrapper is recognized by its use: each of several callers always requests the same size, and
 * the sizes differ. So the callers choose the size, and not the function. A constructor is called
 * from many places too, but always requests the same size; a function that makes strings is asked
 * for many sizes by each of its callers. A function that allocates at many places makes its own
 * choices: the loop of an interpreter, which all allocations go through, is no wrapper. Nor is a
 * function that calls itself, directly or through others, like an evaluator or a parser. The user
 * names more in HEAPSNAP_WRAPPERS.
 *
 * Such evidence takes time, and a different time in each run if threads race. Most wrappers do not
 * need it: functions of the standard libraries (standard.h) and those whose code does nothing but
 * pass the size on (passing.h) are transparent, from the first block on.
 *
 * Functions are identified by their start, sites by their return address. There are no locks: when
 * two threads note a look at the same time, one of the two may be lost.
 *
 * A function becomes a wrapper at most once, and once refused it stays refused. So there are at
 * most twice as many changes as functions, whatever the program does.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_WRAPPER_SITES = 1 << 14,
	HEAPSNAP_WRAPPER_PASSING = 1 << 14,
	HEAPSNAP_FILTER_BITS = 1 << 12,
	HEAPSNAP_WRAPPER_KNOWN = 1 << 13,
	HEAPSNAP_WRAPPER_NUMBERS = 1 << 12,
	HEAPSNAP_WRAPPER_FUNCTIONS = 1 << 11,
	HEAPSNAP_WRAPPER_FEW = 1 << 8, /**< of them, which most programs do with */
	HEAPSNAP_WRAPPER_CALLERS = 12,
	HEAPSNAP_WRAPPER_PLACES = 8,
	HEAPSNAP_WRAPPER_LOOKS = 128, /**< after which a function that has shown nothing is none */
};

enum heapsnap_verdict {
	HEAPSNAP_VERDICT_OPEN,
	HEAPSNAP_VERDICT_WRAPPER,
	HEAPSNAP_VERDICT_REFUSED, /**< for ever */
};

/** Observations of a function that allocates. */
struct heapsnap_allocating {
	uint64_t function;                        /**< where it begins; 0: the entry is free */
	uint64_t end;                             /**< 0: none of its sites has been looked up */
	uint8_t verdict;                          /**< enum heapsnap_verdict */
	bool is_named;                            /**< by the user: it is never refused */
	uint16_t looks;                           /**< at its callers */
	uint64_t places[HEAPSNAP_WRAPPER_PLACES]; /**< sites in it; 0: the entry is free */
	struct heapsnap_allocating_caller {
		uint64_t address; /**< it returns to; 0: the entry is free */
		uint64_t size;    /**< of its first request */
		uint32_t times;   /**< requests of this size */
		bool varies;      /**< it has requested another */
	} callers[HEAPSNAP_WRAPPER_CALLERS];
};

/**
 * Sites that may be in a table: a bit for the place in its page of each that ever was, which is the same
 * in each run. Most questions are about sites that are not.
 */
struct heapsnap_site_filter {
	uint64_t bits[HEAPSNAP_FILTER_BITS / 64];
};

struct heapsnap_wrappers {
	uint64_t sites[HEAPSNAP_WRAPPER_SITES];     /**< in wrappers, by hash; 0: free */
	uint64_t passing[HEAPSNAP_WRAPPER_PASSING]; /**< in functions that pass sizes on */
	struct heapsnap_site_filter may_be_site, may_be_passing;

	/** A cache by hash: a site, and in the upper 16 bits the number of its function. */
	uint64_t known[HEAPSNAP_WRAPPER_KNOWN];

	/** By hash of a function's address: its number, which is one more than its index; 0: free. */
	uint16_t numbers[HEAPSNAP_WRAPPER_NUMBERS];
	uint32_t function_count;
	struct heapsnap_allocating functions[HEAPSNAP_WRAPPER_FEW];
	struct heapsnap_allocating *more; /**< which go on with them; NULL: not yet */
};

/** Declares functions wrappers, by their names, separated by commas. To be called at load time. */
void heapsnap_wrappers_init(struct heapsnap_wrappers *wrappers, const char *names);

/** True if a site is within a known wrapper. async-signal-safe. */
bool heapsnap_wrappers_has(const struct heapsnap_wrappers *wrappers, uint64_t site);

/** True if the function that contains a site has been looked up. async-signal-safe. */
bool heapsnap_wrappers_knows(const struct heapsnap_wrappers *wrappers, uint64_t site);

/**
 * Notes a site as a wrapper's if it is transparent, whatever the program does: within a standard
 * library (standard.h), or in a thin wrapper (passing.h).
 *
 * @return true if it is. async-signal-safe
 */
bool heapsnap_wrappers_add_transparent(struct heapsnap_wrappers *wrappers, uint64_t site);

/**
 * True if a site is in a function that passes on what its callers ask for: it becomes a wrapper
 * when its caller does. async-signal-safe.
 */
bool heapsnap_wrappers_passes(const struct heapsnap_wrappers *wrappers, uint64_t site);

/** A function's part in the blocks that it allocates. */
enum heapsnap_role {
	HEAPSNAP_ROLE_OWN,         /**< it chooses, or nothing is known yet */
	HEAPSNAP_ROLE_PASSES,      /**< each of its callers asks for many sizes */
	HEAPSNAP_ROLE_TRANSPARENT, /**< always looked through */
	HEAPSNAP_ROLE_WRAPPER,     /**< it has been found to be one already */
	HEAPSNAP_ROLE_WRAPPER_NEW, /**< it has become one just now; sites in it are a wrapper's */
	HEAPSNAP_ROLE_WRAPPER_NO_MORE, /**< it was taken for one; its sites are none any more */
};

/**
 * Notes who has called the function that a site is in. async-signal-safe.
 *
 * @param caller  the address that the function returns to; 0: not known
 * @return the function's role; if it is a wrapper, the site is noted as one's
 */
enum heapsnap_role heapsnap_wrappers_note(struct heapsnap_wrappers *wrappers, uint64_t site,
					  uint64_t caller, uint64_t size);

/** True if the function that a site is in will never be a wrapper. async-signal-safe. */
bool heapsnap_wrappers_refuses(struct heapsnap_wrappers *wrappers, uint64_t site);

/**
 * Refuses the wrappers among the functions of a backtrace that are part of a recursion.
 *
 * @return true if there was one. async-signal-safe
 */
bool heapsnap_wrappers_refuse_recursive(struct heapsnap_wrappers *wrappers,
					const uint64_t *addresses, unsigned count);

/**
 * The sites in the same function as a site. async-signal-safe.
 *
 * @return [HEAPSNAP_WRAPPER_PLACES], ended by 0 if there are fewer; NULL if it is not known
 */
const uint64_t *heapsnap_wrappers_places(struct heapsnap_wrappers *wrappers, uint64_t site);

/** Declares the function that a site is in a wrapper. async-signal-safe. */
void heapsnap_wrappers_add(struct heapsnap_wrappers *wrappers, uint64_t site);

/** Forgets functions that begin from @p start to @p end, whose code has been unmapped. */
void heapsnap_wrappers_forget(struct heapsnap_wrappers *wrappers, uint64_t start, uint64_t end);

#endif
