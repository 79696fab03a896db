// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/complete.h"

#include "lib/snapshot/evidence.h"
#include "shell/command.h"
#include "shell/export/export.h"
#include "shell/series/series.h"
#include "shell/words/offers.h"

#include <ctype.h>
#include <readline/readline.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_WORDS = 64, // of a line; more are ignored
	MAX_TYPE = 256, // bytes of a type's name
};

static const char *const filter_words[] = {
	"type",      "untyped",    "under-typed", "conflict", "evidence", "tag",       "size",
	"site",      "frame",      "module",      "age",      "string",   "field",     "local",
	"points-to", "pointed-by", "under",       "retained", "leaked",   "reachable", "new",
	"gone",      "traced",     "allocated",   "not",      "or",       NULL,
};

static const char *const text_options[] = { "--regex", "--exact", "-i", NULL };

static const char *const common_options[] = { "--json", "--each", NULL };

// Readline's functions get no context.
static struct session *session;

// A line up to the word to complete.
struct context {
	const struct command *command;
	char *words[MAX_WORDS]; // malloc'd, without quotes; words[0] is the command
	size_t count;
	const char *previous; // the last of them; "" if there is none
	bool wants_file;
};

// --- commands ----------------------------------------------------------------------

static void offer_commands(struct offers *offers)
{
	size_t count;
	const struct command *const *all = command_all(&count);

	for (size_t i = 0; i < count; i++)
		offer(offers, all[i]->name);
	for (size_t i = 0; i < session->aliases.count; i++)
		offer(offers, session->aliases.aliases[i].name);
}

static void offer_aliases(struct offers *offers)
{
	for (size_t i = 0; i < session->aliases.count; i++)
		offer(offers, session->aliases.aliases[i].name);
}

static void offer_formats(struct offers *offers)
{
	for (size_t i = 0; i < export_format_count; i++)
		offer(offers, export_formats[i].name);
}

static void offer_snapshots(struct offers *offers)
{
	for (size_t i = 0; session->series && i < session->series->count; i++) {
		char number[32];

		snprintf(number, sizeof(number), "%zu", i);
		offer(offers, number);
	}
}

// --- options -----------------------------------------------------------------------

static void offer_options(struct offers *offers, const struct context *context)
{
	struct grammar_option option;

	for (const char *at = context->command->synopsis; (at = grammar_next(at, &option));) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)option.length, option.name);
		offer(offers, name);
	}
	if (context->command->words & WORDS_FILTER)
		offer_each(offers, text_options);
	offer_each(offers, common_options);
}

static bool is_argument(const struct grammar_option *option, const char *name)
{
	return option->argument_length == strlen(name) &&
	       strncmp(option->argument, name, strlen(name)) == 0;
}

// Offers what follows an option. @return false if the word before is none that wants something
static bool offer_argument(struct offers *offers, struct context *context)
{
	struct grammar_option option;

	if (context->previous[0] != '-' ||
	    !grammar_find(context->command->synopsis, context->previous, &option) ||
	    option.argument_length == 0 || option.is_optional)
		return false;
	if (is_argument(&option, "TID"))
		offer_threads(offers, session);
	else if (is_argument(&option, "TYPE.FIELD"))
		offer_types(offers, session);
	else if (is_argument(&option, "FILE"))
		context->wants_file = true;
	else if (islower((unsigned char)*option.argument))
		offer_alternatives(offers, option.argument, option.argument_length);
	return true;
}

// --- objects -----------------------------------------------------------------------

// A variable, an answer or an address; behind . and -> a member.
static void offer_objects(struct offers *offers, const char *whole)
{
	const char *dot = strrchr(whole, '.'), *arrow = NULL;
	const char *step = dot;
	char *path, *lead;
	size_t skipped = strlen(whole) - strlen(offers->begin);

	for (const char *at = whole; (at = strstr(at, "->")); at += 2)
		arrow = at;
	if (arrow && (!dot || arrow > dot))
		step = arrow;
	if (!step) {
		if (*whole == '$' || isdigit((unsigned char)*whole))
			offer_answers(offers, session);
		else
			offer_variables(offers, session);
		return;
	}

	const char *behind = step + (step == arrow ? 2 : 1);

	path = strndup(whole, (size_t)(step - whole));
	// Readline takes > for the end of a word.
	lead = (size_t)(behind - whole) >= skipped
		       ? strndup(whole + skipped, (size_t)(behind - whole) - skipped)
		       : NULL;
	if (path && lead) {
		offer_members(offers, session, path, lead);
		rl_completion_append_character = '\0';
	}
	free(path);
	free(lead);
}

