// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/file/file.h"
#include "lib/file/file_format.h"
#include "lib/snapshot/snapshot.h"
#include "t/helper/sample_file.h"

// Opens, loads and reads everything, and gives the first error.
static struct heap_error *use(const uint8_t *file, size_t length)
{
	struct heap_snapshot *snapshot = NULL;
	struct heap_error *error = heap_snapshot_open_memory(file, length, &snapshot);
	uint8_t buffer[64];
	size_t kept;

	if (error) {
		assert_null(snapshot);
		return error;
	}
	error = heap_snapshot_load(snapshot, HEAP_COLUMN_ALL);
	for (heap_object_id i = 0; !error && i < snapshot->object_count; i++)
		error = heap_snapshot_read_content(snapshot, i, buffer, sizeof(buffer), &kept);
	heap_snapshot_close(snapshot);
	return error;
}

static void every_truncation_is_an_error(void **state)
{
	(void)state;
	sample_check(use(bytes, size));
	for (size_t length = 0; length < size; length++) {
		// A copy of just that size, for ASan to see a read beyond it.
		uint8_t *copy = malloc(length + 1);
		struct heap_error *error;

		memcpy(copy + 1, bytes, length);
		error = use(copy + 1, length);
		if (!error || heap_error_code(error) != HEAP_ERROR_FORMAT)
			fail_msg("cut to %zu bytes", length);
		heap_error_destroy(error);
		free(copy);
	}
}

static void every_flipped_bit_is_an_error(void **state)
{
	(void)state;
	for (size_t bit = 0; bit < size * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);

		struct heap_error *error = use(bytes, size);

		if (!error || heap_error_code(error) != HEAP_ERROR_FORMAT)
			fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
		heap_error_destroy(error);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

// A change of one section, of which a well-formed file is made.
struct change {
	const char *tag;
	enum {
		SET,    // value `index`
		RESIZE, // to `value` values, with zeros
		DROP,
		ADD,    // a section of that tag
		WIDEN,  // by `value` fields in each row
		NARROW, // by `value` fields in each row
	} what;
	uint64_t index;
	uint64_t value;
};

static uint32_t tag_of(const char *name)
{
	return HEAP_TAG(name[0], name[1], name[2], name[3]);
}

static void change_values(const struct change *change, uint16_t fields, uint64_t *values,
			  uint64_t *count)
{
	uint64_t rows = *count / fields;

	if (change->what == SET) {
		values[change->index] = change->value;
	} else if (change->what == RESIZE) {
		*count = change->value;
	} else if (change->what == WIDEN) {
		for (uint64_t i = rows * (fields + change->value); i-- > 0;) {
			uint64_t field = i % (fields + change->value);

			values[i] = field < fields
					    ? values[i / (fields + change->value) * fields + field]
					    : 4711;
		}
		*count = rows * (fields + change->value);
	} else if (change->what == NARROW) {
		for (uint64_t i = 0; i < rows * (fields - change->value); i++)
			values[i] = values[i / (fields - change->value) * fields +
					   i % (fields - change->value)];
		*count = rows * (fields - change->value);
	}
}

static void read_section(const struct heap_file *file, const struct heap_section *section,
			 uint64_t *values)
{
	uint8_t letters[4096];

	if (section->encoding != HEAP_ENCODING_BYTES) {
		sample_check(heap_file_read_u64(file, section, 0, section->count, values));
		return;
	}
	sample_check(heap_file_read_bytes(file, section, 0, section->count, letters));
	for (uint64_t i = 0; i < section->count; i++)
		values[i] = letters[i];
}

static void write_section(struct heap_file_writer *writer, uint32_t tag, uint16_t encoding,
			  uint16_t fields, const uint64_t *values, uint64_t count)
{
	heap_file_writer_begin(writer, tag, encoding, fields);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t letter = (uint8_t)values[i];

		if (encoding == HEAP_ENCODING_BYTES)
			heap_file_writer_put_bytes(writer, &letter, 1);
		else
			heap_file_writer_put(writer, values[i]);
	}
	heap_file_writer_end(writer);
}

