// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEADERS_H
#define HEADERS_H

/**
 * The scalar members with which structs begin, and their values in blocks. Programs that make
 * objects of many types begin all of them with the same members.
 */

#include "dumper/writer/infer/layout.h"

enum {
	HEADER_BYTES = 64,     /**< of a block's header, at most */
	HEADER_MEMBERS = 64,   /**< at most */
	HEADER_EXTENSIONS = 2, /**< types that must begin with a base */
};

/** A number in the header of a struct. */
struct header_member {
	const char *name; /**< the types' */
	uint32_t offset;  /**< bytes */
	uint8_t size;     /**< bytes */
	uint8_t shift, bits;
};

struct header_members {
	struct header_member list[HEADER_MEMBERS];
	uint32_t count;
};

struct header {
	uint64_t words[HEADER_BYTES / 8];
};

/** Adds the scalar members of a struct's header to the list. */
void headers_gather(const struct heap_types *types, heap_type_id type,
		    struct header_members *members);

/** True if a member of this name, place and size is among them. */
bool headers_have(const struct header_members *members, const struct header_member *member);

/** True if a type begins with such a member. */
bool headers_type_has(const struct heap_types *types, heap_type_id type,
		      const struct header_member *member);

/** True if a type begins with all of these. */
bool headers_begin(const struct heap_types *types, heap_type_id type,
		   const struct header_members *base);

/** True if larger types begin with the numbers of this one. Reads all types. */
bool headers_is_prefix(const struct heap_types *types, heap_type_id type);

uint64_t headers_value(const struct header_member *member, const struct header *header);

#endif
