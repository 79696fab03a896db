// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TEMPLATE_ARGUMENTS_H
#define TEMPLATE_ARGUMENTS_H

/**
 * The structs that the functions to which blocks point were instantiated for.
 *
 * Code that erases types keeps a void pointer, and beside it a function that knows what it leads to:
 *
 *	std::any { _M_manager ─▶ _Manager_external<image>::_S_manage, _M_ptr ─▶ struct image }
 *
 * That function has void pointers as its parameters, and where it is optimized no variable has the type. Its template, or
 * the class template that it is a member of, has it as an argument.
 */

#include "dumper/writer/scan/capture.h"

#include "lib/base/array.h"

/** The arguments of a function. */
struct template_function {
	uint64_t address;
	uint32_t first; /**< in types */
	uint32_t count;
};

struct template_arguments {
	struct HEAP_ARRAY(struct template_function) functions; /**< by address */
	struct HEAP_ARRAY(heap_type_id) types;                 /**< stripped; structs alone */
};

/** Finds those of all functions that words of blocks point to, which may add types to the capture's. */
HEAP_MUST_CHECK
struct heap_error *template_arguments_init(struct template_arguments *arguments,
					   struct capture *capture);

void template_arguments_deinit(struct template_arguments *arguments);

/** Those of a function. @param count  how many @return the first; NULL: there is none */
const heap_type_id *template_arguments_find(const struct template_arguments *arguments,
					    uint64_t address, size_t *count);

#endif
