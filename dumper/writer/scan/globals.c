// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/globals.h"

#include "dumper/writer/scan/blocks/gaps.h"
#include "dumper/writer/scan/promoted.h"
#include "dumper/writer/scan/threads/thread_storage.h"
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"
#include "lib/base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
	// glibc's struct pthread is about this long; it holds the dtv, the start routine's
	// argument and the pthread_setspecific() values.
	THREAD_CONTROL_BLOCK = 2304,
	LEAST_PAGE = 4096,
	// glibc gives each arena but the first heaps of this size and alignment.
	ARENA_HEAP = 64 << 20,
	NEAR_SYMBOL = 4096, // bytes behind a symbol that it still tells the place of
	MAX_PLACE = 256,
};

// glibc's first arena, whose bins point to free blocks. Its words are treated like other unnamed
// words of libc's data: only pointers to the starts of objects count.
static const char ARENA_VARIABLE[] = "main_arena";

static uint32_t module_index(const struct capture *capture, const struct module *module)
{
	return (uint32_t)(module - capture->modules.modules);
}

static bool in_data(const struct module *module, uint64_t address)
{
	return address >= module->elf->data_start && address < module->elf->data_end;
}

// --- variables ---------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_variable(struct capture *capture, const struct heap_root *root)
{
	return roots_add_variable(&capture->roots, root, &capture->image, &capture->objects,
				  CAPTURE_VARIABLE_BYTES);
}

static struct heap_root describe_variable(struct capture *capture, const struct module *module,
					  const struct heap_dwarf_variable *variable)
{
	const struct heap_types *types = &module->debug.types;

	return (struct heap_root){
		.kind = HEAP_ROOT_GLOBAL,
		.name = strings_add(&capture->strings, heap_types_string(types, variable->name)),
		.type = module->type_map[variable->type],
		.size = heap_types_size(types, variable->type),
		.module = module_index(capture, module),
		.file = strings_add(&capture->strings, heap_types_string(types, variable->file)),
		.line = variable->line,
		.thread = HEAP_NO_INDEX,
		.frame = HEAP_NO_INDEX,
	};
}

// The variable's symbol says how large it is where its type does not (extern int table[]).
static uint64_t symbol_size(const struct module *module, enum heap_symbol_kind kind,
			    uint64_t address)
{
	const struct heap_symbol *symbol = heap_elf_find_symbol(module->elf, kind, address);

	return symbol && symbol->address == address ? symbol->size : 0;
}

HEAP_MUST_CHECK
static struct heap_error *add_debug_globals(struct capture *capture, const struct module *module)
{
	for (uint32_t i = 0; i < module->debug.variable_count; i++) {
		const struct heap_dwarf_variable *variable = &module->debug.variables[i];

		if ((variable->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL) ||
		    !in_data(module, variable->address))
			continue;

		const char *name = heap_types_string(&module->debug.types, variable->name);

		if (strcmp(name, ARENA_VARIABLE) == 0)
			continue;

		struct heap_root root = describe_variable(capture, module, variable);

		root.address = variable->address + module->bias;
		if (root.size == 0)
			root.size = symbol_size(module, HEAP_SYMBOL_OBJECT, variable->address);
		if (root.size > module->elf->data_end - variable->address)
			continue;

		struct heap_error *error = add_variable(capture, &root);

		if (error)
			return error;
	}
	return NULL;
}

struct pointer_search {
	const struct objects *objects;
	bool found;
};

HEAP_MUST_CHECK
static struct heap_error *find_pointer(void *context, uint64_t address, const uint64_t *words,
				       size_t count)
{
	struct pointer_search *search = context;

	uint64_t interior;

	(void)address;
	for (size_t i = 0; !search->found && i < count; i++)
		search->found =
			objects_resolve(search->objects, words[i], &interior) != HEAP_NO_OBJECT;
	return NULL;
}

// Gives a symbol the type of what it stands for.
static void promote(struct capture *capture, const struct module *module,
		    const struct heap_symbol *symbol, struct heap_root *root)
{
	const struct promoted promoted = promoted_find(module, symbol);

	if (!promoted.variable)
		return;
	root->type = module->type_map[promoted.type];
	root->file = strings_add(&capture->strings,
				 heap_types_string(&module->debug.types, promoted.variable->file));
	root->line = promoted.variable->line;
}

