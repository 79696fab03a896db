// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A game's tables: one function makes positions, which begin with a number and end in an array of moves,
 * and arrays of such numbers, in sizes that a position might have.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	POSITIONS = 80,
	SQUARES = 16,
};

struct position {
	uint64_t key;
	unsigned count;
	struct {
		uint16_t move, weight;
	} moves[];
};

struct square {
	uint64_t mask;
	uint64_t *attacks;
	int shift;
};

static struct position **positions;
static struct square squares[SQUARES];

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's
	setvbuf(stdout, NULL, _IONBF, 0);
	positions = malloc(POSITIONS * sizeof(*positions));
	for (unsigned i = 0; i < POSITIONS; i++) {
		unsigned count = 1 + i % 6;
		struct position *position =
			malloc(sizeof(*position) + count * sizeof(position->moves[0]));

		position->key = i * UINT64_C(0x9e3779b97f4a7c15);
		position->count = count;
		for (unsigned j = 0; j < count; j++) {
			position->moves[j].move = (uint16_t)j;
			position->moves[j].weight = (uint16_t)(j + 1);
		}
		positions[i] = position;
	}
	for (unsigned i = 0; i < SQUARES; i++) {
		size_t count = (size_t)1 << (3 + i % 4);

		squares[i].attacks = malloc(count * sizeof(*squares[i].attacks));
		for (size_t j = 0; j < count; j++)
			squares[i].attacks[j] = UINT64_C(0x8040201008040201) << j;
		squares[i].shift = 61;
	}
	puts("ready");
	while (getchar() != EOF)
		;
	return positions[0]->count == 0 && squares[0].shift == 0;
}
