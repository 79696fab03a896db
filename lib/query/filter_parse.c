// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Parses filters: the words of a command to terms.
 */
#include "lib/query/filter_state.h"

#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "lib/query/field_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// True for words that begin a type's name, but do not end it.
static bool is_keyword(const char *word)
{
	static const char *const keywords[] = { "struct",   "union",  "class", "enum",
						"unsigned", "signed", "const", "volatile" };

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strcmp(keywords[i], word) == 0)
			return true;
	}
	return false;
}

// True for words that continue a type's name: *, [12] and (make_shared).
static bool continues_type(const char *word)
{
	if (strcmp(word, &HEAP_TYPES_SHARED_SUFFIX[1]) == 0) // behind its space
		return true;
	return (*word == '*' || *word == '[') && strspn(word, "*[]0123456789") == strlen(word);
}

// Characters of the operators between a member and its value.
#define OPERATORS "=<>!"

static bool ends_in_operator(const char *argument)
{
	return *argument && strchr(OPERATORS, argument[strlen(argument) - 1]);
}

// size>1K is size >1K.
static bool ends_name(const struct heap_term_kind_description *kind, const char *rest)
{
	return !*rest || (kind->words == HEAP_WORDS_COMPARISON && strchr("<>=", *rest));
}

/*
 * Takes the argument that follows a filter's name; malloc'd. It is one word, except that an operator
 * may be separate from its number (size > 1K) or its member (field refs > 1), and a type may have
 * several words (type struct date), so that they need no quotes.
 */
HEAP_MUST_CHECK
static struct heap_error *take_argument(const struct heap_term_kind_description *kind,
					const char *rest, int count, char *const *words, int *at,
					char **result)
{
	size_t room = strlen(rest) + 1;

	for (int i = *at; i < count; i++)
		room += strlen(words[i]) + 1;

	CLEANUP_FREE char *argument = malloc(room);

	if (!argument)
		return heap_error_out_of_memory();
	strcpy(argument, rest);
	if (!*rest) {
		if (*at == count)
			return heap_error_create(HEAP_ERROR_ARGUMENT,
						 "filter %s: what follows it is missing",
						 kind->name);
		strcpy(argument, words[(*at)++]);
	}
	if (kind->words == HEAP_WORDS_TYPE) {
		while (*at < count && (is_keyword(words[*at - 1]) || continues_type(words[*at]))) {
			strcat(argument, *words[*at] == '[' ? "" : " ");
			strcat(argument, words[(*at)++]);
		}
	} else if (kind->words == HEAP_WORDS_COMPARISON && *argument &&
		   strspn(argument, "<>=") == strlen(argument) && *at < count) {
		strcat(argument, words[(*at)++]);
	} else if (kind->words == HEAP_WORDS_FIELD) {
		if (!strpbrk(argument, OPERATORS) && *at < count && strspn(words[*at], OPERATORS))
			strcat(argument, words[(*at)++]);
		if (ends_in_operator(argument) && *at < count)
			strcat(argument, words[(*at)++]);
	}
	*result = keep(argument);
	return NULL;
}

static bool take_text_option(const char *word, struct heap_text_options *options)
{
	if (strcmp(word, "--regex") == 0)
		options->regex = true;
	else if (strcmp(word, "--exact") == 0)
		options->exact = true;
	else if (strcmp(word, "-i") == 0 || strcmp(word, "--ignore-case") == 0)
		options->ignore_case = true;
	else
		return false;
	return true;
}

bool heap_filter_is_option(const char *word)
{
	struct heap_text_options options;

	return take_text_option(word, &options);
}

bool heap_filter_is_name(const char *word)
{
	if (strcmp(word, "not") == 0)
		return true;
	for (size_t i = 0; i < heap_term_kind_count; i++) {
		size_t length = strlen(heap_term_kinds[i].name);

		if (strncmp(heap_term_kinds[i].name, word, length) == 0 &&
		    ends_name(&heap_term_kinds[i], word + length))
			return true;
	}
	return false;
}

// Takes the options in front of a text, if a word for the text is left.
static void take_text_options(int count, char *const *words, int *at,
			      struct heap_text_options *options)
{
	while (*at + 1 < count && take_text_option(words[*at], options))
		(*at)++;
	if (*at + 1 < count && strcmp(words[*at], "--") == 0)
		(*at)++;
}

// True for a filter with what follows it in one word, as in quotes.
static bool is_quoted_whole(const char *word)
{
	CLEANUP_FREE char *name = strndup(word, strcspn(word, " "));

	return strchr(word, ' ') && name && heap_filter_is_name(name);
}

HEAP_MAKES_ERROR
static struct heap_error *no_filter(const struct heap_types *types, const char *name)
{
	if (heap_types_find(types, name, HEAP_NO_TYPE) != HEAP_NO_TYPE)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: no such filter; did you mean type %s?", name, name);

