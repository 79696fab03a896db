// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/store.h"

#include "dumper/writer/base/bounds.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/prune.h"
#include "dumper/writer/infer/classes/type_copies.h"
#include "dumper/writer/scan/samples.h"
#include "dumper/writer/scan/image/taken_pages.h"
#include "lib/base/cleanup.h"
#include "lib/base/path.h"
#include "lib/base/search.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

enum {
	AHEAD = 1 << 20, // bytes of the objects' contents that are read at once
};

// Read-ahead of the blocks' contents, which are read by ascending address.
struct contents {
	const struct image *image;
	uint8_t *bytes; // [AHEAD] from `start` on
	uint64_t start;
	uint64_t size; // bytes that have been read
};

struct storing {
	struct capture *capture;
	struct contents contents;
};

HEAP_MUST_CHECK
static struct heap_error *read_content(void *context, heap_object_id object, uint64_t address,
				       uint8_t *buffer, size_t size)
{
	struct storing *storing = context;
	struct contents *contents = &storing->contents;

	progress_set_done(object);
	progress_step();
	if (size > AHEAD / 2) {
		image_read_padded(contents->image, address, buffer, size);
		return NULL;
	}
	if (address < contents->start || address - contents->start > contents->size ||
	    size > contents->size - (address - contents->start)) {
		const struct image_mapping *mapping = image_find(contents->image, address);
		uint64_t left = mapping ? mapping->end - address : size;

		contents->start = address;
		contents->size = left < AHEAD ? left : AHEAD;
		if (contents->size < size)
			contents->size = size;
		image_read_padded(contents->image, address, contents->bytes, contents->size);
	}
	memcpy(buffer, contents->bytes + (address - contents->start), size);
	return NULL;
}

// Sampled objects have a backtrace of their own; the others have that of their kind.
static void make_backtraces(const struct capture *capture, heap_object_id first, uint32_t count,
			    uint64_t *values)
{
	const struct backtraces *backtraces = &capture->backtraces;
	const struct own_backtrace *own = backtraces->own.items;
	size_t at = heap_partition_point(i, 0, backtraces->own.count, own[i].object < first);

	for (uint32_t i = 0; i < count; i++)
		values[i] = backtraces->of_kind[objects_kind(&capture->objects, first + i)];
	for (; at < backtraces->own.count && own[at].object - first < count; at++)
		values[own[at].object - first] = own[at].backtrace;
}

// Types, elements and evidence, where types were wanted.
static void make_names(const struct names *names, enum heap_columns column, heap_object_id first,
		       uint32_t count, uint64_t *values)
{
	for (uint32_t i = 0; names->of && i < count; i++) {
		const struct name *name = names_of(names, first + i);

		values[i] = column == HEAP_COLUMN_TYPE       ? name->type
			    : column == HEAP_COLUMN_ELEMENTS ? name->elements
							     : name->evidence;
	}
}

// Values that many objects share become columns only while they are written.
static void make_column(void *context, enum heap_columns column, heap_object_id first,
			uint32_t count, uint64_t *values)
{
	const struct storing *storing = context;
	const struct capture *capture = storing->capture;
	const struct objects *objects = &capture->objects;
	const uint32_t epochs = capture->snapshot.epoch_count;

	if (column == HEAP_COLUMN_BACKTRACE)
		make_backtraces(capture, first, count, values);
	if (column == HEAP_COLUMN_TYPE || column == HEAP_COLUMN_ELEMENTS ||
	    column == HEAP_COLUMN_EVIDENCE)
		make_names(&capture->names, column, first, count, values);
	for (uint32_t i = 0; i < count; i++) {
		if (column == HEAP_COLUMN_ADDRESS)
			values[i] = objects_address(objects, first + i);
		else if (column == HEAP_COLUMN_SIZE)
			values[i] = objects_size(objects, first + i);
		else if (column == HEAP_COLUMN_SITE)
			values[i] = capture->site_of_kind[objects_kind(objects, first + i)];
		else if (column == HEAP_COLUMN_BIRTH) // the table may lack a block's epoch
			values[i] = births_of(&objects->births, first + i) < epochs
					    ? births_of(&objects->births, first + i)
					    : epochs - 1;
	}
}

