// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O2 -Wl,--export-dynamic
/*
 * Blocks whose backtraces are known; each has a size of its own. Prints "ready", waits for a
 * line. Arguments: plugins to load, use and unload in turn (the last one stays).
 */
#include "dumper/heapsnap.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define INLINED static inline __attribute__((always_inline))
// Keeps the compiler from jumping where the code says call.
#define STAY() __asm__ volatile("" ::: "memory")

enum {
	STACK = 64 << 10,
};

void *kept[256];
int kept_count;

void keep(void *block)
{
	kept[kept_count++] = block;
}

// --- calls and inlined calls ---------------------------------------------------

INLINED void *innermost(size_t size)
{
	return malloc(size);
}

INLINED void *inner(size_t size)
{
	return innermost(size);
}

APART void outer(size_t size)
{
	keep(inner(size));
	STAY();
}

APART void large_frame(void (*function)(size_t), size_t size)
{
	volatile char room[20000];

	room[size] = 1;
	function(size);
	STAY();
}

APART void aligned_frame(void (*function)(size_t), size_t size)
{
	volatile char room[256] __attribute__((aligned(128)));
	volatile char *more = alloca(size);

	more[0] = room[size % 256] = 1;
	function(size);
	STAY();
}

// --- jumps ---------------------------------------------------------------------

static jmp_buf point;

APART void jumper(int depth)
{
	if (depth == 0)
		longjmp(point, 1);
	jumper(depth - 1);
	STAY();
}

APART void jumped(size_t size)
{
	if (setjmp(point) == 0)
		jumper(10);
	outer(size);
	STAY();
}

// --- other stacks ----------------------------------------------------------------

static ucontext_t main_context, coroutine_context;

APART void coroutine(void)
{
	outer(1003);
	swapcontext(&coroutine_context, &main_context);
	large_frame(outer, 1004);
	swapcontext(&coroutine_context, &main_context);
}

static void run_coroutine(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = STACK;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
	swapcontext(&main_context, &coroutine_context);
}

static void handler(int number)
{
	outer(1000 + (size_t)number);
	STAY();
}

APART void raiser(int number)
{
	raise(number);
	STAY();
}

static void take_signals(void)
{
	static char room[STACK];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags = 0;
	sigaction(SIGUSR2, &action, NULL);
	raiser(SIGUSR1);
	raiser(SIGUSR2);
}

// --- threads ---------------------------------------------------------------------

static void *worker(void *size)
{
	outer((size_t)size);
	STAY();
	return NULL;
}

static void run_thread(size_t size)
{
	pthread_t thread;

	pthread_create(&thread, NULL, worker, (void *)size);
	pthread_join(thread, NULL);
}

// --- deep --------------------------------------------------------------------------

APART void recurse(int depth, size_t size)
{
	if (depth > 0)
		recurse(depth - 1, size);
	else
		outer(size);
	STAY();
}

// --- wrappers ------------------------------------------------------------------------

APART static void *checked_malloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

APART static void *checked_zeros(size_t size)
{
	void *block = checked_malloc(size);

	STAY();
	return memset(block, 0, size);
}

#define MAKER(name, allocate, size) \
	APART void name(void) \
	{ \
		keep(allocate(size)); \
		STAY(); \
	}

MAKER(make_apple, checked_malloc, 2001)
MAKER(make_pear, checked_malloc, 2002)
MAKER(make_cherry, checked_malloc, 2003)
MAKER(make_plum, checked_malloc, 2003)
MAKER(make_fig, checked_zeros, 2004)
MAKER(make_lime, checked_zeros, 2005)
MAKER(make_date, checked_zeros, 2006)
MAKER(make_kiwi, checked_zeros, 2007)
MAKER(make_late, checked_malloc, 2003)

static void use_wrappers(void)
{
	for (int i = 0; i < 8; i++) {
		make_apple();
		make_pear();
		make_cherry();
		make_plum();
		make_fig();
		make_lime();
		make_date();
		make_kiwi();
	}
	make_late();
	for (int i = 0; i < 4; i++)
		make_lime();
}

