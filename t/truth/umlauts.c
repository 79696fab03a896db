// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Texts in ISO 8859-1, in a union with pointers to numbers, beside which there is no tag: their letters are no UTF-8.
 */
#include "t/truth/truth.h"
#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define OUTLINE __attribute__((noinline))
#else
#define OUTLINE __attribute__((noipa))
#endif

struct measure {
	uint64_t low, high;
};
union payload {
	char *text;
	struct measure *measure;
};
struct record {
	uint64_t key;
	union payload payload;
	struct record *next;
};
static struct record *records;
static const char *const words[] = { "M\xfcller",
				     "Gr\xfc\xdf"
				     "e aus K\xf6ln",
				     "\xc4rger",
				     "Stra\xdf"
				     "e 17",
				     "\xd6sterreich",
				     "h\xf6her",
				     "d\xe9j\xe0 vu",
				     "\xfc"
				     "ber" };
OUTLINE static char *copy(const char *w, unsigned i)
{
	char *t = NEW_TEXT(strlen(w) + 12);
	sprintf(t, "%s %u", w, i);
	return t;
}
OUTLINE static void add(unsigned i)
{
	struct record *r = NEW_ZEROED(struct record);
	r->key = i;
	r->next = records;
	records = r;
	if (i % 4) {
		r->payload.text = copy(words[i % 8], i);
	} else {
		struct measure *m = NEW_ZEROED(struct measure);
		m->low = i * 77;
		m->high = i * 1000003ull;
		r->payload.measure = m;
	}
}
int main(void)
{
	for (unsigned i = 0; i < 2000; i++)
		add(i);
	truth_capture();
	printf("%p\n", (void *)records);
	return 0;
}