// Where a module's debug information was. What was read by a link in /proc is the module's own file, whose name may have
// become another file's: the link has no meaning once the process has ended.
static const char *debug_name(const struct module *module)
{
	bool is_link = module->has_debug && module->elf &&
		       strncmp(module->debug_path, "/proc/", 6) == 0 &&
		       strcmp(module->debug_path, module->elf->path) == 0;

	if (!module->has_debug)
		return "";
	return is_link ? module->path : module->debug_path;
}

struct heap_error *store_fill_modules(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;

	snapshot->modules = calloc(capture->modules.count + 1, sizeof(*snapshot->modules));
	if (!snapshot->modules)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];
		char id[2 * HEAP_BUILD_ID_MAX + 1];

		heap_build_id_format(module->elf ? &module->elf->build_id : &module->build_id, id,
				     sizeof(id));
		snapshot->modules[i] = (struct heap_module){
			.path = strings_add(&capture->strings, module->path),
			.build_id = strings_add(&capture->strings, id),
			.debug = strings_add(&capture->strings, debug_name(module)),
			.note = strings_add(&capture->strings, module->note),
			.start = module->start,
			.end = module->end,
			.bias = module->bias,
		};
	}
	snapshot->module_count = (uint32_t)capture->modules.count;
	return NULL;
}

// The memory map, in which pages that could not be read have lines of their own.
struct map_lines {
	const struct image *image;
	struct strings *strings;
	struct heap_mapping *lines; // [count]
	uint32_t count;
	size_t mapping; // the next of the image's
	uint64_t start; // of the part that has no line yet
};

static void add_line(struct map_lines *map, uint64_t end, uint32_t flags)
{
	const struct image_mapping *mapping = &map->image->mappings[map->mapping];

	if (end == map->start)
		return;
	map->lines[map->count++] = (struct heap_mapping){
		.start = map->start,
		.end = end,
		.protection =
			mapping->protection | (mapping->shared ? HEAP_MAPPING_SHARED : 0) | flags,
		.name = strings_add(map->strings, mapping->name),
	};
	map->start = end;
}

static void add_lines_before(struct map_lines *map, uint64_t address, const struct objects *objects)
{
	for (; map->mapping < map->image->mapping_count; map->mapping++) {
		const struct image_mapping *mapping = &map->image->mappings[map->mapping];
		const struct object_range *range = objects_range(objects, mapping->start);
		bool is_wiped = mapping->wiped && range;

		if (map->start < mapping->start)
			map->start = mapping->start;
		if (mapping->end > address) {
			if (address > map->start)
				add_line(map, address, is_wiped ? HEAP_MAPPING_WIPED : 0);
			return;
		}
		add_line(map, mapping->end, is_wiped ? HEAP_MAPPING_WIPED : 0);
	}
}

struct map_context {
	struct map_lines *map;
	const struct objects *objects;
	size_t spans; // counted if map is NULL
};

static void add_unread(void *context, uint64_t start, uint64_t end)
{
	struct map_context *adding = context;
	struct map_lines *map = adding->map;

	adding->spans++;
	while (map && start < end) {
		uint64_t until;

		add_lines_before(map, start, adding->objects);
		if (map->mapping == map->image->mapping_count)
			return;
		until = map->image->mappings[map->mapping].end;
		until = until < end ? until : end;
		if (until > map->start)
			add_line(map, until, HEAP_MAPPING_UNREAD);
		start = until;
	}
}

HEAP_MUST_CHECK
static struct heap_error *fill_mappings(struct capture *capture)
{
	const struct image *image = &capture->image;
	struct map_lines map = { .image = image, .strings = &capture->strings };
	struct map_context context = { .objects = &capture->objects };

	HEAP_TRY(image_visit_unread(image, add_unread, &context));
	// A span may go on in the mappings behind its own.
	map.lines = calloc(3 * image->mapping_count + 2 * context.spans + 1, sizeof(*map.lines));
	if (!map.lines)
		return heap_error_out_of_memory();
	context.map = &map;
	HEAP_TRY(image_visit_unread(image, add_unread, &context));
	add_lines_before(&map, UINT64_MAX, context.objects);
	capture->snapshot.mappings = map.lines;
	capture->snapshot.mapping_count = map.count;
	return NULL;
}

