// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/session.h"

#include "shell/base/debug_files.h"

#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/base/escape.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum {
	MAX_LINES = 1 << 20, // of values, unless there are that many bytes of them
};

struct session_text {
	struct session_text *next;
	void *memory;
};

volatile sig_atomic_t session_interrupted;

struct heap_error *session_read(const struct session *session, const char *path,
				struct heap_snapshot **result)
{
	return session->debug_files ? debug_files_open(path, session->debug_files, result)
				    : heap_snapshot_open(path, result);
}

struct heap_error *session_open(struct session *session, const char *path)
{
	progress_init(&session->progress, NULL);

	HEAP_TRY(session_read(session, path, &session->snapshot));
	if (session->snapshot->declarations_ignored && session->errors)
		heap_print(session->errors,
			   "heapsh: %s.types is ignored: it is a link, or somebody who could not "
			   "write the snapshot could write it\n",
			   path);
	return NULL;
}

const void *session_mark(const struct session *session)
{
	return session->texts;
}

void session_release(struct session *session, const void *mark)
{
	while (session->texts != mark) {
		struct session_text *text = session->texts;

		session->texts = text->next;
		free(text->memory);
		free(text);
	}
}

static void destroy_holders(struct session_holders *holders)
{
	if (!holders)
		return;
	free(holders->group);
	free(holders->sizes);
	heap_joint_sizes_deinit(&holders->joint);
	free(holders);
}

// Forgets the dominators, and what follows from them.
static void forget_dominators(struct session *session)
{
	destroy_holders(session->holders);
	heap_root_sizes_destroy(session->root_sizes);
	heap_dominator_tree_deinit(&session->tree);
	heap_divided_destroy(session->divided);
	if (session->dominators)
		heap_dominators_deinit(session->dominators);
	free(session->dominators);
	session->holders = NULL;
	session->root_sizes = NULL;
	session->divided = NULL;
	session->dominators = NULL;
	memset(&session->tree, 0, sizeof(session->tree));
}

static void close_snapshot(struct session *session)
{
	forget_dominators(session);
	heap_graph_destroy(session->graph);
	heap_snapshot_close(session->snapshot);
	free(session->is_new);
}

void session_close(struct session *session)
{
	session_release(session, NULL);
	free(session->answer);
	heap_column_destroy(session->number);
	aliases_deinit(&session->aliases);
	close_snapshot(session);
}

void session_switch(struct session *session, struct heap_snapshot *snapshot)
{
	close_snapshot(session);
	session->snapshot = snapshot;
	session->graph = NULL;
	session->is_new = NULL;
	session->has_counted = false;
	heap_column_destroy(session->number);
	session->number = NULL;
	session->answer_count = 0;
	memset(session->mentions, 0, sizeof(session->mentions));
}

void session_begin_command(struct session *session, bool keeps_answer)
{
	session->answer_begun = keeps_answer;
	session->is_conservative = session->always_conservative;
	session->lines_left = MAX_LINES;
}

void session_end_command(struct session *session)
{
	progress_end(&session->progress);
	session_release(session, NULL);
}

bool session_take_line(struct session *session)
{
	if (session->lines_left > 0)
		session->lines_left--;
	return !session_must_stop(session);
}

void session_allow_lines(struct session *session, uint64_t bytes)
{
	if (bytes < UINT64_MAX / 4 && bytes * 4 > session->lines_left)
		session->lines_left = bytes * 4;
}

bool session_must_stop(const struct session *session)
{
	return session_interrupted || session->lines_left == 0 || output_is_broken(session->output);
}

static void *keep_memory(struct session *session, void *memory)
{
	struct session_text *text = malloc(sizeof(*text));

	if (!memory || !text) {
		free(memory);
		free(text);
		return NULL;
	}
	*text = (struct session_text){ session->texts, memory };
	session->texts = text;
	return memory;
}

void *session_allocate(struct session *session, size_t size)
{
	return keep_memory(session, calloc(1, size ? size : 1));
}

const char *session_keep(struct session *session, char *text)
{
	const char *kept = keep_memory(session, text);

	return kept ? kept : "";
}

const char *session_format(struct session *session, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return session_keep(session, text);
}

struct heap_error *session_pointers(struct session *session)
{
	struct heap_error *error =
		session->graph ? NULL : heap_graph_create_bare(session->snapshot, &session->graph);

	if (error)
		return error;
	session->graph->progress = &session->progress.progress;
	session->graph->is_conservative = session->is_conservative;
	return NULL;
}

struct heap_error *session_edges(struct session *session)
{
	struct heap_error *error = heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE);

	return error ? error : session_pointers(session);
}

struct heap_error *session_graph(struct session *session)
{
	struct heap_error *error = session_edges(session);

	return error ? error : heap_graph_need_reverse(session->graph);
}

// Forgets what was found when stale words of stacks counted otherwise.
static void follow_conservative(struct session *session)
{
	if (session->had_conservative != session->is_conservative)
		forget_dominators(session);
	session->had_conservative = session->is_conservative;
}

struct heap_error *session_divided(struct session *session)
{
	follow_conservative(session);
	return session->divided
		       ? NULL
		       : heap_divided_create(session->snapshot, session->is_conservative,
					     &session->progress.progress, &session->divided);
}

struct heap_error *session_nodes(struct session *session, struct heap_graph **result)
{
	HEAP_TRY(session_divided(session));
	HEAP_TRY(session_pointers(session));
	*result = session->divided->graph ? session->divided->graph : session->graph;
	return NULL;
}

