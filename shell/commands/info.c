// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * info, quit: about the snapshot as a whole, and the end.
 */
#include "lib/snapshot/unreadable.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/ending.h"
#include "shell/print/memory_use.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
	MAX_THREADS = 100, // that are listed; --json has all
};

// --- info --------------------------------------------------------------------

static const char *format_time(struct session *session, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / UINT64_C(1000000000));
	struct tm local;
	char text[40] = "";

	if (localtime_r(&seconds, &local))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	return session_format(session, "%s", text);
}

// True of a process that no longer was when the snapshot was taken.
static bool is_of_core(const struct heap_info *info)
{
	return info->origin == HEAP_ORIGIN_CORE || info->taken == HEAP_ORIGIN_CORE;
}

static void print_time(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	uint64_t age_ns =
		info->time_ns > info->start_time_ns ? info->time_ns - info->start_time_ns : 0;

	output_text(session->output, "time      %s, ", format_time(session, info->time_ns));
	// When the process began is known from the library's tables alone.
	if (info->origin == HEAP_ORIGIN_CORE)
		output_text(session->output, "when the core file was last written to\n");
	else
		output_text(session->output, "%s after the %s\n",
			    describe_duration(session, age_ns),
			    info->origin == HEAP_ORIGIN_LIBRARY ? "library was loaded"
								: "process began");
}

// Tells what the snapshot cost the program, and the machine.
static void print_costs(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;

	if (!is_of_core(info))
		output_text(output, "pause     %.3f ms, of which the clone took %.3f ms\n",
			    info->stop_ns / 1e6, info->clone_ns / 1e6);
	if (info->writer_ns == 0)
		return;
	output_text(output, "writing   %s, %s in heapsnap-writer",
		    describe_duration(session, info->writer_ns),
		    describe_bytes(session, info->writer_bytes));
	if (!is_of_core(info))
		output_text(output, ", %s copied by the program's writes",
			    describe_bytes(session, info->copied_bytes));
	output_text(output, "\n");
}

static void info_process(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;
	const char *program = describe_name(session, info->program);

	output_text(output, "program   %s, pid %" PRIu64 " on %s\n", program, info->pid,
		    describe_name(session, info->host));
	output_text(output, "command   %s\n", describe_name(session, info->command));
	print_time(session);
	output_text(output, "snapshot  number %" PRIu64 " of the process, id %s, by %s\n",
		    info->serial, describe_name(session, info->id),
		    describe_name(session, info->maker));
	print_costs(session);
	output_string(output, "program", info->program);
	output_number(output, "pid", info->pid);
	output_string(output, "host", info->host);
	output_string(output, "command", info->command);
	output_number(output, "time_ns", info->time_ns);
	output_number(output, "start_time_ns", info->start_time_ns);
	output_number(output, "serial", info->serial);
	output_string(output, "id", info->id);
	output_string(output, "maker", info->maker);
	output_number(output, "stop_ns", info->stop_ns);
	output_number(output, "clone_ns", info->clone_ns);
	output_number(output, "stop_calls", info->stop_calls);
	output_number(output, "writer_ns", info->writer_ns);
	output_number(output, "writer_bytes", info->writer_bytes);
	output_number(output, "copied_bytes", info->copied_bytes);
	output_number(output, "steps", info->steps);
}

// Says what of a core file was cut off.
static void describe_missing(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;

	output_text(output, "cut short %s of the core file's %s, %.0f %%, are missing\n",
		    describe_bytes(session, info->missing_bytes),
		    describe_bytes(session, info->core_bytes),
		    (double)info->missing_bytes / (double)info->core_bytes * 100);
	if (*info->lacks)
		output_text(output, "          It lacks %s\n", describe_name(session, info->lacks));
}

// Says what memory is lost.
static void info_missing(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;

	if (info->lost_bytes > 0 && info->core_bytes == 0)
		output_text(output,
			    "taken off %s of huge pages: the kernel gave them to what the program "
			    "wrote meanwhile,\n"
			    "          as none were free (vm.nr_hugepages)\n",
			    describe_bytes(session, info->lost_bytes));
	if (info->missing_bytes > 0)
		describe_missing(session);
	if (info->lost_bytes > 0)
		output_text(output,
			    "          What that pointed to is not known, so that no block is "
			    "certainly leaked.\n");
}

// Says what is unknown of blocks that the library has not seen.
static void info_beside_malloc(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;

	if (!*info->allocators)
		return;
	output_text(
		output,
		"beside    malloc, blocks of %s are used that the program has from functions of "
		"its\n"
		"          own. Of these is not known: where and when they were allocated. Their\n"
		"          sizes are what is usable, which may be more than it asked for.\n",
		describe_name(session, info->allocators));
	if (*info->doubts)
		output_text(output, "doubts    %s\n", describe_name(session, info->doubts));
}