HEAP_MUST_CHECK
static struct heap_error *add_symbol(struct capture *capture, const struct module *module,
				     const struct heap_symbol *symbol)
{
	struct pointer_search search = { .objects = &capture->objects };
	uint64_t address = symbol->address + module->bias;
	struct heap_error *error =
		image_visit(&capture->image, (address + 7) & ~UINT64_C(7),
			    (address + symbol->size) & ~UINT64_C(7), find_pointer, &search);

	if (error || !search.found)
		return error;

	CLEANUP_FREE char *name = heap_demangle(symbol->name);
	struct heap_root root = {
		.kind = HEAP_ROOT_GLOBAL,
		.name = strings_add(&capture->strings, name),
		.address = address,
		.size = symbol->size,
		.module = module_index(capture, module),
		.thread = HEAP_NO_INDEX,
		.frame = HEAP_NO_INDEX,
	};

	promote(capture, module, symbol, &root);
	return add_variable(capture, &root);
}

HEAP_MUST_CHECK
static struct heap_error *add_symbol_globals(struct capture *capture, const struct module *module)
{
	for (size_t i = 0; i < module->elf->symbol_count; i++) {
		const struct heap_symbol *symbol = &module->elf->symbols[i];

		if (symbol->kind == HEAP_SYMBOL_OBJECT && symbol->size >= 8 &&
		    in_data(module, symbol->address) &&
		    symbol->size <= module->elf->data_end - symbol->address &&
		    !roots_is_claimed(&capture->roots, symbol->address + module->bias) &&
		    strcmp(symbol->name, ARENA_VARIABLE) != 0)
			HEAP_TRY(add_symbol(capture, module, symbol));
	}
	return NULL;
}

// --- thread-locals -----------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_thread_local(struct capture *capture, struct heap_root root,
					   const struct thread_storage *storage, uint64_t offset)
{
	root.kind = HEAP_ROOT_THREAD_LOCAL;
	for (uint32_t i = 0; i < capture->process.thread_count; i++) {
		uint64_t block = thread_storage_block(capture, storage, i);

		if (block == 0)
			continue;
		root.address = block + offset;
		root.thread = i;

		struct heap_error *error = add_variable(capture, &root);

		if (error)
			return error;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_thread_locals(struct capture *capture, const struct module *module)
{
	const struct thread_storage storage = thread_storage_find(capture, module);

	if (!storage.is_known)
		return NULL;
	for (uint32_t i = 0; i < module->debug.variable_count; i++) {
		const struct heap_dwarf_variable *variable = &module->debug.variables[i];

		if (!(variable->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL) ||
		    variable->address >= module->elf->tls_size)
			continue;

		struct heap_root root = describe_variable(capture, module, variable);

		if (root.size > module->elf->tls_size - variable->address)
			continue;

		struct heap_error *error =
			add_thread_local(capture, root, &storage, variable->address);

		if (error)
			return error;
	}
	return NULL;
}

// True if debug information locates a thread-local variable there.
static bool is_located(const struct module *module, uint64_t offset)
{
	for (uint32_t i = 0; i < module->debug.variable_count; i++) {
		const struct heap_dwarf_variable *variable = &module->debug.variables[i];

		if ((variable->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL) &&
		    variable->address == offset)
			return true;
	}
	return false;
}

// True if another file has a thread-local variable of this name: which of them has which type?
static bool is_ambiguous(const struct module *module, const struct heap_symbol *symbol)
{
	for (size_t i = 0; i < module->elf->symbol_count; i++) {
		const struct heap_symbol *other = &module->elf->symbols[i];

		if (other->kind == HEAP_SYMBOL_THREAD_LOCAL && other->address != symbol->address &&
		    strcmp(other->name, symbol->name) == 0)
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *add_thread_local_symbol(struct capture *capture,
						  const struct module *module,
						  const struct thread_storage *storage,
						  const struct heap_symbol *symbol)
{
	CLEANUP_FREE char *name = heap_demangle(symbol->name);
	const struct heap_dwarf_variable *variable = name && !is_ambiguous(module, symbol)
							     ? promoted_find_unlocated(module, name)
							     : NULL;
	struct heap_root root = {
		.name = strings_add(&capture->strings, name),
		.module = module_index(capture, module),
		.frame = HEAP_NO_INDEX,
	};

	if (variable)
		root = describe_variable(capture, module, variable);
	else
		promote(capture, module, symbol, &root);
	if (root.size == 0 || root.size > symbol->size)
		root.size = symbol->size;
	return add_thread_local(capture, root, storage, symbol->address);
}

// Thread-local variables that debug information does not locate have symbols, once or twice: in
// the table that is stripped, and among the dynamic ones.
HEAP_MUST_CHECK
static struct heap_error *add_thread_local_symbols(struct capture *capture,
						   const struct module *module)
{
	const struct thread_storage storage = thread_storage_find(capture, module);
	uint64_t end = module->elf->tls_size;

	for (size_t i = 0; storage.is_known && i < module->elf->symbol_count; i++) {
		const struct heap_symbol *symbol = &module->elf->symbols[i];
		bool is_first = i == 0 || symbol[-1].kind != symbol->kind ||
				symbol[-1].address != symbol->address;

		if (symbol->kind != HEAP_SYMBOL_THREAD_LOCAL || symbol->size < 8 || !is_first ||
		    symbol->address > end || symbol->size > end - symbol->address ||
		    is_located(module, symbol->address))
			continue;
		HEAP_TRY(add_thread_local_symbol(capture, module, &storage, symbol));
	}
	return NULL;
}

struct heap_error *globals_gather_variables(struct capture *capture)
{
	thread_storage_note_modules(capture);
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];

		if (!module->has_debug || capture_is_own(capture, module))
			continue;
		HEAP_TRY(add_debug_globals(capture, module));
		HEAP_TRY(add_thread_locals(capture, module));
		HEAP_TRY(add_thread_local_symbols(capture, module));
	}
	// Symbols only name variables that debug information left unnamed.
	roots_sort_claims(&capture->roots);
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];

		if (module->elf && !capture_is_own(capture, module))
			HEAP_TRY(add_symbol_globals(capture, module));
	}
	return NULL;
}

