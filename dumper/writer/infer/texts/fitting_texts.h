// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FITTING_TEXTS_H
#define FITTING_TEXTS_H

/**
 * Texts among the blocks of code that has debug information, which does not tell what they are: the allocator of an
 * interpreter hands out memory for all of its types.
 *
 * A block that has been requested for a text ends with it. So blocks of one kind are texts if hardly one of those
 * without a type ends otherwise. Structs that begin with a name have something behind it.
 *
 * Where there is no debug information, or no site is known, shapes.h finds texts, with less proof.
 */

#include "dumper/writer/scan/capture.h"

/** Gives the type char to blocks that have none. Their evidence is "shape". */
HEAP_MUST_CHECK
struct heap_error *fitting_texts_name(struct capture *capture);

#endif
