// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/interactive.h"

#include "shell/command.h"

#include <errno.h>
#include <readline/history.h>
#include <readline/readline.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_HISTORY = 1000,
};

static const char *const filter_words[] = {
	"type",     "untyped", "under-typed", "conflict", "evidence",  "size",       "site",
	"frame",    "module",  "age",         "string",   "points-to", "pointed-by", "under",
	"retained", "leaked",  "reachable",   "not",      "or",        NULL,
};

static const char *const evidence_words[] = { "none", "declared", "vtable", "pointer", "embedding",
					      "site", "vote",     "pool",   NULL };

// Readline's generators get no context: these are of the one completion that is under way.
static struct {
	struct session *session;
	const struct command *command;
	unsigned words;
	size_t next; // where the list that is being gone through goes on
} completion;

// --- history -----------------------------------------------------------------

// $XDG_STATE_HOME/heapsh/history (XDG Base Directory Specification 0.8); malloc'd or NULL.
static char *history_path(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *directory = NULL, *path = NULL;
	int length = -1;

	if (state && *state == '/')
		length = asprintf(&directory, "%s", state);
	else if (home && *home == '/')
		length = asprintf(&directory, "%s/.local/state", home);
	if (length < 0)
		return NULL;
	for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(directory, 0700);
		*slash = '/';
	}
	mkdir(directory, 0700);
	if (asprintf(&path, "%s/heapsh", directory) < 0)
		path = NULL;
	free(directory);
	if (!path)
		return NULL;
	mkdir(path, 0700);

	char *file = NULL;

	if (asprintf(&file, "%s/history", path) < 0)
		file = NULL;
	free(path);
	return file;
}

// --- completion --------------------------------------------------------------

static char *match(const char *name, const char *text)
{
	return strncmp(name, text, strlen(text)) == 0 ? strdup(name) : NULL;
}

static char *next_command(const char *text, int state)
{
	size_t count;
	const struct command *const *all = command_all(&count);

	if (state == 0)
		completion.next = 0;
	while (completion.next < count) {
		char *found = match(all[completion.next++]->name, text);

		if (found)
			return found;
	}
	return NULL;
}

static char *next_option(const char *text, int state)
{
	if (state == 0)
		completion.next = 0;
	while (completion.command->options && completion.command->options[completion.next]) {
		char *found = match(completion.command->options[completion.next++], text);

		if (found)
			return found;
	}
	return NULL;
}

static char *next_word(const char *const *words, const char *text, int state)
{
	if (state == 0)
		completion.next = 0;
	while (words[completion.next]) {
		char *found = match(words[completion.next++], text);

		if (found)
			return found;
	}
	return NULL;
}

static char *next_filter(const char *text, int state)
{
	return next_word(filter_words, text, state);
}

static char *next_evidence(const char *text, int state)
{
	return next_word(evidence_words, text, state);
}

static char *next_type(const char *text, int state)
{
	const struct heap_types *types = &completion.session->snapshot->types;

	if (state == 0)
		completion.next = 1;
	while (completion.next < types->count) {
		const struct heap_type *type = &types->types[completion.next++];
		const char *name = heap_types_string(types, type->name);
		char full[256];

		if (!*name)
			continue;
		heap_types_format(types, (heap_type_id)(completion.next - 1), full, sizeof(full));

		char *found = match(full, text);

		if (!found)
			found = match(name, text);
		if (found)
			return found;
	}
	return NULL;
}

static char *next_variable(const char *text, int state)
{
	const struct heap_snapshot *snapshot = completion.session->snapshot;

	if (state == 0)
		completion.next = 0;
	while (completion.next < snapshot->root_count) {
		const struct heap_root *root = &snapshot->roots[completion.next++];
		char *found = root->kind <= HEAP_ROOT_LOCAL
				      ? match(heap_snapshot_string(snapshot, root->name), text)
				      : NULL;

		if (found)
			return found;
	}
	return NULL;
}

// Functions of sites, and behind them those of all calls on the way to one.
static char *next_place(const char *text, int state, bool with_calls)
{
	const struct heap_snapshot *snapshot = completion.session->snapshot;
	size_t sites = snapshot->site_count, end = sites + (with_calls ? snapshot->call_count : 0);

	if (state == 0)
		completion.next = 0;
	while (completion.next < end) {
		size_t at = completion.next++;
		uint32_t function = at < sites ? snapshot->sites[at].function
					       : snapshot->calls[at - sites].function;
		char *found = match(heap_snapshot_string(snapshot, function), text);

		if (found && *found)
			return found;
		free(found);
	}
	return NULL;
}

