// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_SECTIONS_H
#define HEAP_DWARF_SECTIONS_H

/**
 * The bytes of a file's debug sections, decompressed, and a safe way to read them.
 *
 * For the readers of all DIEs of all units, a hundred million of them in a large program. libdwarf
 * makes objects of DIEs and attributes, and so is ten times slower.
 */

#include "lib/base/array.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_dwarf_bytes {
	const uint8_t *bytes; /**< [size] */
	uint64_t size;
};

struct heap_dwarf_sections {
	struct Elf *elf; /**< libelf's; owns the bytes */
	struct heap_dwarf_bytes info, types, abbreviations, addresses, lines;
	/** Tables of strings end with a NUL: what follows their last is cut off. */
	struct heap_dwarf_bytes strings, line_strings;
	struct heap_dwarf_bytes string_offsets;
	/** Loaded by heap_dwarf_sections_load_late(): who reads types alone has no use for them. */
	struct heap_dwarf_bytes address_ranges, ranges, range_lists, locations, location_lists;
	struct heap_dwarf_bytes alternate;     /**< .gnu_debugaltlink: a name, NUL, a build id */
	struct heap_dwarf_bytes supplementary; /**< .debug_sup: the same, since DWARF 5 */
	struct heap_dwarf_bytes unit_index, type_index; /**< of packages of split files */
	uint8_t *joined[2];                    /**< private: several sections of one name, as one */
	struct HEAP_ARRAY(uint8_t *) unpacked; /**< private: what libelf could not unpack */
	bool split;                            /**< these are the .debug_...dwo of the file */
	bool is_partial;                       /**< some sections could not be read */
	bool has_zstd; /**< some sections are compressed with what could not be undone */
};

/**
 * @param descriptor  stays the caller's and must stay open, unless the file is split
 * @param split       take .debug_info.dwo for .debug_info, and so on
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_sections_open(int descriptor, const char *path, bool split,
					    struct heap_dwarf_sections *result);

/** Loads the sections that only the places of variables and the ranges of code need: .debug_ranges, .debug_loc... */
void heap_dwarf_sections_load_late(struct heap_dwarf_sections *sections);

void heap_dwarf_sections_close(struct heap_dwarf_sections *sections);

/** A section as libdwarf wants to see it. */
struct heap_dwarf_section {
	const char *name; /**< as in a file: ".debug_line", ".debug_loc.dwo" */
	struct heap_dwarf_bytes bytes;
	uint64_t address; /**< of the section; matters for .eh_frame */
};

/**
 * Lists the sections that libdwarf reads, by the names that they have in a file.
 *
 * @param result  [max]
 * @return how many there are
 */
size_t heap_dwarf_sections_list(const struct heap_dwarf_sections *sections,
				struct heap_dwarf_section *result, size_t max);

/** True if the file has that build id. */
bool heap_dwarf_sections_is(const struct heap_dwarf_sections *sections, const uint8_t *build_id,
			    size_t size);

/* --- reading bytes --- */

/** A place in a section. What would go beyond the end is not read: then `bad` is set. */
struct heap_dwarf_cursor {
	const uint8_t *at, *end;
	bool bad;
};

/** From @p offset on, up to @p end; bad if that is not inside. */
static inline struct heap_dwarf_cursor heap_dwarf_cursor(struct heap_dwarf_bytes section,
							 uint64_t offset, uint64_t end)
{
	struct heap_dwarf_cursor cursor = { .bad = true };

	if (end <= section.size && offset <= end && section.bytes)
		cursor = (struct heap_dwarf_cursor){ section.bytes + offset, section.bytes + end,
						     false };
	return cursor;
}

static inline const uint8_t *heap_dwarf_skip(struct heap_dwarf_cursor *cursor, uint64_t size)
{
	const uint8_t *start = cursor->at;

	if (size > (uint64_t)(cursor->end - cursor->at)) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return NULL;
	}
	cursor->at += size;
	return start;
}

/** An unsigned number of @p size bytes, 8 at most; 0 if there are not that many. */
static inline uint64_t heap_dwarf_fixed(struct heap_dwarf_cursor *cursor, unsigned size)
{
	const uint8_t *bytes = heap_dwarf_skip(cursor, size);
	uint64_t number = 0;

	for (unsigned i = 0; bytes && i < size; i++)
		number |= (uint64_t)bytes[i] << 8 * i;
	return number;
}

/** ULEB128; bits beyond 64 are lost. */
static inline uint64_t heap_dwarf_unsigned(struct heap_dwarf_cursor *cursor)
{
	uint64_t number = 0;
	unsigned shift = 0;

	while (cursor->at < cursor->end) {
		uint8_t byte = *cursor->at++;

		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
		shift += 7;
	}
	cursor->bad = true;
	return 0;
}

/** SLEB128 */
static inline int64_t heap_dwarf_signed(struct heap_dwarf_cursor *cursor)
{
	uint64_t number = 0;
	unsigned shift = 0;

	while (cursor->at < cursor->end) {
		uint8_t byte = *cursor->at++;

		if (shift < 64)
			number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && byte & 0x40)
			number |= ~(uint64_t)0 << shift;
		return (int64_t)number;
	}
	cursor->bad = true;
	return 0;
}

/** A string with its NUL; "" if there is none. */
const char *heap_dwarf_string(struct heap_dwarf_cursor *cursor);

/** The string at an offset of a table of strings, "" if that is outside. */
const char *heap_dwarf_string_at(struct heap_dwarf_bytes strings, uint64_t offset);

#endif