// --- filters -----------------------------------------------------------------------

static void offer_evidence(struct offers *offers)
{
	for (int i = 0; i < HEAP_EVIDENCE_KINDS; i++)
		offer(offers, heap_evidence_name((enum heap_evidence)i));
}

static bool begins_type(const char *word)
{
	return strcmp(word, "type") == 0 || strcmp(word, "struct") == 0 ||
	       strcmp(word, "union") == 0 || strcmp(word, "class") == 0 ||
	       strcmp(word, "enum") == 0;
}

// The name behind the last `type`, with its keyword. @return false if there is none
static bool find_type(const struct context *context, char *name)
{
	for (size_t i = context->count; i-- > 1;) {
		if (strcmp(context->words[i], "type") != 0 || i + 1 == context->count)
			continue;
		if (begins_type(context->words[i + 1]) && i + 2 < context->count)
			snprintf(name, MAX_TYPE, "%s %s", context->words[i + 1],
				 context->words[i + 2]);
		else
			snprintf(name, MAX_TYPE, "%s", context->words[i + 1]);
		return true;
	}
	return false;
}

// "field NAME", or behind it "=VALUE".
static void offer_field(struct offers *offers, const struct context *context, const char *whole)
{
	char type[MAX_TYPE], name[MAX_TYPE];
	const char *known = find_type(context, type) ? type : NULL;
	size_t length = strcspn(whole, "=<>!");

	if (!whole[length]) {
		offer_fields(offers, session, known);
		rl_completion_append_character = '=';
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)length, whole);
	offer_values(offers, session, known, name);
}

// Offers what follows a filter's name. @return false if the word before is none that wants something
static bool offer_for_filter(struct offers *offers, const struct context *context,
			     const char *whole)
{
	const char *filter = context->previous;

	if (strcmp(filter, "site") == 0 || strcmp(filter, "frame") == 0)
		offer_places(offers, session, *filter == 'f');
	else if (strcmp(filter, "evidence") == 0)
		offer_evidence(offers);
	else if (strcmp(filter, "module") == 0)
		offer_modules(offers, session);
	else if (strcmp(filter, "local") == 0)
		offer_locals(offers, session);
	else if (strcmp(filter, "field") == 0)
		offer_field(offers, context, whole);
	else if (strcmp(filter, "points-to") == 0 || strcmp(filter, "pointed-by") == 0 ||
		 strcmp(filter, "under") == 0)
		offer_objects(offers, whole);
	else
		return false;
	return true;
}

// --- the word ----------------------------------------------------------------------

static bool names_object(const char *word)
{
	return strchr("$&0", word[0]) || strpbrk(word, ".[") || strstr(word, "->");
}

// @param whole  the word from the last blank on, where `begin` is from readline's last break on
static void offer_word(struct offers *offers, struct context *context, const char *whole)
{
	unsigned words = context->command->words;

	if (offer_argument(offers, context))
		return;
	if (whole[0] == '-')
		offer_options(offers, context);
	else if ((words & (WORDS_FILTER | WORDS_TYPE)) && begins_type(context->previous))
		offer_types(offers, session);
	else if ((words & WORDS_FILTER) && offer_for_filter(offers, context, whole))
		return;
	else if ((words & WORDS_OBJECT) && *whole && names_object(whole))
		offer_objects(offers, whole);
	else if (words & WORDS_FILTER)
		offer_each(offers, filter_words);
	// OBJ TYPE: the object first.
	else if ((words & WORDS_TYPE) && (!(words & WORDS_OBJECT) || context->count > 1))
		offer_types(offers, session);
	if ((words & WORDS_OBJECT) && !(words & WORDS_TYPE && context->count > 1) &&
	    !names_object(*whole ? whole : "x") && whole[0] != '-')
		offer_objects(offers, whole);
	if (words & WORDS_COMMAND)
		offer_commands(offers);
	if (words & WORDS_TOPIC)
		offer_each(offers, help_topics);
	if (words & WORDS_ALIAS)
		offer_aliases(offers);
	if (words & WORDS_SNAPSHOT)
		offer_snapshots(offers);
	if (words & WORDS_FORMAT && context->count == 1)
		offer_formats(offers);
}

// --- the line ----------------------------------------------------------------------

