// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/scalar.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// How the bytes of a number are to be read.
enum format {
	NO_NUMBER,
	INTEGER,
	HALF,     // IEEE 754 binary16
	BRAIN,    // the upper half of SINGLE
	SINGLE,   // binary32
	DOUBLE,   // binary64
	EXTENDED, // the machine's long double
	QUAD,     // binary128
};

// A floating-point format of IEEE 754 that the machine need not have.
struct layout {
	unsigned size, exponent_bits, fraction_bits;
};

static const struct heap_type *stripped(const struct heap_types *types, heap_type_id type)
{
	return &types->types[heap_types_strip(types, type)];
}

// --- formats -----------------------------------------------------------------

static bool is_complex(const char *name)
{
	return strstr(name, "omplex") || strcmp(name, "cfloat") == 0 ||
	       strcmp(name, "cdouble") == 0 || strcmp(name, "creal") == 0;
}

static bool is_quad(const char *name)
{
	return strstr(name, "loat128") || strstr(name, "(kind=16)");
}

static enum format real_format(const char *name, uint64_t size)
{
	switch (size) {
	case 2:
		return strstr(name, "bf16") || strstr(name, "bfloat") ? BRAIN : HALF;
	case 4:
		return SINGLE;
	case 8:
		return DOUBLE;
	case 16:
		return is_quad(name) ? QUAD : EXTENDED;
	default:
		return NO_NUMBER;
	}
}

// @param is_pair  gets true for a complex number, which is two of that format
static enum format base_format(const struct heap_types *types, const struct heap_type *type,
			       bool *is_pair)
{
	const char *name = heap_types_string(types, type->name);

	*is_pair = is_complex(name);
	if (*is_pair)
		return real_format(name, type->size / 2);
	// Decimal ones are read by nobody.
	if (strncmp(name, "_Decimal", strlen("_Decimal")) == 0)
		return NO_NUMBER;
	if (type->flags & HEAP_TYPE_FLOAT || (type->size == 16 && is_quad(name)))
		return real_format(name, type->size);
	return type->size > 0 && (type->size <= 8 || type->size == 16) ? INTEGER : NO_NUMBER;
}

static enum format format_of(const struct heap_types *types, const struct heap_type *type,
			     bool *is_pair)
{
	*is_pair = false;
	switch (type->kind) {
	case HEAP_TYPE_BASE:
		return base_format(types, type, is_pair);
	case HEAP_TYPE_ENUM:
		return type->size > 0 && type->size <= 8 ? INTEGER : NO_NUMBER;
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
	case HEAP_TYPE_MEMBER_POINTER: // to data: an offset
		return type->size == 8 ? INTEGER : NO_NUMBER;
	default:
		return NO_NUMBER;
	}
}

bool heap_scalar_is(const struct heap_types *types, heap_type_id type)
{
	bool is_pair;

	return format_of(types, stripped(types, type), &is_pair) != NO_NUMBER;
}

// --- reals -------------------------------------------------------------------

static long double decode(const uint8_t *bytes, struct layout layout)
{
	heap_wide word = 0, fraction;
	unsigned most = (1u << layout.exponent_bits) - 1, exponent;
	int bias = (int)(most / 2);
	long double value;

	memcpy(&word, bytes, layout.size);
	fraction = word & (((heap_wide)1 << layout.fraction_bits) - 1);
	exponent = (unsigned)(word >> layout.fraction_bits) & most;
	if (exponent == most)
		value = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexpl((long double)fraction, 1 - bias - (int)layout.fraction_bits);
	else
		value = ldexpl((long double)(fraction | (heap_wide)1 << layout.fraction_bits),
			       (int)exponent - bias - (int)layout.fraction_bits);
	return word >> (layout.size * 8 - 1) & 1 ? -value : value;
}

static long double load_real(const uint8_t *bytes, enum format format)
{
	long double extended = 0;
	double twice;
	float single;

	switch (format) {
	case HALF:
		return decode(bytes, (struct layout){ 2, 5, 10 });
	case BRAIN:
		return decode(bytes, (struct layout){ 2, 8, 7 });
	case QUAD:
		return decode(bytes, (struct layout){ 16, 15, 112 });
	case SINGLE:
		memcpy(&single, bytes, sizeof(single));
		return single;
	case DOUBLE:
		memcpy(&twice, bytes, sizeof(twice));
		return twice;
	default:
		memcpy(&extended, bytes, sizeof(extended));
		return extended;
	}
}

// --- integers ----------------------------------------------------------------

static bool is_signed(const struct heap_types *types, const struct heap_type *type)
{
	if (type->kind == HEAP_TYPE_ENUM && type->target != HEAP_NO_TYPE)
		type = stripped(types, type->target);
	return type->flags & HEAP_TYPE_SIGNED;
}

static void load_integer(const struct heap_types *types, const struct heap_type *type,
			 const uint8_t *bytes, unsigned shift, unsigned bits,
			 struct heap_scalar *result)
{
	heap_wide word = 0;

