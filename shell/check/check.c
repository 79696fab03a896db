// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/check/check.h"

#include "lib/base/nearest.h"
#include "lib/graph/suppressions.h"
#include "lib/series/loop_growth.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"
#include "shell/print/path.h"
#include "shell/series/candidates.h"
#include "shell/tables/leak_groups.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
	WAYS = 3,
	LEAKS_SHOWN = 10,
};

// The order in which growth is named: the first that grows stands for the others.
static const enum tally_by ways[WAYS] = { TALLY_KIND, TALLY_SITE, TALLY_TYPE };

enum {
	BY_KIND,
	BY_SITE,
	BY_TYPE
};

struct example {
	heap_object_id object;
	unsigned rank; // came after the warm-up and stayed: 3; came at all: 2; any: 1; none: 0
};

// The series as it has been read so far. Suppressed objects count for `total` alone.
struct reading {
	struct heap_series *series;
	struct heap_census *census[WAYS];
	struct tally tally[WAYS];
	struct example *examples[WAYS]; // [kinds], of the last snapshot
	uint8_t *is_told[WAYS];         // [kinds]
	struct HEAP_ARRAY(struct heap_amount) total;
	struct heap_suppressions *suppressions; // of the last snapshot, or NULL
	uint64_t *values;                       // [loops + 1] scratch
	const char *source_root;                // check_options'
	size_t from;                            // the first snapshot that is judged
	size_t count;                           // of those
};

static void reading_deinit(struct reading *reading)
{
	for (int i = 0; i < WAYS; i++) {
		tally_deinit(&reading->tally[i]);
		heap_census_destroy(reading->census[i]);
		free(reading->examples[i]);
		free(reading->is_told[i]);
	}
	heap_suppressions_destroy(reading->suppressions);
	heap_array_deinit(&reading->total);
	free(reading->values);
	heap_series_destroy(reading->series);
}

HEAP_MUST_CHECK
static struct heap_error *reading_init(struct reading *reading)
{
	for (int i = 0; i < WAYS; i++) {
		reading->tally[i].by = ways[i];
		HEAP_TRY(heap_census_create(&reading->census[i]));
	}
	return heap_series_create(&reading->series);
}

// --- reading -------------------------------------------------------------------------

static bool is_suppressed(struct reading *reading, heap_object_id object)
{
	return reading->suppressions && heap_suppressions_match(reading->suppressions, object);
}

