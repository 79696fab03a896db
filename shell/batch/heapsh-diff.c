// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-diff: what has changed from one snapshot to another.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "shell/series/difference.h"
#include "shell/series/difference_retained.h"
#include "shell/base/format.h"
#include "shell/base/options.h"
#include "lib/series/identity.h"
#include "shell/print/describe.h"
#include "shell/print/memory_use.h"

#include <stdlib.h>
#include <string.h>

enum {
	EXIT_SAME = 1,
	EXIT_TROUBLE = 2,
	DEFAULT_RETAINED = 10,
};

struct options {
	bool quiet;
	bool json;
	bool all;
	bool retained;
	bool conservative; // words of stacks count like variables
	enum tally_by by;
	uint64_t limit;
};

static const struct options_program program = {
	.name = "heapsh-diff",
	.usage = "usage: heapsh-diff [-q|--quiet] [--json] [--by kind|type|site|module] [--limit "
		 "N]\n"
		 "           [--all] [--retained] [--conservative] BEFORE AFTER\n",
};

static bool take_option(int option, struct options *options)
{
	switch (option) {
	case 'q':
		options->quiet = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'a':
		options->all = true;
		return true;
	case 'r':
		options->retained = true;
		return true;
	case 'k':
		options->conservative = true;
		return true;
	case 'b':
		options->by = tally_parse(optarg);
		return options->by != TALLY_WAYS ||
		       options_complain(&program, "by", optarg, "kind, type, site or module");
	case 'l':
		return options_limit(&program, &options->limit);
	default:
		return false;
	}
}

static bool parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "quiet", no_argument, NULL, 'q' },    { "json", no_argument, NULL, 'j' },
		{ "all", no_argument, NULL, 'a' },      { "retained", no_argument, NULL, 'r' },
		{ "by", required_argument, NULL, 'b' }, { "limit", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },     { "conservative", no_argument, NULL, 'k' },
		{ "version", no_argument, NULL, 'V' },  { NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = options_take(&program, argc, argv, "q", known, NULL)) != -1) {
		if (!take_option(option, options))
			return false;
	}
	return options_have_operands(&program, argc, 2);
}

static bool has_changed(const struct difference *difference)
{
	if (difference->has_retyped)
		return true;
	for (size_t i = 0; i < difference->row_count; i++) {
		const struct heap_amount *of = difference->rows[i].of;

		if (of[HEAP_CHANGE_ADDED].objects || of[HEAP_CHANGE_FREED].objects ||
		    of[HEAP_CHANGE_MOVED].objects || of[HEAP_CHANGE_RESIZED].objects)
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *compare(struct session *before, struct session *after,
				  const struct options *options, bool *changed)
{
	CLEANUP(heap_comparison_deinit) struct heap_comparison comparison = { 0 };
	CLEANUP(difference_deinit) struct difference difference = { 0 };
	const struct memory_use use = memory_use_of(before->snapshot);

	HEAP_TRY(heap_comparison_init(&comparison, before->snapshot, after->snapshot));
	if (!options->quiet &&
	    !heap_is_one_process(&before->snapshot->info, &after->snapshot->info))
		fputs("heapsh-diff: snapshots of different processes have no object in common: "
		      "counts alone can be compared\n",
		      stderr);
	HEAP_TRY(difference_init(&difference, &comparison, before, after, options->by));
	*changed = has_changed(&difference);
	output_open_object(after->output, NULL);
	describe_unknown_sites(after, options->by == TALLY_SITE);
	describe_unknown_births(after, before);
	difference_print(&difference, after, options->by, options->limit, options->all);
	memory_use_print_growth(after, &use);
	if (options->retained)
		HEAP_TRY(difference_print_retained(&comparison, before, after,
						   options->limit == UINT64_MAX ? DEFAULT_RETAINED
										: options->limit));
	if (!output_finish(after->output))
		return heap_standard_output_error();
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct session sessions[2], char *const *files,
			      const struct options *options, bool *changed)
{
	HEAP_TRY(session_open(&sessions[0], files[0]));
	HEAP_TRY(session_open(&sessions[1], files[1]));
	session_set_conservative(&sessions[0], options->conservative);
	session_set_conservative(&sessions[1], options->conservative);
	return compare(&sessions[0], &sessions[1], options, changed);
}

int main(int argc, char **argv)
{
	struct options options = { .limit = UINT64_MAX };
	struct session sessions[2] = { { .errors = stderr }, { .errors = stderr } };
	struct output *output;
	struct heap_error *error;
	bool changed = false;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	sessions[0].quiet = sessions[1].quiet = options.quiet;
	output = output_create(stdout, options.json ? OUTPUT_JSON : OUTPUT_TEXT, false);
	sessions[0].output = sessions[1].output = output;
	error = output ? run(sessions, argv + optind, &options, &changed)
		       : heap_error_out_of_memory();
	session_close(&sessions[0]);
	session_close(&sessions[1]);
	output_destroy(output);
	if (error) {
		heap_print(stderr, "heapsh-diff: %s\n", heap_error_message(error));
		heap_error_destroy(error);
		return EXIT_TROUBLE;
	}
	return changed ? 0 : EXIT_SAME;
}
