// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/spelling.h"

#include <ctype.h>
#include <string.h>

enum {
	MAX_NESTED = 32, // templates with qualifiers
};

struct spelling {
	char *text; // [HEAP_SPELLING_MAX]
	size_t length;
	bool too_long;
	bool has_qualifiers; // a ! behind what is const or volatile: const a<b> and a<b> const are a<b>!
	bool is_qualified;      // the name that goes on here is
	bool outer[MAX_NESTED]; // [nested] those in whose arguments we are
	unsigned nested;
};

static void put(struct spelling *spelling, const char *text, size_t length)
{
	if (length >= HEAP_SPELLING_MAX - spelling->length) {
		spelling->too_long = true;
		return;
	}
	memcpy(spelling->text + spelling->length, text, length);
	spelling->length += length;
	spelling->text[spelling->length] = '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static bool equals(const char *word, size_t length, const char *other)
{
	return strlen(other) == length && strncmp(word, other, length) == 0;
}

// The words that name an integer type: "long unsigned int", "unsigned long".
struct integer {
	bool any, is_unsigned, is_signed, is_short, is_char, is_double;
	unsigned longs;
};

static bool take_integer(struct integer *integer, const char *word, size_t length)
{
	if (equals(word, length, "unsigned"))
		integer->is_unsigned = true;
	else if (equals(word, length, "signed"))
		integer->is_signed = true;
	else if (equals(word, length, "short"))
		integer->is_short = true;
	else if (equals(word, length, "char"))
		integer->is_char = true;
	else if (equals(word, length, "double"))
		integer->is_double = true;
	else if (equals(word, length, "long"))
		integer->longs++;
	else if (!equals(word, length, "int"))
		return false;
	integer->any = true;
	return true;
}

static void put_integer(struct spelling *spelling, const struct integer *integer)
{
	if (!integer->any)
		return;
	if (integer->is_unsigned)
		put(spelling, "unsigned ", 9);
	// A char that is signed is another type than char; an int is the same.
	if (integer->is_signed && integer->is_char)
		put(spelling, "signed ", 7);
	for (unsigned i = 0; i < integer->longs && i < 2; i++)
		put(spelling, "long ", 5);
	if (integer->is_short)
		put(spelling, "short ", 6);
	if (integer->is_char)
		put(spelling, "char", 4);
	else if (integer->is_double)
		put(spelling, "double", 6);
	else
		put(spelling, "int", 3);
}

// "(policy)2" is 2: takes back what has been put of the parentheses.
static void drop_cast(struct spelling *spelling)
{
	size_t at = spelling->length;
	unsigned open = 0;

	if (at == 0 || spelling->text[at - 1] != ')')
		return;
	while (at > 0) {
		at--;
		open += spelling->text[at] == ')';
		open -= spelling->text[at] == '(';
		if (open == 0)
			break;
	}
	spelling->text[at] = '\0';
	spelling->length = at;
}

static void put_word(struct spelling *spelling, const char *word, size_t length)
{
	static const char *const dropped[] = { "const", "volatile", "struct",
					       "class", "union",    "enum" };

	for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++) {
		if (equals(word, length, dropped[i]))
			return;
	}
	if (isdigit((unsigned char)*word)) {
		drop_cast(spelling);
		while (length > 1 && strchr("uUlL", word[length - 1]))
			length--;
	} else if (equals(word, length, "true")) {
		word = "1";
		length = 1;
	} else if (equals(word, length, "false")) {
		word = "0";
		length = 1;
	} else if (spelling->length > 0 && is_word(spelling->text[spelling->length - 1])) {
		put(spelling, " ", 1);
	}
	put(spelling, word, length);
}

static bool is_qualifier(const char *word, size_t length)
{
	return equals(word, length, "const") || equals(word, length, "volatile");
}

static void put_qualifier(struct spelling *spelling)
{
	if (spelling->has_qualifiers && spelling->is_qualified)
		put(spelling, "!", 1);
	spelling->is_qualified = false;
}

static void put_sign(struct spelling *spelling, char sign)
{
	if (sign == '<' && spelling->nested < MAX_NESTED) {
		spelling->outer[spelling->nested++] = spelling->is_qualified;
		spelling->is_qualified = false;
	}
	if (sign != ':')
		put_qualifier(spelling);
	put(spelling, &sign, 1);
	if (sign == '>' && spelling->nested > 0)
		spelling->is_qualified = spelling->outer[--spelling->nested];
}

static void spell(struct spelling *spelling, const char *name, size_t length, bool has_qualifiers)
{
	struct integer integer = { 0 };

	spelling->length = 0;
	spelling->text[0] = '\0';
	spelling->too_long = false;
	spelling->has_qualifiers = has_qualifiers;
	spelling->is_qualified = false;
	spelling->nested = 0;
	for (size_t i = 0; i < length;) {
		size_t end = i;

		while (end < length && is_word(name[end]))
			end++;
		if (end > i) {
			spelling->is_qualified |= is_qualifier(name + i, end - i);
			if (!take_integer(&integer, name + i, end - i))
				put_word(spelling, name + i, end - i);
			i = end;
			continue;
		}
		if (name[i] != ' ') {
			put_integer(spelling, &integer);
			integer = (struct integer){ 0 };
			put_sign(spelling, name[i]);
		}
		i++;
	}
	put_integer(spelling, &integer);
	put_qualifier(spelling);
}

bool heap_spell(const char *name, size_t length, bool has_qualifiers, char *text)
{
	struct spelling spelling = { .text = text };

	spell(&spelling, name, length, has_qualifiers);
	return !spelling.too_long;
}
