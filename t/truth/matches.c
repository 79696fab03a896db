// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Matches in an array, the last of which is still in a register. Nothing tells where the variable of a node that was made
 * before is, and the match reads like such a node. The array has a name late.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	MATCHES = 60,
	MOVES = 20,
	DEPTH = 8,
};

struct node {
	struct node *child, *sibling;
	uint16_t move, weight;
	uint32_t count;
};

struct tag {
	char *name, *value;
	struct tag *next;
};

struct move {
	uint16_t number;
	uint8_t rank;
	char *comment;
	struct move *next;
};

struct line {
	struct move *first, *last;
	struct line *next;
};

struct match {
	struct tag *tags;
	struct line *line;
	uint8_t result;
};

static struct node *book;
static struct match **matches;
static size_t match_count;

static struct node *grow(int depth)
{
	struct node *node;

	if (!depth)
		return NULL;
	node = NEW(struct node);
	node->move = (uint16_t)next();
	node->weight = next() % 100;
	node->count = next() % 1000;
	node->child = grow(depth - 1);
	node->sibling = next() % 3 ? grow(depth - 1) : NULL;
	return node;
}

static struct line *play(void)
{
	struct line *line = NEW_ZEROED(struct line);

	for (int i = 0; i < MOVES; i++) {
		struct move *move = NEW_ZEROED(struct move);

		move->number = (uint16_t)next();
		if (next() % 4 == 0)
			move->comment = TEXT(strdup("a move that nobody expected"));
		if (line->last)
			line->last->next = move;
		else
			line->first = move;
		line->last = move;
	}
	return line;
}

static struct tag *tag(struct match *match, const char *name, const char *value)
{
	struct tag *tag = NEW(struct tag);

	tag->name = TEXT(strdup(name));
	tag->value = TEXT(strdup(value));
	tag->next = match->tags;
	return tag;
}

int main(void)
{
	book = grow(DEPTH);
	for (int i = 0; i < MATCHES; i++) {
		struct match *match = NEW_ZEROED(struct match);

		match->line = play();
		match->result = (uint8_t)(i % 3);
		match->tags = tag(match, "event", "the championship of a town");
		match->tags = tag(match, "site", "a town with a long name");
		matches = RENEW_ARRAY(struct match *, matches, match_count + 1);
		matches[match_count++] = match;
	}
	truth_capture();
	printf("%d\n", matches[1]->result);
	return 0;
}
