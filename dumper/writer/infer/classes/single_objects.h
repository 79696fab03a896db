// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SINGLE_OBJECTS_H
#define SINGLE_OBJECTS_H

/**
 * Blocks for one object of C++, which are no arrays:
 *
 *	mov   $40, %edi
 *	call  operator new(unsigned long)
 *
 * The class may be unknown: debug information lacks those that no variable has. Then a pointer to its base tells what the
 * object begins with, and its size may be a multiple of the base's by chance. Arrays have blocks of operator new[], or the
 * standard library allocates them, or their size is computed.
 */

#include "dumper/writer/scan/capture.h"

struct single_objects {
	uint8_t *sites; /**< bits.h: whose blocks of operator new are such, by site; NULL: none */
};

/** Finds the sites with the same code. single_objects_deinit() frees the result. */
HEAP_MUST_CHECK
struct heap_error *single_objects_find(struct capture *capture, struct single_objects *result);

void single_objects_deinit(struct single_objects *singles);

/** True if a block was allocated for one object. */
bool single_objects_have(const struct single_objects *singles, const struct capture *capture,
			 heap_object_id object);

#endif
