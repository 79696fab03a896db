// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/base/parallel.h"
#include "lib/file/file.h"
#include "lib/file/file_format.h"
#include "t/helper/sample.h"

#include <fcntl.h>
#include <signal.h>
#include <zlib.h>

enum {
	BLOCK = HEAP_BLOCK_ELEMENTS,
	MANY = 3 * BLOCK + 17,
};

static const uint32_t NUMBERS = HEAP_TAG('n', 'u', 'm', 'b');
static const uint32_t STEPS = HEAP_TAG('s', 't', 'e', 'p');
static const uint32_t LETTERS = HEAP_TAG('l', 'e', 't', 't');
static const uint32_t ROWS = HEAP_TAG('r', 'o', 'w', 's');

static uint8_t *bytes; // of the file under test
static size_t size;
static int descriptor = -1;

static struct heap_file_writer *start(void)
{
	struct heap_file_writer *writer;

	descriptor = memfd_create("file", MFD_CLOEXEC);
	sample_check(heap_file_writer_create(descriptor, &writer));
	return writer;
}

static void finish(struct heap_file_writer *writer)
{
	sample_check(heap_file_writer_finish(writer));
	heap_file_writer_destroy(writer);
	free(bytes);
	bytes = sample_slurp(descriptor, &size);
	close(descriptor);
}

static void put_section(struct heap_file_writer *writer, uint32_t tag, enum heap_encoding encoding,
			const uint64_t *values, size_t count)
{
	heap_file_writer_begin(writer, tag, encoding, 1);
	for (size_t i = 0; i < count; i++)
		heap_file_writer_put(writer, values[i]);
	heap_file_writer_end(writer);
}

// A small file with one section of each kind.
static int small_file(void **state)
{
	(void)state;
	struct heap_file_writer *writer = start();

	put_section(writer, NUMBERS, HEAP_ENCODING_VARINT, (uint64_t[]){ 0, 127, 128, 99999 }, 4);
	put_section(writer, STEPS, HEAP_ENCODING_DELTA, (uint64_t[]){ 5000, 5010, 4000 }, 3);
	heap_file_writer_begin(writer, LETTERS, HEAP_ENCODING_BYTES, 1);
	heap_file_writer_put_bytes(writer, "hello hello hello hello hello ", 30);
	heap_file_writer_put_bytes(writer, "world", 5);
	heap_file_writer_end(writer);
	heap_file_writer_begin(writer, ROWS, HEAP_ENCODING_VARINT, 3);
	for (uint64_t i = 0; i < 6; i++)
		heap_file_writer_put(writer, i * i);
	heap_file_writer_end(writer);
	finish(writer);
	return 0;
}

static int no_file(void **state)
{
	(void)state;
	free(bytes);
	bytes = NULL;
	return 0;
}

static struct heap_file *opened(void)
{
	struct heap_file *file;

	sample_check(heap_file_open_memory(bytes, size, &file));
	return file;
}

// --- what is written is read ---------------------------------------------------

static void values_round_trip(void **state)
{
	(void)state;
	uint64_t values[] = { 0,          1,
			      127,        128,
			      16383,      16384,
			      UINT32_MAX, UINT64_C(1) << 32,
			      INT64_MAX,  UINT64_C(1) << 63,
			      UINT64_MAX, 0,
			      3 };
	uint64_t result[COUNT_OF(values)];
	struct heap_file_writer *writer = start();

	put_section(writer, NUMBERS, HEAP_ENCODING_VARINT, values, COUNT_OF(values));
	put_section(writer, STEPS, HEAP_ENCODING_DELTA, values, COUNT_OF(values));
	finish(writer);

	struct heap_file *file = opened();

	for (int i = 0; i < 2; i++) {
		const struct heap_section *section = heap_file_find(file, i ? NUMBERS : STEPS);

		assert_int_equal(section->count, COUNT_OF(values));
		sample_check(heap_file_read_u64(file, section, 0, COUNT_OF(values), result));
		assert_memory_equal(result, values, sizeof(values));
	}
	heap_file_close(file);
}

