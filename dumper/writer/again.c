// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/again.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/infer/infer.h"
#include "dumper/writer/infer/prune.h"
#include "dumper/writer/infer/sites/site_types.h"
#include "dumper/writer/scan/modules/debuginfod.h"
#include "dumper/writer/scan/globals.h"
#include "dumper/writer/scan/sites.h"
#include "dumper/writer/scan/threads/stacks.h"
#include "dumper/writer/store.h"
#include "lib/base/cache_directory.h"
#include "lib/base/cleanup.h"
#include "lib/base/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct again {
	const char *path;
	int descriptor;
	char *const *files;
	struct heap_snapshot *old;
	struct capture capture;
};

// --- code ---------------------------------------------------------------------

// The place that a row of the snapshot stands for: inlined functions have none of their own.
static struct code_place describe(struct capture *capture, uint32_t index, uint64_t address,
				  uint64_t lookup)
{
	enum {
		MAX_INLINED = 32,
	};
	struct code_place places[MAX_INLINED] = { { 0 } };
	struct module *module = &capture->modules.modules[index];
	size_t count =
		module_describe(module, address, lookup, &capture->strings, places, MAX_INLINED);

	return places[count - 1];
}

// True if a module's code gets other names than it had.
static bool is_renewed(const struct capture *capture, uint32_t module)
{
	return module != HEAP_NO_INDEX && module < capture->modules.count &&
	       capture->modules.modules[module].has_debug;
}

static void describe_calls(struct capture *capture, struct heap_call *calls, uint32_t count,
			   uint64_t back)
{
	for (uint32_t i = 0; i < count; i++) {
		struct heap_call *call = &calls[i];
		struct code_place place;

		if (!is_renewed(capture, call->module) || (call->flags & HEAP_FRAME_INLINED))
			continue;
		place = describe(capture, call->module, call->address, call->address - back);
		call->function = place.function;
		call->offset = place.offset;
		call->file = place.file;
		call->line = place.line;
	}
}

static void describe_frames(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;

	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		const struct heap_thread *thread = &snapshot->threads[i];

		for (uint32_t j = 0; j < thread->frames; j++) {
			struct heap_frame *frame = &snapshot->frames[thread->first_frame + j];
			struct code_place place;

			if (!is_renewed(capture, frame->module) ||
			    (frame->flags & HEAP_FRAME_INLINED))
				continue;
			place = describe(capture, frame->module, frame->pc,
					 j > 0 ? frame->pc - 1 : frame->pc);
			frame->function = place.function;
			frame->offset = place.offset;
			frame->file = place.file;
			frame->line = place.line;
		}
	}
}

// Each kind of objects has the backtrace that its first object had.
HEAP_MUST_CHECK
static struct heap_error *take_backtraces(struct again *again)
{
	struct capture *capture = &again->capture;
	struct backtraces *backtraces = &capture->backtraces;

	HEAP_TRY(backtraces_init(backtraces, &capture->image, &capture->process));
	backtraces->of_kind =
		calloc((size_t)capture->objects.kinds.count + 1, sizeof(*backtraces->of_kind));
	if (!backtraces->of_kind)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		if (backtraces->of_kind[objects_kind(&capture->objects, i)] == 0)
			backtraces->of_kind[objects_kind(&capture->objects, i)] =
				again->old->backtrace[i];
	}
	describe_calls(capture, capture->snapshot.calls, capture->snapshot.call_count, 1);
	describe_calls(capture, capture->snapshot.functions, capture->snapshot.function_count, 0);
	describe_frames(capture);
	return NULL;
}

// --- roots --------------------------------------------------------------------

static int compare_roots(const void *left, const void *right)
{
	const struct heap_root *a = *(const struct heap_root *const *)left;
	const struct heap_root *b = *(const struct heap_root *const *)right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a < b ? -1 : a > b;
}

// The old roots by address.
static const struct heap_root **sort_roots(const struct heap_snapshot *old)
{
	const struct heap_root **result = malloc((old->root_count + 1) * sizeof(*result));

	for (uint32_t i = 0; result && i < old->root_count; i++)
		result[i] = &old->roots[i];
	if (result && old->root_count > 0)
		qsort(result, old->root_count, sizeof(*result), compare_roots);
	return result;
}

// True if the old snapshot has kept the value of a variable.
static bool is_value_kept(const struct heap_snapshot *old, const struct heap_root **sorted,
			  const struct heap_root *root)
{
	uint32_t at =
		heap_partition_point(i, 0, old->root_count, sorted[i]->address < root->address);

	for (; at < old->root_count && sorted[at]->address == root->address; at++) {
		if (sorted[at]->content_size >= root->content_size)
			return true;
	}
	return false;
}