HEAP_MUST_CHECK
static struct heap_error *count_object(struct reading *reading, struct session *session,
				       heap_object_id object)
{
	uint64_t size = session->snapshot->size[object];
	struct heap_amount *total = &reading->total.items[reading->total.count - 1];

	total->objects++;
	total->bytes += size;
	for (int i = 0; i < WAYS && !is_suppressed(reading, object); i++) {
		heap_kind_id kind;

		HEAP_TRY(
			tally_kind(&reading->tally[i], session, reading->census[i], object, &kind));
		heap_census_add(reading->census[i], kind, 1, size);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_file(struct reading *reading, struct session *session,
				    const char *suppressions, const char *file)
{
	struct heap_snapshot *snapshot;

	heap_suppressions_destroy(reading->suppressions);
	reading->suppressions = NULL;
	HEAP_TRY(heap_snapshot_open(file, &snapshot));
	HEAP_TRY(heap_series_add(reading->series, snapshot));
	session->snapshot = snapshot;
	memset(session->mentions, 0, sizeof(session->mentions));
	if (suppressions)
		HEAP_TRY(heap_suppressions_read(suppressions, snapshot, &reading->suppressions));
	for (int i = 0; i < WAYS; i++)
		HEAP_TRY(tally_begin(&reading->tally[i], session, reading->census[i]));
	HEAP_TRY(heap_array_append(&reading->total, (struct heap_amount){ 0 }));
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		HEAP_TRY(count_object(reading, session, i));
	session_end_command(session);
	return NULL;
}

// Prefers an object that came after the warm-up and stayed.
static unsigned rank_of(const struct reading *reading, heap_object_id object)
{
	uint32_t first = heap_series_first_seen(reading->series, object);
	uint32_t last = heap_series_length(reading->series) - 1;

	return first > reading->from && first < last ? 3 : first > reading->from ? 2 : 1;
}

HEAP_MUST_CHECK
static struct heap_error *find_examples(struct reading *reading, struct session *session)
{
	for (int i = 0; i < WAYS; i++) {
		size_t kinds = (size_t)heap_census_kinds(reading->census[i]) + 1;

		reading->examples[i] = calloc(kinds, sizeof(*reading->examples[i]));
		reading->is_told[i] = calloc(kinds, 1);
		if (!reading->examples[i] || !reading->is_told[i])
			return heap_error_out_of_memory();
	}
	for (heap_object_id i = 0; i < session->snapshot->object_count; i++) {
		unsigned rank = rank_of(reading, i);

		for (int j = 0; j < WAYS && !is_suppressed(reading, i); j++) {
			heap_kind_id kind;

			HEAP_TRY(tally_kind(&reading->tally[j], session, reading->census[j], i,
					    &kind));
			if (reading->examples[j][kind].rank < rank)
				reading->examples[j][kind] = (struct example){ i, rank };
		}
	}
	return NULL;
}

// --- what holds it -------------------------------------------------------------------

// A path as text, whatever the form of the answer is.
HEAP_MUST_CHECK
static struct heap_error *format_path(struct session *session, const struct heap_path *path,
				      const char **result)
{
	struct output *answer = session->output;
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	struct output *output = stream ? output_create(stream, OUTPUT_TEXT, false) : NULL;

	if (output) {
		session->output = output;
		path_print(session, NULL, path, "  ");
		output_finish(output);
		session->output = answer;
		output_destroy(output);
	}
	if (stream)
		fclose(stream);
	if (!output) {
		free(text);
		return heap_error_out_of_memory();
	}
	*result = session_keep(session, text);
	return NULL;
}

static bool is_absent(struct heap_error *error)
{
	return error && heap_error_code(error) == HEAP_ERROR_ABSENT;
}

// Prefers a path by variables and members to a shorter one by a word of a stack.
HEAP_MUST_CHECK
static struct heap_error *find_path(struct session *session, heap_object_id object,
				    const char **result)
{
	struct heap_path_limits limits = { .typed_only = true };
	CLEANUP(heap_path_deinit) struct heap_path path = { 0 };
	struct heap_error *error;

	*result = "";
	HEAP_TRY(session_edges(session));
	HEAP_TRY(session_divided(session));
	limits.divided = session->divided;
	error = heap_path_find_within(session->graph, object, &limits, &path);
	if (is_absent(error)) {
		heap_error_destroy(error);
		limits.typed_only = false;
		error = heap_path_find_within(session->graph, object, &limits, &path);
	}
	if (is_absent(error)) {
		heap_error_destroy(error);
		return NULL;
	}
	HEAP_TRY(error);
	HEAP_TRY(path_load(session, &path, 1));
	return format_path(session, &path, result);
}

// The rest of a path in a directory, or NULL.
static const char *inside(const char *path, const char *directory)
{
	size_t length = directory ? strlen(directory) : 0;

	while (length > 0 && directory[length - 1] == '/')
		length--;
	return length > 0 && strncmp(path, directory, length) == 0 && path[length] == '/'
		       ? path + length + 1
		       : NULL;
}

// Compilers note the working directory as the shell names it ($PWD), or without symbolic links.
static void set_place(struct check_finding *finding, const struct reading *reading,
		      struct session *session, const struct heap_site *site)
{
	const char *file = heap_snapshot_string(session->snapshot, site->file);
	const char *root = reading->source_root ? reading->source_root : getenv("PWD");
	const char *rest = inside(file, root);
	CLEANUP_FREE char *real = realpath(reading->source_root ? reading->source_root : ".", NULL);

	if (!rest)
		rest = inside(file, real);
	finding->file = session_keep(session, strdup(rest ? rest : file));
	finding->line = site->line;
}

// Says what holds an object, and the path to it; and where objects like it come from.
HEAP_MUST_CHECK
static struct heap_error *explain(struct check_finding *finding, struct reading *reading,
				  struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *holder, *path;

	HEAP_TRY(candidates_holder(session, reading->series, object, &holder));
	HEAP_TRY(find_path(session, object, &path));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SITE));
	set_place(finding, reading, session, &snapshot->sites[snapshot->site[object]]);
	finding->details =
		session_format(session, "%sheld by %s, such as %s%s%s\n", finding->details, holder,
			       describe_object(session, object), *path ? ":\n" : "", path);
	if (*path) // which ends with a newline of its own
		finding->details = session_format(
			session, "%.*s", (int)strlen(finding->details) - 1, finding->details);
	return NULL;
}

