// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values whose tag is in the bits above the address, so that no number beside the pointer tells what it leads to:
 * documents of 16 bytes a value, as parsers of JSON have them, whose objects are arrays of two values each; and the
 * slots of an interpreter, of one word each, whose numbers are floats and whose pointers are no numbers.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	DOCUMENTS = 150,
	SLOTS = 2000,
	SHORT = 13
};

enum tag {
	TAG_NUMBER = 0x16,
	TAG_OBJECT = 0x3,
	TAG_ARRAY = 0x4,
	TAG_TEXT = 0xc05,
	TAG_SHORT_TEXT = 0x1c05
};

struct value {
	union {
		struct {
			uint32_t length, hash;
			const char *letters;
		} text;
		struct {
			uint32_t count, capacity;
			struct member *members;
		} object;
		struct {
			uint32_t count, capacity;
			struct value *elements;
		} array;
		struct {
			char letters[SHORT];
		} small;
		double number;
		struct {
			char payload[14];
			uint16_t tag;
		} tagged;
	} as;
};

struct member {
	struct value name, value;
};

struct document {
	struct document *next;
	struct value root;
};

// All of 32 bytes.
struct pair {
	struct slot *first, *second;
	uint64_t hash, color;
};

struct range {
	uint64_t from, to, step, hash;
};

struct box {
	struct box *previous;
	uint64_t version, owner, hash;
};

struct slot {
	union {
		double number;
		struct pair *pair;
		struct range *range;
		struct box *box;
	} as;
};

static struct document *documents;
static struct slot *slots;

// Puts a tag above an address.
static void *box(const void *address, uint64_t tag)
{
	return (void *)((uint64_t)(uintptr_t)address | tag << 48);
}

static struct value make_text(const char *letters, size_t length)
{
	struct value value = { .as.tagged.tag = TAG_SHORT_TEXT };
	char *own;

	if (length <= SHORT) {
		memcpy(value.as.small.letters, letters, length);
		return value;
	}
	own = NEW_TEXT(length + 1);
	memcpy(own, letters, length + 1);
	value.as.text.length = (uint32_t)length;
	value.as.text.letters = box(own, TAG_TEXT);
	return value;
}

static struct value make(int depth);

static struct value make_object(uint32_t count, int depth)
{
	struct value value = { .as.object = { .count = count, .capacity = count } };
	struct member *members = NEW_ARRAY(struct member, count);

	for (uint32_t i = 0; i < count; i++) {
		char name[16];
		int length = snprintf(name, sizeof(name), "member %u", i);

		members[i].name = make_text(name, (size_t)length);
		members[i].value = make(depth + 1);
	}
	value.as.object.members = box(members, TAG_OBJECT);
	return value;
}

static struct value make_array(uint32_t count, int depth)
{
	struct value value = { .as.array = { .count = count, .capacity = count } };
	struct value *elements = NEW_ARRAY(struct value, count);

	for (uint32_t i = 0; i < count; i++)
		elements[i] = make(depth + 1);
	value.as.array.elements = box(elements, TAG_ARRAY);
	return value;
}

static struct value make(int depth)
{
	struct value value = { .as.tagged.tag = TAG_NUMBER };
	char letters[64];

	switch (depth > 5 ? next() % 3 : next() % 5) {
	case 0:
		value.as.number = (double)(next() % 100);
		return value;
	case 1:
		return make_text("short", 5);
	case 2:
		return make_text(letters, (size_t)snprintf(letters, sizeof(letters),
							   "a longer text, number %u",
							   (unsigned)(next() % 1000)));
	case 3:
		return make_array(2 * (1 + next() % 4), depth);
	default:
		return make_object(1 + next() % 4, depth);
	}
}

static void make_documents(void)
{
	for (int i = 0; i < DOCUMENTS; i++) {
		struct document *document = NEW(struct document);

		document->root = make_object(4, 0);
		document->next = documents;
		documents = document;
	}
}

static void *make_pair(struct slot *around)
{
	struct pair *pair = NEW(struct pair);

	*pair = (struct pair){ &slots[next() % SLOTS], around, next() % 1000, 7 };
	return box(pair, 0xfff9);
}

static void *make_range(void)
{
	struct range *range = NEW(struct range);

	*range = (struct range){ next() % 100, 100 + next() % 100, 1, next() % 1000 };
	return box(range, 0xfffa);
}

static void *make_box(void)
{
	static struct box *last;
	struct box *own = NEW(struct box);

	*own = (struct box){ last, next() % 5, next() % 3, next() % 1000 };
	last = next() % 4 ? own : NULL;
	return box(own, 0xfffb);
}

static void make_slots(void)
{
	slots = NEW_ARRAY(struct slot, SLOTS);
	for (int i = 0; i < SLOTS; i++) {
		switch (next() % 4) {
		case 0:
			slots[i].as.pair = make_pair(&slots[i]);
			break;
		case 1:
			slots[i].as.range = make_range();
			break;
		case 2:
			slots[i].as.box = make_box();
			break;
		default:
			slots[i].as.number = (double)(next() % 1000) / 7;
		}
	}
}

int main(void)
{
	make_documents();
	make_slots();
	truth_capture();
	printf("%p %p\n", (void *)documents, (void *)slots);
	return 0;
}
