// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/session.h"

#include "lib/cleanup.h"
#include "lib/escape.h"
#include "shell/series.h"

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

struct heap_error *session_open(struct session *session, const char *path)
{
	progress_init(&session->progress, NULL);

	struct heap_error *error = heap_snapshot_open(path, &session->snapshot);

	if (!error && session->snapshot->declarations_ignored && session->errors)
		heap_print(session->errors,
			   "heapsh: %s.types is ignored: it is a link, or somebody who could not "
			   "write the snapshot could write it\n",
			   path);
	return error;
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

// What has been computed, and the snapshot.
static void close_snapshot(struct session *session)
{
	heap_holdings_destroy(session->holdings);
	heap_dominator_tree_deinit(&session->tree);
	if (session->dominators)
		heap_dominators_deinit(session->dominators);
	free(session->dominators);
	heap_graph_destroy(session->graph);
	heap_snapshot_close(session->snapshot);
	free(session->is_new);
}

void session_close(struct session *session)
{
	session_release(session, NULL);
	free(session->answer);
	aliases_deinit(&session->aliases);
	close_snapshot(session);
}

void session_switch(struct session *session, struct heap_snapshot *snapshot)
{
	close_snapshot(session);
	session->snapshot = snapshot;
	session->graph = NULL;
	session->dominators = NULL;
	session->holdings = NULL;
	session->is_new = NULL;
	session->answer_count = 0;
	memset(&session->tree, 0, sizeof(session->tree));
	memset(session->mentions, 0, sizeof(session->mentions));
}

void session_begin_command(struct session *session)
{
	session->answer_begun = false;
	session->lines_left = MAX_LINES;
	session_interrupted = 0;
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
	return session->lines_left > 0;
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

	if (!error)
		session->graph->progress = &session->progress.progress;
	return error;
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

struct heap_error *session_dominators(struct session *session)
{
	struct heap_error *error;

	if (session->dominators)
		return NULL;

	CLEANUP_FREE struct heap_dominators *dominators = calloc(1, sizeof(*dominators));

	if (!dominators)
		return heap_error_out_of_memory();
	error = heap_dominators_load(dominators, session->snapshot);
	if (!error) {
		session->dominators = keep(dominators);
		return NULL;
	}
	heap_error_destroy(error); // whatever is wrong with the side file: compute it anew
	error = session_pointers(session);
	if (!error)
		error = heap_dominators_init(dominators, session->graph);
	if (error)
		return error;
	heap_error_destroy(heap_dominators_store(dominators, session->snapshot));
	session->dominators = keep(dominators);
	return NULL;
}

void session_remember(struct session *session, heap_object_id object)
{
	session_remember_part(session, object, 0);
}

void session_remember_part(struct session *session, heap_object_id object, uint64_t offset)
{
	if (!session->answer_begun)
		session->answer_count = 0;
	session->answer_begun = true;
	if (session->answer_count == session->answer_capacity) {
		size_t capacity = session->answer_capacity ? session->answer_capacity * 2 : 64;
		void *larger = realloc(session->answer, capacity * sizeof(*session->answer));

		if (!larger)
			return;
		session->answer = larger;
		session->answer_capacity = capacity;
	}
	session->answer[session->answer_count++] = (struct session_answer){ object, offset };
}

struct heap_error *session_dominator_tree(struct session *session)
{
	struct heap_error *error = session_dominators(session);

	if (!error && !session->tree.dominators)
		error = heap_dominator_tree_init(&session->tree, session->dominators);
	return error;
}

struct heap_error *session_holdings(struct session *session, const struct heap_holdings **result)
{
	struct heap_error *error = session->holdings ? NULL : session_dominators(session);

	if (!error && !session->holdings)
		error = session_edges(session);
	if (!error && !session->holdings)
		error = heap_holdings_create(session->graph, session->dominators,
					     &session->holdings);
	if (!error)
		*result = session->holdings;
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *resolve_object(void *context, const char *word, heap_object_id *result)
{
	return session_parse_object(context, word, result);
}

struct heap_error *session_filter(struct session *session, int count, char **words,
				  struct heap_filter **result)
{
	struct heap_filter *filter;
	struct heap_error *error = heap_filter_parse(session->snapshot, count, words,
						     resolve_object, session, &filter);

	if (error)
		return error;
	if (heap_filter_needs_graph(filter))
		error = session_edges(session);
	if (!error && heap_filter_needs_dominators(filter))
		error = session_dominators(session);
	if (!error)
		error = heap_filter_prepare(filter, session->graph, session->dominators);
	if (!error && heap_filter_needs_new(filter)) {
		error = series_need_new(session);
		heap_filter_set_new(filter, session->is_new);
	}
	if (error) {
		heap_filter_destroy(filter);
		return error;
	}
	*result = filter;
	return NULL;
}

// --- operands ----------------------------------------------------------------

static bool holds_object(const struct heap_snapshot *snapshot, heap_root_id root)
{
	uint64_t at = heap_snapshot_first_root_edge(snapshot, root);

	return at < snapshot->root_edge_count && snapshot->root_edges[at].root == root;
}

heap_root_id session_find_root(const struct session *session, const char *name)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_root_id found = UINT32_MAX;
	unsigned best = UINT32_MAX;

	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];
		unsigned rank = root->kind * 2u;

		if (root->kind > HEAP_ROOT_LOCAL ||
		    strcmp(heap_snapshot_string(snapshot, root->name), name) != 0)
			continue;
		rank += !holds_object(snapshot, i);
		if (rank < best) {
			best = rank;
			found = i;
		}
	}
	return found;
}

