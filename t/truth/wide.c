// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values of a scripting language. A string keeps its characters once as bytes and once as wide ones; at the place of
 * the latter, another member of the union has a name. The kind says which holds, by numbers that no enum names.
 */
#include "t/truth/truth.h"

#include <stdio.h>
#include <wchar.h>

#define IS_STRING 3
#define IS_FUNCTION 5

enum {
	STRINGS = 2000,
	FUNCTIONS = 200,
};

struct value {
	unsigned kind;
	union {
		struct {
			double number;
			char *bytes;
			size_t length;
			wchar_t *wide;
			size_t wide_length;
		} string;
		struct {
			struct value *body;
			struct value *next;
			size_t parameters;
			char *name;
			size_t calls;
		} function;
	} is;
};

struct value **values;

static char *copy(const char *text)
{
	char *result = truth_log(malloc(strlen(text) + 1), TRUTH_TEXT, "char", 1);

	return strcpy(result, text);
}

static void widen(struct value *value)
{
	size_t length = value->is.string.length;

	value->is.string.wide = NEW_ARRAY(wchar_t, length + 1);
	for (size_t i = 0; i <= length; i++)
		value->is.string.wide[i] = (unsigned char)value->is.string.bytes[i];
	value->is.string.wide_length = length;
}

static struct value *make_string(int number)
{
	struct value *value = NEW_ZEROED(struct value);
	char text[64];

	snprintf(text, sizeof(text), "field %d of the record %d", number, number * 7);
	value->kind = IS_STRING;
	value->is.string.number = number;
	value->is.string.bytes = copy(text);
	value->is.string.length = strlen(text);
	if (number % 3 != 0)
		widen(value);
	return value;
}

static struct value *make_function(int number)
{
	struct value *value = NEW_ZEROED(struct value);
	char text[64];

	snprintf(text, sizeof(text), "function_%d", number);
	value->kind = IS_FUNCTION;
	value->is.function.name = copy(text);
	value->is.function.body = values[number];
	value->is.function.parameters = (size_t)number % 5;
	return value;
}

int main(void)
{
	size_t calls = 0;

	values = NEW_ZEROED_ARRAY(struct value *, STRINGS + FUNCTIONS);
	for (int i = 0; i < STRINGS; i++)
		values[i] = make_string(i);
	for (int i = 0; i < FUNCTIONS; i++)
		values[STRINGS + i] = make_function(i);
	for (int i = 0; i < STRINGS + FUNCTIONS; i++) {
		if (values[i]->kind == IS_FUNCTION)
			calls += values[i]->is.function.calls;
	}
	truth_capture();
	return (int)calls;
}