	if (is_quoted_whole(name))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: no such filter; did you mean it without the quotes?",
					 name);

	struct heap_nearest nearest;

	heap_nearest_init(&nearest, name);
	for (size_t i = 0; i < heap_term_kind_count; i++)
		heap_nearest_offer(&nearest, heap_term_kinds[i].name);

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	if (hint && *hint)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: no such filter%s", name, hint);

	char list[512] = "";
	size_t length = 0;

	for (size_t i = 0; i < heap_term_kind_count && length < sizeof(list); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s, ",
					   heap_term_kinds[i].name);
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%s: no such filter; there are %sgone, not, or", name, list);
}

// Parses one term. @param at  index of its first word; set past its last
HEAP_MUST_CHECK
static struct heap_error *parse_term(const struct heap_filter_parsing *common, int count,
				     char *const *words, int *at, struct heap_term *term)
{
	struct heap_filter_parsing own = *common, *parsing = &own;
	const char *name = words[(*at)++];

	for (size_t i = 0; i < heap_term_kind_count; i++) {
		size_t length = strlen(heap_term_kinds[i].name);
		CLEANUP_FREE char *argument = NULL;

		if (strncmp(heap_term_kinds[i].name, name, length) != 0 ||
		    !ends_name(&heap_term_kinds[i], name + length))
			continue;
		if (heap_term_kinds[i].words == HEAP_WORDS_NONE)
			return heap_term_kinds[i].parse(parsing, NULL, term);
		if (heap_term_kinds[i].words == HEAP_WORDS_TEXT ||
		    heap_term_kinds[i].words == HEAP_WORDS_FIELD)
			take_text_options(count, words, at, &parsing->text);

		HEAP_TRY(take_argument(&heap_term_kinds[i], name + length, count, words, at,
				       &argument));
		return heap_term_kinds[i].parse(parsing, argument, term);
	}
	return no_filter(&parsing->snapshot->types, name);
}

HEAP_MUST_CHECK
static struct heap_error *parse_terms(struct heap_filter_parsing *parsing, int count,
				      char *const *words, struct heap_filter *filter)
{
	bool begins_group = true;

	for (int at = 0; at < count;) {
		struct heap_term *term = &filter->terms[filter->count];

		if (take_text_option(words[at], &parsing->text)) {
			at++;
			continue;
		}
		if (strcmp(words[at], "or") == 0) {
			if (begins_group)
				return heap_error_create(HEAP_ERROR_ARGUMENT,
							 "or: it stands between two filters");
			begins_group = true;
			at++;
			continue;
		}
		filter->count++;
		term->begins_group = begins_group;
		begins_group = false;
		while (at < count && strcmp(words[at], "not") == 0) {
			term->negated = !term->negated;
			at++;
		}
		if (at == count)
			return heap_error_create(HEAP_ERROR_ARGUMENT,
						 "not: a filter must follow it");
		HEAP_TRY(parse_term(parsing, count, words, &at, term));
	}
	if (begins_group && count > 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "or: a filter must follow it");
	return NULL;
}

// The fields are those of the types that the same group asks for.
static void check_fields(const struct heap_filter_parsing *parsing, struct heap_filter *filter)
{
	const uint8_t *types = NULL;

	for (size_t i = 0; i < filter->count && !filter->absent; i++) {
		const struct heap_term *term = &filter->terms[i];

		if (term->begins_group)
			types = NULL;
		for (size_t j = i; term->begins_group && j < filter->count; j++) {
			if (j > i && filter->terms[j].begins_group)
				break;
			if (filter->terms[j].kind == HEAP_TERM_TYPE && !filter->terms[j].negated)
				types = filter->terms[j].set;
		}
		if (term->kind != HEAP_TERM_FIELD)
			continue;

		struct heap_error *error = heap_field_test_absent(term->field, types);

		if (error) {
			heap_filter_note_absent(parsing, error);
			filter->lacks_field = true;
		}
	}
}

struct heap_error *heap_filter_parse(struct heap_snapshot *snapshot, int count, char *const *words,
				     const struct heap_filter_host *host,
				     struct heap_filter **result)
{
	struct heap_filter_parsing parsing = {
		.snapshot = snapshot,
		.host = host,
	};
	struct heap_filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return heap_error_out_of_memory();
	filter->snapshot = snapshot;
	filter->terms = calloc((size_t)count + 1, sizeof(*filter->terms));

	parsing.absent = &filter->absent;

	struct heap_error *error = filter->terms ? parse_terms(&parsing, count, words, filter)
						 : heap_error_out_of_memory();

	if (!error)
		check_fields(&parsing, filter);

	if (error) {
		heap_filter_destroy(filter);
		return error;
	}
	*result = filter;
	return NULL;
}
