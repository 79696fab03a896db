// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/base/options.h"

#include "lib/base/escape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
	MAX_LETTERS = 32,
};

static int next_option(int argc, char **argv, const char *letters, const struct option *known,
		       int *index)
{
	char with_colon[MAX_LETTERS];
	int is_ordered = letters[0] == '+', at = optind, option;

	// A colon tells a missing value from an option that is not known.
	snprintf(with_colon, sizeof(with_colon), "%s:%s", is_ordered ? "+" : "",
		 letters + is_ordered);
	opterr = 0;
	option = getopt_long(argc, argv, with_colon, known, index);
	if (option != '?' && option != ':')
		return option;

	// getopt stays at a word until it has taken all of its letters.
	const char *word = argv[optind > at ? optind - 1 : optind];

	if (option == ':')
		heap_print(stderr, "%s: option '%s' requires an argument\n", argv[0], word);
	else if (word[0] == '-' && word[1] != '-')
		heap_print(stderr, "%s: invalid option -- '%c'\n", argv[0], optopt);
	else
		heap_print(stderr, "%s: unrecognized option '%s'\n", argv[0], word);
	return '?';
}

static void print_usage(const struct options_program *program, FILE *stream)
{
	fputs(program->usage, stream);
	if (program->print_rest)
		program->print_rest(stream);
}

bool options_misused(const struct options_program *program)
{
	print_usage(program, stderr);
	return false;
}

int options_take(const struct options_program *program, int argc, char **argv, const char *letters,
		 const struct option *known, int *index)
{
	int option = next_option(argc, argv, letters, known, index);

	switch (option) {
	case 'h':
		print_usage(program, stdout);
		exit(0);
	case 'V':
		printf("%s %s\n", program->name, HEAPSH_VERSION);
		exit(0);
	case '?':
		print_usage(program, stderr);
	}
	return option;
}

bool options_complain(const struct options_program *program, const char *option, const char *value,
		      const char *expected)
{
	heap_print(stderr, "%s: --%s %s: not %s\n", program->name, option, value, expected);
	return options_misused(program);
}

bool options_number(const char *word, uint64_t least, uint64_t most, uint64_t *result)
{
	char *end;

	errno = 0;
	*result = strtoull(word, &end, 10);
	return *word >= '0' && *word <= '9' && !*end && errno == 0 && *result >= least &&
	       *result <= most;
}

bool options_take_number(const struct options_program *program, const char *option, uint64_t least,
			 uint64_t most, uint64_t *result)
{
	char expected[64] = "a number";

	if (options_number(optarg, least, most, result))
		return true;
	if (most < UINT64_MAX)
		snprintf(expected, sizeof(expected), "a number from %" PRIu64 " to %" PRIu64, least,
			 most);
	return options_complain(program, option, optarg, expected);
}

bool options_limit(const struct options_program *program, uint64_t *limit)
{
	return options_take_number(program, "limit", 0, UINT64_MAX, limit);
}

bool options_have_operands(const struct options_program *program, int argc, int wanted)
{
	return argc - optind == wanted || options_misused(program);
}
