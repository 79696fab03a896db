// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A server that forgets what it has allocated: nothing leads to it, and of some of it nothing else of its kind is in use.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define OUTLINE __attribute__((noinline))
#else
#define OUTLINE __attribute__((noipa))
#endif

enum {
	REQUESTS = 3000,
	SESSIONS = 2000,
	LOADED = 4, // sessions that are in use
	VISITS = 1000,
	TREES = 200,
	DEPTH = 4,
	TWINS = 500,
	LISTS = 400,
	NUMBERS = 800,
};

// --- forgotten altogether

struct header {
	struct header *next;
	char name[16];
	char *value;
};

struct request {
	long number;
	char *path;
	struct header *headers;
	int status;
};

// --- a few are in use

struct address {
	char *street, *town;
	int number;
};

struct session {
	uint64_t since, until;
	char *user;
	struct address *address;
	uint32_t flags, requests;
};

struct session *sessions[LOADED];

// --- they lead to each other

struct visit {
	struct visit *next, *previous;
	char *page;
	double seconds;
};

struct node {
	struct node *left, *right;
	char *key;
	uint32_t weight, depth;
};

struct node *tree;

// --- what leads to the same in two structs: no type is better than the wrong one

struct ticket {
	struct address *from;
	char *text;
	uint64_t number;
	uint32_t price;
};

struct parcel {
	struct address *from;
	char *text;
	uint64_t weight;
	uint32_t stamps;
};

struct parcel *parcels[8];
struct ticket *tickets[8];

// --- texts side by side, which a struct has, too

struct person {
	char *first, *last, *street, *town;
};

struct person *people[16];

static char *make_text(const char *kind, unsigned number)
{
	char text[64];

	snprintf(text, sizeof(text), "%s of number %u", kind, number);
	return TEXT(strdup(text));
}

static OUTLINE struct address *make_address(unsigned number)
{
	struct address *address = NEW(struct address);

	*address = (struct address){ make_text("street", number), make_text("town", number),
				     (int)(number % 200) };
	return address;
}

static OUTLINE void handle_request(unsigned number)
{
	struct request *request = NEW(struct request);

	memset(request, 0, sizeof(*request));
	request->number = number;
	request->path = make_text("/page", number);
	for (unsigned i = 0; i < 1 + number % 4; i++) {
		struct header *header = NEW(struct header);

		memset(header, 0, sizeof(*header));
		header->next = request->headers;
		snprintf(header->name, sizeof(header->name), "Accept-%u", i);
		header->value = make_text("value", number + i);
		request->headers = header;
	}
	request->status = 200;
}

static OUTLINE void open_session(unsigned number)
{
	struct session *session = NEW(struct session);

	*session = (struct session){
		1700000000 + number,  1700000600 + number, make_text("user", number),
		make_address(number), number % 8,          number
	};
	sessions[number % LOADED] = session;
}

static OUTLINE void visit_pages(void)
{
	struct visit *first = NULL;

	for (unsigned i = 0; i < VISITS; i++) {
		struct visit *visit = NEW(struct visit);

		*visit = (struct visit){ first, NULL, make_text("page", i), 0.25 * i };
		if (first)
			first->previous = visit;
		first = visit;
	}
}

static OUTLINE struct node *grow(unsigned depth)
{
	struct node *node;

	if (depth == DEPTH)
		return NULL;
	node = NEW(struct node);
	*node = (struct node){ grow(depth + 1), grow(depth + 1), make_text("key", next() % 1000),
			       (uint32_t)(next() % 100), depth };
	return node;
}

static OUTLINE void send(unsigned number)
{
	struct ticket *ticket = NEW(struct ticket);
	struct parcel *parcel = NEW(struct parcel);

	*ticket = (struct ticket){ make_address(number), make_text("ticket", number), number, 12 };
	*parcel = (struct parcel){ make_address(number), make_text("parcel", number), number, 3 };
	tickets[number % 8] = ticket;
	parcels[number % 8] = parcel;
}

static OUTLINE void list_texts(unsigned number)
{
	char **list = NEW_ARRAY(char *, 4);
	struct person *person = NEW(struct person);

	for (unsigned i = 0; i < 4; i++)
		list[i] = make_text("line", number + i);
	*person = (struct person){ make_text("first", number), make_text("last", number),
				   make_text("street", number), make_text("town", number) };
	people[number % 16] = person;
}

static OUTLINE void draw_numbers(void)
{
	uint32_t *numbers = NEW_ARRAY(uint32_t, 10);

	for (unsigned i = 0; i < 10; i++)
		numbers[i] = (uint32_t)next();
}

int main(void)
{
	for (unsigned i = 0; i < REQUESTS; i++)
		handle_request(i);
	for (unsigned i = 0; i < SESSIONS; i++)
		open_session(i);
	visit_pages();
	for (unsigned i = 0; i < TREES; i++)
		tree = grow(0);
	for (unsigned i = 0; i < TWINS; i++)
		send(i);
	for (unsigned i = 0; i < LISTS; i++)
		list_texts(i);
	for (unsigned i = 0; i < NUMBERS; i++)
		draw_numbers();
	truth_capture();
	return 0;
}
