// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/capture.h"

#include "dumper/writer/scan/modules/module_types.h"
#include "dumper/writer/scan/image/snapshot_image.h"

#include "dumper/base/sanitizers.h"
#include "dumper/base/user_registers.h"
#include "dumper/writer/base/machine.h"
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/lost_memory.h"
#include "dumper/writer/scan/memory_use.h"
#include "dumper/writer/scan/object_scan.h"
#include "dumper/writer/scan/blocks/php_chunks.h"
#include "dumper/writer/scan/blocks/python_pools.h"
#include "dumper/writer/scan/threads/thread_pointers.h"
#include "dumper/writer/scan/blocks/unsigned_blocks.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_THREADS = 1 << 20, // more than any kernel has; the table is not believed blindly
};

HEAP_MUST_CHECK
static struct heap_error *check_process(struct heapsnap_process *process)
{
	if (process->magic != HEAPSNAP_PROCESS_MAGIC ||
	    process->version != HEAPSNAP_PROTOCOL_VERSION || process->bytes != sizeof(*process))
		return heap_error_create(
			HEAP_ERROR_FORMAT,
			"heapsnap-writer and libheapsnap.so are of different versions");
	process->program[sizeof(process->program) - 1] = '\0';
	process->directory[sizeof(process->directory) - 1] = '\0';
	process->pattern[sizeof(process->pattern) - 1] = '\0';
	process->other_malloc[sizeof(process->other_malloc) - 1] = '\0';
	process->traced.path[sizeof(process->traced.path) - 1] = '\0';
	process->report_type[sizeof(process->report_type) - 1] = '\0';
	if (process->thread_count > MAX_THREADS ||
	    process->tls_module_count > HEAPSNAP_TLS_MODULES || process->epoch >= HEAPSNAP_EPOCHS)
		return heap_error_create(HEAP_ERROR_FORMAT, "the program has overwritten what "
							    "libheapsnap.so notes of it");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_process(struct capture *capture, uint64_t address)
{
	struct heapsnap_process *process = &capture->process;

	capture->process_address = address;
	if (!image_read(&capture->image, address, process, sizeof(*process)))
		return heap_error_create(HEAP_ERROR_SYSTEM,
					 "the frozen copy's memory cannot be read: %#" PRIx64,
					 address);
	return check_process(process);
}

HEAP_MUST_CHECK
static struct heap_error *read_threads(struct capture *capture)
{
	size_t bytes = capture->process.thread_count * sizeof(*capture->threads);

	capture->threads = malloc(bytes + 1);
	if (!capture->threads)
		return heap_error_out_of_memory();
	if (!image_read(&capture->image, capture->process.threads, capture->threads, bytes))
		return heap_error_create(HEAP_ERROR_SYSTEM, "the table of threads cannot be read");
	return NULL;
}

// Begins a capture whose process, threads and image are known.
HEAP_MUST_CHECK
static struct heap_error *begin(struct capture *capture)
{
	thread_pointers_find(&capture->image, &capture->process, capture->threads);
	capture->roots.snapshot = &capture->snapshot;
	HEAP_TRY(strings_init(&capture->strings));
	return heap_types_init(&capture->snapshot.types);
}

static void clear(struct capture *capture)
{
	*capture = (struct capture){ .image = { .memory = -1, .pagemap = -1 },
				     .core = { .descriptor = -1 } };
}

// Closes the capture if it could not be opened.
HEAP_MUST_CHECK
static struct heap_error *opened(struct capture *capture, struct heap_error *error)
{
	if (error)
		capture_close(capture);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *open_prepared(struct capture *capture, pid_t pid, uint64_t process)
{
	HEAP_TRY(image_init(&capture->image, pid));
	HEAP_TRY(read_process(capture, process));
	HEAP_TRY(read_threads(capture));
	return begin(capture);
}

struct heap_error *capture_open(struct capture *capture, pid_t pid, uint64_t process)
{
	clear(capture);
	return opened(capture, open_prepared(capture, pid, process));
}

static bool read_at(int descriptor, void *buffer, size_t size, size_t offset)
{
	return pread(descriptor, buffer, size, (off_t)offset) == (ssize_t)size;
}

HEAP_MUST_CHECK
static struct heap_error *read_foreign(struct capture *capture, int descriptor)
{
	const size_t threads_at = sizeof(struct heapsnap_foreign);
	struct heapsnap_process *process = &capture->process;
	size_t bytes;

