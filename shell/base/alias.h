// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ALIAS_H
#define ALIAS_H

/**
 * Short names for the beginnings of lines: after `alias big 'find size >1M'` the line `big untyped
 * | head` is `find size >1M untyped | head`.
 *
 * Only the first word of a line can be an alias. Its replacement may begin with another alias, but
 * an alias is not replaced inside itself: `alias find 'find --limit 20'` is fine.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct aliases {
	struct alias {
		char *name;
		char *text;
	} * aliases; /**< [count] by name */
	size_t count, capacity;
};

void aliases_deinit(struct aliases *aliases);

/** Adds one, or changes it. @return NULL, HEAP_ERROR_ARGUMENT (no name of a command) or MEMORY */
HEAP_MUST_CHECK
struct heap_error *aliases_set(struct aliases *aliases, const char *name, const char *text);

/** @return whether there was one of that name */
bool aliases_remove(struct aliases *aliases, const char *name);

/** @return NULL if there is none */
const struct alias *aliases_find(const struct aliases *aliases, const char *name, size_t length);

/** A line with the alias that it begins with replaced; malloc'd. NULL if memory is short. */
char *aliases_expand(const struct aliases *aliases, const char *line);

#endif
