// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/filter.h"

#include "lib/base/bits.h"
#include "lib/base/array.h"
#include "lib/base/nearest.h"
#include "lib/graph/dominator_tree.h"
#include "lib/query/field_test.h"
#include "lib/query/filter_terms.h"
#include "lib/query/text_pattern.h"

#include <stdio.h>
#include <string.h>

struct heap_filter {
	struct heap_snapshot *snapshot;
	struct heap_graph *graph;
	const struct heap_divided *divided;
	const uint8_t *is_new;   // [objects], or NULL
	struct heap_term *terms; // [count]
	size_t count;
	uint8_t *content; // room for an object's bytes
	size_t content_capacity;
	struct heap_error *error;  // the first that reading contents met
	struct heap_error *absent; // the first name that the snapshot does not have
	bool lacks_field;          // absent is of a field
};

// --- parsing -----------------------------------------------------------------

// True for words that begin a type's name, but do not end it.
static bool is_keyword(const char *word)
{
	static const char *const keywords[] = { "struct",   "union",  "class", "enum",
						"unsigned", "signed", "const", "volatile" };

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strcmp(keywords[i], word) == 0)
			return true;
	}
	return false;
}

// True for words that continue a type's name: *, [12] and (make_shared).
static bool continues_type(const char *word)
{
	if (strcmp(word, &HEAP_TYPES_SHARED_SUFFIX[1]) == 0) // behind its space
		return true;
	return (*word == '*' || *word == '[') && strspn(word, "*[]0123456789") == strlen(word);
}

// Characters of the operators between a member and its value.
#define OPERATORS "=<>!"

static bool ends_in_operator(const char *argument)
{
	return *argument && strchr(OPERATORS, argument[strlen(argument) - 1]);
}

// size>1K is size >1K.
static bool ends_name(const struct heap_term_kind_description *kind, const char *rest)
{
	return !*rest || (kind->words == HEAP_WORDS_COMPARISON && strchr("<>=", *rest));
}

/*
 * Takes the argument that follows a filter's name; malloc'd. It is one word, except that an operator
 * may be separate from its number (size > 1K) or its member (field refs > 1), and a type may have
 * several words (type struct date), so that they need no quotes.
 */
HEAP_MUST_CHECK
static struct heap_error *take_argument(const struct heap_term_kind_description *kind,
					const char *rest, int count, char *const *words, int *at,
					char **result)
{
	size_t room = strlen(rest) + 1;

	for (int i = *at; i < count; i++)
		room += strlen(words[i]) + 1;

	CLEANUP_FREE char *argument = malloc(room);

	if (!argument)
		return heap_error_out_of_memory();
	strcpy(argument, rest);
	if (!*rest) {
		if (*at == count)
			return heap_error_create(HEAP_ERROR_ARGUMENT,
						 "filter %s: what follows it is missing",
						 kind->name);
		strcpy(argument, words[(*at)++]);
	}
	if (kind->words == HEAP_WORDS_TYPE) {
		while (*at < count && (is_keyword(words[*at - 1]) || continues_type(words[*at]))) {
			strcat(argument, *words[*at] == '[' ? "" : " ");
			strcat(argument, words[(*at)++]);
		}
	} else if (kind->words == HEAP_WORDS_COMPARISON && *argument &&
		   strspn(argument, "<>=") == strlen(argument) && *at < count) {
		strcat(argument, words[(*at)++]);
	} else if (kind->words == HEAP_WORDS_FIELD) {
		if (!strpbrk(argument, OPERATORS) && *at < count && strspn(words[*at], OPERATORS))
			strcat(argument, words[(*at)++]);
		if (ends_in_operator(argument) && *at < count)
			strcat(argument, words[(*at)++]);
	}
	*result = keep(argument);
	return NULL;
}

static bool take_text_option(const char *word, struct heap_text_options *options)
{
	if (strcmp(word, "--regex") == 0)
		options->regex = true;
	else if (strcmp(word, "--exact") == 0)
		options->exact = true;
	else if (strcmp(word, "-i") == 0 || strcmp(word, "--ignore-case") == 0)
		options->ignore_case = true;
	else
		return false;
	return true;
}

