// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAST_SEARCH_H
#define CAST_SEARCH_H

/**
 * What code_casts.h knows while it goes through the functions of a module: of all of them, and, in its second half, of the one
 * that it is at. The files cast_*.c share it.
 */

#include "dumper/writer/casts/cast_places.h"
#include "dumper/writer/casts/cast_results.h"
#include "dumper/writer/casts/code_cast_visitor.h"
#include "dumper/writer/casts/moves.h"
#include "lib/base/hash_table.h"
#include "lib/dwarf/dwarf_code.h"

enum {
	CAST_LATE = 2, /**< instructions behind a value until which a variable begins to be it */
	CAST_MAX_GIVEN = 64, /**< places in a frame that functions have stored members in */
};

/** Where a value is from. */
enum cast_source {
	FROM_NOWHERE,
	FROM_MEMBER,
	FROM_PARAMETER, /**< of the function itself */
	FROM_CALL,      /**< what a function has returned */
	FROM_GIVEN,     /**< or has stored where a parameter leads to */
	FROM_FRAME,     /**< an address in the frame */
};

struct cast_origin {
	enum cast_source source;
	struct cast_member member;       /**< FROM_MEMBER */
	uint64_t function;               /**< FROM_CALL, FROM_GIVEN */
	int64_t offset;                  /**< FROM_FRAME: as variables there have it */
	uint8_t reg;                     /**< FROM_PARAMETER, FROM_GIVEN */
	struct cast_container container; /**< FROM_CALL, FROM_GIVEN: that the function got */
};

/** The value that the last instruction has put into a register. */
struct cast_value {
	uint64_t since; /**< address behind that instruction; 0: nothing */
	uint64_t type;  /**< of the variable or member that it is, if that has roles */
	uint32_t inner; /**< how far behind the start of what it would lead to it does */
	uint8_t roles;
	struct cast_origin origin;
	struct cast_container container; /**< that a static pointer, or one in a struct, leads to */
	uint64_t copied; /**< since when the register has what this is a copy of; 0: none */
	uint8_t twin;    /**< that register */
};

/** A register whose value may become a variable some instructions later than it comes there. */
struct cast_late {
	uint64_t since; /**< of the value */
	uint8_t reg;
	uint8_t left; /**< instructions */
};

/** What a function has stored in a place in the frame. */
struct cast_given {
	int64_t offset;
	struct cast_origin origin; /**< FROM_GIVEN */
};

struct cast_known_role {
	uint64_t type;
	unsigned roles;
};

struct cast_search {
	const struct code_cast_visitor *visitor;
	struct heap_dwarf_code *code;
	struct heap_dwarf_locations *locations;
	struct HEAP_ARRAY(struct cast_known_role) roles;
	struct heap_hash_table by_type;
	struct cast_paths paths;
	struct cast_results results;
	/* These belong to the function that is looked at. */
	uint64_t entry;
	struct HEAP_ARRAY(struct cast_variable) variables;
	struct cast_places places;
	/** [variables] Of what void pointers were set to. */
	struct HEAP_ARRAY(struct cast_origin) origins;
	bool sets_frame_pointer; /**< as far as it has been looked at */
	struct cast_value values[MOVE_REGISTERS];
	struct cast_given given[CAST_MAX_GIVEN]; /**< [given_count] */
	uint32_t given_count;
	struct cast_late late[CAST_LATE]; /**< the values before the last ones */
	uint32_t next_late;
	struct cast_container container; /**< that the call which is looked at hands over */
	struct HEAP_ARRAY(uint8_t) bytes;
	struct HEAP_ARRAY(uint8_t) targets; /**< bits.h: bytes that code jumps to */
	uint64_t block;           /**< where the last code began that nothing jumps into */
	struct heap_error *error; /**< no memory, or the visitor's */
};

void cast_search_deinit(struct cast_search *search);

/** Tells the visitor that what a member has is cast to the target. */
void cast_search_visit(struct cast_search *search, const struct cast_member *member,
		       uint64_t target);

/** Keeps an error; damage costs the function that it is in, and is none. @return false after an error or damage */
bool cast_search_worked(struct cast_search *search, struct heap_error *error);

/** The roles of a type, enum cast_role, which the visitor is asked for once. */
unsigned cast_search_roles(struct cast_search *search, uint64_t type);

#endif
