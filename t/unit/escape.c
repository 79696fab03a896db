// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/base/escape.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void expect(enum heap_escape style, const char *bytes, size_t size, const char *wanted)
{
	char *escaped = heap_escape(style, bytes, size), *put = NULL;
	size_t length;
	FILE *stream = open_memstream(&put, &length);

	assert_non_null(escaped);
	assert_string_equal(escaped, wanted);
	free(escaped);
	if (strlen(bytes) == size) {
		heap_escape_put(stream, style, bytes);
		fflush(stream);
		assert_string_equal(put, wanted);
	}
	fclose(stream);
	free(put);
}

#define EXPECT(style, text, wanted) expect(HEAP_ESCAPE_##style, text, sizeof(text) - 1, wanted)

static void names_keep_what_is_harmless(void **state)
{
	(void)state;
	EXPECT(NAME, "", "");
	EXPECT(NAME, "struct \"a\\b\" <c> & d;", "struct \"a\\b\" <c> & d;");
	EXPECT(NAME, "Größe 大きさ e\u0301 \U0001f980", "Größe 大きさ e\u0301 \U0001f980");
}

static void controls_are_escaped(void **state)
{
	(void)state;
	EXPECT(NAME, "\x1b]0;x\a", "\\x1b]0;x\\x07");
	EXPECT(NAME, "a\nb\tc\rd\be\ff\x7f", "a\\nb\\tc\\rd\\be\\ff\\x7f");
	EXPECT(NAME, "a\0b", "a\\x00b");
	EXPECT(NAME,
	       "\xc2\x85\xc2\x9b"
	       "1m\xc2\x9f",
	       "\\u{85}\\u{9b}1m\\u{9f}");
	EXPECT(NAME,
	       "\x9b"
	       "1m",
	       "\\x9b1m");
}

static void invisible_characters_are_escaped(void **state)
{
	static const uint32_t bad[] = { 0xad,    0x61c,   0x200b,  0x200d,  0x200e, 0x200f,
					0x2028,  0x2029,  0x202a,  0x202e,  0x2060, 0x2066,
					0x2069,  0xfeff,  0xfffe,  0xffff,  0xfff9, 0xfdd0,
					0xe0001, 0xe007f, 0x1fffe, 0x10ffff };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char bytes[5] = "", wanted[16];
		uint32_t c = bad[i];

		if (c < 0x800)
			sprintf(bytes, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
		else if (c < 0x10000)
			sprintf(bytes, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f),
				0x80 | (c & 0x3f));
		else
			sprintf(bytes, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 0x3f),
				0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
		sprintf(wanted, "\\u{%" PRIx32 "}", c);
		expect(HEAP_ESCAPE_NAME, bytes, strlen(bytes), wanted);
	}
}

static void bytes_that_are_no_characters_are_escaped(void **state)
{
	(void)state;
	EXPECT(NAME, "\xc0\xaf", "\\xc0\\xaf");
	EXPECT(NAME, "\xe0\x80\x9b", "\\xe0\\x80\\x9b");
	EXPECT(NAME, "\xf0\x82\x82\xac", "\\xf0\\x82\\x82\\xac");
	EXPECT(NAME, "\xed\xa0\x80", "\\xed\\xa0\\x80");
	EXPECT(NAME, "\xf4\x90\x80\x80\xff", "\\xf4\\x90\\x80\\x80\\xff");
	EXPECT(NAME, "\xe2\x82", "\\xe2\\x82");
	EXPECT(NAME, "\xe2\x82|", "\\xe2\\x82|");
}

static void an_escaped_name_stays(void **state)
{
	(void)state;
	EXPECT(NAME, "\\x1b\\u{202e}\\n", "\\x1b\\u{202e}\\n");
}

static void styles(void **state)
{
	(void)state;
	EXPECT(QUOTED, "say \"hi\\\"\n\x1b", "say \\\"hi\\\\\\\"\\n\\x1b");
	EXPECT(JSON, "\"\\\n\x1b\u202e\xc2\x85\x7f", "\\\"\\\\\\n\\u001b\\u202e\\u0085\\u007f");
	EXPECT(JSON, "\U000e0001 \U0001f980 \xff", "\\udb40\\udc01 \U0001f980 \\u00ff");
	EXPECT(XML, "<a b=\"c\" d='e'>]]>&\n\ufffe",
	       "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;]]&gt;&amp;\\n\\u{fffe}");
	EXPECT(DOT, "a\"b\\n\n\x1b", "a\\\"b\\\\n\\\\n\\\\x1b");
	EXPECT(FOLDED, "a;b c\n", "a:b c\\n");
	EXPECT(TSV, "a\tb\\c\nd\x1b", "a\\\\tb\\\\c\\\\nd\\\\x1b");
}

