// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SCALAR_H
#define HEAP_SCALAR_H

/**
 * The values of fields that are numbers or pointers: integers of up to 16 bytes, real numbers of every
 * format that compilers have, complex numbers.
 *
 * The formats that a table of types does not tell apart have names of their own: __bf16, _Float128,
 * real(kind=16), complex double.
 */

#include "lib/types/member_path.h"

/** An integer of 16 bytes. */
__extension__ typedef unsigned __int128 heap_wide;

enum heap_scalar_kind {
	HEAP_SCALAR_UNSIGNED,
	HEAP_SCALAR_SIGNED,
	HEAP_SCALAR_REAL,
	HEAP_SCALAR_COMPLEX,
	HEAP_SCALAR_POINTER,
};

struct heap_scalar {
	enum heap_scalar_kind kind;
	uint8_t size;    /**< bytes of the field's type; of a complex number, of each part */
	uint64_t number; /**< also pointers; two's complement if signed; the low half of 16 bytes */
	uint64_t high;   /**< the other half; of shorter ones that are signed, as many signs */
	long double real; /**< the same as a real number; of pointers 0 */
	long double imaginary;
};

enum {
	HEAP_SCALAR_TEXT = 128, /**< bytes that suffice for the text of any scalar, with NUL */
};

/** True if a field is a number or a pointer, which heap_scalar_load() can read. */
bool heap_scalar_is(const struct heap_types *types, heap_type_id type);

/**
 * Reads the value of a field.
 *
 * @param bytes  [kept] of the whole
 * @return false if it is no scalar, or its bytes are not there
 */
bool heap_scalar_load(const struct heap_types *types, const struct heap_member_place *place,
		      const uint8_t *bytes, uint64_t kept, struct heap_scalar *result);

/** All bits of an integer. */
static inline heap_wide heap_scalar_wide(const struct heap_scalar *scalar)
{
	return (heap_wide)scalar->high << 64 | scalar->number;
}

/**
 * Formats a number in decimal. Real numbers have the digits that their format is sure to have, complex ones
 * two parts: "1 - 2i".
 *
 * @param buffer  [HEAP_SCALAR_TEXT]
 */
void heap_scalar_format(const struct heap_scalar *scalar, char *buffer);

/**
 * Parses an integer, in decimal or hexadecimal, with or without a minus.
 *
 * @param result  in two's complement
 * @return false if there is anything else, or it has no room in 16 bytes
 */
bool heap_parse_wide(const char *text, heap_wide *result);

#endif
