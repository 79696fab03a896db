// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsnap-writer: reads a frozen process, and writes its snapshot.
 *
 * Started by libheapsnap.so (dumper/base/protocol.h), by heapsnap, and by heapsh --debug (again.h). It
 * is a program of its own so that its memory, its threads and its crashes are not those of the program.
 */
#include "dumper/writer/again.h"
#include "dumper/writer/base/bounds.h"
#include "dumper/writer/infer/dead_words.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/output_file.h"
#include "dumper/writer/infer/infer.h"
#include "dumper/writer/infer/classes/vtables.h"
#include "dumper/writer/infer/sites/site_types.h"
#include "dumper/writer/scan/threads/call_names.h"
#include "dumper/writer/scan/modules/debuginfod.h"
#include "dumper/writer/scan/globals.h"
#include "dumper/writer/scan/object_scan.h"
#include "dumper/writer/scan/sites.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/scan/threads/stacks.h"
#include "dumper/writer/oldest.h"
#include "dumper/writer/store.h"
#include "dumper/writer/scan/samples.h"
#include "dumper/writer/unfreed.h"
#include "lib/base/cleanup.h"
#include "lib/base/cache_directory.h"
#include "lib/base/escape.h"
#include "lib/base/open_files.h"
#include "lib/base/parallel.h"
#include "lib/base/standard_streams.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

// Gets what words tell besides edges.
struct lessons {
	struct vtables *vtables;
	heap_type_id *classes; // [objects]
	struct head_words *heads;
	struct functions *functions;
};

// C++ objects have vtables; other runtimes' objects have method tables.
HEAP_MUST_CHECK
static struct heap_error *note_head(void *context, heap_object_id object, uint32_t slot,
				    uint64_t word)
{
	struct lessons *lessons = context;

	if (slot == 0)
		lessons->classes[object] = vtables_find(lessons->vtables, word);
	return lessons->classes[object] == HEAP_NO_TYPE ? head_words_count(lessons->heads, word)
							: NULL;
}

static void note_function(void *context, heap_object_id object, uint64_t word)
{
	struct lessons *lessons = context;

	if (functions_note(lessons->functions, word) && lessons->heads)
		head_words_note_code(lessons->heads, object);
}

static void release_vtables(struct vtables **vtables)
{
	vtables_destroy(*vtables);
}

// Bytes of the mappings that may hold blocks, as a measure of how long the search will take.
static uint64_t searched_bytes(const struct image *image)
{
	uint64_t result = 0;

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];

		if (!mapping->shared && (mapping->protection & PROT_READ) &&
		    (mapping->kind == IMAGE_ANONYMOUS || mapping->kind == IMAGE_HEAP))
			result += mapping->end - mapping->start;
	}
	return result;
}

HEAP_MUST_CHECK
static struct heap_error *find_objects(struct capture *capture)
{
	progress_begin(HEAPSNAP_PHASE_OBJECTS, searched_bytes(&capture->image));
	return capture_find_objects(capture);
}

// @param classes  [objects] is filled, as are @p heads; NULL where no types are wanted
HEAP_MUST_CHECK
static struct heap_error *find_edges(struct capture *capture, heap_type_id *classes,
				     struct head_words *heads)
{
	CLEANUP(release_vtables) struct vtables *vtables = NULL;

	HEAP_TRY(vtables_create(capture, &vtables));

	struct lessons lessons = { vtables, classes, classes ? heads : NULL, &capture->functions };
	struct edges_listener listener = {
		.head_word = note_head,
		.code_word = note_function,
		.context = &lessons,
	};

	progress_begin(HEAPSNAP_PHASE_EDGES, capture->objects.count);
	HEAP_TRY(functions_init(&capture->functions, &capture->image));
	listener.code_start = capture->functions.start;
	listener.code_end = capture->functions.end;
	if (classes) {
		vtables_bounds(vtables, &listener.modules_start, &listener.modules_end);
		listener.head = HEAD_WORDS;
	} else {
		HEAP_TRY(heap_stored_edges_create(&capture->stored_edges));
	}
	return edges_scan(&capture->snapshot, capture->stored_edges, &capture->objects,
			  &capture->image, &listener);
}

