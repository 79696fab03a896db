// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARGUMENT_INDEX_H
#define ARGUMENT_INDEX_H

/**
 * Instances of templates by their arguments, and by the arguments of these, as far as anybody asks for them.
 *
 *	map<int, allocator<pair<int, city>>>     has int, allocator<…>, pair<int, city> and city
 *
 * All names that are wanted come first, then the instances. Thousands may have int; so what has several arguments is
 * looked for by the rarest of them.
 */

#include "lib/base/array.h"
#include "lib/base/hash_table.h"

enum {
	ARGUMENT_INDEX_DEPTH = 6,     /**< of arguments in arguments */
	ARGUMENT_INDEX_ARGUMENTS = 8, /**< of a template */
};

/** Zeros at first. */
struct argument_index {
	struct heap_hash_table wanted;      /**< private: names, by their hash alone */
	struct HEAP_ARRAY(uint32_t) uses;   /**< private: of these */
	struct heap_hash_table by_argument; /**< numbers of instances: see argument_index_hash() */
};

void argument_index_deinit(struct argument_index *index);

/** Notes that somebody will ask for a name. */
HEAP_MUST_CHECK
struct heap_error *argument_index_want(struct argument_index *index, const char *name,
				       size_t length);

/** The same of each argument of a name. */
HEAP_MUST_CHECK
struct heap_error *argument_index_want_all(struct argument_index *index, const char *name);

/** Adds an instance by those of its arguments that are wanted. */
HEAP_MUST_CHECK
struct heap_error *argument_index_add(struct argument_index *index, const char *name,
				      uint32_t number);

/** The hash by which heap_hash_next() on by_argument finds those with an argument. Others may have the same one. */
uint32_t argument_index_hash(const char *name, size_t length);

/**
 * Finds the argument of a name that fewest instances have.
 *
 * @param result  gets its argument_index_hash()
 * @return false: it has no argument
 */
bool argument_index_find_rarest(const struct argument_index *index, const char *name,
				uint32_t *result);

#endif
