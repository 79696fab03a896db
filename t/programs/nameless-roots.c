// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory that the program maps itself holds blocks of many kinds, and nothing else does. "ready", and the
 * input is awaited.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	MANY = 100,
	PLACE_BYTES = 65536
};

#define TAKE(size) \
	for (int i = 0; i < MANY; i++) \
	*place++ = malloc(size)

static void fill(void **place)
{
	TAKE(100);
	TAKE(120);
	TAKE(140);
	TAKE(160);
	TAKE(180);
	TAKE(200);
	TAKE(220);
	TAKE(240);
	TAKE(260);
	TAKE(280);
	TAKE(300);
	TAKE(320);
	TAKE(340);
	TAKE(360);
	TAKE(380);
	TAKE(400);
	TAKE(420);
	TAKE(440);
	TAKE(460);
	TAKE(480);
	TAKE(500);
	TAKE(520);
	TAKE(540);
	TAKE(560);
}

int main(void)
{
	void **place =
		mmap(NULL, PLACE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		return 1;
	fill(place);
	place = NULL;
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