bool heap_filter_is_option(const char *word)
{
	struct heap_text_options options;

	return take_text_option(word, &options);
}

// Takes the options in front of a text, if a word for the text is left.
static void take_text_options(int count, char *const *words, int *at,
			      struct heap_text_options *options)
{
	while (*at + 1 < count && take_text_option(words[*at], options))
		(*at)++;
	if (*at + 1 < count && strcmp(words[*at], "--") == 0)
		(*at)++;
}

HEAP_MAKES_ERROR
static struct heap_error *no_filter(const struct heap_types *types, const char *name)
{
	if (heap_types_find(types, name, HEAP_NO_TYPE) != HEAP_NO_TYPE)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: no such filter; did you mean type %s?", name, name);

	struct heap_nearest nearest;

	heap_nearest_init(&nearest, name);
	for (size_t i = 0; i < heap_term_kind_count; i++)
		heap_nearest_offer(&nearest, heap_term_kinds[i].name);

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	if (hint && *hint)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: no such filter%s", name, hint);

	char list[512] = "";
	size_t length = 0;

	for (size_t i = 0; i < heap_term_kind_count && length < sizeof(list); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s, ",
					   heap_term_kinds[i].name);
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%s: no such filter; there are %sgone, not, or", name, list);
}

// Parses one term. @param at  index of its first word; set past its last
HEAP_MUST_CHECK
static struct heap_error *parse_term(const struct heap_filter_parsing *common, int count,
				     char *const *words, int *at, struct heap_term *term)
{
	struct heap_filter_parsing own = *common, *parsing = &own;
	const char *name = words[(*at)++];

	for (size_t i = 0; i < heap_term_kind_count; i++) {
		size_t length = strlen(heap_term_kinds[i].name);
		CLEANUP_FREE char *argument = NULL;

		if (strncmp(heap_term_kinds[i].name, name, length) != 0 ||
		    !ends_name(&heap_term_kinds[i], name + length))
			continue;
		if (heap_term_kinds[i].words == HEAP_WORDS_NONE)
			return heap_term_kinds[i].parse(parsing, NULL, term);
		if (heap_term_kinds[i].words == HEAP_WORDS_TEXT ||
		    heap_term_kinds[i].words == HEAP_WORDS_FIELD)
			take_text_options(count, words, at, &parsing->text);

		HEAP_TRY(take_argument(&heap_term_kinds[i], name + length, count, words, at,
				       &argument));
		return heap_term_kinds[i].parse(parsing, argument, term);
	}
	return no_filter(&parsing->snapshot->types, name);
}

HEAP_MUST_CHECK
static struct heap_error *parse_terms(struct heap_filter_parsing *parsing, int count,
				      char *const *words, struct heap_filter *filter)
{
	bool begins_group = true;

	for (int at = 0; at < count;) {
		struct heap_term *term = &filter->terms[filter->count];

		if (take_text_option(words[at], &parsing->text)) {
			at++;
			continue;
		}
		if (strcmp(words[at], "or") == 0) {
			if (begins_group)
				return heap_error_create(HEAP_ERROR_ARGUMENT,
							 "or: it stands between two filters");
			begins_group = true;
			at++;
			continue;
		}
		filter->count++;
		term->begins_group = begins_group;
		begins_group = false;
		while (at < count && strcmp(words[at], "not") == 0) {
			term->negated = !term->negated;
			at++;
		}
		if (at == count)
			return heap_error_create(HEAP_ERROR_ARGUMENT,
						 "not: a filter must follow it");
		HEAP_TRY(parse_term(parsing, count, words, &at, term));
	}
	if (begins_group && count > 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "or: a filter must follow it");
	return NULL;
}

