// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * callstack, symbols: the variables outside the heap, and the objects they hold.
 */
#include "lib/base/path.h"
#include "lib/base/cleanup.h"
#include "lib/query/comparison.h"
#include "shell/command.h"
#include "shell/words/variable.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/print/value_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- callstack ---------------------------------------------------------------

// " = VALUE", or "" if it is a structure, or was not kept.
static const char *describe_root_value(struct session *session, const struct heap_root *root)
{
	const struct value value = {
		.bytes = session->snapshot->root_content + root->content,
		.kept = root->content_size,
		.size = root->size,
		.object = HEAP_NO_OBJECT,
		.address = root->address,
	};
	const char *text = value_describe(session, &value, root->type, 0);

	return *text ? session_format(session, " = %s", text) : "";
}

static void print_value_json(struct session *session, const struct heap_root *root,
			     const char *text)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id object = HEAP_NO_OBJECT;
	uint64_t pointer;

	output_string(session->output, "value", *text ? text + 3 : "");
	if (root->content_size == sizeof(pointer)) {
		memcpy(&pointer, snapshot->root_content + root->content, sizeof(pointer));
		object = heap_snapshot_find(snapshot, pointer);
	}
	if (object != HEAP_NO_OBJECT)
		describe_object_json(session, "object", object);
}

// The objects that roots hold, for --reachable; otherwise NULL.
struct held {
	const struct heap_root_size *by_root;   // [roots]
	const struct heap_root_size *by_frame;  // [frames]
	const struct heap_root_size *by_thread; // [threads]
};

enum part {
	ROOTS,
	FRAMES,
	THREADS,
};

static uint32_t group_of(const struct heap_snapshot *snapshot, heap_root_id root, enum part part)
{
	// HEAP_NO_INDEX is HEAP_NO_GROUP.
	return part == ROOTS    ? root
	       : part == FRAMES ? snapshot->roots[root].frame
				: snapshot->roots[root].thread;
}

HEAP_MUST_CHECK
static struct heap_error *measure(struct session *session, enum part part, uint32_t count,
				  const struct heap_root_size **result)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root_sizes *sizes;
	uint32_t *group = session_allocate(session, (snapshot->root_count + 1u) * sizeof(*group));
	struct heap_root_size *measured =
		session_allocate(session, (count + 1u) * sizeof(*measured));

	HEAP_TRY(session_root_sizes(session, &sizes));
	if (!group || !measured)
		return heap_error_out_of_memory();
	for (heap_root_id i = 0; i < snapshot->root_count; i++)
		group[i] = group_of(snapshot, i, part);
	HEAP_TRY(heap_root_sizes_measure(sizes, group, count, measured, NULL));
	*result = measured;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *measure_all(struct session *session, struct held *held)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	HEAP_TRY(measure(session, ROOTS, snapshot->root_count, &held->by_root));
	HEAP_TRY(measure(session, FRAMES, snapshot->frame_count, &held->by_frame));
	return measure(session, THREADS, snapshot->thread_count, &held->by_thread);
}

// ", reaches 80 B, 32 B of it alone"; "" without --reachable, and for a root that holds nothing.
static const char *held_text(struct session *session, const struct heap_root_size *held,
			     uint32_t number)
{
	if (!held || held[number].reachable == 0)
		return "";
	return session_format(session, ", reaches %s, %s of it alone",
			      describe_bytes(session, held[number].reachable),
			      describe_bytes(session, held[number].retained));
}

static void held_json(struct session *session, const struct heap_root_size *held, uint32_t number)
{
	if (!held)
		return;
	output_number(session->output, "reachable", held[number].reachable);
	output_number(session->output, "retained", held[number].retained);
}

static void print_locals(struct session *session, const struct held *held, uint32_t frame)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	output_open_array(output, "locals");
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->frame != frame || root->kind != HEAP_ROOT_LOCAL)
			continue;

		const char *name =
			describe_name(session, heap_snapshot_string(snapshot, root->name));
		const char *value = describe_root_value(session, root);

		output_text(output, "        %s: %s%s%s\n", name,
			    describe_type(session, root->type), value,
			    held_text(session, held->by_root, i));
		output_open_object(output, NULL);
		output_string(output, "name", heap_snapshot_string(snapshot, root->name));
		output_string(output, "type", describe_type(session, root->type));
		print_value_json(session, root, value);
		held_json(session, held->by_root, i);
		output_close(output);
	}
	output_close(output);
}

static void print_frame(struct session *session, const struct held *held, uint32_t number,
			uint32_t index)
{
	const struct heap_frame *frame = &session->snapshot->frames[number];
	struct output *output = session->output;

	output_text(output, "  #%-3" PRIu32 " %s%s%s%s%s\n", index, describe_frame(session, number),
		    frame->flags & HEAP_FRAME_INLINED ? ", inlined" : "",
		    frame->flags & HEAP_FRAME_SIGNAL ? ", signal" : "",
		    frame->flags & HEAP_FRAME_GUESSED ? ", guessed" : "",
		    held_text(session, held->by_frame, number));
	output_open_object(output, NULL);
	output_string(output, "function", heap_snapshot_string(session->snapshot, frame->function));
	output_string(output, "file",
		      heap_base_name(heap_snapshot_string(session->snapshot, frame->file)));
	output_number(output, "line", frame->line);
	output_address(output, "pc", frame->pc);
	output_boolean(output, "inlined", frame->flags & HEAP_FRAME_INLINED);
	held_json(session, held->by_frame, number);
	print_locals(session, held, number);
	output_close(output);
}