static void copy_section(const struct heap_file *file, const struct heap_section *section,
			 const struct change *change, struct heap_file_writer *writer)
{
	uint64_t values[4096] = { 0 };
	uint64_t count = section->count;
	uint16_t fields = section->fields;

	read_section(file, section, values);
	if (section->tag == tag_of(change->tag)) {
		if (change->what == DROP)
			return;
		change_values(change, fields, values, &count);
		fields = (uint16_t)(fields + (change->what == WIDEN    ? change->value
					      : change->what == NARROW ? -change->value
								       : 0));
	}
	write_section(writer, section->tag, section->encoding, fields, values, count);
}

// The sample's file with a change. @return [*length] to be freed
static uint8_t *changed(const struct change *change, size_t *length)
{
	const uint8_t *trailer = bytes + size - HEAP_TRAILER_SIZE;
	const uint8_t *entry = bytes + heap_get_u64(trailer);
	int descriptor = memfd_create("changed", MFD_CLOEXEC);
	struct heap_file_writer *writer;
	struct heap_file *file;

	sample_check(heap_file_open_memory(bytes, size, &file));
	sample_check(heap_file_writer_create(descriptor, &writer));
	for (; entry < trailer; entry += HEAP_ENTRY_SIZE)
		copy_section(file, heap_file_find(file, heap_get_u32(entry)), change, writer);
	if (change->what == ADD)
		write_section(writer, tag_of(change->tag), HEAP_ENCODING_VARINT, 1,
			      (uint64_t[]){ 1, 2, 3 }, 3);
	sample_check(heap_file_writer_finish(writer));
	heap_file_writer_destroy(writer);
	heap_file_close(file);

	uint8_t *result = sample_slurp(descriptor, length);

	close(descriptor);
	return result;
}

static struct heap_error *use_changed(const struct change *change)
{
	size_t length;
	uint8_t *file = changed(change, &length);
	struct heap_error *error = use(file, length);

	free(file);
	return error;
}