// The fields are those of the types that the same group asks for.
static void check_fields(const struct heap_filter_parsing *parsing, struct heap_filter *filter)
{
	const uint8_t *types = NULL;

	for (size_t i = 0; i < filter->count && !filter->absent; i++) {
		const struct heap_term *term = &filter->terms[i];

		if (term->begins_group)
			types = NULL;
		for (size_t j = i; term->begins_group && j < filter->count; j++) {
			if (j > i && filter->terms[j].begins_group)
				break;
			if (filter->terms[j].kind == HEAP_TERM_TYPE && !filter->terms[j].negated)
				types = filter->terms[j].set;
		}
		if (term->kind != HEAP_TERM_FIELD)
			continue;

		struct heap_error *error = heap_field_test_absent(term->field, types);

		if (error) {
			heap_filter_note_absent(parsing, error);
			filter->lacks_field = true;
		}
	}
}

struct heap_error *heap_filter_parse(struct heap_snapshot *snapshot, int count, char *const *words,
				     const struct heap_filter_host *host,
				     struct heap_filter **result)
{
	struct heap_filter_parsing parsing = {
		.snapshot = snapshot,
		.host = host,
	};
	struct heap_filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return heap_error_out_of_memory();
	filter->snapshot = snapshot;
	filter->terms = calloc((size_t)count + 1, sizeof(*filter->terms));

	parsing.absent = &filter->absent;

	struct heap_error *error = filter->terms ? parse_terms(&parsing, count, words, filter)
						 : heap_error_out_of_memory();

	if (!error)
		check_fields(&parsing, filter);

	if (error) {
		heap_filter_destroy(filter);
		return error;
	}
	*result = filter;
	return NULL;
}

void heap_filter_destroy(struct heap_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; filter->terms && i < filter->count; i++)
		heap_term_deinit(&filter->terms[i]);
	free(filter->terms);
	free(filter->content);
	heap_error_destroy(filter->error);
	heap_error_destroy(filter->absent);
	free(filter);
}

struct heap_error *heap_filter_finish(struct heap_filter *filter)
{
	return keep(filter->error);
}

uint64_t heap_filter_unknown(const struct heap_filter *filter)
{
	uint64_t unknown = 0;

	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].field)
			unknown += heap_field_test_unknown(filter->terms[i].field);
	}
	return unknown;
}

bool heap_filter_lacks_field(const struct heap_filter *filter)
{
	return filter->lacks_field;
}

struct heap_error *heap_filter_absent(struct heap_filter *filter)
{
	return keep(filter->absent);
}

bool heap_filter_needs_graph(const struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_REACH)
			return true;
	}
	return false;
}

bool heap_filter_needs_dominators(const struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_RETAINED ||
		    filter->terms[i].kind == HEAP_TERM_UNDER)
			return true;
	}
	return false;
}

bool heap_filter_needs_new(const struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_NEW)
			return true;
	}
	return false;
}

void heap_filter_set_new(struct heap_filter *filter, const uint8_t *is_new)
{
	filter->is_new = is_new;
}

bool heap_filter_is_name(const char *word)
{
	if (strcmp(word, "not") == 0)
		return true;
	for (size_t i = 0; i < heap_term_kind_count; i++) {
		size_t length = strlen(heap_term_kinds[i].name);

		if (strncmp(heap_term_kinds[i].name, word, length) == 0 &&
		    ends_name(&heap_term_kinds[i], word + length))
			return true;
	}
	return false;
}

