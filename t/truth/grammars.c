// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Grammars that lie in one block each: a header, pointers to sets of letters, rules, and a name. Only the pointers between header
 * and rules lead to sets, and the header alone tells how many there are.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	GRAMMARS = 60,
	LETTERS = 4, // words
};

struct set {
	uint64_t letters[LETTERS];
	struct set *without;
};

struct rule {
	uint32_t left, right, set;
};

struct grammar {
	size_t set_count, rule_count;
	struct set **sets;
	struct rule *rules;
	char *name;
};

static struct grammar *grammars[GRAMMARS];

static struct set *set_create(unsigned number)
{
	struct set *set = NEW_ZEROED(struct set);

	for (unsigned i = 0; i < LETTERS; i++)
		set->letters[i] = UINT64_C(0x8001000000000001) << (number + i) % 11;
	return set;
}

static struct grammar *grammar_create(unsigned number)
{
	size_t sets = 2 + number % 3, rules = 5 + number % 7;
	struct grammar *grammar =
		POOL(struct grammar, malloc(sizeof(*grammar) + sets * sizeof(struct set *) +
					    rules * sizeof(struct rule) + sizeof("a grammar")));

	grammar->set_count = sets;
	grammar->rule_count = rules;
	grammar->sets = (struct set **)(grammar + 1);
	grammar->rules = (struct rule *)(grammar->sets + sets);
	grammar->name = strcpy((char *)(grammar->rules + rules), "a grammar");
	for (size_t i = 0; i < sets; i++)
		grammar->sets[i] = set_create(number + (unsigned)i);
	for (size_t i = 0; i < rules; i++)
		grammar->rules[i] = (struct rule){ number, (uint32_t)i, (uint32_t)(i % sets) };
	return grammar;
}

int main(void)
{
	unsigned right = 0;

	for (unsigned i = 0; i < GRAMMARS; i++)
		grammars[i] = grammar_create(i);
	truth_capture();
	for (unsigned i = 0; i < GRAMMARS; i++)
		right += grammars[i]->rules[1].right + (grammars[i]->sets[1]->letters[0] > 1) +
			 (unsigned)grammars[i]->name[0];
	printf("%u\n", right);
	return 0;
}
