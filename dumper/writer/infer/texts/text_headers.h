// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TEXT_HEADERS_H
#define TEXT_HEADERS_H

/**
 * Texts behind a header, as strings that know their length have it: pointers, often of type void *, lead
 * to the characters at the end of a struct. Where no site tells the struct, its numbers do: one of them is
 * the length of the very text. That may be so by chance: it counts only if many of the texts have it that pointers
 * lead to at that offset of a block. A block is none if pointers lead behind that text: it has more of them. Nor
 * is it one if its own word leads to the text, as in a std::string with a short one.
 */

#include "dumper/writer/infer/inference.h"

/** Claims such blocks that have no name, where there are no sites. @param claimed  counted up */
HEAP_MUST_CHECK
struct heap_error *text_headers_claim(struct inference *inference, uint64_t *claimed);

#endif
