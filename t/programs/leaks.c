// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Leaks of every shape, and what only looks like one. Each block's size is its own, and says
 * which it is, so that heapsh, LeakSanitizer and Valgrind can be held against each other:
 * t/end-to-end/leaks.t has what each must say.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BRANCHES = 10,
	STALE = 64 << 10, // bytes of the stack that may have old pointers in them
};

struct link {
	struct link *next, *other;
};

static struct link *held;
static char *into_the_middle;
static uintptr_t hidden;
static _Thread_local void *own;
static struct link **table;

static struct link *new_link(size_t size)
{
	struct link *link = malloc(size);

	memset(link, 0, size);
	return link;
}

#define NOINLINE __attribute__((noinline))

// One block that nothing points to.
NOINLINE static void leak_single(void)
{
	struct link *lost = new_link(104);

	lost->other = NULL;
}

// 112 → 120 → 128
NOINLINE static void leak_chain(void)
{
	struct link *first = new_link(112);

	first->next = new_link(120);
	first->next->next = new_link(128);
}

// 136 ⇄ 144, and 152 below them
NOINLINE static void leak_circle(void)
{
	struct link *first = new_link(136);

	first->next = new_link(144);
	first->next->next = first;
	first->next->other = new_link(152);
}

// 160 points to itself
NOINLINE static void leak_itself(void)
{
	struct link *lost = new_link(160);

	lost->next = lost;
}

// 168 → 184 ← 176
NOINLINE static void leak_shared(void)
{
	struct link *one = new_link(168), *other = new_link(176);

	one->next = other->next = new_link(184);
}

// 192 → ten of 200
NOINLINE static void leak_tree(void)
{
	struct link **branches = malloc(192);

	memset(branches, 0, 192);
	for (int i = 0; i < BRANCHES; i++)
		branches[i] = new_link(200);
}

// The only pointer to 208 is not one to look at.
NOINLINE static void leak_hidden(void)
{
	hidden = (uintptr_t)new_link(208) ^ UINTPTR_MAX;
}

// 216 → the middle of 224: it goes with it.
NOINLINE static void leak_by_middle(void)
{
	struct link *first = new_link(216);

	first->next = (struct link *)((char *)new_link(224) + 96);
}

// 232 is held → 240, by a pointer into its middle; 248 by one from a variable.
NOINLINE static void hold(void)
{
	held = new_link(232);
	held->next = (struct link *)((char *)new_link(240) + 64);
	into_the_middle = (char *)new_link(248) + 100;
	table = malloc(256);
	memset(table, 0, 256);
	table[7] = new_link(264);
	table[7]->next = (struct link *)table; // a cycle that is held
}

NOINLINE static void *work(void *nothing)
{
	own = new_link(272); // what a thread that has ended had to itself
	return nothing;
}

NOINLINE static void leak_of_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
}

// 280 → 288, by a function that suppressions name
NOINLINE static void plugin_register(void)
{
	struct link *known = malloc(280);

	memset(known, 0, 280);
	known->next = new_link(288);
}

// Words that the functions above left on the stack below us.
NOINLINE static void clean_stack(void)
{
	volatile char stale[STALE];

	memset((char *)stale, 0, sizeof(stale));
}

int main(void)
{
	void *local = new_link(296); // held while exit() runs

	leak_single();
	leak_chain();
	leak_circle();
	leak_itself();
	leak_shared();
	leak_tree();
	leak_hidden();
	leak_by_middle();
	hold();
	leak_of_thread();
	plugin_register();
	clean_stack();
	own = new_link(304); // and what the first thread has to itself
	exit(local == NULL);
}
