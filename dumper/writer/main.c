// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsnap-writer: reads a frozen process, and writes its snapshot.
 *
 * Started by libheapsnap.so alone; dumper/base/protocol.h says how. It is a program of its own
 * so that its memory, its threads and its crashes are not those of the program.
 */
#include "dumper/writer/base/bounds.h"
#include "dumper/writer/infer/containers.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/output_file.h"
#include "dumper/writer/infer/infer.h"
#include "dumper/writer/infer/site_types.h"
#include "dumper/writer/scan/globals.h"
#include "dumper/writer/scan/object_scan.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/scan/stacks.h"
#include "dumper/writer/store.h"
#include "dumper/writer/unfreed.h"
#include "lib/base/cleanup.h"
#include "lib/base/cache_directory.h"
#include "lib/base/parallel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// What is learnt from words while they are looked at for pointers.
struct lessons {
	struct vtables *vtables;
	heap_type_id *classes; // [objects]
	struct functions *functions;
};

static void note_class(void *context, heap_object_id object, uint64_t word)
{
	struct lessons *lessons = context;

	lessons->classes[object] = vtables_find(lessons->vtables, word);
}

static void note_function(void *context, uint64_t word)
{
	struct lessons *lessons = context;

	functions_note(lessons->functions, word);
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

// @param classes  [objects] is filled; NULL where no types are wanted
HEAP_MUST_CHECK
static struct heap_error *find_edges(struct capture *capture, heap_type_id *classes)
{
	struct vtables *vtables;
	struct heap_error *error = vtables_create(capture, &vtables);

	if (error)
		return error;

	struct lessons lessons = { vtables, classes, &capture->functions };
	struct edges_listener listener = {
		.first_word = note_class,
		.code_word = note_function,
		.context = &lessons,
	};

	progress_begin(HEAPSNAP_PHASE_EDGES, capture->objects.count);
	error = functions_init(&capture->functions, &capture->image);
	if (classes)
		vtables_bounds(vtables, &listener.first_start, &listener.first_end);
	listener.code_start = capture->functions.start;
	listener.code_end = capture->functions.end;
	if (!error)
		error = edges_init(&capture->edges, &capture->objects, &capture->image, &listener,
				   !classes);
	vtables_destroy(vtables);
	return error;
}

// Variables first, then what they left unclaimed.
HEAP_MUST_CHECK
static struct heap_error *find_roots(struct capture *capture)
{
	struct heap_error *error;

	progress_begin(HEAPSNAP_PHASE_ROOTS, 0);
	error = globals_gather_variables(capture);

	if (!error)
		error = stacks_unwind(capture);
	if (!error) {
		roots_sort_claims(&capture->roots);
		error = globals_gather_thread_storage(capture);
	}
	if (!error)
		error = stacks_gather_words(capture);
	if (!error)
		error = globals_gather_rest(capture);
	if (!error)
		roots_sort_edges(&capture->roots);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *gather(struct capture *capture)
{
	CLEANUP_FREE char *cache = heap_cache_directory();
	CLEANUP_FREE heap_type_id *classes = NULL;
	struct heap_error *error;

	progress_begin(HEAPSNAP_PHASE_SYMBOLS, 0);
	error = modules_init(&capture->modules, &capture->image, cache, &capture->types);

	isolation_suspect(0);
	if (!error)
		error = find_objects(capture);
	if (error)
		return error;
	if (capture->process.has_types) {
		classes = calloc((size_t)capture->objects.count + 1, sizeof(*classes));
		if (!classes)
			return heap_error_out_of_memory();
	}
	error = backtraces_init(&capture->backtraces, &capture->image, &capture->process);
	if (!error)
		error = backtraces_describe(&capture->backtraces, &capture->image,
					    &capture->process, &capture->objects, &capture->modules,
					    &capture->strings);
	if (!error)
		error = find_edges(capture, classes);
	if (!error)
		error = find_roots(capture);
	if (!error)
		functions_note_roots(&capture->functions, &capture->roots);
	if (!error)
		error = functions_describe(&capture->functions, &capture->modules,
					   &capture->strings);
	if (!error) {
		heap_types_resolve(&capture->types);
		error = containers_complete_types(&capture->types);
	}
	if (!error)
		error = sites_init(capture,
				   &(struct site_knowledge){ site_types_know, headers_is_prefix });
	progress_begin(HEAPSNAP_PHASE_TYPES, capture->objects.count);
	if (!error && classes)
		error = infer_types(capture, classes);
	return error;
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
	struct heap_error *error = destination_rewind(writing->destination);

	if (!error)
		error = gather(capture);
	isolation_suspect(0);
	progress_begin(HEAPSNAP_PHASE_STORING, capture->objects.count);
	if (!error)
		error = store_snapshot(capture, writing->destination->descriptor);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *write_snapshot(struct capture *capture, struct destination *destination)
{
	struct writing writing = { capture, destination };
	// Asked first: a directory that cannot be written to is told before all the work.
	struct heap_error *error = destination_open(destination, &capture->process);

	if (!error) {
		bounds_apply(&capture->process);
		error = heap_error_within(
			isolation_run(&capture->process, gather_and_store, &writing), "%s",
			destination->path);
	}
	if (!error)
		error = destination_commit(destination, &capture->process);
	return error;
}

// A snapshot that no one gets to see, and what heapsh-unfreed says of it.
HEAP_MUST_CHECK
static struct heap_error *write_report(struct capture *capture, struct destination *destination)
{
	const struct heapsnap_process *process = &capture->process;
	bool has_file = process->report == HEAPSNAP_REPORT_FILE;
	struct destination memory = { .descriptor = memfd_create("heapsnap", 0) };
	struct writing writing = { capture, &memory };
	struct heap_error *error =
		memory.descriptor < 0 ? heap_error_create_system("memory for a report") : NULL;

	if (!error && has_file)
		error = destination_open(destination, process);
	if (!error) {
		bounds_apply(process);
		error = isolation_run(process, gather_and_store, &writing);
	}
	if (!error)
		error = unfreed_print(process, memory.descriptor,
				      has_file ? destination->descriptor
					       : HEAPSNAP_REPORT_DESCRIPTOR);
	if (!error && has_file)
		error = destination_commit(destination, process);
	destination_deinit(&memory);
	return error;
}

static int fail(struct heap_error *error)
{
	printf("failed %s\n", heap_error_message(error));
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

// A value that makes no sense was told by libheapsnap.so.
static void read_threads(void)
{
	const char *value = getenv("HEAPSNAP_THREADS");
	uint64_t count;

	if (value && parse_number(value, 10, &count) && count >= 1 && count <= 64)
		heap_parallel_set_threads((unsigned)count);
}

// A process without the library, or what is left of one.
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

int main(int argc, char **argv)
{
	struct capture capture;
	struct destination destination = { .descriptor = -1 };

	read_threads();

	struct heap_error *error = open_capture(&capture, argc, argv);

	if (error)
		return fail(error);
	progress_init(capture.image.pid, &capture.process);
	progress_set_beat(isolation_beat);
	error = capture.process.report == HEAPSNAP_REPORT_NONE
			? write_snapshot(&capture, &destination)
			: write_report(&capture, &destination);

	int status = error ? fail(error) : 0;

	if (!error)
		printf("wrote %u %s\n", destination.number, destination.path);
	destination_deinit(&destination);
	capture_close(&capture);
	return status;
}
