// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VALUE_PRINT_H
#define VALUE_PRINT_H

/**
 * Values by their types: what `show` prints of objects and variables.
 *
 *	next = struct node at 0x5f0010          an indented line per field,
 *	colour = GREEN                          nested structures indented below theirs
 *	name = "hello"
 *	size = {
 *	  width = 640
 *	}
 */

#include "shell/print/value.h"

/** Begins a line: "name = ", or nothing but its indentation without a name. */
void value_begin_line(struct session *session, const char *name, int indent);

/** Prints a line of one word, "name = NULL"; in JSON a string. */
void value_print_word(struct session *session, const char *name, int indent, const char *word);

/**
 * Describes a pointer's target: "struct node at 0x5f0010", "&struct slot[3] in struct slot[12] at
 * 0x5f0020", "compare (app.c:12)", "NULL", "0x…".
 *
 * @param pointee  by the pointer's type, or HEAP_NO_TYPE
 */
const char *value_describe_pointer(struct session *session, uint64_t pointer, heap_type_id pointee);

/** The members "pointer" and "object", for JSON. */
void value_pointer_json(struct session *session, uint64_t pointer, heap_type_id pointee);

/**
 * The text of one value that is no structure and no array: "7", "BLUE", "struct node at
 * 0x5f0010"; "" for those that are.
 */
const char *value_describe(struct session *session, const struct value *value, heap_type_id type,
			   uint64_t offset);

/**
 * Prints one value of @p type at @p offset.
 *
 * @param name    the field's; also the JSON key
 * @param indent  columns
 */
void value_print(struct session *session, const struct value *value, heap_type_id type,
		 uint64_t offset, const char *name, int indent, enum value_limit limit);

/** Prints @p count values of @p type as an array's elements. */
void value_print_elements(struct session *session, const struct value *value, heap_type_id type,
			  uint64_t offset, uint64_t count, int indent, enum value_limit limit);

/** Prints a structure's members, or the value itself if it is none ("value = 7"). */
void value_print_members(struct session *session, const struct value *value, heap_type_id type,
			 int indent, enum value_limit limit);

/** The same of a value at @p offset. */
void value_print_members_at(struct session *session, const struct value *value, heap_type_id type,
			    uint64_t offset, int indent, enum value_limit limit);

/** Prints the members of a structure at @p offset, without braces; nothing of other types. */
void value_print_fields(struct session *session, const struct value *value, heap_type_id type,
			uint64_t offset, int indent, enum value_limit limit);

/** Prints the characters of a buffer: as text if they are, else as bytes. */
void value_print_characters(struct session *session, const struct value *value, int indent,
			    enum value_limit limit);

/** Says how many bytes the snapshot lacks, if any, and how to get them. */
void value_print_missing(struct session *session, const struct value *value, int indent);

/** Prints bytes of no known type, 16 a line. */
void value_print_bytes(struct session *session, const struct value *value, int indent,
		       enum value_limit limit);

/** The same of those from an offset on. @param key  in JSON */
void value_print_bytes_from(struct session *session, const struct value *value, uint64_t offset,
			    const char *key, int indent, enum value_limit limit);

#endif
