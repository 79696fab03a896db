// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-check: a gate for builds. Fails if the heap of a program grows by loop, leaks more than a
 * budget allows, or breaks a rule.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "shell/base/numbered.h"
#include "shell/base/options.h"
#include "shell/check/forms.h"
#include "shell/check/loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	EXIT_FAILED = 1,
	EXIT_TROUBLE = 2,
	MAX_LOOPS = 1000,
};

struct options {
	struct check_options check;
	enum check_form form;
	uint64_t loops; // 0: snapshots are given
	const char *keep;
	const char *name;
};

static const struct options_program program = {
	.name = "heapsh-check",
	.usage = "usage: heapsh-check [OPTION]... SNAPSHOT...\n"
		 "       heapsh-check [OPTION]... --loops N [--keep DIRECTORY] -- PROGRAM "
		 "[ARGUMENT]...\n"
		 "options: [--rules FILE] [--rule RULE]... [--max-leaked N|SIZE] [--suppressions "
		 "FILE]\n"
		 "         [--warmup N] [--strict] [--format text|json|junit|sarif] [--name NAME] "
		 "[--source-root DIRECTORY]\n",
};

HEAP_MUST_CHECK
static struct heap_error *add_leak_budget(struct rules *rules, const char *limit)
{
	CLEANUP_FREE char *rule = NULL;

	if (asprintf(&rule, "leaked <= %s", limit) < 0) {
		rule = NULL;
		return heap_error_out_of_memory();
	}
	return rules_add(rules, rule);
}

// @return false, and says so, if there is an error, which is taken over
static bool complain(struct heap_error *error)
{
	if (!error)
		return true;
	heap_print(stderr, "heapsh-check: %s\n", heap_error_message(error));
	heap_error_destroy(error);
	return false;
}

static bool take_option(int option, struct options *options)
{
	struct rules *rules = &options->check.rules;

	switch (option) {
	case 'r':
		return complain(rules_read(rules, optarg));
	case 'R':
		return complain(rules_add(rules, optarg));
	case 'm':
		return complain(add_leak_budget(rules, optarg));
	case 's':
		options->check.suppressions = optarg;
		return true;
	case 'k':
		options->keep = optarg;
		return true;
	case 'n':
		options->name = optarg;
		return true;
	case 'w':
		return options_take_number(&program, "warmup", 1, MAX_LOOPS,
					   &options->check.warmup);
	case 'l':
		return options_take_number(&program, "loops", 1, MAX_LOOPS, &options->loops);
	case 'd':
		options->check.source_root = optarg;
		return true;
	case 'S':
		options->check.is_strict = true;
		return true;
	case 'f':
		options->form = check_form_parse(optarg);
		return options->form != CHECK_FORMS ||
		       options_complain(&program, "format", optarg, "text, json, junit or sarif");
	default:
		return false;
	}
}

static bool parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "rules", required_argument, NULL, 'r' },
		{ "rule", required_argument, NULL, 'R' },
		{ "max-leaked", required_argument, NULL, 'm' },
		{ "suppressions", required_argument, NULL, 's' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "loops", required_argument, NULL, 'l' },
		{ "keep", required_argument, NULL, 'k' },
		{ "source-root", required_argument, NULL, 'd' },
		{ "strict", no_argument, NULL, 'S' },
		{ "format", required_argument, NULL, 'f' },
		{ "name", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	// Options behind the program are the program's.
	while ((option = options_take(&program, argc, argv, "+", known, NULL)) != -1) {
		if (!take_option(option, options))
			return false;
	}
	if (optind < argc && (options->loops > 0 || !options->keep))
		return true;
	return options_misused(&program);
}

// The session's output, and the rest of what main() frees.
struct run {
	struct session session;
	struct loops loops;
	struct check check;
};

static bool is_program(const char *path)
{
	struct stat status;
	// A pipe gives its bytes only once.
	bool is_file = stat(path, &status) == 0 && S_ISREG(status.st_mode);
	CLEANUP_FILE FILE *file = is_file ? fopen(path, "re") : NULL;
	char start[4] = { 0 };

	return file && fread(start, 1, sizeof(start), file) == sizeof(start) &&
	       (memcmp(start, "\177ELF", 4) == 0 || memcmp(start, "#!", 2) == 0);
}

// Without --loops, a program is taken for the name of a snapshot.
HEAP_MUST_CHECK
static struct heap_error *refuse_program(const char *word)
{
	if (!is_program(word))
		return NULL;
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%s: a program, not a snapshot: --loops N runs it, if it calls "
				 "heapsnap_checkpoint()",
				 word);
}

HEAP_MUST_CHECK
static struct heap_error *run(struct run *run, const struct options *options, char **words,
			      size_t count)
{
	run->session.output = output_create(stdout, check_form_mode(options->form), false);
	if (!run->session.output)
		return heap_error_out_of_memory();
	if (options->loops > 0) {
		HEAP_TRY(check_loops(&options->check, options->loops));
		HEAP_TRY(loops_run(&run->loops, options->loops, options->keep, words));
		HEAP_TRY(check_run(&run->check, &options->check, &run->session,
				   run->loops.files.items, run->loops.files.count));
	} else {
		HEAP_TRY(refuse_program(words[0]));
		numbered_sort(words, count);
		HEAP_TRY(check_run(&run->check, &options->check, &run->session, words, count));
	}
	check_print(&run->check, &run->session, options->form, options->name);
	return output_finish(run->session.output) ? NULL : heap_standard_output_error();
}

int main(int argc, char **argv)
{
	struct options options = { .check = { .warmup = 1 } };
	struct run state = { .session = { .errors = stderr } };
	struct heap_error *error;
	int status = EXIT_TROUBLE;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	progress_init(&state.session.progress, NULL);
	if (parse_options(argc, argv, &options)) {
		error = run(&state, &options, argv + optind, (size_t)(argc - optind));
		if (complain(error))
			status = state.check.failures > 0 ? EXIT_FAILED : 0;
	}
	check_deinit(&state.check);
	loops_deinit(&state.loops);
	session_close(&state.session);
	output_destroy(state.session.output);
	rules_deinit(&options.check.rules);
	return status;
}
