// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_CODE_PLACE_H
#define HEAP_CODE_PLACE_H

/**
 * A place in the code as users name it: FUNCTION, FILE or FILE:LINE; and as it is printed where
 * no line is known: FUNCTION+0xN, MODULE+0xN or 0xADDRESS.
 */

#include "lib/snapshot/snapshot.h"

struct heap_code_place {
	const char *pattern;
	size_t file_length; /**< before the colon */
	uint32_t line;      /**< 0: none */
	size_t name_length; /**< before the +0x; 0: none */
	uint64_t offset;    /**< behind it */
	uint64_t address;   /**< 0: none */
	bool unqualified;   /**< set by the caller: functions of any namespace or class */
};

/** The code that a site or a call is. */
struct heap_code {
	uint64_t address;
	uint64_t offset;   /**< bytes into the function, or the module without one */
	uint32_t module;   /**< or HEAP_NO_INDEX */
	uint32_t function; /**< with file: in the strings of the snapshot */
	uint32_t file;
	uint32_t line;
};

/** Parses what a user typed, which always names a place. @param word  must outlive the result */
struct heap_code_place heap_code_place_parse(const char *word);

/** True if code is at the place. A file is named with its directories, or without. */
bool heap_code_place_matches(const struct heap_snapshot *snapshot,
			     const struct heap_code_place *place, const struct heap_code *code);

#endif