	if (!read_at(descriptor, process, sizeof(*process), 0) ||
	    !read_at(descriptor, &capture->shared, sizeof(capture->shared),
		     offsetof(struct heapsnap_foreign, shared)))
		return heap_error_create(HEAP_ERROR_SYSTEM, "no description of the process");
	HEAP_TRY(check_process(process));
	bytes = process->thread_count * sizeof(*capture->threads);
	capture->threads = malloc(bytes + 1);
	if (!capture->threads)
		return heap_error_out_of_memory();
	if (!read_at(descriptor, capture->threads, bytes, threads_at))
		return heap_error_create(HEAP_ERROR_SYSTEM, "the table of threads cannot be read");
	return NULL;
}

// --- the library in a process that was not asked to take the snapshot -------------------------

static bool is_of_library(const struct image_mapping *mapping)
{
	return strstr(mapping->name, "/libheapsnap.so") != NULL;
}

// The library's variables lie in its file's writable mapping, and in the anonymous one behind it.
static bool may_hold_process(const struct image *image, size_t number)
{
	const struct image_mapping *mapping = &image->mappings[number];

	if (mapping->shared || !(mapping->protection & PROT_WRITE))
		return false;
	if (is_of_library(mapping))
		return true;
	return number > 0 && mapping->kind == IMAGE_ANONYMOUS &&
	       mapping[-1].end == mapping->start && is_of_library(&mapping[-1]);
}

// @return the address of the library's struct heapsnap_process in a mapping; 0: it is not there
static uint64_t search_process(const struct image *image, const struct image_mapping *mapping,
			       struct heapsnap_process *process)
{
	uint64_t last = mapping->end - sizeof(*process), magic;

	if (mapping->end - mapping->start < sizeof(*process))
		return 0;
	for (uint64_t at = mapping->start; at <= last; at += sizeof(magic)) {
		if (image_read(image, at, &magic, sizeof(magic)) &&
		    magic == HEAPSNAP_PROCESS_MAGIC &&
		    image_read(image, at, process, sizeof(*process)))
			return at;
	}
	return 0;
}

// Takes over the tables that the library keeps. The rest is as the command describes it.
static void adopt(struct heapsnap_process *process, struct heapsnap_process found)
{
	struct heapsnap_process wanted = *process;

	*process = found;
	// The same two clocks, at the moment of the snapshot.
	process->clock_ns = found.clock_ns + (wanted.time_ns - found.time_ns);
	process->time_ns = wanted.time_ns;
	process->pid = wanted.pid;
	process->serial = wanted.serial;
	process->first_number = wanted.first_number;
	process->content_limit = wanted.content_limit;
	process->has_types = wanted.has_types;
	process->writer_memory = wanted.writer_memory;
	process->writer_time_ns = wanted.writer_time_ns;
	process->writer_nice = wanted.writer_nice;
	memcpy(process->program, wanted.program, sizeof(process->program));
	memcpy(process->directory, wanted.directory, sizeof(process->directory));
	memcpy(process->pattern, wanted.pattern, sizeof(process->pattern));
	process->origin = HEAPSNAP_ORIGIN_LIBRARY;
	process->signal = wanted.signal;
	process->report = HEAPSNAP_REPORT_NONE;
	process->shared = 0;
	process->thread_count = wanted.thread_count;
	process->missed_threads = wanted.missed_threads;
}

// Blocks of a process under heapsnap run have headers, which win.
HEAP_MUST_CHECK
static struct heap_error *look_for_library(struct capture *capture)
{
	CLEANUP_FREE struct heapsnap_process *found = malloc(sizeof(*found));
	const struct image *image = &capture->image;
	uint64_t address = 0;

