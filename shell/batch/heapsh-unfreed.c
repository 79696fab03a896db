// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-unfreed: what there is in a snapshot, leaked, perhaps held by a register that is not
 * known (lib/graph/leaks.h), and reachable apart. Of the snapshot that is taken when a program ends, that is what was never freed: heapsnap run --report-at-exit.
 *
 * If the program has called heapsnap_checkpoint(), only what came after counts.
 */
#include "lib/base/array.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/graph/leaks.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/base/options.h"
#include "shell/series/filter.h"
#include "shell/tables/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	EXIT_NONE = 1,
	EXIT_TROUBLE = 2,
	DEFAULT_LIMIT = 20,
};

enum part {
	LEAKED,
	PERHAPS,
	REACHABLE,
	PARTS,
};

struct options {
	bool json;
	bool all; // also what was there at the checkpoint
	enum tally_by by;
	uint64_t limit;
	char *type; // or NULL
};

static const struct options_program program = {
	.name = "heapsh-unfreed",
	.usage = "usage: heapsh-unfreed [--json] [--by kind|type|site|module] [--limit N]\n"
		 "           [--type NAME] [--all] FILE\n",
};

static bool take_option(int option, struct options *options)
{
	switch (option) {
	case 'j':
		options->json = true;
		return true;
	case 'a':
		options->all = true;
		return true;
	case 't':
		options->type = optarg;
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
		{ "json", no_argument, NULL, 'j' },        { "all", no_argument, NULL, 'a' },
		{ "type", required_argument, NULL, 't' },  { "by", required_argument, NULL, 'b' },
		{ "limit", required_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },     { NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = options_take(&program, argc, argv, "", known, NULL)) != -1) {
		if (!take_option(option, options))
			return false;
	}
	return options_have_operands(&program, argc, 1);
}

// --- counting ------------------------------------------------------------------------

struct row {
	heap_kind_id kind;
	struct heap_amount of[PARTS];
};

struct unfreed {
	struct heap_census *census; // for kinds and their names alone
	struct heap_leaks leaks;
	struct tally tally;
	struct row *rows; // [row_count]
	heap_kind_id row_count, row_capacity;
	struct heap_amount of[PARTS];
};

HEAP_MUST_CHECK
static struct heap_error *widen_rows(struct unfreed *unfreed, heap_kind_id count)
{
	HEAP_TRY(heap_reserve(unfreed->rows, unfreed->row_capacity, count));
	for (; unfreed->row_count < count; unfreed->row_count++)
		unfreed->rows[unfreed->row_count] = (struct row){ 0 };
	return NULL;
}

static enum part part_of(enum heap_leak_class class)
{
	switch (class) {
	case HEAP_LEAK_DIRECT:
	case HEAP_LEAK_CYCLE:
	case HEAP_LEAK_INDIRECT:
		return LEAKED;
	case HEAP_LEAK_PERHAPS:
		return PERHAPS;
	default:
		return REACHABLE;
	}
}

HEAP_MUST_CHECK
static struct heap_error *add(struct unfreed *unfreed, struct session *session,
			      heap_object_id object)
{
	enum part part = part_of(unfreed->leaks.class_of[object]);
	uint64_t size = session->snapshot->size[object];
	heap_kind_id kind;

	HEAP_TRY(tally_kind(&unfreed->tally, session, unfreed->census, object, &kind));
	HEAP_TRY(widen_rows(unfreed, kind + 1));
	unfreed->rows[kind].of[part].objects++;
	unfreed->rows[kind].of[part].bytes += size;
	unfreed->of[part].objects++;
	unfreed->of[part].bytes += size;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct unfreed *unfreed, struct session *session,
				  const struct options *options, struct heap_filter **filter)
{
	static char type[] = "type";
	char *words[] = { type, options->type };

	*filter = NULL;
	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_BIRTH));
	HEAP_TRY(session_edges(session));
	HEAP_TRY(heap_leaks_find(session->graph, NULL, NULL, &unfreed->leaks));
	if (options->type)
		HEAP_TRY(session_filter_leniently(session, 2, words, filter));
	HEAP_TRY(heap_census_create(&unfreed->census));
	return tally_begin(&unfreed->tally, session, unfreed->census);
}

HEAP_MUST_CHECK
static struct heap_error *count(struct unfreed *unfreed, struct session *session,
				const struct options *options)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t since = options->all ? 0 : snapshot->info.checkpoint_ns;
	CLEANUP(heap_filter_cleanup) struct heap_filter *filter = NULL;

	HEAP_TRY(prepare(unfreed, session, options, &filter));
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (heap_snapshot_birth_ns(snapshot, i) >= since &&
		    (!filter || heap_filter_matches(filter, i)))
			HEAP_TRY(add(unfreed, session, i));
	}
	for (heap_kind_id i = 0; i < unfreed->row_count; i++)
		unfreed->rows[i].kind = i;
	return NULL;
}

