// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/follow.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash.h"
#include "lib/base/path.h"
#include "lib/base/search.h"
#include "lib/series/identity.h"
#include "shell/base/format.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const uint64_t CLOCK_TICK_NS = 20000000; // more than any kernel's

static const enum tally_by ways[FOLLOW_WAYS] = { TALLY_KIND, TALLY_TYPE, TALLY_SITE };

static void process_deinit(struct follow_process *process)
{
	for (int i = 0; i < FOLLOW_WAYS; i++) {
		tally_deinit(&process->tally[i]);
		heap_census_destroy(process->census[i]);
	}
	free(process->program);
	free(process->name);
	free(process->host);
}

void follow_deinit(struct follow *follow)
{
	for (size_t i = 0; i < follow->processes.count; i++)
		process_deinit(&follow->processes.items[i]);
	for (size_t i = 0; i < follow->waiting.count; i++)
		free(follow->waiting.items[i].path);
	heap_array_deinit(&follow->processes);
	heap_array_deinit(&follow->waiting);
	heap_array_deinit(&follow->seen);
	free(follow->trouble);
}

// --- new files -----------------------------------------------------------------------

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

HEAP_MUST_CHECK
static struct heap_error *add_file(struct follow *follow, const char *path, const struct stat *file)
{
	uint64_t modified = nanoseconds(&file->st_mtim);
	const uint64_t parts[] = { file->st_dev, file->st_ino, modified, (uint64_t)file->st_size };
	uint64_t key = heap_hash_bytes(HEAP_HASH_START, parts, sizeof(parts));
	size_t at = heap_lower_bound_u64(follow->seen.items, follow->seen.count, key);
	size_t after = follow->seen.count - at;
	char *copy;

	if (after > 0 && follow->seen.items[at] == key)
		return NULL;
	HEAP_TRY(heap_array_reserve(&follow->seen, 1));
	HEAP_TRY(heap_array_reserve(&follow->waiting, 1));
	copy = strdup(path);
	if (!copy)
		return heap_error_out_of_memory();
	if (after > 0)
		memmove(&follow->seen.items[at + 1], &follow->seen.items[at],
			after * sizeof(*follow->seen.items));
	follow->seen.items[at] = key;
	follow->seen.count++;
	follow->waiting.items[follow->waiting.count++] =
		(struct follow_file){ copy, key, modified };
	return NULL;
}

static int compare_files(const void *left, const void *right)
{
	const struct follow_file *a = left, *b = right;

	if (a->modified_ns != b->modified_ns)
		return a->modified_ns > b->modified_ns ? -1 : 1;
	return strcmp(b->path, a->path);
}

HEAP_MUST_CHECK
static struct heap_error *find_matches(struct follow *follow, const char *pattern)
{
	CLEANUP(globfree) glob_t found = { 0 };
	int status = glob(pattern, GLOB_NOSORT, NULL, &found);

	if (status == GLOB_NOSPACE)
		return heap_error_out_of_memory();
	for (size_t i = 0; status == 0 && i < found.gl_pathc; i++) {
		struct stat file;

		if (stat(found.gl_pathv[i], &file) == 0 && S_ISREG(file.st_mode))
			HEAP_TRY(add_file(follow, found.gl_pathv[i], &file));
	}
	return NULL;
}

// A name is itself, also if it has the signs of a pattern.
HEAP_MUST_CHECK
static struct heap_error *find_files(struct follow *follow, const char *pattern)
{
	CLEANUP_FREE char *inside = NULL;
	struct stat file;

	if (stat(pattern, &file) < 0)
		return find_matches(follow, pattern);
	if (!S_ISDIR(file.st_mode))
		return S_ISREG(file.st_mode) ? add_file(follow, pattern, &file) : NULL;
	if (asprintf(&inside, "%s/*.snap", pattern) < 0) {
		inside = NULL;
		return heap_error_out_of_memory();
	}
	return find_matches(follow, inside);
}

// Adds the state of the directory in which a pattern's files are. @return false if several may be
static bool add_directory(const char *pattern, uint64_t now_ns, uint64_t *hash)
{
	int length = (int)(heap_base_name(pattern) - pattern);
	CLEANUP_FREE char *name = NULL;
	struct stat file;

	if (stat(pattern, &file) < 0 || !S_ISDIR(file.st_mode)) {
		if (asprintf(&name, "%.*s", length, length ? pattern : "") < 0)
			name = NULL;
		if (!name || strpbrk(name, "*?[\\") || stat(length ? name : ".", &file) < 0)
			return false;
	}

	uint64_t modified = nanoseconds(&file.st_mtim);
	const uint64_t parts[] = { *hash, file.st_dev, file.st_ino, modified };

	*hash = heap_hash_bytes(HEAP_HASH_START, parts, sizeof(parts));
	return modified + CLOCK_TICK_NS < now_ns;
}

// A hash of the state of all directories. 0: not known, or they may change unseen, since the times
// of files are those of the last tick of the clock.
static uint64_t state_of_directories(const struct follow *follow)
{
	struct timespec now;
	uint64_t hash = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < follow->pattern_count; i++) {
		if (!add_directory(follow->patterns[i], nanoseconds(&now), &hash))
			return 0;
	}
	return hash;
}

