// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * roots, callstack, symbols: what holds the heap from outside.
 */
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/format.h"
#include "shell/root_sizes.h"
#include "shell/value.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- roots -------------------------------------------------------------------

enum {
	// What each root reaches is a search of its own: with more roots than this only the
	// largest get one, unless --all asks for it.
	DEFAULT_SHOWN = 25,
};

static void print_roots(struct session *session, const struct root_sizes *roots, size_t count,
			uint64_t total)
{
	struct output *output = session->output;

	output_text(output, "%12s %12s %12s %6s  %s\n", "retained", "reachable", "exclusive", "%",
		    "root");
	output_open_array(output, NULL);
	for (size_t i = 0; i < count; i++) {
		double share = total ? 100.0 * (double)roots[i].retained / (double)total : 0;

		output_text(output, "%12s %12s %12s %6.1f  %s\n",
			    describe_bytes(session, roots[i].retained),
			    describe_bytes(session, roots[i].reachable.bytes),
			    describe_bytes(session, roots[i].exclusive), share,
			    describe_root(session, roots[i].root));
		output_open_object(output, NULL);
		output_number(output, "retained", roots[i].retained);
		output_number(output, "reachable", roots[i].reachable.bytes);
		output_number(output, "reachable_objects", roots[i].reachable.objects);
		output_number(output, "exclusive", roots[i].exclusive);
		output_real(output, "per_cent", share);
		describe_root_json(session, "root", roots[i].root);
		output_close(output);
	}
	output_close(output);
}

static uint64_t total_bytes(const struct heap_snapshot *snapshot)
{
	uint64_t total = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		total += snapshot->size[i];
	return total;
}

static enum command_status roots_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *minimum_text = NULL;
	uint64_t minimum = 0, limit = DEFAULT_SHOWN;
	bool all = command_option(&argc, argv, "--all", NULL);

	if (command_option(&argc, argv, "--min", &minimum_text) < 0 ||
	    (minimum_text && !heap_parse_size(minimum_text, &minimum)) ||
	    !command_number(&argc, argv, "--limit", &limit) || argc != 1)
		return COMMAND_USAGE;

	struct root_sizes *roots;
	size_t count;
	struct heap_error *error =
		root_sizes_measure(session, minimum, all ? SIZE_MAX : limit, &roots, &count);

	if (error)
		return command_fail(session, error);
	print_roots(session, roots, count, total_bytes(snapshot));
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

static const char *const roots_options[] = { "--all", "--limit", "--min", NULL };

const struct command roots_command = {
	.name = "roots",
	.synopsis = "[--all] [--limit N] [--min SIZE]",
	.summary = "the roots by what they hold: retained, reachable, exclusive",
	.details =
		"retained: bytes that would be free without this root; reachable: bytes that it "
		"leads\n"
		"to; exclusive: bytes of the objects that it alone points to. %: retained, of the\n"
		"heap. The 25 largest are shown.\n\n"
		"  roots\n"
		"  roots --min 1M --all",
	.run = roots_run,
	.options = roots_options,
	.is_table = true,
};

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

static void print_locals(struct session *session, uint32_t frame)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;

	output_open_array(output, "locals");
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->frame != frame || root->kind != HEAP_ROOT_LOCAL)
			continue;

		const char *name = session_keep(
			session, format_name(heap_snapshot_string(snapshot, root->name)));
		const char *value = describe_root_value(session, root);

		output_text(output, "        %s: %s%s\n", name, describe_type(session, root->type),
			    value);
		output_open_object(output, NULL);
		output_string(output, "name", heap_snapshot_string(snapshot, root->name));
		output_string(output, "type", describe_type(session, root->type));
		print_value_json(session, root, value);
		output_close(output);
	}
	output_close(output);
}

