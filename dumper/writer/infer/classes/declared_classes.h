// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DECLARED_CLASSES_H
#define DECLARED_CLASSES_H

/**
 * Classes that debug information only declares, as those of a library without any, in the structs that have them
 * as members. The member behind an object of such a class bounds its size, and the structs that begin with one are
 * what a block may be that begins with its vtable.
 *
 *	struct level { class arena arena; vector tiles; int number; };	an arena has 64 bytes or less,
 *	               0                  64            96		and a block of 104 bytes may be a level
 */

#include "dumper/writer/infer/layout.h"

#include "lib/base/array.h"

/** A struct that begins with an object of a declared class, and is not derived from it. */
struct declared_beginning {
	heap_type_id class, whole;
};

struct declared_classes {
	struct HEAP_ARRAY(struct declared_beginning)
		beginnings; /**< by the class's name, and whole */
	uint64_t *most;     /**< [types] bytes that an object may have; UINT64_MAX: any number */
};

/** declared_classes_deinit() frees them, also after an error. */
HEAP_MUST_CHECK
struct heap_error *declared_classes_init(struct declared_classes *classes,
					 const struct layouts *layouts);

void declared_classes_deinit(struct declared_classes *classes);

/**
 * The structs that a block may be that begins with an object of a class and is larger than that may be.
 *
 * @param class  of that name; others of it may be members
 * @param slack  by how much the block may be larger than the struct
 * @param whole  the only one; HEAP_NO_TYPE if there are several
 * @return false: there is none
 */
bool declared_classes_find_whole(const struct declared_classes *classes,
				 const struct layouts *layouts, heap_type_id class, uint64_t size,
				 uint64_t slack, heap_type_id *whole);

#endif
