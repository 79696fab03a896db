// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/field_test.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/graph/graph.h"
#include "lib/query/absent.h"
#include "lib/query/comparison.h"
#include "lib/query/text_pattern.h"
#include "lib/snapshot/constants.h"
#include "lib/types/member_path.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_TEXT = 4096, // bytes of a text that are compared
};

enum meaning {
	NOT_LOOKED_FOR,
	NO_FIELD,
	NUMBER,
	POINTER,        // to something that is no text
	TEXT,           // an array of characters
	POINTED_TO_TEXT // a pointer to characters, alone or in a std::string
};

struct found_field {
	enum meaning meaning;
	struct heap_member_place place;
};

struct heap_field_test {
	struct heap_snapshot *snapshot;
	char *name;
	char *value;
	enum heap_operator comparison;
	bool negated; // !=
	struct heap_text_pattern *pattern;
	struct found_field *found; // [types.count]
	uint8_t *is_text; // [objects / 8 + 1] whose text matches; NULL: no field points to one
	bool is_integer, is_real; // what the value may be
	uint64_t integer;         // two's complement
	double real;
	uint64_t unknown; // subjects whose field was not kept
	bool lacks_bytes; // the one that is being tested
};

// --- the question ------------------------------------------------------------

static void parse_value(struct heap_field_test *test)
{
	const char *value = test->value;
	char *end;

	errno = 0;
	test->integer =
		*value == '-' ? (uint64_t)strtoll(value, &end, 0) : strtoull(value, &end, 0);
	test->is_integer = end != value && *end == '\0' && errno == 0;
	errno = 0;
	test->real = strtod(value, &end);
	test->is_real = end != value && *end == '\0' && errno == 0;
	if (strcmp(value, "NULL") == 0 || strcmp(value, "nullptr") == 0 ||
	    strcmp(value, "false") == 0 || strcmp(value, "true") == 0) {
		test->is_integer = true;
		test->integer = *value == 't';
	}
}

struct heap_error *heap_field_test_create(struct heap_snapshot *snapshot, const char *text,
					  const struct heap_text_options *options,
					  struct heap_field_test **result)
{
	size_t length = strcspn(text, "=<>!");
	const char *value = text + length;
	bool negated = value[0] == '!' && value[1] == '=';
	enum heap_operator comparison;

	value += negated;
	if (length == 0 || !strchr("=<>", *value) || *value == '\0')
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "field %s: not NAME=VALUE, NAME!=VALUE, NAME<VALUE...",
					 text);
	comparison = heap_parse_operator(&value);
	value += comparison == HEAP_EQUAL && *value == '='; // as in C

	struct heap_field_test *test = calloc(1, sizeof(*test));

	if (!test)
		return heap_error_out_of_memory();
	test->snapshot = snapshot;
	test->name = strndup(text, length);
	test->value = strdup(value);
	test->comparison = comparison;
	test->negated = negated;
	test->found = calloc((size_t)snapshot->types.count + 1, sizeof(*test->found));
	if (!test->name || !test->value || !test->found) {
		heap_field_test_destroy(test);
		return heap_error_out_of_memory();
	}
	parse_value(test);

	struct heap_error *error = heap_text_pattern_create(test->value,
							    options->regex   ? HEAP_TEXT_REGEX
							    : options->exact ? HEAP_TEXT_EXACT
									     : HEAP_TEXT_GLOB,
							    options->ignore_case, &test->pattern);

	if (error) {
		heap_field_test_destroy(test);
		return error;
	}
	*result = test;
	return NULL;
}

void heap_field_test_destroy(struct heap_field_test *test)
{
	if (!test)
		return;
	free(test->name);
	free(test->value);
	free(test->found);
	free(test->is_text);
	heap_text_pattern_destroy(test->pattern);
	free(test);
}

// --- fields ------------------------------------------------------------------

static bool is_character(const struct heap_types *types, heap_type_id type)
{
	const struct heap_type *bare = &types->types[heap_types_strip(types, type)];

	return (bare->flags & HEAP_TYPE_CHARACTER) && bare->size == 1;
}

static enum meaning meaning_of(const struct heap_types *types, struct heap_member_place *place)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, place->type)];
	struct heap_member_place pointer;

	switch (type->kind) {
	case HEAP_TYPE_BASE:
	case HEAP_TYPE_ENUM:
		return heap_scalar_is(types, place->type) ? NUMBER : NO_FIELD;
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
		return is_character(types, type->target) ? POINTED_TO_TEXT : POINTER;
	case HEAP_TYPE_ARRAY:
		return is_character(types, type->target) ? TEXT : NO_FIELD;
	case HEAP_TYPE_STRUCT:
	case HEAP_TYPE_CLASS:
		// A std::string; libc++'s are laid out by bits.
		if (!heap_member_find(types, place->type, "_M_dataplus._M_p", &pointer))
			return NO_FIELD;
		place->type = pointer.type;
		place->offset += pointer.offset;
		return POINTED_TO_TEXT;
	default:
		return NO_FIELD;
	}
}

