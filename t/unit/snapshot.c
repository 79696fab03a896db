// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/file/file.h"
#include "lib/snapshot/snapshot.h"
#include "t/helper/sample_file.h"

#include <fcntl.h>

// --- what is written is read ---------------------------------------------------

static void info_round_trips(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot = sample_open(bytes, size);
	const struct heap_info *info = &snapshot->info;

	assert_string_equal(info->program, "app");
	assert_string_equal(info->command, "app --go a=b");
	assert_string_equal(info->host, "here");
	assert_string_equal(info->maker, "heapsnap 0.1");
	assert_string_equal(info->id, "0123456789abcdef0123456789abcdef");
	assert_int_equal(info->pid, 4242);
	assert_int_equal(info->serial, 3);
	assert_int_equal(info->time_ns, 1700000002000000000);
	assert_int_equal(info->start_time_ns, 1700000000000000000);
	assert_int_equal(info->stop_ns, 123456);
	assert_int_equal(info->clone_ns, 23456);
	assert_int_equal(info->content_limit, 64);
	assert_int_equal(info->missed_threads, 1);
	heap_snapshot_close(snapshot);
}

static void tables_round_trip(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	assert_tables(snapshot);
	assert_ptr_equal(heap_snapshot_sample(snapshot, 0), &snapshot->samples[0]);
	assert_null(heap_snapshot_sample(snapshot, 1));
	assert_ptr_equal(heap_snapshot_sample(snapshot, 3), &snapshot->samples[1]);
	assert_int_equal(heap_sample_trace_us(snapshot, &snapshot->samples[0]), 250000);
	assert_string_equal(heap_snapshot_string(snapshot, snapshot->roots[1].name), "cursor");
	heap_snapshot_close(snapshot);
}

static void columns_round_trip(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ALL));
	assert_int_equal(snapshot->object_count, SAMPLE_OBJECTS);
	assert_rows(address, object_count);
	assert_rows(size, object_count);
	assert_rows(type, object_count);
	assert_rows(elements, object_count);
	assert_rows(evidence, object_count);
	assert_rows(site, object_count);
	assert_rows(birth, object_count);
	assert_rows(backtrace, object_count);
	assert_rows(conflict_type, object_count);
	assert_rows(conflicts, object_count);
	assert_rows(parts, part_count);
	assert_memory_equal(snapshot->edge_first, sample.edge_first, (SAMPLE_OBJECTS + 1) * 4);
	assert_int_equal(snapshot->edge_count, SAMPLE_EDGES);
	assert_rows(edge_target, edge_count);
	assert_rows(edge_slot, edge_count);
	assert_rows(edge_interior, edge_count);
	assert_rows(edge_flags, edge_count);
	heap_snapshot_close(snapshot);
}

// Snapshots are kept for years: one of each version of the format stays here.
static void old_snapshots_open(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot;

	sample_check(heap_snapshot_open("t/snapshots/format-1.snap", &snapshot));
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ALL));
	assert_string_equal(snapshot->info.id, "0123456789abcdef0123456789abcdef");
	assert_rows(types.types, types.count);
	assert_rows(roots, root_count);
	assert_rows(address, object_count);
	assert_rows(edge_target, edge_count);
	assert_rows(edge_slot, edge_count);
	// Later tables are empty.
	assert_int_equal(snapshot->step_count, 0);
	assert_int_equal(snapshot->part_count, 0);
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		assert_int_equal(snapshot->backtrace[i], 0);
		assert_int_equal(snapshot->conflict_type[i], HEAP_NO_TYPE);
	}
	heap_snapshot_close(snapshot);
}

static void parts_are_found_by_object(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot = sample_open(bytes, size);
	uint32_t first;

	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_PARTS));
	assert_int_equal(heap_snapshot_parts(snapshot, 3, &first), 2);
	assert_int_equal(first, 0);
	assert_int_equal(heap_snapshot_parts(snapshot, 2, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(heap_snapshot_parts(snapshot, 4, &first), 2);
	assert_int_equal(first, 2);
	heap_snapshot_close(snapshot);
}

static void only_what_is_asked_for_is_loaded(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	assert_null(snapshot->address);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_SITE));
	assert_non_null(snapshot->size);
	assert_non_null(snapshot->site);
	assert_null(snapshot->address);
	assert_null(snapshot->edge_first);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES));
	assert_non_null(snapshot->edge_first);
	assert_non_null(snapshot->edge_target);
	assert_null(snapshot->edge_slot);

	uint64_t *before = snapshot->size;

	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_SLOTS | HEAP_COLUMN_SIZE));
	assert_non_null(snapshot->edge_slot);
	assert_ptr_equal(snapshot->size, before);
	heap_snapshot_close(snapshot);
}