// One that is called by a wrapper alone, through a pointer.
APART static void *plain_malloc(size_t size)
{
	void *block = malloc(size);

	STAY();
	return block;
}

static void *(*volatile allocator)(size_t) = plain_malloc;

APART static void *indirect_malloc(size_t size)
{
	void *block = allocator(size);

	STAY();
	return block;
}

MAKER(make_rice, indirect_malloc, 2201)
MAKER(make_corn, indirect_malloc, 2202)
MAKER(make_oats, indirect_malloc, 2203)
MAKER(make_rye, indirect_malloc, 2204)

static void use_indirect_wrapper(void)
{
	for (int i = 0; i < 8; i++) {
		make_rice();
		make_corn();
		make_oats();
		make_rye();
	}
	for (int i = 0; i < 4; i++)
		make_rye();
}

// A function that always requests one size is no wrapper, however many call it.
APART static void *new_node(void)
{
	void *node = malloc(2100);

	STAY();
	return node;
}

#define NODE_MAKER(name) \
	APART void name(void) \
	{ \
		for (int i = 0; i < 4; i++) \
			keep(new_node()); \
	}

NODE_MAKER(node_1)
NODE_MAKER(node_2)
NODE_MAKER(node_3)
NODE_MAKER(node_4)
NODE_MAKER(node_5)

// The loop of an interpreter: its callers differ, and so does what it allocates for them.
APART static void *interpret(int operation)
{
	void *block = NULL;

	switch (operation) {
#define OPERATION(number) \
	case number: \
		block = malloc(2300 + number); \
		STAY(); \
		break;
		OPERATION(0)
		OPERATION(1)
		OPERATION(2)
		OPERATION(3)
		OPERATION(4)
		OPERATION(5)
		OPERATION(6)
		OPERATION(7)
		OPERATION(8)
		OPERATION(9)
	}
	return block;
}

#define STATEMENT(name, operation) \
	APART void name(void) \
	{ \
		for (int i = 0; i < 4; i++) \
			keep(interpret(operation)); \
		keep(interpret(operation + 5)); \
	}

STATEMENT(statement_0, 0)
STATEMENT(statement_1, 1)
STATEMENT(statement_2, 2)
STATEMENT(statement_3, 3)
STATEMENT(statement_4, 4)

static void use_interpreter(void)
{
	for (int i = 0; i < 8; i++) {
		statement_0();
		statement_1();
		statement_2();
		statement_3();
		statement_4();
	}
}

// --- samples -------------------------------------------------------------------------

// Two ways to one site, and one size.
APART void way_a(void)
{
	outer(3000);
	STAY();
}

APART void way_b(void)
{
	outer(3000);
	STAY();
}

APART void grow(void)
{
	void *block = malloc(3001);

	STAY();
	keep(realloc(block, 3002));
	STAY();
}

// --- processes, plugins ----------------------------------------------------------------

static void run_child(void)
{
	pid_t child = fork();

	if (child != 0) {
		waitpid(child, NULL, 0);
		return;
	}
	outer(1005);
	HEAPSNAP_CALL(heapsnap_dump, "a-child.snap");
	HEAPSNAP_CALL(heapsnap_wait);
	_exit(0);
}

static void run_plugin(const char *path, int unloads)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void *(*make)(void) = plugin ? (void *(*)(void))dlsym(plugin, "plugin_make") : NULL;

	if (!make) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	keep(make());
	if (unloads)
		dlclose(plugin);
}

int main(int argc, char **argv)
{
	outer(1001);
	large_frame(outer, 1006);
	aligned_frame(outer, 1007);
	jumped(1002);
	run_coroutine();
	take_signals();
	run_thread(1008);
	recurse(1000, 1009);
	use_wrappers();
	use_indirect_wrapper();
	use_interpreter();
	node_1();
	node_2();
	node_3();
	node_4();
	node_5();
	way_a();
	way_b();
	grow();
	run_child();
	for (int i = 1; i < argc; i++)
		run_plugin(argv[i], i + 1 < argc);
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
