// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef THROWN_EXCEPTIONS_H
#define THROWN_EXCEPTIONS_H

/**
 * Exceptions of C++ that a program keeps, as a std::exception_ptr or a future does. The runtime has a header before them,
 * of one size and with what matters in the same places in libsupc++ and libc++abi:
 *
 *	block ─▶ +0    owners, or so
 *	         +16   ─▶ type information of what was thrown
 *	         +96   "GNUCC++" or "CLNGC++", as a number
 *	         +128  the exception: pointers lead here
 *
 * The type of such a block is that of what was thrown, behind a prefix (prefixed_types.h).
 */

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/head_words.h"
#include "lib/base/array.h"

struct thrown_exception {
	heap_object_id object;
	heap_type_id class, type; /**< of what was thrown, and of the block */
};

struct thrown_exceptions {
	struct HEAP_ARRAY(struct thrown_exception) list;
};

/**
 * Finds the blocks that hold exceptions of known classes, and adds their types. thrown_exceptions_deinit() frees them,
 * also after an error.
 */
HEAP_MUST_CHECK
struct heap_error *thrown_exceptions_find(struct capture *capture, const struct head_words *heads,
					  struct thrown_exceptions *result);

void thrown_exceptions_deinit(struct thrown_exceptions *exceptions);

#endif
