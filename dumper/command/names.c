// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/names.h"

#include "lib/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DIGITS = 256, // in an expanded pattern: one digit or more
};

// --- patterns ----------------------------------------------------------------

// A pattern with its letters replaced.
struct expansion {
	uint16_t parts[2 * PATH_MAX]; // a byte, or DIGITS
	size_t count;
};

static void append(struct expansion *expansion, const char *text, size_t length)
{
	size_t room = sizeof(expansion->parts) / sizeof(expansion->parts[0]) - expansion->count;

	for (size_t i = 0; i < length && i < room; i++)
		expansion->parts[expansion->count++] = (unsigned char)text[i];
}

static void append_text(struct expansion *expansion, const char *text)
{
	append(expansion, text, strlen(text));
}

static void append_digits(struct expansion *expansion)
{
	append(expansion, "0", 1);
	expansion->parts[expansion->count - 1] = DIGITS;
}

static void expand(const char *pattern, const struct name_words *words, struct expansion *result)
{
	char number[16];

	result->count = 0;
	for (const char *at = pattern; *at; at++) {
		if (*at != '%' || at[1] == '\0') {
			append(result, at, 1);
			continue;
		}
		switch (*++at) {
		case 'e':
			append_text(result, words->program);
			break;
		case 'h':
			append_text(result, words->host);
			break;
		case 'p':
			snprintf(number, sizeof(number), "%d", words->pid);
			append_text(result, number);
			break;
		case 't':
		case 'N':
			append_digits(result);
			break;
		case '%':
			append(result, at, 1);
			break;
		default: // stands for itself
			append(result, at - 1, 2);
		}
	}
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

// All ways of matching at once: reached[i] says that the parts before i can make up the bytes of
// the name so far.
static bool fits(const struct expansion *pattern, const char *name)
{
	CLEANUP_FREE bool *reached = calloc(pattern->count + 1, sizeof(*reached));

	if (!reached)
		return false;
	reached[0] = true;
	for (; *name; name++) {
		for (size_t i = pattern->count; i > 0; i--) {
			uint16_t part = pattern->parts[i - 1];

			if (part == DIGITS)
				reached[i] = is_digit(*name) && (reached[i] || reached[i - 1]);
			else
				reached[i] = reached[i - 1] && part == (unsigned char)*name;
		}
		reached[0] = false;
	}
	return reached[pattern->count];
}

bool name_fits(const char *pattern, const struct name_words *words, const char *name)
{
	struct expansion expansion;

	expand(pattern, words, &expansion);
	return fits(&expansion, name);
}

// --- the directory -----------------------------------------------------------

static void end_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

// The names that fit, one after the other, until the function returns false.
static void each_name(const struct names *names, bool (*function)(void *context, const char *name),
		      void *context)
{
	int descriptor = openat(names->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(end_directory) DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
	struct expansion expansion;
	struct dirent *entry;

	expand(names->last, &names->words, &expansion);
	while (directory && (entry = readdir(directory))) {
		if (fits(&expansion, entry->d_name) && !function(context, entry->d_name))
			return;
	}
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

struct gathering {
	struct names *names;
	size_t room;
	bool is_out_of_memory;
};

static bool gather(void *context, const char *name)
{
	struct gathering *gathering = context;
	struct names *names = gathering->names;

	if (names->before_count == gathering->room) {
		size_t room = gathering->room * 2 + 64;
		char **larger = reallocarray(names->before, room, sizeof(*larger));

		if (!larger) {
			gathering->is_out_of_memory = true;
			return false;
		}
		names->before = larger;
		gathering->room = room;
	}
	names->before[names->before_count] = strdup(name);
	if (!names->before[names->before_count]) {
		gathering->is_out_of_memory = true;
		return false;
	}
	names->before_count++;
	return true;
}

// Opens the directory as the process sees it. It has none such where the pattern counts or tells
// the time there.
HEAP_MUST_CHECK
static struct heap_error *open_directory(struct names *names, int root)
{
	struct expansion expansion;
	CLEANUP_FREE char *path = NULL;

	names->folder = strndup(names->pattern, (size_t)(names->last - names->pattern));
	if (!names->folder)
		return heap_error_out_of_memory();
	expand(names->folder, &names->words, &expansion);
	free(names->folder);
	names->folder = calloc(expansion.count + 1, 1);
	if (!names->folder)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < expansion.count; i++)
		names->folder[i] = (char)expansion.parts[i];
	if (asprintf(&path, "root/%s", names->folder) < 0) {
		path = NULL;
		return heap_error_out_of_memory();
	}
	names->directory = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return NULL;
}

struct heap_error *names_init(struct names *names, int root, const char *pattern,
			      const struct name_words *words)
{
	struct gathering gathering = { .names = names };
	struct heap_error *error;

	memset(names, 0, sizeof(*names));
	names->directory = -1;
	names->words = *words;
	names->pattern = strdup(pattern);
	if (!names->pattern)
		return heap_error_out_of_memory();
	names->last = strrchr(names->pattern, '/') + 1;
	error = open_directory(names, root);
	if (error || names->directory < 0)
		return error;
	each_name(names, gather, &gathering);
	if (gathering.is_out_of_memory)
		return heap_error_out_of_memory();
	if (names->before_count > 0)
		qsort(names->before, names->before_count, sizeof(*names->before), compare_names);
	return NULL;
}

void names_deinit(struct names *names)
{
	for (size_t i = 0; i < names->before_count; i++)
		free(names->before[i]);
	free(names->before);
	free(names->folder);
	free(names->pattern);
	if (names->directory >= 0)
		close(names->directory);
}

struct search {
	const struct names *names;
	char *first; // malloc'd: of the new names the first in order
};

static bool note_new(void *context, const char *name)
{
	struct search *search = context;
	const struct names *names = search->names;

	if ((!search->first || strcmp(name, search->first) < 0) &&
	    !(names->before_count > 0 && bsearch(&name, names->before, names->before_count,
						 sizeof(*names->before), compare_names))) {
		free(search->first);
		search->first = strdup(name);
	}
	return true;
}

struct heap_error *names_find_new(const struct names *names, char **path)
{
	struct search search = { .names = names };

	*path = NULL;
	if (names->directory < 0)
		return NULL;
	each_name(names, note_new, &search);

	CLEANUP_FREE char *first = search.first;

	if (first && asprintf(path, "%s%s", names->folder, first) < 0) {
		*path = NULL;
		return heap_error_out_of_memory();
	}
	return NULL;
}
