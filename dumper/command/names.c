// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/names.h"

#include "dumper/base/protocol.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DIGITS = 256,       // in an expanded pattern: one digit or more
	WORD_BITS = 64,     // of a set of states
	CLOCK_EVERY = 1024, // names between two looks at the clock
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
			append(result, words->program,
			       (size_t)heapsnap_name_in_file(words->program));
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

// A set of parts of a pattern.
struct parts {
	uint64_t words[(NAME_MAX + WORD_BITS - 1) / WORD_BITS];
};

enum {
	PARTS_WORDS = sizeof(struct parts) / sizeof(uint64_t),
};

// A pattern that is ready to be matched by the Shift-And algorithm (Baeza-Yates and Gonnet, "A new
// approach to text searching", 1992): all ways of matching at once, in a few steps for each byte.
struct matcher {
	size_t count;             // of parts
	struct parts takes[256];  // by byte: the parts that it can begin
	struct parts takes_again; // those that further digits may belong to
};

static void add_part(struct parts *set, size_t part)
{
	set->words[part / WORD_BITS] |= UINT64_C(1) << part % WORD_BITS;
}

static bool has_part(const struct parts *set, size_t part)
{
	return set->words[part / WORD_BITS] >> part % WORD_BITS & 1;
}

static void prepare(const struct expansion *pattern, struct matcher *result)
{
	memset(result, 0, sizeof(*result));
	result->count = pattern->count;
	// Each part takes a byte at least, so a longer pattern fits no name.
	for (size_t i = 0; i < pattern->count && pattern->count <= NAME_MAX; i++) {
		if (pattern->parts[i] != DIGITS) {
			add_part(&result->takes[pattern->parts[i]], i);
			continue;
		}
		for (int digit = '0'; digit <= '9'; digit++)
			add_part(&result->takes[digit], i);
		add_part(&result->takes_again, i);
	}
}

// Part i is in the set of those reached if the parts up to it can make up the bytes of the name so
// far.
static bool fits(const struct matcher *matcher, const char *name)
{
	struct parts reached = { 0 };
	uint64_t carry = 1; // the first part may begin at the first byte alone

	if (matcher->count == 0 || matcher->count > NAME_MAX)
		return matcher->count == 0 && *name == '\0';
	for (; *name; name++, carry = 0) {
		const struct parts *takes = &matcher->takes[(unsigned char)*name];

		for (size_t i = 0; i < PARTS_WORDS; i++) {
			uint64_t before = reached.words[i];
			uint64_t again = is_digit(*name) ? matcher->takes_again.words[i] : 0;

			reached.words[i] =
				((before << 1 | carry) & takes->words[i]) | (before & again);
			carry = before >> (WORD_BITS - 1);
		}
	}
	return has_part(&reached, matcher->count - 1);
}

bool name_fits(const char *pattern, const struct name_words *words, const char *name)
{
	struct expansion expansion;
	struct matcher matcher;

	expand(pattern, words, &expansion);
	prepare(&expansion, &matcher);
	return fits(&matcher, name);
}

// --- the directory -----------------------------------------------------------

static void end_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static bool is_late(const struct names *names)
{
	return names->until_ms != 0 && heap_monotonic_ms() > names->until_ms;
}

// The names that fit, one after the other, until the function returns false.
// @return false if the time was up before
static bool each_name(const struct names *names, bool (*function)(void *context, const char *name),
		      void *context)
{
	int descriptor = openat(names->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(end_directory) DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
	struct expansion expansion;
	struct matcher matcher;
	struct dirent *entry;

	expand(names->last, &names->words, &expansion);
	prepare(&expansion, &matcher);
	for (size_t i = 0; directory && (entry = readdir(directory)); i++) {
		if (i % CLOCK_EVERY == 0 && is_late(names))
			return false;
		if (fits(&matcher, entry->d_name) && !function(context, entry->d_name))
			return true;
	}
	return true;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

struct gathering {
	struct names *names;
	size_t capacity;
	struct heap_error *error;
};

static bool gather(void *context, const char *name)
{
	struct gathering *gathering = context;
	struct names *names = gathering->names;

	gathering->error =
		heap_reserve(names->before, gathering->capacity, names->before_count + 1);
	if (gathering->error)
		return false;
	names->before[names->before_count] = strdup(name);
	if (!names->before[names->before_count]) {
		gathering->error = heap_error_out_of_memory();
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
			      const struct name_words *words, int64_t until_ms)
{
	struct gathering gathering = { .names = names };
	struct heap_error *error;

	memset(names, 0, sizeof(*names));
	names->directory = -1;
	names->words = *words;
	names->until_ms = until_ms;
	names->pattern = strdup(pattern);
	if (!names->pattern)
		return heap_error_out_of_memory();
	names->last = strrchr(names->pattern, '/') + 1;
	error = open_directory(names, root);
	if (error || names->directory < 0)
		return error;
	if (!each_name(names, gather, &gathering))
		return heap_error_create(HEAP_ERROR_INTERRUPTED,
					 "%s: not all of its names could be read in time",
					 names->folder);
	HEAP_TRY(gathering.error);
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
	// A name that was found is new, even if the time is up.
	(void)each_name(names, note_new, &search);

	CLEANUP_FREE char *first = search.first;

	if (first && asprintf(path, "%s%s", names->folder, first) < 0) {
		*path = NULL;
		return heap_error_out_of_memory();
	}
	return NULL;
}