static void fields_of_csv(void **state)
{
	(void)state;
	EXPECT(CSV, "", "");
	EXPECT(CSV, "a b", "a b");
	EXPECT(CSV, "a,b", "\"a,b\"");
	EXPECT(CSV, "a \"b\"", "\"a \"\"b\"\"\"");
	EXPECT(CSV, "a\nb", "a\\nb");
	EXPECT(CSV, " a", "\" a\"");
	EXPECT(CSV, "=1+1", "\"'=1+1\"");
	EXPECT(CSV, "-1", "\"'-1\"");
	EXPECT(CSV, "@SUM(A1)", "\"'@SUM(A1)\"");
	EXPECT(CSV, "+\"x\"", "\"'+\"\"x\"\"\"");
}

static void cut_texts_end_with_a_character(void **state)
{
	(void)state;
	assert_int_equal(heap_text_whole("aé", 2), 1);
	assert_int_equal(heap_text_whole("aé", 3), 3);
	assert_int_equal(heap_text_whole("\U0001f980", 3), 0);
	assert_int_equal(heap_text_whole("\U0001f980", 4), 4);
	assert_int_equal(heap_text_whole("大き", 5), 3);
	assert_int_equal(heap_text_whole("\x80\x80\x80\x80", 4), 4);
	assert_int_equal(heap_text_whole("", 0), 0);
}

static void widths_count_columns(void **state)
{
	(void)state;
	assert_int_equal(heap_text_width("abc"), 3);
	assert_int_equal(heap_text_width("Größe"), 5);
	assert_int_equal(heap_text_width("大き"), 4);
	assert_int_equal(heap_text_width("e\u0301"), 1);
	assert_int_equal(heap_text_fit("大き", 3), 3);
	assert_int_equal(heap_text_fit("e\u0301x", 1), 3);
	assert_int_equal(heap_text_fit("abc", 9), 3);
}

__attribute__((format(printf, 2, 3))) static void expect_print(const char *wanted,
							       const char *format, ...)
{
	static const char *const verbatim[] = { "\x1b[36m", "\x1b[0m", NULL };
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);
	va_list arguments;

	va_start(arguments, format);
	heap_vprint(stream, verbatim, format, arguments);
	va_end(arguments);
	fclose(stream);
	assert_string_equal(text, wanted);
	free(text);
}

static void printing(void **state)
{
	(void)state;
	expect_print("100 % of a\\nb\n", "%d %% of %s\n", 100, "a\nb");
	expect_print("[    大き|大き    ]", "[%8s|%-8s]", "大き", "大き");
	expect_print("[   ü|é   ]", "[%*s|%*s]", 4, "ü", -4, "é");
	expect_print("[\\x1b |]", "[%-5s|]", "\x1b");
	expect_print("[aé]", "[%.4s]", "aéü");
	expect_print("[ab] [a]", "[%.*s] [%.1s]", 2, "abc", "abc");
	expect_print("\x1b[36mtype\x1b[0m\\x1b[2J", "%s", "\x1b[36mtype\x1b[0m\x1b[2J");
	expect_print("[\x1b[36mab\x1b[0m  ]", "[%-4s]", "\x1b[36mab\x1b[0m");
	expect_print("0x00ff|ff  |-7|  +3", "%#06x|%-4x|%ld|%+4lld", 0xff, 0xff, -7L, 3LL);
	expect_print("18446744073709551615 7 9", "%" PRIu64 " %zu %jd", UINT64_MAX, (size_t)7,
		     (intmax_t)9);
	expect_print("  1.50|2|1e+06", "%6.2f|%.0f|%g", 1.5, 2.0, 1e6);
	expect_print("a\\x9b", "%c%c", 'a', 0x9b);
	expect_print("%", "%%");
}

UNIT_TESTS("escape", cmocka_unit_test(names_keep_what_is_harmless),
	   cmocka_unit_test(controls_are_escaped),
	   cmocka_unit_test(invisible_characters_are_escaped),
	   cmocka_unit_test(bytes_that_are_no_characters_are_escaped),
	   cmocka_unit_test(an_escaped_name_stays), cmocka_unit_test(styles),
	   cmocka_unit_test(fields_of_csv), cmocka_unit_test(cut_texts_end_with_a_character),
	   cmocka_unit_test(widths_count_columns), cmocka_unit_test(printing))