// Says what is unknown of a process that was not started with the library.
static void info_origin(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;
	// Older snapshots do not have both.
	uint64_t taken = info->taken ? info->taken : info->origin;
	const char *how = taken == HEAP_ORIGIN_ATTACHED ? "by heapsnap attach"
			  : taken == HEAP_ORIGIN_TRACED
				  ? "beside a trace (heapsnap run --no-snapshots)"
				  : "from a core file";

	output_string(output, "origin",
		      taken == HEAP_ORIGIN_LIBRARY    ? "library"
		      : taken == HEAP_ORIGIN_ATTACHED ? "attached"
		      : taken == HEAP_ORIGIN_TRACED   ? "traced"
						      : "core");
	output_number(output, "signal", info->signal);
	output_string(output, "allocators", info->allocators);
	output_string(output, "doubts", info->doubts);
	output_number(output, "core_bytes", info->core_bytes);
	output_number(output, "missing_bytes", info->missing_bytes);
	output_number(output, "lost_bytes", info->lost_bytes);
	output_string(output, "lacks", info->lacks);
	output_boolean(output, "prepared", info->origin == HEAP_ORIGIN_LIBRARY);
	if (info->origin == HEAP_ORIGIN_LIBRARY && taken != HEAP_ORIGIN_LIBRARY)
		output_text(output, "taken     %s; it ran under heapsnap%s%s\n", how,
			    *info->other_malloc ? "" : ", so nothing is missing",
			    *info->other_malloc || !*info->allocators ? "" : " of malloc's blocks");
	ending_print(session);
	if (info->origin == HEAP_ORIGIN_LIBRARY) {
		info_beside_malloc(session);
		info_missing(session);
		return;
	}
	output_text(output,
		    "taken     %s; blocks are those of %s\n"
		    "          Not known: where and when blocks were allocated. Sizes are what is\n"
		    "          usable, which may be more than the program asked for.\n",
		    how,
		    *info->allocators ? describe_name(session, info->allocators)
				      : "no allocator that is known");
	if (info->oldest)
		output_text(output,
			    "left out  all but the %" PRIu64
			    " oldest sampled blocks, and a path to each from a root\n",
			    info->oldest);
	info_missing(session);
	if (*info->doubts)
		output_text(output, "doubts    %s\n", describe_name(session, info->doubts));
}

// The bytes of all parts of pools that have a type. Parts may be nested: inner ones do not count.
static uint64_t count_typed_parts(const struct heap_snapshot *snapshot, uint64_t *bytes)
{
	heap_object_id pool = HEAP_NO_OBJECT;
	uint64_t count = 0, end = 0;

	*bytes = 0;
	for (uint32_t i = 0; snapshot->parts && i < snapshot->part_count; i++) {
		const struct heap_part *part = &snapshot->parts[i];
		uint64_t size = heap_snapshot_part_size(snapshot, part);

		if (part->object != pool)
			end = 0;
		pool = part->object;
		if (part->offset < end || snapshot->type[pool] != HEAP_NO_TYPE)
			continue;
		end = part->offset + size;
		*bytes += size;
		count++;
	}
	return count;
}

// Most of a heap may lie in blocks that the program cuts up itself.
static void info_pools(struct session *session)
{
	struct output *output = session->output;
	uint64_t bytes, parts = count_typed_parts(session->snapshot, &bytes);

	if (parts > 0)
		output_text(output, "pools     %" PRIu64 " parts of other objects are typed, %s\n",
			    parts, describe_bytes(session, bytes));
	output_number(output, "typed_parts", parts);
	output_number(output, "typed_part_bytes", bytes);
}

