// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/filter_terms.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "lib/base/path.h"
#include "lib/query/absent.h"
#include "lib/query/code_place.h"
#include "lib/query/comparison.h"
#include "lib/query/field_test.h"
#include "lib/query/text_pattern.h"
#include "lib/snapshot/evidence.h"

#include <string.h>

// --- terms -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *make_set(uint8_t **set, size_t count)
{
	*set = calloc(count + 1, 1);
	return *set ? NULL : heap_error_out_of_memory();
}

static bool is_empty(const uint8_t *set, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (set[i])
			return false;
	}
	return true;
}

void heap_filter_note_absent(const struct heap_filter_parsing *parsing, struct heap_error *error)
{
	if (*parsing->absent)
		heap_error_destroy(error);
	else
		*parsing->absent = error;
}

static void add_types(const struct heap_filter_parsing *parsing, const char *word, uint8_t how,
		      struct heap_term *term)
{
	const struct heap_types *types = &parsing->snapshot->types;
	heap_type_id type = HEAP_NO_TYPE;

	while ((type = heap_types_find(types, word, type ? type + 1 : 0)) != HEAP_NO_TYPE) {
		// Objects have the type behind the typedef.
		term->set[heap_types_strip(types, type)] = how;
		term->set[type] = how;
	}
	for (type = 1; type < types->count; type++) {
		heap_type_id element = heap_types_counted(types, type);

		if (element == HEAP_NO_TYPE)
			element = heap_types_prefixed(types, type, NULL);
		if (element == HEAP_NO_TYPE)
			element = heap_types_shared(types, type, NULL);
		if (element != HEAP_NO_TYPE && term->set[element])
			term->set[type] = how;
	}
}

// Adds the blocks that std::make_shared() made for a type, if a word names these.
HEAP_MUST_CHECK
static struct heap_error *add_shared(const struct heap_filter_parsing *parsing, const char *word,
				     struct heap_term *term)
{
	const struct heap_types *types = &parsing->snapshot->types;
	size_t length = strlen(word), suffix = strlen(HEAP_TYPES_SHARED_SUFFIX);
	CLEANUP_FREE char *name = NULL;
	CLEANUP_FREE uint8_t *named = NULL;
	heap_type_id type = HEAP_NO_TYPE;

	if (length <= suffix || strcmp(word + length - suffix, HEAP_TYPES_SHARED_SUFFIX) != 0)
		return NULL;
	name = strndup(word, length - suffix);
	if (!name)
		return heap_error_out_of_memory();
	HEAP_TRY(make_set(&named, types->count));
	while ((type = heap_types_find(types, name, type ? type + 1 : 0)) != HEAP_NO_TYPE)
		named[heap_types_strip(types, type)] = 1;
	for (type = 1; type < types->count; type++) {
		heap_type_id shared = heap_types_shared(types, type, NULL);

		if (shared != HEAP_NO_TYPE && named[heap_types_strip(types, shared)])
			term->set[type] = HEAP_ALWAYS;
	}
	return NULL;
}

// NAME, NAME[] and NAME[N] for arrays of that type, or NAME (make_shared):
// as objects are printed.
HEAP_MUST_CHECK
static struct heap_error *parse_type(const struct heap_filter_parsing *parsing, const char *word,
				     struct heap_term *term)
{
	const char *bracket = strrchr(word, '[');
	size_t digits = bracket ? strspn(bracket + 1, "0123456789") : 0;

	HEAP_TRY(make_set(&term->set, parsing->snapshot->types.count));
	term->kind = HEAP_TERM_TYPE;
	if (bracket && bracket > word && strcmp(bracket + 1 + digits, "]") == 0) {
		CLEANUP_FREE char *element = strndup(word, (size_t)(bracket - word));

		if (!element)
			return heap_error_out_of_memory();
		term->number = strtoull(bracket + 1, NULL, 10);
		add_types(parsing, element, digits > 0 ? HEAP_IF_AS_MANY : HEAP_ALWAYS, term);
	}
	add_types(parsing, word, HEAP_ALWAYS, term);
	HEAP_TRY(add_shared(parsing, word, term));
	if (is_empty(term->set, parsing->snapshot->types.count))
		heap_filter_note_absent(parsing, heap_absent_type(&parsing->snapshot->types, word));
	return NULL;
}

