// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_TERMS_H
#define HEAP_FILTER_TERMS_H

/**
 * The terms of a filter: what each is called, what follows it, and what of it can be known
 * before any object is looked at. For the filter's own files.
 */

#include "lib/query/filter.h"

enum heap_term_kind {
	HEAP_TERM_TYPE,        /**< set: types; number: elements, for HEAP_IF_AS_MANY */
	HEAP_TERM_SITE,        /**< set: sites; also for module */
	HEAP_TERM_FRAME,       /**< set: sites, of what has no backtrace; steps: of what has */
	HEAP_TERM_EVIDENCE,    /**< number */
	HEAP_TERM_CONFLICT,    /**< nothing */
	HEAP_TERM_UNDER_TYPED, /**< nothing */
	HEAP_TERM_SIZE,        /**< comparison, number */
	HEAP_TERM_AGE,         /**< set: epochs */
	HEAP_TERM_STRING,      /**< pattern */
	HEAP_TERM_FIELD,       /**< field */
	HEAP_TERM_REACH,       /**< number: wanted or not */
	HEAP_TERM_POINTS_TO,   /**< object; or set: functions */
	HEAP_TERM_POINTED_BY,  /**< object */
	HEAP_TERM_RETAINED,    /**< comparison, number */
	HEAP_TERM_UNDER,       /**< object; set: a bit per object that it dominates */
	HEAP_TERM_NEW,         /**< nothing */
	HEAP_TERM_TRACED,      /**< set: samples */
	HEAP_TERM_LOCAL,       /**< set: a bit per object that such a variable points to */
};

/** Values of a set of types. */
enum {
	HEAP_NEVER,
	HEAP_ALWAYS,
	HEAP_IF_AS_MANY,
};

enum heap_operator {
	HEAP_EQUAL,
	HEAP_LESS,
	HEAP_GREATER,
	HEAP_AT_MOST,
	HEAP_AT_LEAST,
};

struct heap_term {
	enum heap_term_kind kind;
	bool negated;
	bool begins_group; /**< after `or` */
	enum heap_operator comparison;
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
	struct heap_error **absent;    /**< the first name that the snapshot does not have */
};

/** What stands after a term's name. */
enum heap_term_words {
	HEAP_WORDS_NONE,
	HEAP_WORDS_ONE,
	HEAP_WORDS_TEXT,       /**< options of texts, and a word */
	HEAP_WORDS_COMPARISON, /**< a comparison and its number, together or apart */
	HEAP_WORDS_TYPE,       /**< a type's name, of one word or several */
};

struct heap_term_kind_description {
	const char *name;
	enum heap_term_words words;
	struct heap_error *(*parse)(const struct heap_filter_parsing *parsing, const char *word,
				    struct heap_term *term);
};

extern const struct heap_term_kind_description heap_term_kinds[];
extern const size_t heap_term_kind_count;

/** Notes a name that the snapshot does not have. @param error  is taken over */
void heap_filter_note_absent(const struct heap_filter_parsing *parsing, struct heap_error *error);

/** Frees what a term holds. */
void heap_term_deinit(struct heap_term *term);

/** Takes <, >, =, <= or >= off the front. */
enum heap_operator heap_parse_operator(const char **text);

/** True if code is the beginning of a function of that name. @param name  may be a glob */
bool heap_function_is(const struct heap_snapshot *snapshot, const struct heap_call *code,
		      const char *name);

/** Whether `value comparison with`, such as 7 < 9. */
bool heap_compare(uint64_t value, enum heap_operator comparison, uint64_t with);

#endif