// --- growth --------------------------------------------------------------------------

static const char *join_values(struct session *session, const uint64_t *values, size_t count)
{
	const char *text = "";
	size_t from = count > 12 ? count - 12 : 0;

	for (size_t i = from; i < count; i++)
		text = session_format(session, "%s%s%" PRIu64, text, i > from ? " " : "",
				      values[i]);
	return from > 0 ? session_format(session, "... %s", text) : text;
}

static const char *format_rate(struct session *session, double rate, bool of_bytes)
{
	if (of_bytes)
		return describe_bytes(session, (uint64_t)round(rate));
	return session_format(session,
			      fabs(rate - round(rate)) < 0.005 ? "%.0f object%s" : "%.2f object%s",
			      rate, rate == 1 ? "" : "s");
}

static struct heap_loop_growth growth_of(struct reading *reading, int way, heap_kind_id kind,
					 bool of_bytes)
{
	for (size_t i = 0; i < reading->count; i++) {
		struct heap_amount amount =
			heap_census_amount(reading->census[way], kind, reading->from + i);

		reading->values[i] = of_bytes ? amount.bytes : amount.objects;
	}
	return heap_loop_growth_of(reading->values, reading->count);
}

static const char *describe_history(struct session *session, const struct reading *reading,
				    bool of_bytes)
{
	return session_format(session, "%s: %s\n", of_bytes ? "bytes" : "objects",
			      join_values(session, reading->values, reading->count));
}

static const char *name_of(const struct reading *reading, int way, heap_kind_id kind)
{
	return heap_census_name_of(reading->census[way], kind);
}

// The kinds, in the other ways of counting, of a kind's example.
HEAP_MUST_CHECK
static struct heap_error *find_relatives(struct reading *reading, struct session *session,
					 heap_object_id object, heap_kind_id *relatives)
{
	for (int i = 0; i < WAYS; i++)
		HEAP_TRY(tally_kind(&reading->tally[i], session, reading->census[i], object,
				    &relatives[i]));
	return NULL;
}

// True if a rule says how much a kind may grow.
static bool has_rule(const struct check_options *options, const struct reading *reading,
		     const heap_kind_id *relatives, int way)
{
	for (size_t i = 0; i < options->rules.count; i++) {
		const struct rule *rule = &options->rules.items[i];

		if (!rule->per_loop)
			continue;
		if (way != BY_SITE &&
		    rule_matches(rule, RULE_TYPE, name_of(reading, BY_TYPE, relatives[BY_TYPE])))
			return true;
		if (way != BY_TYPE &&
		    rule_matches(rule, RULE_SITE, name_of(reading, BY_SITE, relatives[BY_SITE])))
			return true;
	}
	return false;
}

// A kind that grows and that no rule names.
struct grown {
	int way;
	heap_kind_id kind;
	heap_object_id example;
	double objects, bytes; // per loop
};

struct all_grown HEAP_ARRAY(struct grown);

static int compare_grown(const void *left, const void *right)
{
	const struct grown *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->way != b->way)
		return a->way - b->way;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

HEAP_MUST_CHECK
static struct heap_error *judge_kind(struct reading *reading, const struct check_options *options,
				     struct session *session, int way, heap_kind_id kind,
				     struct all_grown *all)
{
	struct example example = reading->examples[way][kind];
	struct heap_loop_growth objects = growth_of(reading, way, kind, false);
	struct heap_loop_growth bytes = growth_of(reading, way, kind, true);
	heap_kind_id relatives[WAYS];