// Marks the sites at a place. @return true if there are any
static bool mark_sites(const struct heap_snapshot *snapshot, const struct heap_code_place *place,
		       struct heap_term *term)
{
	for (heap_site_id i = 0; i < snapshot->site_count; i++) {
		const struct heap_site *site = &snapshot->sites[i];
		struct heap_code code = { site->address,  site->offset, site->module,
					  site->function, site->file,   site->line };

		term->set[i] = heap_code_place_matches(snapshot, place, &code);
	}
	return !is_empty(term->set, snapshot->site_count);
}

HEAP_MUST_CHECK
static struct heap_error *parse_site(const struct heap_filter_parsing *parsing, const char *word,
				     struct heap_term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	struct heap_code_place place = heap_code_place_parse(word);

	term->kind = HEAP_TERM_SITE;
	HEAP_TRY(make_set(&term->set, snapshot->site_count));
	for (int i = 0; i < 2; i++) {
		place.unqualified = i;
		if (mark_sites(snapshot, &place, term))
			return NULL;
	}
	heap_filter_note_absent(parsing,
				heap_unprepared(snapshot)
					? heap_absent_origins(snapshot, "site", word)
					: heap_absent_place(snapshot, "site", word, false));
	return NULL;
}

// Marks the steps at a place, and all that lie outwards of one. @return true if there are any
static bool mark_steps(const struct heap_snapshot *snapshot, const struct heap_code_place *place,
		       struct heap_term *term)
{
	// Callers have lower numbers.
	for (uint32_t i = 1; i < snapshot->step_count; i++) {
		const struct heap_step *step = &snapshot->steps[i];
		const struct heap_call *call = &snapshot->calls[step->call];
		struct heap_code code = { call->address,  call->offset, call->module,
					  call->function, call->file,   call->line };

		term->steps[i] = term->steps[step->caller] ||
				 heap_code_place_matches(snapshot, place, &code);
	}
	return !is_empty(term->steps, snapshot->step_count);
}

HEAP_MUST_CHECK
static struct heap_error *parse_frame(const struct heap_filter_parsing *parsing, const char *word,
				      struct heap_term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	struct heap_code_place place = heap_code_place_parse(word);

	term->kind = HEAP_TERM_FRAME;
	HEAP_TRY(make_set(&term->set, snapshot->site_count));
	HEAP_TRY(make_set(&term->steps, snapshot->step_count));
	for (int i = 0; i < 2; i++) {
		place.unqualified = i;

		bool is_site = mark_sites(snapshot, &place, term);

		if (mark_steps(snapshot, &place, term) || is_site)
			return NULL;
	}
	heap_filter_note_absent(parsing,
				heap_unprepared(snapshot)
					? heap_absent_origins(snapshot, "frame", word)
					: heap_absent_place(snapshot, "frame", word, true));
	return NULL;
}

