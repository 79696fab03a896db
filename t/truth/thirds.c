// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Numbers with fractions, each in a block of its own, to which only a table of numbers leads. A third of most numbers has a
 * mantissa that reads as letters.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	NUMBERS = 300,
};

static uintptr_t *table;

int main(void)
{
	table = NEW_ARRAY(uintptr_t, NUMBERS);
	for (int i = 0; i < NUMBERS; i++) {
		double *third = NEW(double);

		*third = (i + 64) / 3.0;
		table[i] = (uintptr_t)third;
	}
	truth_capture();
	printf("%f\n", *(double *)table[7]);
	return 0;
}
