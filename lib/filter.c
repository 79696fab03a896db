// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/filter.h"

#include "lib/cleanup.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

enum term_kind {
	TERM_TYPE,       // set: types; number: elements, for IF_AS_MANY
	TERM_SITE,       // set: sites; also for module
	TERM_EVIDENCE,   // number
	TERM_SIZE,       // comparison, number
	TERM_AGE,        // set: epochs
	TERM_STRING,     // text
	TERM_REACH,      // number: wanted or not
	TERM_POINTS_TO,  // object
	TERM_POINTED_BY, // object
};

// Values of a set of types.
enum {
	NEVER,
	ALWAYS,
	IF_AS_MANY
};

enum comparison {
	EQUAL,
	LESS,
	GREATER,
	AT_MOST,
	AT_LEAST,
};

struct term {
	enum term_kind kind;
	bool negated;
	bool begins_group; // after `or`
	enum comparison comparison;
	uint64_t number;
	uint8_t *set; // [of types, sites or epochs] 1: matches
	char *text;
	heap_object_id object;
};

struct heap_filter {
	struct heap_snapshot *snapshot;
	struct heap_graph *graph;
	struct term *terms; // [count]
	size_t count;
	uint8_t *content; // room for an object's bytes
	size_t content_capacity;
	struct heap_error *error; // the first that reading contents met
};

struct parsing {
	struct heap_snapshot *snapshot;
	heap_filter_resolver *resolve;
	void *context;
};

static const char *const evidence_names[HEAP_EVIDENCE_KINDS] = {
	[HEAP_EVIDENCE_NONE] = "none",           [HEAP_EVIDENCE_DECLARED] = "declared",
	[HEAP_EVIDENCE_VTABLE] = "vtable",       [HEAP_EVIDENCE_POINTER] = "pointer",
	[HEAP_EVIDENCE_EMBEDDING] = "embedding", [HEAP_EVIDENCE_SITE] = "site",
	[HEAP_EVIDENCE_VOTE] = "vote",           [HEAP_EVIDENCE_POOL] = "pool",
};

const char *heap_evidence_name(enum heap_evidence evidence)
{
	return evidence < HEAP_EVIDENCE_KINDS ? evidence_names[evidence] : "unknown";
}

// A number and its unit. @return false unless that is all
static bool parse_scaled(const char *text, const char *units, const double *scales, double *result)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value >= 0) || isinf(value))
		return false;
	if (*end) {
		const char *unit = strchr(units, *end);

		if (!unit || !*unit)
			return false;
		value *= scales[unit - units];
		end++;
		if (*end == 'i')
			end++;
		if (*end == 'B')
			end++;
	}
	*result = value;
	return *end == '\0';
}

bool heap_parse_size(const char *text, uint64_t *result)
{
	static const double scales[] = { 1, 1024, 1024, 1 << 20, 1 << 20, 1 << 30, 1 << 30 };
	double value;

	if (!parse_scaled(text, "BkKmMgG", scales, &value) || value >= 1.8e19)
		return false;
	*result = (uint64_t)value;
	return true;
}

static bool parse_duration(const char *text, uint64_t *nanoseconds)
{
	static const double scales[] = { 1, 60, 3600, 86400 };
	double value;

	if (!parse_scaled(text, "smhd", scales, &value) || value >= 1e10)
		return false;
	*nanoseconds = (uint64_t)(value * 1e9);
	return true;
}

// Takes <, >, =, <= or >= off the front.
static enum comparison parse_comparison(const char **text)
{
	char first = **text;

	if (first == '<' || first == '>') {
		bool equal = (*text)[1] == '=';

		*text += equal ? 2 : 1;
		if (first == '<')
			return equal ? AT_MOST : LESS;
		return equal ? AT_LEAST : GREATER;
	}
	if (first == '=')
		(*text)++;
	return EQUAL;
}