uint64_t globals_thread_pointer(const struct heap_root *storage)
{
	uint64_t end = storage->address + storage->size;

	return end % LEAST_PAGE == 0 ? 0 : end - THREAD_CONTROL_BLOCK;
}

// --- unnamed words -----------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *gather(struct capture *capture, const struct heap_root *root,
				 enum roots_words which)
{
	return roots_gather(&capture->roots, root, &capture->image, &capture->objects, which);
}

struct heap_error *globals_gather_thread_storage(struct capture *capture)
{
	int64_t lowest = 0;

	for (uint32_t i = 0; i < capture->process.tls_module_count; i++) {
		if (capture->process.tls_modules[i].offset < lowest)
			lowest = capture->process.tls_modules[i].offset;
	}
	for (uint32_t i = 0; i < capture->process.thread_count; i++) {
		uint64_t pointer = capture->threads[i].thread_pointer;
		const struct image_mapping *mapping = image_find(&capture->image, pointer);

		if (pointer == 0 || !mapping)
			continue;

		uint64_t start = pointer + (uint64_t)lowest;
		uint64_t end = pointer + THREAD_CONTROL_BLOCK;

		if (start < mapping->start)
			start = mapping->start;
		if (end > mapping->end)
			end = mapping->end;

		struct heap_root root = {
			.kind = HEAP_ROOT_MAPPING,
			.name = strings_add(&capture->strings, GLOBALS_THREAD_STORAGE),
			.address = start,
			.size = end - start,
			.module = HEAP_NO_INDEX,
			.thread = i,
			.frame = HEAP_NO_INDEX,
		};

		HEAP_TRY(gather(capture, &root, ROOTS_ALL_WORDS));
		HEAP_TRY(roots_claim(&capture->roots, start, end - start));
	}
	roots_sort_claims(&capture->roots);
	return NULL;
}

