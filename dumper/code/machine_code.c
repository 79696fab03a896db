// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/code/machine_code.h"

#include <stddef.h>
#include <string.h>

enum {
	MAX_LENGTH = 15, // bytes of an instruction
	OPERAND = 1,     // there is a ModRM byte
	BYTE = 2,        // an immediate of 1 byte
	FULL = 4,        // of 4 bytes; of 2 with 16-bit operands
	NEAR = 8,        // a distance of 4 bytes, always
	UNKNOWN = 16,
};

// The bytes that are left.
struct bytes {
	const uint8_t *at, *end;
	bool failed;
};

static uint8_t take(struct bytes *bytes)
{
	if (bytes->at == bytes->end) {
		bytes->failed = true;
		return 0;
	}
	return *bytes->at++;
}

// @param size  0, 1, 2, 4 or 8
static int64_t take_signed(struct bytes *bytes, unsigned size)
{
	const uint8_t *at = bytes->at;
	int64_t wide;
	int32_t full;
	int16_t half;

	if (size > (size_t)(bytes->end - at)) {
		bytes->failed = true;
		return 0;
	}
	bytes->at += size;
	switch (size) {
	case 0:
		return 0;
	case 1:
		return (int8_t)*at;
	case 2:
		memcpy(&half, at, sizeof(half));
		return half;
	case 4:
		memcpy(&full, at, sizeof(full));
		return full;
	default:
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
}

// --- what follows an opcode ------------------------------------------------------

/*
 * A character for each opcode, 16 in a row:
 *
 *	.  nothing         b  an immediate of 1 byte        M  an operand (a ModRM byte)
 *	?  not known       f  of 4, or 2 if it is narrow    B  an operand and 1 byte
 *	                   n  a distance of 4 bytes         F  an operand, and 4 or 2 bytes
 */
static const char one_byte[] = "MMMMbf??MMMMbf??" // 00
			       "MMMMbf??MMMMbf??"
			       "MMMMbf??MMMMbf??"
			       "MMMMbf??MMMMbf??"
			       "????????????????" // 40: prefixes
			       "................"
			       "???M????fFbB????"
			       "bbbbbbbbbbbbbbbb"
			       "BF?BMMMMMMMMMMMM" // 80
			       "..........?....."
			       "????....bf......"
			       "bbbbbbbbffffffff"
			       "BB?.??BF?.??.???" // c0
			       "MMMM????MMMMMMMM"
			       "????????nn?b????"
			       "????..MM..??..MM";

static const char two_bytes[] = "?????.?????.?M??" // 00
				"MMMMMMMMMMMMMMMM"
				"????????MMMMMMMM"
				"?.??????????????"
				"MMMMMMMMMMMMMMMM" // 40
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM"
				"BBBBMMM.MMMMMMMM"
				"nnnnnnnnnnnnnnnn" // 80
				"MMMMMMMMMMMMMMMM"
				"??.MBM?????MBMMM"
				"MMMMMMMMMMBMMMMM"
				"MMBMBBBM........" // c0
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM"
				"MMMMMMMMMMMMMMMM";

_Static_assert(sizeof(one_byte) == 257 && sizeof(two_bytes) == 257, "one for each opcode");

static uint8_t form_of(const struct heapsnap_instruction *instruction)
{
	char form = '?';

	if (instruction->map == HEAPSNAP_MAP_ONE)
		form = one_byte[instruction->opcode];
	else if (instruction->map == HEAPSNAP_MAP_0F)
		form = two_bytes[instruction->opcode];
	else if (instruction->map == HEAPSNAP_MAP_0F38)
		form = 'M';
	else if (instruction->map == HEAPSNAP_MAP_0F3A)
		form = 'B';
	switch (form) {
	case '.':
		return 0;
	case 'b':
		return BYTE;
	case 'f':
		return FULL;
	case 'n':
		return NEAR;
	case 'M':
		return OPERAND;
	case 'B':
		return OPERAND | BYTE;
	case 'F':
		return OPERAND | FULL;
	default:
		return UNKNOWN;
	}
}

// --- parts of an instruction -------------------------------------------------------

// The bits that widen registers' numbers.
struct extension {
	uint8_t reg, index, base; // 0 or 8
};

static void set_extension(struct extension *extension, uint8_t bits)
{
	extension->reg = bits & 4 ? 8 : 0;
	extension->index = bits & 2 ? 8 : 0;
	extension->base = bits & 1 ? 8 : 0;
}

// A VEX prefix, of which 0xc4 or 0xc5 has been taken. Its bits are inverted.
static void take_vector(struct bytes *bytes, uint8_t first, struct heapsnap_instruction *result,
			struct extension *extension)
{
	uint8_t byte = take(bytes);

	result->is_vector = true;
	result->map = HEAPSNAP_MAP_0F;
	set_extension(extension, first == 0xc5 ? ~byte >> 5 & 4 : ~byte >> 5 & 7);
	if (first == 0xc4) {
		result->map = byte & 0x1f;
		byte = take(bytes);
	}
	result->is_wide = first == 0xc4 && byte & 0x80;
	result->opcode = take(bytes);
}

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

static void take_prefixes(struct bytes *bytes, struct heapsnap_instruction *result,
			  struct extension *extension)
{
	uint8_t byte = take(bytes);

	while (is_prefix(byte)) {
		result->is_narrow = result->is_narrow || byte == 0x66;
		// Linkers pad calls with 0x67, which makes addresses of memory narrow.
		result->is_based = result->is_based || byte == 0x64 || byte == 0x65 || byte == 0x67;
		byte = take(bytes);
	}
	if ((byte & 0xf0) == 0x40) {
		set_extension(extension, byte);
		result->is_wide = byte & 8;
		result->is_narrow = result->is_narrow && !result->is_wide;
		byte = take(bytes);
	} else if (byte == 0xc4 || byte == 0xc5) {
		take_vector(bytes, byte, result, extension);
		return;
	}
	if (byte == 0x0f) {
		byte = take(bytes);
		result->map = byte == 0x38   ? HEAPSNAP_MAP_0F38
			      : byte == 0x3a ? HEAPSNAP_MAP_0F3A
					     : HEAPSNAP_MAP_0F;
		if (result->map != HEAPSNAP_MAP_0F)
			byte = take(bytes);
	}
	result->opcode = byte;
}

// The byte that scales an index. @param mod  the upper bits of the one before it
static void take_scaled(struct bytes *bytes, uint8_t mod, const struct extension *extension,
			struct heapsnap_instruction *result)
{
	uint8_t byte = take(bytes), index = (byte >> 3 & 7) | extension->index;

	result->scale = byte >> 6;
	result->index = index == 4 ? HEAPSNAP_NO_REGISTER : index;
	result->base = (byte & 7) | extension->base;
	if ((byte & 7) == 5 && mod == 0) {
		result->base = HEAPSNAP_NO_REGISTER;
		result->displacement = (int32_t)take_signed(bytes, 4);
	}
}

static void take_operand(struct bytes *bytes, const struct extension *extension,
			 struct heapsnap_instruction *result)
{
	uint8_t byte = take(bytes), mod = byte >> 6;

	result->has_operand = true;
	result->reg = (byte >> 3 & 7) | extension->reg;
	result->rm = (byte & 7) | extension->base;
	result->is_memory = mod != 3;
	result->base = result->index = HEAPSNAP_NO_REGISTER;
	if (!result->is_memory)
		return;
	if ((byte & 7) == 4) {
		take_scaled(bytes, mod, extension, result);
	} else if ((byte & 7) == 5 && mod == 0) {
		result->is_relative = true;
		result->displacement = (int32_t)take_signed(bytes, 4);
	} else {
		result->base = result->rm;
	}
	if (mod == 1)
		result->displacement = (int32_t)take_signed(bytes, 1);
	else if (mod == 2)
		result->displacement = (int32_t)take_signed(bytes, 4);
}

static unsigned immediate_size(const struct heapsnap_instruction *result, uint8_t form)
{
	bool is_one = result->map == HEAPSNAP_MAP_ONE;

	// mov of a constant to a register is the only one with 8 bytes; test has one in its group.
	if (is_one && (result->opcode & 0xf8) == 0xb8 && result->is_wide)
		return 8;
	if (is_one && (result->opcode & 0xfe) == 0xf6 && (result->reg & 7) < 2)
		form |= result->opcode & 1 ? FULL : BYTE;
	if (form & FULL)
		return result->is_narrow ? 2 : 4;
	return form & NEAR ? 4 : form & BYTE ? 1 : 0;
}

bool heapsnap_decode(const uint8_t *at, const uint8_t *end, struct heapsnap_instruction *result)
{
	struct bytes bytes = { at, end - at > MAX_LENGTH ? at + MAX_LENGTH : end, false };
	struct extension extension = { 0 };
	uint8_t form;

	*result = (struct heapsnap_instruction){ .base = HEAPSNAP_NO_REGISTER,
						 .index = HEAPSNAP_NO_REGISTER };
	take_prefixes(&bytes, result, &extension);
	form = form_of(result);
	if (form & UNKNOWN)
		return false;
	if (form & OPERAND)
		take_operand(&bytes, &extension, result);
	else
		result->rm = (result->opcode & 7) | extension.base;
	result->immediate = take_signed(&bytes, immediate_size(result, form));
	result->next = bytes.at;
	return !bytes.failed;
}