static bool compare(uint64_t value, enum comparison comparison, uint64_t with)
{
	switch (comparison) {
	case EQUAL:
		return value == with;
	case LESS:
		return value < with;
	case GREATER:
		return value > with;
	case AT_MOST:
		return value <= with;
	default:
		return value >= with;
	}
}

// --- terms -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *make_set(struct term *term, size_t count)
{
	term->set = calloc(count + 1, 1);
	return term->set ? NULL : heap_error_out_of_memory();
}

static void add_types(const struct parsing *parsing, const char *word, uint8_t how,
		      struct term *term)
{
	const struct heap_types *types = &parsing->snapshot->types;
	heap_type_id type = HEAP_NO_TYPE;

	while ((type = heap_types_find(types, word, type ? type + 1 : 0)) != HEAP_NO_TYPE) {
		// Objects have the type behind the typedef.
		term->set[heap_types_strip(types, type)] = how;
		term->set[type] = how;
	}
}

// NAME, or NAME[] and NAME[N] for an array of that type, as objects print.
HEAP_MUST_CHECK
static struct heap_error *parse_type(const struct parsing *parsing, const char *word,
				     struct term *term)
{
	const char *bracket = strrchr(word, '[');
	size_t digits = bracket ? strspn(bracket + 1, "0123456789") : 0;
	struct heap_error *error = make_set(term, parsing->snapshot->types.count);

	term->kind = TERM_TYPE;
	if (error)
		return error;
	if (bracket && bracket > word && strcmp(bracket + 1 + digits, "]") == 0) {
		CLEANUP_FREE char *element = strndup(word, (size_t)(bracket - word));

		if (!element)
			return heap_error_out_of_memory();
		term->number = strtoull(bracket + 1, NULL, 10);
		add_types(parsing, element, digits > 0 ? IF_AS_MANY : ALWAYS, term);
	}
	add_types(parsing, word, ALWAYS, term);
	return NULL;
}

static bool matches_name(const char *pattern, const char *name)
{
	return *name && fnmatch(pattern, name, 0) == 0;
}

// FUNCTION, FILE or FILE:LINE.
static bool matches_site(const struct heap_snapshot *snapshot, const struct heap_site *site,
			 const char *pattern, size_t file_length, uint32_t line)
{
	const char *file = heap_snapshot_string(snapshot, site->file);

	if (matches_name(pattern, heap_snapshot_string(snapshot, site->function)) ||
	    matches_name(pattern, file))
		return true;
	return line > 0 && line == site->line && strlen(file) == file_length &&
	       memcmp(file, pattern, file_length) == 0;
}

