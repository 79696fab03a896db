// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/escape.h"

#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
	ESCAPED_MAX = 16, // bytes that one character becomes: \udb40\udc01
	GROWTH_MAX = 6,   // bytes that one byte becomes: \u001b, &quot;
	SPEC_MAX = 32,    // of a conversion: %-*.*lld
};

// --- characters --------------------------------------------------------------

// The character at `at`. @return its length; 0 if there is none (RFC 3629, section 4)
static size_t decode(const uint8_t *at, size_t size, uint32_t *character)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = at[0] < 0x80                    ? 1
			: at[0] >= 0xc2 && at[0] < 0xe0 ? 2
			: at[0] >= 0xe0 && at[0] < 0xf0 ? 3
			: at[0] >= 0xf0 && at[0] < 0xf5 ? 4
							: 0;

	if (length == 0 || length > size)
		return 0;
	*character = length == 1 ? at[0] : at[0] & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*character = *character << 6 | (at[i] & 0x3f);
	}
	if (*character < least[length] || *character > 0x10ffff ||
	    (*character >= 0xd800 && *character < 0xe000))
		return 0;
	return length;
}

// True for control and invisible characters: the harmful ones of Unicode's categories Cc, Cf, Zl and
// Zp, variation selectors of plane 14, and noncharacters, which XML forbids.
static bool is_harmful(uint32_t character)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },       { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },
		{ 0x180e, 0x180e },   { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0xfdd0, 0xfdef },   { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};

	if (character >= 0x20 && character < 0x7f)
		return false;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	}
	return (character & 0xfffe) == 0xfffe;
}

// --- styles ------------------------------------------------------------------

static const char *entity(char character)
{
	switch (character) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

// The escape of a visible ASCII character; NULL if it needs none.
static const char *replacement(enum heap_escape style, char character)
{
	switch (style) {
	case HEAP_ESCAPE_QUOTED:
	case HEAP_ESCAPE_JSON:
	case HEAP_ESCAPE_DOT:
		return character == '"' ? "\\\"" : character == '\\' ? "\\\\" : NULL;
	case HEAP_ESCAPE_XML:
		return entity(character);
	case HEAP_ESCAPE_CSV:
		return character == '"' ? "\"\"" : NULL;
	case HEAP_ESCAPE_FOLDED:
		return character == ';' ? ":" : NULL;
	case HEAP_ESCAPE_TSV:
		return character == '\\' ? "\\\\" : NULL;
	default:
		return NULL;
	}
}

// Writes an escape with one backslash, or with two if the reader removes one.
static const char *backslash(enum heap_escape style)
{
	return style == HEAP_ESCAPE_DOT || style == HEAP_ESCAPE_TSV ? "\\\\" : "\\";
}

static int escape_json(char out[ESCAPED_MAX], uint32_t character)
{
	if (character < 0x10000)
		return sprintf(out, "\\u%04" PRIx32, character);
	character -= 0x10000;
	return sprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + (character >> 10),
		       0xdc00 + (character & 0x3ff));
}

static int escape_harmful(char out[ESCAPED_MAX], enum heap_escape style, uint32_t character)
{
	static const char controls[] = "\n\t\r\b\f", letters[] = "ntrbf";
	const char *found = character && character < 0x20 ? strchr(controls, (int)character) : NULL;

	if (found)
		return sprintf(out, "%s%c", backslash(style), letters[found - controls]);
	if (style == HEAP_ESCAPE_JSON)
		return escape_json(out, character);
	return sprintf(out, character < 0x80 ? "%sx%02" PRIx32 : "%su{%" PRIx32 "}",
		       backslash(style), character);
}

// Writes the character at `at`. @return its bytes in the text
static size_t escape_one(char out[ESCAPED_MAX], size_t *length, enum heap_escape style,
			 const char *at, size_t size)
{
	uint32_t character;
	size_t used = decode((const uint8_t *)at, size, &character);
	const char *other = used == 1 ? replacement(style, *at) : NULL;

	if (used == 0 && style == HEAP_ESCAPE_JSON)
		*length = (size_t)escape_json(out, (uint8_t)*at);
	else if (used == 0)
		*length = (size_t)sprintf(out, "%sx%02x", backslash(style), (uint8_t)*at);
	else if (is_harmful(character))
		*length = (size_t)escape_harmful(out, style, character);
	else
		*length = (size_t)sprintf(out, "%.*s", (int)(other ? strlen(other) : used),
					  other ? other : at);
	return used ? used : 1;
}

// The quotes around a field of CSV.
static const char *quotes_before(enum heap_escape style, const char *text, size_t size)
{
	if (style != HEAP_ESCAPE_CSV || size == 0)
		return "";
	if (memchr("=+-@", text[0], 4))
		return "\"'";
	return memchr(text, ',', size) || memchr(text, '"', size) || text[0] == ' ' ||
			       text[size - 1] == ' '
		       ? "\""
		       : "";
}