static void print_frame(struct session *session, uint32_t number, uint32_t index)
{
	const struct heap_frame *frame = &session->snapshot->frames[number];
	struct output *output = session->output;

	output_text(output, "  #%-3" PRIu32 " %s%s%s%s\n", index, describe_frame(session, number),
		    frame->flags & HEAP_FRAME_INLINED ? ", inlined" : "",
		    frame->flags & HEAP_FRAME_SIGNAL ? ", signal" : "",
		    frame->flags & HEAP_FRAME_GUESSED ? ", guessed" : "");
	output_open_object(output, NULL);
	output_string(output, "function", heap_snapshot_string(session->snapshot, frame->function));
	output_string(output, "file", heap_snapshot_string(session->snapshot, frame->file));
	output_number(output, "line", frame->line);
	output_address(output, "pc", frame->pc);
	output_boolean(output, "inlined", frame->flags & HEAP_FRAME_INLINED);
	print_locals(session, number);
	output_close(output);
}

static enum command_status callstack_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	uint64_t only = 0;

	if (!command_number(&argc, argv, "--thread", &only) || argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (error)
		return command_fail(session, error);
	output_open_array(output, NULL);
	for (uint32_t i = 0; i < snapshot->thread_count && !session_must_stop(session); i++) {
		const struct heap_thread *thread = &snapshot->threads[i];
		const char *name = session_keep(
			session, format_name(heap_snapshot_string(snapshot, thread->name)));

		if (only && thread->tid != only)
			continue;
		output_text(output, "thread %" PRIu32 " (%s)%s\n", thread->tid, name,
			    thread->state == HEAP_THREAD_MISSING ? ", could not be stopped" : "");
		output_open_object(output, NULL);
		output_number(output, "thread", thread->tid);
		output_string(output, "name", heap_snapshot_string(snapshot, thread->name));
		output_open_array(output, "frames");
		for (uint32_t j = 0; j < thread->frames; j++)
			print_frame(session, thread->first_frame + j, j);
		output_close(output);
		output_close(output);
	}
	output_close(output);
	return snapshot->thread_count ? COMMAND_OK : COMMAND_NOTHING;
}

static const char *const callstack_options[] = { "--thread", NULL };

const struct command callstack_command = {
	.name = "callstack",
	.synopsis = "[--thread TID]",
	.summary = "the threads, their frames and the frames' variables",
	.details = "Innermost first. Functions that were inlined have a line of their own.\n\n"
		   "  callstack\n"
		   "  callstack --thread 4242",
	.run = callstack_run,
	.options = callstack_options,
};

// --- symbols -----------------------------------------------------------------

static enum command_status symbols_run(struct session *session, int argc, char **argv)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct output *output = session->output;
	bool all = command_option(&argc, argv, "--all", NULL) || argc == 2;
	const char *pattern = argc == 2 ? argv[1] : "*";
	bool found = false;

	if (argc > 2)
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);
	uint8_t *holds = session_allocate(session, snapshot->root_count);

	if (!error && !holds)
		error = heap_error_out_of_memory();
	if (error)
		return command_fail(session, error);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		holds[snapshot->root_edges[i].root] = 1;
	output_open_array(output, NULL);
	for (heap_root_id i = 0; i < snapshot->root_count && !session_must_stop(session); i++) {
		const struct heap_root *root = &snapshot->roots[i];
		const char *name = heap_snapshot_string(snapshot, root->name);

		if (root->kind > HEAP_ROOT_THREAD_LOCAL || (!holds[i] && !all) ||
		    fnmatch(pattern, name, 0) != 0)
			continue;
		found = true;

		const char *value = describe_root_value(session, root);
		const char *shown = session_keep(session, format_name(name));

		output_text(output, "%#" PRIx64 " %s: %s%s\n", root->address, shown,
			    describe_type(session, root->type), value);
		output_open_object(output, NULL);
		describe_root_json(session, "root", i);
		print_value_json(session, root, value);
		output_close(output);
	}
	output_close(output);
	return found ? COMMAND_OK : COMMAND_NOTHING;
}

static const char *const symbols_options[] = { "--all", NULL };

const struct command symbols_command = {
	.name = "symbols",
	.synopsis = "[--all] [GLOB]",
	.summary = "global, static and thread-local variables that hold objects",
	.details = "With GLOB or --all those too that hold none.\n\n"
		   "  symbols\n"
		   "  symbols 'g_*'",
	.run = symbols_run,
	.words = WORDS_OBJECT,
	.options = symbols_options,
};