// Forgets values of variables that are not known but for their pointers.
HEAP_MUST_CHECK
static struct heap_error *forget_values(struct again *again)
{
	struct heap_snapshot *snapshot = &again->capture.snapshot;
	CLEANUP_FREE const struct heap_root **sorted = sort_roots(again->old);
	CLEANUP_FREE bool *is_pointer = calloc((size_t)snapshot->root_count + 1, sizeof(bool));

	if (!sorted || !is_pointer)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		is_pointer[snapshot->root_edges[i].root] |= snapshot->root_edges[i].offset == 0;
	for (uint32_t i = 0; i < snapshot->root_count; i++) {
		struct heap_root *root = &snapshot->roots[i];

		if (!(root->size == 8 && is_pointer[i]) && !is_value_kept(again->old, sorted, root))
			root->content_size = 0;
	}
	return NULL;
}

// Adds the edges of an old root that no variable has claimed; and the root with the first.
HEAP_MUST_CHECK
static struct heap_error *add_old_root(struct again *again, heap_root_id number, uint64_t *edge)
{
	const struct heap_snapshot *old = again->old;
	struct roots *roots = &again->capture.roots;
	struct heap_snapshot *snapshot = roots->snapshot;
	struct heap_root root = old->roots[number];
	bool is_variable = root.kind == HEAP_ROOT_GLOBAL || root.kind == HEAP_ROOT_THREAD_LOCAL ||
			   root.kind == HEAP_ROOT_LOCAL;
	bool is_added = false;
	heap_root_id id = 0;

	root.type = HEAP_NO_TYPE;
	if (is_variable && (root.address == 0 || !roots_is_claimed(roots, root.address))) {
		HEAP_TRY(roots_add(roots, &root, &id));
		HEAP_TRY(roots_set_content(roots, id, old->root_content + root.content,
					   root.content_size));
		is_added = true;
	}
	for (; *edge < old->root_edge_count && old->root_edges[*edge].root == number; ++*edge) {
		struct heap_root_edge copy = old->root_edges[*edge];

		if (root.address != 0 && roots_is_claimed(roots, root.address + copy.offset))
			continue;
		if (!is_added) {
			HEAP_TRY(roots_add(roots, &root, &id));
			HEAP_TRY(roots_set_content(roots, id, old->root_content + root.content,
						   root.content_size));
			is_added = true;
		}
		copy.root = id;
		copy.flags &= (uint8_t)~HEAP_EDGE_TYPED;
		HEAP_TRY(heap_reserve(snapshot->root_edges, roots->edge_capacity,
				      (size_t)snapshot->root_edge_count + 1));
		snapshot->root_edges[snapshot->root_edge_count++] = copy;
	}
	return NULL;
}

// Restores the thread pointers, from which thread-local variables are found.
HEAP_MUST_CHECK
static struct heap_error *restore_thread_pointers(struct again *again)
{
	struct capture *capture = &again->capture;
	const struct heap_snapshot *old = again->old;

	capture->threads = calloc((size_t)old->thread_count + 1, sizeof(*capture->threads));
	if (!capture->threads)
		return heap_error_out_of_memory();
	capture->process.thread_count = old->thread_count;
	for (uint32_t i = 0; i < old->root_count; i++) {
		const struct heap_root *root = &old->roots[i];

		if (root->kind == HEAP_ROOT_MAPPING && root->thread < old->thread_count &&
		    strcmp(&old->strings[root->name], GLOBALS_THREAD_STORAGE) == 0)
			capture->threads[root->thread].thread_pointer =
				globals_thread_pointer(root);
	}
	return NULL;
}

// Variables get their names; words that belong to none stay with the roots that they had.
HEAP_MUST_CHECK
static struct heap_error *find_roots(struct again *again)
{
	struct capture *capture = &again->capture;
	uint64_t edge = 0;

	HEAP_TRY(restore_thread_pointers(again));
	HEAP_TRY(globals_gather_variables(capture));
	HEAP_TRY(stacks_gather_locals(capture));
	HEAP_TRY(forget_values(again));
	roots_sort_claims(&capture->roots);
	for (heap_root_id i = 0; i < again->old->root_count; i++)
		HEAP_TRY(add_old_root(again, i, &edge));
	roots_sort_edges(&capture->roots);
	return NULL;
}

// --- types --------------------------------------------------------------------

// The classes that vtables told when the snapshot was written.
HEAP_MUST_CHECK
static struct heap_error *find_classes(struct again *again, heap_type_id *classes)
{
	const struct heap_snapshot *old = again->old;
	struct heap_types *types = &again->capture.snapshot.types;
	CLEANUP_FREE heap_type_id *map = calloc((size_t)old->types.count, sizeof(*map));
	struct class_names *names;

