// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIBRARY_VALUE_TYPES_H
#define LIBRARY_VALUE_TYPES_H

/** The types of the values that library_values.h proves: a std::string, or structs of their words. */

#include "dumper/writer/infer/symbols/library_values.h"

/** A value's name in a shape: "std::string", "vector", "tree". */
const char *library_value_name(enum library_value value);

/** Finds the types of all values, or adds them. @param ids  [LIBRARY_VALUES] gets them */
HEAP_MUST_CHECK
struct heap_error *library_value_types_find(const struct library_values *values,
					    struct heap_types *types, heap_type_id *ids);

#endif
