// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARGUMENT_TYPES_H
#define ARGUMENT_TYPES_H

/**
 * The types that the arguments of templates name.
 */

#include "dumper/writer/infer/class_names.h"

#include "lib/base/error.h"

/**
 * Finds an argument as a type: a class, a base type, or a pointer to one of them, over a few others at most. Pointers are
 * added.
 *
 * @param result  gets it, or HEAP_NO_TYPE
 */
HEAP_MUST_CHECK
struct heap_error *argument_types_find(struct heap_types *types, const struct class_names *names,
				       const char *name, size_t length, heap_type_id *result);

/** The size of what an argument names, for which nothing is added; 0: it is not known. */
uint64_t argument_types_size(const struct heap_types *types, const struct class_names *names,
			     const char *name, size_t length);

/** The length of an argument without a const behind it. */
size_t argument_types_strip(const char *name, size_t length);

#endif
