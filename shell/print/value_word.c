// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/value_word.h"

#include "shell/print/container_parts.h"
#include "shell/print/container_text.h"
#include "shell/print/library_value.h"
#include "shell/print/value_print.h"

#include <string.h>

enum {
	MAX_DEPTH = 8, // optionals and the like inside each other
};

const char *value_word(struct session *session, const struct place *place, size_t *length)
{
	struct place at = *place, inside;
	const char *text;

	for (int depth = 0; depth < MAX_DEPTH && container_find_value(session, &at, &inside);
	     depth++)
		at = inside;
	text = container_text_read(session, &at, length);
	if (text)
		return text;
	text = library_value_text(session, &at, length);
	if (text)
		return text;
	text = value_describe(session, at.value, at.type, at.offset);
	*length = strlen(text);
	return *text ? text : NULL;
}