	if (example.rank == 0 || reading->is_told[way][kind] || (!objects.grows && !bytes.grows))
		return NULL;
	// Objects without a type have nothing in common but what their sites tell.
	if (way == BY_TYPE && session->snapshot->type[example.object] == HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(find_relatives(reading, session, example.object, relatives));
	if (way == BY_KIND) {
		reading->is_told[BY_SITE][relatives[BY_SITE]] = 1;
		reading->is_told[BY_TYPE][relatives[BY_TYPE]] = 1;
	} else if (way == BY_SITE) {
		reading->is_told[BY_TYPE][relatives[BY_TYPE]] = 1;
	}
	if (has_rule(options, reading, relatives, way))
		return NULL;
	return heap_array_append(
		all, (struct grown){ way, kind, example.object, objects.per_loop, bytes.per_loop });
}

HEAP_MUST_CHECK
static struct heap_error *add_finding(struct check *check, struct check_finding finding)
{
	check->failures += finding.failed;
	return heap_array_append(&check->findings, finding);
}

HEAP_MUST_CHECK
static struct heap_error *tell_grown(struct check *check, struct reading *reading,
				     struct session *session, const struct grown *grown)
{
	bool of_bytes = grown->objects == 0;
	struct heap_loop_growth growth = growth_of(reading, grown->way, grown->kind, of_bytes);
	struct check_finding finding = { .failed = true, .rule = "growth", .file = "" };
	const char *rate = format_rate(session, of_bytes ? grown->bytes : grown->objects, of_bytes);

	if (!of_bytes && grown->bytes > 0)
		rate = session_format(session, "%s, %s", rate,
				      format_rate(session, grown->bytes, true));
	finding.name = session_keep(session, strdup(name_of(reading, grown->way, grown->kind)));
	finding.message = session_format(session, "%s grows by %s per loop, in %zu of %zu loops",
					 finding.name, rate, growth.rises, reading->count - 1);
	finding.details = describe_history(session, reading, of_bytes);
	HEAP_TRY(explain(&finding, reading, session, grown->example));
	return add_finding(check, finding);
}

HEAP_MUST_CHECK
static struct heap_error *check_growth(struct check *check, struct reading *reading,
				       const struct check_options *options, struct session *session)
{
	CLEANUP_ARRAY struct all_grown all = { 0 };

	for (int i = 0; i < WAYS; i++) {
		for (heap_kind_id j = 0; j < heap_census_kinds(reading->census[i]); j++)
			HEAP_TRY(judge_kind(reading, options, session, i, j, &all));
	}
	if (all.count > 0)
		qsort(all.items, all.count, sizeof(*all.items), compare_grown);
	for (size_t i = 0; i < all.count && i < CHECK_SHOWN; i++)
		HEAP_TRY(tell_grown(check, reading, session, &all.items[i]));
	if (all.count > 0 && all.count <= CHECK_SHOWN)
		return NULL;
	return add_finding(
		check,
		(struct check_finding){
			.failed = all.count > 0,
			.rule = "growth",
			.name = "growth",
			.message = all.count > 0
					   ? session_format(session, "%zu more grow by loop",
							    all.count - CHECK_SHOWN)
					   : session_format(session,
							    "nothing grows by loop, in %" PRIu64
							    " loops",
							    check->loops),
			.details = "",
			.file = "",
		});
}

// --- rules ---------------------------------------------------------------------------

static const char *format_amount(struct session *session, uint64_t amount, bool of_bytes)
{
	return of_bytes ? describe_bytes(session, amount)
			: session_format(session, "%" PRIu64 " object%s", amount,
					 format_plural(amount));
}

// Sums what a rule is about, in each snapshot, and finds an object of it.
// @return false: no snapshot has such a type or site
static bool sum_values(const struct rule *rule, struct reading *reading, struct example *example)
{
	bool is_matched = false;

	int way = rule->subject == RULE_SITE ? BY_SITE : BY_TYPE;

	memset(reading->values, 0, reading->count * sizeof(*reading->values));
	for (size_t i = 0; rule->subject == RULE_TOTAL && i < reading->count; i++) {
		const struct heap_amount *total = &reading->total.items[reading->from + i];

		reading->values[i] = rule->of_bytes ? total->bytes : total->objects;
	}
	if (rule->subject == RULE_TOTAL)
		return true;
	for (heap_kind_id i = 0; i < heap_census_kinds(reading->census[way]); i++) {
		if (!rule_matches(rule, rule->subject, name_of(reading, way, i)))
			continue;
		is_matched = true;
		if (reading->examples[way][i].rank > example->rank)
			*example = reading->examples[way][i];
		for (size_t j = 0; j < reading->count; j++) {
			struct heap_amount amount =
				heap_census_amount(reading->census[way], i, reading->from + j);

			reading->values[j] += rule->of_bytes ? amount.bytes : amount.objects;
		}
	}
	return is_matched;
}

// A rule whose name may be wrong; without a type or site it can never fail.
HEAP_MUST_CHECK
static struct heap_error *tell_unmatched(struct check *check, const struct check_options *options,
					 const struct rule *rule, const struct reading *reading,
					 struct session *session)
{
	int way = rule->subject == RULE_SITE ? BY_SITE : BY_TYPE;
	struct heap_nearest nearest;