	if (!map)
		return heap_error_out_of_memory();
	HEAP_TRY(class_names_create(types, &names));
	for (heap_object_id i = 0; i < old->object_count; i++) {
		const struct heap_type *type = &old->types.types[old->type[i]];
		const char *name = heap_types_string(&old->types, type->name);

		if (old->evidence[i] != HEAP_EVIDENCE_VTABLE)
			continue;
		if (map[old->type[i]] == HEAP_NO_TYPE)
			map[old->type[i]] = class_names_find(names, name, strlen(name));
		classes[i] = map[old->type[i]];
	}
	class_names_destroy(names);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_heads(const struct capture *capture, struct head_words *heads)
{
	const struct objects *objects = &capture->objects;
	uint64_t words[HEAD_WORDS];

	for (heap_object_id i = 0; i < objects->count; i++) {
		uint64_t size = objects_size(objects, i) & ~UINT64_C(7);

		if (size > sizeof(words))
			size = sizeof(words);
		image_read_padded(&capture->image, objects_address(objects, i), words, size);
		for (size_t j = 0; j < size / 8; j++) {
			const struct image_mapping *mapping =
				modules_find(&capture->modules, words[j])
					? image_find(&capture->image, words[j])
					: NULL;

			if (mapping && (mapping->protection & PROT_EXEC))
				head_words_note_code(heads, i);
			if (mapping)
				HEAP_TRY(head_words_count(heads, words[j]));
		}
		progress_step();
	}
	return NULL;
}

// True if an object had a name, and now has none.
static bool has_lost_name(const struct again *again, heap_object_id object)
{
	uint8_t evidence = names_of(&again->capture.names, object)->evidence;
	uint8_t old = again->old->evidence[object];

	return (evidence == HEAP_EVIDENCE_NONE || evidence == HEAP_EVIDENCE_SHAPE) &&
	       old != HEAP_EVIDENCE_NONE && old != HEAP_EVIDENCE_SHAPE &&
	       again->old->type[object] != HEAP_NO_TYPE;
}

// The debug information of other modules may be there no more: what it has told then stays true.
HEAP_MUST_CHECK
static struct heap_error *keep_old_types(struct again *again)
{
	const struct heap_snapshot *old = again->old;
	struct heap_snapshot *snapshot = &again->capture.snapshot;
	CLEANUP_FREE bool *needed = calloc(old->types.count, sizeof(*needed));
	CLEANUP_FREE heap_type_id *kept_map = calloc(old->types.count, sizeof(*kept_map));
	CLEANUP_FREE heap_type_id *map = calloc(old->types.count, sizeof(*map));
	CLEANUP(heap_types_deinit) struct heap_types kept = { 0 };