	memcpy(&word, bytes, (shift + bits + 7u) / 8);
	word >>= shift;
	if (bits < 128)
		word &= ((heap_wide)1 << bits) - 1;
	if (type->kind == HEAP_TYPE_POINTER || type->kind == HEAP_TYPE_REFERENCE) {
		result->kind = HEAP_SCALAR_POINTER;
	} else if (is_signed(types, type)) {
		result->kind = HEAP_SCALAR_SIGNED;
		if (bits < 128 && word >> (bits - 1) & 1)
			word |= ~(heap_wide)0 << bits;
		__extension__ result->real =
			bits <= 64 ? (long double)(int64_t)word : (long double)(__int128)word;
	} else {
		result->real = bits <= 64 ? (long double)(uint64_t)word : (long double)word;
	}
	result->number = (uint64_t)word;
	result->high = (uint64_t)(word >> 64);
}

bool heap_scalar_load(const struct heap_types *types, const struct heap_member_place *place,
		      const uint8_t *bytes, uint64_t kept, struct heap_scalar *result)
{
	const struct heap_type *type = stripped(types, place->type);
	bool is_pair;
	enum format format = format_of(types, type, &is_pair);
	struct heap_scalar scalar = { .kind = HEAP_SCALAR_UNSIGNED };
	unsigned bits = place->bit_size ? place->bit_size : (unsigned)type->size * 8;
	// A bit-field may end in the byte after its type's size.
	uint64_t size = place->bit_size ? (place->bit_offset + bits + 7u) / 8 : type->size;

	if (format == NO_NUMBER || place->offset > kept || size > kept - place->offset)
		return false;
	bytes += place->offset;
	scalar.size = (uint8_t)(is_pair ? type->size / 2 : type->size);
	if (format == INTEGER) {
		if (size > 16 || bits > 128)
			return false;
		load_integer(types, type, bytes, place->bit_offset, bits, &scalar);
	} else {
		scalar.kind = is_pair ? HEAP_SCALAR_COMPLEX : HEAP_SCALAR_REAL;
		scalar.real = load_real(bytes, format);
		if (is_pair)
			scalar.imaginary = load_real(bytes + scalar.size, format);
	}
	*result = scalar;
	return true;
}

// --- text --------------------------------------------------------------------

static void format_wide(heap_wide number, bool is_negative, char *buffer)
{
	char digits[64], *at = digits + sizeof(digits);

	*--at = '\0';
	if (is_negative)
		number = -number;
	do
		*--at = (char)('0' + (int)(number % 10));
	while (number /= 10);
	if (is_negative)
		*--at = '-';
	strcpy(buffer, at);
}

// As many digits as a value of that size is sure to have.
static int digits_of(const struct heap_scalar *scalar)
{
	return scalar->size == 2 ? 4 : scalar->size == 4 ? 7 : 15;
}

void heap_scalar_format(const struct heap_scalar *scalar, char *buffer)
{
	heap_wide number = heap_scalar_wide(scalar);
	int digits = digits_of(scalar);

	switch (scalar->kind) {
	case HEAP_SCALAR_REAL:
		snprintf(buffer, HEAP_SCALAR_TEXT, "%.*Lg", digits, scalar->real);
		break;
	case HEAP_SCALAR_COMPLEX:
		snprintf(buffer, HEAP_SCALAR_TEXT, "%.*Lg %c %.*Lgi", digits, scalar->real,
			 signbit(scalar->imaginary) ? '-' : '+', digits, fabsl(scalar->imaginary));
		break;
	case HEAP_SCALAR_SIGNED:
		format_wide(number, number >> 127, buffer);
		break;
	default:
		format_wide(number, false, buffer);
	}
}

// The value of a digit of that base, or the base if it is none.
static unsigned digit_of(char digit, unsigned base)
{
	unsigned value = isdigit((unsigned char)digit)    ? (unsigned)(digit - '0')
			 : isxdigit((unsigned char)digit) ? (unsigned)(tolower(digit) - 'a') + 10
							  : base;

	return value < base ? value : base;
}

bool heap_parse_wide(const char *text, heap_wide *result)
{
	bool is_negative = *text == '-';
	const char *at = text + is_negative;
	unsigned base = at[0] == '0' && (at[1] == 'x' || at[1] == 'X')  ? 16
			: at[0] == '0' && isdigit((unsigned char)at[1]) ? 8
									: 10;
	heap_wide number = 0;

	at += base == 16 ? 2 : 0;
	if (!*at)
		return false;
	for (; *at; at++) {
		unsigned digit = digit_of(*at, base);

		if (digit == base || number > (~(heap_wide)0 - digit) / base)
			return false;
		number = number * base + digit;
	}
	if (is_negative && number > (heap_wide)1 << 127)
		return false;
	*result = is_negative ? -number : number;
	return true;
}