static void slots_bring_their_edges(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_SLOTS));
	assert_int_equal(snapshot->edge_target[3], 3);
	assert_int_equal(snapshot->edge_slot[3], 5);
	heap_snapshot_close(snapshot);
}

static void empty_snapshots_are_fine(void **state)
{
	(void)state;
	struct heap_snapshot empty = {
		.info = { "", "", "", "", "", .content_limit = UINT64_MAX },
		.strings = (char[]){ "" },
		.string_size = 1,
		.types = { .types = sample.types.types,
			   .count = 1,
			   .strings = (char[]){ "" },
			   .string_size = 1 },
		.edge_first = (uint32_t[]){ 0 },
	};
	struct heap_snapshot *snapshot;
	size_t length;
	uint8_t *file = sample_bytes(&empty, &length);

	snapshot = sample_open(file, length);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ALL));
	assert_int_equal(snapshot->object_count, 0);
	assert_int_equal(snapshot->edge_first[0], 0);
	assert_int_equal(snapshot->info.content_limit, UINT64_MAX);
	assert_int_equal(heap_snapshot_find(snapshot, 1), HEAP_NO_OBJECT);
	heap_snapshot_close(snapshot);
	free(file);
}

enum {
	ARRAY_EDGES = 70000, // more than a block of a section
};

// Writes and reads a snapshot in which one object points to others. @return the encoding of these
static uint16_t encode_targets(uint32_t *targets)
{
	static uint32_t first[ARRAY_EDGES + 1], zeros[ARRAY_EDGES];
	static uint8_t flags[ARRAY_EDGES];
	struct heap_snapshot array = {
		.info = { "", "", "", "", "" },
		.strings = (char[]){ "" },
		.string_size = 1,
		.types = { .types = sample.types.types,
			   .count = 1,
			   .strings = (char[]){ "" },
			   .string_size = 1 },
		.object_count = ARRAY_EDGES,
		.edge_count = ARRAY_EDGES,
		.edge_first = first,
		.edge_target = targets,
		.edge_slot = zeros,
		.edge_interior = zeros,
		.edge_flags = flags,
	};
	struct heap_snapshot *snapshot;
	size_t length;

	for (uint32_t i = 1; i <= ARRAY_EDGES; i++)
		first[i] = ARRAY_EDGES;

	uint8_t *file = sample_bytes(&array, &length);

	snapshot = sample_open(file, length);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES));
	assert_memory_equal(snapshot->edge_target, targets, ARRAY_EDGES * sizeof(*targets));

	uint16_t encoding = heap_file_find(snapshot->file, HEAP_TAG('e', 't', 'g', 't'))->encoding;

	heap_snapshot_close(snapshot);
	free(file);
	return encoding;
}

static void targets_of_arrays_are_stored_as_differences(void **state)
{
	static uint32_t targets[ARRAY_EDGES];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_EDGES; i++)
		targets[i] = i;
	assert_int_equal(encode_targets(targets), HEAP_ENCODING_DELTA);
	for (uint32_t i = 0; i < ARRAY_EDGES; i++)
		targets[i] = (uint32_t)(i * UINT64_C(30011) % ARRAY_EDGES);
	assert_int_equal(encode_targets(targets), HEAP_ENCODING_VARINT);
}

