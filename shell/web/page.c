// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/web/page.h"

#include "lib/base/escape.h"
#include "shell/web/parts.h"

#include <string.h>

// "<" ends a script wherever it stands in it, but in JSON it stands in strings alone.
static void write_data(FILE *stream, const char *data, size_t size)
{
	const char *end = data + size;

	while (data < end) {
		const char *next = memchr(data, '<', (size_t)(end - data));
		size_t length = (size_t)((next ? next : end) - data);

		fwrite(data, 1, length, stream);
		if (next)
			fputs("\\u003c", stream);
		data += length + (next != NULL);
	}
}

void page_write(FILE *stream, const char *frame, const char *program, const char *data, size_t size)
{
	const char *at = frame;

	for (;;) {
		const char *begin = strchr(at, '@');
		const char *end = begin ? strchr(begin + 1, '@') : NULL;

		if (!end)
			break;
		fwrite(at, 1, (size_t)(begin - at), stream);

		const char *part = report_part(begin + 1, (size_t)(end - begin - 1));

		if (part)
			fputs(part, stream);
		else if (strncmp(begin, "@data@", 6) == 0)
			write_data(stream, data, size);
		else
			heap_escape_put(stream, HEAP_ESCAPE_XML, program);
		at = end + 1;
	}
	fputs(at, stream);
}
