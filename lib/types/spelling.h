// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SPELLING_H
#define HEAP_SPELLING_H

/**
 * One spelling for the names of types, whoever wrote them.
 *
 * A demangled symbol, gcc's debug information and clang's have three spellings of one type, and people a fourth:
 *
 *	foo<char const*, unsigned long, 4ul>     the symbol's, demangled
 *	foo<const char*, long unsigned int, 4>   gcc's
 *	foo<const char *, unsigned long, 4>      clang's
 *	foo<const char*,unsigned long,4>
 *
 * Here they have no spaces, no keywords such as struct, no qualifiers and suffixes, and one order of words.
 */

#include <stdbool.h>
#include <stddef.h>

enum {
	HEAP_SPELLING_MAX = 4096, /**< bytes of one spelling; longer ones are as good as none */
};

/**
 * Spells a name.
 *
 * @param length          of the name, which need not end there
 * @param has_qualifiers  with a mark behind what is const or volatile
 * @param text            [HEAP_SPELLING_MAX]
 * @return false: it is too long, and cut off
 */
bool heap_spell(const char *name, size_t length, bool has_qualifiers, char *text);

#endif
