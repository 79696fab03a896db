// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The signal lands at each instruction of the library while a block is moved, made or freed. See
 * hostile.h.
 *
 * A parent process steps through the calls of its child, one instruction after the other. In each
 * round it lets the signal in at a later instruction of the library; when a call has no more, it is
 * over. What comes before realloc changes the block's header is left out.
 */
#define _GNU_SOURCE
#include "t/programs/hostile.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

static char *block, *hindrance;
static size_t size;

struct range {
	unsigned long start, end;
};

// --- what is stepped through --------------------------------------------------------

static void make_moved(void)
{
	block = malloc(size);
	hindrance = malloc(100);
}

static void move(void)
{
	block = realloc(block, 2 * size);
}

static void free_moved(void)
{
	free(block);
	free(hindrance);
}

static void make_large(void)
{
	block = malloc(2 * size);
}

static void shrink(void)
{
	block = realloc(block, size);
}

static void free_block(void)
{
	free(block);
}

static void make_block(void)
{
	block = malloc(size);
}

static void make_aligned(void)
{
	block = memalign(4096, size);
}

static void nothing(void)
{
}

struct stepped {
	const char *name;
	size_t size;   // one that is copied is small: each byte may be a step
	int threshold; // from which on libc has blocks by mmap
	bool moves;
	int every; // instruction of the library
	void (*before)(void), (*call)(void), (*after)(void);
};

static const struct stepped calls[] = {
	{ "realloc-copy", 507, 1 << 20, true, 1, make_moved, move, free_moved },
	{ "realloc-mremap", 140003, 4096, true, 2, make_moved, move, free_moved },
	{ "realloc-shrink", 507, 1 << 20, true, 2, make_large, shrink, free_block },
	{ "malloc", 507, 4096, false, 1, nothing, make_block, free_block },
	{ "memalign", 507, 4096, false, 3, nothing, make_aligned, free_block },
	{ "free", 507, 4096, false, 1, make_block, free_block, nothing },
};

// The parent awaits each raised SIGSTOP: before and after the call.
static void call_over_and_over(const struct stepped *stepped)
{
	size = stepped->size;
	mallopt(M_MMAP_THRESHOLD, stepped->threshold);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(1);
	for (;;) {
		stepped->before();
		raise(SIGSTOP);
		stepped->call();
		raise(SIGSTOP);
		await_capture();
		stepped->after();
	}
}

// --- the parent ------------------------------------------------------------------------

static int note_library(struct dl_phdr_info *info, size_t size, void *range_pointer)
{
	struct range *range = range_pointer;

	(void)size;
	for (int i = 0; strstr(info->dlpi_name, "libheapsnap") && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && (part->p_flags & PF_X))
			*range = (struct range){ info->dlpi_addr + part->p_vaddr,
						 info->dlpi_addr + part->p_vaddr + part->p_memsz };
	}
	return 0;
}

static unsigned long instruction(pid_t child)
{
	struct user_regs_struct registers;
	struct iovec place = { &registers, sizeof(registers) };

	ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &place);
#if defined(__x86_64__)
	return registers.rip;
#else
	return registers.pc;
#endif
}

static int await_stop(pid_t child)
{
	int status = 0;

	waitpid(child, &status, 0);
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

static void run_to_mark(pid_t child, int signal)
{
	int stopped = 0;

	for (; stopped != SIGSTOP; signal = stopped) {
		ptrace(PTRACE_CONT, child, NULL, (void *)(long)signal);
		stopped = await_stop(child);
		if (stopped == 0) {
			puts("the child has ended");
			exit(1);
		}
	}
}

// The last word of the header before the block that the child has.
static long header_word(pid_t child)
{
	long place = ptrace(PTRACE_PEEKDATA, child, &block, NULL);

	return ptrace(PTRACE_PEEKDATA, child, place - (long)sizeof(long), NULL);
}

/*
 * Steps through the call up to an instruction of the library.
 *
 * @param moves   count only from the change of the block's header on
 * @param wanted  how many to count
 * @return false: the call has fewer
 */
static bool step_to(pid_t child, const struct range *library, bool moves, int wanted)
{
	long before = moves ? header_word(child) : 0;
	bool counts = !moves;

	for (int count = 0; count < wanted;) {
		unsigned long place;

		ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
		if (await_stop(child) == SIGSTOP)
			return false;
		place = instruction(child);
		counts = counts || header_word(child) != before;
		count += counts && place >= library->start && place < library->end;
	}
	return true;
}

static void step_through(const struct stepped *stepped)
{
	struct range library = { 0, 0 };
	pid_t child = fork();
	bool reached = is_captured();

	if (child == 0)
		call_over_and_over(stepped);
	dl_iterate_phdr(note_library, &library);
	if (await_stop(child) == 0) {
		puts("the child cannot be traced");
		return;
	}
	for (int round = 1; reached; round += stepped->every) {
		reached = step_to(child, &library, stepped->moves, round);
		if (reached)
			run_to_mark(child, SIGQUIT);
		run_to_mark(child, 0);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

// Each way of the program is one of the calls, by its name.
int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 4096);
	make_marks();
	for (size_t i = 0; argc > 1 && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(argv[1], calls[i].name) == 0) {
			step_through(&calls[i]);
			puts("done");
			return 0;
		}
	}
	return 2;
}
