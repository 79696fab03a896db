// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/field_test.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/graph/graph.h"
#include "lib/query/absent.h"
#include "lib/query/comparison.h"
#include "lib/query/enumerator.h"
#include "lib/query/field_value.h"
#include "lib/query/text_pattern.h"
#include "lib/snapshot/constants.h"
#include "lib/types/scalar.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_TEXT = 4096, // bytes of a text that are compared
};

enum meaning {
	NOT_LOOKED_FOR,
	NO_FIELD,
	NUMBER,
	POINTER,         // to something that is no text
	TEXT,            // an array of characters
	POINTED_TO_TEXT, // a pointer to characters, alone or in a std::string
	DESCRIBED        // a structure that is one value for a person
};

struct found_field {
	enum meaning meaning;
	struct heap_member_place place; // of what is compared
	struct heap_member_place whole; // of the structure around it
	bool is_described;              // by the describer, if the comparison fails
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
	heap_wide integer;        // two's complement
	double real;
	struct heap_filter_host host;
	uint64_t unknown; // subjects whose field was not kept
	bool lacks_bytes; // the one that is being tested
};

// --- the question ------------------------------------------------------------

static void parse_value(struct heap_field_test *test)
{
	const char *value = test->value;
	char *end;

	test->is_integer = heap_parse_wide(value, &test->integer);
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
					  const struct heap_filter_host *host,
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
	test->host = *host;
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
	const struct heap_type *type;

	heap_field_unwrap(types, place);
	type = &types->types[heap_types_strip(types, place->type)];
	switch (type->kind) {
	case HEAP_TYPE_BASE:
	case HEAP_TYPE_ENUM:
	case HEAP_TYPE_MEMBER_POINTER:
		return heap_scalar_is(types, place->type) ? NUMBER : NO_FIELD;
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
		return is_character(types, type->target) ? POINTED_TO_TEXT : POINTER;
	case HEAP_TYPE_ARRAY:
		return is_character(types, type->target) ? TEXT : NO_FIELD;
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
	found->meaning = NO_FIELD;
	if (!heap_member_find(types, type, test->name, &found->place))
		return found;
	found->whole = found->place;
	found->is_described =
		test->host.describe && heap_field_may_be_described(types, found->place.type);
	found->meaning = meaning_of(types, &found->place);
	// Its text is what is compared, and many objects may have one.
	if (found->meaning == POINTED_TO_TEXT)
		found->is_described = false;
	if (found->meaning == NO_FIELD && found->is_described)
		found->meaning = DESCRIBED;
	return found;
}

struct heap_error *heap_field_test_absent(struct heap_field_test *test, const uint8_t *among)
{
	const struct heap_types *types = &test->snapshot->types;
	heap_type_id enumeration = HEAP_NO_TYPE;
	heap_type_id compound = HEAP_NO_TYPE;
	struct heap_member_place place;
	bool found = false;
	uint64_t value;

	for (heap_type_id i = 1; i < types->count; i++) {
		const struct found_field *field = !among || among[i] ? find_field(test, i) : NULL;

		if (field && field->meaning == NO_FIELD &&
		    heap_member_find(types, i, test->name, &place))
			compound = place.type;
		if (!field || field->meaning == NO_FIELD)
			continue;
		found = true;
		if (types->types[heap_types_strip(types, field->place.type)].kind !=
			    HEAP_TYPE_ENUM ||
		    heap_enumerator_value(types, field->place.type, test->value, &value))
			return NULL;
		enumeration = field->place.type;
	}
	if (!found && compound != HEAP_NO_TYPE)
		return heap_absent_value(types, compound, test->name);
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

// The number that is displayed counts, too: 0.1, which is no float.
static bool real_matches(const struct heap_field_test *test, const struct heap_scalar *value)
{
	char text[HEAP_SCALAR_TEXT];

	if (!test->is_real)
		return false;
	if (heap_compare_reals((double)value->real, test->comparison, test->real))
		return true;
	if (test->comparison != HEAP_EQUAL || value->kind != HEAP_SCALAR_REAL)
		return false;
	heap_scalar_format(value, text);
	return strtod(text, NULL) == test->real;
}

// True if two texts differ in spaces only.
static bool is_same_text(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, " ");
		b += strspn(b, " ");
		if (*a != *b || !*a)
			return *a == *b;
	}
}

// "1 - 2i", or a number that has no imaginary part.
static bool complex_matches(const struct heap_field_test *test, const struct heap_scalar *value)
{
	char text[HEAP_SCALAR_TEXT];

	if (test->comparison != HEAP_EQUAL)
		return false;
	heap_scalar_format(value, text);
	return is_same_text(text, test->value) ||
	       (value->imaginary == 0 && test->is_real && (double)value->real == test->real);
}

