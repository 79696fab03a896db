// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/words/grammar.h"

#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "lib/query/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- options of a synopsis ---------------------------------------------------------

const char *grammar_next(const char *at, struct grammar_option *option)
{
	while (*at && (*at != '-' || !at[1] || at[1] == ' '))
		at++;
	if (!*at)
		return NULL;
	option->name = at;
	option->length = strcspn(at, " ]|");
	at += option->length;
	option->argument = "";
	option->argument_length = 0;
	option->is_optional = at[0] == ' ' && at[1] == '[' && at[2] != '-';
	if (at[0] == ' ' && (at[1] != '[' || option->is_optional) && at[1] != '|') {
		option->argument = at + 1 + option->is_optional;
		option->argument_length = strcspn(option->argument, " ]");
		at = option->argument + option->argument_length;
	}
	return at;
}

bool grammar_find(const char *synopsis, const char *word, struct grammar_option *option)
{
	size_t length = strcspn(word, "=");
	bool found = false;

	for (const char *at = synopsis; !found && (at = grammar_next(at, option));)
		found = option->length == length && strncmp(option->name, word, length) == 0;
	// "-o|--output FILE": what follows the second name follows the first.
	if (found && option->name[length] == '|')
		return grammar_next(option->name + length, option);
	return found;
}

// --- checks --------------------------------------------------------------------------

// Options that every command has (see command_run()), or all that filters have.
static bool is_common(const char *synopsis, const char *word)
{
	return strcmp(word, "--json") == 0 || strcmp(word, "--each") == 0 ||
	       (strstr(synopsis, "FILTER...") && heap_filter_is_option(word));
}

HEAP_MAKES_ERROR
static struct heap_error *no_option(const char *name, const char *synopsis, const char *word)
{
	struct grammar_option option;
	struct heap_nearest nearest;
	char list[512] = "";
	size_t length = 0;

	heap_nearest_init(&nearest, word);
	for (const char *at = synopsis; (at = grammar_next(at, &option));) {
		char text[64];

		snprintf(text, sizeof(text), "%.*s", (int)option.length, option.name);
		heap_nearest_offer(&nearest, text);
		if (length < sizeof(list))
			length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
						   length ? ", " : "; it has ", text);
	}
	heap_nearest_offer(&nearest, "--json");

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: %s has no such option%s", word, name,
				 hint && *hint ? hint : list);
}

// "type, site or age" of "type|site|age".
static void list_choices(const struct grammar_option *option, char *list, size_t room)
{
	const char *at = option->argument, *end = at + option->argument_length;
	size_t used = 0;

	*list = '\0';
	while (at < end && used < room) {
		const char *bar = memchr(at, '|', (size_t)(end - at));
		const char *stop = bar ? bar : end;
		const char *separator = at == option->argument ? "" : bar ? ", " : " or ";

		used += (size_t)snprintf(list + used, room - used, "%s%.*s", separator,
					 (int)(stop - at), at);
		at = stop + 1;
	}
}

HEAP_MUST_CHECK
static struct heap_error *check_choice(const struct grammar_option *option, const char *value)
{
	const char *at = option->argument, *end = at + option->argument_length;
	struct heap_nearest nearest;
	char list[256];

	heap_nearest_init(&nearest, value);
	while (at < end) {
		const char *bar = memchr(at, '|', (size_t)(end - at));
		char choice[64];

		snprintf(choice, sizeof(choice), "%.*s", (int)((bar ? bar : end) - at), at);
		if (strcmp(choice, value) == 0) {
			free(heap_nearest_hint(&nearest));
			return NULL;
		}
		heap_nearest_offer(&nearest, choice);
		at = bar ? bar + 1 : end;
	}
	list_choices(option, list, sizeof(list));

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	return heap_error_create(HEAP_ERROR_ARGUMENT, "%.*s %s: not %s%s", (int)option->length,
				 option->name, value, list, hint ? hint : "");
}

bool grammar_parse_number(const char *text, uint64_t *result)
{
	char *end;

	errno = 0;

	uint64_t value = strtoull(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || errno)
		return false;
	*result = value;
	return true;
}

static bool argument_is(const struct grammar_option *option, const char *name)
{
	return option->argument_length == strlen(name) &&
	       strncmp(option->argument, name, option->argument_length) == 0;
}

HEAP_MUST_CHECK
static struct heap_error *check_value(const struct grammar_option *option, const char *value)
{
	uint64_t number;

