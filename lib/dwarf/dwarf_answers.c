// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_answers.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/dwarf/dwarf_cache_file.h"
#include "lib/dwarf/dwarf_info.h"

#include <stdlib.h>
#include <string.h>

// Whoever changes what is stored, or what is found in the debug information, counts the number up.
#define KIND "answers-1"

enum {
	ANSWERS_MAX = 1 << 16,
	NUMBERS_MAX = 12 * ANSWERS_MAX,
	STRING_BYTES_MAX = 4 << 20,

	TAG_IDENTITY = HEAP_TAG('a', 'f', 'i', 'l'),
	TAG_BUILD_ID = HEAP_TAG('a', 'b', 'i', 'd'),
	TAG_STRINGS = HEAP_TAG('a', 's', 't', 'r'),
	TAG_KINDS = HEAP_TAG('a', 'k', 'n', 'd'),
	TAG_PLACES = HEAP_TAG('a', 'p', 'l', 'c'),
	TAG_CONTEXTS = HEAP_TAG('a', 'c', 't', 'x'),
	TAG_COUNTS = HEAP_TAG('a', 'c', 'n', 't'),
	TAG_NUMBERS = HEAP_TAG('a', 'n', 'u', 'm'),
};

enum {
	IDENTITY_TYPES,
	IDENTITY_INFO_VERSION,
	IDENTITY_NUMBERS,
};

struct record {
	struct heap_dwarf_question question;
	uint32_t first, count; // of its numbers
};

struct records HEAP_ARRAY(struct record);
struct numbers HEAP_ARRAY(uint64_t);
struct strings HEAP_ARRAY(char);

struct contents {
	struct records records;
	struct numbers numbers;
	struct strings strings; // NUL-terminated, one after the other
	struct heap_hash_table by_question, by_string;
};

struct heap_dwarf_answers {
	char *directory, *build_id;
	struct heap_dwarf_source source;
	uint64_t identity[IDENTITY_NUMBERS]; // of the types that they are about
	struct contents contents;
	bool is_loaded; // or was tried
	bool has_more;  // than its file
};

static void contents_deinit(struct contents *contents)
{
	heap_array_deinit(&contents->records);
	heap_array_deinit(&contents->numbers);
	heap_array_deinit(&contents->strings);
	heap_hash_table_deinit(&contents->by_question);
	heap_hash_table_deinit(&contents->by_string);
	*contents = (struct contents){ 0 };
}

struct heap_error *heap_dwarf_answers_create(const char *directory, const char *build_id,
					     const struct heap_dwarf_source *source,
					     uint64_t type_count,
					     struct heap_dwarf_answers **result)
{
	struct heap_dwarf_answers *answers = calloc(1, sizeof(*answers));

	if (!answers)
		return heap_error_out_of_memory();
	answers->source = *source;
	answers->identity[IDENTITY_TYPES] = type_count;
	answers->identity[IDENTITY_INFO_VERSION] = HEAP_DWARF_INFO_VERSION;
	answers->directory = strdup(directory);
	answers->build_id = strdup(build_id);
	if (!answers->directory || !answers->build_id) {
		heap_dwarf_answers_destroy(answers);
		return heap_error_out_of_memory();
	}
	*result = answers;
	return NULL;
}

void heap_dwarf_answers_destroy(struct heap_dwarf_answers *answers)
{
	if (!answers)
		return;
	contents_deinit(&answers->contents);
	free(answers->directory);
	free(answers->build_id);
	free(answers);
}

static struct heap_dwarf_cache_name name_of(const struct heap_dwarf_answers *answers)
{
	return (struct heap_dwarf_cache_name){ answers->directory, answers->build_id, KIND,
					       &answers->source };
}

// --- contents --------------------------------------------------------------------------------

static uint64_t hash_question(const struct heap_dwarf_question *question)
{
	return heap_hash_mix(heap_hash_pair(question->place, question->context), question->kind);
}

