// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef RULES_H
#define RULES_H

/**
 * Rules for heapsh-check: limits that a heap must keep.
 *
 *	# comment
 *	struct session <= 0 per loop         a type; a glob, such as 'struct *'
 *	type char <= 64K per loop            the same
 *	site cache_fill* <= 10 per loop      an allocation site: its function, or FILE:LINE
 *	struct config <= 1
 *	leaked <= 0
 *	total <= 64M
 *
 * A number counts objects, a number with a unit (64K, 1.5M, 12B) counts bytes. Limits per loop are
 * of growth (lib/series/loop_growth.h), others of the last snapshot.
 */

#include "lib/base/array.h"

#include <stdbool.h>
#include <stdint.h>

enum rule_subject {
	RULE_TYPE,
	RULE_SITE,
	RULE_TOTAL,
	RULE_LEAKED,
};

struct rule {
	enum rule_subject subject;
	char *pattern; /**< of TYPE and SITE: a glob */
	char *text;    /**< as it was written */
	uint64_t limit;
	bool of_bytes;
	bool per_loop;
};

struct rules HEAP_ARRAY(struct rule);

/** Adds a rule. @return NULL, or HEAP_ERROR_ARGUMENT: it is none */
HEAP_MUST_CHECK
struct heap_error *rules_add(struct rules *rules, const char *text);

/** Adds the rules of a file; messages have the number of the line. */
HEAP_MUST_CHECK
struct heap_error *rules_read(struct rules *rules, const char *path);

void rules_deinit(struct rules *rules);

/** True if a rule is about a type or site of that name. */
bool rule_matches(const struct rule *rule, enum rule_subject subject, const char *name);

#endif
