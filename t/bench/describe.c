// SPDX-License-Identifier: GPL-3.0-or-later
// Describes stack frames at random places of a module's code, as the writer does: the rules of
// its frame, its function and line, its local variables. Prints what each step costs.
// Usage: describe MODULE DEBUG-FILE [FRAMES]
#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/dwarf_lines.h"
#include "lib/dwarf/dwarf_locals.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(struct heap_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", heap_error_message(error));
	exit(1);
}

// Memory in which each word is its own address.
static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	if (size > sizeof(address))
		return false;
	memcpy(buffer, &address, size);
	return true;
}

static void find_code(const char *path, uint64_t *low, uint64_t *size)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	elf_version(EV_CURRENT);
	elf = elf_begin(descriptor, ELF_C_READ, NULL);
	*size = 0;
	if (elf_getshdrstrndx(elf, &names) == 0) {
		while ((section = elf_nextscn(elf, section))) {
			if (!gelf_getshdr(section, &header) ||
			    strcmp(elf_strptr(elf, names, header.sh_name), ".text") != 0)
				continue;
			*low = header.sh_addr;
			*size = header.sh_size;
		}
	}
	elf_end(elf);
	close(descriptor);
}

static uint64_t low, size, seed;

// The same places in each round.
static uint64_t next_place(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return low + (seed >> 33) % size;
}

static void begin_registers(struct heap_dwarf_registers *registers)
{
	memset(registers, 0, sizeof(*registers));
	for (int i = 0; i < HEAP_DWARF_REGISTERS; i++)
		registers->value[i] = UINT64_C(0x7fff00000000) + 0x1000 * (uint64_t)i;
	registers->known = (UINT64_C(1) << HEAP_DWARF_REGISTERS) - 1;
}

static void measure_frames(const char *module, const char *debug, int count)
{
	struct heap_dwarf_unwinder *unwinder;
	uint64_t cfa, sum = 0;
	int found = 0;
	bool is_signal;
	double start = now();

	check(heap_dwarf_unwinder_create(module, debug, &unwinder));
	printf("frames_open_ms %.3f\n", (now() - start) * 1e3);
	start = now();
	seed = 1;
	for (int i = 0; i < count; i++) {
		struct heap_dwarf_registers registers;

		begin_registers(&registers);
		found += heap_dwarf_unwinder_step(unwinder, next_place(), read_memory, NULL,
						  &registers, &cfa,
						  &is_signal) == HEAP_DWARF_UNWIND_CALLER;
		sum += cfa;
	}
	printf("frames_us %.3f\nframes_found %d\nframes_sum %llx\n", (now() - start) * 1e6 / count,
	       found, (unsigned long long)sum);
	heap_dwarf_unwinder_destroy(unwinder);
}

static void measure_lines(struct heap_dwarf_file *file, int count)
{
	struct heap_dwarf_line_finder *finder;
	uint64_t sum = 0, found = 0;
	double start = now();

	check(heap_dwarf_line_finder_create(file, &finder));
	printf("lines_open_ms %.3f\n", (now() - start) * 1e3);
	for (int round = 0; round < 2; round++) {
		start = now();
		seed = 1;
		for (int i = 0; i < count; i++) {
			struct heap_dwarf_lines lines;

			check(heap_dwarf_line_finder_find(finder, next_place(), &lines));
			for (size_t j = 0; j < lines.count; j++)
				sum = sum * 31 + lines.lines[j].line + strlen(lines.lines[j].file);
			found += lines.count;
			heap_dwarf_lines_deinit(&lines);
		}
		printf("lines_%s_us %.3f\n", round ? "again" : "first",
		       (now() - start) * 1e6 / count);
	}
	printf("lines_found %llu\nlines_sum %llx\n", (unsigned long long)found,
	       (unsigned long long)sum);
	heap_dwarf_line_finder_destroy(finder);
}

static void measure_locals(struct heap_dwarf_file *file, int count)
{
	uint64_t sum = 0, found = 0;

	for (int round = 0; round < 2; round++) {
		double start = now();

		seed = 1;
		for (int i = 0; i < count; i++) {
			struct heap_dwarf_registers registers;
			struct heap_dwarf_locals_frame frame = {
				.pc = next_place(),
				.registers = &registers,
				.cfa = 0x7fff12340000,
				.read = read_memory,
			};
			struct heap_dwarf_locals locals;

			begin_registers(&registers);
			check(heap_dwarf_locals_find(file, &frame, &locals));
			for (size_t j = 0; j < locals.count; j++)
				sum = sum * 31 + locals.locals[j].kind + locals.locals[j].address +
				      locals.locals[j].value + strlen(locals.locals[j].name);
			found += locals.count;
			heap_dwarf_locals_deinit(&locals);
		}
		printf("locals_%s_us %.3f\n", round ? "again" : "first",
		       (now() - start) * 1e6 / count);
	}
	printf("locals_found %llu\nlocals_sum %llx\n", (unsigned long long)found,
	       (unsigned long long)sum);
}

int main(int argc, char **argv)
{
	struct heap_dwarf_file *file;
	struct rusage usage;

	if (argc < 3)
		return 2;

	int count = argc > 3 ? atoi(argv[3]) : 10000;

	find_code(argv[1], &low, &size);
	if (!size)
		return 2;
	measure_frames(argv[1], argv[2], count);
	check(heap_dwarf_open(argv[2], &file));
	measure_lines(file, count);
	measure_locals(file, count);
	heap_dwarf_close(file);
	getrusage(RUSAGE_SELF, &usage);
	printf("peak_rss_mb %.0f\n", usage.ru_maxrss / 1024.0);
	return 0;
}
