// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MEMBER_STEP_H
#define MEMBER_STEP_H

/** The syntax of member paths: `.name`, `->name`, `[3]`, `[3..5]`, `["Ada"]`. */

#include <stdbool.h>
#include <stdint.h>

enum {
	MEMBER_WORD_MAX = 1024, /**< bytes of an operand with its path, and its end */
};

struct member_step {
	char name[MEMBER_WORD_MAX]; /**< of a member; of an index, all between the brackets */
	uint64_t first, last;       /**< of elements, both included */
	bool is_index;              /**< in brackets; otherwise a member */
	bool is_number; /**< the index is a number, or a range of them: first and last */
	bool is_range;  /**< it has two dots */
};

/** Parses one step. @return what follows it; NULL: there is no step */
const char *member_step_parse(const char *text, struct member_step *result);

#endif