static const struct found_field *find_field(struct heap_field_test *test, heap_type_id type)
{
	const struct heap_types *types = &test->snapshot->types;
	struct found_field *found = &test->found[type];

	if (found->meaning != NOT_LOOKED_FOR)
		return found;
	found->meaning = heap_member_find(types, type, test->name, &found->place)
				 ? meaning_of(types, &found->place)
				 : NO_FIELD;
	return found;
}

static bool names_enumerator(const struct heap_types *types, heap_type_id type, const char *name,
			     uint64_t *result)
{
	const struct heap_type *bare = &types->types[heap_types_strip(types, type)];

	for (uint32_t i = 0; bare->kind == HEAP_TYPE_ENUM && i < bare->members; i++) {
		const struct heap_enumerator *enumerator =
			&types->enumerators[bare->first_member + i];

		if (strcmp(heap_types_string(types, enumerator->name), name) == 0) {
			*result = (uint64_t)enumerator->value;
			return true;
		}
	}
	return false;
}

struct heap_error *heap_field_test_absent(struct heap_field_test *test, const uint8_t *among)
{
	const struct heap_types *types = &test->snapshot->types;
	heap_type_id enumeration = HEAP_NO_TYPE;
	bool found = false;
	uint64_t value;

	for (heap_type_id i = 1; i < types->count; i++) {
		const struct found_field *field = !among || among[i] ? find_field(test, i) : NULL;

		if (!field || field->meaning == NO_FIELD)
			continue;
		found = true;
		if (types->types[heap_types_strip(types, field->place.type)].kind !=
			    HEAP_TYPE_ENUM ||
		    names_enumerator(types, field->place.type, test->value, &value))
			return NULL;
		enumeration = field->place.type;
	}
	if (!found)
		return heap_absent_member(types, among, test->name);
	return test->is_integer || test->is_real
		       ? NULL
		       : heap_absent_enumerator(types, enumeration, test->name, test->value);
}

// --- texts -------------------------------------------------------------------

static bool text_matches(const struct heap_field_test *test, const char *bytes, uint64_t size)
{
	size_t length = strnlen(bytes, size < MAX_TEXT ? size : MAX_TEXT);

	// If a string is truncated, its captured part counts.
	return test->comparison == HEAP_EQUAL &&
	       heap_text_pattern_matches(test->pattern, bytes, length, true);
}

static bool may_be_text(const struct heap_snapshot *snapshot, heap_object_id object)
{
	heap_type_id type = snapshot->type[object];

	return type == HEAP_NO_TYPE || is_character(&snapshot->types, type);
}

// Looks through all texts in the order in which they are stored.
HEAP_MUST_CHECK
static struct heap_error *find_texts(struct heap_field_test *test)
{
	struct heap_snapshot *snapshot = test->snapshot;
	char bytes[MAX_TEXT];
	size_t kept;

	test->is_text = calloc((size_t)snapshot->object_count / 8 + 1, 1);
	if (!test->is_text)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (!may_be_text(snapshot, i))
			continue;
		HEAP_TRY(heap_snapshot_read_content(snapshot, i, bytes, sizeof(bytes), &kept));
		if (kept > 0 && text_matches(test, bytes, kept))
			heap_bit_set(test->is_text, i);
	}
	return NULL;
}

struct heap_error *heap_field_test_prepare(struct heap_field_test *test)
{
	const struct heap_types *types = &test->snapshot->types;

	HEAP_TRY(heap_snapshot_load(test->snapshot,
				    HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE |
					    HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_SLOTS));

	for (heap_type_id i = 1; !test->is_text && i < types->count; i++) {
		if (find_field(test, i)->meaning == POINTED_TO_TEXT)
			HEAP_TRY(find_texts(test));
	}
	return NULL;
}

// --- values ------------------------------------------------------------------

static bool number_matches(const struct heap_field_test *test, const struct heap_scalar *value,
			   heap_type_id type)
{
	const uint64_t sign = UINT64_C(1) << 63;
	uint64_t wanted = test->integer;
	const struct heap_types *types = &test->snapshot->types;

	if (value->kind == HEAP_SCALAR_REAL)
		return test->is_real &&
		       heap_compare_reals(value->real, test->comparison, test->real);
	if (is_character(types, type) && test->value[0] && !test->value[1] && !test->is_integer)
		wanted = (uint8_t)test->value[0];
	else if (!test->is_integer && !names_enumerator(types, type, test->value, &wanted))
		return test->is_real &&
		       heap_compare_reals(value->real, test->comparison, test->real);
	// With the sign turned round, signed numbers are in order.
	if (value->kind == HEAP_SCALAR_SIGNED)
		return heap_compare(value->number ^ sign, test->comparison, wanted ^ sign);
	return heap_compare(value->number, test->comparison, wanted);
}

// True if the string at an offset of an object matches.
static bool target_matches(struct heap_field_test *test, heap_object_id object, uint32_t interior,
			   struct heap_error **error)
{
	char bytes[MAX_TEXT];
	uint64_t wanted = (uint64_t)interior + MAX_TEXT;
	size_t kept;