	if (!needed || !kept_map || !map)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < old->object_count; i++)
		needed[old->type[i]] |= has_lost_name(again, i);
	HEAP_TRY(prune_types(&old->types, needed, kept_map, &kept));
	HEAP_TRY(heap_types_merge(&snapshot->types, &kept, map));
	for (heap_object_id i = 0; i < old->object_count; i++) {
		if (!has_lost_name(again, i))
			continue;
		HEAP_TRY(names_set(&again->capture.names, i, map[kept_map[old->type[i]]],
				   old->elements[i], old->evidence[i]));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *infer(struct again *again)
{
	struct capture *capture = &again->capture;
	CLEANUP_FREE heap_type_id *classes =
		calloc((size_t)capture->objects.count + 1, sizeof(*classes));
	CLEANUP(head_words_deinit) struct head_words heads = { 0 };

	if (!classes)
		return heap_error_out_of_memory();
	HEAP_TRY(find_classes(again, classes));
	HEAP_TRY(head_words_init(&heads, capture->objects.count));
	HEAP_TRY(count_heads(capture, &heads));
	for (uint32_t i = 0; i < capture->snapshot.edge_count; i++)
		capture->snapshot.edge_flags[i] &= (uint8_t)~HEAP_EDGE_TYPED;
	progress_begin(HEAPSNAP_PHASE_TYPES, capture->objects.count);
	HEAP_TRY(infer_types(capture, classes, &heads));
	return keep_old_types(again);
}

// --- all of it ----------------------------------------------------------------

#define LIBRARY "libheapsnap"

// The library's own variables are no roots.
static uint64_t find_library(const struct capture *capture)
{
	for (size_t i = 0; i < capture->modules.count; i++) {
		const struct module *module = &capture->modules.modules[i];

		if (strncmp(heap_base_name(module->path), LIBRARY, strlen(LIBRARY)) == 0)
			return module->start;
	}
	return 0;
}

HEAP_MUST_CHECK
static struct heap_error *gather(struct again *again)
{
	struct capture *capture = &again->capture;
	const struct site_knowledge knowledge = { site_types_know, headers_is_prefix };
	CLEANUP_FREE char *cache = heap_cache_directory();

	HEAP_TRY(capture_open_snapshot(capture, again->old));
	capture->image.debug_files = again->files;
	debuginfod_init(0);
	HEAP_TRY(modules_init_snapshot(&capture->modules, &capture->image, cache,
				       &capture->snapshot.types, again->old));
	isolation_suspect(0);
	capture->process_address = find_library(capture);
	HEAP_TRY(take_backtraces(again));
	HEAP_TRY(find_roots(again));
	HEAP_TRY(functions_init(&capture->functions, &capture->image));
	HEAP_TRY(infer_complete_types(capture));
	HEAP_TRY(sites_find(capture, &knowledge));
	return infer(again);
}

HEAP_MUST_CHECK
static struct heap_error *read_content(void *context, heap_object_id object, uint64_t address,
				       uint8_t *buffer, size_t size)
{
	struct again *again = context;
	size_t kept;

	(void)address;
	return heap_snapshot_read_content(again->old, object, buffer, size, &kept);
}

// Makes the columns of what names tell.
HEAP_MUST_CHECK
static struct heap_error *make_names(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;
	size_t count = (size_t)snapshot->object_count + 1;

	snapshot->type = calloc(count, sizeof(*snapshot->type));
	snapshot->elements = calloc(count, sizeof(*snapshot->elements));
	snapshot->evidence = calloc(count, sizeof(*snapshot->evidence));
	if (!snapshot->type || !snapshot->elements || !snapshot->evidence)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		const struct name *name = names_of(&capture->names, i);

		snapshot->type[i] = name->type;
		snapshot->elements[i] = name->elements;
		snapshot->evidence[i] = name->evidence;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *store(struct again *again)
{
	struct capture *capture = &again->capture;
	struct heap_snapshot *snapshot = &capture->snapshot;

	snapshot->site = calloc((size_t)snapshot->object_count + 1, sizeof(*snapshot->site));
	if (!snapshot->site)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		snapshot->site[i] = capture->site_of_kind[objects_kind(&capture->objects, i)];
	HEAP_TRY(store_keep_types(capture));
	HEAP_TRY(make_names(capture)); // which damaged types may have taken
	HEAP_TRY(store_fill_modules(capture));
	snapshot->strings = strings_take(&capture->strings, &snapshot->string_size);
	snapshot->info.untyped = 0;
	return heap_snapshot_write(
		snapshot, again->descriptor,
		&(struct heap_snapshot_source){ .content = read_content, .context = again });
}

// In the worker, which frees nothing. An attempt before this one may have written something.
HEAP_MUST_CHECK
static struct heap_error *work(void *context)
{
	struct again *again = context;

	if (ftruncate(again->descriptor, 0) != 0 || lseek(again->descriptor, 0, SEEK_SET) != 0)
		return heap_error_create_system("the new snapshot");
	HEAP_TRY(heap_snapshot_open(again->path, &again->old));
	HEAP_TRY(heap_snapshot_load(again->old, HEAP_COLUMN_ALL));
	HEAP_TRY(gather(again));
	HEAP_TRY(store(again));
	modules_store_answers(&again->capture.modules);
	return NULL;
}

// True if a file is of one of a snapshot's modules.
static bool is_of_module(const struct heap_snapshot *snapshot, const struct heap_build_id *build)
{
	char id[2 * HEAP_BUILD_ID_MAX + 1];

	heap_build_id_format(build, id, sizeof(id));
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		if (id[0] && strcmp(snapshot->strings + snapshot->modules[i].build_id, id) == 0)
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *check_file(const struct heap_snapshot *snapshot, const char *path)
{
	struct heap_elf_file *file;

	HEAP_TRY(heap_elf_open(path, &file));

	bool is_right = is_of_module(snapshot, &file->build_id);
	bool has_debug = file->has_debug_info;

	heap_elf_close(file);
	if (!is_right)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: its build id is that of no module of %s", path,
					 snapshot->path);
	return has_debug ? NULL
			 : heap_error_create(HEAP_ERROR_ARGUMENT, "%s: no debug information", path);
}

struct heap_error *again_infer(const char *path, int descriptor, char *const *files)
{
	struct again again = { .path = path, .descriptor = descriptor, .files = files };
	struct heapsnap_process process = { 0 };
	struct heap_snapshot *snapshot;
	struct heap_error *error;

	HEAP_TRY(heap_snapshot_open(path, &snapshot));
	error = files[0] ? NULL : heap_error_create(HEAP_ERROR_ARGUMENT, "no debug information");
	for (char *const *file = files; !error && *file; file++)
		error = check_file(snapshot, *file);
	heap_snapshot_close(snapshot);
	HEAP_TRY(error);
	progress_init(0, &process);
	progress_set_beat(isolation_beat);
	return isolation_run(&process, work, &again);
}
