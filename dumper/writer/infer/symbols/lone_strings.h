// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LONE_STRINGS_H
#define LONE_STRINGS_H

/**
 * Strings of C++ in blocks of their own to which only void pointers or numbers lead, in processes that nobody
 * prepared: messages keep them behind pointers with flags. A string proves itself: it leads to its own letters, or to a
 * block that has room for its capacity. A struct may begin with one, and the size that is known has room for more. So
 * half of the blocks, and nearly all where there is such a struct, must have nothing behind the string.
 *
 * Where sites are known, or code has no debug information, shapes.h knows such blocks.
 */

#include "dumper/writer/scan/capture.h"

/** Gives the type std::string to blocks that have none. Their evidence is "shape". */
HEAP_MUST_CHECK
struct heap_error *lone_strings_name(struct capture *capture);

#endif