// Variables come first, since they claim their memory; what they leave goes to other roots.
HEAP_MUST_CHECK
static struct heap_error *find_roots(struct capture *capture)
{
	progress_begin(HEAPSNAP_PHASE_ROOTS, 0);
	HEAP_TRY(globals_gather_variables(capture));
	HEAP_TRY(stacks_unwind(capture));
	roots_sort_claims(&capture->roots);
	HEAP_TRY(globals_gather_thread_storage(capture));
	HEAP_TRY(stacks_gather_words(capture));
	HEAP_TRY(globals_gather_rest(capture));
	roots_sort_edges(&capture->roots);
	return NULL;
}

// Names the functions that words point to.
HEAP_MUST_CHECK
static struct heap_error *describe_functions(struct capture *capture)
{
	functions_note_roots(&capture->functions, &capture->snapshot);
	return functions_describe(&capture->functions, &capture->modules, &capture->strings,
				  &capture->snapshot);
}

HEAP_MUST_CHECK
static struct heap_error *gather(struct capture *capture)
{
	const struct site_knowledge knowledge = { site_types_know, headers_is_prefix };
	CLEANUP_FREE char *cache = heap_cache_directory();
	CLEANUP_FREE heap_type_id *classes = NULL;
	CLEANUP(head_words_deinit) struct head_words heads = { 0 };

	progress_begin(HEAPSNAP_PHASE_SYMBOLS, 0);
	debuginfod_init(capture->process.writer_time_ns);
	HEAP_TRY(modules_init(&capture->modules, &capture->image, cache, &capture->snapshot.types));
	isolation_suspect(0);
	HEAP_TRY(find_objects(capture));
	if (capture->process.has_types) {
		classes = calloc((size_t)capture->objects.count + 1, sizeof(*classes));
		if (!classes)
			return heap_error_out_of_memory();
		HEAP_TRY(head_words_init(&heads, capture->objects.count));
	}
	HEAP_TRY(backtraces_init(&capture->backtraces, &capture->image, &capture->process));
	HEAP_TRY(call_names_find(&capture->backtraces, &capture->image, &capture->process,
				 &capture->objects, &capture->modules, &capture->strings,
				 &capture->snapshot));
	HEAP_TRY(find_edges(capture, classes, &heads));
	HEAP_TRY(find_roots(capture));
	HEAP_TRY(describe_functions(capture));
	HEAP_TRY(infer_complete_types(capture));
	HEAP_TRY(sites_find(capture, &knowledge));
	progress_begin(HEAPSNAP_PHASE_TYPES, capture->objects.count);
	if (!classes)
		return NULL;
	HEAP_TRY(infer_types(capture, classes, &heads));
	return dead_words_remove(capture);
}

// Where a core file is read, files that its process had mapped may be missing, or newer.
static void tell_missing_files(const struct modules *modules)
{
	const struct module *first = NULL;
	size_t count = 0;

	for (size_t i = modules->count; i > 0; i--) {
		const struct module *module = &modules->modules[i - 1];

		if (module->elf || !module->note)
			continue;
		first = module;
		count++;
	}
	if (!first)
		return;
	// Where a file cannot be opened, the note begins with its path.
	heap_print(stdout,
		   "%zu of %zu modules lack their files, so names and types: %s%s%s; see --exe and "
		   "--sysroot\n",
		   count, modules->count, *first->note == '/' ? "" : first->path,
		   *first->note == '/' ? "" : ": ", first->note);
}

struct writing {
	struct capture *capture;
	struct destination *destination;
};

// In the worker. An attempt before this one may have written something.
HEAP_MUST_CHECK
static struct heap_error *gather_and_store(void *context)
{
	const struct writing *writing = context;
	struct capture *capture = writing->capture;