struct heap_error *session_node_columns(struct session *session, unsigned columns,
					const struct heap_snapshot **result)
{
	HEAP_TRY(session_divided(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, columns));
	*result = session->divided->graph ? session->divided->graph->snapshot : session->snapshot;
	return NULL;
}

struct heap_error *session_node_kinds(struct session *session, const struct heap_snapshot **result)
{
	return session_node_columns(session, HEAP_COLUMN_SITE | HEAP_COLUMN_TYPE | HEAP_COLUMN_SIZE,
				    result);
}

// Finds the dominators in the side file, or computes them.
HEAP_MUST_CHECK
static struct heap_error *find_dominators(struct session *session,
					  struct heap_dominators *dominators)
{
	bool is_conservative = session->is_conservative;
	struct heap_graph *nodes;
	struct heap_error *error = heap_dominators_load(dominators, session->snapshot,
							session->divided->objects, is_conservative);

	if (!error)
		return NULL;
	heap_error_destroy(error); // whatever is wrong with the side file: compute them again
	HEAP_TRY(session_nodes(session, &nodes));
	HEAP_TRY(heap_dominators_init(dominators, nodes));
	heap_error_destroy(heap_dominators_store(dominators, session->snapshot, is_conservative));
	return NULL;
}

struct heap_error *session_dominators(struct session *session)
{
	HEAP_TRY(session_divided(session));
	if (session->dominators)
		return NULL;

	CLEANUP_FREE struct heap_dominators *dominators = calloc(1, sizeof(*dominators));

	if (!dominators)
		return heap_error_out_of_memory();
	HEAP_TRY(find_dominators(session, dominators));
	session->dominators = keep(dominators);
	return heap_divided_set_dominators(session->divided, session->dominators);
}

static void forget_answer(struct session *session)
{
	for (size_t i = 0; session->number && i < session->answer_count; i++)
		session->number[session->answer[i].object] = 0;
	session->answer_count = 0;
}

// @return false if there is no memory
static bool add_answer(struct session *session, heap_object_id object, uint64_t offset)
{
	if (!session->answer_begun)
		forget_answer(session);
	session->answer_begun = true;

	struct heap_error *error =
		heap_reserve(session->answer, session->answer_capacity, session->answer_count + 1);

	if (error) {
		heap_error_destroy(error);
		return false;
	}
	session->answer[session->answer_count++] = (struct session_answer){ object, offset };
	return true;
}

// Makes the table of numbers, and enters those of the present answer.
static bool make_numbers(struct session *session)
{
	size_t objects = (size_t)session->snapshot->object_count + 1;
	struct heap_error *error =
		heap_column_create_sparse(objects, sizeof(*session->number), &session->number);

	heap_error_destroy(error);
	for (size_t i = 0; !error && i < session->answer_count; i++) {
		if (session->answer[i].interior == 0)
			session->number[session->answer[i].object] = (uint32_t)i + 1;
	}
	return !error;
}

size_t session_remember(struct session *session, heap_object_id object)
{
	if (session->forgets)
		return session->number ? session->number[object] : 0;
	if (!session->number && !make_numbers(session))
		return 0;
	if (!session->answer_begun)
		forget_answer(session);
	if (session->number[object] == 0 && add_answer(session, object, 0))
		session->number[object] = (uint32_t)session->answer_count;
	session->answer_begun = true;
	return session->number[object];
}

void session_remember_part(struct session *session, heap_object_id object, uint64_t offset)
{
	if (!session->forgets)
		add_answer(session, object, offset);
}

struct heap_error *session_dominator_tree(struct session *session)
{
	HEAP_TRY(session_dominators(session));
	if (session->tree.dominators)
		return NULL;
	return heap_dominator_tree_init(&session->tree, session->dominators);
}

struct heap_error *session_root_sizes(struct session *session,
				      const struct heap_root_sizes **result)
{
	struct heap_graph *nodes;

	HEAP_TRY(session_nodes(session, &nodes));
	if (!session->root_sizes)
		HEAP_TRY(heap_root_sizes_create(nodes, &session->root_sizes));
	*result = session->root_sizes;
	return heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE);
}

HEAP_MUST_CHECK
static struct heap_error *find_holders(struct session *session, struct session_holders *holders)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t roots = snapshot->root_count;

	HEAP_TRY(session_root_sizes(session, &holders->all));
	holders->groups = roots + 1;
	holders->words = roots;
	holders->group = calloc((size_t)roots + 1, sizeof(*holders->group));
	holders->sizes = calloc((size_t)roots + 1, sizeof(*holders->sizes));
	if (!holders->group || !holders->sizes)
		return heap_error_out_of_memory();
	for (heap_root_id i = 0; i < roots; i++) {
		bool is_word =
			heap_root_level(session->graph, &snapshot->roots[i]) == HEAP_LEVEL_WORD;

		holders->group[i] = is_word ? holders->words : i;
	}
	return heap_root_sizes_measure(holders->all, holders->group, holders->groups,
				       holders->sizes, &holders->joint);
}

struct heap_error *session_root_holders(struct session *session,
					const struct session_holders **result)
{
	follow_conservative(session);
	HEAP_TRY(session_pointers(session)); // its graph may have been conservative since
	if (!session->holders) {
		struct session_holders *holders = calloc(1, sizeof(*holders));
		struct heap_error *error =
			holders ? find_holders(session, holders) : heap_error_out_of_memory();

		if (error) {
			destroy_holders(holders);
			return error;
		}
		session->holders = holders;
	}
	*result = session->holders;
	return NULL;
}

struct heap_error *session_holders(struct session *session, const struct session_holders **result)
{
	HEAP_TRY(session_dominators(session));
	return session_root_holders(session, result);
}