static bool is_libc(const char *path)
{
	const char *name = heap_base_name(path);

	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2", 6) == 0;
}

struct data {
	struct capture *capture;
	const struct module *module;
};

// The name of the last variable before an address in a section, or NULL.
static char *find_near(const struct heap_elf_file *elf, uint64_t address, uint64_t section)
{
	const struct heap_symbol *symbol = heap_elf_find_before(elf, HEAP_SYMBOL_OBJECT, address);

	return symbol && symbol->address >= section && address - symbol->address <= NEAR_SYMBOL
		       ? heap_demangle(symbol->name)
		       : NULL;
}

// Names a root by its place in the file: ".bss+0x40, near stdout".
static void name_place(void *context, struct heap_root *root)
{
	const struct data *data = context;
	const struct heap_elf_file *elf = data->module->elf;
	uint64_t address = root->address - data->module->bias, start = 0;
	const char *section = heap_elf_find_section_at(elf, address, &start);
	CLEANUP_FREE char *near = section ? find_near(elf, address, start) : NULL;
	char name[MAX_PLACE];

	if (!section)
		return;
	snprintf(name, sizeof(name), "%s+%#" PRIx64 "%s%s", section, address - start,
		 near ? ", near " : "", near ? near : "");
	root->name = strings_add(&data->capture->strings, name);
}

HEAP_MUST_CHECK
static struct heap_error *gather_data(struct capture *capture, const struct module *module,
				      uint64_t start, uint64_t end)
{
	struct heap_root root = {
		.kind = HEAP_ROOT_SEGMENT,
		.name = strings_add(&capture->strings, ".data"),
		.address = start,
		.size = end - start,
		.module = module_index(capture, module),
		.thread = HEAP_NO_INDEX,
		.frame = HEAP_NO_INDEX,
	};

	return roots_gather_groups(&capture->roots, &root, &capture->image, &capture->objects,
				   is_libc(module->path) ? ROOTS_STARTS_ONLY : ROOTS_ALL_WORDS,
				   module->elf ? name_place : NULL,
				   &(struct data){ capture, module });
}

static bool is_writable(const struct image_mapping *mapping)
{
	return (mapping->protection & (PROT_READ | PROT_WRITE)) == (PROT_READ | PROT_WRITE);
}

// If the file of a module could not be read, or was not to be, all that can be written is data.
HEAP_MUST_CHECK
static struct heap_error *gather_segment(struct capture *capture, const struct module *module)
{
	if (module->elf && module->elf->data_end > module->elf->data_start)
		return gather_data(capture, module, module->elf->data_start + module->bias,
				   module->elf->data_end + module->bias);
	for (size_t i = 0; !module->elf && i < capture->image.mapping_count; i++) {
		const struct image_mapping *mapping = &capture->image.mappings[i];

		if (mapping->start >= module->start && mapping->end <= module->end &&
		    is_writable(mapping))
			HEAP_TRY(gather_data(capture, module, mapping->start, mapping->end));
	}
	return NULL;
}

static bool overlaps_module_data(const struct capture *capture, const struct image_mapping *mapping)
{
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];

		if (mapping->start < module->end && mapping->end > module->start)
			return true;
	}
	return false;
}

static bool holds_stack(const struct capture *capture, const struct image_mapping *mapping)
{
	if (mapping->kind == IMAGE_STACK)
		return true;
	for (uint32_t i = 0; i < capture->process.thread_count; i++) {
		uint64_t sp = capture->snapshot.threads[i].stack_start;

		if (sp >= mapping->start && sp < mapping->end)
			return true;
	}
	return false;
}

static bool holds_blocks(const struct capture *capture, const struct image_mapping *mapping)
{
	const struct object_range *range = objects_range(&capture->objects, mapping->start);

	return range && range->count > 0;
}

// A heap of one of glibc's arenas in which no block is live: its first word points to the
// arena, which lies in the same heap or in that of another one.
static bool is_empty_arena(const struct capture *capture, const struct image_mapping *mapping)
{
	uint64_t arena;

	return mapping->start % ARENA_HEAP == 0 && mapping->end - mapping->start <= ARENA_HEAP &&
	       image_read(&capture->image, mapping->start, &arena, 8) &&
	       arena % ARENA_HEAP < 4096 && arena != 0;
}