static void objects_are_found_by_address(void **state)
{
	(void)state;
	static const struct {
		uint64_t address;
		heap_object_id object;
	} cases[] = {
		{ 0, HEAP_NO_OBJECT },
		{ 0x50000f, HEAP_NO_OBJECT },
		{ 0x500010, 0 },
		{ 0x50001f, 0 },
		{ 0x500020, HEAP_NO_OBJECT },
		{ 0x500030, 1 },
		{ 0x500070, 3 },
		{ 0x5000d3, 3 },
		{ 0x5000d4, HEAP_NO_OBJECT },
		{ 0x500200, 4 },
		{ 0x50022f, 4 },
		{ 0x500230, HEAP_NO_OBJECT },
		{ UINT64_MAX, HEAP_NO_OBJECT },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(heap_snapshot_find(&sample, cases[i].address), cases[i].object);

	assert_int_equal(heap_snapshot_find_before(&sample, 0), HEAP_NO_OBJECT);
	assert_int_equal(heap_snapshot_find_before(&sample, 0x500010), HEAP_NO_OBJECT);
	assert_int_equal(heap_snapshot_find_before(&sample, 0x500011), 0);
	assert_int_equal(heap_snapshot_find_before(&sample, 0x500200), 3);
	assert_int_equal(heap_snapshot_find_before(&sample, UINT64_MAX), 4);

	// One of no bytes has an address all the same.
	struct heap_snapshot one = { .object_count = 1,
				     .address = (uint64_t[]){ 0x1000 },
				     .size = (uint64_t[]){ 0 } };

	assert_int_equal(heap_snapshot_find(&one, 0x1000), 0);
	assert_int_equal(heap_snapshot_find(&one, 0x1001), HEAP_NO_OBJECT);
}

// --- contents --------------------------------------------------------------------

static void assert_content(struct heap_snapshot *snapshot, heap_object_id object, size_t wanted,
			   size_t expected)
{
	uint8_t buffer[1024];
	size_t kept = 0;

	assert_true(wanted < sizeof(buffer));
	memset(buffer, 0xee, sizeof(buffer));
	sample_check(heap_snapshot_read_content(snapshot, object, buffer, wanted, &kept));
	assert_int_equal(kept, expected);
	for (size_t i = 0; i < kept; i++)
		assert_int_equal(buffer[i], sample_byte(snapshot->address[object] + i));
	assert_int_equal(buffer[kept], 0xee);
}

static void contents_are_kept_up_to_the_limit(void **state)
{
	(void)state;
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ADDRESS));
	assert_content(snapshot, 3, 1000, 64);
	assert_content(snapshot, 0, 1000, 16);
	assert_content(snapshot, 4, 1000, 48);
	assert_content(snapshot, 4, 5, 5);
	assert_content(snapshot, 1, 0, 0);
	heap_snapshot_close(snapshot);
}

static void without_contents_nothing_is_kept(void **state)
{
	(void)state;
	struct heap_snapshot without = sample;
	struct heap_snapshot *snapshot;
	size_t length;

	without.info.content_limit = 0;

	uint8_t *file = sample_bytes(&without, &length);

	snapshot = sample_open(file, length);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ADDRESS));
	assert_content(snapshot, 3, 1000, 0);
	heap_snapshot_close(snapshot);
	free(file);
	assert_content(&sample, 3, 1000, 0);
}

struct heap_error *__real_heap_file_read_bytes(const struct heap_file *file,
					       const struct heap_section *section, uint64_t first,
					       uint64_t count, uint8_t *result);
struct heap_error *__wrap_heap_file_read_bytes(const struct heap_file *file,
					       const struct heap_section *section, uint64_t first,
					       uint64_t count, uint8_t *result);

static unsigned reads; // of bytes from the file

struct heap_error *__wrap_heap_file_read_bytes(const struct heap_file *file,
					       const struct heap_section *section, uint64_t first,
					       uint64_t count, uint8_t *result)
{
	reads++;
	return __real_heap_file_read_bytes(file, section, first, count, result);
}

