// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/complete.h"

#include "shell/command.h"
#include "shell/export/export.h"
#include "shell/base/format.h"

#include <readline/readline.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const filter_words[] = {
	"type",      "untyped",  "under-typed", "conflict",  "evidence", "size",      "site",
	"frame",     "module",   "age",         "string",    "field",    "points-to", "pointed-by",
	"under",     "retained", "leaked",      "reachable", "new",      "gone",      "traced",
	"allocated", "not",      "or",          NULL,
};

static const char *const evidence_words[] = { "none", "declared", "vtable", "pointer", "embedding",
					      "site", "vote",     "pool",   NULL };

// Readline's generators get no context: these are of the one completion that is under way.
static struct {
	struct session *session;
	const struct command *command;
	unsigned words;
	char *alternatives;  // of an option's argument, as its synopsis has them; or NULL
	bool is_second;      // of two lists, one behind the other
	size_t next;         // where the list that is being gone through goes on
	const char *options; // the same of a synopsis
} completion;

// Readline would write a name to the terminal as it is: one that needs escaping is not offered.
static bool is_harmless(const char *name)
{
	char *escaped = format_name(name);
	bool same = escaped && strcmp(escaped, name) == 0;

	free(escaped);
	return same;
}

static char *match(const char *name, const char *text)
{
	return strncmp(name, text, strlen(text)) == 0 && is_harmless(name) ? strdup(name) : NULL;
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

// Commands, and behind them aliases.
static char *next_command_name(const char *text, int state)
{
	size_t count;
	const struct command *const *all = command_all(&count);
	const struct aliases *aliases = &completion.session->aliases;

	if (state == 0)
		completion.next = 0;
	while (completion.next < count + aliases->count) {
		size_t at = completion.next++;
		char *found =
			match(at < count ? all[at]->name : aliases->aliases[at - count].name, text);

		if (found)
			return found;
	}
	return NULL;
}

static char *next_command_or_topic(const char *text, int state)
{
	char *found = NULL;

	if (state == 0)
		completion.is_second = false;
	if (!completion.is_second)
		found = next_command_name(text, state);
	if (found)
		return found;
	state = completion.is_second;
	completion.is_second = true;
	return next_word(help_topics, text, state);
}

static char *next_alias(const char *text, int state)
{
	const struct aliases *aliases = &completion.session->aliases;

	if (state == 0)
		completion.next = 0;
	while (completion.next < aliases->count) {
		char *found = match(aliases->aliases[completion.next++].name, text);

		if (found)
			return found;
	}
	return NULL;
}

// "type", "site", "size" of "type|site|size".
static char *next_alternative(const char *text, int state)
{
	if (state == 0)
		completion.next = 0;
	while (completion.alternatives[completion.next]) {
		const char *at = completion.alternatives + completion.next;
		size_t length = strcspn(at, "|");

		completion.next += length + (at[length] == '|');
		if (strlen(text) <= length && strncmp(at, text, strlen(text)) == 0)
			return strndup(at, length);
	}
	return NULL;
}

// $1, $2...
static char *next_answer(const char *text, int state)
{
	if (state == 0)
		completion.next = 0;
	while (completion.next < completion.session->answer_count) {
		char name[32];
		char *found;

		snprintf(name, sizeof(name), "$%zu", ++completion.next);
		found = match(name, text);
		if (found)
			return found;
	}
	return NULL;
}

// Options of the synopsis, and behind them those of all commands.
static char *next_option(const char *text, int state)
{
	static const char *const for_all[] = { "--json", "--each" };
	struct grammar_option option;

	if (state == 0) {
		completion.options = completion.command->synopsis;
		completion.next = 0;
	}
	while (completion.options) {
		char name[64];
		char *found;

		completion.options = grammar_next(completion.options, &option);
		if (!completion.options)
			break;
		snprintf(name, sizeof(name), "%.*s", (int)option.length, option.name);
		found = match(name, text);
		if (found)
			return found;
	}
	while (completion.next < sizeof(for_all) / sizeof(for_all[0])) {
		char *found = match(for_all[completion.next++], text);

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

// Variables, with & before them if that has been typed.
static char *next_variable(const char *text, int state)
{
	const struct heap_snapshot *snapshot = completion.session->snapshot;
	bool itself = text[0] == '&';

	if (state == 0)
		completion.next = 0;
	while (completion.next < snapshot->root_count) {
		const struct heap_root *root = &snapshot->roots[completion.next++];
		char *found =
			root->kind <= HEAP_ROOT_LOCAL
				? match(heap_snapshot_string(snapshot, root->name), text + itself)
				: NULL;
		char *with_sign = NULL;

		if (!found || !*found) {
			free(found);
			continue;
		}
		if (!itself)
			return found;
		if (asprintf(&with_sign, "&%s", found) < 0)
			with_sign = NULL;
		free(found);
		return with_sign;
	}
	return NULL;
}

// Of commands that take either.
static char *next_filter_or_variable(const char *text, int state)
{
	char *found = NULL;

	if (state == 0)
		completion.is_second = false;
	if (!completion.is_second)
		found = next_filter(text, state);
	if (found)
		return found;
	state = completion.is_second;
	completion.is_second = true;
	return next_variable(text, state);
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

static char *next_format(const char *text, int state)
{
	if (state == 0)
		completion.next = 0;
	while (completion.next < export_format_count) {
		char *found = match(export_formats[completion.next++].name, text);

		if (found)
			return found;
	}
	return NULL;
}

// Members of all types.
static char *next_field(const char *text, int state)
{
	const struct heap_types *types = &completion.session->snapshot->types;

	if (state == 0)
		completion.next = 0;
	while (completion.next < types->member_count) {
		const struct heap_member *member = &types->members[completion.next++];
		char *found = match(heap_types_string(types, member->name), text);

		if (found && *found) {
			rl_completion_append_character = '=';
			return found;
		}
		free(found);
	}
	return NULL;
}

static char *next_module(const char *text, int state)
{
	const struct heap_snapshot *snapshot = completion.session->snapshot;

	if (state == 0)
		completion.next = 0;
	while (completion.next < snapshot->module_count) {
		const struct heap_module *module = &snapshot->modules[completion.next++];
		const char *path = heap_snapshot_string(snapshot, module->path);
		const char *slash = strrchr(path, '/');
		char *found = match(slash ? slash + 1 : path, text);

		if (found)
			return found;
	}
	return NULL;
}

// The choices that a synopsis gives for an option: malloc'd "bytes|objects", or NULL.
static char *find_alternatives(const char *synopsis, const char *word)
{
	struct grammar_option option;

	if (!grammar_find(synopsis, word, &option) ||
	    !memchr(option.argument, '|', option.argument_length) ||
	    !islower((unsigned char)*option.argument))
		return NULL;
	return strndup(option.argument, option.argument_length);
}

// What may follow a filter's name.
static rl_compentry_func_t *choose_for_filter(const char *previous)
{
	static const struct {
		const char *filter;
		rl_compentry_func_t *generator;
	} generators[] = {
		{ "site", next_site },          { "frame", next_frame },
		{ "evidence", next_evidence },  { "module", next_module },
		{ "points-to", next_variable }, { "pointed-by", next_variable },
		{ "under", next_variable },     { "field", next_field },
	};

	for (size_t i = 0; i < sizeof(generators) / sizeof(generators[0]); i++) {
		if (strcmp(generators[i].filter, previous) == 0)
			return generators[i].generator;
	}
	return completion.words & WORDS_OBJECT ? next_filter_or_variable : next_filter;
}

static rl_compentry_func_t *choose(const char *text, const char *previous)
{
	unsigned words = completion.words;

	free(completion.alternatives);
	completion.alternatives =
		previous[0] == '-' ? find_alternatives(completion.command->synopsis, previous)
				   : NULL;
	if (completion.alternatives)
		return next_alternative;
	if (text[0] == '-')
		return next_option;
	if (text[0] == '$' && (words & (WORDS_OBJECT | WORDS_FILTER)))
		return next_answer;
	if ((words & (WORDS_FILTER | WORDS_TYPE)) && begins_type(previous))
		return next_type;
	if (words & WORDS_FILTER)
		return choose_for_filter(previous);
	if (words & WORDS_TYPE)
		return next_type;
	if (words & WORDS_TOPIC)
		return next_command_or_topic;
	if (words & WORDS_COMMAND)
		return next_command_name;
	if (words & WORDS_ALIAS)
		return next_alias;
	if (words & WORDS_FORMAT)
		return next_format;
	if (words & WORDS_OBJECT)
		return next_variable;
	return NULL;
}

// Where the command that a word belongs to begins: behind `time`.
static const struct command *command_of(const char *line)
{
	char name[64] = "";
	const struct command *command;

	sscanf(line, " %63s", name);
	command = command_find(name);
	if (command && strcmp(command->name, "time") == 0) {
		line += strspn(line, " \t");
		line += strcspn(line, " \t");
		if (sscanf(line, " %63s", name) == 1 && command_find(name))
			return command_find(name);
	}
	return command;
}

// Whether a file is meant: behind > and >>, also without a blank.
static bool is_redirected(int start)
{
	while (start > 0 && strchr(" \t", rl_line_buffer[start - 1]))
		start--;
	return start > 0 && rl_line_buffer[start - 1] == '>';
}

static char **complete(const char *text, int start, int end)
{
	const char *line = rl_line_buffer;
	struct alias const *alias;
	char *previous;
	rl_compentry_func_t *generator;

	(void)end;
	rl_attempted_completion_over = 1; // file names are rarely meant
	if (strspn(line, " \t") == (size_t)start)
		return rl_completion_matches(text, next_command_name);
	alias = aliases_find(&completion.session->aliases, line + strspn(line, " \t"),
			     strcspn(line + strspn(line, " \t"), " \t"));
	completion.command = command_of(alias ? alias->text : line);
	if (!completion.command)
		return NULL;
	completion.words = completion.command->words;
	if (is_redirected(start) || (completion.words & WORDS_FILE)) {
		rl_attempted_completion_over = 0;
		return NULL;
	}
	previous = previous_word(start);
	if (previous && (completion.words & WORDS_FORMAT) && export_find(previous)) {
		free(previous);
		rl_attempted_completion_over = 0;
		return NULL;
	}
	generator = previous ? choose(text, previous) : NULL;
	free(previous);
	return generator ? rl_completion_matches(text, generator) : NULL;
}

void complete_begin(struct session *session)
{
	completion.session = session;
	rl_attempted_completion_function = complete;
	rl_completer_quote_characters = "'\"";
	// As readline has it, but for $ and &, which names begin with.
	rl_completer_word_break_characters = " \t\n\"\\'`@><=;|{(";
}