static char *next_site(const char *text, int state)
{
	return next_place(text, state, false);
}

static char *next_frame(const char *text, int state)
{
	return next_place(text, state, true);
}

// The word before the one that is being completed, malloc'd.
static char *previous_word(int start)
{
	int end = start;

	while (end > 0 && strchr(" \t'\"", rl_line_buffer[end - 1]))
		end--;

	int begin = end;

	while (begin > 0 && !strchr(" \t'\"", rl_line_buffer[begin - 1]))
		begin--;
	return strndup(rl_line_buffer + begin, (size_t)(end - begin));
}

static bool begins_type(const char *word)
{
	return strcmp(word, "type") == 0 || strcmp(word, "struct") == 0 ||
	       strcmp(word, "union") == 0 || strcmp(word, "class") == 0 ||
	       strcmp(word, "enum") == 0;
}

static rl_compentry_func_t *choose(const char *text, const char *previous)
{
	if (text[0] == '-')
		return next_option;
	if ((completion.words & (WORDS_FILTER | WORDS_TYPE)) && begins_type(previous))
		return next_type;
	if ((completion.words & WORDS_FILTER) && strcmp(previous, "site") == 0)
		return next_site;
	if ((completion.words & WORDS_FILTER) && strcmp(previous, "frame") == 0)
		return next_frame;
	if ((completion.words & WORDS_FILTER) && strcmp(previous, "evidence") == 0)
		return next_evidence;
	if ((completion.words & WORDS_FILTER) &&
	    (strcmp(previous, "points-to") == 0 || strcmp(previous, "pointed-by") == 0 ||
	     strcmp(previous, "under") == 0))
		return next_variable;
	if (completion.words & WORDS_FILTER)
		return next_filter;
	if (completion.words & WORDS_TYPE)
		return next_type;
	if (completion.words & WORDS_COMMAND)
		return next_command;
	if (completion.words & WORDS_OBJECT)
		return next_variable;
	return NULL;
}

static char **complete(const char *text, int start, int end)
{
	char name[64] = "";
	char *previous;
	rl_compentry_func_t *generator;

	(void)end;
	rl_attempted_completion_over = 1; // file names are never meant
	if (strspn(rl_line_buffer, " \t") == (size_t)start)
		return rl_completion_matches(text, next_command);
	sscanf(rl_line_buffer, " %63s", name);
	completion.command = command_find(name);
	if (!completion.command)
		return NULL;
	completion.words = completion.command->words;
	previous = previous_word(start);
	generator = previous ? choose(text, previous) : NULL;
	free(previous);
	return generator ? rl_completion_matches(text, generator) : NULL;
}

// --- the loop ----------------------------------------------------------------

static void interrupt(int number)
{
	(void)number;
	session_interrupted = 1;
}

// While a line is being typed ^C gives a new prompt.
static int look_at_interrupt(void)
{
	if (session_interrupted) {
		session_interrupted = 0;
		rl_free_line_state();
		rl_callback_sigcleanup();
		rl_crlf();
		rl_replace_line("", 1);
		rl_on_new_line();
		rl_redisplay();
	}
	return 0;
}

int interactive_run(struct session *session)
{
	char *path = history_path();
	char *line;
	struct sigaction action = { .sa_handler = interrupt };

	completion.session = session;
	rl_readline_name = "heapsh";
	rl_attempted_completion_function = complete;
	rl_completer_quote_characters = "'\"";
	rl_catch_signals = 0;
	rl_signal_event_hook = look_at_interrupt;
	sigaction(SIGINT, &action, NULL);
	using_history();
	stifle_history(MAX_HISTORY);
	if (path)
		read_history(path);
	while (!session->quit && (line = readline("heapsh> "))) {
		if (line[strspn(line, " \t")]) {
			add_history(line);
			command_run_line(session, line);
		}
		free(line);
	}
	if (!session->quit)
		putchar('\n');
	if (path)
		write_history(path);
	free(path);
	return 0;
}