struct heap_error *command_check_thread(const struct session *session, uint64_t tid)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		if (snapshot->threads[i].tid == tid)
			return NULL;
	}
	return heap_error_create(HEAP_ERROR_ABSENT,
				 "--thread %" PRIu64 ": no such thread; `info` lists them", tid);
}

// Numbers are those of the stack, of which some frames may be left out.
static void print_frames(struct session *session, const struct held *held,
			 const struct heap_thread *thread)
{
	for (uint32_t i = 0; i <= thread->frames; i++) {
		uint32_t skipped = i >= thread->skipped_at ? thread->skipped : 0;

		if (thread->skipped > 0 && i == thread->skipped_at)
			output_text(session->output,
				    "  … %s%" PRIu32 " frames are left out, and their variables\n",
				    i == thread->frames ? "at least " : "", thread->skipped);
		if (i < thread->frames)
			print_frame(session, held, thread->first_frame + i, i + skipped);
	}
}

static enum command_status callstack_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	uint64_t only = 0;
	struct held held = { NULL, NULL, NULL };
	bool reachable = command_option(&argc, argv, "--reachable", NULL);

	if (!command_number(&argc, argv, "--thread", &only) || argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error && only)
		error = command_check_thread(session, only);
	if (!error && reachable)
		error = measure_all(session, &held);
	if (error)
		return command_fail(session, error);
	output_open_array(output, NULL);
	for (uint32_t i = 0; i < snapshot->thread_count && !session_must_stop(session); i++) {
		const struct heap_thread *thread = &snapshot->threads[i];

		if (only && thread->tid != only)
			continue;
		output_text(output, "%s%s%s\n", describe_named_thread(session, i),
			    thread->state == HEAP_THREAD_MISSING ? ", could not be stopped" : "",
			    held_text(session, held.by_thread, i));
		output_open_object(output, NULL);
		output_number(output, "thread", thread->tid);
		output_string(output, "name", heap_snapshot_string(snapshot, thread->name));
		held_json(session, held.by_thread, i);
		output_open_array(output, "frames");
		print_frames(session, &held, thread);
		output_close(output);
		output_number(output, "skipped_frames", thread->skipped);
		output_close(output);
	}
	output_close(output);
	return snapshot->thread_count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command callstack_command = {
	.name = "callstack",
	.synopsis = "[--reachable] [--conservative] [--thread TID]",
	.summary = "the threads, their frames and the frames' variables",
	.details =
		"Innermost frame first; inlined functions have a line of their own. --reachable\n"
		"shows how much each thread, frame and variable leads to, and how much of it\n"
		"nothing else leads to.\n"
		"\n"
		"  callstack\n"
		"  callstack --reachable --thread 4242",
	.run = callstack_run,
};

// --- symbols -----------------------------------------------------------------

struct symbols {
	struct session *session;
	const char *pattern;
	const uint8_t *holds; // [roots]
	bool all;             // also those that hold no object
	uint64_t limit, found;
};

static void print_symbol(struct session *session, heap_root_id id)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root *root = &snapshot->roots[id];
	const char *value = describe_root_value(session, root);

	output_text(session->output, "%#" PRIx64 " %s: %s%s\n", root->address,
		    describe_name(session, heap_snapshot_string(snapshot, root->name)),
		    describe_type(session, root->type), value);
	output_open_object(session->output, NULL);
	describe_root_json(session, "root", id);
	print_value_json(session, root, value);
	output_close(session->output);
}

// Prints the variables of the executable, or those of its libraries.
static void print_symbols(struct symbols *symbols, bool own)
{
	const struct heap_snapshot *snapshot = symbols->session->snapshot;

	for (heap_root_id i = 0; i < snapshot->root_count && !session_must_stop(symbols->session);
	     i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->kind > HEAP_ROOT_THREAD_LOCAL || (!symbols->holds[i] && !symbols->all) ||
		    variable_is_own(snapshot, i) != own ||
		    !heap_name_matches_inside(symbols->pattern,
					      heap_snapshot_string(snapshot, root->name)))
			continue;
		if (symbols->found++ < symbols->limit)
			print_symbol(symbols->session, i);
	}
}

static enum command_status symbols_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct symbols symbols = { .session = session, .limit = UINT64_MAX };

	symbols.all = command_option(&argc, argv, "--all", NULL) || argc == 2;
	if (!command_limit(&argc, argv, &symbols.limit) || argc > 2)
		return COMMAND_USAGE;
	symbols.pattern = argc == 2 ? argv[1] : "*";

	struct heap_error *error = describe_load(session);
	uint8_t *holds = session_allocate(session, snapshot->root_count + 1);

	if (!error && !holds)
		error = heap_error_out_of_memory();
	if (error)
		return command_fail(session, error);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		holds[snapshot->root_edges[i].root] = 1;
	symbols.holds = holds;
	output_open_array(session->output, NULL);
	print_symbols(&symbols, true);
	print_symbols(&symbols, false);
	output_close(session->output);
	if (symbols.found > symbols.limit)
		command_tell_rest(session, symbols.found - symbols.limit);
	return symbols.found ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command symbols_command = {
	.name = "symbols",
	.synopsis = "[--all] [--limit N] [GLOB]",
	.summary = "global, static and thread-local variables that hold objects",
	.details = "Variables of the program come first. With GLOB or --all, variables that point\n"
		   "to no object are listed, too.\n"
		   "\n"
		   "  symbols\n"
		   "  symbols 'g_*'",
	.run = symbols_run,
	.nothing = "There are no such variables.",
	.words = WORDS_OBJECT,
};
