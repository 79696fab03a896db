// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINER_TEXT_H
#define CONTAINER_TEXT_H

/**
 * The text of strings: std::string and similar classes, with short strings in the object itself and
 * long ones in a block; std::string_view; and the strings of Rust.
 */

#include "shell/print/place.h"

/** Prints a line: name = "text". @return false if that does not look like a string */
bool container_text_print(struct session *session, const struct place *place, const char *name,
			  int indent, enum value_limit limit);

/** The text, quoted, its first 48 bytes; "" if that does not look like a string. */
const char *container_text_describe(struct session *session, const struct place *place);

/** All of the text that was kept, as UTF-8; NULL if that does not look like a string. */
const char *container_text_read(struct session *session, const struct place *place, size_t *length);

#endif