static uint64_t nth(uint64_t i)
{
	return i * 37 % 1000 + (i % 5000 == 0 ? UINT64_C(1) << 40 : 0);
}

static void write_many(uint64_t count)
{
	struct heap_file_writer *writer = start();

	for (int delta = 0; delta < 2; delta++) {
		heap_file_writer_begin(writer, delta ? STEPS : NUMBERS,
				       delta ? HEAP_ENCODING_DELTA : HEAP_ENCODING_VARINT, 1);
		for (uint64_t i = 0; i < count; i++)
			heap_file_writer_put(writer, nth(i));
		heap_file_writer_end(writer);
	}
	finish(writer);
}

static void assert_range(const struct heap_file *file, uint32_t tag, uint64_t first, uint64_t count)
{
	const struct heap_section *section = heap_file_find(file, tag);
	uint64_t *values = malloc((count + 1) * sizeof(*values));

	values[count] = 4711;
	sample_check(heap_file_read_u64(file, section, first, count, values));
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(values[i], nth(first + i));
	assert_int_equal(values[count], 4711);
	free(values);
}

static void any_range_is_read_by_its_blocks(void **state)
{
	(void)state;
	static const uint64_t ranges[][2] = {
		{ 0, 0 },          { 0, 1 },          { 0, MANY },       { 1, BLOCK },
		{ BLOCK, 1 },      { BLOCK - 1, 2 },  { BLOCK, BLOCK },  { MANY - 1, 1 },
		{ MANY, 0 },       { 17, 2 * BLOCK }, { 2 * BLOCK, 17 }, { BLOCK + 5, BLOCK - 5 },
		{ 3 * BLOCK, 17 },
	};

	write_many(MANY);

	struct heap_file *file = opened();

	for (size_t i = 0; i < COUNT_OF(ranges); i++) {
		assert_range(file, NUMBERS, ranges[i][0], ranges[i][1]);
		assert_range(file, STEPS, ranges[i][0], ranges[i][1]);
	}
	heap_file_close(file);
}

static void sections_end_where_blocks_do(void **state)
{
	(void)state;
	static const uint64_t counts[] = { 0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK };

	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		write_many(counts[i]);

		struct heap_file *file = opened();

		assert_int_equal(heap_file_find(file, NUMBERS)->count, counts[i]);
		assert_range(file, NUMBERS, 0, counts[i]);
		assert_range(file, STEPS, 0, counts[i]);
		heap_file_close(file);
	}
}

static void long_sections_are_written_in_batches(void **state)
{
	(void)state;
	uint64_t count = 40 * (uint64_t)BLOCK + 1;

	write_many(count);

	struct heap_file *file = opened();

	assert_range(file, STEPS, 0, count);
	assert_range(file, NUMBERS, 33 * (uint64_t)BLOCK - 1, 3);
	heap_file_close(file);
}

static void get_nth(void *context, uint64_t first, size_t count, uint64_t *values)
{
	(void)context;
	for (size_t i = 0; i < count; i++)
		values[i] = nth(first + i);
}

static void get_letters(void *context, uint64_t first, size_t count, uint64_t *values)
{
	(void)context;
	for (size_t i = 0; i < count; i++)
		values[i] = (first + i) % 251;
}

static void write_columns(uint64_t count)
{
	struct heap_file_writer *writer = start();

	for (int delta = 0; delta < 2; delta++) {
		heap_file_writer_begin(writer, delta ? STEPS : NUMBERS,
				       delta ? HEAP_ENCODING_DELTA : HEAP_ENCODING_VARINT, 1);
		heap_file_writer_put_column(writer, count, get_nth, NULL);
		heap_file_writer_end(writer);
	}
	finish(writer);
}