static bool is_other_memory(const struct capture *capture, const struct image_mapping *mapping)
{
	uint64_t own[CAPTURE_OWN_RANGES][2];
	size_t own_count = capture_own_ranges(capture, own);

	for (size_t i = 0; i < own_count; i++) {
		if (own[i][0] >= mapping->start && own[i][0] < mapping->end)
			return false;
	}
	return is_writable(mapping) && mapping->kind != IMAGE_SPECIAL &&
	       mapping->kind != IMAGE_HEAP && !holds_stack(capture, mapping) &&
	       !overlaps_module_data(capture, mapping) && !is_empty_arena(capture, mapping);
}

HEAP_MUST_CHECK
static struct heap_error *gather_other(struct capture *capture, const struct image_mapping *mapping,
				       uint64_t start, uint64_t end)
{
	struct heap_root root = {
		.kind = HEAP_ROOT_MAPPING,
		.name = strings_add(&capture->strings, mapping->name),
		.address = start,
		.size = end - start,
		.module = HEAP_NO_INDEX,
		.thread = HEAP_NO_INDEX,
		.frame = HEAP_NO_INDEX,
	};

	return gather(capture, &root, ROOTS_ALL_WORDS);
}

// True if a heap of one of glibc's arenas, which is empty then, begins there.
static bool may_hold_arena(const struct capture *capture, uint64_t start, uint64_t end)
{
	uint64_t at = (start + ARENA_HEAP - 1) / ARENA_HEAP * ARENA_HEAP, arena;

	for (; at < end; at += ARENA_HEAP) {
		if (image_read(&capture->image, at, &arena, 8) && arena >= ARENA_HEAP &&
		    arena % ARENA_HEAP < 4096)
			return true;
	}
	return false;
}

// A snapshot has no chunks, but its roots.
HEAP_MUST_CHECK
static struct heap_error *gather_old_gaps(struct capture *capture,
					  const struct image_mapping *mapping)
{
	const struct heap_snapshot *old = capture->old;

	for (uint32_t i = 0; i < old->root_count; i++) {
		const struct heap_root *root = &old->roots[i];

		if (root->kind == HEAP_ROOT_MAPPING && root->address >= mapping->start &&
		    root->address < mapping->end)
			HEAP_TRY(gather_other(capture, mapping, root->address,
					      root->address + root->size));
	}
	return NULL;
}

// Memory of the program's own allocators, such as Python's, beside large blocks.
HEAP_MUST_CHECK
static struct heap_error *gather_gaps(struct capture *capture, const struct image_mapping *mapping)
{
	bool has_headers = capture_has_headers(capture);
	CLEANUP_ARRAY struct gaps gaps = { 0 };

	if (capture->old)
		return gather_old_gaps(capture, mapping);
	if (mapping->kind != IMAGE_ANONYMOUS || mapping->shared ||
	    (has_headers && !capture->process.has_chunks) ||
	    (!has_headers && strcmp(capture->allocators, "glibc") != 0))
		return NULL;
	HEAP_TRY(gaps_find(&capture->image, &capture->objects, mapping,
			   has_headers ? HEAPSNAP_HEADER_SIZE : 0, &gaps));
	for (size_t i = 0; i < gaps.count; i++) {
		if (!may_hold_arena(capture, gaps.items[i].start, gaps.items[i].end))
			HEAP_TRY(gather_other(capture, mapping, gaps.items[i].start,
					      gaps.items[i].end));
	}
	return NULL;
}

struct heap_error *globals_gather_rest(struct capture *capture)
{
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];

		if (!capture_is_own(capture, module))
			HEAP_TRY(gather_segment(capture, module));
	}
	for (size_t i = 0; i < capture->image.mapping_count; i++) {
		const struct image_mapping *mapping = &capture->image.mappings[i];

		if (!is_other_memory(capture, mapping))
			continue;
		HEAP_TRY(holds_blocks(capture, mapping)
				 ? gather_gaps(capture, mapping)
				 : gather_other(capture, mapping, mapping->start, mapping->end));
	}
	return NULL;
}
