// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/alias.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_NESTING = 16, // of aliases that begin with others
};

void aliases_deinit(struct aliases *aliases)
{
	for (size_t i = 0; i < aliases->count; i++) {
		free(aliases->aliases[i].name);
		free(aliases->aliases[i].text);
	}
	free(aliases->aliases);
	*aliases = (struct aliases){ 0 };
}

static bool is_name(const char *text)
{
	if (!isalpha((unsigned char)*text))
		return false;
	while (isalnum((unsigned char)*text) || *text == '-' || *text == '_')
		text++;
	return *text == '\0';
}

const struct alias *aliases_find(const struct aliases *aliases, const char *name, size_t length)
{
	for (size_t i = 0; i < aliases->count; i++) {
		const char *other = aliases->aliases[i].name;

		if (strncmp(other, name, length) == 0 && other[length] == '\0')
			return &aliases->aliases[i];
	}
	return NULL;
}

// Inserts an alias by its name, for which there is room. Takes over both strings.
static void insert(struct aliases *aliases, char *name, char *text)
{
	struct alias *list = aliases->aliases;
	size_t at = 0;

	while (at < aliases->count && strcmp(list[at].name, name) < 0)
		at++;
	memmove(list + at + 1, list + at, (aliases->count - at) * sizeof(*list));
	list[at] = (struct alias){ name, text };
	aliases->count++;
}

struct heap_error *aliases_set(struct aliases *aliases, const char *name, const char *text)
{
	CLEANUP_FREE char *name_copy = strdup(name), *text_copy = strdup(text);

	if (!is_name(name))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: names are of letters, digits, - and _", name);
	if (!name_copy || !text_copy)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_reserve(aliases->aliases, aliases->capacity, aliases->count + 1));
	aliases_remove(aliases, name);
	insert(aliases, keep(name_copy), keep(text_copy));
	return NULL;
}

bool aliases_remove(struct aliases *aliases, const char *name)
{
	const struct alias *found = aliases_find(aliases, name, strlen(name));
	size_t at;

	if (!found)
		return false;
	at = (size_t)(found - aliases->aliases);
	free(aliases->aliases[at].name);
	free(aliases->aliases[at].text);
	aliases->count--;
	memmove(aliases->aliases + at, aliases->aliases + at + 1,
		(aliases->count - at) * sizeof(*aliases->aliases));
	return true;
}

char *aliases_expand(const struct aliases *aliases, const char *line)
{
	const struct alias *seen[MAX_NESTING];
	char *text = strdup(line + strspn(line, " \t\n"));

	for (size_t depth = 0; text && depth < MAX_NESTING; depth++) {
		size_t length = strcspn(text, " \t\n|>'\"\\");
		const struct alias *alias = aliases_find(aliases, text, length);
		char *expanded;

		for (size_t i = 0; alias && i < depth; i++) {
			if (seen[i] == alias)
				return text;
		}
		if (!alias || length == 0)
			break;
		seen[depth] = alias;
		if (asprintf(&expanded, "%s%s", alias->text, text + length) < 0)
			expanded = NULL;
		free(text);
		text = expanded;
	}
	return text;
}