char *heap_escape(enum heap_escape style, const char *bytes, size_t size)
{
	const char *before = quotes_before(style, bytes, size);
	char *result = malloc(size * GROWTH_MAX + ESCAPED_MAX), *end = result;

	if (!result)
		return NULL;
	end = stpcpy(end, before);
	for (size_t i = 0; i < size;) {
		char out[ESCAPED_MAX];
		size_t length;

		i += escape_one(out, &length, style, bytes + i, size - i);
		end = mempcpy(end, out, length);
	}
	stpcpy(end, *before ? "\"" : "");
	return result;
}

void heap_escape_put(FILE *stream, enum heap_escape style, const char *text)
{
	size_t size = strlen(text);
	const char *before = quotes_before(style, text, size);

	fputs(before, stream);
	for (size_t i = 0; i < size;) {
		char out[ESCAPED_MAX];
		size_t length;

		i += escape_one(out, &length, style, text + i, size - i);
		fwrite(out, 1, length, stream);
	}
	if (*before)
		putc('"', stream);
}

// --- columns -----------------------------------------------------------------

static locale_t utf8_locale;

static void make_locale(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

// Switches to a locale with UTF-8: wcwidth() knows only the locale's characters. @return the locale
// that was in use
static locale_t begin_widths(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_locale);
	return uselocale(utf8_locale);
}

// The next character's columns and bytes.
static size_t measure(const char *at, size_t size, size_t *bytes)
{
	uint32_t character;
	int width;

	*bytes = decode((const uint8_t *)at, size, &character);
	if (*bytes == 0)
		*bytes = 1;
	if (*bytes == 1)
		return 1;
	width = wcwidth((wchar_t)character);
	return width < 0 ? 1 : (size_t)width;
}

// @return the bytes that fit into `columns`, which gets the columns that they take
static size_t fit(const char *text, size_t *columns)
{
	size_t size = strlen(text), most = *columns, at = 0, bytes;
	locale_t before = begin_widths();

	for (*columns = 0; at < size; at += bytes) {
		size_t width = measure(text + at, size - at, &bytes);

		if (width > most - *columns)
			break;
		*columns += width;
	}
	uselocale(before);
	return at;
}

size_t heap_text_width(const char *text)
{
	size_t columns = SIZE_MAX;

	fit(text, &columns);
	return columns;
}

size_t heap_text_fit(const char *text, size_t columns)
{
	return fit(text, &columns);
}

size_t heap_utf8_length(const char *text, size_t size)
{
	uint32_t character;

	return decode((const uint8_t *)text, size, &character);
}

size_t heap_text_whole(const char *bytes, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		uint8_t lead = (uint8_t)bytes[size - back];
		size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

		if ((lead & 0xc0) != 0x80)
			return length > back ? size - back : size;
	}
	return size;
}

// --- printing ----------------------------------------------------------------

// A conversion: %[flags][width][.precision][length]specifier.
struct conversion {
	char spec[SPEC_MAX]; // with numbers in place of *, for printf
	int width;           // -1: none
	int precision;       // -1: none
	bool left;
	char length; // of the argument: 'l' long, 'q' long long, 'j', 'z', 't', 'L', 0 int
	char specifier;
};

static int read_number(const char **format, va_list *arguments)
{
	int number = 0;

	if (**format == '*') {
		++*format;
		return va_arg(*arguments, int);
	}
	for (; **format >= '0' && **format <= '9'; ++*format)
		number = number * 10 + (**format - '0');
	return number;
}

// @param format  behind the %; ends behind the conversion
static struct conversion read_conversion(const char **format, va_list *arguments)
{
	struct conversion result = { .precision = -1 };
	size_t flags = strspn(*format, "-+ #0"), lengths;
	const char *first = *format;

	result.left = memchr(first, '-', flags);
	*format += flags;
	result.width = read_number(format, arguments);
	if (result.width < 0) {
		result.left = true;
		result.width = -result.width;
	}
	if (**format == '.') {
		++*format;
		result.precision = read_number(format, arguments);
	}
	lengths = strspn(*format, "hljztL");
	result.length = lengths == 2 && (*format)[1] == 'l' ? 'q' : lengths ? **format : 0;
	*format += lengths;
	result.specifier = *(*format)++;

	int used = snprintf(result.spec, SPEC_MAX, "%%%.*s%s", (int)flags, first,
			    result.left && !memchr(first, '-', flags) ? "-" : "");