	HEAP_TRY(destination_rewind(writing->destination));
	HEAP_TRY(gather(capture));
	isolation_suspect(0);
	progress_begin(HEAPSNAP_PHASE_STORING, capture->objects.count);
	HEAP_TRY(store_snapshot(capture, writing->destination->descriptor));
	modules_store_answers(&capture->modules);
	if (capture->image.core)
		tell_missing_files(&capture->modules);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_snapshot(struct capture *capture, struct destination *destination)
{
	struct writing writing = { capture, destination };

	// First, so that a directory that cannot be written to is reported before all the work.
	HEAP_TRY(destination_open(destination, &capture->process));
	bounds_apply(&capture->process);
	HEAP_TRY(heap_error_within(isolation_run(&capture->process, gather_and_store, &writing),
				   "%s", destination->path));
	return destination_commit(destination, &capture->process);
}

// Writes a snapshot to memory only, and prints what heapsh-unfreed says of it.
HEAP_MUST_CHECK
static struct heap_error *write_report(struct capture *capture, struct destination *destination)
{
	const struct heapsnap_process *process = &capture->process;
	bool has_file = process->report == HEAPSNAP_REPORT_FILE;
	CLEANUP(destination_deinit)
	struct destination memory = {
		.descriptor = memfd_create("heapsnap", 0),
	};
	struct writing writing = { capture, &memory };

	if (memory.descriptor < 0)
		return heap_error_create_system("memory for a report");
	if (has_file)
		HEAP_TRY(destination_open(destination, process));
	bounds_apply(process);
	HEAP_TRY(isolation_run(process, gather_and_store, &writing));
	HEAP_TRY(unfreed_print(process, memory.descriptor,
			       has_file ? destination->descriptor : HEAPSNAP_REPORT_DESCRIPTOR));
	return has_file ? destination_commit(destination, process) : NULL;
}

// Writes a snapshot to memory only, and of that the oldest samples and their paths to the file.
HEAP_MUST_CHECK
static struct heap_error *write_oldest(struct capture *capture, struct destination *destination)
{
	const struct heapsnap_process *process = &capture->process;
	CLEANUP(destination_deinit)
	struct destination memory = {
		.descriptor = memfd_create("heapsnap", 0),
	};
	struct writing writing = { capture, &memory };

	if (!samples_has_trace(process))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "no old blocks: the process has not begun a trace");
	if (memory.descriptor < 0)
		return heap_error_create_system("memory for old blocks");
	HEAP_TRY(destination_open(destination, process));
	bounds_apply(process);
	HEAP_TRY(isolation_run(process, gather_and_store, &writing));
	HEAP_TRY(oldest_write(memory.descriptor, process->oldest, destination->descriptor));
	return destination_commit(destination, process);
}

HEAP_MUST_CHECK
static struct heap_error *write_result(struct capture *capture, struct destination *destination)
{
	if (capture->process.report != HEAPSNAP_REPORT_NONE)
		return write_report(capture, destination);
	return capture->process.oldest > 0 ? write_oldest(capture, destination)
					   : write_snapshot(capture, destination);
}

static int fail(struct heap_error *error)
{
	heap_print(stdout, "failed %s\n", heap_error_message(error));
	heap_error_destroy(error);
	return 1;
}

static bool parse_number(const char *text, int base, uint64_t *result)
{
	char *end;

	errno = 0;
	*result = strtoull(text, &end, base);
	return errno == 0 && end != text && *end == '\0';
}

// libheapsnap.so has reported a value that makes no sense.
static void read_threads(void)
{
	const char *value = getenv("HEAPSNAP_THREADS");
	uint64_t count;

	if (value && parse_number(value, 10, &count) && count >= 1 && count <= 64)
		heap_parallel_set_threads((unsigned)count);
}

// A process without the library.
HEAP_MUST_CHECK
static struct heap_error *open_foreign(struct capture *capture, char **arguments)
{
	uint64_t pid, descriptor;