// Describes a damaged header; the last that is listed also tells how many more there are.
static uint32_t describe_damage(struct capture *capture, size_t number)
{
	static const char text[] =
		"header overwritten: the block before it, or the program through a "
		"stray pointer, wrote there";
	const struct objects *objects = &capture->objects;
	char longer[sizeof(text) + 64];

	if (number + 1 < objects->damage_count ||
	    (objects->damages_left_out == 0 && !objects->damages_are_cut))
		return strings_add(&capture->strings, text);
	snprintf(longer, sizeof(longer), "%s; %s%zu more are not listed", text,
		 objects->damages_are_cut ? "at least " : "", objects->damages_left_out);
	return strings_add(&capture->strings, longer);
}

HEAP_MUST_CHECK
static struct heap_error *fill_damages(struct capture *capture)
{
	const struct objects *objects = &capture->objects;
	struct heap_snapshot *snapshot = &capture->snapshot;

	snapshot->damages = calloc(objects->damage_count + 1, sizeof(*snapshot->damages));
	if (!snapshot->damages)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < objects->damage_count; i++) {
		snapshot->damages[i] = (struct heap_damage){
			.address = objects->damages[i],
			.note = describe_damage(capture, i),
		};
	}
	snapshot->damage_count = (uint32_t)objects->damage_count;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *fill_epochs(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;
	size_t count = (size_t)capture->process.epoch + 1;

	snapshot->epochs = calloc(count, sizeof(*snapshot->epochs));
	if (!snapshot->epochs)
		return heap_error_out_of_memory();
	if (capture->process.epochs)
		image_read_padded(&capture->image, capture->process.epochs, snapshot->epochs,
				  count * 8);
	else
		snapshot->epochs[0] = capture->process.start_time_ns;
	// Clocks are set back now and then; a later epoch begins later here.
	for (size_t i = 1; i < count; i++) {
		if (snapshot->epochs[i] < snapshot->epochs[i - 1])
			snapshot->epochs[i] = snapshot->epochs[i - 1];
	}
	snapshot->epoch_count = (uint32_t)count;
	return NULL;
}

// Debug information may be damaged in ways that only show when all of it is together. A
// snapshot with such types could not be opened: it goes without any.
HEAP_MUST_CHECK
static struct heap_error *drop_types(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;

	heap_types_deinit(&snapshot->types);
	snapshot->types = (struct heap_types){ 0 };
	for (heap_object_id i = 0; capture->names.of && i < capture->objects.count; i++) {
		snapshot->conflict_type[i] = HEAP_NO_TYPE;
		snapshot->conflicts[i] = 0;
		names_take(&capture->names, i);
	}
	for (heap_root_id i = 0; i < snapshot->root_count; i++)
		snapshot->roots[i].type = HEAP_NO_TYPE;
	snapshot->part_count = snapshot->slab_count = 0;
	return heap_types_init(&snapshot->types);
}

// The first object from one on that has a conflict, which few have; the number of objects if none has.
static heap_object_id next_conflict(const struct capture *capture, heap_object_id object)
{
	heap_object_id objects = capture->objects.count;

	return capture->names.of
		       ? heap_next_set_u32(capture->snapshot.conflict_type, object, objects)
		       : objects;
}

// Marks the types of all that the snapshot has, and the few basic ones: symbols may name them, such as those
// of std::any. Objects have the first version of a type.
HEAP_MUST_CHECK
static struct heap_error *need_types(const struct capture *capture, const heap_type_id *first,
				     bool *needed)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	const struct names *names = &capture->names;
	CLEANUP_FREE uint32_t *counts = NULL;

	needed[HEAP_NO_TYPE] = true;
	for (heap_type_id i = 1; i < snapshot->types.count; i++)
		needed[i] = snapshot->types.types[i].kind == HEAP_TYPE_BASE;
	if (names->of)
		HEAP_TRY(names_count(names, capture->objects.count, &counts));
	for (uint32_t i = 0; counts && i < names->count; i++)
		needed[first[names_get(names, i)->type]] |= counts[i] > 0;
	for (heap_object_id i = next_conflict(capture, 0); i < capture->objects.count;
	     i = next_conflict(capture, i + 1))
		needed[first[snapshot->conflict_type[i]]] = true;
	for (uint32_t i = 0; i < snapshot->part_count; i++)
		needed[first[snapshot->parts[i].type]] = true;
	for (heap_root_id i = 0; i < snapshot->root_count; i++)
		needed[snapshot->roots[i].type] = true;
	return NULL;
}