// Every number of threads writes the bytes that values make which are put one by one.
static void columns_are_written_like_single_values(void **state)
{
	(void)state;
	static const uint64_t counts[] = { 0, 1, BLOCK, 9 * BLOCK + 5 };

	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		write_many(counts[i]);

		uint8_t *expected = bytes;
		size_t expected_size = size;

		bytes = NULL;
		for (unsigned threads = 1; threads <= 3; threads++) {
			heap_parallel_set_threads(threads);
			write_columns(counts[i]);
			assert_int_equal(size, expected_size);
			assert_memory_equal(bytes, expected, size);
		}
		heap_parallel_set_threads(0);
		free(expected);
	}
}

static void columns_may_hold_bytes(void **state)
{
	(void)state;
	static uint8_t result[MANY];
	struct heap_file_writer *writer = start();

	heap_file_writer_begin(writer, LETTERS, HEAP_ENCODING_BYTES, 1);
	heap_file_writer_put_column(writer, MANY, get_letters, NULL);
	heap_file_writer_end(writer);
	finish(writer);

	struct heap_file *file = opened();

	sample_check(heap_file_read_bytes(file, heap_file_find(file, LETTERS), 0, MANY, result));
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(result[i], i % 251);
	heap_file_close(file);
}

static void bytes_round_trip(void **state)
{
	(void)state;
	static uint8_t letters[MANY], result[MANY + 1];
	struct heap_file_writer *writer = start();
	uint32_t noise = 1;

	// A block that deflates, one that does not, and two more.
	for (size_t i = 0; i < MANY; i++) {
		noise = noise * 1664525 + 1013904223;
		letters[i] = i / BLOCK == 1 ? (uint8_t)(noise >> 24) : (uint8_t)(i / 1000);
	}
	heap_file_writer_begin(writer, LETTERS, HEAP_ENCODING_BYTES, 1);
	for (size_t i = 0, piece = 1; i < MANY; i += piece, piece = piece * 3 % 100003) {
		if (piece > MANY - i)
			piece = MANY - i;
		heap_file_writer_put_bytes(writer, letters + i, piece);
	}
	heap_file_writer_end(writer);
	finish(writer);
	assert_true(size > BLOCK && size < BLOCK + 4000);

	struct heap_file *file = opened();
	const struct heap_section *section = heap_file_find(file, LETTERS);

	assert_int_equal(section->count, MANY);
	sample_check(heap_file_read_bytes(file, section, 0, MANY, result));
	assert_memory_equal(result, letters, MANY);
	memset(result, 0xaa, sizeof(result));
	sample_check(heap_file_read_bytes(file, section, BLOCK - 3, BLOCK + 6, result));
	assert_memory_equal(result, letters + BLOCK - 3, BLOCK + 6);
	assert_int_equal(result[BLOCK + 6], 0xaa);
	heap_file_close(file);
}

static void narrow_values_are_refused_when_wide(void **state)
{
	(void)state;
	uint64_t values[] = { 1, UINT32_MAX, UINT64_C(1) << 32 };
	uint32_t result[3];
	struct heap_file_writer *writer = start();

	put_section(writer, NUMBERS, HEAP_ENCODING_VARINT, values, 3);
	put_section(writer, STEPS, HEAP_ENCODING_DELTA, values, 3);
	finish(writer);

	struct heap_file *file = opened();

	for (int i = 0; i < 2; i++) {
		const struct heap_section *section = heap_file_find(file, i ? NUMBERS : STEPS);

		sample_check(heap_file_read_u32(file, section, 0, 2, result));
		assert_int_equal(result[0], 1);
		assert_int_equal(result[1], UINT32_MAX);
		assert_error(heap_file_read_u32(file, section, 0, 3, result), HEAP_ERROR_FORMAT,
			     "is damaged: a value does not fit into 32 bits");
	}
	heap_file_close(file);
}

static void tables_know_their_fields(void **state)
{
	(void)state;
	uint64_t values[6];
	struct heap_file *file = opened();
	const struct heap_section *section = heap_file_find(file, ROWS);

	assert_int_equal(section->fields, 3);
	assert_int_equal(section->count, 6);
	sample_check(heap_file_read_u64(file, section, 0, 6, values));
	assert_int_equal(values[5], 25);
	assert_null(heap_file_find(file, HEAP_TAG('n', 'o', 'n', 'e')));
	heap_file_close(file);
}

