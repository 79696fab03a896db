// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OWN_HEAP_H
#define OWN_HEAP_H

/**
 * Why a process has no blocks of an allocator that is known, and what its owner can do about that.
 *
 * Go's runtime has a heap of its own: it calls no malloc, and neither the library nor this program reads that heap. A
 * program that is statically linked cannot be started with the library.
 */

#include "dumper/writer/scan/image/image.h"

/** @return an error of HEAP_ERROR_ABSENT that says so */
HEAP_MUST_CHECK
struct heap_error *own_heap_explain(const struct image *image);

#endif
