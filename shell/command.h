// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COMMAND_H
#define COMMAND_H

/**
 * The shell's commands.
 *
 * To add one:
 *  1. write shell/commands/NAME.c, or add to the file of its family; it ends with the
 *     command's description, `const struct command NAME_command`;
 *  2. add its line to COMMANDS below, where `help` should list it;
 *  3. add it to man/heapsh.1, and a test to t/shell/.
 * Without 2 clang refuses to build it, and t/commands.t fails without 3.
 *
 * A command asks the session for what it needs (the graph, dominators; they are
 * computed once) and tells its answer to session->output, which knows about text,
 * JSON and colour. It does not print, read files or exit.
 */

#include "shell/base/session.h"
#include "shell/words/grammar.h"

/** What a command came to; as the exit status of `heapsh FILE COMMAND`: 0, 1, 1, 2, 2. */
enum command_status {
	COMMAND_OK,
	COMMAND_NOTHING, /**< it worked, and the answer is that there is nothing */
	COMMAND_FAILED,  /**< the reason has been reported by command_fail() */
	COMMAND_MISUSED, /**< wrong arguments; the same */
	COMMAND_USAGE,   /**< wrong arguments; the caller shows the synopsis */
};

/** What readline may complete an argument to. */
enum command_words {
	WORDS_NONE,
	WORDS_OBJECT = 1 << 0, /**< names of variables */
	WORDS_FILTER = 1 << 1, /**< filters, and what follows them */
	WORDS_TYPE = 1 << 2,
	WORDS_COMMAND = 1 << 3,
	WORDS_ALIAS = 1 << 4,
	WORDS_FILE = 1 << 5,
	WORDS_FORMAT = 1 << 6, /**< of exports, then a file */
};

struct command {
	const char *name;
	const char *synopsis; /**< as in the manual: "[--limit N] FILTER..."; see grammar.h */
	const char *summary;  /**< for `help`: lower case, no full stop */
	const char *details;  /**< for `help NAME`: sentences, and examples indented by two */
	/** argv[0] is the name; argv[argc] is NULL. */
	enum command_status (*run)(struct session *session, int argc, char **argv);
	unsigned words;    /**< enum command_words, or'ed */
	bool keeps_answer; /**< objects keep their numbers, and its own come behind */
};

/** Every command, in the order in which `help` lists them. */
// clang-format off
#define COMMANDS(_) \
	_(help) \
	_(info) \
	_(summary) \
	_(show) \
	_(identify) \
	_(find) \
	_(count) \
	_(largest) \
	_(roots) \
	_(callstack) \
	_(callers) \
	_(stack) \
	_(symbols) \
	_(inrefs) \
	_(outrefs) \
	_(path) \
	_(dominators) \
	_(retained) \
	_(sizes) \
	_(shared) \
	_(suspects) \
	_(leaks) \
	_(dangling) \
	_(reachability) \
	_(types) \
	_(istype) \
	_(suggest) \
	_(sites) \
	_(report) \
	_(strings) \
	_(waste) \
	_(export) \
	_(last) \
	_(alias) \
	_(unalias) \
	_(source) \
	_(time) \
	_(snapshots) \
	_(go) \
	_(next) \
	_(previous) \
	_(compare) \
	_(history) \
	_(quit)
// clang-format on

#define DECLARE(name) extern const struct command name##_command;
COMMANDS(DECLARE)
#undef DECLARE

/** All of them. @param count  gets their number */
const struct command *const *command_all(size_t *count);

/** @return the command of that name or unique beginning, or NULL */
const struct command *command_find(const char *name);

/** Runs a command given as words; reports what went wrong on the session's errors. */
enum command_status command_run(struct session *session, int argc, char **argv);

/** Runs a line as typed: an alias, words, quotes, `| program` and `> file`. */
enum command_status command_run_line(struct session *session, const char *line);

/** Runs the lines of a file, up to the first that fails. */
enum command_status command_run_file(struct session *session, const char *path);

/**
 * Reports @p error on standard error, and ends it.
 *
 * @return COMMAND_FAILED, or COMMAND_MISUSED if it is HEAP_ERROR_ARGUMENT
 */
enum command_status command_fail(struct session *session, struct heap_error *error);

/** `count --delta`, which is of the family of compare. */
enum command_status command_count_delta(struct session *session, const char *by, uint64_t limit);

#endif
