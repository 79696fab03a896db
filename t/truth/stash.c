// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values in a union of bytes and a pointer, as those of toolkits: small values lie in the bytes, which the union does not
 * tell, and large ones behind the pointer. So most words at the pointer's place are pointers to something else.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	COUNT = 900,
	NUMBERS = 8,
};

// The value lies behind it.
struct shared {
	int references, offset;
};

struct matrix {
	double rows[3][3];
};

struct value {
	union {
		unsigned char bytes[24];
		struct shared *shared;
		double alignment;
	} data;
	uint64_t is_shared : 1;
	uint64_t is_null : 1;
	uint64_t type : 62;
};

// What the bytes of a value may hold.
struct string {
	char *text;
	size_t length;
};

struct numbers {
	int32_t *list;
	size_t count;
};

struct entry {
	struct entry *next;
	struct value value;
};

// The contents of what this union's pointer leads to tell it from what the bytes hold.
struct section {
	char *title;
	struct setting *settings;
	size_t count;
};

struct setting {
	union {
		uint8_t bytes[16];
		struct section *section;
	};
	int kind;
};

static struct entry *entries;
static struct section *root;

static struct string make_string(unsigned number)
{
	char *text = NEW_TEXT(26 + number % 9);

	snprintf(text, 26, "the value of %u", number);
	return (struct string){ text, strlen(text) };
}

static struct numbers make_numbers(unsigned number)
{
	struct numbers numbers = { NEW_ARRAY(int32_t, NUMBERS), NUMBERS };

	for (int i = 0; i < NUMBERS; i++)
		numbers.list[i] = (int32_t)(number + next() % 1000);
	return numbers;
}

static struct shared *make_shared(unsigned number)
{
	size_t offset = sizeof(struct shared);
	struct shared *shared = (struct shared *)truth_log(malloc(offset + sizeof(struct matrix)),
							   TRUTH_BEHIND, "struct matrix", offset);
	struct matrix *matrix = (struct matrix *)(shared + 1);

	*shared = (struct shared){ 1, (int)offset };
	*matrix = (struct matrix){ { { number / 3.0 } } };
	return shared;
}

static struct value make_value(unsigned number)
{
	struct value value = { .type = number % 4 };
	struct string string;
	struct numbers numbers;

	switch (number % 4) {
	case 0:
		value.data.bytes[0] = (unsigned char)number;
		break;
	case 1:
		string = make_string(number);
		memcpy(value.data.bytes, &string, sizeof(string));
		break;
	case 2:
		numbers = make_numbers(number);
		memcpy(value.data.bytes, &numbers, sizeof(numbers));
		break;
	default:
		value.data.shared = make_shared(number);
		value.is_shared = 1;
	}
	return value;
}

static struct section *make_section(int depth)
{
	struct section *section = NEW(struct section);

	section->title = make_string((unsigned)depth).text;
	section->count = 1 + next() % 4;
	section->settings = NEW_ZEROED_ARRAY(struct setting, section->count);
	for (size_t i = 0; i < section->count; i++) {
		struct setting *setting = &section->settings[i];
		struct string string;

		setting->kind = depth < 6 ? (int)(next() % 3) : 0;
		if (setting->kind > 0) {
			setting->section = make_section(depth + 1);
			continue;
		}
		string = make_string((unsigned)i);
		memcpy(setting->bytes, &string, sizeof(string));
	}
	return section;
}

int main(void)
{
	root = make_section(0);
	for (unsigned i = 0; i < COUNT; i++) {
		struct entry *entry = NEW(struct entry);

		entry->value = make_value(i);
		entry->next = entries;
		entries = entry;
	}
	truth_capture();
	return entries == NULL || root == NULL;
}
