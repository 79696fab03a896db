// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/part_answers.h"

#include "lib/base/hash.h"

#include <stdlib.h>

enum {
	TYPE_BITS = 21, // of a type, in a word that keeps an answer
	OFFSET_BITS = 20,
	KNOWN = 1, // lowest bits of a word
	HAS = 2,
	FLAG_BITS = 2,
};

bool part_answers_init(struct part_answers *answers)
{
	answers->words = calloc(PART_ANSWERS, sizeof(*answers->words));
	return answers->words != NULL;
}

void part_answers_deinit(struct part_answers *answers)
{
	free(answers->words);
}

// A question as a word; 0: it does not fit.
static uint64_t pack(const struct part_question *question)
{
	if (question->whole >> TYPE_BITS != 0 || question->part >> TYPE_BITS != 0 ||
	    question->offset >> OFFSET_BITS != 0)
		return 0;
	return (((uint64_t)question->whole << TYPE_BITS | question->part) << OFFSET_BITS |
		question->offset)
		       << FLAG_BITS |
	       KNOWN;
}

static uint64_t *place(const struct part_answers *answers, uint64_t word)
{
	return &answers->words[heap_hash_pair(word, 0) % PART_ANSWERS];
}

bool part_answers_find(const struct part_answers *answers, const struct part_question *question,
		       bool *has)
{
	uint64_t word = pack(question);
	uint64_t kept = word ? __atomic_load_n(place(answers, word), __ATOMIC_RELAXED) : 0;

	*has = kept & HAS;
	return word != 0 && (kept & ~(uint64_t)HAS) == word;
}

void part_answers_keep(const struct part_answers *answers, const struct part_question *question,
		       bool has)
{
	uint64_t word = pack(question);

	if (word != 0)
		__atomic_store_n(place(answers, word), has ? word | HAS : word, __ATOMIC_RELAXED);
}