// A module may be there without having allocated anything.
static bool has_module(const struct heap_snapshot *snapshot, const char *word)
{
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const char *path = heap_snapshot_string(snapshot, snapshot->modules[i].path);

		if (heap_name_matches(word, path) || heap_name_matches(word, heap_base_name(path)))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *parse_module(const struct heap_filter_parsing *parsing, const char *word,
				       struct heap_term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;

	HEAP_TRY(make_set(&term->set, snapshot->site_count));
	term->kind = HEAP_TERM_SITE;
	for (heap_site_id i = 0; i < snapshot->site_count; i++) {
		uint32_t module = snapshot->sites[i].module;

		if (module == HEAP_NO_INDEX)
			continue;

		const char *path = heap_snapshot_string(snapshot, snapshot->modules[module].path);
		const char *slash = strrchr(path, '/');

		term->set[i] = heap_name_matches(word, path) ||
			       heap_name_matches(word, slash ? slash + 1 : path);
	}
	if (!is_empty(term->set, snapshot->site_count))
		return NULL;
	if (heap_unprepared(snapshot))
		heap_filter_note_absent(parsing, heap_absent_origins(snapshot, "module", word));
	else if (!has_module(snapshot, word))
		heap_filter_note_absent(parsing, heap_absent_module(snapshot, word));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_tag(const struct heap_filter_parsing *parsing, const char *word,
				    struct heap_term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;

	HEAP_TRY(make_set(&term->set, (size_t)snapshot->tag_count + 1));
	term->kind = HEAP_TERM_TAG;
	for (uint32_t i = 0; i < snapshot->tag_count; i++)
		term->set[i + 1] = heap_name_matches(
			word, heap_snapshot_string(snapshot, snapshot->tags[i].name));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_bytes(const char *name, const char *word, struct heap_term *term)
{
	const char *number = word;

	term->comparison = heap_parse_operator(&number);
	if (!heap_parse_size(number, &term->number))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s %s: not a size such as 64, >4K or <=1M", name, word);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_size(const struct heap_filter_parsing *parsing, const char *word,
				     struct heap_term *term)
{
	(void)parsing;
	term->kind = HEAP_TERM_SIZE;
	return parse_bytes("size", word, term);
}

HEAP_MUST_CHECK
static struct heap_error *parse_retained(const struct heap_filter_parsing *parsing,
					 const char *word, struct heap_term *term)
{
	(void)parsing;
	term->kind = HEAP_TERM_RETAINED;
	return parse_bytes("retained", word, term);
}

// Resolves a word where only an object will do.
HEAP_MUST_CHECK
static struct heap_error *resolve_object(const struct heap_filter_parsing *parsing,
					 const char *word, heap_object_id *result)
{
	struct heap_filter_operand operand;

	// cppcheck-suppress returnDanglingLifetime; an error does not refer to the operand
	HEAP_TRY(parsing->host->resolve(parsing->host->context, word, &operand));
	if (operand.object == HEAP_NO_OBJECT)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s: a variable, which is no object of the heap; `outrefs "
					 "%s` shows those that it points to",
					 word, word);
	*result = operand.object;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_under(const struct heap_filter_parsing *parsing, const char *word,
				      struct heap_term *term)
{
	term->kind = HEAP_TERM_UNDER;
	return resolve_object(parsing, word, &term->object);
}

// An object is as old as its epoch: between two epochs nothing is known.
HEAP_MUST_CHECK
static struct heap_error *parse_age(const struct heap_filter_parsing *parsing, const char *word,
				    struct heap_term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	const char *duration = word;
	enum heap_operator comparison = heap_parse_operator(&duration);
	uint64_t wanted;

	if (!heap_parse_duration(duration, &wanted))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "age %s: not a duration such as >10s, <5m, >=2h", word);

	HEAP_TRY(make_set(&term->set, snapshot->epoch_count));
	term->kind = HEAP_TERM_AGE;
	if (heap_unprepared(snapshot)) {
		heap_filter_note_absent(parsing, heap_absent_origins(snapshot, "age", word));
		return NULL;
	}
	for (uint32_t i = 0; i < snapshot->epoch_count; i++) {
		uint64_t age = snapshot->info.time_ns > snapshot->epochs[i]
				       ? snapshot->info.time_ns - snapshot->epochs[i]
				       : 0;

		term->set[i] = heap_compare(age, comparison, wanted);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_evidence(const struct heap_filter_parsing *parsing,
					 const char *word, struct heap_term *term)
{
	struct heap_nearest nearest;

	(void)parsing;
	term->kind = HEAP_TERM_EVIDENCE;
	heap_nearest_init(&nearest, word);
	for (term->number = 0; term->number < HEAP_EVIDENCE_KINDS; term->number++) {
		if (strcmp(heap_evidence_name((enum heap_evidence)term->number), word) == 0) {
			free(heap_nearest_hint(&nearest));
			return NULL;
		}
		heap_nearest_offer(&nearest, heap_evidence_name((enum heap_evidence)term->number));
	}

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);
	CLEANUP_FREE char *list = heap_evidence_list();

	if (!list)
		return heap_error_out_of_memory();
	return heap_error_create(HEAP_ERROR_ARGUMENT, "evidence %s: not one of %s%s", word, list,
				 hint ? hint : "");
}

HEAP_MUST_CHECK
static struct heap_error *parse_string(const struct heap_filter_parsing *parsing, const char *word,
				       struct heap_term *term)
{
	const struct heap_text_options *text = &parsing->text;

	term->kind = HEAP_TERM_STRING;
	if (!*word)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "string: the text is empty");
	return heap_text_pattern_create(word,
					text->regex   ? HEAP_TEXT_REGEX
					: text->exact ? HEAP_TEXT_EXACT
						      : HEAP_TEXT_SUBSTRING,
					text->ignore_case, &term->pattern);
}

HEAP_MUST_CHECK
static struct heap_error *parse_field(const struct heap_filter_parsing *parsing, const char *word,
				      struct heap_term *term)
{
	term->kind = HEAP_TERM_FIELD;
	return heap_field_test_create(parsing->snapshot, word, &parsing->text, parsing->host,
				      &term->field);
}

// Marks the functions of that name, of those that words of the program point to.
HEAP_MUST_CHECK
static struct heap_error *mark_functions(const struct heap_snapshot *snapshot, const char *word,
					 struct heap_term *term, bool *found)
{
	const char *name = word + (word[0] == '&');

	*found = false;
	HEAP_TRY(make_set(&term->set, snapshot->function_count));
	for (uint32_t i = 0; i < snapshot->function_count; i++) {
		term->set[i] = heap_function_is(snapshot, &snapshot->functions[i], name);
		*found |= term->set[i];
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_points_to(const struct heap_filter_parsing *parsing,
					  const char *word, struct heap_term *term)
{
	struct heap_error *error = resolve_object(parsing, word, &term->object);
	bool found;

	term->kind = HEAP_TERM_POINTS_TO;
	if (!error || (heap_error_code(error) != HEAP_ERROR_ABSENT &&
		       heap_error_code(error) != HEAP_ERROR_ARGUMENT))
		return error;

	struct heap_error *other = mark_functions(parsing->snapshot, word, term, &found);

	if (!other && !found)
		return error;
	heap_error_destroy(error);
	return other;
}

// Marks the objects that a variable, or a part of it, points to.
static void mark_targets(const struct heap_snapshot *snapshot,
			 const struct heap_filter_operand *variable, struct heap_term *term)
{
	for (uint64_t i = heap_snapshot_first_root_edge(snapshot, variable->root);
	     i < snapshot->root_edge_count && snapshot->root_edges[i].root == variable->root; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (edge->offset >= variable->offset &&
		    edge->offset - variable->offset < variable->size)
			heap_bit_set(term->set, edge->target);
	}
}

HEAP_MUST_CHECK
static struct heap_error *parse_pointed_by(const struct heap_filter_parsing *parsing,
					   const char *word, struct heap_term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	struct heap_filter_operand operand;

	// cppcheck-suppress returnDanglingLifetime; an error does not refer to the operand
	HEAP_TRY(parsing->host->resolve(parsing->host->context, word, &operand));
	term->kind = HEAP_TERM_POINTED_BY;
	term->object = operand.object;
	if (operand.object != HEAP_NO_OBJECT)
		return NULL;
	term->kind = HEAP_TERM_LOCAL;
	HEAP_TRY(make_set(&term->set, snapshot->object_count / 8));
	mark_targets(snapshot, &operand, term);
	return NULL;
}

HEAP_MAKES_ERROR
static struct heap_error *no_local(const char *name)
{
	return heap_error_create(
		HEAP_ERROR_ABSENT,
		"local %s: no local variable is called that; `callstack` lists them", name);
}

// Marks the objects that local variables of that name point to, of any frame and thread.
HEAP_MUST_CHECK
static struct heap_error *parse_local(const struct heap_filter_parsing *parsing, const char *word,
				      struct heap_term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	bool found = false;

	term->kind = HEAP_TERM_LOCAL;
	HEAP_TRY(make_set(&term->set, snapshot->object_count / 8));
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];

		if (root->kind != HEAP_ROOT_LOCAL ||
		    !heap_name_matches(word, heap_snapshot_string(snapshot, root->name)))
			continue;
		found = true;
		mark_targets(snapshot,
			     &(struct heap_filter_operand){ HEAP_NO_OBJECT, i, 0, UINT64_MAX },
			     term);
	}
	return found ? NULL : no_local(word);
}

HEAP_MUST_CHECK
static struct heap_error *parse_untyped(const struct heap_filter_parsing *parsing, const char *word,
					struct heap_term *term)
{
	(void)parsing;
	(void)word;
	term->kind = HEAP_TERM_EVIDENCE;
	term->number = HEAP_EVIDENCE_NONE;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_new(const struct heap_filter_parsing *parsing, const char *word,
				    struct heap_term *term)
{
	(void)parsing;
	(void)word;
	term->kind = HEAP_TERM_NEW;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_conflict(const struct heap_filter_parsing *parsing,
					 const char *word, struct heap_term *term)
{
	(void)parsing;
	(void)word;
	term->kind = HEAP_TERM_CONFLICT;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_under_typed(const struct heap_filter_parsing *parsing,
					    const char *word, struct heap_term *term)
{
	(void)parsing;
	(void)word;
	term->kind = HEAP_TERM_UNDER_TYPED;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_leaked(const struct heap_filter_parsing *parsing, const char *word,
				       struct heap_term *term)
{
	(void)parsing;
	(void)word;
	term->kind = HEAP_TERM_REACH;
	term->number = false;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_reachable(const struct heap_filter_parsing *parsing,
					  const char *word, struct heap_term *term)
{
	(void)parsing;
	(void)word;
	term->kind = HEAP_TERM_REACH;
	term->number = true;
	return NULL;
}

// The samples that the trace knows, of some time of it.
HEAP_MUST_CHECK
static struct heap_error *mark_samples(const struct heap_snapshot *snapshot,
				       const uint64_t range[2], struct heap_term *term)
{
	HEAP_TRY(make_set(&term->set, snapshot->sample_count));
	term->kind = HEAP_TERM_TRACED;
	for (uint32_t i = 0; i < snapshot->sample_count; i++) {
		uint64_t time = heap_sample_trace_us(snapshot, &snapshot->samples[i]);

		term->set[i] =
			snapshot->samples[i].number != 0 && time >= range[0] && time <= range[1];
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_traced(const struct heap_filter_parsing *parsing, const char *word,
				       struct heap_term *term)
{
	static const uint64_t always[2] = { 0, UINT64_MAX };

	(void)word;
	return mark_samples(parsing->snapshot, always, term);
}

HEAP_MUST_CHECK
static struct heap_error *parse_allocated(const struct heap_filter_parsing *parsing,
					  const char *word, struct heap_term *term)
{
	uint64_t range[2];

	if (!heap_parse_times(word, range))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "allocated %s: not two times of the trace such as "
					 "1.5s,2m, or one such as 90s, with the comma",
					 word);
	return mark_samples(parsing->snapshot, range, term);
}

const struct heap_term_kind_description heap_term_kinds[] = {
	{ "type", HEAP_WORDS_TYPE, parse_type },
	{ "untyped", HEAP_WORDS_NONE, parse_untyped },
	{ "under-typed", HEAP_WORDS_NONE, parse_under_typed },
	{ "conflict", HEAP_WORDS_NONE, parse_conflict },
	{ "evidence", HEAP_WORDS_ONE, parse_evidence },
	{ "tag", HEAP_WORDS_ONE, parse_tag },
	{ "size", HEAP_WORDS_COMPARISON, parse_size },
	{ "site", HEAP_WORDS_ONE, parse_site },
	{ "frame", HEAP_WORDS_ONE, parse_frame },
	{ "module", HEAP_WORDS_ONE, parse_module },
	{ "age", HEAP_WORDS_COMPARISON, parse_age },
	{ "string", HEAP_WORDS_TEXT, parse_string },
	{ "field", HEAP_WORDS_FIELD, parse_field },
	{ "points-to", HEAP_WORDS_ONE, parse_points_to },
	{ "pointed-by", HEAP_WORDS_ONE, parse_pointed_by },
	{ "local", HEAP_WORDS_ONE, parse_local },
	{ "under", HEAP_WORDS_ONE, parse_under },
	{ "retained", HEAP_WORDS_COMPARISON, parse_retained },
	{ "leaked", HEAP_WORDS_NONE, parse_leaked },
	{ "reachable", HEAP_WORDS_NONE, parse_reachable },
	{ "new", HEAP_WORDS_NONE, parse_new },
	{ "traced", HEAP_WORDS_NONE, parse_traced },
	{ "allocated", HEAP_WORDS_ONE, parse_allocated },
};

const size_t heap_term_kind_count = sizeof(heap_term_kinds) / sizeof(heap_term_kinds[0]);

void heap_term_deinit(struct heap_term *term)
{
	free(term->set);
	free(term->steps);
	heap_text_pattern_destroy(term->pattern);
	heap_field_test_destroy(term->field);
}