	if (!found)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < image->mapping_count && address == 0; i++) {
		if (may_hold_process(image, i))
			address = search_process(image, &image->mappings[i], found);
	}
	if (address == 0)
		return NULL;
	HEAP_TRY(check_process(found));
	if (found->secret == 0)
		return NULL;
	capture->process_address = address;
	adopt(&capture->process, *found);
	return NULL;
}

static bool is_other_file(const char *path, const char *other_path)
{
	struct stat status, other;

	return stat(path, &status) == 0 && stat(other_path, &other) == 0 &&
	       (status.st_dev != other.st_dev || status.st_ino != other.st_ino);
}

// In a container, the mapped files are those of its own root. A service may have our root, and mounts of its own below
// it: a /tmp with the libraries that a runtime has unpacked there.
static void find_root(struct capture *capture)
{
	char mounts[64];

	snprintf(capture->root, sizeof(capture->root), "/proc/%d/root", (int)capture->image.pid);
	snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", (int)capture->image.pid);
	if (is_other_file("/", capture->root) || is_other_file("/proc/self/ns/mnt", mounts))
		capture->image.root = capture->root;
}

HEAP_MUST_CHECK
static struct heap_error *open_foreign(struct capture *capture, pid_t pid, int descriptor)
{
	HEAP_TRY(image_init(&capture->image, pid));
	HEAP_TRY(read_foreign(capture, descriptor));
	capture->taken = capture->process.origin;
	find_root(capture);
	HEAP_TRY(look_for_library(capture));
	return begin(capture);
}

struct heap_error *capture_open_foreign(struct capture *capture, pid_t pid, int descriptor)
{
	clear(capture);
	return opened(capture, open_foreign(capture, pid, descriptor));
}

static void describe_core(struct capture *capture)
{
	struct heapsnap_process *process = &capture->process;
	const struct core *core = &capture->core;

	process->thread_count = (uint32_t)core->threads.count;
	process->pid = core->pid;
	process->signal = (uint32_t)core->signal;
	if (process->program[0] == '\0')
		snprintf(process->program, sizeof(process->program), "%s",
			 core->program[0] ? core->program : "core");
	lost_memory_describe(core, capture->lacks, sizeof(capture->lacks));
}

HEAP_MUST_CHECK
static struct heap_error *open_core(struct capture *capture, const char *path, int descriptor,
				    const char *sysroot, const char *executable)
{
	size_t bytes;

	HEAP_TRY(core_open(&capture->core, path, sysroot));
	HEAP_TRY(image_init_core(&capture->image, &capture->core));
	HEAP_TRY(read_foreign(capture, descriptor));
	capture->taken = capture->process.origin;
	capture->image.root = sysroot;
	capture->image.executable = *executable ? executable : NULL;
	describe_core(capture);
	bytes = capture->core.threads.count * sizeof(*capture->threads);
	free(capture->threads);
	capture->threads = malloc(bytes + 1);
	if (!capture->threads)
		return heap_error_out_of_memory();
	memcpy(capture->threads, capture->core.threads.items, bytes);
	HEAP_TRY(look_for_library(capture));
	return begin(capture);
}

struct heap_error *capture_open_core(struct capture *capture, const char *path, int descriptor,
				     const char *sysroot, const char *executable)
{
	clear(capture);
	return opened(capture, open_core(capture, path, descriptor, sysroot, executable));
}

// --- a snapshot ----------------------------------------------------------------

// The tables and columns that stay; of sites, roots and types there are new ones.
static void take_tables(struct capture *capture, const struct heap_snapshot *from)
{
	struct heap_snapshot *snapshot = &capture->snapshot;
	struct heap_types types = snapshot->types;

	*snapshot = *from;
	snapshot->file = NULL;
	snapshot->types = types;
	snapshot->sites = NULL;
	snapshot->roots = NULL;
	snapshot->root_edges = NULL;
	snapshot->root_content = NULL;
	snapshot->modules = NULL;
	snapshot->tags = NULL;
	snapshot->tag = NULL;
	snapshot->parts = NULL;
	snapshot->slabs = NULL;
	snapshot->site_count = snapshot->root_count = snapshot->module_count = 0;
	snapshot->root_edge_count = snapshot->root_content_size = 0;
	snapshot->tag_count = snapshot->part_count = snapshot->slab_count = 0;
}

HEAP_MUST_CHECK
static struct heap_error *open_snapshot(struct capture *capture, struct heap_snapshot *snapshot)
{
	HEAP_TRY(snapshot_image_fill(&capture->core, snapshot));
	HEAP_TRY(image_init_core(&capture->image, &capture->core));
	capture->process.origin = (uint32_t)snapshot->info.origin;
	capture->process.has_types = true;
	capture->process.pid = (uint32_t)snapshot->info.pid;
	capture->process.content_limit = snapshot->info.content_limit;
	capture->block_sizes = heap_block_sizes_by(snapshot->info.allocators);
	HEAP_TRY(begin(capture));
	capture->old = snapshot;
	take_tables(capture, snapshot);
	// Offsets of strings do not change.
	HEAP_TRY(strings_adopt(&capture->strings, snapshot->strings, snapshot->string_size));
	return snapshot_image_add_objects(&capture->core, snapshot, &capture->objects);
}

struct heap_error *capture_open_snapshot(struct capture *capture, struct heap_snapshot *snapshot)
{
	clear(capture);
	return open_snapshot(capture, snapshot);
}

// --- blocks --------------------------------------------------------------------

static void add_doubt(struct capture *capture, const char *doubt)
{
	size_t length = strlen(capture->doubts);

	snprintf(capture->doubts + length, sizeof(capture->doubts) - length, "%s%s",
		 length ? "; " : "", doubt);
}

// @return malloc'd; 0: that of a thread is not known
static uint64_t *list_thread_pointers(const struct capture *capture)
{
	uint64_t *pointers = calloc(capture->process.thread_count + 1, sizeof(*pointers));

	for (uint32_t i = 0; pointers && i < capture->process.thread_count; i++)
		pointers[i] = capture->threads[i].thread_pointer;
	return pointers;
}

// @return NULL if memory is short
static uint64_t *list_stack_pointers(const struct capture *capture)
{
	uint64_t *pointers = calloc(capture->process.thread_count + 1, sizeof(*pointers));

	for (uint32_t i = 0; pointers && i < capture->process.thread_count; i++)
		pointers[i] = capture->threads[i].registers[HEAPSNAP_USER_SP];
	return pointers;
}

static size_t count_defining(const struct modules *modules, const char *symbol)
{
	size_t count = 0;

	for (size_t i = 0; i < modules->count; i++) {
		const struct heap_elf_file *elf = modules->modules[i].elf;

		count += elf && heap_elf_find_name(elf, symbol);
	}
	return count;
}

// True if glibc may have blocks that the library did not ask it for.
static bool is_glibc_called(const struct capture *capture)
{
	static const char *const past_malloc[] = { "__libc_malloc", "__libc_calloc",
						   "__libc_realloc", "__libc_memalign" };
	const struct modules *modules = &capture->modules;

	if (capture->process.other_malloc[0] != '\0' || count_defining(modules, past_malloc[0]) > 1)
		return true;
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->modules[i];

		if (!module->elf || capture_is_own(capture, module))
			continue;
		for (size_t j = 0; j < sizeof(past_malloc) / sizeof(past_malloc[0]); j++) {
			if (heap_elf_imports(module->elf, past_malloc[j]))
				return true;
		}
	}
	return false;
}