	if (interior == 0 && may_be_text(test->snapshot, object))
		return heap_bit_get(test->is_text, object);
	if (*error || wanted > MAX_TEXT + UINT64_C(1) * (1 << 20))
		return false;

	CLEANUP_FREE char *many = interior ? malloc(wanted) : NULL;

	if (interior && !many) {
		*error = heap_error_out_of_memory();
		return false;
	}
	*error = heap_snapshot_read_content(test->snapshot, object, many ? many : bytes,
					    (size_t)wanted, &kept);
	return !*error && interior < kept &&
	       text_matches(test, (many ? many : bytes) + interior, kept - interior);
}

// True if a string literal of the program, which no object holds, matches.
static bool constant_matches(const struct heap_field_test *test, uint64_t address)
{
	char bytes[MAX_TEXT];
	size_t length;
	bool is_whole;

	return heap_constants_string(test->snapshot, address, bytes, sizeof(bytes), &length,
				     &is_whole) &&
	       text_matches(test, bytes, length);
}

// Bytes of an array of characters that are known; one without a length goes up to the end.
static uint64_t bytes_of_array(const struct heap_field_test *test,
			       const struct heap_field_subject *subject,
			       const struct heap_member_place *place)
{
	uint64_t size = heap_types_size(&test->snapshot->types, place->type);
	uint64_t known = subject->kept - place->offset;

	return size > 0 && size < known ? size : known;
}

static bool is_named_function(const struct heap_field_test *test, uint64_t address)
{
	const struct heap_call *code = heap_snapshot_function(test->snapshot, address);

	return code && test->comparison == HEAP_EQUAL &&
	       heap_function_is(test->snapshot, code, test->value);
}

// The value of a field in one of the structures that begin at `start` in the subject.
static bool element_matches(struct heap_field_test *test, const struct heap_field_subject *subject,
			    const struct found_field *field, uint64_t start,
			    struct heap_error **error)
{
	struct heap_snapshot *snapshot = test->snapshot;
	struct heap_member_place place = field->place;
	struct heap_scalar value;

	if (__builtin_add_overflow(place.offset, start, &place.offset) ||
	    place.offset >= subject->size)
		return false;
	if (field->meaning == TEXT) {
		test->lacks_bytes |= place.offset >= subject->kept;
		return place.offset < subject->kept &&
		       text_matches(test, (const char *)subject->bytes + place.offset,
				    bytes_of_array(test, subject, &place)) != test->negated;
	}

	uint32_t edge = heap_edge_at(snapshot, subject->object, subject->offset + place.offset);
	bool has_value =
		heap_scalar_load(&snapshot->types, &place, subject->bytes, subject->kept, &value);

	test->lacks_bytes |= !has_value && (field->meaning == NUMBER || edge == UINT32_MAX);
	if (field->meaning == NUMBER)
		return has_value && number_matches(test, &value, place.type) != test->negated;
	if (edge != UINT32_MAX)
		value.number = snapshot->address[snapshot->edge_target[edge]] +
			       snapshot->edge_interior[edge];
	else if (!has_value)
		return false;
	if (test->is_integer && heap_compare(value.number, test->comparison, test->integer))
		return !test->negated;
	if (is_named_function(test, value.number))
		return !test->negated;
	if (field->meaning == POINTED_TO_TEXT && edge != UINT32_MAX &&
	    target_matches(test, snapshot->edge_target[edge], snapshot->edge_interior[edge], error))
		return !test->negated;
	if (field->meaning == POINTED_TO_TEXT && edge == UINT32_MAX &&
	    constant_matches(test, value.number))
		return !test->negated;
	return test->negated;
}

static bool has_match(struct heap_field_test *test, const struct heap_field_subject *subject,
		      struct heap_error **error)
{
	const struct heap_types *types = &test->snapshot->types;
	const struct found_field *field = find_field(test, subject->type);
	uint64_t size = heap_types_size(types, subject->type);
	bool one = subject->elements <= 1 || size == 0 || test->name[0] == '[' ||
		   heap_types_flexible(types, subject->type, NULL, NULL);

	if (field->meaning == NO_FIELD)
		return false;
	// There are no more of them than that, whatever lies behind.
	if (test->name[0] == '[' && size > 0 && field->place.offset / size >= subject->elements &&
	    !heap_types_flexible(types, subject->type, NULL, NULL))
		return false;
	if (one)
		return element_matches(test, subject, field, 0, error);
	for (uint64_t i = 0; i < subject->elements && i < subject->size / size; i++) {
		if (element_matches(test, subject, field, i * size, error))
			return true;
	}
	return false;
}

bool heap_field_test_matches(struct heap_field_test *test, const struct heap_field_subject *subject,
			     struct heap_error **error)
{
	bool matches;

	test->lacks_bytes = false;
	matches = has_match(test, subject, error);
	test->unknown += !matches && test->lacks_bytes;
	return matches;
}

uint64_t heap_field_test_unknown(const struct heap_field_test *test)
{
	return test->unknown;
}
