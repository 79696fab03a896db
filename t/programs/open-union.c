// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Texts of a runtime, whose letters have 8 or 16 bits: a union of two arrays without length ends their
 * struct. They are made by a function that knows no type, in many sizes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXTS = 300,
	SIZES = 40,
};

struct text {
	int references;
	uint32_t length : 31;
	uint8_t is_wide : 1;
	uint32_t hash;
	union {
		uint8_t narrow[0];
		uint16_t wide[0];
	} letters;
};

struct holder {
	struct text *name, *value;
};

static struct holder *holders[TEXTS / 2];

static __attribute__((noinline)) void *make(size_t size)
{
	return calloc(1, size);
}

static struct text *make_text(int i)
{
	uint32_t length = 1 + (uint32_t)i % SIZES;
	int is_wide = i % 5 == 0;
	struct text *text = make(sizeof(*text) + (size_t)length * (is_wide ? 2 : 1));

	text->references = 1;
	text->length = length;
	text->is_wide = is_wide;
	text->hash = (uint32_t)i * 2654435761U;
	for (uint32_t j = 0; j < length; j++) {
		if (is_wide)
			text->letters.wide[j] = (uint16_t)(0x3b1 + (i + (int)j) % 20);
		else
			text->letters.narrow[j] = (uint8_t)('a' + (i + (int)j) % 26);
	}
	return text;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's, which waits for the first character
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < TEXTS / 2; i++) {
		holders[i] = make(sizeof(*holders[i]));
		holders[i]->name = make_text(2 * i);
		holders[i]->value = make_text(2 * i + 1);
	}
	puts("ready");
	while (getchar() != EOF)
		;
	return 0;
}
