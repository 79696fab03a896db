// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/web/page.h"

#include "lib/base/escape.h"
#include "shell/web/parts.h"

#include <string.h>

struct page {
	FILE *stream;
	const char *program;
	const char *data;
	size_t size;
};

// "</script>" ends a script wherever it occurs. In JSON, a "<" occurs only in strings.
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

static void expand(const struct page *page, const char *text);

// @param name  what stands between two "@"
static void write_part(const struct page *page, const char *name, size_t length)
{
	const char *part = report_part(name, length);

	if (part && length > 5 && memcmp(name + length - 5, ".html", 5) == 0)
		expand(page, part);
	else if (part)
		fputs(part, page->stream);
	else if (length == 4 && memcmp(name, "data", 4) == 0)
		write_data(page->stream, page->data, page->size);
	else
		heap_escape_put(page->stream, HEAP_ESCAPE_XML, page->program);
}

// Parts of HTML name other parts, none of which names it: a depth of two.
// NOLINTNEXTLINE(misc-no-recursion)
static void expand(const struct page *page, const char *text)
{
	for (;;) {
		const char *begin = strchr(text, '@');
		const char *end = begin ? strchr(begin + 1, '@') : NULL;

		if (!end)
			break;
		fwrite(text, 1, (size_t)(begin - text), page->stream);
		write_part(page, begin + 1, (size_t)(end - begin - 1));
		text = end + 1;
	}
	fputs(text, page->stream);
}

void page_write(FILE *stream, const char *frame, const char *program, const char *data, size_t size)
{
	expand(&(struct page){ stream, program, data, size }, frame);
}
