// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * stack, callers: what threads' stacks and registers hold, and who called whom.
 */
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <stdlib.h>

// Where the pointer is: "ring", "rbx", "buffers[3].next", "0x7ffe00000018".
static const char *describe_slot(struct session *session, const struct heap_root_edge *edge)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root *root = &snapshot->roots[edge->root];
	const char *name = describe_name(session, heap_snapshot_string(snapshot, root->name));

	if (root->kind == HEAP_ROOT_STACK)
		return session_format(session, "%#" PRIx64, root->address + edge->offset);
	return session_format(session, "%s%s", name,
			      field_of_root(session, edge->root, edge->offset));
}

static void print_slot(struct session *session, const struct heap_root_edge *edge)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root *root = &snapshot->roots[edge->root];
	struct output *output = session->output;
	const char *slot = describe_slot(session, edge);

	output_text(output, "        %s = %s%s\n", slot, describe_object(session, edge->target),
		    field_interior(session, edge->target, edge->interior));
	session_remember(session, edge->target);
	output_open_object(output, NULL);
	output_string(output, "slot", slot);
	output_string(output, "kind", describe_root_kind(root->kind));
	if (root->address)
		output_address(output, "address", root->address + edge->offset);
	output_number(output, "interior", edge->interior);
	describe_object_json(session, "object", edge->target);
	output_close(output);
}

// A pointer on a stack, by where it is shown.
struct slot {
	uint32_t thread;
	uint32_t frame; // HEAP_NO_INDEX, which comes last: in none that is known
	uint64_t edge;  // in root_edges
};

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return a->edge < b->edge ? -1 : a->edge > b->edge;
}

// @param only  number of a thread; 0: all @return [*count], or NULL if memory is short
static struct slot *find_slots(struct session *session, uint64_t only, uint64_t *count)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct slot *slots =
		session_allocate(session, (snapshot->root_edge_count + 1) * sizeof(*slots));

	*count = 0;
	for (uint64_t i = 0; slots && i < snapshot->root_edge_count; i++) {
		const struct heap_root *root = &snapshot->roots[snapshot->root_edges[i].root];

		if (root->thread == HEAP_NO_INDEX ||
		    (root->kind != HEAP_ROOT_LOCAL && root->kind != HEAP_ROOT_REGISTER &&
		     root->kind != HEAP_ROOT_STACK) ||
		    (only && snapshot->threads[root->thread].tid != only))
			continue;
		slots[(*count)++] = (struct slot){ root->thread, root->frame, i };
	}
	if (slots)
		qsort(slots, *count, sizeof(*slots), compare_slots);
	return slots;
}

static void open_thread(struct session *session, uint32_t number)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_thread *thread = &snapshot->threads[number];
	const char *name = heap_snapshot_string(snapshot, thread->name);

	output_text(session->output, "%s\n", describe_named_thread(session, number));
	output_open_object(session->output, NULL);
	output_number(session->output, "thread", thread->tid);
	output_string(session->output, "name", name);
	output_open_array(session->output, "frames");
}

static void open_frame(struct session *session, const struct slot *slot)
{
	const struct heap_thread *thread = &session->snapshot->threads[slot->thread];
	const char *text = "in no frame that is known";

	if (slot->frame != HEAP_NO_INDEX)
		text = describe_frame(session, slot->frame);
	if (slot->frame != HEAP_NO_INDEX)
		output_text(session->output, "  #%-3" PRIu32 " %s\n",
			    slot->frame - thread->first_frame, text);
	else
		output_text(session->output, "  %s\n", text);
	output_open_object(session->output, NULL);
	output_string(session->output, "frame", text);
	output_open_array(session->output, "slots");
}

// Closes an array, and the object that it is in.
static void close_both(struct output *output)
{
	output_close(output);
	output_close(output);
}

static void print_slots(struct session *session, const struct slot *slots, uint64_t count)
{
	struct output *output = session->output;

	output_open_array(output, NULL);
	for (uint64_t i = 0; i < count && !session_must_stop(session); i++) {
		bool new_thread = i == 0 || slots[i].thread != slots[i - 1].thread;
		bool new_frame = new_thread || slots[i].frame != slots[i - 1].frame;

		if (i > 0 && new_frame)
			close_both(output);
		if (i > 0 && new_thread)
			close_both(output);
		if (new_thread)
			open_thread(session, slots[i].thread);
		if (new_frame)
			open_frame(session, &slots[i]);
		print_slot(session, &session->snapshot->root_edges[slots[i].edge]);
	}
	if (count > 0) {
		close_both(output);
		close_both(output);
	}
	output_close(output);
}

static enum command_status stack_run(struct session *session, int argc, char **argv)
{
	uint64_t only = 0, count = 0;
	const struct slot *slots;

	if (!command_number(&argc, argv, "--thread", &only) || argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error && only)
		error = command_check_thread(session, only);
	if (error)
		return command_fail(session, error);
	slots = find_slots(session, only, &count);
	if (!slots)
		return command_fail(session, heap_error_out_of_memory());
	print_slots(session, slots, count);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command stack_command = {
	.name = "stack",
	.synopsis = "[--thread TID]",
	.summary = "the values on the threads' stacks and in registers that point into the heap",
	.details = "Frame by frame, innermost first. Words that belong to no variable are shown\n"
		   "with their addresses.\n"
		   "\n"
		   "  stack\n"
		   "  stack --thread 4242",
	.run = stack_run,
	.nothing = "No value on these stacks points into the heap.",
};

// --- callers -----------------------------------------------------------------

static enum command_status callers_run(struct session *session, int argc, char **argv)
{
	return callstack_command.run(session, argc, argv);
}

const struct command callers_command = {
	.name = "callers",
	.synopsis = "[--reachable] [--conservative] [--thread TID]",
	.summary = "the same as callstack",
	.details = "  callers\n"
		   "  callers --thread 4242",
	.run = callers_run,
};