HEAP_MUST_CHECK
static struct heap_error *parse_answer(struct session *session, const char *text,
				       struct session_operand *result)
{
	char *end;
	unsigned long number = strtoul(text + 1, &end, 10);

	if (end == text + 1 || *end)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not a number after $", text);
	if (number == 0 || number > session->answer_count)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: the last answer had %zu objects",
					 text, session->answer_count);
	result->object = session->answer[number - 1].object;
	result->interior = session->answer[number - 1].interior;
	return NULL;
}

// Which object an address lies in, if any, and where.
HEAP_MUST_CHECK
static struct heap_error *locate(struct heap_snapshot *snapshot, uint64_t address,
				 struct session_operand *result)
{
	struct heap_error *error = heap_snapshot_locate(snapshot, address, &result->object);

	if (!error && result->object != HEAP_NO_OBJECT)
		result->interior = address - snapshot->address[result->object];
	return error;
}

// The object that a pointer variable points to; the variable itself if it points to none.
HEAP_MUST_CHECK
static struct heap_error *follow_root(struct heap_snapshot *snapshot, heap_root_id root,
				      struct session_operand *result)
{
	uint64_t content;
	const struct heap_root *variable = &snapshot->roots[root];
	heap_type_id type = heap_types_strip(&snapshot->types, variable->type);

	if (variable->content_size != 8 ||
	    (type != HEAP_NO_TYPE && snapshot->types.types[type].kind != HEAP_TYPE_POINTER)) {
		result->root = root;
		return NULL;
	}
	memcpy(&content, snapshot->root_content + variable->content, 8);

	struct heap_error *error = locate(snapshot, content, result);

	if (!error && result->object == HEAP_NO_OBJECT)
		result->root = root;
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *parse_symbol(struct session *session, const char *text,
				       struct session_operand *result)
{
	bool itself = text[0] == '&';
	heap_root_id root = session_find_root(session, text + itself);

	if (root == UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: neither an address nor a variable",
					 text);
	if (!itself)
		return follow_root(session->snapshot, root, result);
	result->root = root;
	return NULL;
}

static bool parse_hex(const char *text, uint64_t *result)
{
	char *end;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	if (!isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	*result = strtoull(text, &end, 16);
	return errno == 0 && *end == '\0';
}

// Loads ADDRESS and SIZE around it alone.
HEAP_MUST_CHECK
static struct heap_error *parse_operand(struct session *session, const char *text,
					struct session_operand *result)
{
	struct session_operand operand = { HEAP_NO_OBJECT, UINT32_MAX, 0 };
	struct heap_error *error;
	uint64_t address;
	bool is_hex = parse_hex(text, &address);

	if (is_hex && strncmp(text, "0x", 2) != 0 && session_find_root(session, text) != UINT32_MAX)
		is_hex = false; // a variable may be called "face"
	if (text[0] == '$')
		error = parse_answer(session, text, &operand);
	else if (is_hex)
		error = locate(session->snapshot, address, &operand);
	else
		error = parse_symbol(session, text, &operand);
	if (!error && is_hex && operand.object == HEAP_NO_OBJECT)
		error = heap_error_create(HEAP_ERROR_ABSENT, "%s: no live object is there", text);
	if (!error)
		*result = operand;
	return error;
}

struct heap_error *session_parse_operand(struct session *session, const char *text,
					 struct session_operand *result)
{
	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE);

	return error ? error : parse_operand(session, text, result);
}

struct heap_error *session_parse_object(struct session *session, const char *text,
					heap_object_id *result)
{
	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE);

	return error ? error : session_locate_object(session, text, result);
}

struct heap_error *session_locate_object(struct session *session, const char *text,
					 heap_object_id *result)
{
	struct session_operand operand;
	struct heap_error *error = parse_operand(session, text, &operand);

	if (error)
		return error;
	if (operand.object == HEAP_NO_OBJECT)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s: a variable that points to no live object", text);
	*result = operand.object;
	return NULL;
}