static unsigned columns_of(const struct heap_term *term)
{
	switch (term->kind) {
	case HEAP_TERM_TYPE:
		return HEAP_COLUMN_TYPE | (term->number ? HEAP_COLUMN_ELEMENTS : 0);
	case HEAP_TERM_SITE:
		return HEAP_COLUMN_SITE;
	case HEAP_TERM_FRAME:
		return HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE;
	case HEAP_TERM_EVIDENCE:
		return HEAP_COLUMN_EVIDENCE;
	case HEAP_TERM_TAG:
		return HEAP_COLUMN_TAG;
	case HEAP_TERM_CONFLICT:
		return HEAP_COLUMN_CONFLICTS;
	case HEAP_TERM_UNDER_TYPED:
		return HEAP_COLUMN_TYPE | HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_SIZE;
	case HEAP_TERM_AGE:
		return HEAP_COLUMN_BIRTH;
	case HEAP_TERM_SIZE:
	case HEAP_TERM_STRING:
		return HEAP_COLUMN_SIZE;
	case HEAP_TERM_POINTS_TO:
		return term->set ? HEAP_COLUMN_SIZE : HEAP_COLUMN_SLOTS;
	case HEAP_TERM_POINTED_BY:
		return HEAP_COLUMN_SLOTS; // of parts, which slot counts
	case HEAP_TERM_LOCAL:
	case HEAP_TERM_FIELD: // heap_field_test_prepare() does it
	case HEAP_TERM_REACH:
	case HEAP_TERM_RETAINED:
	case HEAP_TERM_UNDER:
	case HEAP_TERM_NEW:
	case HEAP_TERM_TRACED:
		break;
	}
	return 0;
}

// Marks the objects that the objects of `under` dominate.
HEAP_MUST_CHECK
static struct heap_error *mark_under(struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		struct heap_term *term = &filter->terms[i];

		if (term->kind != HEAP_TERM_UNDER || term->set)
			continue;
		term->set = calloc(filter->divided->objects / 8 + 1, 1);
		HEAP_TRY(term->set ? heap_divided_mark(filter->divided, term->object, term->set)
				   : heap_error_out_of_memory());
	}
	return NULL;
}

struct heap_error *heap_filter_prepare(struct heap_filter *filter, struct heap_graph *graph,
				       const struct heap_divided *divided)
{
	unsigned needed = 0;

	for (size_t i = 0; i < filter->count; i++)
		needed |= columns_of(&filter->terms[i]);
	filter->graph = graph;
	filter->divided = divided;

	HEAP_TRY(heap_snapshot_load(filter->snapshot, needed));
	if (heap_filter_needs_graph(filter))
		HEAP_TRY(heap_graph_need_leaked(graph));
	HEAP_TRY(mark_under(filter));
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_FIELD)
			HEAP_TRY(heap_field_test_prepare(filter->terms[i].field));
	}
	return NULL;
}

// --- matching ----------------------------------------------------------------

// The object, or the part of one, that is tested.
struct subject {
	heap_object_id object;
	const struct heap_part *part; // NULL: the whole
};

static heap_type_id type_of(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return subject->part ? subject->part->type : snapshot->type[subject->object];
}

static uint64_t elements_of(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return subject->part ? subject->part->elements : snapshot->elements[subject->object];
}

static uint64_t size_of(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return subject->part ? heap_snapshot_part_size(snapshot, subject->part)
			     : snapshot->size[subject->object];
}

static bool is_within(const struct heap_snapshot *snapshot, const struct subject *subject,
		      uint64_t offset)
{
	const struct heap_part *part = subject->part;

	return !part || (offset >= part->offset &&
			 offset - part->offset < heap_snapshot_part_size(snapshot, part));
}

static bool points_to(const struct heap_snapshot *snapshot, const struct subject *subject,
		      heap_object_id to)
{
	heap_object_id from = subject->object;

	for (uint32_t i = snapshot->edge_first[from]; i < snapshot->edge_first[from + 1]; i++) {
		if (snapshot->edge_target[i] == to &&
		    (!subject->part ||
		     is_within(snapshot, subject, (uint64_t)snapshot->edge_slot[i] * 8)))
			return true;
	}
	return false;
}

static bool is_pointed_by(const struct heap_snapshot *snapshot, const struct subject *subject,
			  heap_object_id from)
{
	for (uint32_t i = snapshot->edge_first[from]; i < snapshot->edge_first[from + 1]; i++) {
		if (snapshot->edge_target[i] == subject->object &&
		    (!subject->part || is_within(snapshot, subject, snapshot->edge_interior[i])))
			return true;
	}
	return false;
}

