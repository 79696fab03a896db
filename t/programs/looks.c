// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Learns more about its callers than there is credit for: 128 functions far down the stack, each with a
 * few sizes, ask 16 wrappers whose code does not show that they are any. Which of them are known when
 * the credit runs out must not depend on where the program and its stack lie.
 */
// CFLAGS: -O1 -fno-builtin
#include <stdio.h>
#include <stdlib.h>

#define KEPT __attribute__((noinline, noclone)) static

enum {
	DEPTH = 60,
	ROUNDS = 24,
	EARNING = 700, // blocks whose bytes earn credit after each round
};

static volatile size_t requested; // hides from the code that the size is passed on
static void *volatile last;

#define WRAPPER(name) \
	KEPT void *allocate_##name(size_t size) \
	{ \
		requested = size + 1; \
		requested--; \
		last = malloc(requested); \
		return last; \
	}

#define MAKER(wrapper, name, size) \
	KEPT void make_##wrapper##name(int round) \
	{ \
		last = allocate_##wrapper(size); \
		last = allocate_##wrapper(size + 16); \
		if (round % 3 == 0) \
			last = allocate_##wrapper(size + 400 + 16 * (size_t)round); \
	}

#define MAKERS(wrapper) \
	WRAPPER(wrapper) \
	MAKER(wrapper, a, 24) \
	MAKER(wrapper, b, 72) \
	MAKER(wrapper, c, 120) \
	MAKER(wrapper, d, 136) \
	MAKER(wrapper, e, 200) \
	MAKER(wrapper, f, 248) \
	MAKER(wrapper, g, 312) \
	MAKER(wrapper, h, 24) \
	KEPT void make_##wrapper(int round) \
	{ \
		make_##wrapper##a(round); \
		make_##wrapper##b(round); \
		make_##wrapper##c(round); \
		make_##wrapper##d(round); \
		make_##wrapper##e(round); \
		make_##wrapper##f(round); \
		make_##wrapper##g(round); \
		make_##wrapper##h(round); \
		last = NULL; \
	}

// clang-format off
MAKERS(A) MAKERS(B) MAKERS(C) MAKERS(D) MAKERS(E) MAKERS(F) MAKERS(G) MAKERS(H)
MAKERS(I) MAKERS(J) MAKERS(K) MAKERS(L) MAKERS(M) MAKERS(N) MAKERS(O) MAKERS(P)
	// clang-format on

	KEPT void make_all(int round)
{
	static void (*const makers[])(int round) = {
		make_A, make_B, make_C, make_D, make_E, make_F, make_G, make_H,
		make_I, make_J, make_K, make_L, make_M, make_N, make_O, make_P,
	};

	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++)
		makers[i](round);
}

KEPT void earn(void)
{
	for (int i = 0; i < EARNING; i++) {
		last = malloc(1000);
		free(last);
	}
}

KEPT void descend(int depth, int round)
{
	volatile char frame[40] = { 0 };

	if (depth > 0)
		descend(depth - 1, round);
	else
		make_all(round);
	frame[0]++;
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's, which waits for the first character
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int round = 0; round < ROUNDS; round++) {
		descend(DEPTH + round % 4, round);
		earn();
	}
	puts("ready");
	while (getchar() != EOF)
		;
	return 0;
}