// --- telling -------------------------------------------------------------------------

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct row *a = left, *b = right;
	enum part part = *(const enum part *)context;

	if (a->of[part].bytes != b->of[part].bytes)
		return a->of[part].bytes > b->of[part].bytes ? -1 : 1;
	if (a->of[part].objects != b->of[part].objects)
		return a->of[part].objects > b->of[part].objects ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static void print_row(struct session *session, const char *name, const struct heap_amount *amount)
{
	struct output *output = session->output;

	table_row(output, "%10" PRIu64 "\t%12s\t%s", amount->objects,
		  describe_bytes(session, amount->bytes), name);
	output_open_object(output, NULL);
	output_string(output, "name", name);
	output_number(output, "objects", amount->objects);
	output_number(output, "bytes", amount->bytes);
	output_close(output);
}

static void print_part(struct session *session, struct unfreed *unfreed, enum part part,
		       uint64_t limit)
{
	static const char *const names[] = { "leaked", "perhaps", "reachable" };
	const char *const titles[] = {
		"Leaked",
		heap_leaks_lack_memory(session->snapshot) ? "Perhaps held by memory that is missing"
							  : "Perhaps held by a register",
		"Still reachable",
	};
	const struct heap_amount *all = &unfreed->of[part];
	struct output *output = session->output;
	heap_kind_id shown = 0, left_out = 0;

	if (part != PERHAPS || all->objects > 0)
		output_text(output, "%s: %" PRIu64 " object%s, %s\n", titles[part], all->objects,
			    format_plural(all->objects), describe_bytes(session, all->bytes));
	output_open_object(output, names[part]);
	output_number(output, "objects", all->objects);
	output_number(output, "bytes", all->bytes);
	output_open_array(output, "kinds");
	qsort_r(unfreed->rows, unfreed->row_count, sizeof(*unfreed->rows), compare_rows, &part);
	for (heap_kind_id i = 0; i < unfreed->row_count; i++) {
		const struct row *row = &unfreed->rows[i];

		if (row->of[part].objects == 0)
			continue;
		if (shown++ < limit)
			print_row(session, heap_census_name_of(unfreed->census, row->kind),
				  &row->of[part]);
		else
			left_out++;
	}
	output_close(output);
	output_close(output);
	if (left_out > 0)
		table_row(output, "%10s\t%12s\tand %" PRIu32 " more", "", "", left_out);
}

static void print(struct session *session, struct unfreed *unfreed, const struct options *options)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;
	bool since = info->checkpoint_ns && !options->all;

	output_text(output, "Heap of %s (pid %" PRIu64 "): what has not been freed%s\n",
		    describe_name(session, info->program), info->pid,
		    since ? ", of what came after the checkpoint" : "");
	output_open_object(output, NULL);
	output_string(output, "program", info->program);
	output_number(output, "pid", info->pid);
	output_boolean(output, "since_checkpoint", since);
	for (enum part part = 0; part < PARTS; part++)
		print_part(session, unfreed, part, options->limit);
}

HEAP_MUST_CHECK
static struct heap_error *run(struct session *session, const struct options *options,
			      const char *file, struct unfreed *unfreed)
{
	HEAP_TRY(session_open(session, file));
	unfreed->tally.by = options->by;
	HEAP_TRY(count(unfreed, session, options));
	print(session, unfreed, options);
	if (!output_finish(session->output))
		return heap_standard_output_error();
	return NULL;
}

int main(int argc, char **argv)
{
	struct options options = { .limit = DEFAULT_LIMIT };
	struct session session = { .errors = stderr };
	struct unfreed unfreed = { 0 };
	struct heap_error *error;
	uint64_t objects;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	session.output = output_create(stdout, options.json ? OUTPUT_JSON : OUTPUT_TEXT, false);
	error = session.output ? run(&session, &options, argv[optind], &unfreed)
			       : heap_error_out_of_memory();
	objects = 0;
	for (enum part part = 0; part < PARTS; part++)
		objects += unfreed.of[part].objects;
	heap_leaks_deinit(&unfreed.leaks);
	tally_deinit(&unfreed.tally);
	heap_census_destroy(unfreed.census);
	free(unfreed.rows);
	session_close(&session);
	output_destroy(session.output);
	if (error) {
		heap_print(stderr, "heapsh-unfreed: %s\n", heap_error_message(error));
		heap_error_destroy(error);
		return EXIT_TROUBLE;
	}
	return objects ? 0 : EXIT_NONE;
}