// Gives all types in the snapshot new numbers.
//
// @param first  gets the new number of the first version of each type
static void renumber_types(struct capture *capture, const heap_type_id *map, heap_type_id count,
			   heap_type_id *first)
{
	struct heap_snapshot *snapshot = &capture->snapshot;

	for (heap_type_id i = 0; i < count; i++)
		first[i] = map[first[i]];
	names_renumber(&capture->names, first);
	for (heap_object_id i = next_conflict(capture, 0); i < capture->objects.count;
	     i = next_conflict(capture, i + 1))
		snapshot->conflict_type[i] = first[snapshot->conflict_type[i]];
	for (uint32_t i = 0; i < snapshot->part_count; i++)
		snapshot->parts[i].type = first[snapshot->parts[i].type];
	for (heap_root_id i = 0; i < snapshot->root_count; i++)
		snapshot->roots[i].type = map[snapshot->roots[i].type];
}

struct heap_error *store_keep_types(struct capture *capture)
{
	struct heap_types *types = &capture->snapshot.types;
	CLEANUP_FREE bool *needed = calloc(types->count, sizeof(*needed));
	CLEANUP_FREE heap_type_id *map = calloc(types->count, sizeof(*map));
	CLEANUP_FREE heap_type_id *first = calloc(types->count, sizeof(*first));
	heap_type_id count = types->count;
	struct heap_types kept;

	if (!needed || !map || !first)
		return heap_error_out_of_memory();
	HEAP_TRY(type_copies_find_first(types, capture->first_copy, first));
	HEAP_TRY(need_types(capture, first, needed));
	HEAP_TRY(prune_types(types, needed, map, &kept));
	heap_types_deinit(types);
	*types = kept;
	renumber_types(capture, map, count, first);

	struct heap_error *error = heap_types_check(types);

	if (!error)
		return NULL;
	heap_error_destroy(error);
	return drop_types(capture);
}

static void read_command(const struct capture *capture, char *buffer, size_t size)
{
	char path[64];

	if (capture->image.core) {
		snprintf(buffer, size, "%s", capture->core.command);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)capture->image.pid);
	buffer[0] = '\0';

	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = descriptor < 0 ? 0 : read(descriptor, buffer, size - 1);

	for (ssize_t i = 0; i + 1 < length; i++) {
		if (buffer[i] == '\0')
			buffer[i] = ' ';
	}
	buffer[length < 0 ? 0 : length] = '\0';
}

struct texts {
	char command[4096];
	char host[256];
	char id[33];
};

// From the stop of the process to now. That of a core ended long ago.
static uint64_t time_to_write(const struct heapsnap_process *process)
{
	struct timespec now;

	if (process->origin == HEAPSNAP_ORIGIN_CORE)
		return progress_elapsed_ns();
	clock_gettime(CLOCK_REALTIME, &now);

	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;

	return now_ns > process->time_ns ? now_ns - process->time_ns : 0;
}

static void fill_costs(const struct capture *capture, struct heap_info *info)
{
	struct rusage usage;

	info->writer_ns = time_to_write(&capture->process);
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		info->writer_bytes = (uint64_t)usage.ru_maxrss * 1024;
	info->copied_bytes = bounds_copied(capture->image.pid, (pid_t)info->pid);
}

static enum heap_fault fault_of(const siginfo_t *cause)
{
	if (cause->si_code <= 0 || (cause->si_signo != SIGSEGV && cause->si_signo != SIGBUS))
		return HEAP_FAULT_NONE;
	if (cause->si_code == SI_KERNEL)
		return HEAP_FAULT_UNKNOWN;
	if (cause->si_signo == SIGBUS)
		return cause->si_code == BUS_ADRERR ? HEAP_FAULT_NO_FILE : HEAP_FAULT_OTHER;
	return cause->si_code == SEGV_MAPERR   ? HEAP_FAULT_UNMAPPED
	       : cause->si_code == SEGV_ACCERR ? HEAP_FAULT_FORBIDDEN
					       : HEAP_FAULT_OTHER;
}

// A signal that a process sends itself, as abort(3) does, is told by its stack.
static void fill_cause(const struct capture *capture, struct heap_info *info)
{
	const siginfo_t *cause = &capture->core.cause;

	if (cause->si_signo == 0)
		return;
	info->fault = fault_of(cause);
	if (info->fault != HEAP_FAULT_NONE && info->fault != HEAP_FAULT_UNKNOWN)
		info->fault_address = (uint64_t)(uintptr_t)cause->si_addr;
	if (cause->si_code <= 0 && cause->si_pid > 0 &&
	    (uint32_t)cause->si_pid != capture->core.pid)
		info->sender = (uint64_t)cause->si_pid;
}

