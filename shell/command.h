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

/** How a command ended; the exit status of `heapsh FILE COMMAND` is 0, 1, 1, 2 or 2. */
enum command_status {
	COMMAND_OK,
	COMMAND_NOTHING, /**< it worked, and the answer is that there is nothing */
	COMMAND_FAILED,  /**< the reason has been reported by command_fail() */
	COMMAND_MISUSED, /**< wrong arguments; the same */
	COMMAND_USAGE,   /**< wrong arguments; the caller shows the synopsis */
};

/** The kinds of words that an argument can be completed to. */
enum command_words {
	WORDS_NONE,
	WORDS_OBJECT = 1 << 0, /**< names of variables */
	WORDS_FILTER = 1 << 1, /**< filters, and what follows them */
	WORDS_TYPE = 1 << 2,
	WORDS_COMMAND = 1 << 3,
	WORDS_ALIAS = 1 << 4,
	WORDS_FILE = 1 << 5,
	WORDS_FORMAT = 1 << 6,   /**< of exports, then a file */
	WORDS_TOPIC = 1 << 7,    /**< of help */
	WORDS_SNAPSHOT = 1 << 8, /**< numbers of those that were opened */
};

struct command {
	const char *name;
	const char *synopsis; /**< as in the manual: "[--limit N] FILTER..."; see grammar.h */
	const char *summary;  /**< for `help`: lower case, no full stop */
	const char *nothing;  /**< said at COMMAND_NOTHING; NULL: the command says so itself */
	const char *details;  /**< for `help NAME`: sentences, and examples indented by two */
	/** argv[0] is the name; argv[argc] is NULL. */
	enum command_status (*run)(struct session *session, int argc, char **argv);
	unsigned words;    /**< enum command_words, or'ed */
	bool keeps_answer; /**< objects keep their numbers, and its own come behind */
};

/** Every command by what it is for, in the order in which `help` lists them. */
// clang-format off
#define COMMANDS_START(_) \
	_(info) \
	_(summary) \
	_(count) \
	_(largest) \
	_(types) \
	_(strings) \
	_(sites)

#define COMMANDS_FIND(_) \
	_(find) \
	_(show) \
	_(last) \
	_(symbols)

#define COMMANDS_HOLD(_) \
	_(identify) \
	_(path) \
	_(inrefs) \
	_(outrefs) \
	_(dominators)

#define COMMANDS_ROOTS(_) \
	_(roots) \
	_(suspects) \
	_(reachability) \
	_(retained) \
	_(sizes) \
	_(shared) \
	_(callstack) \
	_(callers) \
	_(stack)

#define COMMANDS_FAULTS(_) \
	_(leaks) \
	_(dangling) \
	_(waste)

#define COMMANDS_TYPES(_) \
	_(istype) \
	_(suggest)

#define COMMANDS_SERIES(_) \
	_(snapshots) \
	_(go) \
	_(next) \
	_(previous) \
	_(compare) \
	_(history)

#define COMMANDS_OUT(_) \
	_(sql) \
	_(report) \
	_(export)

#define COMMANDS_SHELL(_) \
	_(help) \
	_(alias) \
	_(unalias) \
	_(source) \
	_(time) \
	_(quit)

/** The groups: GROUP(heading, list). */
#define COMMAND_GROUPS(GROUP) \
	GROUP("The heap at a glance", COMMANDS_START) \
	GROUP("Objects", COMMANDS_FIND) \
	GROUP("Who holds an object", COMMANDS_HOLD) \
	GROUP("What holds the heap", COMMANDS_ROOTS) \
	GROUP("What is wrong", COMMANDS_FAULTS) \
	GROUP("Types that you know better", COMMANDS_TYPES) \
	GROUP("Several snapshots", COMMANDS_SERIES) \
	GROUP("For others", COMMANDS_OUT) \
	GROUP("The shell", COMMANDS_SHELL)

#define COMMANDS(_) \
	COMMANDS_START(_) \
	COMMANDS_FIND(_) \
	COMMANDS_HOLD(_) \
	COMMANDS_ROOTS(_) \
	COMMANDS_FAULTS(_) \
	COMMANDS_TYPES(_) \
	COMMANDS_SERIES(_) \
	COMMANDS_OUT(_) \
	COMMANDS_SHELL(_)
// clang-format on

#define DECLARE(name) extern const struct command name##_command;
COMMANDS(DECLARE)
#undef DECLARE

/** All of them. @param count  gets their number */
const struct command *const *command_all(size_t *count);

/** The heading of a command's group in `help`. */
const char *command_group(const struct command *command);

/** @return the command of that name, synonym or unique beginning, or NULL */
const struct command *command_find(const char *name);

/** Says on the session's errors that there is no such command, or which it could be. */
void command_report_unknown(struct session *session, const char *name);

/** Runs a command given as words; reports what went wrong on the session's errors. */
enum command_status command_run(struct session *session, int argc, char **argv);

/** Runs a line as typed: an alias, words, quotes, `| program` and `> file`. */
enum command_status command_run_line(struct session *session, const char *line);

/**
 * A name as it may stand in a line: itself, if that means these words and nothing else, or with a backslash
 * before whatever would end a word, begin a quote, or start a program. malloc'd; NULL if memory is short, or
 * the name cannot be written so.
 *
 * @param quote  that the line has opened before it; '\0': none
 */
char *command_quote(const char *name, char quote);

/** Runs the lines of a file, up to the first that fails. */
enum command_status command_run_file(struct session *session, const char *path);

/** Names of the topics of `help`, NULL-terminated. */
extern const char *const help_topics[];

/**
 * Reports @p error on standard error, and ends it.
 *
 * @return COMMAND_FAILED, or COMMAND_MISUSED if it is HEAP_ERROR_ARGUMENT
 */
enum command_status command_fail(struct session *session, struct heap_error *error);

/** The words of a name of several, "struct session", which nobody wants to quote. */
const char *command_join(struct session *session, int count, char **words);

/** Says, in text, how many rows a limit has left out. */
void command_tell_rest(struct session *session, uint64_t rows);

/** Checks the argument of --thread: HEAP_ERROR_ABSENT if no thread has that id. */
HEAP_MUST_CHECK
struct heap_error *command_check_thread(const struct session *session, uint64_t tid);

/** `count --delta`, which is of the family of compare. */
enum command_status command_count_delta(struct session *session, const char *by, uint64_t limit);

#endif