static const struct {
	struct change change;
	const char *message;
} damages[] = {
	{ { "strs", SET, 0, 'x' }, "section 'strs' is damaged: its strings have no end" },
	{ { "strs", SET, 53, 'x' }, "section 'strs' is damaged: its strings have no end" },
	{ { "strs", RESIZE, 0, 0 }, "section 'strs' is damaged: its strings have no end" },
	{ { "tstr", SET, 35, 'x' }, "section 'tstr' is damaged: its strings have no end" },
	{ { "info", DROP, 0, 0 }, "section 'info' is damaged: it is missing" },
	{ { "type", DROP, 0, 0 }, "section 'type' is damaged: it is missing" },
	{ { "oadr", DROP, 0, 0 }, "section 'oadr' is damaged: it is missing" },
	{ { "otyp", DROP, 0, 0 }, "section 'otyp' is damaged: it is missing" },
	{ { "etgt", DROP, 0, 0 }, "section 'etgt' is damaged: it is missing" },
	{ { "eflg", DROP, 0, 0 }, "section 'eflg' is damaged: it is missing" },
	{ { "cont", DROP, 0, 0 }, "section 'cont' is damaged: it is missing" },
	{ { "root", NARROW, 0, 1 }, "section 'root' is damaged: its rows are too short" },
	{ { "type", RESIZE, 0, 0 }, "section 'memb' is damaged: a value is out of range" },
	{ { "type", SET, 0, 1 }, "section 'type' is damaged: type 0 is not the unknown one" },
	{ { "type", SET, 10, 15 }, "section 'type' is damaged: type 1 is of an unknown kind" },
	{ { "type", SET, 10, 256 }, "section 'type' is damaged: a value is out of range" },
	{ { "type", SET, 12, 36 }, "section 'type' is damaged: a value is out of range" },
	{ { "type", SET, 13, UINT64_MAX }, "section 'type' is damaged: type 1 is too large" },
	{ { "type", SET, 16, 1 },
	  "section 'type' is damaged: type 1 has members that do not exist" },
	{ { "type", SET, 17, 3 },
	  "section 'type' is damaged: type 1 has members that do not exist" },
	{ { "type", SET, 18, UINT64_C(1) << 32 },
	  "section 'type' is damaged: a value is out of range" },
	{ { "type", SET, 24, 6 }, "section 'type' is damaged: type 2 refers to no type" },
	{ { "type", SET, 47, 2 },
	  "section 'type' is damaged: type 4 has members that do not exist" },
	{ { "type", SET, 54, 5 }, "section 'type' is damaged: type 5 contains itself" },
	{ { "type", SET, 55, UINT64_C(1) << 57 },
	  "section 'type' is damaged: type 5 is too large" },
	{ { "memb", SET, 0, 36 }, "section 'memb' is damaged: a value is out of range" },
	{ { "memb", SET, 1, 6 }, "section 'memb' is damaged: a value is out of range" },
	{ { "memb", SET, 1, 1 }, "section 'type' is damaged: type 1 contains itself" },
	{ { "memb", SET, 1, 5 }, "section 'type' is damaged: type 1 contains itself" },
	{ { "memb", SET, 8, UINT64_MAX }, "section 'memb' is damaged: member 1 is out of range" },
	{ { "memb", SET, 11, 200 }, "section 'memb' is damaged: member 1 is out of range" },
	{ { "enum", SET, 0, 36 }, "section 'enum' is damaged: a value is out of range" },
	{ { "modl", SET, 0, 54 }, "section 'modl' is damaged: a value is out of range" },
	{ { "modl", SET, 5, 0x3fffff },
	  "section 'modl' is damaged: a module ends before it starts" },
	{ { "site", SET, 1, 3 }, "section 'site' is damaged: a value is out of range" },
	{ { "site", SET, 2, UINT64_MAX }, "section 'site' is damaged: a value is out of range" },
	{ { "fram", SET, 2, 3 }, "section 'fram' is damaged: a value is out of range" },
	{ { "thrd", SET, 2, 3 }, "section 'thrd' is damaged: a thread is in an unknown state" },
	{ { "thrd", SET, 3, 3 }, "section 'thrd' is damaged: a thread's frames do not exist" },
	{ { "thrd", SET, 4, 3 }, "section 'thrd' is damaged: a thread's frames do not exist" },
	{ { "thrd", SET, 4, UINT32_MAX },
	  "section 'thrd' is damaged: a thread's frames do not exist" },
	{ { "root", SET, 0, HEAP_ROOT_KINDS },
	  "section 'root' is damaged: a root is of an unknown kind" },
	{ { "root", SET, 2, 6 }, "section 'root' is damaged: a value is out of range" },
	{ { "root", SET, 4, UINT64_MAX }, "section 'root' is damaged: a root is too large" },
	{ { "root", SET, 5, 3 }, "section 'root' is damaged: a value is out of range" },
	{ { "root", SET, 8, 3 }, "section 'root' is damaged: a value is out of range" },
	{ { "root", SET, 9, 3 }, "section 'root' is damaged: a value is out of range" },
	{ { "root", SET, 10, 13 }, "section 'root' is damaged: a root's value does not exist" },
	{ { "root", SET, 11, 13 }, "section 'root' is damaged: a root's value does not exist" },
	{ { "rcon", RESIZE, 0, 11 }, "section 'root' is damaged: a root's value does not exist" },
	{ { "redg", SET, 0, 2 }, "section 'redg' is damaged: a value is out of range" },
	{ { "redg", SET, 0, 1 }, NULL }, // both of the second root
	{ { "redg", SET, 1, 5 }, "section 'redg' is damaged: a value is out of range" },
	{ { "redg", SET, 5, 0 }, NULL }, // both of the first root
	{ { "maps", SET, 1, 0x3fffff },
	  "section 'maps' is damaged: a mapping ends before it starts" },
	{ { "maps", SET, 3, 54 }, "section 'maps' is damaged: a value is out of range" },
	{ { "damg", SET, 1, 54 }, "section 'damg' is damaged: a value is out of range" },
	{ { "smpl", SET, 0, 5 }, "section 'smpl' is damaged: a value is out of range" },
	{ { "smpl", SET, 0, 4 }, "section 'smpl' is damaged: it is not sorted" },
	{ { "smpl", SET, 7, UINT64_MAX }, "section 'smpl' is damaged: a value is out of range" },
	{ { "epoc", SET, 1, 0 }, "section 'epoc' is damaged: its epochs do not ascend" },
	{ { "epoc", RESIZE, 0, 1 }, "section 'obir' is damaged: a value is out of range" },
	{ { "oadr", SET, 1, 0x500010 }, "section 'oadr' is damaged: its addresses do not ascend" },
	{ { "oadr", SET, 4, UINT64_MAX - 46 },
	  "section 'osiz' is damaged: a value is out of range" },
	{ { "oadr", SET, 4, UINT64_MAX - 48 }, NULL },
	{ { "oadr", RESIZE, 0, 4 }, "is damaged: it has too few or too many values" },
	{ { "osiz", SET, 4, UINT64_MAX }, "section 'osiz' is damaged: a value is out of range" },
	{ { "osiz", RESIZE, 0, 6 },
	  "section 'osiz' is damaged: it has too few or too many values" },
	{ { "osiz", SET, 1, 17 }, "section 'cont' is damaged: it holds less than was kept" },
	{ { "otyp", SET, 4, 6 }, "section 'otyp' is damaged: a value is out of range" },
	{ { "otyp", SET, 4, UINT64_MAX },
	  "section 'otyp' is damaged: a value does not fit into 32 bits" },
	{ { "oevi", SET, 4, HEAP_EVIDENCE_KINDS },
	  "section 'oevi' is damaged: a value is out of range" },
	{ { "osit", SET, 0, 2 }, "section 'osit' is damaged: a value is out of range" },
	{ { "obir", SET, 0, 2 }, "section 'obir' is damaged: a value is out of range" },
	{ { "ecnt", SET, 0, 2 }, "section 'ecnt' is damaged: its sum is not the number of edges" },
	{ { "ecnt", SET, 0, UINT32_MAX },
	  "section 'ecnt' is damaged: its sum is not the number of edges" },
	{ { "ecnt", SET, 4, 1 }, "section 'ecnt' is damaged: its sum is not the number of edges" },
	{ { "ecnt", RESIZE, 0, 4 },
	  "section 'ecnt' is damaged: it has too few or too many values" },
	{ { "etgt", SET, 0, 1 }, "section 'etgt' is damaged: a value is out of range" },
	{ { "etgt", SET, 3, 4 }, "section 'etgt' is damaged: a value is out of range" },
	{ { "etgt", RESIZE, 0, 3 },
	  "section 'ecnt' is damaged: its sum is not the number of edges" },
	{ { "eslo", SET, 3, UINT32_MAX }, "section 'eslo' is damaged: a value is out of range" },
	{ { "eslo", RESIZE, 0, 3 },
	  "section 'eslo' is damaged: it has too few or too many values" },
	{ { "eint", SET, 0, UINT64_MAX }, "section 'eint' is damaged: a value does not fit" },
	{ { "eflg", RESIZE, 0, 5 },
	  "section 'eflg' is damaged: it has too few or too many values" },
	{ { "cont", RESIZE, 0, 159 }, "section 'cont' is damaged: it holds less than was kept" },
};

