// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DEAD_WORDS_H
#define DEAD_WORDS_H

/**
 * Removes words that look like pointers in parts of values that are not in use.
 *
 * A std::string has an internal buffer for a short text. While a long text is elsewhere, the buffer is
 * neither used nor cleared, and keeps the previous contents of that memory:
 *
 *	_M_p ──▶ "a text of 31 bytes…"
 *	_M_string_length      31
 *	_M_allocated_capacity 60
 *	(rest of the buffer)  a stale pointer
 *
 * Such a word would make the string a referrer of an unrelated object. held_parts.h knows which parts
 * of values and blocks are in use.
 *
 * The same holds for the word in which a text ends: that of a block of characters, or of a flexible array
 * of them, as in struct symbol { struct symbol *next; char text[]; }. Behind the terminating NUL it has what
 * was there before. So has the word behind it, if only the allocator has rounded the block's size up so far, as after an
 * attach. And for the buffers of libc's streams, which hold characters alone. rounding_words.h knows what lies behind
 * structs in blocks whose sizes have been rounded up.
 */

#include "dumper/writer/scan/capture.h"

/** Removes the pointers in unused parts of objects and variables, after inference. */
HEAP_MUST_CHECK
struct heap_error *dead_words_remove(struct capture *capture);

#endif