struct heap_error *follow_find(struct follow *follow)
{
	size_t had = follow->waiting.count;
	uint64_t directories = state_of_directories(follow);

	if (had > 0 && directories != 0 && directories == follow->directories)
		return NULL;
	follow->directories = directories;
	for (size_t i = 0; i < follow->pattern_count; i++)
		HEAP_TRY(find_files(follow, follow->patterns[i]));
	if (follow->waiting.count > had)
		qsort(follow->waiting.items, follow->waiting.count, sizeof(*follow->waiting.items),
		      compare_files);
	return NULL;
}

// --- counting ------------------------------------------------------------------------

// Notes when the process began according to its latest snapshot: clocks drift apart in days.
static void note_identity(struct follow_process *process, const struct heap_info *info)
{
	process->latest = (struct heap_info){
		.program = process->name,
		.host = process->host,
		.pid = info->pid,
		.start_time_ns = info->start_time_ns,
		.origin = info->origin,
	};
}

HEAP_MUST_CHECK
static struct heap_error *add_process(struct follow *follow, const struct heap_info *info)
{
	struct follow_process process = {
		.program = format_name(info->program),
		.name = strdup(info->program),
		.host = strdup(info->host),
	};
	struct heap_error *error = heap_array_reserve(&follow->processes, 1);

	if (!error && (!process.program || !process.name || !process.host))
		error = heap_error_out_of_memory();
	for (int i = 0; i < FOLLOW_WAYS && !error; i++) {
		process.tally[i].by = ways[i];
		error = heap_census_create(&process.census[i]);
	}
	if (error)
		process_deinit(&process);
	else {
		note_identity(&process, info);
		follow->processes.items[follow->processes.count++] = process;
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *find_process(struct follow *follow, const struct heap_info *info,
				       size_t *result)
{
	for (size_t i = 0; i < follow->processes.count; i++) {
		struct follow_process *process = &follow->processes.items[i];

		if (heap_is_one_process(&process->latest, info)) {
			note_identity(process, info);
			*result = i;
			return NULL;
		}
	}
	HEAP_TRY(add_process(follow, info));
	*result = follow->processes.count - 1;
	return NULL;
}

static void note_total(struct follow_process *process, const struct heap_snapshot *snapshot)
{
	struct heap_amount total = { snapshot->object_count, heap_snapshot_bytes(snapshot) };

	process->totals[FOLLOW_BEFORE] = process->totals[FOLLOW_LATEST];
	process->times[FOLLOW_BEFORE] = process->times[FOLLOW_LATEST];
	// The first one is all three.
	for (int i = process->snapshots > 0 ? FOLLOW_LATEST : FOLLOW_FIRST; i < FOLLOW_MOMENTS;
	     i++) {
		process->totals[i] = total;
		process->times[i] = snapshot->info.time_ns;
	}
	process->snapshots++;
}

HEAP_MUST_CHECK
static struct heap_error *count(struct follow *follow, struct session *session, size_t *number)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct follow_process *process;

	HEAP_TRY(find_process(follow, &snapshot->info, number));
	process = &follow->processes.items[*number];
	if (process->snapshots > 0 && snapshot->info.time_ns <= process->times[FOLLOW_LATEST])
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not later than the one before",
					 snapshot->path);
	for (int i = 0; i < FOLLOW_WAYS; i++) {
		if (heap_census_length(process->census[i]) == FOLLOW_MOMENTS)
			heap_census_drop(process->census[i], FOLLOW_BEFORE);
		HEAP_TRY(tally_snapshot(&process->tally[i], session, process->census[i]));
	}
	note_total(process, snapshot);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_file(struct follow *follow, const struct session *like,
				    const char *path, size_t *process)
{
	CLEANUP(session_close)
	struct session session = {
		.errors = like->errors,
		.output = like->output,
		.debug_files = like->debug_files,
	};

	progress_init(&session.progress, NULL);
	HEAP_TRY(session_open(&session, path));
	return count(follow, &session, process);
}

struct heap_error *follow_read(struct follow *follow, const struct session *session,
			       size_t *process)
{
	*process = SIZE_MAX;
	if (follow->waiting.count == 0)
		return NULL;

	CLEANUP_FREE char *path = follow->waiting.items[--follow->waiting.count].path;
	struct heap_error *error = read_file(follow, session, path, process);

	if (!error || heap_error_code(error) == HEAP_ERROR_MEMORY)
		return error;
	*process = SIZE_MAX;
	free(follow->trouble);
	follow->trouble = format_name(heap_error_message(error));
	heap_error_destroy(error);
	return NULL;
}

struct heap_amount follow_amount(const struct follow_process *process, int way, heap_kind_id kind,
				 enum follow_moment moment)
{
	size_t length = heap_census_length(process->census[way]);
	size_t back = FOLLOW_LATEST - moment;

	// With one snapshot all moments are that one, with two the one before is the first.
	return heap_census_amount(process->census[way], kind,
				  moment == FOLLOW_FIRST || back + 1 > length ? 0
									      : length - 1 - back);
}
