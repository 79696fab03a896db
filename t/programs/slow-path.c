// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Allocates in all the ways that could make the library slow, and says what it has cost. Usage:
 * slow-path OFFSET PLUGIN [WAY], where OFFSET (hex) is that of heapsnap_effort in libheapsnap.so,
 * or "-" to say nothing.
 *
 * A line for each way: name, allocations, bytes that earn credit, events, steps, most steps of an event.
 */
// CFLAGS: -O1 -fno-builtin -rdynamic
#define _GNU_SOURCE
#include "dumper/stacks/effort.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone))

enum {
	SITES = 100000,
	SITE_SIZE = 32,
	FAKES = 1500,
	FAKE_SIZE = 512,
	FAKE_PLACES = 12,
	LARGE = 32768,       // bytes; a larger block earns as much credit as
	EARNED_LARGE = 4096, // this one
};

typedef void *allocates(size_t size, size_t place);

static uint64_t allocations, bytes;

static void use(void *block, size_t size)
{
	free(block);
	allocations++;
	bytes += size < LARGE ? size : EARNED_LARGE;
}

// 100,000 functions, each with a call of malloc, and 1500 functions that allocate at a place that they
// are told: until there are too many, the latter look like wrappers.
#if defined(__x86_64__)
#define BEGIN \
	".cfi_startproc\n" \
	"sub $8, %rsp\n" \
	".cfi_adjust_cfa_offset 8\n"
#define CALL "call *malloc@GOTPCREL(%rip)\n"
#define TO_PLACE \
	"shl $5, %rsi\n" \
	"lea 1f(%rip), %rax\n" \
	"add %rsi, %rax\n" \
	"jmp *%rax\n"
#define TO_END "jmp 2f\n"
#define END \
	"add $8, %rsp\n" \
	".cfi_adjust_cfa_offset -8\n" \
	"ret\n" \
	".cfi_endproc\n"

// BEGIN; call *%rsi; END.
static const uint8_t code[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8, 0xc3 };
#else
#define BEGIN \
	".cfi_startproc\n" \
	"stp x29, x30, [sp, #-16]!\n" \
	".cfi_adjust_cfa_offset 16\n" \
	".cfi_rel_offset x29, 0\n" \
	".cfi_rel_offset x30, 8\n"
#define CALL "bl malloc\n"
#define TO_PLACE \
	"adr x16, 1f\n" \
	"add x16, x16, x1, lsl #5\n" \
	"br x16\n"
#define TO_END "b 2f\n"
#define END \
	"ldp x29, x30, [sp], #16\n" \
	".cfi_adjust_cfa_offset -16\n" \
	".cfi_restore x29\n" \
	".cfi_restore x30\n" \
	"ret\n" \
	".cfi_endproc\n"

// BEGIN; blr x1; END.
static const uint32_t code[] = { 0xa9bf7bfd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0 };
#endif

__asm__(".text\n.p2align 5\nmany_sites:\n"
	".rept 100000\n"
	".p2align 5\n" BEGIN CALL END ".endr\n");

__asm__(".text\n.p2align 9\nmany_fakes:\n"
	".rept 1500\n"
	".p2align 9\n" BEGIN TO_PLACE ".p2align 5\n"
	"1:\n"
	".rept 12\n"
	".p2align 5\n" CALL TO_END ".endr\n"
	".p2align 5\n"
	"2:\n" END ".endr\n");

extern char many_sites[] __asm__("many_sites"), many_fakes[] __asm__("many_fakes");

static allocates *site_at(size_t number)
{
	return (allocates *)(uintptr_t)(many_sites + number * SITE_SIZE);
}

static allocates *fake_at(size_t number)
{
	return (allocates *)(uintptr_t)(many_fakes + number * FAKE_SIZE);
}

// --- ways ------------------------------------------------------------------------------

static void many(void)
{
	for (size_t i = 0; i < 3 * SITES; i++)
		use(site_at(i % SITES)(40, 0), 40);
}

// As a function is taken for a wrapper: several callers, each of which asks for a size of its own.
#define CALLER(number) \
	APART static void caller_##number(allocates *function, size_t place) \
	{ \
		use(function(100 + 16 * (number), place), 100 + 16 * (number)); \
		__asm__ volatile("" ::: "memory"); \
	}

CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)

static void call_all(allocates *function, size_t place)
{
	caller_0(function, place);
	caller_1(function, place);
	caller_2(function, place);
	caller_3(function, place);
	caller_4(function, place);
	caller_5(function, place);
}

static void fakes(void)
{
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < FAKES; i++) {
			for (size_t place = 0; place < 4; place++)
				call_all(fake_at(i), place);
		}
		for (size_t i = 0; i < FAKES; i++) {
			for (size_t place = 0; place < FAKE_PLACES; place++)
				call_all(fake_at(i), place);
		}
	}
}

