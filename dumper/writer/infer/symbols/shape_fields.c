// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/shape_fields.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/symbols/links.h"
#include "lib/base/escape.h"

#include <string.h>

enum {
	LEAST_VECTORS = 2, // that are not empty, of a field
	LEAST_TEXT = 4,    // letters
	LONG_TEXT = 16,    // which is text whatever comes after it
	ROUNDED = 8,       // bytes that a text's block may have behind it, with the NUL
	SMALLEST = 24,     // bytes of glibc's smallest block; the program may have requested fewer
	LEAST_ADDRESS = 65536,
};

static const enum field_class class_of_role[] = {
	[LINK_NEXT] = FIELD_NEXT,
	[LINK_PREVIOUS] = FIELD_PREVIOUS,
	[LINK_CHILD] = FIELD_CHILD,
	[LINK_PARENT] = FIELD_PARENT,
};

// --- words ---------------------------------------------------------------------

static bool is_ascii(unsigned char byte)
{
	return (byte >= ' ' && byte < 0x7f) || (byte >= '\t' && byte <= '\r');
}

// Bytes of the printable letter that begins there; 0: there is none.
static size_t letter_size(const unsigned char *bytes, size_t left)
{
	size_t size = is_ascii(bytes[0]) ? 1 : heap_utf8_length((const char *)bytes, left);

	return size > 1 || is_ascii(bytes[0]) ? size : 0;
}

// True if a word is a piece of text: letters, and after them only NULs.
static bool is_text_word(uint64_t word)
{
	const unsigned char *bytes = (const unsigned char *)&word;
	size_t length = 0;

	while (length < sizeof(word) && is_ascii(bytes[length]))
		length++;
	for (size_t i = length; i < sizeof(word); i++) {
		if (bytes[i] != '\0')
			return false;
	}
	return length >= LEAST_TEXT;
}

static bool is_address(const struct shape_reader *reader, uint64_t word)
{
	return word >= LEAST_ADDRESS && image_find(&reader->capture->image, word);
}

static enum field_class classify(const struct shape_reader *reader, uint64_t word)
{
	const struct capture *capture = reader->capture;
	heap_object_id target;

	if (word == 0)
		return FIELD_NOTHING;
	if (is_address(reader, word)) {
		target = objects_find(&capture->objects, word);
		return target != HEAP_NO_OBJECT &&
				       names_type(&capture->names, target) == reader->character
			       ? FIELD_TEXT_POINTER
			       : FIELD_POINTER;
	}
	return is_text_word(word) ? FIELD_TEXT : FIELD_NUMBER;
}

// True if the sizes of blocks are those that the program requested.
static bool has_exact_sizes(const struct capture *capture)
{
	return capture->process.origin != HEAPSNAP_ORIGIN_ATTACHED &&
	       capture->process.origin != HEAPSNAP_ORIGIN_CORE;
}

// True if all bytes are words whose highest byte is that of a number with a fraction, of ordinary size: "UUUUUUE@" is 42 and
// two thirds.
static bool are_fractions(const unsigned char *bytes, size_t length)
{
	for (size_t i = 7; i < length; i += 8) {
		if (bytes[i] != 0x3f && bytes[i] != 0x40)
			return false;
	}
	return length % 8 == 0;
}

// @return how many of the block's bytes are those of a text, without its NUL, as far as they are examined; 0: none
static size_t text_length(const struct shape_reader *reader, heap_object_id object)
{
	unsigned char bytes[SHAPE_WORDS * 8];
	const struct capture *capture = reader->capture;
	uint64_t size = objects_size(&capture->objects, object);
	uint32_t edge = capture->snapshot.edge_first[object];
	size_t seen = size < sizeof(bytes) ? size : sizeof(bytes), length = 0, letter;
	uint64_t first = 0;

	pages_read(reader->pages, objects_address(&capture->objects, object), bytes, seen);
	while (length < seen && (letter = letter_size(bytes + length, seen - length)) > 0)
		length += letter;
	// The bytes behind the text may be left over from the block that was there before.
	if (edge < capture->snapshot.edge_first[object + 1] &&
	    capture->snapshot.edge_slot[edge] * UINT64_C(8) < length)
		return 0;
	if (length > 0 && are_fractions(bytes, length))
		return 0;
	if (length == seen)
		return size > seen ? length : 0;
	memcpy(&first, bytes, seen < sizeof(first) ? seen : sizeof(first));
	return length >= LEAST_TEXT && bytes[length] == '\0' && !is_address(reader, first) &&
			       (length >= LONG_TEXT || length >= size / 2 ||
				(size <= SMALLEST && !has_exact_sizes(capture)))
		       ? length
		       : 0;
}

bool shape_is_text(const struct shape_reader *reader, heap_object_id object)
{
	return text_length(reader, object) > 0;
}

bool shape_is_fitting_text(const struct shape_reader *reader, heap_object_id object)
{
	uint64_t size = objects_size(&reader->capture->objects, object);
	size_t length = text_length(reader, object);

	return length > 0 && (length >= SHAPE_WORDS * 8 || length + ROUNDED >= size);
}

// --- fields ---------------------------------------------------------------------

