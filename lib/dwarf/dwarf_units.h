// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_UNITS_H
#define HEAP_DWARF_UNITS_H

/**
 * The units of a file's debug information, of the alternate file that dwz made, and of the
 * split files that the compiler made.
 *
 * (DWARF 5, section 7.5.1.) A DIE is known by its place: the section in the topmost
 * bits, and its offset in that. A place in .debug_info is its offset.
 */

#include "lib/dwarf/dwarf_sections.h"
#include "lib/dwarf/elf_file.h"

enum heap_dwarf_place {
	HEAP_DWARF_INFO,
	HEAP_DWARF_TYPES,     /**< .debug_types, before DWARF 5 */
	HEAP_DWARF_ALTERNATE, /**< .debug_info of the alternate file */
	HEAP_DWARF_SPLIT = 4, /**< .debug_info.dwo of the first split file */
};

#define HEAP_DWARF_PLACE_SHIFT 40
#define HEAP_DWARF_OFFSET_MASK (((uint64_t)1 << HEAP_DWARF_PLACE_SHIFT) - 1)
/** No DIE is there; the first unit's header is. */
#define HEAP_DWARF_NOWHERE ((uint64_t)0)

/** Where a unit's indexes and offsets count from, in the sections that they are of. */
struct heap_dwarf_bases {
	uint64_t string_offsets, addresses;
	uint64_t range_lists, location_lists;     /**< tables of offsets of lists, by index */
	uint64_t range_offsets, location_offsets; /**< lists that are said by offset */
	uint64_t split_ranges; /**< of a skeleton: range_offsets of the split unit */
	uint64_t lines;        /**< where the unit's line table is, if has_lines */
	uint64_t address;      /**< DW_AT_low_pc: what offsets of code count from */
	bool has_lines;
};

struct heap_dwarf_unit {
	uint64_t start; /**< place of the header */
	uint64_t die;   /**< place of the first DIE */
	uint64_t end;   /**< of the unit; in the same section */
	uint64_t abbreviations;
	uint64_t signature;    /**< of a type unit; of a skeleton and its split unit: DWO id */
	uint64_t type_die;     /**< place; HEAP_DWARF_NOWHERE unless it is a type unit */
	uint32_t skeleton;     /**< in skeletons, + 1: of a skeleton or a split unit; 0: none */
	uint32_t contribution; /**< in contributions, + 1; 0: none */
	uint8_t version;
	uint8_t address_size;
	uint8_t offset_size;
	uint8_t type; /**< DW_UT_...; before DWARF 5 its equivalent */
	bool split;   /**< it is in a split file */
};

/** A unit of the main file that stands for one in a split file. */
struct heap_dwarf_skeleton {
	uint32_t unit;
	uint32_t full; /**< the split unit; UINT32_MAX if it was not found */
	uint64_t id;
	const char *name, *directory; /**< of the split file; of the sections */
	struct heap_dwarf_bases bases;
};

/** A split file: .dwo, or .dwp, in which many are packed together. */
struct heap_dwarf_split_file {
	struct heap_dwarf_sections sections;
	char *path;
};

/**
 * The main file's sections are numbers 0 and 1, the alternate file's 2 and 3, those of the
 * nth split file 4 + 2 n and 5 + 2 n.
 */
struct heap_dwarf_units {
	const char *path; /**< the caller's */
	struct heap_dwarf_sections main;
	struct heap_dwarf_sections alternate; /**< empty unless there is one */
	int alternate_descriptor;
	struct heap_dwarf_split_file *split; /**< [split_count] */
	size_t split_count, split_capacity;
	struct heap_dwarf_unit *units; /**< [count] by place */
	size_t count, capacity;
	struct heap_dwarf_skeleton *skeletons;  /**< [skeleton_count] */
	struct heap_dwarf_bases *contributions; /**< of units of packages: where theirs begin */
	size_t skeleton_count, skeleton_capacity, contribution_count, contribution_capacity;
	uint32_t *by_signature; /**< [signature_count] type units, by signature */
	size_t signature_count;
	uint64_t unreadable; /**< with headers that make no sense */
	char *missing;       /**< says which files were not found; or NULL */
};

/**
 * Fetches a debug file from elsewhere.
 *
 * @param path  gets its path, malloc'd; NULL if it cannot be had
 * @param why   gets the reason for that, or NULL
 */
typedef struct heap_error *heap_dwarf_fetch(const struct heap_build_id *id, char **path,
					    const char **why);

/** Sets how alternate files are fetched that are not on this machine; NULL: they are not. */
void heap_dwarf_set_fetch(heap_dwarf_fetch *fetch);

/**
 * Reads the headers of all units of a file and of its alternate file. Split files and the index of
 * type units are missing yet: heap_dwarf_file_units() does all of it.
 *
 * @param path  of the file; must live as long
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_units_open(int descriptor, const char *path,
					 struct heap_dwarf_units *result);

/** Reads the headers of one more section. @param section  its number */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_units_read(struct heap_dwarf_units *units, uint64_t section);

/** Sorts the type units by their signatures, when all units have been read. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_units_index_types(struct heap_dwarf_units *units);

void heap_dwarf_units_close(struct heap_dwarf_units *units);

/** The unit that a DIE is in, or NULL. */
const struct heap_dwarf_unit *heap_dwarf_units_find(const struct heap_dwarf_units *units,
						    uint64_t place);

/** The unit whose header is at that place, or NULL. */
const struct heap_dwarf_unit *heap_dwarf_units_at(const struct heap_dwarf_units *units,
						  uint64_t start);

/** The unit that has the DIEs: for a skeleton the split unit if it was found, else itself. */
const struct heap_dwarf_unit *heap_dwarf_units_full(const struct heap_dwarf_units *units,
						    const struct heap_dwarf_unit *unit);

/** Loads the sections that say of ranges of code and of locations. */
void heap_dwarf_units_load_late(struct heap_dwarf_units *units);

/** The type unit of that signature, or NULL. */
const struct heap_dwarf_unit *heap_dwarf_units_find_type(const struct heap_dwarf_units *units,
							 uint64_t signature);

/** The sections of the file that the unit is in. */
const struct heap_dwarf_sections *heap_dwarf_units_sections(const struct heap_dwarf_units *units,
							    const struct heap_dwarf_unit *unit);

/** True if no part of the debug information is in files or sections that could not be read. */
bool heap_dwarf_units_are_complete(const struct heap_dwarf_units *units);

/** The section that a place is in. */
struct heap_dwarf_bytes heap_dwarf_units_section(const struct heap_dwarf_units *units,
						 uint64_t place);

#endif
