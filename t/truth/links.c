// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A server with one kind of lists for all that it keeps: structs of twenty kinds are the data of a link, and links are cut
 * from blocks. Texts have their bytes by a void pointer, for numbers or for a key, which some code takes for an identifier.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	EACH = 150,
	GROUPS = 10,
	LINKS = 200,    // of a block
	SHORT = 8,      // bytes
	IDENTIFIER = 16 // bytes
};

struct link {
	struct link *previous, *next;
	void *data;
};

struct text {
	const void *bytes;
	int length, room;
	unsigned is_constant : 1;
};

union identifier {
	uint32_t words[4];
	char bytes[IDENTIFIER];
};

struct group {
	struct text text, buffer;
	struct link *members;
	struct group *next;
};

struct block {
	struct block *next;
	size_t used; // bytes
};

static struct block *blocks;
static struct group *groups;

static struct link *make_link(void)
{
	struct link *link;

	if (!blocks || blocks->used == LINKS * sizeof(struct link)) {
		struct block *block = POOL(
			struct block, malloc(sizeof(struct block) + LINKS * sizeof(struct link)));

		block->next = blocks;
		block->used = 0;
		blocks = block;
	}
	link = PART(struct link, (char *)(blocks + 1) + blocks->used);
	blocks->used += sizeof(struct link);
	return link;
}

static void append(struct link **list, void *data)
{
	struct link *link = make_link();

	link->data = data;
	link->next = *list;
	link->previous = NULL;
	if (*list)
		(*list)->previous = link;
	*list = link;
}

static void set_key(struct text *text, int number)
{
	char *bytes = NEW_TEXT(IDENTIFIER + 1);

	text->length = snprintf(bytes, IDENTIFIER + 1, "key-%012d", number);
	text->room = IDENTIFIER + 1;
	text->bytes = bytes;
}

// Room for a few bytes, in which there is nothing yet.
static void make_room(struct text *text, int number)
{
	char *bytes = NEW_TEXT(SHORT + 8);

	memset(bytes, 0x80 + number % 64, SHORT + 8);
	text->length = 0;
	text->room = SHORT;
	text->bytes = bytes;
}

// Numbers as they are sent.
static void set_body(struct text *text, int number)
{
	char *bytes;

	text->length = 20 + number % 50 * 8;
	text->room = text->length;
	bytes = NEW_TEXT(text->room);
	for (int i = 0; i < text->length; i++)
		bytes[i] = (char)(i % 4 ? 0 : number * (i + 3));
	text->bytes = bytes;
}

static char *make_label(const char *kind, int number)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s number %d", kind, number);
	char *label = NEW_TEXT(length + 1);

	memcpy(label, line, (size_t)length + 1);
	return label;
}

// A struct, a list of such, and the code that handles them.
#define KIND(name, MEMBERS) \
	struct name { \
		MEMBERS; \
		char *label; \
		unsigned long number; \
	}; \
	static struct link *name##s; \
	static void add_##name(int number) \
	{ \
		struct name *one = NEW_ZEROED(struct name); \
\
		one->label = make_label(#name, number); \
		one->number = (unsigned long)number; \
		append(&name##s, one); \
	} \
	static unsigned long sum_##name##s(void) \
	{ \
		unsigned long sum = 0; \
\
		for (struct link *link = name##s; link; link = link->next) { \
			const struct name *one = link->data; \
\
			sum += one->number * strlen(one->label); \
		} \
		return sum; \
	}

KIND(timer, double seconds[1])
KIND(watch, double seconds[3])
KIND(rule, double weights[5])
KIND(policy, double weights[7])
KIND(service, double weights[9])
KIND(owner, double weights[11])
KIND(message, double weights[13])
KIND(filter, double weights[15])
KIND(address, double weights[17])
KIND(failure, double weights[19])
KIND(entry, double weights[21])
KIND(reply, double weights[23])
KIND(directory, double weights[25])
KIND(element, double weights[27])
KIND(client, double weights[29])
KIND(server, double weights[31])
KIND(handler, double weights[33])
KIND(job, double weights[35])
KIND(route, double weights[37])
KIND(lease, double weights[39])

#define ALL(DO) \
	DO(timer) \
	DO(watch) \
	DO(rule) \
	DO(policy) \
	DO(service) \
	DO(owner) \
	DO(message) \
	DO(filter) \
	DO(address) \
	DO(failure) \
	DO(entry) \
	DO(reply) \
	DO(directory) \
	DO(element) \
	DO(client) \
	DO(server) \
	DO(handler) \
	DO(job) \
	DO(route) \
	DO(lease)

static void add_all(int number)
{
#define ADD(name) add_##name(number);
	ALL(ADD)
#undef ADD
}

static unsigned long sum_all(void)
{
	unsigned long sum = 0;

#define SUM(name) sum += sum_##name##s();
	ALL(SUM)
#undef SUM
	return sum;
}

static void add_group(int number)
{
	struct group *group = NEW_ZEROED(struct group);

	if (number % 3)
		set_body(&group->text, number);
	else
		set_key(&group->text, number);
	make_room(&group->buffer, number);
	append(&group->members, rules ? rules->data : NULL);
	group->next = groups;
	groups = group;
}

// A key is an identifier if it has its length.
static uint32_t sum_keys(void)
{
	uint32_t sum = 0;

	for (struct group *group = groups; group; group = group->next) {
		const union identifier *identifier = group->text.bytes;

		if (group->text.length == IDENTIFIER)
			sum += identifier->words[0] + identifier->words[3];
		identifier = group->buffer.bytes;
		if (group->buffer.length == IDENTIFIER)
			sum += identifier->words[1];
	}
	return sum;
}

int main(void)
{
	unsigned long sum;

	for (int i = 0; i < EACH; i++)
		add_all(i);
	for (int i = 0; i < GROUPS * EACH; i++)
		add_group(i);
	sum = sum_all() + sum_keys();
	truth_capture();
	return sum_all() + sum_keys() != sum;
}
