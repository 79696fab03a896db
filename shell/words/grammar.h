// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GRAMMAR_H
#define GRAMMAR_H

/**
 * The words of a command, checked against its synopsis.
 *
 *	[--all | --limit N] [--by type|site] [--min SIZE] OBJ
 *	[--all [N]] OBJ
 *
 * The synopsis is the only place that says which options a command has and what follows them: it
 * is checked here, before the command runs, and completed from (shell/complete.c). N and TID are
 * numbers, SIZE is one such as 4K, words with | between are all there are; anything else is the
 * command's to judge. Options may stand anywhere; but where FILTER... or COMMAND follows, no
 * option is looked for behind its first word, which may be a text to be searched for.
 *
 * A command then removes its options from its words, which leaves its operands.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grammar_option {
	const char *name; /**< [length] in the synopsis: "--limit" */
	size_t length;
	const char *argument; /**< [argument_length] "N", "type|site"; length 0: nothing follows */
	size_t argument_length;
	bool is_optional; /**< the argument may be left out */
};

/**
 * Finds the next option of a synopsis.
 *
 * @param at  where to begin, or what the call before returned
 * @return where to go on; NULL: there are no more
 */
const char *grammar_next(const char *at, struct grammar_option *option);

/** Finds an option by its name, which may go on with "=value". */
bool grammar_find(const char *synopsis, const char *word, struct grammar_option *option);

/**
 * Checks the options of a command and the number of its operands.
 *
 * @param argv  [argc] the command's words; argv[0] is its name
 * @return NULL, or HEAP_ERROR_ARGUMENT: the message names the wrong word and what there is
 */
HEAP_MUST_CHECK
struct heap_error *grammar_check(const char *name, const char *synopsis, int argc, char **argv);

/** Parses a decimal number, all of @p text. */
bool grammar_parse_number(const char *text, uint64_t *result);

/**
 * Takes an option off the arguments.
 *
 * @param argument  gets what follows it (also --option=word); NULL: the option has none
 * @return 1 if it was there, 0 if not, -1 if its argument is missing
 */
int command_option(int *argc, char **argv, const char *option, const char **argument);

/** Takes an option with a number off. @param number  kept if it is absent @return false: bad */
bool command_number(int *argc, char **argv, const char *option, uint64_t *number);

/** Takes --limit N and --all (UINT64_MAX) off. @param limit  kept if neither is there */
bool command_limit(int *argc, char **argv, uint64_t *limit);

#endif
