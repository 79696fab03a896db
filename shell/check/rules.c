// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/check/rules.h"

#include "lib/query/comparison.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length > 0 && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}

// Takes a word off the end, with what separates it. @return false: it is not there
static bool take_last_word(char *text, const char *word)
{
	size_t length = strlen(text), size = strlen(word);

	if (length <= size || strcmp(text + length - size, word) != 0 ||
	    !isspace((unsigned char)text[length - size - 1]))
		return false;
	text[length - size] = '\0';
	trim(text);
	return true;
}

// "10", "10 objects", "64K", "12B", "12 bytes"; and then "per loop".
static bool parse_limit(char *text, struct rule *rule)
{
	size_t length;

	if (take_last_word(text, "loop")) {
		if (!take_last_word(text, "per"))
			return false;
		rule->per_loop = true;
	}
	if (take_last_word(text, "bytes")) {
		rule->of_bytes = true;
	} else if (!take_last_word(text, "objects")) {
		length = strlen(text);
		rule->of_bytes = strspn(text, "0123456789") != length;
		if (length > 1 && text[length - 1] == 'B')
			text[length - 1] = '\0';
	}
	return heap_parse_size(text, &rule->limit);
}

static bool take_first_word(char **text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*text, word, length) != 0 || !isspace((unsigned char)(*text)[length]))
		return false;
	*text = trim(*text + length);
	return true;
}

static bool parse_subject(char *text, struct rule *rule)
{
	if (strcmp(text, "total") == 0)
		rule->subject = RULE_TOTAL;
	else if (strcmp(text, "leaked") == 0)
		rule->subject = RULE_LEAKED;
	else if (take_first_word(&text, "site"))
		rule->subject = RULE_SITE;
	else
		take_first_word(&text, "type");
	if (!*text || (rule->subject == RULE_LEAKED && rule->per_loop))
		return false;
	rule->pattern = strdup(text);
	return true;
}

static void rule_deinit(struct rule *rule)
{
	free(rule->pattern);
	free(rule->text);
}

struct heap_error *rules_add(struct rules *rules, const char *text)
{
	CLEANUP_FREE char *copy = strdup(text);
	CLEANUP(rule_deinit) struct rule rule = { 0 };
	char *line, *comparison;

	if (!copy)
		return heap_error_out_of_memory();
	line = trim(copy);
	rule.text = strdup(line);
	comparison = strstr(line, "<=");
	if (comparison)
		*comparison = '\0';
	if (!comparison || !parse_limit(trim(comparison + 2), &rule) ||
	    !parse_subject(trim(line), &rule))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "'%s' is no rule; like 'struct node <= 0 per loop', "
					 "'site add* <= 10', 'leaked <= 0' or 'total <= 64M'",
					 text);
	if (!rule.text || !rule.pattern)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_array_append(rules, rule));
	rule = (struct rule){ 0 };
	return NULL;
}

struct heap_error *rules_read(struct rules *rules, const char *path)
{
	CLEANUP_FILE FILE *in = fopen(path, "re");
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;

	if (!in)
		return heap_error_create_system("%s", path);
	for (size_t number = 1; getline(&line, &capacity, in) >= 0; number++) {
		char *text = trim(line);
		struct heap_error *error = *text && *text != '#' ? rules_add(rules, text) : NULL;

		if (error)
			return heap_error_within(error, "%s, line %zu", path, number);
	}
	return ferror(in) ? heap_error_create_system("%s", path) : NULL;
}

void rules_deinit(struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		rule_deinit(&rules->items[i]);
	heap_array_deinit(rules);
}

bool rule_matches(const struct rule *rule, enum rule_subject subject, const char *name)
{
	const char *place;

	if (rule->subject != subject)
		return false;
	if (fnmatch(rule->pattern, name, 0) == 0)
		return true;
	if (subject != RULE_SITE)
		return false;

	// "session_new (server.c:88)": the function, or the place.
	size_t length = strcspn(name, " +");
	char function[1024], inside[1024];

	snprintf(function, sizeof(function), "%.*s", (int)length, name);
	place = strchr(name, '(');
	snprintf(inside, sizeof(inside), "%.*s", place ? (int)strcspn(place + 1, ",)") : 0,
		 place ? place + 1 : "");
	return fnmatch(rule->pattern, function, 0) == 0 || fnmatch(rule->pattern, inside, 0) == 0;
}