// Words up to `end`, without quotes: what is quoted is one.
static void split(struct context *context, const char *line, int end)
{
	for (int at = 0; at < end && context->count < MAX_WORDS;) {
		char quote = '\0', *word = calloc((size_t)(end - at) + 1, 1), *to = word;

		at += (int)strspn(line + at, " \t");
		if (!word || at >= end) {
			free(word);
			return;
		}
		for (; at < end && (quote || !strchr(" \t", line[at])); at++) {
			if (quote ? line[at] == quote : strchr("'\"", line[at]) != NULL)
				quote = quote ? '\0' : line[at];
			else
				*to++ = line[at];
		}
		if (at == end && to == word)
			free(word); // the quote that opens the word to be completed
		else
			context->words[context->count++] = word;
	}
}

static void deinit(struct context *context)
{
	for (size_t i = 0; i < context->count; i++)
		free(context->words[i]);
}

static void drop_first(struct context *context)
{
	free(context->words[0]);
	memmove(context->words, context->words + 1, --context->count * sizeof(context->words[0]));
}

// The command that a word belongs to: of an alias, or behind `time`.
static void resolve_command(struct context *context)
{
	while (context->count > 0) {
		const char *name = context->words[0];
		const struct alias *alias = aliases_find(&session->aliases, name, strlen(name));
		char first[64] = "";

		if (alias && sscanf(alias->text, " %63s", first) == 1)
			name = first;
		context->command = command_find(name);
		if (!context->command || strcmp(context->command->name, "time") != 0 ||
		    context->count == 1)
			return;
		drop_first(context);
	}
}

// True behind > and >>, also without a blank; not behind the arrow of "sessions->next".
static bool is_redirected(const char *line, int start)
{
	int at = start;

	while (at > 0 && strchr(" \t", line[at - 1]))
		at--;
	return at > 0 && line[at - 1] == '>' && !(at == start && at > 1 && line[at - 2] == '-');
}

// Where the word begins that readline has broken at = or >.
static int find_begin(const char *line, int start)
{
	while (start > 0 && !strchr(" \t'\"|", line[start - 1]))
		start--;
	return start;
}

static struct offers offers;

// Names come from the program's files, and the line may be run as soon as they stand in it.
static void quote_offers(void)
{
	for (size_t i = 0; i < offers.list.count; i++) {
		char *name = offers.list.items[i];

		offers.list.items[i] = command_quote(name, (char)rl_completion_quote_character);
		free(name);
	}
}

// Hands the offers over to readline, one at a time.
static char *next_offer(const char *text, int state)
{
	static size_t next;
	char *name;

	(void)text;
	if (state == 0)
		next = 0;
	while (next < offers.list.count && !offers.list.items[next])
		next++;
	if (next == offers.list.count)
		return NULL;
	name = offers.list.items[next];
	offers.list.items[next++] = NULL;
	return name;
}

static bool is_file(const struct context *context)
{
	unsigned words = context->command->words;

	return (words & WORDS_FILE) ||
	       ((words & WORDS_FORMAT) && context->count == 2 && export_find(context->previous));
}

static char **complete(const char *text, int start, int end)
{
	const char *line = rl_line_buffer;
	int begin = find_begin(line, start);
	struct context context = { .previous = "" };
	char **matches = NULL;
	char *whole = strndup(line + begin, (size_t)(end - begin));

	rl_attempted_completion_over = 1; // names of files are rarely meant
	if (!whole)
		return NULL;
	offers = (struct offers){ .begin = text };
	split(&context, line, begin);
	if (context.count > 0)
		context.previous = context.words[context.count - 1];
	resolve_command(&context);
	if (context.count == 0)
		offer_commands(&offers);
	else if (is_redirected(line, start))
		context.wants_file = true;
	else if (context.command) {
		offer_word(&offers, &context, whole);
		context.wants_file |= is_file(&context) && offers.list.count == 0;
	}
	quote_offers();
	if (context.wants_file)
		rl_attempted_completion_over = 0;
	else if (offers.list.count > 0)
		matches = rl_completion_matches(text, next_offer);
	offers_deinit(&offers);
	deinit(&context);
	free(whole);
	return matches;
}

void complete_begin(struct session *for_session)
{
	session = for_session;
	rl_attempted_completion_function = complete;
	rl_completer_quote_characters = "'\"";
	// As readline has it, but for $ and &, which names begin with.
	rl_completer_word_break_characters = " \t\n\"\\'`@><=;|{(";
}
