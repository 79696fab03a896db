// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * sizes: how large an object is, alone, as a structure, and with all that it owns.
 *
 *	table ─▶ slots ─▶ entry ─▶ name          own: the table alone
 *	              └─▶ entry ─▶ user ◀─ x     structure: with the slots, the entries, the name,
 *	                                         since only one part of it points to each
 *	                                         owned: all that would be free without it
 *
 * The next node of a list is no part of the one before: an object of the same type does not
 * belong to the structure, though it may be owned.
 */
#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/words/operand.h"

#include <inttypes.h>
#include <stdlib.h>

struct structure {
	struct session *session;
	uint8_t *visited;      // [objects / 8 + 1] a bit for each part
	heap_object_id *parts; // [count] in the order in which they were found
	size_t count, capacity;
	uint64_t bytes;
};

// True if all pointers to an object come from one other object, and none from a root.
static bool is_held_by(const struct heap_graph *graph, heap_object_id object, heap_object_id holder)
{
	if (graph->root_in_first[object] != graph->root_in_first[object + 1])
		return false;
	for (uint32_t i = graph->in_first[object]; i < graph->in_first[object + 1]; i++) {
		if (graph->in_source[i] != holder && graph->in_source[i] != object)
			return false;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *add_part(struct structure *structure, heap_object_id object)
{
	HEAP_TRY(heap_reserve(structure->parts, structure->capacity, structure->count + 1));
	heap_bit_set(structure->visited, object);
	structure->parts[structure->count++] = object;
	structure->bytes += structure->session->snapshot->size[object];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_parts(struct structure *structure, heap_object_id whole)
{
	const struct heap_snapshot *snapshot = structure->session->snapshot;
	struct heap_error *error = add_part(structure, whole);

	for (size_t i = 0; !error && i < structure->count; i++) {
		heap_object_id part = structure->parts[i];

		if (session_must_stop(structure->session))
			return heap_error_create(HEAP_ERROR_INTERRUPTED, "interrupted");
		for (uint32_t edge = snapshot->edge_first[part];
		     !error && edge < snapshot->edge_first[part + 1]; edge++) {
			heap_object_id target = snapshot->edge_target[edge];
			bool is_alike = snapshot->type[target] != HEAP_NO_TYPE &&
					snapshot->type[target] == snapshot->type[whole];

			if (!heap_bit_get(structure->visited, target) && !is_alike &&
			    is_held_by(structure->session->graph, target, part))
				error = add_part(structure, target);
		}
	}
	return error;
}

static void print_size(struct session *session, const char *name, uint64_t bytes, uint64_t objects,
		       const char *text)
{
	struct output *output = session->output;

	output_text(output, "%-10s %12s  %" PRIu64 " object%s%s\n", name,
		    describe_bytes(session, bytes), objects, format_plural(objects), text);
	output_open_object(output, name);
	output_number(output, "bytes", bytes);
	output_number(output, "objects", objects);
	output_close(output);
}

// Objects that one dominates, itself included, and parts of pools.
HEAP_MUST_CHECK
static struct heap_error *count_owned(struct session *session, heap_object_id object,
				      uint64_t *result)
{
	size_t size = (size_t)session->divided->objects / 8 + 1;
	uint8_t *marks = session_allocate(session, size);
	struct heap_error *error = marks ? heap_divided_mark(session->divided, object, marks)
					 : heap_error_out_of_memory();

	*result = 0;
	for (size_t i = 0; !error && i < size; i++)
		*result += (uint64_t)__builtin_popcount(marks[i]);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *load_sizes(struct session *session, const char *word,
				     struct operand *operand)
{
	HEAP_TRY(describe_load(session));
	HEAP_TRY(operand_parse(session, word, operand));
	if (operand->object == HEAP_NO_OBJECT && !operand_is_root(session, operand))
		return operand_no_object(session, word, operand);
	HEAP_TRY(session_graph(session));
	return session_dominators(session);
}

static void print_sizes(struct session *session, heap_object_id object,
			const struct structure *structure, uint64_t owned)
{
	struct output *output = session->output;
	uint64_t retained = session_retained(session, object);

	output_text(output, "%s\n", describe_object(session, object));
	output_open_object(output, NULL);
	describe_object_json(session, "object", object);
	print_size(session, "own", session->snapshot->size[object], 1, "");
	print_size(session, "structure", structure->bytes, structure->count,
		   structure->count > 1 ? ", each but the first held by one other of them alone"
					: "");
	if (retained > 0)
		print_size(session, "owned", retained, owned, ", that would be free without it");
	else
		output_text(output, "%-10s %12s  it is leaked itself\n", "owned", "-");
	output_close(output);
}

// A variable is not on the heap itself.
static enum command_status print_root_sizes(struct session *session, heap_root_id root)
{
	struct output *output = session->output;
	uint64_t own = session->snapshot->roots[root].size;
	const struct session_holders *holders;
	struct heap_error *error = session_holders(session, &holders);

	if (error)
		return command_fail(session, error);

	const struct heap_root_size *size = &holders->sizes[holders->group[root]];

	output_text(output, "%s\n", describe_root(session, root));
	output_open_object(output, NULL);
	describe_root_json(session, "root", root);
	output_text(output, "%-10s %12s  not of the heap\n", "own", describe_bytes(session, own));
	output_number(output, "own", own);
	print_size(session, "owned", size->retained, size->retained_objects,
		   ", that would be free without it");
	print_size(session, "reachable", size->reachable, size->reachable_objects,
		   ", that it leads to");
	output_close(output);
	return COMMAND_OK;
}

static enum command_status sizes_run(struct session *session, int argc, char **argv)
{
	struct operand operand;
	uint64_t owned = 0;

	if (argc != 2)
		return COMMAND_USAGE;

	struct heap_error *error = load_sizes(session, argv[1], &operand);

	if (error)
		return command_fail(session, error);
	if (operand.object == HEAP_NO_OBJECT)
		return print_root_sizes(session, operand.root);

	heap_object_id object = operand.object;

	struct structure structure = {
		.session = session,
		.visited =
			session_allocate(session, (size_t)session->snapshot->object_count / 8 + 1),
	};

	error = structure.visited ? find_parts(&structure, object) : heap_error_out_of_memory();
	if (!error)
		error = count_owned(session, object, &owned);
	if (!error)
		print_sizes(session, object, &structure, owned);
	free(structure.parts);
	return error ? command_fail(session, error) : COMMAND_OK;
}

const struct command sizes_command = {
	.name = "sizes",
	.synopsis = "OBJ",
	.summary = "how large an object is: alone, with its parts, with all it owns",
	.details = "Its structure consists of the objects that only it points to, those that only\n"
		   "they point to, and so on, except objects of its own type, such as the next\n"
		   "elements of a list. It owns all that would be free without it (see retained).\n"
		   "For a variable that is no pointer: all that its pointers own and lead to.\n"
		   "\n"
		   "  sizes 0x5ed26d8\n"
		   "  sizes g_table",
	.run = sizes_run,
	.words = WORDS_OBJECT,
	.keeps_answer = true,
};
