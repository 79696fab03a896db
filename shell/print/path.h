// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PATH_H
#define PATH_H

/**
 * Paths from a root to an object, in words:
 *
 *	the global variable popular (cache.c:50, libutility.so)
 *	  → struct table at 0x5f00400
 *	  .slots → struct slot[14] at 0x5f00300
 *	  … 12 more by .next
 *	  .next → struct slot at 0x5f00700
 */

#include "shell/base/session.h"

/**
 * Prints a way; its objects are remembered. A list's nodes are left out in text, but for the
 * first and the last; JSON has them all, in an array.
 *
 * @param key     of the array
 * @param indent  stands before each line
 */
void path_print(struct session *session, const char *key, const struct heap_path *path,
		const char *indent);

/** Loads what path_print() says of ways, and no more. @param paths  [count] */
HEAP_MUST_CHECK
struct heap_error *path_load(struct session *session, const struct heap_path *paths, size_t count);

/** " + 8 (untyped)": what is to be said of a pointer beside where it stands. */
const char *path_edge_remark(struct session *session, uint32_t interior, uint8_t flags);

/** The members "field", "interior" and "typed" of a pointer, for JSON. */
void path_edge_json(struct session *session, const char *field, uint32_t interior, uint8_t flags);

#endif
