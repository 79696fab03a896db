// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Two kinds of blocks that leak, of which nothing tells the type where the library was not there: requests whose
 * error path does not free them, with what they hold, and samples.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	REQUESTS = 20,
	SAMPLES = 5,
};

struct request {
	void *headers, *body;
};

struct sample {
	uint64_t values[12];
};

static void *get(size_t size)
{
	uint64_t *block = malloc(size);

	if (!block)
		abort();
	for (size_t i = 0; i < size / sizeof(*block); i++)
		block[i] = 0x8000000000000001 + i;
	return block;
}

__attribute__((noinline)) static void serve(void)
{
	struct request *volatile request = get(sizeof(*request));

	request->headers = get(40);
	request->body = get(264);
	request = NULL;
}

__attribute__((noinline)) static void measure(void)
{
	struct sample *volatile sample = get(sizeof(*sample));

	sample = NULL;
}

// What is left over from the calls before.
__attribute__((noinline)) static void clear_stack(void)
{
	volatile char room[4096];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main(void)
{
	// Without debug information of libc its buffers would have no type either.
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < REQUESTS; i++)
		serve();
	for (int i = 0; i < SAMPLES; i++)
		measure();
	clear_stack();
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