// The blocks of allocators that our malloc has nothing to do with. Their sizes are rounded up, and so all are taken to be.
HEAP_MUST_CHECK
static struct heap_error *find_unsigned(struct capture *capture, struct blocks *blocks)
{
	CLEANUP_FREE uint64_t *pointers = list_thread_pointers(capture);
	struct block_threads threads = { pointers, capture->process.thread_count };

	if (!pointers)
		return heap_error_out_of_memory();
	HEAP_TRY(unsigned_blocks_find(blocks, &capture->image, &threads, &capture->process,
				      is_glibc_called(capture)));
	if (blocks->list.count == 0)
		return NULL;
	memcpy(capture->allocators, blocks->allocators, sizeof(capture->allocators));
	if (blocks->doubts[0])
		add_doubt(capture, blocks->doubts);
	capture->block_sizes = blocks->sizes;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_memory(struct capture *capture, struct memory_use *use,
				       struct memory_owners *owners)
{
	CLEANUP_FREE uint64_t *stack_pointers = list_stack_pointers(capture);

	if (!stack_pointers)
		return heap_error_out_of_memory();
	owners->objects = &capture->objects;
	owners->stack_pointers = stack_pointers;
	HEAP_TRY(memory_use_count(use, owners));
	capture->block_bytes = use->blocks;
	capture->spare_bytes = use->spare;
	capture->spare_page_bytes = use->spare_pages;
	capture->stack_bytes = use->stacks;
	capture->mapped_bytes = use->mapped;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_by_headers(struct capture *capture)
{
	uint64_t own[CAPTURE_OWN_RANGES][2];
	size_t own_count = capture_own_ranges(capture, own);
	CLEANUP(moves_deinit) struct moves moves = { 0 };
	CLEANUP(blocks_deinit) struct blocks others = { 0 };
	CLEANUP(memory_use_deinit) struct memory_use use = { 0 };
	CLEANUP_FREE uint64_t *pointers = list_thread_pointers(capture);
	struct block_threads threads = { pointers, capture->process.thread_count };

	if (!pointers)
		return heap_error_out_of_memory();
	HEAP_TRY(memory_use_init(&use, &capture->image));
	HEAP_TRY(find_unsigned(capture, &others));
	HEAP_TRY(moves_init(&moves, &capture->image, &capture->process, capture->threads));
	HEAP_TRY(object_scan_run(&capture->objects, &capture->image, &capture->process, &moves, own,
				 own_count, &others));
	return count_memory(capture, &use,
			    &(struct memory_owners){
				    .lead = HEAPSNAP_HEADER_SIZE,
				    .has_chunks = capture->process.has_chunks,
				    .threads = &threads,
				    .own = own,
				    .own_count = own_count,
			    });
}

// No allocator is found in a core file that lacks its memory: says that rather.
HEAP_MUST_CHECK
static struct heap_error *blame_core(const struct capture *capture, struct heap_error *error)
{
	const struct core *core = &capture->core;
	bool has_none = core->written == 0 && core->left_out > 0;

