// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FIELD_TEST_H
#define HEAP_FIELD_TEST_H

/**
 * Whether a field has a value, as the filter `field` asks: "id=7", "state!=CLOSED", "next=NULL",
 * "ratio>0.5", "path=/login", "name=user*", "[3].value=0x5f0010".
 *
 * What the value means depends on the field's type, of which there may be several: a number, an
 * enumerator's name, true or false, NULL or an address, the name of a function, or a text. A text is that of an array of
 * characters, of what a pointer to characters points to, or of a std::string; it may be a glob.
 * Of several structures in a row one will do. What was not kept is not known, and matches nothing.
 */

#include "lib/query/filter_terms.h"
#include "lib/snapshot/snapshot.h"

struct heap_field_test;

/** @return NULL, HEAP_ERROR_ARGUMENT if @p text is no name, comparison and value */
HEAP_MUST_CHECK
struct heap_error *heap_field_test_create(struct heap_snapshot *snapshot, const char *text,
					  const struct heap_text_options *options,
					  struct heap_field_test **result);

/** NULL is fine. */
void heap_field_test_destroy(struct heap_field_test *test);

/** Loads what it needs, and reads all texts once if there may be pointers to them. */
HEAP_MUST_CHECK
struct heap_error *heap_field_test_prepare(struct heap_field_test *test);

/**
 * Says if the question cannot be answered by any object: no type has such a field, or it is an
 * enumeration that has no such value.
 *
 * @param among  [types.count + 1] the types that are asked are not 0; NULL: all are
 * @return HEAP_ERROR_ABSENT, or NULL
 */
HEAP_MUST_CHECK
struct heap_error *heap_field_test_absent(struct heap_field_test *test, const uint8_t *among);

/** Something typed: an object, or a part of one. */
struct heap_field_subject {
	heap_object_id object;
	uint64_t offset; /**< in the object */
	uint64_t size;
	heap_type_id type;
	uint64_t elements;
	const uint8_t *bytes; /**< [kept] of it, from the offset on */
	uint64_t kept;
};

/**
 * @param error  set if reading a text fails
 * @return whether it matches
 */
bool heap_field_test_matches(struct heap_field_test *test, const struct heap_field_subject *subject,
			     struct heap_error **error);

#endif