// As along a list: what was decompressed once is not decompressed again.
static void contents_are_read_once(void **state)
{
	(void)state;
	struct heap_snapshot many = sample_crowd();
	struct heap_snapshot *snapshot;
	size_t length;
	uint8_t *file = sample_bytes(&many, &length);
	uint64_t kept = 0;

	snapshot = sample_open(file, length);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE));
	for (uint32_t i = 0; i < SAMPLE_CROWD; i++)
		kept += many.size[i];
	assert_true(kept / HEAP_BLOCK_ELEMENTS >= 3);
	reads = 0;
	for (uint32_t i = 0; i < SAMPLE_CROWD; i++)
		assert_content(snapshot, i * 1999 % SAMPLE_CROWD, 10,
			       many.size[i * 1999 % SAMPLE_CROWD] < 10
				       ? many.size[i * 1999 % SAMPLE_CROWD]
				       : 10);
	// Readahead may read a block a second time, where two follow each other.
	assert_in_range(reads, 3, 2 * (kept / HEAP_BLOCK_ELEMENTS + 1));
	heap_snapshot_close(snapshot);
	free(file);
}

static void contents_are_read_in_any_order(void **state)
{
	(void)state;
	struct heap_snapshot many = sample_crowd();
	struct heap_snapshot *snapshot;
	size_t length;
	uint8_t *file = sample_bytes(&many, &length);

	snapshot = sample_open(file, length);
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE));
	for (uint32_t i = 0; i < SAMPLE_CROWD; i++)
		assert_content(snapshot, i, 1000, i == 2000 ? 1000 : many.size[i]);
	for (uint32_t i = SAMPLE_CROWD; i-- > 0;)
		assert_content(snapshot, i, 300, i == 2000 ? 300 : many.size[i]);
	for (uint32_t i = 0; i < SAMPLE_CROWD; i++)
		assert_content(snapshot, i * 1999 % SAMPLE_CROWD, 10,
			       many.size[i * 1999 % SAMPLE_CROWD] < 10
				       ? many.size[i * 1999 % SAMPLE_CROWD]
				       : 10);

	uint8_t *whole = malloc(200000);
	size_t kept;

	sample_check(heap_snapshot_read_content(snapshot, 2000, whole, 200000, &kept));
	assert_int_equal(kept, 200000);
	for (uint32_t i = 0; i < 200000; i++)
		assert_int_equal(whole[i], sample_byte(many.address[2000] + i));
	free(whole);
	heap_snapshot_close(snapshot);
	free(file);
}

// --- writing ---------------------------------------------------------------------

static struct heap_error *refuse(void *context, heap_object_id object, uint64_t address,
				 uint8_t *buffer, size_t length)
{
	(void)address;
	(void)buffer;
	(void)length;
	if (object < 2)
		return NULL;
	*(int *)context += 1;
	return heap_error_create(HEAP_ERROR_SYSTEM, "cannot read object 2");
}

static void errors_of_the_reader_end_the_writing(void **state)
{
	(void)state;
	int descriptor = memfd_create("refused", MFD_CLOEXEC);
	int calls = 0;

	memset(bytes, 0, size);
	assert_error(heap_snapshot_write(&sample, descriptor,
					 &(struct heap_snapshot_source){ .content = refuse,
									 .context = &calls }),
		     HEAP_ERROR_SYSTEM, "cannot read object 2");
	assert_int_equal(calls, 1);
	close(descriptor);
}

static void a_full_disk_is_told(void **state)
{
	(void)state;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_error(
		heap_snapshot_write(&sample, full,
				    &(struct heap_snapshot_source){ .content = sample_content }),
		HEAP_ERROR_SYSTEM, "No space left on device");
	close(full);
}

UNIT_TESTS("snapshot", ON_SAMPLE(info_round_trips), ON_SAMPLE(tables_round_trip),
	   ON_SAMPLE(columns_round_trip), ON_SAMPLE(old_snapshots_open),
	   ON_SAMPLE(parts_are_found_by_object), ON_SAMPLE(only_what_is_asked_for_is_loaded),
	   ON_SAMPLE(slots_bring_their_edges), ON_SAMPLE(empty_snapshots_are_fine),
	   ON_SAMPLE(targets_of_arrays_are_stored_as_differences),
	   ON_SAMPLE(objects_are_found_by_address), ON_SAMPLE(contents_are_kept_up_to_the_limit),
	   ON_SAMPLE(without_contents_nothing_is_kept), ON_SAMPLE(contents_are_read_in_any_order),
	   ON_SAMPLE(contents_are_read_once), ON_SAMPLE(errors_of_the_reader_end_the_writing),
	   ON_SAMPLE(a_full_disk_is_told))