	if (result.width > 0)
		used += snprintf(result.spec + used, SPEC_MAX - (size_t)used, "%d", result.width);
	if (result.precision >= 0)
		used += snprintf(result.spec + used, SPEC_MAX - (size_t)used, ".%d",
				 result.precision);
	snprintf(result.spec + used, SPEC_MAX - (size_t)used, "%.*s%c", (int)lengths,
		 *format - 1 - lengths, result.specifier);
	return result;
}

static void print_number(FILE *stream, const struct conversion *conversion, va_list *arguments)
{
	const char *spec = conversion->spec;

	switch (conversion->length) {
	case 'l':
		fprintf(stream, spec, va_arg(*arguments, long));
		break;
	case 'q':
		fprintf(stream, spec, va_arg(*arguments, long long));
		break;
	case 'j':
		fprintf(stream, spec, va_arg(*arguments, intmax_t));
		break;
	case 'z':
		fprintf(stream, spec, va_arg(*arguments, size_t));
		break;
	case 't':
		fprintf(stream, spec, va_arg(*arguments, ptrdiff_t));
		break;
	default:
		fprintf(stream, spec, va_arg(*arguments, int));
	}
}

// The sequence of `verbatim` at `at`, or NULL.
static const char *find_verbatim(const char *const *verbatim, const char *at, size_t size)
{
	for (; verbatim && *verbatim; verbatim++) {
		size_t length = strlen(*verbatim);

		if (length > 0 && length <= size && memcmp(at, *verbatim, length) == 0)
			return *verbatim;
	}
	return NULL;
}

// Writes a text as a name; NULL measures it. @return the columns that it takes
static size_t print_name(FILE *stream, const char *const *verbatim, const char *text, size_t size)
{
	size_t columns = 0;

	for (size_t i = 0; i < size;) {
		bool is_control = (uint8_t)text[i] < 0x20;
		const char *sequence =
			is_control ? find_verbatim(verbatim, text + i, size - i) : NULL;
		char out[ESCAPED_MAX];
		size_t length = 0, used, bytes;

		if (sequence) {
			used = strlen(sequence);
		} else {
			used = escape_one(out, &length, HEAP_ESCAPE_NAME, text + i, size - i);
			// An escape is ASCII, and longer than its character.
			columns += length == used ? measure(out, length, &bytes) : length;
		}
		if (stream)
			fwrite(sequence ? sequence : out, 1, sequence ? used : length, stream);
		i += used;
	}
	return columns;
}

static void pad(FILE *stream, const struct conversion *conversion, size_t columns)
{
	if (columns < (size_t)conversion->width)
		fprintf(stream, "%*s", (int)((size_t)conversion->width - columns), "");
}

static void print_text(FILE *stream, const char *const *verbatim,
		       const struct conversion *conversion, const char *text)
{
	size_t most = conversion->precision < 0 ? SIZE_MAX : (size_t)conversion->precision;
	locale_t before = begin_widths();
	size_t size, columns = 0;

	text = text ? text : "(null)";
	size = strnlen(text, most);
	if (size == most)
		size = heap_text_whole(text, size);
	if (!conversion->left && conversion->width > 0)
		pad(stream, conversion, print_name(NULL, verbatim, text, size));
	columns = print_name(stream, verbatim, text, size);
	if (conversion->left)
		pad(stream, conversion, columns);
	uselocale(before);
}

static void print_conversion(FILE *stream, const char *const *verbatim,
			     const struct conversion *conversion, va_list *arguments)
{
	char byte;

	switch (conversion->specifier) {
	case 's':
		print_text(stream, verbatim, conversion, va_arg(*arguments, const char *));
		break;
	case 'c':
		byte = (char)va_arg(*arguments, int);
		print_name(stream, NULL, &byte, 1);
		break;
	case 'p':
		fprintf(stream, conversion->spec, va_arg(*arguments, void *));
		break;
	case 'e':
	case 'f':
	case 'g':
		fprintf(stream, conversion->spec, va_arg(*arguments, double));
		break;
	case 'd':
	case 'i':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		print_number(stream, conversion, arguments);
		break;
	default:
		abort(); // a bug in the caller's format
	}
}

void heap_vprint(FILE *stream, const char *const *verbatim, const char *format, va_list arguments)
{
	va_list rest;

	// A parameter that is a va_list may have decayed to a pointer; a copy has not.
	va_copy(rest, arguments);
	while (*format) {
		size_t plain = strcspn(format, "%");

		fwrite(format, 1, plain, stream);
		format += plain;
		if (format[0] == '%' && format[1] == '%') {
			putc('%', stream);
			format += 2;
		} else if (*format) {
			struct conversion conversion;

			format++;
			conversion = read_conversion(&format, &rest);
			print_conversion(stream, verbatim, &conversion, &rest);
		}
	}
	va_end(rest);
}

void heap_print(FILE *stream, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	heap_vprint(stream, NULL, format, arguments);
	va_end(arguments);
}
