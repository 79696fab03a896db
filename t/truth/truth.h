// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRUTH_H
#define TRUTH_H

/**
 * Logs the true type of each block, from within the program that allocates it.
 *
 *	struct session *session = NEW(struct session);
 *	...
 *	truth_capture();        // writes $HEAPSH_TRUTH, then the snapshot
 *
 * The macros are what C programs write without them: malloc() is called in the function that
 * uses the macro, its void * passes through truth_log() unchanged, and is cast. Nothing of
 * the log can be seen in the snapshot: it has its addresses exclusive-or'ed with a constant,
 * and truth.c is built without debug information.
 *
 * A line of $HEAPSH_TRUTH: address (hidden), kind, count, type.
 */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum truth_kind {
	TRUTH_ARRAY = 'a',    /**< count elements; 1 for a single one */
	TRUTH_FLEXIBLE = 'f', /**< a struct that ends in an array of any length */
	TRUTH_TEXT = 't',     /**< char; string or bytes */
	TRUTH_POOL = 'p',     /**< a region that holds parts of several types */
	TRUTH_BEHIND = 'b',   /**< one value, or text, behind count bytes of something else */
	TRUTH_PART = 'o',     /**< one of them; its address is its own */
};

/** Logs a block, overwriting what was said of that address. @return @p block */
void *truth_log(void *block, int kind, const char *type, size_t count);

/** Forgets a block, as it is freed or moved. */
int truth_forget(const void *block);

/** Forgets a part of a pool. */
void truth_forget_part(const void *address);

/** For realloc(): @p forgotten is truth_forget() of the old block. @return @p block */
void *truth_moved(int forgotten, void *block, int kind, const char *type, size_t count);

/** Writes the log, and has the program captured. Ends it if that fails. */
void truth_capture(void);

#ifdef __cplusplus
}
#endif

#define NEW(T) ((T *)truth_log(malloc(sizeof(T)), TRUTH_ARRAY, #T, 1))
#define NEW_ZEROED(T) ((T *)truth_log(calloc(1, sizeof(T)), TRUTH_ARRAY, #T, 1))
#define NEW_ARRAY(T, n) ((T *)truth_log(malloc((n) * sizeof(T)), TRUTH_ARRAY, #T, n))
#define NEW_ZEROED_ARRAY(T, n) ((T *)truth_log(calloc(n, sizeof(T)), TRUTH_ARRAY, #T, n))
#define RENEW_ARRAY(T, old, n) \
	((T *)truth_moved(truth_forget(old), realloc(old, (n) * sizeof(T)), TRUTH_ARRAY, #T, n))

/** A struct with a flexible array, @p bytes in all. */
#define NEW_FLEXIBLE(T, bytes) ((T *)truth_log(malloc(bytes), TRUTH_FLEXIBLE, #T, 0))
#define RENEW_FLEXIBLE(T, old, bytes) \
	((T *)truth_moved(truth_forget(old), realloc(old, bytes), TRUTH_FLEXIBLE, #T, 0))

#define NEW_TEXT(bytes) ((char *)truth_log(malloc(bytes), TRUTH_TEXT, "char", bytes))
#define RENEW_TEXT(old, bytes) \
	((char *)truth_moved(truth_forget(old), realloc(old, bytes), TRUTH_TEXT, "char", bytes))

/** Logs a string of strdup() and its like. */
#define TEXT(string) ((char *)truth_log(string, TRUTH_TEXT, "char", 0))

/** Logs a block of a function that does not know the type: xmalloc(). */
#define OF(T, block) ((T *)truth_log(block, TRUTH_ARRAY, #T, 1))
#define ARRAY_OF(T, n, block) ((T *)truth_log(block, TRUTH_ARRAY, #T, n))
#define FLEXIBLE_OF(T, block) ((T *)truth_log(block, TRUTH_FLEXIBLE, #T, 0))

/**
 * A region that the program cuts up, whose own type is T (what stands at its start, or void),
 * and the parts in it.
 */
#define POOL(T, block) truth_log(block, TRUTH_POOL, #T, 0)
#define PART(T, address) ((T *)truth_log(address, TRUTH_PART, #T, 1))
#define PART_FREE(address) truth_forget_part(address)

#define FREE(block) (truth_forget(block), free(block))

#endif
