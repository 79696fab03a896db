// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_TERMS_H
#define HEAP_FILTER_TERMS_H

/**
 * The terms of a filter: what each is called, what follows it, and what of it can be known
 * before any object is looked at. For the filter's own files.
 */

#include "lib/query/filter.h"

enum heap_term_kind {
	TERM_TYPE,        /**< set: types; number: elements, for IF_AS_MANY */
	TERM_SITE,        /**< set: sites; also for module */
	TERM_FRAME,       /**< set: sites, of what has no backtrace; steps: of what has */
	TERM_EVIDENCE,    /**< number */
	TERM_CONFLICT,    /**< nothing */
	TERM_UNDER_TYPED, /**< nothing */
	TERM_SIZE,        /**< comparison, number */
	TERM_AGE,         /**< set: epochs */
	TERM_STRING,      /**< pattern */
	TERM_FIELD,       /**< field */
	TERM_REACH,       /**< number: wanted or not */
	TERM_POINTS_TO,   /**< object; or set: functions */
	TERM_POINTED_BY,  /**< object */
	TERM_RETAINED,    /**< comparison, number */
	TERM_UNDER,       /**< object; set: a bit per object that it dominates */
	TERM_NEW,         /**< nothing */
	TERM_TRACED,      /**< set: samples */
	TERM_LOCAL,       /**< set: a bit per object that such a variable points to */
};

/** Values of a set of types. */
enum {
	NEVER,
	ALWAYS,
	IF_AS_MANY,
};

enum heap_comparison {
	EQUAL,
	LESS,
	GREATER,
	AT_MOST,
	AT_LEAST,
};

struct heap_term {
	enum heap_term_kind kind;
	bool negated;
	bool begins_group; /**< after `or` */
	enum heap_comparison comparison;
	uint64_t number;
	uint8_t *set;   /**< [of types, sites, epochs or samples] 1: matches */
	uint8_t *steps; /**< [of steps] 1: it or one outwards of it matches */
	struct heap_text_pattern *pattern;
	struct heap_field_test *field;
	heap_object_id object;
};

/** How texts are compared: --regex, --exact, -i. */
struct heap_text_options {
	bool regex, exact, ignore_case;
};

struct heap_filter_parsing {
	struct heap_snapshot *snapshot;
	heap_filter_resolver *resolve;
	void *context;
	struct heap_text_options text; /**< for the term that is being parsed */
};

/** What stands after a term's name. */
enum heap_term_words {
	WORDS_NONE,
	WORDS_ONE,
	WORDS_TEXT,       /**< options of texts, and a word */
	WORDS_COMPARISON, /**< a comparison and its number, together or apart */
	WORDS_TYPE,       /**< a type's name, of one word or several */
};

struct heap_term_kind_description {
	const char *name;
	enum heap_term_words words;
	struct heap_error *(*parse)(const struct heap_filter_parsing *parsing, const char *word,
				    struct heap_term *term);
};

extern const struct heap_term_kind_description heap_term_kinds[];
extern const size_t heap_term_kind_count;

/** Frees what a term holds. */
void heap_term_deinit(struct heap_term *term);

/** Takes <, >, =, <= or >= off the front. */
enum heap_comparison heap_parse_comparison(const char **text);

/** True if code is the beginning of a function of that name. @param name  may be a glob */
bool heap_function_is(const struct heap_snapshot *snapshot, const struct heap_call *code,
		      const char *name);

/** Whether `value comparison with`, such as 7 < 9. */
bool heap_compare(uint64_t value, enum heap_comparison comparison, uint64_t with);

#endif
