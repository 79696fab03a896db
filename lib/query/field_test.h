// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FIELD_TEST_H
#define HEAP_FIELD_TEST_H

/**
 * Tests the value of a field, for the filter `field`: "id=7", "state!=CLOSED", "next=NULL",
 * "ratio>0.5", "path=/login", "name=user*", "[3].value=0x5f0010".
 *
 * The type of the field, which differs between types of objects, decides what the value means: a number,
 * an enumerator's name, true or false, NULL or an address, the name of a function, or a string. A string
 * is compared with an array of characters, with the target of a pointer to characters (also a string
 * literal: lib/snapshot/constants.h), or with a std::string; it may be a glob. A structure with one member
 * counts as that, such as std::atomic; others of the libraries by their description. An array of structures
 * matches if one of them does. Bytes that were not kept match nothing; heap_field_test_unknown() counts them.
 */

#include "lib/query/filter_operand.h"
#include "lib/query/text_pattern.h"
#include "lib/snapshot/snapshot.h"

struct heap_field_test;

/**
 * @param host  describes values of several members
 * @return NULL, HEAP_ERROR_ARGUMENT if @p text is no name, comparison and value
 */
HEAP_MUST_CHECK
struct heap_error *heap_field_test_create(struct heap_snapshot *snapshot, const char *text,
					  const struct heap_text_options *options,
					  const struct heap_filter_host *host,
					  struct heap_field_test **result);

/** NULL is fine. */
void heap_field_test_destroy(struct heap_field_test *test);

/** Loads the columns it needs, and reads all strings once if fields may point to them. */
HEAP_MUST_CHECK
struct heap_error *heap_field_test_prepare(struct heap_field_test *test);

/**
 * Returns an error if no object can match: no type has such a field, or it is an enumeration without
 * such a value.
 *
 * @param among  [types.count + 1] not 0 for types that may match; NULL: all may
 * @return HEAP_ERROR_ABSENT, or NULL
 */
HEAP_MUST_CHECK
struct heap_error *heap_field_test_absent(struct heap_field_test *test, const uint8_t *among);

/**
 * @param error  set if reading a string fails
 * @return true if it matches
 */
bool heap_field_test_matches(struct heap_field_test *test, const struct heap_field_subject *subject,
			     struct heap_error **error);

/** Counts the subjects so far that have the field, but whose bytes there were not kept. */
uint64_t heap_field_test_unknown(const struct heap_field_test *test);

#endif
