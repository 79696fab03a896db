// SPDX-License-Identifier: GPL-3.0-or-later
// What the code of any ELF file casts void pointers to. The code is the file's bytes.
#include "dumper/writer/casts/code_casts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct input {
	const uint8_t *bytes; // [size]
	size_t size;
	uint64_t read; // bytes of code, so far
};

enum {
	BASE = 0x400000,      // of programs that are not moved
	MAX_READ = 256 << 10, // many functions may claim the same code
};

static bool read_code(void *context, uint64_t address, void *buffer, size_t size)
{
	struct input *input = context;

	input->read += size;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buffer)[i] = input->bytes[(address - BASE + i) % input->size];
	return true;
}

static unsigned find_roles(void *context, uint64_t type)
{
	(void)context;
	return type % 3 == 0 ? CAST_VOID : type % 3 == 1 ? CAST_TARGET : CAST_TARGET | CAST_HOLDER;
}

static uint64_t find_member(void *context, uint64_t holder, uint32_t offset)
{
	(void)context;
	return offset % 16 == 0 ? holder + offset : 0;
}

static uint64_t find_variable(void *context, uint64_t address)
{
	(void)context;
	return address % 3;
}

static uint64_t find_static(void *context, uint64_t address, uint32_t *inner)
{
	(void)context;
	*inner = address % 64;
	return address % 5;
}

static bool find_frame(void *context, uint64_t pc, uint8_t reg, int64_t *distance)
{
	(void)context;
	*distance = -(int64_t)(pc % 64);
	return reg % 2 == 1;
}

static struct heap_error *visit(void *context, const struct code_cast *cast)
{
	(void)context;
	return cast->holder && cast->target ? NULL : heap_error_create(HEAP_ERROR_FORMAT, "zero");
}

static bool is_late(void *context)
{
	return ((struct input *)context)->read > MAX_READ;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char path[] = "fuzzed";
	struct heap_dwarf_file *file = calloc(1, sizeof(*file));
	struct input input = { bytes, size, 0 };
	const struct code_cast_visitor visitor = {
		.read = read_code,
		.role = find_roles,
		.member = find_member,
		.variable = find_variable,
		.statics = find_static,
		.is_fixed = size % 2 == 0,
		.frame = find_frame,
		.visit = visit,
		.is_late = is_late,
		.context = &input,
	};

	*file = (struct heap_dwarf_file){ .path = strdup(path),
					  .descriptor = memfd_create(path, MFD_CLOEXEC) };
	if (file->descriptor < 0 || write(file->descriptor, bytes, size) != (ssize_t)size)
		abort();
	if (size > 0)
		heap_error_destroy(code_casts_visit(file, &visitor));
	heap_dwarf_close(file);
	return 0;
}
