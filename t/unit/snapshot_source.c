// SPDX-License-Identifier: GPL-3.0-or-later
// A snapshot is the same file whether its columns are arrays, are made while they are written, or
// have been stored as they were found.
#include "t/unit/unit.h"

#include "lib/snapshot/stored_edges.h"
#include "t/helper/sample.h"

#include <fcntl.h>
#include <stdbool.h>

enum {
	EDGES_OF_LAST = 200000, // more than there are in one block of the file
};

static heap_object_id targets[SAMPLE_CROWD * 3 + EDGES_OF_LAST];
static uint32_t slots[SAMPLE_CROWD * 3 + EDGES_OF_LAST];
static uint32_t interiors[SAMPLE_CROWD * 3 + EDGES_OF_LAST];
static uint8_t flags[SAMPLE_CROWD * 3 + EDGES_OF_LAST];
static uint32_t first[SAMPLE_CROWD + 1];
static uint64_t state = 88172645463325252u;

static uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state % limit);
}

// The crowd with pointers: none, one or two from each object, many from the last.
static struct heap_snapshot connected_crowd(void)
{
	struct heap_snapshot crowd = sample_crowd();
	uint32_t count = 0;

	for (uint32_t i = 0; i < SAMPLE_CROWD; i++) {
		uint32_t edges = i + 1 == SAMPLE_CROWD ? EDGES_OF_LAST : below(3), slot = 0;

		first[i] = count;
		for (uint32_t j = 0; j < edges; j++) {
			slot += j > 0 ? 1 + below(300) : below(1 << 30);
			slots[count] = slot;
			targets[count] = below(SAMPLE_CROWD);
			interiors[count++] = below(5) ? 0 : below(2) ? UINT32_MAX : below(1000);
		}
	}
	first[SAMPLE_CROWD] = count;
	crowd.edge_first = first;
	crowd.edge_target = targets;
	crowd.edge_slot = slots;
	crowd.edge_interior = interiors;
	crowd.edge_flags = flags;
	crowd.edge_count = count;
	return crowd;
}

static uint8_t *bytes_from(const struct heap_snapshot *snapshot,
			   const struct heap_snapshot_source *source, size_t *size)
{
	int descriptor = memfd_create("sample", MFD_CLOEXEC);

	assert_null(heap_snapshot_write(snapshot, descriptor, source));

	uint8_t *bytes = sample_slurp(descriptor, size);

	close(descriptor);
	return bytes;
}

static void assert_same(const struct heap_snapshot *model, const struct heap_snapshot *snapshot,
			const struct heap_snapshot_source *source)
{
	size_t expected_size, size;
	uint8_t *expected = sample_bytes(model, &expected_size);
	uint8_t *bytes = bytes_from(snapshot, source, &size);

	assert_int_equal(size, expected_size);
	assert_memory_equal(bytes, expected, size);
	free(expected);
	free(bytes);
}

static void edges_may_be_stored_as_they_are_found(void **unused)
{
	struct heap_snapshot model = connected_crowd(), snapshot = model;
	struct heap_stored_edges *stored;

	(void)unused;
	assert_null(heap_stored_edges_create(&stored));
	for (uint32_t i = 0; i < SAMPLE_CROWD; i++) {
		for (uint32_t j = first[i]; j < first[i + 1]; j++)
			heap_stored_edges_add(stored, i, slots[j], targets[j], interiors[j]);
	}
	assert_int_equal(heap_stored_edges_count(stored), model.edge_count);
	snapshot.edge_first = snapshot.edge_target = NULL;
	snapshot.edge_slot = snapshot.edge_interior = NULL;
	snapshot.edge_flags = NULL;
	assert_same(&model, &snapshot,
		    &(struct heap_snapshot_source){ .content = sample_content, .edges = stored });
	heap_stored_edges_destroy(stored);
}

static void there_may_be_no_edges(void **unused)
{
	struct heap_snapshot crowd = sample_crowd();
	struct heap_stored_edges *stored;

	(void)unused;
	assert_null(heap_stored_edges_create(&stored));
	assert_same(&crowd, &crowd,
		    &(struct heap_snapshot_source){ .content = sample_content, .edges = stored });
	heap_stored_edges_destroy(stored);
	heap_stored_edges_destroy(NULL);
}

// Contents, and columns of a snapshot that has them.
static void make_column(void *context, enum heap_columns column, heap_object_id start,
			uint32_t count, uint64_t *values)
{
	const struct heap_snapshot *model = context;

	assert_true(start + count <= model->object_count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t object = start + i;

		assert_int_equal(values[i], 0);
		switch ((unsigned)column) {
		case HEAP_COLUMN_ADDRESS:
			values[i] = model->address[object];
			break;
		case HEAP_COLUMN_SIZE:
			values[i] = model->size[object];
			break;
		case HEAP_COLUMN_EVIDENCE:
			values[i] = model->evidence[object];
			break;
		case HEAP_COLUMN_ELEMENTS:
			values[i] = model->elements[object];
			break;
		case HEAP_COLUMN_BIRTH:
			values[i] = model->birth[object];
			break;
		}
	}
}

static void columns_may_be_made_while_they_are_written(void **unused)
{
	struct heap_snapshot model = connected_crowd(), snapshot = model;

	(void)unused;
	snapshot.address = snapshot.size = snapshot.elements = NULL;
	snapshot.evidence = NULL;
	snapshot.birth = NULL;
	assert_same(&model, &snapshot,
		    &(struct heap_snapshot_source){
			    .content = sample_content, .column = make_column, .context = &model });
}

static void what_nobody_makes_is_zero(void **unused)
{
	struct heap_snapshot model = connected_crowd(), snapshot = model;

	(void)unused;
	memset(model.elements, 0, model.object_count * sizeof(*model.elements));
	snapshot.elements = NULL;
	snapshot.conflict_type = snapshot.conflicts = NULL;
	assert_same(&model, &snapshot, &(struct heap_snapshot_source){ .content = sample_content });
}

static void an_error_of_stored_edges_is_told(void **unused)
{
	struct heap_snapshot crowd = sample_crowd();
	struct heap_stored_edges *stored;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)unused;
	assert_true(full >= 0);
	assert_null(heap_stored_edges_create(&stored));
	heap_stored_edges_add(stored, 3, 1, 2, 0);
	assert_error(heap_snapshot_write(&crowd, full,
					 &(struct heap_snapshot_source){ .content = sample_content,
									 .edges = stored }),
		     HEAP_ERROR_SYSTEM, "No space left on device");
	close(full);
	heap_stored_edges_destroy(stored);
}

UNIT_TESTS("sources of snapshots", cmocka_unit_test(edges_may_be_stored_as_they_are_found),
	   cmocka_unit_test(there_may_be_no_edges),
	   cmocka_unit_test(columns_may_be_made_while_they_are_written),
	   cmocka_unit_test(what_nobody_makes_is_zero),
	   cmocka_unit_test(an_error_of_stored_edges_is_told))
