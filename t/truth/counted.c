// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A library of strings whose length stands before the text. It has no struct for that: the pointers
 * are char *, and lead behind one, three or nine bytes.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

typedef char *counted;

static counted fill(void *block, size_t before, const char *text, size_t length)
{
	unsigned char *bytes = block;

	memset(bytes, 0, before);
	if (before == 3) {
		bytes[0] = bytes[1] = (unsigned char)length;
	} else {
		uint32_t wide = (uint32_t)length;

		memcpy(bytes, &wide, sizeof(wide));
		memcpy(bytes + 4, &wide, sizeof(wide));
	}
	bytes[before - 1] = before == 3 ? 1 : 2;
	memcpy(bytes + before, text, length + 1);
	return (char *)bytes + before;
}

static counted make(const char *text)
{
	size_t length = strlen(text);
	size_t before = length < 256 ? 3 : 9;
	void *block = truth_log(malloc(before + length + 1), TRUTH_BEHIND, "char", before);

	return fill(block, before, text, length);
}

struct person {
	counted name, street, remark;
	int age;
	struct person *next;
};

static struct person *people;

int main(void)
{
	static char text[600];

	for (int i = 0; i < 2000; i++) {
		struct person *person = NEW(struct person);

		snprintf(text, sizeof(text), "Person number %d", i);
		person->name = make(text);
		snprintf(text, sizeof(text), "%d, Long Road of the %d%s", i * 7, i % 50,
			 i % 2 ? "th Regiment" : "");
		person->street = make(text);
		memset(text, 'a' + i % 26, sizeof(text));
		text[1 + i % 590] = '\0';
		person->remark = make(text);
		person->age = i % 90;
		person->next = people;
		people = person;
	}
	truth_capture();
	return people->age > 200;
}