HEAP_MUST_CHECK
static struct heap_error *parse_site(const struct parsing *parsing, const char *word,
				     struct term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	struct heap_error *error = make_set(term, snapshot->site_count);
	const char *colon = strrchr(word, ':');
	uint32_t line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;

	term->kind = TERM_SITE;
	for (heap_site_id i = 0; !error && i < snapshot->site_count; i++)
		term->set[i] = matches_site(snapshot, &snapshot->sites[i], word,
					    colon ? (size_t)(colon - word) : 0, line);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *parse_module(const struct parsing *parsing, const char *word,
				       struct term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	struct heap_error *error = make_set(term, snapshot->site_count);

	term->kind = TERM_SITE;
	for (heap_site_id i = 0; !error && i < snapshot->site_count; i++) {
		uint32_t module = snapshot->sites[i].module;

		if (module == HEAP_NO_INDEX)
			continue;

		const char *path = heap_snapshot_string(snapshot, snapshot->modules[module].path);
		const char *slash = strrchr(path, '/');

		term->set[i] =
			matches_name(word, path) || matches_name(word, slash ? slash + 1 : path);
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *parse_size(const struct parsing *parsing, const char *word,
				     struct term *term)
{
	const char *number = word;

	(void)parsing;
	term->kind = TERM_SIZE;
	term->comparison = parse_comparison(&number);
	if (!heap_parse_size(number, &term->number))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "size %s: not a size such as 64, >4K or <=1M", word);
	return NULL;
}

// An object is as old as its epoch: between two epochs nothing is known.
HEAP_MUST_CHECK
static struct heap_error *parse_age(const struct parsing *parsing, const char *word,
				    struct term *term)
{
	const struct heap_snapshot *snapshot = parsing->snapshot;
	const char *duration = word;
	enum comparison comparison = parse_comparison(&duration);
	uint64_t wanted;

	if (!parse_duration(duration, &wanted))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "age %s: not a duration such as >10s, <5m, >=2h", word);

	struct heap_error *error = make_set(term, snapshot->epoch_count);

	term->kind = TERM_AGE;
	for (uint32_t i = 0; !error && i < snapshot->epoch_count; i++) {
		uint64_t age = snapshot->info.time_ns > snapshot->epochs[i]
				       ? snapshot->info.time_ns - snapshot->epochs[i]
				       : 0;

		term->set[i] = compare(age, comparison, wanted);
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *parse_evidence(const struct parsing *parsing, const char *word,
					 struct term *term)
{
	(void)parsing;
	term->kind = TERM_EVIDENCE;
	for (term->number = 0; term->number < HEAP_EVIDENCE_KINDS; term->number++) {
		if (strcmp(evidence_names[term->number], word) == 0)
			return NULL;
	}
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "evidence %s: not one of none, declared, vtable, pointer, "
				 "embedding, site, vote",
				 word);
}

HEAP_MUST_CHECK
static struct heap_error *parse_string(const struct parsing *parsing, const char *word,
				       struct term *term)
{
	(void)parsing;
	term->kind = TERM_STRING;
	term->text = strdup(word);
	if (!term->text)
		return heap_error_out_of_memory();
	if (!*word)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "string: the text is empty");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_points_to(const struct parsing *parsing, const char *word,
					  struct term *term)
{
	term->kind = TERM_POINTS_TO;
	return parsing->resolve(parsing->context, word, &term->object);
}

HEAP_MUST_CHECK
static struct heap_error *parse_pointed_by(const struct parsing *parsing, const char *word,
					   struct term *term)
{
	term->kind = TERM_POINTED_BY;
	return parsing->resolve(parsing->context, word, &term->object);
}

HEAP_MUST_CHECK
static struct heap_error *parse_untyped(const struct parsing *parsing, const char *word,
					struct term *term)
{
	(void)parsing;
	(void)word;
	term->kind = TERM_EVIDENCE;
	term->number = HEAP_EVIDENCE_NONE;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_leaked(const struct parsing *parsing, const char *word,
				       struct term *term)
{
	(void)parsing;
	(void)word;
	term->kind = TERM_REACH;
	term->number = false;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_reachable(const struct parsing *parsing, const char *word,
					  struct term *term)
{
	(void)parsing;
	(void)word;
	term->kind = TERM_REACH;
	term->number = true;
	return NULL;
}

static const struct kind {
	const char *name;
	bool has_argument;
	struct heap_error *(*parse)(const struct parsing *parsing, const char *word,
				    struct term *term);
} kinds[] = {
	{ "type", true, parse_type },           { "untyped", false, parse_untyped },
	{ "size", true, parse_size },           { "site", true, parse_site },
	{ "module", true, parse_module },       { "age", true, parse_age },
	{ "evidence", true, parse_evidence },   { "string", true, parse_string },
	{ "points-to", true, parse_points_to }, { "pointed-by", true, parse_pointed_by },
	{ "leaked", false, parse_leaked },      { "reachable", false, parse_reachable },
};

// --- the whole filter --------------------------------------------------------

// Words that begin a type's name and cannot end it.
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

// Words that only continue what stands before them: the * and [12] of a type.
static bool continues_type(const char *word)
{
	return (*word == '*' || *word == '[') && strspn(word, "*[]0123456789") == strlen(word);
}

// size>1K is size >1K.
static bool ends_name(const struct kind *kind, const char *rest)
{
	return !*rest ||
	       ((kind->parse == parse_size || kind->parse == parse_age) && strchr("<>=", *rest));
}

/*
 * What follows a filter's name, malloc'd: a word; but a comparison may stand apart from its
 * number (size > 1K), and a type's words from each other (type struct date), as nobody
 * types quotes who need not.
 */
HEAP_MUST_CHECK
static struct heap_error *take_argument(const struct kind *kind, const char *rest, int count,
					char *const *words, int *at, char **result)
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
	if (kind->parse == parse_type) {
		while (*at < count && (is_keyword(words[*at - 1]) || continues_type(words[*at]))) {
			strcat(argument, *words[*at] == '[' ? "" : " ");
			strcat(argument, words[(*at)++]);
		}
	} else if ((kind->parse == parse_size || kind->parse == parse_age) && *argument &&
		   strspn(argument, "<>=") == strlen(argument) && *at < count) {
		strcat(argument, words[(*at)++]);
	}
	*result = keep(argument);
	return NULL;
}

// Parses one term. @param at  index of its first word; set past its last
HEAP_MUST_CHECK
static struct heap_error *parse_term(const struct parsing *parsing, int count, char *const *words,
				     int *at, struct term *term)
{
	const char *name = words[(*at)++];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i].name);
		CLEANUP_FREE char *argument = NULL;

		if (strncmp(kinds[i].name, name, length) != 0 ||
		    !ends_name(&kinds[i], name + length))
			continue;
		if (!kinds[i].has_argument)
			return kinds[i].parse(parsing, NULL, term);

		struct heap_error *error =
			take_argument(&kinds[i], name + length, count, words, at, &argument);

		return error ? error : kinds[i].parse(parsing, argument, term);
	}
	return heap_error_create(HEAP_ERROR_ARGUMENT,
				 "%s: no such filter; there are type, untyped, size, site, module, "
				 "age, evidence, string, points-to, pointed-by, leaked, reachable, "
				 "not, or",
				 name);
}