// Reads the bytes of a subject. @return their number
static size_t read_subject(struct heap_filter *filter, const struct subject *subject,
			   const uint8_t **bytes)
{
	struct heap_snapshot *snapshot = filter->snapshot;
	uint64_t size = snapshot->size[subject->object];
	uint64_t from = subject->part ? subject->part->offset : 0;
	size_t kept;

	if (size > snapshot->info.content_limit)
		size = snapshot->info.content_limit;
	if (filter->error)
		return 0;
	filter->error = heap_reserve(filter->content, filter->content_capacity, size);
	if (filter->error)
		return 0;
	filter->error =
		heap_snapshot_read_content(snapshot, subject->object, filter->content, size, &kept);
	if (filter->error || from >= kept)
		return 0;
	kept -= from;
	if (subject->part && kept > heap_snapshot_part_size(snapshot, subject->part))
		kept = heap_snapshot_part_size(snapshot, subject->part);
	*bytes = filter->content + from;
	return kept;
}

static bool holds_text(struct heap_filter *filter, const struct subject *subject,
		       const struct heap_text_pattern *pattern)
{
	const uint8_t *bytes;
	size_t kept = read_subject(filter, subject, &bytes);

	return kept > 0 && heap_text_pattern_matches(pattern, (const char *)bytes, kept,
						     kept == size_of(filter->snapshot, subject));
}

// True if one of the words that were kept is the address of one of the functions.
static bool holds_function(struct heap_filter *filter, const struct subject *subject,
			   const uint8_t *functions)
{
	const struct heap_snapshot *snapshot = filter->snapshot;
	const uint8_t *bytes;
	size_t kept = read_subject(filter, subject, &bytes);

	for (size_t at = 0; at + sizeof(uint64_t) <= kept; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));

		const struct heap_call *code = heap_snapshot_function(snapshot, word);

		if (code && functions[code - snapshot->functions])
			return true;
	}
	return false;
}

static bool has_field(struct heap_filter *filter, const struct subject *subject,
		      struct heap_field_test *test)
{
	const struct heap_snapshot *snapshot = filter->snapshot;
	struct heap_field_subject field = { subject->object,
					    subject->part ? subject->part->offset : 0,
					    size_of(snapshot, subject),
					    type_of(snapshot, subject),
					    elements_of(snapshot, subject),
					    NULL,
					    0 };

	if (field.type == HEAP_NO_TYPE)
		return false;
	field.kept = read_subject(filter, subject, &field.bytes);
	return heap_field_test_matches(test, &field, &filter->error);
}

static bool is_under_typed(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return heap_types_uncovered(&snapshot->types, type_of(snapshot, subject),
				    elements_of(snapshot, subject), size_of(snapshot, subject)) > 0;
}

static bool is_of_type(const struct heap_snapshot *snapshot, const struct subject *subject,
		       const struct heap_term *term)
{
	heap_type_id type = type_of(snapshot, subject);
	// The number in front of an array counts as an element.
	uint64_t header = heap_types_counted(&snapshot->types, type) != HEAP_NO_TYPE;

	switch (term->set[type]) {
	case HEAP_IF_AS_MANY:
		return elements_of(snapshot, subject) - header == term->number;
	case HEAP_ALWAYS:
		return true;
	default:
		return false;
	}
}

static bool has_frame(const struct heap_snapshot *snapshot, heap_object_id object,
		      const struct heap_term *term)
{
	uint32_t step = heap_backtrace_step(snapshot->backtrace[object]);

	return term->set[snapshot->site[object]] || (step > 0 && term->steps[step]);
}

static bool is_sample(const struct heap_snapshot *snapshot, heap_object_id object,
		      const struct heap_term *term)
{
	const struct heap_sample *sample = heap_snapshot_sample(snapshot, object);

	return sample && term->set[sample - snapshot->samples];
}