// The class of nearly all words of one place that hold anything.
static enum field_class choose_class(const uint32_t counts[FIELD_CLASSES])
{
	uint32_t pointers = counts[FIELD_POINTER] + counts[FIELD_TEXT_POINTER];
	uint32_t all = pointers + counts[FIELD_TEXT] + counts[FIELD_NUMBER];

	if (all == 0)
		return FIELD_NOTHING;
	if (counts[FIELD_TEXT_POINTER] * 100 >= all * SHAPE_AGREEMENT)
		return FIELD_TEXT_POINTER;
	if (pointers * 100 >= all * SHAPE_AGREEMENT)
		return FIELD_POINTER;
	return counts[FIELD_TEXT] * 100 >= all * SHAPE_AGREEMENT ? FIELD_TEXT : FIELD_NUMBER;
}

struct word_tally word_tally_start(uint64_t size)
{
	return (struct word_tally){ .words = size / 8 < SHAPE_WORDS ? size / 8 : SHAPE_WORDS };
}

// Tries the library's values at one of a block's words.
static void tally_values(const struct shape_reader *reader, const uint64_t *words, uint64_t address,
			 size_t at, struct word_tally *tally)
{
	for (int value = 0; value < LIBRARY_VALUES; value++) {
		struct word_found *found = &tally->found[value][at];
		enum library_proof proof;

		if (found->refuted || at + reader->widths[value] > tally->words)
			continue;
		proof = library_values_check(&reader->values, (enum library_value)value, words,
					     address);
		found->proven += proof == LIBRARY_PROVEN;
		found->refuted = proof == LIBRARY_REFUTED;
	}
}

void word_tally_add(const struct shape_reader *reader, uint64_t address, struct word_tally *tally)
{
	uint64_t words[SHAPE_WORDS];

	progress_step();
	pages_read(reader->pages, address, words, tally->words * 8);
	tally->blocks++;
	for (size_t i = 0; i < tally->words; i++) {
		tally->counts[i][classify(reader, words[i])]++;
		tally_values(reader, &words[i], address + i * 8, i, tally);
	}
}

bool shape_field_is_library(enum field_class class)
{
	return class >= FIELD_LIBRARY && class < FIELD_NEXT;
}

size_t shape_field_width(const struct shape_reader *reader, enum field_class class)
{
	return shape_field_is_library(class) ? reader->widths[class - FIELD_LIBRARY] : 1;
}

enum field_class word_tally_choose(const struct word_tally *tally, size_t word)
{
	for (int value = 0; value < LIBRARY_VALUES; value++) {
		const struct word_found *found = &tally->found[value][word];
		uint32_t least = value == LIBRARY_VECTOR ? LEAST_VECTORS : 1;

		if (found->proven >= least && !found->refuted)
			return (enum field_class)(FIELD_LIBRARY + value);
	}
	return choose_class(tally->counts[word]);
}

void shape_find_fields(const struct shape_reader *reader, const struct word_tally *tally,
		       const uint8_t *roles, struct shape *shape)
{
	size_t width;

	for (size_t i = 0; i < tally->words; i += width) {
		enum field_class class = roles && roles[i] != LINK_NONE
						 ? class_of_role[roles[i]]
						 : word_tally_choose(tally, i);
		struct field *last = shape->count > 0 ? &shape->fields[shape->count - 1] : NULL;

		width = shape_field_width(reader, class);
		if (last && last->class == class)
			last->words += width;
		else if (shape->count == SHAPE_FIELDS)
			return;
		else
			shape->fields[shape->count++] = (struct field){ class, i * 8, width };
	}
}

struct heap_error *shape_find(const struct shape_reader *reader, const heap_object_id *members,
			      uint32_t count, struct shape *shape)
{
	const struct objects *objects = &reader->capture->objects;
	uint64_t size = objects_size(objects, members[0]);
	struct word_tally tally = word_tally_start(size);
	uint32_t step =
		((count + SHAPE_SAMPLES - 1) / SHAPE_SAMPLES) | 1; // blocks may be made in pairs
	struct links links;

	HEAP_TRY(links_find(&links, reader->capture, members, count));
	for (uint32_t i = 0; i < count; i += step)
		word_tally_add(reader, objects_address(objects, members[i]), &tally);
	*shape = (struct shape){ .size = size, .is_list = links.is_list, .is_tree = links.is_tree };
	shape_find_fields(reader, &tally, links.role, shape);
	return NULL;
}

// --- readers -----------------------------------------------------------------

struct heap_error *shape_reader_init(struct shape_reader *reader, const struct capture *capture,
				     heap_type_id character)
{
	*reader = (struct shape_reader){ .capture = capture, .character = character };
	reader->pages = pages_create(&capture->image, PAGES_IN_ORDER);
	if (!reader->pages)
		return heap_error_out_of_memory();
	library_values_init(&reader->values, capture, reader->pages);
	for (int value = 0; value < LIBRARY_VALUES; value++)
		reader->widths[value] =
			library_values_words(&reader->values, (enum library_value)value);
	return NULL;
}

void shape_reader_deinit(struct shape_reader *reader)
{
	pages_destroy(reader->pages);
}