HEAP_MUST_CHECK
static struct heap_error *parse_terms(const struct parsing *parsing, int count, char *const *words,
				      struct heap_filter *filter)
{
	bool begins_group = true;

	for (int at = 0; at < count;) {
		struct term *term = &filter->terms[filter->count];

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

		struct heap_error *error = parse_term(parsing, count, words, &at, term);

		if (error)
			return error;
	}
	if (begins_group && count > 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "or: a filter must follow it");
	return NULL;
}

struct heap_error *heap_filter_parse(struct heap_snapshot *snapshot, int count, char *const *words,
				     heap_filter_resolver *resolve, void *context,
				     struct heap_filter **result)
{
	const struct parsing parsing = { snapshot, resolve, context };
	struct heap_filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return heap_error_out_of_memory();
	filter->snapshot = snapshot;
	filter->terms = calloc((size_t)count + 1, sizeof(*filter->terms));

	struct heap_error *error = filter->terms ? parse_terms(&parsing, count, words, filter)
						 : heap_error_out_of_memory();

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
	for (size_t i = 0; filter->terms && i < filter->count; i++) {
		free(filter->terms[i].set);
		free(filter->terms[i].text);
	}
	free(filter->terms);
	free(filter->content);
	heap_error_destroy(filter->error);
	free(filter);
}

struct heap_error *heap_filter_finish(struct heap_filter *filter)
{
	return keep(filter->error);
}

bool heap_filter_needs_graph(const struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == TERM_REACH)
			return true;
	}
	return false;
}

static unsigned columns_of(const struct term *term)
{
	switch (term->kind) {
	case TERM_TYPE:
		return HEAP_COLUMN_TYPE | (term->number ? HEAP_COLUMN_ELEMENTS : 0);
	case TERM_SITE:
		return HEAP_COLUMN_SITE;
	case TERM_EVIDENCE:
		return HEAP_COLUMN_EVIDENCE;
	case TERM_AGE:
		return HEAP_COLUMN_BIRTH;
	case TERM_SIZE:
	case TERM_STRING:
		return HEAP_COLUMN_SIZE;
	case TERM_POINTS_TO:
	case TERM_POINTED_BY:
		return HEAP_COLUMN_EDGES;
	case TERM_REACH:
		break;
	}
	return 0;
}

