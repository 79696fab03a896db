// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/threads/thread_storage.h"

#include "lib/dwarf/elf_thread_local.h"

#include <string.h>

enum {
	MAX_DISTANCE = 16 << 20, // between the block of the program and that of another module
	CONTROL_BLOCK = 16,      // bytes at the thread pointer of aarch64
};

static const uint64_t MAX_PROGRAM = UINT64_C(1) << 40; // bytes of its block

#if defined(__aarch64__)
static const uint64_t DTV_OFFSET = 0;
#else
static const uint64_t DTV_OFFSET = 8;
#endif

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) / alignment * alignment;
}

// The block of the program itself, whose place the ABI fixes.
static int64_t program_offset(const struct heap_elf_file *elf)
{
	uint64_t alignment = elf->tls_alignment > 0 ? elf->tls_alignment : 1;
#if defined(__aarch64__)
	return (int64_t)round_up(CONTROL_BLOCK, alignment);
#else
	// The size may be any number if the file is damaged.
	return (int64_t)(0 - round_up(elf->tls_size, alignment));
#endif
}

// glibc's entry: the block, and what is to be freed for it. The entry before the table is how many it has.
static bool read_entry(const struct capture *capture, uint64_t pointer, uint64_t number,
		       uint64_t *block)
{
	const uint64_t entry = 2 * sizeof(uint64_t);
	uint64_t table, count;

	return pointer != 0 &&
	       image_read(&capture->image, pointer + DTV_OFFSET, &table, sizeof(table)) &&
	       image_read(&capture->image, table - entry, &count, sizeof(count)) &&
	       number <= count &&
	       image_read(&capture->image, table + number * entry, block, sizeof(*block));
}

// Finds the offset that the tables of all threads have. @return false: they differ, or have none
static bool find_in_tables(const struct capture *capture, uint64_t number, int64_t *offset)
{
	bool found = false;

	for (uint32_t i = 0; i < capture->process.thread_count; i++) {
		uint64_t pointer = capture->threads[i].thread_pointer, block;

		if (pointer == 0)
			continue;
		if (!read_entry(capture, pointer, number, &block))
			return false;
		if (found && (int64_t)(block - pointer) != *offset)
			return false;
		*offset = (int64_t)(block - pointer);
		found = true;
	}
	return found;
}

// True for the executable: the program begins there. Snapshots keep its name instead.
static bool is_program(const struct capture *capture, const struct module *module)
{
	const struct heap_snapshot *old = capture->old;
	uint32_t program = old ? heap_snapshot_program_module(old) : 0;

	if (old)
		return program < old->module_count &&
		       strcmp(module->path,
			      heap_snapshot_string(old, old->modules[program].path)) == 0;
	return capture->image.entry >= module->start && capture->image.entry < module->end;
}

// The block of the program is next to the thread pointer. Its size may be any number if the file is damaged.
static int64_t longest_distance(const struct capture *capture)
{
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];

		if (module->elf && is_program(capture, module))
			return MAX_DISTANCE + (int64_t)(module->elf->tls_size % MAX_PROGRAM);
	}
	return MAX_DISTANCE;
}

static bool is_plausible(const struct capture *capture, const struct heap_elf_file *elf,
			 int64_t offset)
{
	int64_t longest = longest_distance(capture);

#if defined(__aarch64__)
	return offset >= CONTROL_BLOCK && offset < longest && elf->tls_size < (uint64_t)longest;
#else
	return offset < 0 && offset > -longest && elf->tls_size <= (uint64_t)-offset;
#endif
}

// The module's number in the tables; 0: no word of the module has it.
static uint64_t read_number(const struct capture *capture, const struct module *module)
{
	struct heap_tls_word word = heap_elf_find_tls_word(module->elf);
	uint64_t number;

	return word.kind == HEAP_TLS_MODULE &&
			       image_read(&capture->image, module->bias + word.address, &number,
					  sizeof(number)) &&
			       number < HEAPSNAP_TLS_MODULES
		       ? number
		       : 0;
}

static bool find_offset(const struct capture *capture, const struct module *module, int64_t *offset)
{
	struct heap_tls_word word;
	uint64_t value;

	if (is_program(capture, module)) {
		*offset = program_offset(module->elf);
		return true;
	}
	word = heap_elf_find_tls_word(module->elf);
	if (word.kind == HEAP_TLS_NO_WORD ||
	    !image_read(&capture->image, module->bias + word.address, &value, sizeof(value)))
		return false;
	if (word.kind == HEAP_TLS_MODULE)
		return value > 0 && value < HEAPSNAP_TLS_MODULES &&
		       find_in_tables(capture, value, offset);
	*offset = (int64_t)(value - word.variable);
	return true;
}

void thread_storage_note_modules(struct capture *capture)
{
	struct heapsnap_process *process = &capture->process;

	if (process->tls_module_count > 0)
		return;
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];
		int64_t offset;

		if (process->tls_module_count == HEAPSNAP_TLS_MODULES)
			return;
		if (!module->elf || module->elf->tls_size == 0 ||
		    !find_offset(capture, module, &offset) ||
		    !is_plausible(capture, module->elf, offset))
			continue;
		process->tls_modules[process->tls_module_count++] =
			(struct heapsnap_tls_module){ module->bias, offset };
	}
}

struct thread_storage thread_storage_find(const struct capture *capture,
					  const struct module *module)
{
	const struct heapsnap_process *process = &capture->process;
	struct thread_storage storage = { 0 };

	if (!module->elf || module->elf->tls_size == 0)
		return storage;
	for (uint32_t i = 0; i < process->tls_module_count; i++) {
		const struct heapsnap_tls_module *tls = &process->tls_modules[i];

		// The library asks in one thread: what is far from it lies elsewhere in others.
		if (tls->bias == module->bias && is_plausible(capture, module->elf, tls->offset))
			return (struct thread_storage){ .is_known = true, .offset = tls->offset };
	}
	storage.number = read_number(capture, module);
	storage.is_known = storage.number > 0;
	return storage;
}

uint64_t thread_storage_block(const struct capture *capture, const struct thread_storage *storage,
			      uint32_t thread)
{
	uint64_t pointer = capture->threads[thread].thread_pointer, block;

	if (pointer == 0)
		return 0;
	if (storage->number == 0)
		return pointer + (uint64_t)storage->offset;
	if (!read_entry(capture, pointer, storage->number, &block) || block % sizeof(uint64_t) != 0)
		return 0; // all bits are set until the thread uses it
	return image_find(&capture->image, block) ? block : 0;
}