static bool is_same(const struct heap_dwarf_question *a, const struct heap_dwarf_question *b)
{
	return a->kind == b->kind && a->place == b->place && a->context == b->context;
}

HEAP_MUST_CHECK
static struct heap_error *add_string(struct contents *contents, const char *string,
				     uint32_t *result)
{
	struct strings *strings = &contents->strings;
	uint64_t hash = heap_hash_string(string);
	size_t size = strlen(string) + 1;

	*result = heap_hash_find(&contents->by_string, hash, i,
				 strcmp(strings->items + i, string) == 0);
	if (*result != HEAP_HASH_NONE)
		return NULL;
	if (size > STRING_BYTES_MAX - strings->count)
		return heap_error_out_of_memory();
	*result = (uint32_t)strings->count;
	HEAP_TRY(heap_array_reserve(strings, size));
	memcpy(strings->items + strings->count, string, size);
	strings->count += size;
	return heap_hash_add(&contents->by_string, hash, *result);
}

// A record counts from the moment that it is in the hash table: if that fails, it is dropped.
HEAP_MUST_CHECK
static struct heap_error *add_record(struct contents *contents, const struct record *record)
{
	HEAP_TRY(heap_array_append(&contents->records, *record));

	struct heap_error *error =
		heap_hash_add(&contents->by_question, hash_question(&record->question),
			      (uint32_t)contents->records.count - 1);

	if (error)
		contents->records.count--;
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *add_answer(struct contents *contents,
				     const struct heap_dwarf_question *question,
				     const uint64_t *numbers, size_t count)
{
	const struct record record = { *question, (uint32_t)contents->numbers.count,
				       (uint32_t)count };

	HEAP_TRY(heap_array_reserve(&contents->numbers, count));
	HEAP_TRY(add_record(contents, &record));
	if (count)
		memcpy(contents->numbers.items + record.first, numbers, count * sizeof(*numbers));
	contents->numbers.count += count;
	return NULL;
}

// --- reading ---------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_numbers(const struct heap_file *file, uint32_t tag,
				       enum heap_encoding encoding, size_t max,
				       struct numbers *result)
{
	const struct heap_section *section;