static void wrong_requests_are_refused(void **state)
{
	(void)state;
	uint64_t values[9];
	struct heap_file *file = opened();

	assert_error(heap_file_read_u64(file, heap_file_find(file, NUMBERS), 0, 5, values),
		     HEAP_ERROR_FORMAT, "section 'numb' is damaged: it has fewer elements");
	assert_error(heap_file_read_u64(file, heap_file_find(file, NUMBERS), 2, UINT64_MAX, values),
		     HEAP_ERROR_FORMAT, "section 'numb' is damaged: it has fewer elements");
	assert_error(heap_file_read_u64(file, heap_file_find(file, LETTERS), 0, 1, values),
		     HEAP_ERROR_FORMAT, "section 'lett' is damaged: it has an unexpected encoding");
	assert_error(
		heap_file_read_bytes(file, heap_file_find(file, NUMBERS), 0, 1, (uint8_t *)values),
		HEAP_ERROR_FORMAT, "section 'numb' is damaged: it has an unexpected encoding");
	heap_file_close(file);
}

// --- damage --------------------------------------------------------------------

// Reads all that the directory lists.
static struct heap_error *read_all(const struct heap_file *file)
{
	static const uint32_t tags[] = { NUMBERS, STEPS, LETTERS, ROWS };
	uint64_t values[64];
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < COUNT_OF(tags); i++) {
		const struct heap_section *section = heap_file_find(file, tags[i]);

		if (!section)
			return heap_error_create(HEAP_ERROR_FORMAT, "other sections");
		error = heap_file_check(file, section);
		if (error)
			return error;
		assert_true(section->count <= 64);
		error = tags[i] == LETTERS
				? heap_file_read_bytes(file, section, 0, section->count,
						       (uint8_t *)values)
				: heap_file_read_u64(file, section, 0, section->count, values);
	}
	return error;
}

static struct heap_error *open_and_read(const uint8_t *copy, size_t length)
{
	struct heap_file *file = NULL;
	struct heap_error *error = heap_file_open_memory(copy, length, &file);

	if (!error)
		error = read_all(file);
	else
		assert_null(file);
	heap_file_close(file);
	return error;
}

static void every_truncation_is_an_error(void **state)
{
	(void)state;
	for (size_t length = 0; length < size; length++) {
		// A copy of just that size, for ASan to see a read beyond it.
		uint8_t *copy = malloc(length + 1);

		memcpy(copy + 1, bytes, length);
		assert_error(open_and_read(copy + 1, length), HEAP_ERROR_FORMAT,
			     length == 0   ? "the file is empty"
			     : length < 16 ? "not a heap snapshot"
					   : "no directory at the end: the file is truncated");
		free(copy);
	}
}