static void fill_info(const struct capture *capture, struct texts *texts, struct heap_info *info)
{
	const struct heapsnap_process *process = &capture->process;
	struct heapsnap_shared shared = capture->shared;
	uint64_t random[2] = { 0, 0 };
	bool has_trace = samples_has_trace(process);

	if (process->shared)
		image_read_padded(&capture->image, process->shared, &shared, sizeof(shared));
	read_command(capture, texts->command, sizeof(texts->command));
	if (gethostname(texts->host, sizeof(texts->host)) != 0)
		strcpy(texts->host, "localhost");
	texts->host[sizeof(texts->host) - 1] = '\0';
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		random[0] = process->time_ns ^ process->pid;
	snprintf(texts->id, sizeof(texts->id), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);

	*info = (struct heap_info){
		.program = heap_base_name(process->program),
		.command = texts->command,
		.host = texts->host,
		.maker = "heapsnap " HEAPSH_VERSION,
		.id = texts->id,
		.pid = process->pid,
		.serial = process->serial,
		.time_ns = process->time_ns,
		.start_time_ns = process->start_time_ns,
		.stop_ns = shared.stop_ns,
		.clone_ns = shared.clone_ns,
		.stop_calls = shared.stop_calls,
		.content_limit = process->content_limit,
		.untyped = !process->has_types,
		.late_ns = progress_missed_types() ? process->writer_time_ns : 0,
		.steps = progress_total_steps(),
		.missed_threads = process->missed_threads,
		.other_malloc = process->other_malloc,
		.origin = process->origin,
		.taken = capture->taken,
		.signal = process->signal,
		.allocators = capture->allocators,
		.doubts = capture->doubts,
		.core_bytes = capture->core.expected,
		.missing_bytes = capture->core.missing,
		.lost_bytes = capture->core.lost + capture->taken_bytes,
		.lacks = capture->lacks,
		.block_bytes = capture->block_bytes,
		.spare_bytes = capture->spare_bytes,
		.spare_page_bytes = capture->spare_page_bytes,
		.stack_bytes = capture->stack_bytes,
		.mapped_bytes = capture->mapped_bytes,
		.checkpoint_ns = process->checkpoint_ns,
		.trace = has_trace ? process->traced.path : "",
		.trace_start_ns = has_trace ? process->traced.start_ns : 0,
	};
	fill_costs(capture, info);
	fill_cause(capture, info);
	for (uint32_t i = 0; i < process->thread_count; i++)
		info->missed_threads += capture->snapshot.threads[i].state == HEAP_THREAD_MISSING;
}

// Completes the snapshot's tables.
HEAP_MUST_CHECK
static struct heap_error *complete(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;

	snapshot->object_count = capture->objects.count;
	HEAP_TRY(store_keep_types(capture));
	HEAP_TRY(store_fill_modules(capture));
	if (!capture->image.core && !capture->old)
		HEAP_TRY(taken_pages_find(&capture->image, (pid_t)capture->process.pid,
					  &capture->taken_bytes));
	HEAP_TRY(fill_mappings(capture));
	HEAP_TRY(fill_damages(capture));
	HEAP_TRY(fill_epochs(capture));
	HEAP_TRY(samples_read(&capture->image, &capture->process, &capture->objects,
			      &snapshot->samples, &snapshot->sample_count));
	snapshot->strings = strings_take(&capture->strings, &snapshot->string_size);
	return NULL;
}

struct heap_error *store_snapshot(struct capture *capture, int descriptor)
{
	struct texts texts;
	CLEANUP_FREE uint8_t *ahead = malloc(AHEAD);
	struct storing storing = { capture, { .image = &capture->image, .bytes = ahead } };

	if (!ahead)
		return heap_error_out_of_memory();
	HEAP_TRY(complete(capture));
	fill_info(capture, &texts, &capture->snapshot.info);
	return heap_snapshot_write(&capture->snapshot, descriptor,
				   &(struct heap_snapshot_source){
					   .content = read_content,
					   .column = make_column,
					   .edges = capture->stored_edges,
					   .context = &storing,
				   });
}