// One that is refused, and whose first places go on being used: with sizes that are new.
static void one_fake(void)
{
	for (size_t i = 0; i < 20000; i++) {
		call_all(fake_at(0), i % FAKE_PLACES);
		use(fake_at(0)(100 + i, i % 8), 100 + i);
	}
}

APART static void recurse(int depth, size_t size)
{
	volatile char room[64];

	room[0] = 1;
	if (depth > 0)
		recurse(depth - 1, size);
	use(malloc(size), size);
	room[1] = 1;
}

static void recursion(void)
{
	for (size_t i = 0; i < 40; i++)
		recurse(2000, 1000 + 8 * i);
}

APART static void *wrap(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

static void *wrap_at(size_t size, size_t place)
{
	(void)place;
	return wrap(size);
}

static void sizes(void)
{
	for (size_t i = 0; i < 200000; i++) {
		size_t size = 1 + i * 7919 % 200000;

		use(i % 2 ? wrap(size) : malloc(size), size);
		if (i % 1000 == 0)
			call_all(wrap_at, 0);
	}
}

// Code that no table describes, at ever new addresses.
static void generated(void)
{
	size_t size = 1 << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < size / 16; i++)
		memcpy(memory + 16 * i, code, sizeof(code));
	__builtin___clear_cache(memory, memory + size);
	for (size_t i = 0; i < 2 * size / 16; i++) {
		allocates *function = (allocates *)(uintptr_t)(memory + i % (size / 16) * 16);

		use(function(48, (size_t)malloc), 48);
	}
	munmap(memory, size);
}

static ucontext_t here, there;

static void on_other_stack(void)
{
	for (size_t i = 0; i < 20; i++)
		recurse(400, 3000 + 8 * i);
}

// Nothing is known of which parts of another stack can be read.
static void coroutines(void)
{
	size_t size = 1 << 20;

	for (int i = 0; i < 10; i++) {
		char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		getcontext(&there);
		there.uc_stack.ss_sp = stack;
		there.uc_stack.ss_size = size;
		there.uc_link = &here;
		makecontext(&there, on_other_stack, 0);
		swapcontext(&here, &there);
		munmap(stack, size);
	}
}

static const char *plugin_path;

static void plugins(void)
{
	for (int i = 0; i < 300; i++) {
		void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
		allocates *make = plugin ? (allocates *)dlsym(plugin, "plugin_make") : NULL;

		if (!make)
			abort();
		for (size_t j = 0; j < 100; j++) {
			use(make(200 + j, 0), 200 + j);
			recurse(10, 5000 + j);
		}
		dlclose(plugin);
	}
}

static void *run_thread(void *argument)
{
	for (size_t i = 0; i < 20; i++)
		free(site_at(((size_t)argument * 20 + i) % SITES)(60, 0));
	free(malloc(1 << 20)); // so that what it has spent is in the sum
	return NULL;
}

static void threads(void)
{
	enum {
		THREADS = 1000,
	};
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, run_thread, (void *)i) != 0)
			abort();
		pthread_join(thread, NULL);
	}
	allocations += 20 * THREADS;
	bytes += 20 * 60 * THREADS;
}

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "many", many },
	{ "fakes", fakes },
	{ "one_fake", one_fake },
	{ "recursion", recursion },
	{ "sizes", sizes },
	{ "generated", generated },
	{ "coroutines", coroutines },
	{ "plugins", plugins },
	{ "threads", threads },
};

// The steps of this thread are in the sum after so many bytes.
static struct heapsnap_effort now(struct heapsnap_effort *effort)
{
	free(malloc(1 << 20));
	return *effort;
}

static void measure(const struct way *way, struct heapsnap_effort *effort)
{
	struct heapsnap_effort before, after;

	allocations = bytes = 0;
	effort->most = 0;
	before = now(effort);
	way->run();
	after = now(effort);
	printf("%s %llu %llu %llu %llu %llu\n", way->name, (unsigned long long)allocations,
	       (unsigned long long)bytes, (unsigned long long)(after.events - before.events),
	       (unsigned long long)(after.steps - before.steps), (unsigned long long)after.most);
}

int main(int argc, char **argv)
{
	Dl_info library;
	void *own = dlsym(RTLD_DEFAULT, "malloc");

	if (argc < 3 || !own || !dladdr(own, &library))
		return 2;
	plugin_path = argv[2];
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (argc > 3 && strcmp(argv[3], ways[i].name) != 0)
			continue;
		if (strcmp(argv[1], "-") != 0)
			measure(&ways[i], (struct heapsnap_effort *)((char *)library.dli_fbase +
								     strtoull(argv[1], NULL, 16)));
		else
			ways[i].run();
	}
	return 0;
}
