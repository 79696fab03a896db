// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Two halves of a program that each have a struct entry and a struct table of their own, in
 * their own files: a routing table, and a dictionary.
 */
#include "t/truth/truth.h"

#include <stdio.h>

void routes_fill(unsigned count);
unsigned routes_count(void);
void words_fill(unsigned count);
unsigned words_count(void);

int main(void)
{
	routes_fill(700);
	words_fill(900);
	truth_capture();
	printf("%u routes, %u words\n", routes_count(), words_count());
	return 0;
}