	HEAP_TRY(heap_dwarf_cache_find(file, tag, encoding, &section));
	if (section->count > max)
		return heap_dwarf_cache_damaged("a section is too long");
	HEAP_TRY(heap_file_check(file, section));
	HEAP_TRY(heap_array_reserve(result, section->count + 1));
	HEAP_TRY(heap_file_read_u64(file, section, 0, section->count, result->items));
	result->count = section->count;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_identity(const struct heap_dwarf_answers *answers,
					 const struct heap_file *file)
{
	CLEANUP_ARRAY struct numbers identity = { 0 };
	CLEANUP_FREE char *build_id = NULL;
	uint32_t length;

	HEAP_TRY(read_numbers(file, TAG_IDENTITY, HEAP_ENCODING_VARINT, IDENTITY_NUMBERS,
			      &identity));
	HEAP_TRY(heap_dwarf_cache_read_bytes(file, TAG_BUILD_ID, &build_id, &length));
	if (length != strlen(answers->build_id) || memcmp(build_id, answers->build_id, length) != 0)
		return heap_dwarf_cache_damaged("it is of another build");
	if (identity.count != IDENTITY_NUMBERS ||
	    memcmp(identity.items, answers->identity, sizeof(answers->identity)) != 0)
		return heap_dwarf_cache_damaged("it is of other types");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_strings(const struct heap_file *file, struct contents *contents)
{
	struct strings *strings = &contents->strings;
	uint32_t size;

	HEAP_TRY(heap_dwarf_cache_read_bytes(file, TAG_STRINGS, &strings->items, &size));
	strings->count = strings->capacity = size;
	if (size > STRING_BYTES_MAX)
		return heap_dwarf_cache_damaged("a section is too long");
	if (size && strings->items[size - 1])
		return heap_dwarf_cache_damaged("strings do not end");
	for (uint32_t at = 0; at < size; at += strlen(strings->items + at) + 1)
		HEAP_TRY(heap_hash_add(&contents->by_string, heap_hash_string(strings->items + at),
				       at));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_records(const struct heap_file *file, struct contents *contents)
{
	CLEANUP_ARRAY struct numbers kinds = { 0 }, places = { 0 }, contexts = { 0 },
				     counts = { 0 };
	uint64_t first = 0;

	HEAP_TRY(read_numbers(file, TAG_KINDS, HEAP_ENCODING_VARINT, ANSWERS_MAX, &kinds));
	HEAP_TRY(read_numbers(file, TAG_PLACES, HEAP_ENCODING_DELTA, ANSWERS_MAX, &places));
	HEAP_TRY(read_numbers(file, TAG_CONTEXTS, HEAP_ENCODING_VARINT, ANSWERS_MAX, &contexts));
	HEAP_TRY(read_numbers(file, TAG_COUNTS, HEAP_ENCODING_VARINT, ANSWERS_MAX, &counts));
	if (places.count != kinds.count || contexts.count != kinds.count ||
	    counts.count != kinds.count)
		return heap_dwarf_cache_damaged("sections have different lengths");
	for (size_t i = 0; i < kinds.count; i++) {
		if (kinds.items[i] >= HEAP_DWARF_QUESTION_KINDS ||
		    counts.items[i] > contents->numbers.count - first)
			return heap_dwarf_cache_damaged("an answer is out of range");

		const struct record record = {
			.question = { (enum heap_dwarf_question_kind)kinds.items[i],
				      places.items[i], contexts.items[i] },
			.first = (uint32_t)first,
			.count = (uint32_t)counts.items[i],
		};

		HEAP_TRY(add_record(contents, &record));
		first += record.count;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *load(void *context, const struct heap_file *file)
{
	struct heap_dwarf_answers *answers = context;
	CLEANUP(contents_deinit) struct contents contents = { 0 };

	HEAP_TRY(check_identity(answers, file));
	HEAP_TRY(read_strings(file, &contents));
	HEAP_TRY(read_numbers(file, TAG_NUMBERS, HEAP_ENCODING_VARINT, NUMBERS_MAX,
			      &contents.numbers));
	HEAP_TRY(read_records(file, &contents));
	answers->contents = keep(contents);
	return NULL;
}

struct heap_error *heap_dwarf_answers_load_memory(struct heap_dwarf_answers *answers,
						  const uint8_t *bytes, size_t size)
{
	struct heap_file *file;
	struct heap_error *error;

	contents_deinit(&answers->contents);
	answers->is_loaded = true;
	HEAP_TRY(heap_file_open_memory(bytes, size, &file));
	error = load(answers, file);
	heap_file_close(file);
	return error;
}

bool heap_dwarf_answers_find(struct heap_dwarf_answers *answers,
			     const struct heap_dwarf_question *question,
			     struct heap_dwarf_answer *result)
{
	if (!answers)
		return false;
	if (!answers->is_loaded) {
		const struct heap_dwarf_cache_name name = name_of(answers);

		answers->is_loaded = true;
		heap_error_destroy(heap_dwarf_cache_load(&name, load, answers));
	}

	const struct contents *contents = &answers->contents;
	const struct record *records = contents->records.items;
	uint32_t found = heap_hash_find(&contents->by_question, hash_question(question), i,
					is_same(&records[i].question, question));

	if (found == HEAP_HASH_NONE)
		return false;
	*result = (struct heap_dwarf_answer){
		.answers = answers,
		.numbers = contents->numbers.items + records[found].first,
		.count = records[found].count,
	};
	return true;
}

uint64_t heap_dwarf_answer_next(struct heap_dwarf_answer *answer)
{
	if (answer->at < answer->count)
		return answer->numbers[answer->at++];
	answer->is_bad = true;
	return 0;
}

uint64_t heap_dwarf_answer_next_count(struct heap_dwarf_answer *answer, uint64_t max)
{
	uint64_t count = heap_dwarf_answer_next(answer);

	if (count <= max && count <= answer->count - answer->at)
		return count;
	answer->is_bad = true;
	return 0;
}

const char *heap_dwarf_answer_next_string(struct heap_dwarf_answer *answer)
{
	const struct strings *strings = &answer->answers->contents.strings;
	uint64_t offset = heap_dwarf_answer_next(answer);

	if (offset < strings->count)
		return strings->items + offset;
	answer->is_bad = true;
	return "";
}

bool heap_dwarf_answer_is_good(const struct heap_dwarf_answer *answer)
{
	return !answer->is_bad && answer->at == answer->count;
}

// --- writing ---------------------------------------------------------------------------------

static void note_failure(struct heap_dwarf_answer_writer *writer, struct heap_error *error)
{
	writer->has_failed |= error != NULL;
	heap_error_destroy(error);
}

void heap_dwarf_answer_put(struct heap_dwarf_answer_writer *writer, uint64_t number)
{
	if (writer->answers && !writer->has_failed)
		note_failure(writer, heap_array_append(&writer->numbers, number));
}

void heap_dwarf_answer_put_string(struct heap_dwarf_answer_writer *writer, const char *string)
{
	uint32_t offset = 0;

	if (writer->answers && !writer->has_failed)
		note_failure(writer, add_string(&writer->answers->contents, string, &offset));
	heap_dwarf_answer_put(writer, offset);
}

void heap_dwarf_answer_add(struct heap_dwarf_answer_writer *writer,
			   const struct heap_dwarf_question *question)
{
	struct heap_dwarf_answers *answers = writer->answers;
	size_t count = writer->numbers.count;

	if (answers && !writer->has_failed && answers->contents.records.count < ANSWERS_MAX &&
	    answers->contents.numbers.count + count <= NUMBERS_MAX) {
		note_failure(writer, add_answer(&answers->contents, question, writer->numbers.items,
						count));
		answers->has_more |= !writer->has_failed;
	}
	heap_array_deinit(&writer->numbers);
}

#define WRITE_COLUMN(writer, tag, encoding, array, field) \
	({ \
		heap_file_writer_begin(writer, tag, HEAP_ENCODING_##encoding, 1); \
		for (size_t i_ = 0; i_ < (array)->count; i_++) \
			heap_file_writer_put(writer, (array)->items[i_] field); \
		heap_file_writer_end(writer); \
	})

HEAP_MUST_CHECK
static struct heap_error *write_contents(void *context, struct heap_file_writer *writer)
{
	const struct heap_dwarf_answers *answers = context;
	const struct contents *contents = &answers->contents;

	heap_file_writer_begin(writer, TAG_IDENTITY, HEAP_ENCODING_VARINT, 1);
	for (int i = 0; i < IDENTITY_NUMBERS; i++)
		heap_file_writer_put(writer, answers->identity[i]);
	heap_file_writer_end(writer);
	heap_dwarf_cache_write_bytes(writer, TAG_BUILD_ID, answers->build_id,
				     strlen(answers->build_id));
	heap_dwarf_cache_write_bytes(writer, TAG_STRINGS, contents->strings.items,
				     contents->strings.count);
	WRITE_COLUMN(writer, TAG_KINDS, VARINT, &contents->records, .question.kind);
	WRITE_COLUMN(writer, TAG_PLACES, DELTA, &contents->records, .question.place);
	WRITE_COLUMN(writer, TAG_CONTEXTS, VARINT, &contents->records, .question.context);
	WRITE_COLUMN(writer, TAG_COUNTS, VARINT, &contents->records, .count);
	WRITE_COLUMN(writer, TAG_NUMBERS, VARINT, &contents->numbers, );
	return NULL;
}

struct heap_error *heap_dwarf_answers_store(struct heap_dwarf_answers *answers)
{
	const struct heap_dwarf_cache_name name = name_of(answers);

	if (!answers->has_more)
		return NULL;
	answers->has_more = false;
	return heap_dwarf_cache_store(&name, write_contents, answers);
}
