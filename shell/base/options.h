// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OPTIONS_H
#define OPTIONS_H

/** Options of the programs' command lines. */

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** A program, as its messages name it. */
struct options_program {
	const char *name;
	const char *usage; /**< lines */
	void (*print_rest)(
		FILE *stream); /**< prints what follows these lines; NULL: nothing does */
};

/**
 * The next option of a program. --help ('h') and --version ('V') print and exit; a mistake is
 * followed by the usage. Unlike those of getopt_long(), messages escape words, which may be names
 * of files that somebody else chose.
 *
 * @return as getopt_long(); '?' for a mistake, which has been reported
 */
int options_take(const struct options_program *program, int argc, char **argv, const char *letters,
		 const struct option *known, int *index);

/** Prints the usage to standard error. @return false */
bool options_misused(const struct options_program *program);

/**
 * Reports a value that an option does not take, and the usage.
 *
 * @param expected  what it takes, to follow "not": "a number", "time or number"
 * @return false
 */
bool options_complain(const struct options_program *program, const char *option, const char *value,
		      const char *expected);

/** Takes the value of an option, a number, from optarg. @return false if it is out of range, which has been reported */
bool options_take_number(const struct options_program *program, const char *option, uint64_t least,
			 uint64_t most, uint64_t *result);

/** Takes the value of --limit, from optarg. @return false if it is no number, which has been reported */
bool options_limit(const struct options_program *program, uint64_t *limit);

/** True if there are @p wanted operands behind the options; prints the usage otherwise. */
bool options_have_operands(const struct options_program *program, int argc, int wanted);

/** Parses a decimal number from @p least to @p most. @return false if it is none */
bool options_number(const char *word, uint64_t least, uint64_t most, uint64_t *result);

#endif
