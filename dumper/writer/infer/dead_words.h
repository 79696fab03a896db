// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DEAD_WORDS_H
#define DEAD_WORDS_H

/**
 * Words that look like pointers where the type says that there is none.
 *
 * A std::string has room for a short text in itself. It is not used, nor cleared, while a long text
 * is elsewhere, and keeps what was in that memory before:
 *
 *	_M_p ──▶ "a text of 31 bytes…"
 *	_M_string_length      31
 *	_M_allocated_capacity 60
 *	(rest of the buffer)  a stale pointer
 *
 * Such a word would make the string a holder of what it happens to lead to. held_parts.h says which
 * parts of values and blocks hold nothing.
 */

#include "dumper/writer/scan/capture.h"

/** Removes the pointers in unused parts of objects and variables, after inference. */
HEAP_MUST_CHECK
struct heap_error *dead_words_remove(struct capture *capture);

#endif
