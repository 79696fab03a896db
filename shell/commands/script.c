// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * last, alias, unalias, source, time: commands about commands.
 */
#include "lib/base/escape.h"
#include "shell/base/command_lines.h"
#include "shell/base/alias.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MAX_NESTING = 16, // of files that source others
};

// --- last --------------------------------------------------------------------

static enum command_status last_run(struct session *session, int argc, char **argv)
{
	struct output *output = session->output;
	bool numbered = session->numbered;

	uint64_t limit = UINT64_MAX;

	if (!command_limit(&argc, argv, &limit) || argc != 1)
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (error)
		return command_fail(session, error);
	if (session->answer_count == 0)
		output_text(output, "no answer has listed objects yet\n");
	session->numbered = false; // the numbers stand before the objects here
	output_open_array(output, NULL);
	for (size_t i = 0; i < session->answer_count && i < limit && !session_must_stop(session);
	     i++) {
		const struct session_answer *answer = &session->answer[i];
		const void *mark = session_mark(session);
		const struct heap_part *part =
			answer->interior ? heap_snapshot_part_at(session->snapshot, answer->object,
								 answer->interior)
					 : NULL;

		output_text(output, "$%-4zu %s\n", i + 1,
			    part ? part_describe(session, part)
				 : describe_object(session, answer->object));
		if (part)
			part_json(session, NULL, part);
		else
			describe_object_json(session, NULL, answer->object);
		session_release(session, mark);
	}
	session->numbered = numbered;
	output_close(output);
	if (session->answer_count > limit)
		command_tell_rest(session, session->answer_count - limit);
	return session->answer_count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command last_command = {
	.name = "last",
	.synopsis = "[--all | --limit N]",
	.summary = "the objects of the last list, with their numbers",
	.details = "The objects of an answer are $1, $2 and so on, until the next list.\n"
		   "\n"
		   "  last",
	.run = last_run,
	.nothing = "No answer has had objects yet.",
	.keeps_answer = true,
};

// --- alias -------------------------------------------------------------------

static void print_alias(struct session *session, const struct alias *alias)
{
	output_text(session->output, "alias %s '%s'\n", alias->name, alias->text);
	output_open_object(session->output, NULL);
	output_string(session->output, "name", alias->name);
	output_string(session->output, "text", alias->text);
	output_close(session->output);
}

static enum command_status alias_run(struct session *session, int argc, char **argv)
{
	const struct aliases *aliases = &session->aliases;
	const struct alias *found;

	if (argc > 3)
		return COMMAND_USAGE;
	if (argc == 3) {
		struct heap_error *error = aliases_set(&session->aliases, argv[1], argv[2]);

		return error ? command_fail(session, error) : COMMAND_OK;
	}
	if (argc == 1) {
		output_open_array(session->output, NULL);
		for (size_t i = 0; i < aliases->count; i++)
			print_alias(session, &aliases->aliases[i]);
		return aliases->count ? COMMAND_OK : COMMAND_NOTHING;
	}
	found = aliases_find(aliases, argv[1], strlen(argv[1]));
	if (!found)
		return command_fail(session, heap_error_create(HEAP_ERROR_ABSENT,
							       "%s: no such alias", argv[1]));
	print_alias(session, found);
	return COMMAND_OK;
}

const struct command alias_command = {
	.name = "alias",
	.synopsis = "[NAME ['COMMAND...']]",
	.summary = "a name for the beginning of a line, or the names there are",
	.details = "NAME, as the first word of a line, then stands for COMMAND, which may have "
		   "pipes.\n"
		   "Aliases for every session belong in the start-up file.\n"
		   "\n"
		   "  alias\n"
		   "  alias big 'find size >1M'\n"
		   "  alias top 'count | head -n 20'",
	.run = alias_run,
	.nothing = "There are no aliases.",
	.words = WORDS_ALIAS,
};

static enum command_status unalias_run(struct session *session, int argc, char **argv)
{
	if (argc != 2)
		return COMMAND_USAGE;
	if (!aliases_remove(&session->aliases, argv[1]))
		return command_fail(session, heap_error_create(HEAP_ERROR_ABSENT,
							       "%s: no such alias", argv[1]));
	return COMMAND_OK;
}

const struct command unalias_command = {
	.name = "unalias",
	.synopsis = "NAME",
	.summary = "forget an alias",
	.details = "  unalias big",
	.run = unalias_run,
	.words = WORDS_ALIAS,
};

// --- source ------------------------------------------------------------------

static bool is_failure(enum command_status status)
{
	return status != COMMAND_OK && status != COMMAND_NOTHING;
}

static enum command_status run_lines(struct session *session, FILE *file, const char *name)
{
	CLEANUP(command_lines_deinit) struct command_lines lines = { .file = file };
	enum command_status status = COMMAND_OK;

	while (!session->quit && !session_interrupted && !output_is_broken(session->output)) {
		bool is_there;
		struct heap_error *error = command_lines_next(&lines, &is_there);

		if (error)
			return command_fail(session, heap_error_within(error, "%s", name));
		if (!is_there)
			break;
		status = command_run_line(session, lines.text.items);
		if (is_failure(status)) {
			heap_print(session->errors, "heapsh: %s: line %u failed\n", name,
				   lines.number);
			break;
		}
	}
	return status;
}

enum command_status command_run_file(struct session *session, const char *path)
{
	FILE *file;
	enum command_status status;

	if (session->nesting >= MAX_NESTING)
		return command_fail(session,
				    heap_error_create(HEAP_ERROR_ARGUMENT,
						      "%s: %d files already source each other",
						      path, MAX_NESTING));
	file = fopen(path, "re");
	if (!file)
		return command_fail(session, heap_error_create_system("%s", path));
	session->nesting++;
	status = run_lines(session, file, path);
	session->nesting--;
	fclose(file);
	return status;
}

static enum command_status source_run(struct session *session, int argc, char **argv)
{
	if (argc != 2)
		return COMMAND_USAGE;

	enum command_status status = command_run_file(session, argv[1]);

	// The usage that was wrong is another command's, and has been told.
	return status == COMMAND_USAGE ? COMMAND_MISUSED : status;
}

const struct command source_command = {
	.name = "source",
	.synopsis = "FILE",
	.summary = "run the commands in a file",
	.details = "One command per line; # begins a comment. The first command that fails ends "
		   "it; one\n"
		   "that finds nothing does not.\n"
		   "\n"
		   "  source leaks.heapsh\n"
		   "  source nightly.heapsh > report.txt",
	.run = source_run,
	.words = WORDS_FILE,
};

// --- time --------------------------------------------------------------------

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static enum command_status time_run(struct session *session, int argc, char **argv)
{
	double elapsed = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID);
	enum command_status status;

	if (argc < 2)
		return COMMAND_USAGE;
	status = command_run(session, argc - 1, argv + 1);
	elapsed = now(CLOCK_MONOTONIC) - elapsed;
	used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
	output_text(session->output, "%.3f s, of which %.3f s of processor time\n", elapsed, used);
	return status == COMMAND_USAGE ? COMMAND_MISUSED : status;
}

const struct command time_command = {
	.name = "time",
	.synopsis = "COMMAND [ARG...]",
	.summary = "run a command, and say how long it took",
	.details = "  time largest --retained",
	.run = time_run,
	.words = WORDS_COMMAND,
};