// A wanted number has no more bits than the integer that it is compared with: -1 is the greatest one without a sign.
static heap_wide wanted_bits(const struct heap_field_test *test, const struct heap_scalar *value)
{
	const heap_wide most = UINT64_MAX;
	heap_wide wanted = test->integer;

	if (value->size > 8)
		return wanted;
	if (value->kind != HEAP_SCALAR_SIGNED)
		return wanted >> 63 == ~(heap_wide)0 >> 63 ? wanted & most : wanted;
	return wanted <= most && wanted >> 63 ? wanted | ~most : wanted;
}

static bool number_matches(const struct heap_field_test *test, const struct heap_scalar *value,
			   heap_type_id type)
{
	const heap_wide sign = (heap_wide)1 << 127;
	heap_wide number = heap_scalar_wide(value), wanted = wanted_bits(test, value);
	const struct heap_types *types = &test->snapshot->types;
	uint64_t enumerator;

	if (value->kind == HEAP_SCALAR_REAL)
		return real_matches(test, value);
	if (value->kind == HEAP_SCALAR_COMPLEX)
		return complex_matches(test, value);
	if (is_character(types, type) && test->value[0] && !test->value[1] && !test->is_integer) {
		wanted = (uint8_t)test->value[0];
	} else if (!test->is_integer) {
		if (!heap_enumerator_value(types, type, test->value, &enumerator))
			return real_matches(test, value);
		number = (uint64_t)number;
		wanted = enumerator;
		if (value->kind == HEAP_SCALAR_SIGNED) {
			number ^= UINT64_C(1) << 63;
			wanted ^= UINT64_C(1) << 63;
		}
		return heap_compare_wide(number, test->comparison, wanted);
	}
	// With the sign turned round, signed numbers are in order.
	if (value->kind == HEAP_SCALAR_SIGNED) {
		number ^= sign;
		wanted ^= sign;
	}
	return heap_compare_wide(number, test->comparison, wanted);
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

// Compares what a person sees: as text, or as a number that it is.
static bool described_matches(struct heap_field_test *test,
			      const struct heap_field_subject *subject,
			      const struct heap_member_place *place, bool *is_known)
{
	char text[MAX_TEXT + 1], *end;
	size_t length = 0;

	*is_known =
		test->host.describe(test->host.context, subject, place, text, MAX_TEXT, &length);
	if (!*is_known)
		return false;
	text[length] = '\0';
	if (test->comparison == HEAP_EQUAL &&
	    (heap_text_pattern_matches(test->pattern, text, length, true) ||
	     (strchr("-0123456789", *text) && is_same_text(text, test->value))))
		return true;

	double number = strtod(text, &end);

	return test->is_real && end != text && !*end &&
	       heap_compare_reals(number, test->comparison, test->real);
}

static bool simple_matches(struct heap_field_test *test, const struct heap_field_subject *subject,
			   const struct found_field *field, struct heap_member_place place,
			   struct heap_error **error);

// The value of a field in one of the structures that begin at `start` in the subject.
static bool element_matches(struct heap_field_test *test, const struct heap_field_subject *subject,
			    const struct found_field *field, uint64_t start,
			    struct heap_error **error)
{
	struct heap_member_place place = field->place, whole = field->whole;
	bool is_simple = field->meaning != DESCRIBED, matches, is_known = false;

	if (__builtin_add_overflow(place.offset, start, &place.offset) ||
	    __builtin_add_overflow(whole.offset, start, &whole.offset) ||
	    place.offset >= subject->size)
		return false;
	matches = is_simple && simple_matches(test, subject, field, place, error);
	if (!field->is_described || (is_simple && matches != test->negated))
		return matches;
	if (described_matches(test, subject, &whole, &is_known))
		return !test->negated;
	test->lacks_bytes |= !is_simple && whole.offset >= subject->kept;
	return is_simple ? matches : is_known && test->negated;
}

static bool simple_matches(struct heap_field_test *test, const struct heap_field_subject *subject,
			   const struct found_field *field, struct heap_member_place place,
			   struct heap_error **error)
{
	struct heap_snapshot *snapshot = test->snapshot;
	struct heap_scalar value = { .kind = HEAP_SCALAR_POINTER, .size = 8 };

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
	if (test->is_integer &&
	    heap_compare_wide(value.number, test->comparison, wanted_bits(test, &value)))
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