static void info_heap(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	uint64_t bytes = 0, typed_bytes = 0;
	uint32_t typed = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		bytes += snapshot->size[i];
		if (snapshot->type[i] != HEAP_NO_TYPE) {
			typed++;
			typed_bytes += snapshot->size[i];
		}
	}
	output_text(output,
		    "heap      %" PRIu32 " objects, %s; %" PRIu32 " of them typed, %s; %" PRIu32
		    " pointers\n",
		    snapshot->object_count, describe_bytes(session, bytes), typed,
		    describe_bytes(session, typed_bytes), snapshot->edge_count);
	info_pools(session);
	if (*snapshot->info.other_malloc)
		output_text(output, "malloc    is %s\n", describe_other_malloc(session));
	if (snapshot->info.untyped)
		output_text(output, "types     none: it was captured with HEAPSNAP_TYPES=none\n");
	if (snapshot->info.late_ns)
		output_text(output,
			    "types     incomplete: heapsnap-writer had no more than %g s for them "
			    "(HEAPSNAP_WRITER_TIME)\n",
			    (double)snapshot->info.late_ns / 1e9);
	output_text(output, "contents  ");
	if (snapshot->info.content_limit == UINT64_MAX)
		output_text(output, "all bytes of each object are kept\n");
	else
		output_text(output, "%" PRIu64 " bytes of each object are kept\n",
			    snapshot->info.content_limit);
	output_string(output, "other_malloc", snapshot->info.other_malloc);
	output_number(output, "objects", snapshot->object_count);
	output_number(output, "bytes", bytes);
	output_number(output, "typed_objects", typed);
	output_number(output, "typed_bytes", typed_bytes);
	output_number(output, "edges", snapshot->edge_count);
	output_number(output, "content_limit", snapshot->info.content_limit);
	output_number(output, "untyped", snapshot->info.untyped);
	output_number(output, "late_ns", snapshot->info.late_ns);
}

static void info_modules(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	output_text(output, "modules   %" PRIu32 "\n", snapshot->module_count);
	output_open_array(output, "modules");
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const struct heap_module *module = &snapshot->modules[i];
		const char *path =
			describe_name(session, heap_snapshot_string(snapshot, module->path));
		const char *debug =
			describe_name(session, heap_snapshot_string(snapshot, module->debug));
		const char *note =
			describe_name(session, heap_snapshot_string(snapshot, module->note));
		const char *build_id =
			describe_name(session, heap_snapshot_string(snapshot, module->build_id));
		bool own = strcmp(path, debug) == 0;

		output_text(output, "  %#" PRIx64 " %s\n", module->start, path);
		output_text(output, "    build id %s", *build_id ? build_id : "none");
		// The note says so where there is none.
		if (own || *debug || !*note)
			output_text(output, "; debug information: %s",
				    own      ? "its own"
				    : *debug ? debug
					     : "none");
		output_text(output, "%s%s\n", *note ? "; " : "", note);
		output_open_object(output, NULL);
		output_string(output, "path", heap_snapshot_string(snapshot, module->path));
		output_string(output, "build_id", heap_snapshot_string(snapshot, module->build_id));
		output_string(output, "debug", heap_snapshot_string(snapshot, module->debug));
		output_string(output, "note", heap_snapshot_string(snapshot, module->note));
		output_address(output, "start", module->start);
		output_close(output);
	}
	output_close(output);
}

static const char *const thread_states[] = { "stopped, registers exact",
					     "asleep, stack pointer known",
					     "could not be stopped" };

static unsigned thread_state(const struct heap_thread *thread)
{
	return thread->state < 3 ? thread->state : 2;
}

static void info_thread_states(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t count[3] = { 0 };

	output_text(session->output, "threads   %" PRIu32 "\n", snapshot->thread_count);
	for (uint32_t i = 0; i < snapshot->thread_count; i++)
		count[thread_state(&snapshot->threads[i])]++;
	for (int i = 0; i < 3; i++) {
		if (count[i] > 0)
			output_text(session->output, "  %" PRIu32 " %s\n", count[i],
				    thread_states[i]);
	}
	if (count[1] + count[2] > 0)
		output_text(session->output, "  %" PRIu32 " of which not all registers are known\n",
			    count[1] + count[2]);
	output_number(session->output, "threads_with_unknown_registers", count[1] + count[2]);
}

static const char *describe_skipped(struct session *session, const struct heap_thread *thread)
{
	return thread->skipped
		       ? session_format(session, "; %" PRIu32 "%s in between are left out",
					thread->skipped,
					thread->skipped_at == thread->frames ? " or more" : "")
		       : "";
}

static void info_threads(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	info_thread_states(session);
	output_open_array(output, "threads");
	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		const struct heap_thread *thread = &snapshot->threads[i];
		const char *state = thread_states[thread_state(thread)];
		const char *name =
			describe_name(session, heap_snapshot_string(snapshot, thread->name));

		if (i < MAX_THREADS)
			output_text(output, "  %" PRIu32 "%s%s: %s, %" PRIu32 " frame%s%s\n",
				    thread->tid, *name ? " " : "", name, state, thread->frames,
				    format_plural(thread->frames),
				    describe_skipped(session, thread));
		output_open_object(output, NULL);
		output_number(output, "tid", thread->tid);
		output_string(output, "name", heap_snapshot_string(snapshot, thread->name));
		output_string(output, "state", state);
		output_close(output);
	}
	output_close(output);
	if (snapshot->thread_count > MAX_THREADS)
		output_text(output, "  and %" PRIu32 " more\n",
			    snapshot->thread_count - MAX_THREADS);
}

