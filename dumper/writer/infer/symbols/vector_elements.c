// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/vector_elements.h"

enum {
	LEAST_LENGTHS = 3, // of vectors, that tell the size of an element
};

static struct word_tally tally_elements(const struct shape_reader *reader,
					const struct vector_elements *elements)
{
	struct word_tally tally = word_tally_start(elements->stride);

	for (size_t i = 0; i < elements->count; i++) {
		const struct vector_buffer *sample = &elements->samples[i];
		uint64_t address = objects_address(&reader->capture->objects, sample->object);

		for (uint64_t j = 0;
		     j < SHAPE_SAMPLES && (j + 1) * elements->stride <= sample->used; j++)
			word_tally_add(reader, address + j * elements->stride, &tally);
	}
	return tally;
}

// True if vectors have so many different lengths that these have no divisor in common but the size of an element.
static bool have_many_lengths(const struct vector_elements *elements)
{
	uint64_t lengths[LEAST_LENGTHS];
	size_t count = 0;

	for (size_t i = 0; i < elements->count && count < LEAST_LENGTHS; i++) {
		uint64_t used = elements->samples[i].used;
		size_t at = 0;

		while (at < count && lengths[at] != used)
			at++;
		if (at == count)
			lengths[count++] = used;
	}
	return count == LEAST_LENGTHS;
}

static bool is_period(const enum field_class *classes, size_t words, size_t period)
{
	enum field_class known[SHAPE_WORDS] = { 0 };

	for (size_t i = 0; i < words; i++) {
		enum field_class *class = &known[i % period];

		if (*class == FIELD_NOTHING)
			*class = classes[i];
		else if (classes[i] != FIELD_NOTHING && classes[i] != *class)
			return false;
	}
	return words % period == 0;
}

/*
 * The size of an element, which divides all lengths. Lengths may have more in common, so fields that repeat are
 * taken for elements of their own.
 */
static uint64_t reduce_stride(const struct shape_reader *reader,
			      const struct vector_elements *elements)
{
	struct word_tally tally = tally_elements(reader, elements);
	enum field_class classes[SHAPE_WORDS];
	size_t period = 1;

	if (elements->stride % 8 != 0)
		return elements->stride & -elements->stride;
	for (size_t i = 0, width; i < tally.words; i += width) {
		enum field_class class = word_tally_choose(&tally, i);

		width = shape_field_width(reader, class);
		for (size_t j = 0; j < width; j++)
			classes[i + j] = class;
	}
	while (!is_period(classes, tally.words, period))
		period++;
	// All words of a value of the library are alike.
	return shape_field_is_library(classes[0]) && period == 1
		       ? shape_field_width(reader, classes[0]) * 8
		       : period * UINT64_C(8);
}

bool vector_elements_find(const struct shape_reader *reader, struct vector_elements *elements,
			  struct shape *shape)
{
	struct word_tally tally;
	uint32_t pointers;

	if (elements->stride > SHAPE_WORDS * 8)
		return false;
	elements->stride = reduce_stride(reader, elements);
	tally = tally_elements(reader, elements);
	pointers = tally.counts[0][FIELD_POINTER] + tally.counts[0][FIELD_TEXT_POINTER];
	*shape = (struct shape){ .size = elements->stride, .is_element = true };
	shape_find_fields(reader, &tally, NULL, shape);
	if (shape->count == 1 && shape->fields[0].class == FIELD_NOTHING)
		return false; // zeros alone show nothing
	return have_many_lengths(elements) ||
	       (shape->count == 1 && shape_field_is_library(shape->fields[0].class)) ||
	       (elements->stride == 8 && pointers == tally.blocks);
}
