// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SHAPES_H
#define SHAPES_H

/**
 * Shapes: what the blocks of code without debug information look like.
 *
 * Their types have no names. But blocks of one site and size nearly always have pointers, texts and
 * numbers at the same places, which tells them apart and shows what is in them:
 *
 *	struct {ptr, ptr, text, long[3]}
 *
 * Blocks that read as text are arrays of char, even if their site is unknown, as after an attach and
 * in core files. The evidence of all is "shape".
 */

#include "dumper/writer/scan/capture.h"

/**
 * Gives shapes to the blocks that have no type. Adds types: nothing may rely on the table of types
 * any more.
 */
HEAP_MUST_CHECK
struct heap_error *shapes_name(struct capture *capture);

#endif