static void every_flipped_bit_is_an_error(void **state)
{
	(void)state;
	sample_check(open_and_read(bytes, size));
	for (size_t bit = 0; bit < size * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);

		struct heap_error *error = open_and_read(bytes, size);

		if (!error || heap_error_code(error) != HEAP_ERROR_FORMAT)
			fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
		heap_error_destroy(error);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

// Where the entry of the first section stands, or that of its table's first block.
static uint8_t *first_entry(void)
{
	return bytes + heap_get_u64(bytes + size - HEAP_TRAILER_SIZE);
}

static uint8_t *first_block(void)
{
	return bytes + heap_get_u64(first_entry() + 8) + heap_get_u64(first_entry() + 16) -
	       HEAP_BLOCK_ENTRY_SIZE;
}

// Makes what has been changed look intact: the first section's table, then the directory.
static void sign_table(void)
{
	heap_put_u32(first_entry() + 36, (uint32_t)crc32(0, first_block(), HEAP_BLOCK_ENTRY_SIZE));
}

static void sign(void)
{
	uint8_t *trailer = bytes + size - HEAP_TRAILER_SIZE;
	uint8_t *directory = first_entry();
	uint32_t crc;

	crc = (uint32_t)crc32(0, bytes, HEAP_HEADER_SIZE);
	crc = (uint32_t)crc32(crc, directory, (uInt)(trailer + HEAP_TRAILER_CHECKED - directory));
	heap_put_u32(trailer + 20, crc);
}

struct damage {
	char place; // h: header, e: first entry, b: its first block, t: trailer
	size_t offset;
	int width;
	uint64_t value;
	const char *message;
};

static const struct damage damages[] = {
	{ 'h', 0, 4, 0, "not a heap snapshot" },
	{ 'h', 0, 4, 0x00088b1f, "compressed by gzip: a heap snapshot is read as it was written" },
	{ 'h', 0, 4, 0xfd2fb528, "compressed by zstd: a heap snapshot is read as it was written" },
	{ 'h', 8, 4, 2, "written by a newer heapsnap (format 2); this one reads up to 1" },
	{ 'h', 8, 4, 0, "the header is damaged" },
	{ 'h', 12, 4, 0x10000,
	  "written by a newer heapsnap (flags 0x10000), which this one cannot read" },
	{ 't', 24, 1, 'H', "no directory at the end: the file is truncated" },
	{ 't', 8, 8, 1 << 20, "directory is damaged: it does not end at the trailer" },
	{ 't', 8, 8, 41, "directory is damaged: it does not end at the trailer" },
	{ 't', 0, 8, UINT64_MAX, "directory is damaged: it does not end at the trailer" },
	{ 't', 16, 4, 3, "directory is damaged: 160 bytes for 3 sections" },
	{ 't', 16, 4, 5, "directory is damaged: 160 bytes for 5 sections" },
	{ 't', 16, 4, 0, "directory is damaged: 160 bytes for 0 sections" },
	{ 't', 16, 4, UINT32_MAX, "directory is damaged: 160 bytes for 4294967295 sections" },
	{ 'e', 0, 4, HEAP_TAG('s', 't', 'e', 'p'),
	  "section 'step' is damaged: there are two of it" },
	{ 'e', 6, 2, 0, "section 'numb' is damaged: its rows are not whole" },
	{ 'e', 6, 2, 3, "section 'numb' is damaged: its rows are not whole" },
	{ 'e', 4, 2, 4, "section 'numb' is damaged: it has an unexpected encoding" },
	{ 'e', 4, 2, 0, "section 'numb' is damaged: it has an unexpected encoding" },
	{ 'e', 8, 8, 15, "section 'numb' is damaged: it does not lie in the file" },
	{ 'e', 8, 8, UINT64_MAX, "section 'numb' is damaged: it does not lie in the file" },
	{ 'e', 16, 8, UINT64_MAX, "section 'numb' is damaged: it does not lie in the file" },
	{ 'e', 16, 8, 11, "section 'numb' is damaged: its block table is larger than it" },
	{ 'e', 24, 8, 65537, "section 'numb' is damaged: it has too few or too many blocks" },
	{ 'e', 24, 8, 0, "section 'numb' is damaged: it has too few or too many blocks" },
	{ 'e', 24, 8, UINT64_MAX, "section 'numb' is damaged: it has too few or too many blocks" },
	{ 'e', 32, 4, 2, "section 'numb' is damaged: its block table is larger than it" },
	{ 'e', 24, 8, 60000, "section 'numb' is damaged: a block cannot hold so many elements" },
	{ 'b', 0, 4, 9, "section 'numb' is damaged: a block does not lie in it" },
	{ 'b', 0, 4, UINT32_MAX, "section 'numb' is damaged: a block does not lie in it" },
	{ 'b', 0, 4, 6, "section 'numb' is damaged: bytes are left over" },
	{ 'b', 4, 4, 3, "section 'numb' is damaged: a block cannot hold so many elements" },
	{ 'b', 4, 4, 1 << 30, "section 'numb' is damaged: a block cannot hold so many elements" },
	{ 'b', 4, 4, 9, "section 'numb' is damaged: a block does not decompress" },
	{ 'b', 8, 4, 1, "section 'numb' is damaged: CRC differs" },
};

static void damage_is_named(void **state)
{
	for (size_t i = 0; i < COUNT_OF(damages); i++) {
		const struct damage *damage = &damages[i];

		small_file(state);

		uint8_t *place = damage->place == 'h'   ? bytes
				 : damage->place == 'e' ? first_entry()
				 : damage->place == 'b' ? first_block()
							: bytes + size - HEAP_TRAILER_SIZE;

		for (int j = 0; j < damage->width; j++)
			place[damage->offset + j] = (uint8_t)(damage->value >> 8 * j);
		if (damage->place == 'b')
			sign_table();
		// Errors in the trailer are found before the CRC, but for the count.
		if (damage->place != 't' || damage->offset == 16)
			sign();
		assert_error(open_and_read(bytes, size), HEAP_ERROR_FORMAT, damage->message);
	}
}

// Replaces the stored bytes of the first section, which did not deflate.
static void values_that_are_cut_off_are_named(void **state)
{
	(void)state;
	uint8_t *stored = bytes + HEAP_HEADER_SIZE;

	assert_memory_equal(stored, "\x00\x7f\x80\x01\x9f\x8d\x06", 7);
	stored[6] = 0x86;
	heap_put_u32(first_block() + 8, (uint32_t)crc32(0, stored, 7));
	sign_table();
	sign();
	assert_error(open_and_read(bytes, size), HEAP_ERROR_FORMAT,
		     "section 'numb' is damaged: a value is cut off");
}

static void tags_are_printed_safely(void **state)
{
	(void)state;
	assert_error(heap_section_damaged(HEAP_TAG(27, 'a', 0, 'b'), "why"), HEAP_ERROR_FORMAT,
		     "section '?a?b' is damaged: why");
}

static void ignorable_flags_are_ignored(void **state)
{
	(void)state;
	heap_put_u32(bytes + 12, 0xffff);
	sign();
	sample_check(open_and_read(bytes, size));
}

// A later version may say more in each entry of the directory.
static void longer_entries_are_read(void **state)
{
	(void)state;
	uint8_t copy[4096];
	uint64_t directory = heap_get_u64(bytes + size - HEAP_TRAILER_SIZE);
	size_t at = directory;

	memcpy(copy, bytes, directory);
	for (int i = 0; i < 4; i++) {
		memcpy(copy + at, bytes + directory + i * HEAP_ENTRY_SIZE, HEAP_ENTRY_SIZE);
		memset(copy + at + HEAP_ENTRY_SIZE, 0xee, 8);
		at += HEAP_ENTRY_SIZE + 8;
	}
	memcpy(copy + at, bytes + size - HEAP_TRAILER_SIZE, HEAP_TRAILER_SIZE);
	heap_put_u64(copy + at + 8, 4 * (HEAP_ENTRY_SIZE + 8));

	uint32_t crc = (uint32_t)crc32(0, copy, HEAP_HEADER_SIZE);

	crc = (uint32_t)crc32(crc, copy + directory, (uInt)(at + HEAP_TRAILER_CHECKED - directory));
	heap_put_u32(copy + at + 20, crc);
	sample_check(open_and_read(copy, at + HEAP_TRAILER_SIZE));
}

// --- files ---------------------------------------------------------------------

static void files_are_opened_by_path(void **state)
{
	(void)state;
	char path[] = "/tmp/heap-file-XXXXXX";
	int file_descriptor = mkstemp(path);
	struct heap_file *file;

	assert_int_equal(write(file_descriptor, bytes, size), size);
	sample_check(heap_file_open(path, &file));
	sample_check(read_all(file));
	heap_file_close(file);

	// Cut while it is open: what is gone cannot be read, and nothing worse.
	sample_check(heap_file_open(path, &file));
	assert_int_equal(ftruncate(file_descriptor, 20), 0);
	assert_error(read_all(file), HEAP_ERROR_FORMAT,
		     "the file has become shorter since it was opened");
	heap_file_close(file);

	char message[100];

	assert_int_equal(ftruncate(file_descriptor, 0), 0);
	snprintf(message, sizeof(message), "%s: the file is empty", path);
	assert_error(heap_file_open(path, &file), HEAP_ERROR_FORMAT, message);
	close(file_descriptor);
	unlink(path);
	snprintf(message, sizeof(message), "%s: No such file or directory", path);
	assert_error(heap_file_open(path, &file), HEAP_ERROR_SYSTEM, message);
}

static void what_is_no_file_is_refused(void **state)
{
	(void)state;
	struct heap_file *file;

	assert_error(heap_file_open("/tmp", &file), HEAP_ERROR_SYSTEM, "/tmp: Is a directory");
	assert_error(heap_file_open("/dev/null", &file), HEAP_ERROR_FORMAT,
		     "/dev/null: not a regular file");
	assert_error(heap_file_open("/proc/self/exe", &file), HEAP_ERROR_FORMAT,
		     "/proc/self/exe: an ELF file, not a heap snapshot: of a core, heapsnap core "
		     "makes one");
}

static void write_errors_are_told_once(void **state)
{
	(void)state;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct heap_file_writer *writer;

	sample_check(heap_file_writer_create(full, &writer));
	put_section(writer, NUMBERS, HEAP_ENCODING_VARINT, (uint64_t[]){ 1, 2 }, 2);
	put_section(writer, STEPS, HEAP_ENCODING_DELTA, (uint64_t[]){ 1, 2 }, 2);
	heap_file_writer_begin(writer, LETTERS, HEAP_ENCODING_BYTES, 1);
	heap_file_writer_put_bytes(writer, "abc", 3);
	heap_file_writer_end(writer);
	assert_error(heap_file_writer_finish(writer), HEAP_ERROR_SYSTEM, "No space left on device");
	heap_file_writer_destroy(writer);
	close(full);
}

static void too_many_sections_are_an_error(void **state)
{
	(void)state;
	struct heap_file_writer *writer = start();

	for (uint32_t i = 0; i < 1025; i++)
		put_section(writer, 0x20202020 + i, HEAP_ENCODING_VARINT, (uint64_t[]){ i }, 1);
	assert_error(heap_file_writer_finish(writer), HEAP_ERROR_ARGUMENT, "too many sections");
	heap_file_writer_destroy(writer);
	close(descriptor);
}

#define ON_SMALL(test) cmocka_unit_test_setup_teardown(test, small_file, no_file)
#define ON_OWN(test) cmocka_unit_test_setup_teardown(test, NULL, no_file)

UNIT_TESTS("file", ON_OWN(values_round_trip), ON_OWN(any_range_is_read_by_its_blocks),
	   ON_OWN(sections_end_where_blocks_do), ON_OWN(long_sections_are_written_in_batches),
	   ON_OWN(columns_are_written_like_single_values), ON_OWN(columns_may_hold_bytes),
	   ON_OWN(bytes_round_trip), ON_OWN(narrow_values_are_refused_when_wide),
	   ON_SMALL(tables_know_their_fields), ON_SMALL(wrong_requests_are_refused),
	   ON_SMALL(every_truncation_is_an_error), ON_SMALL(every_flipped_bit_is_an_error),
	   ON_SMALL(damage_is_named), ON_SMALL(values_that_are_cut_off_are_named),
	   ON_OWN(tags_are_printed_safely), ON_SMALL(ignorable_flags_are_ignored),
	   ON_SMALL(longer_entries_are_read), ON_SMALL(files_are_opened_by_path),
	   ON_OWN(what_is_no_file_is_refused), ON_OWN(write_errors_are_told_once),
	   ON_OWN(too_many_sections_are_an_error))