// The node of a part, or of the one that it lies in.
static heap_node_id node_of(const struct heap_filter *filter, const struct subject *subject)
{
	return subject->part
		       ? heap_divided_node(filter->divided, subject->object, subject->part->offset)
		       : subject->object;
}

static uint64_t retained_by(const struct heap_filter *filter, const struct subject *subject)
{
	return subject->part ? filter->divided->dominators->retained[node_of(filter, subject)]
			     : heap_divided_retained(filter->divided, subject->object);
}

static bool term_matches(struct heap_filter *filter, const struct heap_term *term,
			 const struct subject *subject)
{
	const struct heap_snapshot *snapshot = filter->snapshot;
	heap_object_id object = subject->object;

	switch (term->kind) {
	case HEAP_TERM_TYPE:
		return is_of_type(snapshot, subject, term);
	case HEAP_TERM_SITE:
		return term->set[snapshot->site[object]];
	case HEAP_TERM_FRAME:
		return has_frame(snapshot, object, term);
	case HEAP_TERM_EVIDENCE:
		return (subject->part ? subject->part->evidence : snapshot->evidence[object]) ==
		       term->number;
	case HEAP_TERM_TAG:
		return !subject->part && term->set[snapshot->tag[object]];
	case HEAP_TERM_CONFLICT:
		return !subject->part && snapshot->conflicts[object] > 0;
	case HEAP_TERM_NEW:
		return filter->is_new && filter->is_new[object];
	case HEAP_TERM_TRACED:
		return is_sample(snapshot, object, term);
	case HEAP_TERM_UNDER_TYPED:
		return is_under_typed(snapshot, subject);
	case HEAP_TERM_SIZE:
		return heap_compare(size_of(snapshot, subject), term->comparison, term->number);
	case HEAP_TERM_AGE:
		return term->set[snapshot->birth[object]];
	case HEAP_TERM_STRING:
		return holds_text(filter, subject, term->pattern);
	case HEAP_TERM_FIELD:
		return has_field(filter, subject, term->field);
	case HEAP_TERM_REACH:
		return heap_graph_is_leaked(filter->graph, object) == (term->number == 0);
	case HEAP_TERM_LOCAL:
		return heap_bit_get(term->set, object);
	case HEAP_TERM_POINTS_TO:
		return term->set ? holds_function(filter, subject, term->set)
				 : points_to(snapshot, subject, term->object);
	case HEAP_TERM_POINTED_BY:
		return is_pointed_by(snapshot, subject, term->object);
	case HEAP_TERM_RETAINED:
		return heap_compare(retained_by(filter, subject), term->comparison, term->number);
	case HEAP_TERM_UNDER:
		return heap_bit_get(term->set, node_of(filter, subject));
	}
	return false;
}

static bool subject_matches(struct heap_filter *filter, const struct subject *subject)
{
	bool matches = filter->count == 0;

	for (size_t i = 0; i < filter->count; i++) {
		const struct heap_term *term = &filter->terms[i];

		if (term->begins_group) {
			if (i > 0 && matches)
				return true;
			matches = true;
		}
		if (matches)
			matches = term_matches(filter, term, subject) != term->negated;
	}
	return matches;
}

bool heap_filter_matches(struct heap_filter *filter, heap_object_id object)
{
	return subject_matches(filter, &(struct subject){ object, NULL });
}

bool heap_filter_matches_part(struct heap_filter *filter, const struct heap_part *part)
{
	return subject_matches(filter, &(struct subject){ part->object, part });
}

heap_object_id heap_filter_next(struct heap_filter *filter, heap_object_id from, heap_object_id end)
{
	const struct heap_term *term = filter->terms;

	// The most frequent filter has a loop of its own, without a call for each object.
	if (filter->count == 1 && term->kind == HEAP_TERM_TYPE && !term->negated && !term->number) {
		const heap_type_id *type = filter->snapshot->type;

		while (from < end && !term->set[type[from]])
			from++;
		return from;
	}
	while (from < end && !heap_filter_matches(filter, from))
		from++;
	return from;
}