static void damage_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(damages); i++) {
		struct heap_error *error = use_changed(&damages[i].change);

		if (!damages[i].message && error)
			fail_msg("%zu: '%s' is no error", i, heap_error_message(error));
		if (damages[i].message && !error)
			fail_msg("%zu: '%s' is not found", i, damages[i].message);
		if (error)
			assert_error(error, HEAP_ERROR_FORMAT, damages[i].message);
	}
}

static void assert_sample(const uint8_t *file, size_t length)
{
	struct heap_snapshot *snapshot = sample_open(file, length);

	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ALL));
	assert_tables(snapshot);
	assert_rows(edge_target, edge_count);
	heap_snapshot_close(snapshot);
}

static void what_later_versions_add_is_skipped(void **state)
{
	(void)state;
	static const struct change additions[] = {
		{ "zzzz", ADD, 0, 0 },   { "type", WIDEN, 0, 1 }, { "memb", WIDEN, 0, 2 },
		{ "root", WIDEN, 0, 3 }, { "redg", WIDEN, 0, 1 }, { "damg", WIDEN, 0, 5 },
	};

	for (size_t i = 0; i < COUNT_OF(additions); i++) {
		size_t length;
		uint8_t *file = changed(&additions[i], &length);

		assert_sample(file, length);
		free(file);
	}
}

