// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_NEAREST_H
#define HEAP_NEAREST_H

/**
 * "Did you mean": the names that are most like a misspelt word.
 *
 *	struct heap_nearest nearest;
 *
 *	heap_nearest_init(&nearest, "sesion");
 *	for each name: heap_nearest_offer(&nearest, name);
 *	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);      "; did you mean session?"
 *
 * Names within a third of the word's length in edits are alike (insertions, deletions, changes, and
 * neighbours that changed places: optimal string alignment distance). So are names that contain the
 * word, where no other name is alike. Case does not count. Only the nearest are told.
 */

#include <stdbool.h>
#include <stddef.h>

enum {
	HEAP_NEAREST_MAX = 3,
};

struct heap_nearest {
	const char *word;
	size_t count;
	char *names[HEAP_NEAREST_MAX]; /**< [count] the nearest first */
	unsigned distances[HEAP_NEAREST_MAX];
};

/** @param word  must outlive @p nearest */
void heap_nearest_init(struct heap_nearest *nearest, const char *word);

/** Considers a name, which is copied. Of two that are equally near the first one wins. */
void heap_nearest_offer(struct heap_nearest *nearest, const char *name);

/** The same for a name that the hint tells in another form, such as "struct session". */
void heap_nearest_offer_as(struct heap_nearest *nearest, const char *name, const char *shown);

/** True if a name is like the word: for names that are dear to format. */
bool heap_nearest_is_near(const struct heap_nearest *nearest, const char *name);

/**
 * Ends the search, and frees the names.
 *
 * @return malloc'd "; did you mean a, b or c?", "" if no name is near; NULL: out of memory
 */
char *heap_nearest_hint(struct heap_nearest *nearest);

#endif
