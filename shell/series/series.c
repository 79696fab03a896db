// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/series.h"

#include "lib/base/cleanup.h"
#include "shell/base/format.h"

#include <string.h>

struct heap_error *series_open(struct session *session, char **paths, size_t count)
{
	struct session_series *series = calloc(1, sizeof(*series));
	struct heap_error *error;

	if (!series)
		return heap_error_out_of_memory();
	series->paths = paths;
	series->count = count;
	error = session_open(session, paths[0]);
	if (error) {
		free(series);
		return error;
	}
	session->series = series;
	return NULL;
}

void series_close(struct session *session)
{
	if (session->series && session->series->other.snapshot)
		session_close(&session->series->other);
	free(session->series);
	session->series = NULL;
}

// Forgets the comparison of the current snapshot with the other one.
static void forget_new(struct session *session)
{
	struct session *other = &session->series->other;

	free(session->is_new);
	free(other->is_new);
	session->is_new = other->is_new = NULL;
}

struct heap_error *series_go(struct session *session, size_t number)
{
	struct heap_snapshot *snapshot;

	HEAP_TRY(session_read(session, session->series->paths[number], &snapshot));
	forget_new(session);
	session_switch(session, snapshot);
	session->series->current = number;
	return NULL;
}

struct heap_error *series_compare(struct session *session, const char *path)
{
	struct session *other = &session->series->other;
	struct session opened = { .output = session->output,
				  .quiet = session->quiet,
				  .colours = session->colours,
				  .errors = session->errors,
				  .debug_files = session->debug_files };

	HEAP_TRY(session_open(&opened, path));
	forget_new(session);
	if (other->snapshot)
		session_close(other);
	*other = opened;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *mark_new(struct session *session, struct session *other,
				   const struct heap_comparison *comparison)
{
	heap_object_id now = session->snapshot->object_count;
	heap_object_id then = other->snapshot->object_count;

	session->is_new = calloc((size_t)now + 1, 1);
	other->is_new = calloc((size_t)then + 1, 1);
	if (!session->is_new || !other->is_new)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < now; i++)
		session->is_new[i] = heap_comparison_change(comparison, i) == HEAP_CHANGE_ADDED;
	for (heap_object_id i = 0; i < then; i++)
		other->is_new[i] = comparison->later[i] == HEAP_NO_OBJECT;
	return NULL;
}

struct heap_error *series_need_new(struct session *session)
{
	struct heap_comparison comparison;
	struct heap_error *error;

	if (session->is_new)
		return NULL;
	if (!session->series || !session->series->other.snapshot)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "nothing to compare with; `compare FILE` names it");
	error = heap_comparison_init(&comparison, session->series->other.snapshot,
				     session->snapshot);
	if (error)
		return error;
	error = mark_new(session, &session->series->other, &comparison);
	heap_comparison_deinit(&comparison);
	if (error)
		forget_new(session);
	return error;
}

struct heap_error *series_find_gone(struct session *session, int count, char **words,
				    struct session **other)
{
	static char new[] = "new";

	*other = NULL;
	for (int i = 1; i < count; i++) {
		if (strcmp(words[i], "gone") != 0)
			continue;
		HEAP_TRY(series_need_new(session));
		words[i] = new;
		*other = &session->series->other;
		(*other)->quiet = session->quiet;
		session_begin_command(*other, false);
	}
	return NULL;
}

const char *series_label(struct session *session)
{
	const struct session_series *series = session->series;
	const char *path = series->paths[series->current];
	const char *slash = strrchr(path, '/');

	return session_format(session, "[%zu] %s", series->current,
			      session_keep(session, format_name(slash ? slash + 1 : path)));
}

const char *series_prompt(struct session *session)
{
	if (!session->series || session->series->count < 2)
		return "heapsh> ";
	return session_format(session, "heapsh %s> ", series_label(session));
}