static void damage_to_a_column_costs_that_column(void **state)
{
	(void)state;
	size_t length;
	uint8_t *file = changed(&(struct change){ "otyp", SET, 4, 6 }, &length);
	struct heap_snapshot *snapshot;

	snapshot = sample_open(file, length);
	assert_error(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE),
		     HEAP_ERROR_FORMAT, "section 'otyp' is damaged");
	assert_null(snapshot->type);
	assert_non_null(snapshot->size);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ALL & ~(unsigned)HEAP_COLUMN_TYPE));
	assert_non_null(snapshot->edge_flags);
	heap_snapshot_close(snapshot);
	free(file);
}

static void errors_begin_with_the_path(void **state)
{
	(void)state;
	char path[] = "/tmp/heap-snapshot-XXXXXX";
	int descriptor = mkstemp(path);
	size_t length;
	uint8_t *file = changed(&(struct change){ "otyp", SET, 4, 6 }, &length);
	struct heap_snapshot *snapshot;
	char message[128];

	assert_int_equal(write(descriptor, file, length), length);
	close(descriptor);
	sample_check(heap_snapshot_open(path, &snapshot));
	assert_string_equal(snapshot->path, path);
	snprintf(message, sizeof(message), "%s: section 'otyp' is damaged: a value is out of range",
		 path);
	assert_error(heap_snapshot_load(snapshot, HEAP_COLUMN_TYPE), HEAP_ERROR_FORMAT, message);
	heap_snapshot_close(snapshot);

	assert_int_equal(truncate(path, (off_t)length - 1), 0);
	snprintf(message, sizeof(message), "%s: no directory at the end: the file is truncated",
		 path);
	assert_error(heap_snapshot_open(path, &snapshot), HEAP_ERROR_FORMAT, message);
	unlink(path);
	free(file);
}

// One block of the contents is lost, not those after it.
static void damage_to_contents_costs_a_block(void **state)
{
	(void)state;
	struct heap_snapshot many = sample_crowd();
	struct heap_snapshot *snapshot;
	struct heap_file *container;
	size_t length;
	uint8_t *file = sample_bytes(&many, &length);
	uint8_t buffer[300];
	size_t kept;
	uint32_t lost = 0;

	sample_check(heap_file_open_memory(file, length, &container));

	const struct heap_section *section = heap_file_find(container, tag_of("cont"));
	const uint8_t *table = file + section->offset + section->length -
			       (section->count + 65535) / 65536 * HEAP_BLOCK_ENTRY_SIZE;

	// In the third block, and so in the second window.
	file[section->offset + heap_get_u32(table) + heap_get_u32(table + HEAP_BLOCK_ENTRY_SIZE) +
	     100] ^= 1;
	heap_file_close(container);
	snapshot = sample_open(file, length);
	for (uint32_t i = 0; i < SAMPLE_CROWD; i++) {
		struct heap_error *error =
			heap_snapshot_read_content(snapshot, i, buffer, sizeof(buffer), &kept);

		if (error) {
			assert_error(error, HEAP_ERROR_FORMAT,
				     "section 'cont' is damaged: CRC differs");
			lost++;
		}
	}
	// 65536 bytes in objects of 150 on average.
	assert_in_range(lost, 400, 500);
	heap_snapshot_close(snapshot);
	free(file);
}

UNIT_TESTS("snapshot_damage", ON_SAMPLE(every_truncation_is_an_error),
	   ON_SAMPLE(every_flipped_bit_is_an_error), ON_SAMPLE(damage_is_named),
	   ON_SAMPLE(what_later_versions_add_is_skipped),
	   ON_SAMPLE(damage_to_a_column_costs_that_column), ON_SAMPLE(errors_begin_with_the_path),
	   ON_SAMPLE(damage_to_contents_costs_a_block))
