// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRUTH_LIBRARY_H
#define TRUTH_LIBRARY_H

/** Logs what the C++ library allocates: its nodes by the values in them, and the characters of strings. */

#include "t/truth/truth.h"

#include <string>

/** Logs the block that holds a value at an offset. */
static inline void log_at(const void *value, size_t offset, const char *type, size_t count = 1)
{
	truth_log(const_cast<char *>(static_cast<const char *>(value)) - offset, TRUTH_ARRAY, type,
		  count);
}

/** Logs the characters of a string, unless they are in the string itself. */
static inline void log_text(const std::string &text)
{
	const char *data = text.data(), *object = reinterpret_cast<const char *>(&text);

	if (data < object || data >= object + sizeof(text))
		truth_log(const_cast<char *>(data), TRUTH_TEXT, "char", text.capacity() + 1);
}

/** Logs the block in which a std::function or a std::any keeps what is too large for itself. @param at  of its pointer */
static inline void log_held(const void *holder, size_t at, const char *type)
{
	void *held;

	memcpy(&held, static_cast<const char *>(holder) + at, sizeof(held));
	truth_log(held, TRUTH_ARRAY, type, 1);
}

#endif
