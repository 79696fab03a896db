// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_TERMS_H
#define HEAP_FILTER_TERMS_H

/**
 * The terms of a filter: their names, their arguments, and what is computed of them before any object
 * is tested. For the filter's own files.
 */

#include "lib/query/comparison.h"
#include "lib/query/filter_operand.h"
#include "lib/query/text_pattern.h"

enum heap_term_kind {
	HEAP_TERM_TYPE,        /**< set: types; number: elements, for HEAP_IF_AS_MANY */
	HEAP_TERM_SITE,        /**< set: sites; also for module */
	HEAP_TERM_FRAME,       /**< steps; set: sites, for objects without a backtrace */
	HEAP_TERM_EVIDENCE,    /**< number */
	HEAP_TERM_TAG,         /**< set: tags */
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
	HEAP_TERM_LOCAL,       /**< set: a bit per object that variables point to */
};

/** Values of a set of types. */
enum {
	HEAP_NEVER,
	HEAP_ALWAYS,
	HEAP_IF_AS_MANY,
};

struct heap_term {
	enum heap_term_kind kind;
	bool negated;
	bool begins_group; /**< after `or` */
	enum heap_operator comparison;
	uint64_t number;
	uint8_t *set;   /**< [types, sites, epochs or samples] 1: matches */
	uint8_t *steps; /**< [steps] 1: the step or one of its callers matches */
	struct heap_text_pattern *pattern;
	struct heap_field_test *field;
	heap_object_id object;
};

struct heap_filter_parsing {
	struct heap_snapshot *snapshot;
	const struct heap_filter_host *host;
	struct heap_text_options text; /**< for the term that is being parsed */
	struct heap_error **absent;    /**< gets the first name that the snapshot does not have */
};

/** The words that follow a term's name. */
enum heap_term_words {
	HEAP_WORDS_NONE,
	HEAP_WORDS_ONE,
	HEAP_WORDS_TEXT,       /**< options of strings, and a word */
	HEAP_WORDS_COMPARISON, /**< an operator and a number, together or separate */
	HEAP_WORDS_FIELD,      /**< options of strings, a member's name, an operator and a value */
	HEAP_WORDS_TYPE,       /**< a type's name, of one or several words */
};

struct heap_term_kind_description {
	const char *name;
	enum heap_term_words words;
	struct heap_error *(*parse)(const struct heap_filter_parsing *parsing, const char *word,
				    struct heap_term *term);
};

extern const struct heap_term_kind_description heap_term_kinds[];
extern const size_t heap_term_kind_count;

/** Records a name that the snapshot does not have. @param error  owned by it from now on */
void heap_filter_note_absent(const struct heap_filter_parsing *parsing, struct heap_error *error);

/** Frees what a term holds. */
void heap_term_deinit(struct heap_term *term);

#endif
