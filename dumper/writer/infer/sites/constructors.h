// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONSTRUCTORS_H
#define CONSTRUCTORS_H

/**
 * The class of a new block by the constructor that the allocating code calls on it.
 *
 *	call  operator new(unsigned long)
 *	mov   %rax, %rbx
 *	...
 *	mov   %rbx, %rdi
 *	call  Order::Order(Person*)            the block is an Order
 *
 * A data-flow analysis (dumper/code) follows the block from the return address on. A constructor may be that
 * of a base class or of the first member, where that of the whole is inlined. Then the code goes on to
 * fill the rest of the block: what lies behind all that the constructor itself stores.
 *
 * It needs symbols and the process's code, no debug information. Where there is some, no variable may have the
 * block: that of "new Order(person)" in an argument. The constructor's receiver has a type then.
 */

#include "dumper/writer/scan/capture.h"

struct constructors;

/** The use of a new block. */
enum constructor_use {
	CONSTRUCTOR_NONE,     /**< something else, or that is not known */
	CONSTRUCTOR_CALLED,   /**< a constructor is called on it */
	CONSTRUCTOR_RETURNED, /**< the function returns it: its caller knows more */
};

/** @param capture  must outlive the result */
HEAP_MUST_CHECK
struct heap_error *constructors_create(const struct capture *capture, struct constructors **result);

/** NULL is fine. */
void constructors_destroy(struct constructors *constructors);

/**
 * Follows the block that a call returns.
 *
 * @param site        where the call returns to
 * @param block_size  bytes
 * @param name        [size] gets the class's name, if CONSTRUCTOR_CALLED
 * @param constructor NULL, or gets that function's address then
 */
enum constructor_use constructors_follow(struct constructors *constructors, uint64_t site,
					 uint64_t block_size, char *name, size_t size,
					 uint64_t *constructor);

/** True if the call that returns to a site is one of operator new for a single object. */
bool constructors_are_called(struct constructors *constructors, uint64_t site);

/** @param symbol  the linker's name of a function. @return an error, which ends the visit */
typedef struct heap_error *constructors_visitor(void *context, const char *symbol);

/** Visits the functions that the function around an address calls directly, each call once. */
HEAP_MUST_CHECK
struct heap_error *constructors_visit_calls(struct constructors *constructors, uint64_t address,
					    constructors_visitor *visit, void *context);

#endif
