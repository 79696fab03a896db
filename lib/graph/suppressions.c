// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/suppressions.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdio.h>
#include <string.h>

// Sites and steps have the number + 1 of the line that suppresses them, or 0.
struct heap_suppressions {
	struct heap_snapshot *snapshot;
	struct heap_suppression *lines; // [count]
	size_t count, capacity;
	uint32_t *site; // [of sites]
	uint32_t *step; // [of steps] of it or of one outwards
};

// --- patterns ----------------------------------------------------------------

// True if a string begins with the pattern, of `length`.
// Goes back to the last * only: what was before it has been found as early as can be.
static bool begins_with(const char *pattern, size_t length, bool tied, const char *text)
{
	size_t at = 0, star = SIZE_MAX;
	const char *retry = text;

	for (;;) {
		if (at == length && (!tied || !*text))
			return true;
		if (at < length && pattern[at] == '*') {
			star = ++at;
			retry = text;
		} else if (at < length && *text && pattern[at] == *text) {
			at++;
			text++;
		} else if (star != SIZE_MAX && *retry) {
			at = star;
			text = ++retry;
		} else {
			return false;
		}
	}
}

bool heap_suppression_fits(const char *pattern, const char *text)
{
	bool tied_start = *pattern == '^';
	size_t length;
	bool tied_end;

	pattern += tied_start;
	length = strlen(pattern);
	tied_end = length > 0 && pattern[length - 1] == '$';
	length -= tied_end;
	if (tied_start)
		return begins_with(pattern, length, tied_end, text);
	do {
		if (begins_with(pattern, length, tied_end, text))
			return true;
	} while (*text++);
	return false;
}

// --- reading -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_line(struct heap_suppressions *suppressions, const char *pattern)
{
	char *copy;

	HEAP_TRY(heap_reserve(suppressions->lines, suppressions->capacity,
			      (size_t)suppressions->count + 1));
	copy = strdup(pattern);
	if (!copy)
		return heap_error_out_of_memory();
	suppressions->lines[suppressions->count++] = (struct heap_suppression){ copy, 0, 0 };
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_line(struct heap_suppressions *suppressions, char *line,
				     unsigned number)
{
	line += strspn(line, " \t\r\n");
	for (size_t end = strlen(line); end > 0 && strchr(" \t\r\n", line[end - 1]); end--)
		line[end - 1] = '\0';
	if (*line == '\0' || *line == '#')
		return NULL;
	if (strncmp(line, "leak:", 5) != 0 || !line[5])
		return heap_error_create(HEAP_ERROR_ARGUMENT, "line %u: not leak:PATTERN", number);
	return add_line(suppressions, line + 5);
}

HEAP_MUST_CHECK
static struct heap_error *read_lines(struct heap_suppressions *suppressions, const char *path)
{
	CLEANUP_FILE FILE *file = fopen(path, "re");
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;

	if (!file)
		return heap_error_create_system("cannot be read");
	for (unsigned number = 1; getline(&line, &capacity, file) >= 0; number++)
		HEAP_TRY(parse_line(suppressions, line, number));
	return ferror(file) ? heap_error_create_system("cannot be read") : NULL;
}

// --- what they mean ----------------------------------------------------------

// The first line that fits one of the names of a place, + 1; or 0.
static uint32_t find_line(const struct heap_suppressions *suppressions, uint32_t function,
			  uint32_t file, uint32_t module)
{
	const struct heap_snapshot *snapshot = suppressions->snapshot;
	const char *names[] = {
		heap_snapshot_string(snapshot, function),
		heap_snapshot_string(snapshot, file),
		module == HEAP_NO_INDEX
			? ""
			: heap_snapshot_string(snapshot, snapshot->modules[module].path),
	};

	for (size_t i = 0; i < suppressions->count; i++) {
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			if (*names[j] &&
			    heap_suppression_fits(suppressions->lines[i].pattern, names[j]))
				return (uint32_t)i + 1;
		}
	}
	return 0;
}

HEAP_MUST_CHECK
static struct heap_error *apply(struct heap_suppressions *suppressions)
{
	const struct heap_snapshot *snapshot = suppressions->snapshot;

	suppressions->site = calloc((size_t)snapshot->site_count + 1, sizeof(*suppressions->site));
	suppressions->step = calloc((size_t)snapshot->step_count + 1, sizeof(*suppressions->step));
	if (!suppressions->site || !suppressions->step)
		return heap_error_out_of_memory();
	for (heap_site_id i = 0; i < snapshot->site_count; i++) {
		const struct heap_site *site = &snapshot->sites[i];

		suppressions->site[i] =
			find_line(suppressions, site->function, site->file, site->module);
	}
	// Callers have lower numbers.
	for (uint32_t i = 1; i < snapshot->step_count; i++) {
		const struct heap_call *call = &snapshot->calls[snapshot->steps[i].call];
		uint32_t line = find_line(suppressions, call->function, call->file, call->module);

		suppressions->step[i] = line ? line : suppressions->step[snapshot->steps[i].caller];
	}
	return NULL;
}

static void destroy(struct heap_suppressions **suppressions)
{
	heap_suppressions_destroy(*suppressions);
}

struct heap_error *heap_suppressions_read(const char *path, struct heap_snapshot *snapshot,
					  struct heap_suppressions **result)
{
	CLEANUP(destroy) struct heap_suppressions *suppressions = calloc(1, sizeof(*suppressions));

	if (!suppressions)
		return heap_error_out_of_memory();
	suppressions->snapshot = snapshot;
	HEAP_TRY(heap_error_within(read_lines(suppressions, path), "%s", path));
	HEAP_TRY(heap_snapshot_load(snapshot,
				    HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE | HEAP_COLUMN_SIZE));
	HEAP_TRY(apply(suppressions));
	*result = keep(suppressions);
	return NULL;
}

void heap_suppressions_destroy(struct heap_suppressions *suppressions)
{
	if (!suppressions)
		return;
	for (size_t i = 0; i < suppressions->count; i++)
		free((char *)(uintptr_t)suppressions->lines[i].pattern);
	free(suppressions->lines);
	free(suppressions->site);
	free(suppressions->step);
	free(suppressions);
}

// The number of the line that suppresses an object's leak, + 1; or 0.
static uint32_t line_of(const struct heap_suppressions *suppressions, heap_object_id object)
{
	const struct heap_snapshot *snapshot = suppressions->snapshot;
	uint32_t line = suppressions->site[snapshot->site[object]];

	return line ? line : suppressions->step[heap_backtrace_step(snapshot->backtrace[object])];
}

bool heap_suppressions_match(void *context, heap_object_id object)
{
	return line_of(context, object) != 0;
}

void heap_suppressions_count(struct heap_suppressions *suppressions, heap_object_id object,
			     heap_object_id leader)
{
	uint32_t line = line_of(suppressions, leader);

	if (!line)
		return;
	suppressions->lines[line - 1].objects++;
	suppressions->lines[line - 1].bytes += suppressions->snapshot->size[object];
}

const struct heap_suppression *heap_suppressions_used(const struct heap_suppressions *suppressions,
						      size_t *count)
{
	*count = suppressions->count;
	return suppressions->lines;
}