	heap_nearest_init(&nearest, rule->pattern);
	for (heap_kind_id i = 0; i < heap_census_kinds(reading->census[way]); i++)
		heap_nearest_offer(&nearest, name_of(reading, way, i));
	return add_finding(check,
			   (struct check_finding){
				   .failed = options->is_strict,
				   .is_unmatched = true,
				   .rule = rule->text,
				   .name = rule->pattern,
				   .message = session_format(
					   session, "%s: no snapshot has objects of such a %s%s",
					   rule->pattern, way == BY_SITE ? "site" : "type",
					   session_keep(session, heap_nearest_hint(&nearest))),
				   .details = "",
				   .file = "",
			   });
}

HEAP_MUST_CHECK
static struct heap_error *check_rule(struct check *check, const struct check_options *options,
				     const struct rule *rule, struct reading *reading,
				     struct session *session)
{
	struct check_finding finding = { .rule = rule->text, .details = "", .file = "" };
	struct example example = { 0 };
	const char *limit = format_amount(session, rule->limit, rule->of_bytes), *amount;
	struct heap_loop_growth growth;
	uint64_t last;

	if (!sum_values(rule, reading, &example))
		return tell_unmatched(check, options, rule, reading, session);
	last = reading->values[reading->count - 1];
	growth = heap_loop_growth_of(reading->values, reading->count);
	finding.name = rule->subject == RULE_TOTAL ? "the heap" : rule->pattern;
	if (rule->per_loop) {
		finding.failed = growth.grows && growth.per_loop > (double)rule->limit;
		amount = format_rate(session, growth.per_loop, rule->of_bytes);
		finding.message =
			session_format(session, "%s grows by %s per loop; the limit is %s",
				       finding.name, amount, limit);
		if (finding.failed)
			finding.details = describe_history(session, reading, rule->of_bytes);
	} else {
		finding.failed = last > rule->limit;
		finding.message =
			session_format(session, "%s has %s; the limit is %s", finding.name,
				       format_amount(session, last, rule->of_bytes), limit);
	}
	if (finding.failed && example.rank > 0)
		HEAP_TRY(explain(&finding, reading, session, example.object));
	return add_finding(check, finding);
}

// --- leaks ---------------------------------------------------------------------------

static const char *list_leaks(struct session *session, const struct leak_groups *groups)
{
	const char *text = "";

	for (size_t i = 0; i < groups->count && i < LEAKS_SHOWN; i++) {
		const struct leak_group *group = &groups->all[i];

		text = session_format(session, "%s  %" PRIu64 " %s, %s%s\n", text, group->objects,
				      leak_groups_name(groups, group),
				      describe_bytes(session, group->bytes + group->indirect_bytes),
				      group->indirect_objects ? " with what they hold" : "");
	}
	if (groups->count > LEAKS_SHOWN)
		text = session_format(session, "%s  and %zu more\n", text,
				      groups->count - LEAKS_SHOWN);
	return text;
}

// Names the largest group's site; nothing holds a leak.
HEAP_MUST_CHECK
static struct heap_error *explain_leaks(struct check_finding *finding,
					const struct reading *reading, struct session *session,
					struct leak_groups *groups)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE));
	HEAP_TRY(leak_groups_make(groups));
	finding->details =
		session_format(session, "held by nothing:\n%s", list_leaks(session, groups));
	if (groups->count == 0)
		return NULL;
	set_place(finding, reading, session,
		  &snapshot->sites[snapshot->site[groups->all[0].example]]);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_leaks(struct check *check, const struct rule *rule,
				      struct reading *reading, struct session *session)
{
	static const enum heap_leak_class classes[] = { HEAP_LEAK_DIRECT, HEAP_LEAK_CYCLE,
							HEAP_LEAK_INDIRECT };
	CLEANUP(leak_groups_deinit) struct leak_groups groups = { .session = session };
	struct check_finding finding = {
		.rule = rule->text, .name = "leaked", .details = "", .file = ""
	};
	uint64_t objects = 0, bytes = 0;

