// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	MAX_WORD = 64,       // bytes; nobody misspells longer ones by a few letters
	MIN_CONTAINED = 3,   // bytes of a word that other names may contain
	CONTAINED = 1 << 16, // distance of those, beyond all that are alike
};

void heap_nearest_init(struct heap_nearest *nearest, const char *word)
{
	*nearest = (struct heap_nearest){ .word = word };
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

// Optimal string alignment distance of a word to a name that is no longer than MAX_WORD either.
static unsigned distance(const char *word, const char *name)
{
	unsigned rows[3][MAX_WORD + 1];
	size_t length = strlen(name);

	for (size_t j = 0; j <= length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; word[i - 1]; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
		int letter = tolower((unsigned char)word[i - 1]);

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= length; j++) {
			int other = tolower((unsigned char)name[j - 1]);

			row[j] = least(above[j - 1] + (letter != other),
				       least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && letter == tolower((unsigned char)name[j - 2]) &&
			    other == tolower((unsigned char)word[i - 2]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
	}
	return rows[strlen(word) % 3][length];
}

// @return false if they are not alike
static bool compare(const char *word, const char *name, unsigned *result)
{
	size_t length = strlen(word), other = strlen(name);
	size_t limit = length < 5 ? 1 : (length + 1) / 3;

	if (length <= MAX_WORD && other <= MAX_WORD && other <= length + limit &&
	    length <= other + limit) {
		*result = distance(word, name);
		if (*result <= limit && *result < length)
			return true;
	}
	*result = CONTAINED + (unsigned)least((unsigned)other, CONTAINED);
	return length >= MIN_CONTAINED && strcasestr(name, word);
}

bool heap_nearest_is_near(const struct heap_nearest *nearest, const char *name)
{
	unsigned far;

	return compare(nearest->word, name, &far);
}

void heap_nearest_offer(struct heap_nearest *nearest, const char *name)
{
	heap_nearest_offer_as(nearest, name, name);
}

void heap_nearest_offer_as(struct heap_nearest *nearest, const char *name, const char *shown)
{
	unsigned far;
	size_t at;
	char *copy;

	if (!*name || strcmp(shown, nearest->word) == 0 || !compare(nearest->word, name, &far))
		return;
	for (size_t i = 0; i < nearest->count; i++) {
		if (strcmp(nearest->names[i], shown) == 0)
			return;
	}
	if (nearest->count == HEAP_NEAREST_MAX && nearest->distances[HEAP_NEAREST_MAX - 1] <= far)
		return;
	copy = strdup(shown);
	if (!copy)
		return;
	if (nearest->count == HEAP_NEAREST_MAX)
		free(nearest->names[--nearest->count]);
	for (at = nearest->count++; at > 0 && nearest->distances[at - 1] > far; at--) {
		nearest->names[at] = nearest->names[at - 1];
		nearest->distances[at] = nearest->distances[at - 1];
	}
	nearest->names[at] = copy;
	nearest->distances[at] = far;
}

char *heap_nearest_hint(struct heap_nearest *nearest)
{
	char *hint = NULL;
	int length = 0;

	// The nearest only; but names that merely contain the word are all equally far.
	while (nearest->count > 1 && nearest->distances[0] < CONTAINED &&
	       nearest->distances[nearest->count - 1] > nearest->distances[0])
		free(nearest->names[--nearest->count]);

	switch (nearest->count) {
	case 0:
		hint = strdup("");
		break;
	case 1:
		length = asprintf(&hint, "; did you mean %s?", nearest->names[0]);
		break;
	case 2:
		length = asprintf(&hint, "; did you mean %s or %s?", nearest->names[0],
				  nearest->names[1]);
		break;
	default:
		length = asprintf(&hint, "; did you mean %s, %s or %s?", nearest->names[0],
				  nearest->names[1], nearest->names[2]);
	}
	while (nearest->count > 0)
		free(nearest->names[--nearest->count]);
	return length < 0 ? NULL : hint;
}