struct heap_error *heap_filter_prepare(struct heap_filter *filter, struct heap_graph *graph)
{
	unsigned needed = 0;

	for (size_t i = 0; i < filter->count; i++)
		needed |= columns_of(&filter->terms[i]);
	filter->graph = graph;

	struct heap_error *error = heap_snapshot_load(filter->snapshot, needed);

	if (!error && heap_filter_needs_graph(filter))
		error = heap_graph_need_reach(graph);
	return error;
}

// --- matching ----------------------------------------------------------------

static bool has_edge(const struct heap_snapshot *snapshot, heap_object_id from, heap_object_id to)
{
	for (uint32_t i = snapshot->edge_first[from]; i < snapshot->edge_first[from + 1]; i++) {
		if (snapshot->edge_target[i] == to)
			return true;
	}
	return false;
}

static bool holds_text(struct heap_filter *filter, heap_object_id object, const char *text)
{
	struct heap_snapshot *snapshot = filter->snapshot;
	uint64_t size = snapshot->size[object];
	size_t kept;

	if (size > snapshot->info.content_limit)
		size = snapshot->info.content_limit;
	if (filter->error)
		return false;
	if (size > filter->content_capacity) {
		uint8_t *larger = realloc(filter->content, size);

		if (!larger) {
			filter->error = heap_error_out_of_memory();
			return false;
		}
		filter->content = larger;
		filter->content_capacity = size;
	}
	filter->error = heap_snapshot_read_content(snapshot, object, filter->content, size, &kept);
	return !filter->error && memmem(filter->content, kept, text, strlen(text));
}

static bool term_matches(struct heap_filter *filter, const struct term *term, heap_object_id object)
{
	const struct heap_snapshot *snapshot = filter->snapshot;

	switch (term->kind) {
	case TERM_TYPE:
		switch (term->set[snapshot->type[object]]) {
		case IF_AS_MANY:
			return snapshot->elements[object] == term->number;
		case ALWAYS:
			return true;
		default:
			return false;
		}
	case TERM_SITE:
		return term->set[snapshot->site[object]];
	case TERM_EVIDENCE:
		return snapshot->evidence[object] == term->number;
	case TERM_SIZE:
		return compare(snapshot->size[object], term->comparison, term->number);
	case TERM_AGE:
		return term->set[snapshot->birth[object]];
	case TERM_STRING:
		return holds_text(filter, object, term->text);
	case TERM_REACH:
		return (filter->graph->reach[object] != HEAP_REACH_NOT) == (term->number != 0);
	case TERM_POINTS_TO:
		return has_edge(snapshot, object, term->object);
	case TERM_POINTED_BY:
		return has_edge(snapshot, term->object, object);
	}
	return false;
}

bool heap_filter_matches(struct heap_filter *filter, heap_object_id object)
{
	bool matches = filter->count == 0;

	for (size_t i = 0; i < filter->count; i++) {
		const struct term *term = &filter->terms[i];

		if (term->begins_group) {
			if (i > 0 && matches)
				return true;
			matches = true;
		}
		if (matches)
			matches = term_matches(filter, term, object) != term->negated;
	}
	return matches;
}

heap_object_id heap_filter_next(struct heap_filter *filter, heap_object_id from, heap_object_id end)
{
	const struct term *term = filter->terms;

	// The commonest question has a loop of its own, without a call for each object.
	if (filter->count == 1 && term->kind == TERM_TYPE && !term->negated && !term->number) {
		const heap_type_id *type = filter->snapshot->type;

		while (from < end && !term->set[type[from]])
			from++;
		return from;
	}
	while (from < end && !heap_filter_matches(filter, from))
		from++;
	return from;
}