	HEAP_TRY(session_edges(session));
	HEAP_TRY(heap_leaks_find(session->graph,
				 reading->suppressions ? heap_suppressions_match : NULL,
				 reading->suppressions, &groups.leaks));
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		objects += groups.leaks.sums[classes[i]].objects;
		bytes += groups.leaks.sums[classes[i]].bytes;
	}
	finding.failed = (rule->of_bytes ? bytes : objects) > rule->limit;
	finding.message = session_format(session, "%s, %s leaked; the limit is %s",
					 format_amount(session, objects, false),
					 describe_bytes(session, bytes),
					 format_amount(session, rule->limit, rule->of_bytes));
	if (finding.failed)
		HEAP_TRY(explain_leaks(&finding, reading, session, &groups));
	return add_finding(check, finding);
}

// --- together ------------------------------------------------------------------------

static bool wants_loops(const struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (rules->items[i].per_loop)
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *need_rule(const struct check_options *options, size_t count)
{
	return count == 1 && options->rules.count == 0
		       ? heap_error_create(HEAP_ERROR_ARGUMENT,
					   "1 snapshot and no rule: there is nothing to check")
		       : NULL;
}

struct heap_error *check_loops(const struct check_options *options, size_t count)
{
	HEAP_TRY(check_count(options, count));
	return need_rule(options, count);
}

struct heap_error *check_count(const struct check_options *options, size_t count)
{
	if ((count == 1 && !wants_loops(&options->rules)) ||
	    (count > HEAP_LOOPS_MIN && options->warmup <= count - HEAP_LOOPS_MIN))
		return NULL;
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%zu snapshot%s; it takes %" PRIu64
				 " to see growth by loop: %" PRIu64 " of the warm-up, and %d",
				 count, format_plural(count), options->warmup + HEAP_LOOPS_MIN,
				 options->warmup, HEAP_LOOPS_MIN);
}

HEAP_MUST_CHECK
static struct heap_error *judge(struct check *check, struct reading *reading,
				const struct check_options *options, struct session *session)
{
	size_t count = reading->total.count;

	reading->from = count > 1 ? options->warmup - 1 : 0;
	reading->count = count - reading->from;
	reading->values = calloc(reading->count, sizeof(*reading->values));
	if (!reading->values)
		return heap_error_out_of_memory();
	check->program = session_keep(session, strdup(session->snapshot->info.program));
	check->snapshots = count;
	check->loops = reading->count - 1;
	HEAP_TRY(find_examples(reading, session));
	if (check->loops > 0)
		HEAP_TRY(check_growth(check, reading, options, session));
	for (size_t i = 0; i < options->rules.count; i++) {
		const struct rule *rule = &options->rules.items[i];

		HEAP_TRY(rule->subject == RULE_LEAKED
				 ? check_leaks(check, rule, reading, session)
				 : check_rule(check, options, rule, reading, session));
	}
	return NULL;
}

struct heap_error *check_run(struct check *check, const struct check_options *options,
			     struct session *session, char *const *files, size_t count)
{
	CLEANUP(reading_deinit)
	struct reading reading = { .source_root = options->source_root };
	struct heap_error *error = NULL;

	HEAP_TRY(check_count(options, count));
	HEAP_TRY(reading_init(&reading));
	for (size_t i = 0; i < count && !error; i++)
		error = read_file(&reading, session, options->suppressions, files[i]);
	if (!error)
		error = need_rule(options, count);
	if (!error)
		error = judge(check, &reading, options, session);
	session->snapshot = NULL; // the series'
	session_switch(session, NULL);
	return error;
}

void check_deinit(struct check *check)
{
	heap_array_deinit(&check->findings);
}