	if (!parse_number(arguments[2], 10, &descriptor) || descriptor > INT_MAX ||
	    !parse_number(arguments[1], 10, &pid))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "no such process");
	return capture_open_foreign(capture, (pid_t)pid, (int)descriptor);
}

HEAP_MUST_CHECK
static struct heap_error *open_core(struct capture *capture, char **arguments)
{
	uint64_t descriptor;

	if (!parse_number(arguments[2], 10, &descriptor) || descriptor > INT_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "no description of the core file");
	return capture_open_core(capture, arguments[1], (int)descriptor, arguments[3],
				 arguments[4]);
}

HEAP_MUST_CHECK
static struct heap_error *open_capture(struct capture *capture, int argc, char **argv)
{
	uint64_t pid, address;

	if (argc == 6 && strcmp(argv[1], "--attached") == 0)
		return open_foreign(capture, argv + 1);
	if (argc == 6 && strcmp(argv[1], "--core") == 0)
		return open_core(capture, argv + 1);
	if (argc != 3 || !parse_number(argv[1], 10, &pid) || !parse_number(argv[2], 16, &address)) {
		fputs("heapsnap-writer is started by libheapsnap.so and heapsnap; see "
		      "heapsnap(1)\n",
		      stderr);
		exit(2);
	}
	return capture_open(capture, (pid_t)pid, address);
}

// For heapsh --debug.
static int infer_again(char **arguments)
{
	uint64_t descriptor;

	if (!parse_number(arguments[1], 10, &descriptor) || descriptor > INT_MAX)
		return fail(heap_error_create(HEAP_ERROR_ARGUMENT, "no file to write to"));

	struct heap_error *error = again_infer(arguments[0], (int)descriptor, arguments + 2);

	return error ? fail(error) : 0;
}

// The library wants the file's name as it is; a person who asked for the snapshot reads this line.
static void tell_written(const struct destination *destination, bool is_read_by_person)
{
	if (is_read_by_person)
		heap_print(stdout, "wrote %u %s\n", destination->number, destination->path);
	else
		printf("wrote %u %s\n", destination->number, destination->path);
}

static int answer(int argc, char **argv)
{
	struct capture capture;
	struct destination destination = { .descriptor = -1 };

	heap_standard_streams_open();
	read_threads();
	// Where there is too little room, notes of modules tell.
	heap_error_destroy(heap_open_files_reserve(1));
	if (argc >= 4 && strcmp(argv[1], "--again") == 0)
		return infer_again(argv + 2);

	struct heap_error *error = open_capture(&capture, argc, argv);

	if (error)
		return fail(error);
	progress_init(capture.image.pid, &capture.process);
	progress_set_beat(isolation_beat);
	error = write_result(&capture, &destination);

	int status = error ? fail(error) : 0;

	if (!error)
		tell_written(&destination, argc == 6);
	if (!error && capture.core.missing > 0)
		printf("the core file is cut short: %.3g %% are missing; info of heapsh(1) says "
		       "what "
		       "the snapshot lacks\n",
		       (double)capture.core.missing / (double)capture.core.expected * 100);
	destination_deinit(&destination);
	capture_close(&capture);
	return status;
}

// --- room on the stack -----------------------------------------------------------

enum {
	STACK_BYTES = 8 << 20,
};

struct call {
	int argc;
	char **argv;
	int status;
};

static void *answer_in_thread(void *context)
{
	struct call *call = context;

	call->status = answer(call->argc, call->argv);
	return NULL;
}

// The writer inherits the program's limit, which may be for many threads with little to do. A thread's stack is
// not subject to it.
static bool has_small_stack(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_BYTES;
}

int main(int argc, char **argv)
{
	struct call call = { argc, argv, 1 };
	pthread_attr_t attributes;
	pthread_t thread;

	if (!has_small_stack())
		return answer(argc, argv);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (pthread_create(&thread, &attributes, answer_in_thread, &call) != 0)
		return answer(argc, argv);
	pthread_join(thread, NULL);
	return call.status;
}