static void info_trace(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	uint32_t traced = 0;

	if (snapshot->info.trace_start_ns == 0)
		return;
	for (uint32_t i = 0; i < snapshot->sample_count; i++)
		traced += snapshot->samples[i].number != 0;
	output_text(output, "trace     %s, since %s: %" PRIu32 " objects are in it\n",
		    describe_name(session, snapshot->info.trace),
		    format_time(session, snapshot->info.trace_start_ns), traced);
	output_string(output, "trace", snapshot->info.trace);
	output_number(output, "trace_start_ns", snapshot->info.trace_start_ns);
	output_number(output, "traced", traced);
}

static void info_unreadable(struct session *session)
{
	struct output *output = session->output;
	struct heap_unreadable unreadable;

	heap_unreadable_count(session->snapshot, &unreadable);
	if (unreadable.objects > 0)
		output_text(output,
			    "unread    %s of %" PRIu32
			    " object%s: protected, or left out of copies\n",
			    describe_bytes(session, unreadable.bytes), unreadable.objects,
			    format_plural(unreadable.objects));
	if (unreadable.wiped > 0)
		output_text(
			output,
			"          %s by MADV_WIPEONFORK: blocks that begin there are missing\n",
			describe_bytes(session, unreadable.wiped));
	output_number(output, "unreadable_objects", unreadable.objects);
	output_number(output, "unreadable_bytes", unreadable.bytes);
	output_number(output, "wiped_bytes", unreadable.wiped);
}

static void info_slabs(struct session *session)
{
	uint32_t count = session->snapshot->slab_count;

	if (count > 0)
		output_text(session->output,
			    "slabs     %" PRIu32
			    " array%s whose elements are handed out one by one\n",
			    count, format_plural(count));
	output_number(session->output, "slabs", count);
}

static void info_damages(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	if (snapshot->damage_count > 0)
		output_text(output, "damage    %" PRIu32 " header%s of blocks overwritten\n",
			    snapshot->damage_count, format_plural(snapshot->damage_count));
	output_open_array(output, "damages");
	for (uint32_t i = 0; i < snapshot->damage_count; i++) {
		const struct heap_damage *damage = &snapshot->damages[i];
		heap_object_id before = heap_snapshot_find_before(snapshot, damage->address);
		const char *note =
			describe_name(session, heap_snapshot_string(snapshot, damage->note));

		output_text(output, "  %#" PRIx64 "%s%s%s%s\n", damage->address,
			    before == HEAP_NO_OBJECT ? "" : ", after ",
			    before == HEAP_NO_OBJECT ? "" : describe_object(session, before),
			    *note ? ": " : "", note);
		output_open_object(output, NULL);
		output_address(output, "address", damage->address);
		output_string(output, "note", heap_snapshot_string(snapshot, damage->note));
		if (before != HEAP_NO_OBJECT)
			describe_object_json(session, "after", before);
		output_close(output);
	}
	output_close(output);
}

static enum command_status info_run(struct session *session, int argc, char **argv)
{
	struct heap_error *error;

	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;
	error = describe_load(session);
	if (error)
		return command_fail(session, error);
	output_open_object(session->output, NULL);
	info_process(session);
	info_origin(session);
	info_heap(session);
	memory_use_print(session);
	info_modules(session);
	info_threads(session);
	info_trace(session);
	info_unreadable(session);
	info_slabs(session);
	info_damages(session);
	return COMMAND_OK;
}

const struct command info_command = {
	.name = "info",
	.synopsis = "",
	.summary = "the process, its modules and threads, and what was captured of them",
	.details =
		"It also shows what memory is used for beside live blocks, such as free memory\n"
		"that malloc keeps, how long the process was stopped, how much of each object was\n"
		"kept, which modules have debug information, which blocks had their headers\n"
		"overwritten, and how many objects could be read only in part.\n"
		"\n"
		"  info",
	.run = info_run,
	.keeps_answer = true,
};

// --- quit --------------------------------------------------------------------

static enum command_status quit_run(struct session *session, int argc, char **argv)
{
	(void)argv;
	if (argc != 1)
		return COMMAND_USAGE;
	session->quit = true;
	return COMMAND_OK;
}

const struct command quit_command = {
	.name = "quit",
	.synopsis = "",
	.summary = "leave the shell",
	.details = "So does the end of the input (^D).\n\n"
		   "  quit",
	.run = quit_run,
};
