// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays of tagged values, as interpreters have them, in memory that was used before: behind each
// tag is padding, in which the rest of an old pointer lies. It leads into a block that still lives.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

union content {
	long number;
	char *text;
	struct table *table;
};

struct value {
	union content content;
	unsigned char tag;
};

struct table {
	struct value *values;
	struct table *next;
};

enum {
	TABLES = 20,
	TARGET = 1 << 16,
};

struct table *tables;
char *target;

// Values in a block whose words were pointers into the target.
static struct value *make_values(size_t count)
{
	struct value *values = malloc(count * sizeof(*values));

	for (size_t i = 0; values && i < count; i++) {
		const char *old = target + TARGET / 2;

		memcpy((char *)&values[i] + sizeof(values[i].content), &old, sizeof(old));
		values[i].content.number = (long)i;
		values[i].tag = (unsigned char)(i % 5);
	}
	return values;
}

int main(void)
{
	target = calloc(1, TARGET);
	for (size_t i = 0; i < TABLES; i++) {
		struct table *table = malloc(sizeof(*table));

		if (!table)
			return 1;
		table->values = make_values(3 + i);
		table->next = tables;
		tables = table;
	}
	puts("ready");
	fflush(stdout);
	getchar();
	puts("done");
	return 0;
}
