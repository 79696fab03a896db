// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How much stack malloc and its like take, at many sites of many sizes, some in wrappers: each is called on a
 * stack of its own, painted before, and the most that one has used is printed, by function. With the
 * argument "small" they run on 4096 bytes above a page that cannot be touched, also as handlers of a signal,
 * and it prints "lives".
 */
// CFLAGS: -D_GNU_SOURCE -O2 -Wl,-z,now -fno-builtin
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	PAINTED = 64 << 10,
	PAINT = 0xa5,
	ROUNDS = 300,
};

static ucontext_t caller, callee;
static void (*function)(void);

#define NOINLINE __attribute__((noinline))
#define SEE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

static NOINLINE void *innermost(size_t size)
{
	void *block = malloc(size + 8);

	SEE(block);
	return block;
}

static NOINLINE void *middle(size_t size)
{
	void *block = innermost(size + 16);

	SEE(block);
	return block;
}

static NOINLINE void *outer(int kind, size_t size)
{
	void *block = kind % 3 ? middle(size) : innermost(size);

	SEE(block);
	return block;
}

static void use_malloc(void)
{
	for (size_t i = 0; i < ROUNDS; i++)
		free(malloc(10 + i * 40));
}

static void use_wrappers(void)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		free(outer((int)i, i));
		free(middle(i * 7));
		free(innermost(i * 3));
	}
}

static void use_calloc(void)
{
	for (size_t i = 0; i < ROUNDS; i++)
		free(calloc(1, 10 + i * 40));
}

static void use_realloc(void)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		void *block = realloc(NULL, 10 + i * 40);

		SEE(block);
		free(realloc(block, 20000 + i));
	}
}

static void use_aligned(void)
{
	for (size_t i = 0; i < ROUNDS; i++)
		free(aligned_alloc(64, (10 + i * 40) / 64 * 64 + 64));
}

static void use_strdup(void)
{
	for (size_t i = 0; i < ROUNDS; i++)
		free(strdup("a text"));
}

static const struct {
	const char *name;
	void (*function)(void);
} functions[] = {
	{ "malloc", use_malloc },   { "wrappers", use_wrappers },     { "calloc", use_calloc },
	{ "realloc", use_realloc }, { "aligned_alloc", use_aligned }, { "strdup", use_strdup },
};

static char *map_stack(size_t size)
{
	char *memory = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + PAGE, size, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	return memory + PAGE;
}

static void run_on(char *stack, size_t size)
{
	getcontext(&callee);
	callee.uc_stack.ss_sp = stack;
	callee.uc_stack.ss_size = size;
	callee.uc_link = &caller;
	makecontext(&callee, function, 0);
	swapcontext(&caller, &callee);
}

static size_t used_of(const char *stack)
{
	size_t unused = 0;

	while ((unsigned char)stack[unused] == PAINT)
		unused++;
	return PAINTED - unused;
}

static void handle(int number)
{
	(void)number;
	function();
}

static void run_small(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = map_stack(PAGE), .ss_size = PAGE };

	run_on(map_stack(PAGE), PAGE);
	// The kernel keeps all registers there: on some machines they need more.
	if (sigaltstack(&stack, NULL) != 0)
		return;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		char *stack;

		function = functions[i].function;
		if (argc > 1 && strcmp(argv[1], "small") == 0) {
			run_small();
			continue;
		}
		stack = map_stack(PAINTED);
		memset(stack, PAINT, PAINTED);
		run_on(stack, PAINTED);
		printf("%s %zu\n", functions[i].name, used_of(stack));
	}
	printf("lives\n");
	return 0;
}
