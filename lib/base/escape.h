// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ESCAPE_H
#define HEAP_ESCAPE_H

/**
 * Escapes strings from outside for what they are written to.
 *
 * Names of programs, files, functions, types and threads, command lines and the contents of
 * strings belong to other people's processes and files. Written unescaped, they can move a
 * terminal's cursor, forge rows, reverse a line, or end a quoted string. Every style below
 *
 *  - writes valid UTF-8 (RFC 3629) for any bytes: those that are none, such as overlong forms,
 *    surrogates and incomplete characters, become \x9b;
 *  - writes no control character: C0 and DEL become \n or \x1b, C1 becomes \u{9b};
 *  - writes no character that is invisible or changes the direction of text: bidirectional controls,
 *    zero-width characters, line and paragraph separators, tags and noncharacters become \u{202e}.
 *
 * Escaping an escaped name again does not change it.
 *
 *	heap_print(stdout, "%7d %s\n", pid, name);      every %s is escaped as a name
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum heap_escape {
	HEAP_ESCAPE_NAME,   /**< for terminals: a name, nothing else is escaped */
	HEAP_ESCAPE_QUOTED, /**< for terminals, between double quotes: also " and \ */
	/** the inside of a JSON string: \u001b, \u202e; it parses to the original string, except that
	 *  a byte that is no UTF-8 becomes the character of its number: \u00ff */
	HEAP_ESCAPE_JSON,
	HEAP_ESCAPE_XML, /**< text and attributes of XML, SVG and HTML: &lt; */
	/** a field of RFC 4180, quoted if necessary; an apostrophe precedes a field that a
	 *  spreadsheet would evaluate (one that begins with =, +, - or @) */
	HEAP_ESCAPE_CSV,
	HEAP_ESCAPE_DOT,    /**< the inside of a quoted string of Graphviz */
	HEAP_ESCAPE_FOLDED, /**< a frame of collapsed stacks: ; separates frames, so it is : */
	HEAP_ESCAPE_TSV,    /**< a tab-separated field, where \\ is a backslash */
};

/** @return the text, malloc'd; NULL if memory is short */
char *heap_escape(enum heap_escape style, const char *bytes, size_t size);

/** The same for a string, written to a stream. */
void heap_escape_put(FILE *stream, enum heap_escape style, const char *text);

/**
 * Does what fprintf() does, but escapes each %s as a name. Its width counts columns of the screen; its
 * precision counts bytes, and never splits a character. Conversions are s, c, p, d, i, o, u, x, X, e, f
 * and g.
 */
__attribute__((format(printf, 2, 3))) void heap_print(FILE *stream, const char *format, ...);

/**
 * Does what heap_print() does.
 *
 * @param verbatim  sequences that are not escaped, such as colours; ends with NULL, and may be NULL
 */
__attribute__((format(printf, 3, 0))) void heap_vprint(FILE *stream, const char *const *verbatim,
						       const char *format, va_list arguments);

/** Bytes of the character that a text begins with; 0 if that is no UTF-8. @param size  at least 1 */
size_t heap_utf8_length(const char *text, size_t size);

/** The length of a text that was cut to @p size bytes, without an incomplete last character. */
size_t heap_text_whole(const char *bytes, size_t size);

/** The columns of an escaped text on a screen: 2 for wide characters, 0 for accents. */
size_t heap_text_width(const char *text);

/** The number of bytes of an escaped text that fit into that many columns, whole characters only. */
size_t heap_text_fit(const char *text, size_t columns);

#endif