	if (!error || heap_error_code(error) != HEAP_ERROR_ABSENT ||
	    (core->missing == 0 && !has_none))
		return error;
	heap_error_destroy(error);
	if (core->missing > 0)
		return heap_error_create(
			HEAP_ERROR_ABSENT,
			"the core file is cut short: %" PRIu64 " of %" PRIu64
			" bytes are missing, and no blocks are found in the rest%s%s",
			core->missing, core->expected, *capture->lacks ? ": it lacks " : "",
			capture->lacks);
	return heap_error_create(HEAP_ERROR_ABSENT,
				 "the core file lacks the allocator's memory: %" PRIu64
				 " bytes were left out, by coredump_filter as core(5) has it",
				 core->left_out);
}

// No allocator is found in a program whose malloc is a sanitizer's; its shadow has terabytes to be searched.
HEAP_MUST_CHECK
static struct heap_error *refuse_sanitizer(const struct modules *modules)
{
	for (size_t i = 0; i < SANITIZER_COUNT; i++) {
		if (count_defining(modules, sanitizers[i].symbol) > 0)
			return heap_error_create(
				HEAP_ERROR_ABSENT,
				"the program has %s in it, which has a malloc of its own: "
				"start one without",
				sanitizers[i].name);
	}
	return NULL;
}

// Runtimes that keep small blocks in memory of their own, unless they are told to use malloc.
static const struct {
	const char *symbol; // which the runtime defines
	const char *blocks, *advice;
	uint64_t (*find_size)(const struct image *image);
} runtimes[] = {
	{ "PyObject_Malloc", "small objects of Python", "PYTHONMALLOC=malloc", python_pools_size },
	{ "_emalloc", "values of PHP", "USE_ZEND_ALLOC=0", php_chunks_size },
};

// @return bytes of what they keep
static uint64_t doubt_runtimes(struct capture *capture)
{
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		uint64_t size = count_defining(&capture->modules, runtimes[i].symbol) > 0
					? runtimes[i].find_size(&capture->image)
					: 0;
		char doubt[160];

		if (size == 0)
			continue;
		all += size;
		snprintf(doubt, sizeof(doubt),
			 "%s (%" PRIu64 " KiB) are not known: start it with %s", runtimes[i].blocks,
			 size / 1024, runtimes[i].advice);
		add_doubt(capture, doubt);
	}
	return all;
}

// Says how much memory may hold blocks that are not known, where it is much.
static void doubt_foreign(struct capture *capture, const struct memory_use *use)
{
	uint64_t of_runtimes = doubt_runtimes(capture);
	char doubt[128];

	if (!memory_use_is_foreign(use, of_runtimes))
		return;
	snprintf(doubt, sizeof(doubt),
		 "%" PRIu64 " MiB of anonymous memory hold no block of a known allocator",
		 (use->mapped - of_runtimes) >> 20);
	add_doubt(capture, doubt);
}

HEAP_MUST_CHECK
static struct heap_error *find_by_allocators(struct capture *capture)
{
	CLEANUP_FREE uint64_t *pointers = list_thread_pointers(capture);
	CLEANUP(blocks_deinit) struct blocks blocks = { 0 };
	struct block_threads threads = { pointers, capture->process.thread_count };
	CLEANUP(memory_use_deinit) struct memory_use use = { 0 };
	bool is_glibc;