	if ((argument_is(option, "N") || argument_is(option, "TID")) &&
	    !grammar_parse_number(value, &number))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%.*s %s: not a number",
					 (int)option->length, option->name, value);
	if (argument_is(option, "SIZE") && !heap_parse_size(value, &number))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%.*s %s: not a size such as 64, 4K or 1M",
					 (int)option->length, option->name, value);
	if (memchr(option->argument, '|', option->argument_length) &&
	    islower((unsigned char)*option->argument))
		return check_choice(option, value);
	return NULL;
}

// Checks one option. @param used  gets how many words it takes
HEAP_MUST_CHECK
static struct heap_error *check_option(const char *name, const char *synopsis, int argc,
				       char **argv, int *used)
{
	struct grammar_option option;
	const char *equals = strchr(argv[0], '=');

	*used = 1;
	if (!grammar_find(synopsis, argv[0], &option))
		return is_common(synopsis, argv[0]) ? NULL : no_option(name, synopsis, argv[0]);

	bool is_number = argument_is(&option, "N") || argument_is(&option, "TID");

	if (option.argument_length == 0)
		return equals ? heap_error_create(HEAP_ERROR_ARGUMENT,
						  "%s: nothing may follow %.*s", argv[0],
						  (int)option.length, option.name)
			      : NULL;
	if (equals)
		return check_value(&option, equals + 1);
	// The word that follows may be the first operand: the command knows.
	if (option.is_optional)
		return NULL;
	if (argc == 1)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: %.*s must follow it", argv[0],
					 is_number ? 8 : (int)option.argument_length,
					 is_number ? "a number" : option.argument);
	*used = 2;
	return check_value(&option, argv[1]);
}

// How many operands a synopsis has at most; INT32_MAX where it does not tell.
static int count_operands(const char *synopsis)
{
	int count = 0;

	if (strstr(synopsis, "...") || strstr(synopsis, "[["))
		return INT32_MAX;
	for (const char *at = synopsis; *at;) {
		struct grammar_option option;

		at += strspn(at, " []|");
		if (*at == '-') {
			at = grammar_next(at, &option);
			continue;
		}
		count += *at != '\0';
		at += strcspn(at, " ]");
	}
	return count;
}

// Words of other commands, and texts, are none of ours.
static bool ends_options(const char *synopsis)
{
	return strstr(synopsis, "FILTER...") || strstr(synopsis, "COMMAND");
}

HEAP_MAKES_ERROR
static struct heap_error *one_too_many(const char *name, const char *synopsis, const char *word)
{
	struct grammar_option option;
	char as_option[64];

	snprintf(as_option, sizeof(as_option), "--%s", word);
	if (grammar_find(synopsis, as_option, &option))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s is one word too many; did you mean --%s?", word, word);
	return heap_error_create(HEAP_ERROR_ARGUMENT, "%s is one word too many; usage: %s%s%s",
				 word, name, *synopsis ? " " : "", synopsis);
}

struct heap_error *grammar_check(const char *name, const char *synopsis, int argc, char **argv)
{
	int operands = 0, most = count_operands(synopsis);

	for (int i = 1; i < argc;) {
		int used = 1;

		if (argv[i][0] == '-' &&
		    (argv[i][1] == '-' || isalpha((unsigned char)argv[i][1]))) {
			struct heap_error *error =
				check_option(name, synopsis, argc - i, argv + i, &used);

			if (error)
				return error;
		} else if (ends_options(synopsis)) {
			return NULL;
		} else if (++operands > most) {
			return one_too_many(name, synopsis, argv[i]);
		}
		i += used;
	}
	return NULL;
}

// --- taking them off -------------------------------------------------------------------

static void remove_arguments(int *argc, char **argv, int at, int count)
{
	for (int i = at; i + count <= *argc; i++)
		argv[i] = argv[i + count];
	*argc -= count;
}

int command_option(int *argc, char **argv, const char *option, const char **argument)
{
	size_t length = strlen(option);

	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], option) == 0) {
			if (argument && i + 1 == *argc)
				return -1;
			if (argument)
				*argument = argv[i + 1];
			remove_arguments(argc, argv, i, argument ? 2 : 1);
			return 1;
		}
		if (argument && strncmp(argv[i], option, length) == 0 && argv[i][length] == '=') {
			*argument = argv[i] + length + 1;
			remove_arguments(argc, argv, i, 1);
			return 1;
		}
	}
	return 0;
}

bool command_number(int *argc, char **argv, const char *option, uint64_t *number)
{
	const char *text;
	int found = command_option(argc, argv, option, &text);

	if (found <= 0)
		return found == 0;
	return grammar_parse_number(text, number);
}

bool command_limit(int *argc, char **argv, uint64_t *limit)
{
	if (command_option(argc, argv, "--all", NULL) > 0)
		*limit = UINT64_MAX;
	return command_number(argc, argv, "--limit", limit);
}