	if (!pointers)
		return heap_error_out_of_memory();
	HEAP_TRY(refuse_sanitizer(&capture->modules));
	HEAP_TRY(memory_use_init(&use, &capture->image));
	HEAP_TRY(blame_core(capture, blocks_find(&blocks, &capture->image, &threads)));
	memcpy(capture->allocators, blocks.allocators, sizeof(capture->allocators));
	if (blocks.doubts[0])
		add_doubt(capture, blocks.doubts);
	capture->block_sizes = blocks.sizes;
	HEAP_TRY(blocks_add_objects(&blocks, &capture->image, &capture->objects));
	is_glibc = strcmp(capture->allocators, "glibc") == 0;
	HEAP_TRY(count_memory(capture, &use,
			      &(struct memory_owners){
				      .has_chunks = is_glibc,
				      .regions = blocks.regions.items,
				      .region_count = is_glibc ? blocks.regions.count : 0,
				      .threads = &threads,
			      }));
	doubt_foreign(capture, &use);
	return NULL;
}

struct heap_error *capture_find_objects(struct capture *capture)
{
	HEAP_TRY(objects_init(&capture->objects));
	capture->block_sizes = HEAP_BLOCK_SIZES_EXACT;
	return capture_has_headers(capture) ? find_by_headers(capture)
					    : find_by_allocators(capture);
}

void capture_close(struct capture *capture)
{
	free(capture->site_of_kind);
	free(capture->maker_of_kind);
	roots_deinit(&capture->roots);
	heap_array_deinit(&capture->unplaced.list);
	heap_stored_edges_destroy(capture->stored_edges);
	functions_deinit(&capture->functions);
	backtraces_deinit(&capture->backtraces);
	objects_deinit(&capture->objects);
	module_types_deinit(&capture->modules);
	modules_deinit(&capture->modules);
	strings_deinit(&capture->strings);
	heap_snapshot_deinit(&capture->snapshot);
	names_deinit(&capture->names);
	free(capture->threads);
	image_deinit(&capture->image);
	core_close(&capture->core);
	clear(capture);
}

bool capture_is_own(const struct capture *capture, const struct module *module)
{
	return capture->process_address >= module->start && capture->process_address < module->end;
}

size_t capture_own_ranges(const struct capture *capture, uint64_t ranges[CAPTURE_OWN_RANGES][2])
{
	const struct heapsnap_process *process = &capture->process;
	const uint64_t own[][2] = {
		{ process->threads, process->threads + 1 },
		{ process->labels, process->labels + 1 },
		{ process->pieces, process->pieces + 1 },
		{ process->shared, process->shared + 1 },
		{ process->epochs, process->epochs + 1 },
		{ process->steps, process->steps + 1 },
		{ process->kinds, process->kinds + 1 },
		{ process->samples, process->samples + 1 },
		{ process->more_steps, process->more_steps + 1 },
		{ process->more_kinds, process->more_kinds + 1 },
		{ process->more_samples, process->more_samples + 1 },
		{ process->wrappers, process->wrappers + 1 },
	};
	size_t count = 0;

	_Static_assert(sizeof(own) / sizeof(own[0]) == CAPTURE_OWN_RANGES, "room for all");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const struct image_mapping *mapping = image_find(&capture->image, own[i][0]);

		if (own[i][0] == 0 || !mapping || mapping->kind != IMAGE_ANONYMOUS)
			continue;
		// Some tables lie in one mapping, side by side in the list above.
		if (count > 0 && ranges[count - 1][0] == mapping->start)
			continue;
		ranges[count][0] = mapping->start;
		ranges[count][1] = mapping->end;
		count++;
	}
	return count;
}
