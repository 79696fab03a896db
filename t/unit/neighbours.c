// SPDX-License-Identifier: GPL-3.0-or-later
// Columns that are loaded for some objects alone have the values of the whole columns.
#include "t/unit/unit.h"

#include "lib/base/bits.h"
#include "lib/base/column.h"
#include "lib/snapshot/declarations.h"
#include "lib/graph/edge_bits.h"
#include "lib/snapshot/snapshot.h"
#include "t/helper/sample.h"
#include "t/unit/graph_model.h"

enum {
	OBJECTS = 700000, // eleven blocks
	EDGES = 1500000,
	OBJECT_COLUMNS = HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE |
			 HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_EVIDENCE | HEAP_COLUMN_SITE |
			 HEAP_COLUMN_BIRTH | HEAP_COLUMN_BACKTRACE | HEAP_COLUMN_CONFLICT_TYPE |
			 HEAP_COLUMN_CONFLICTS,
};

static struct heap_snapshot *whole; // all columns loaded
static uint8_t *bytes;
static size_t size;

static void make_objects(struct heap_snapshot *model)
{
	uint64_t address = 0x1000;

	model->object_count = OBJECTS;
	model->address = calloc(OBJECTS, sizeof(*model->address));
	model->size = calloc(OBJECTS, sizeof(*model->size));
	model->type = calloc(OBJECTS, sizeof(*model->type));
	model->elements = calloc(OBJECTS, sizeof(*model->elements));
	model->evidence = calloc(OBJECTS, sizeof(*model->evidence));
	model->site = calloc(OBJECTS, sizeof(*model->site));
	model->birth = calloc(OBJECTS, sizeof(*model->birth));
	for (uint32_t i = 0; i < OBJECTS; i++) {
		model->address[i] = address;
		model->size[i] = random_below(300);
		model->type[i] = random_below(model->types.count);
		model->elements[i] = 1 + random_below(200);
		model->evidence[i] = (uint8_t)random_below(HEAP_EVIDENCE_KINDS);
		model->site[i] = random_below(model->site_count);
		model->birth[i] = random_below(model->epoch_count);
		address += 16 + (model->size[i] + 15) / 16 * 16;
	}
	model->backtrace = NULL;
	model->conflict_type = NULL;
	model->conflicts = NULL;
}

static void make_edges(struct heap_snapshot *model)
{
	uint32_t slot = 0;

	model->edge_count = EDGES;
	model->edge_first = calloc(OBJECTS + 1, sizeof(*model->edge_first));
	model->edge_target = calloc(EDGES, sizeof(*model->edge_target));
	model->edge_slot = calloc(EDGES, sizeof(*model->edge_slot));
	model->edge_interior = calloc(EDGES, sizeof(*model->edge_interior));
	model->edge_flags = calloc(EDGES, sizeof(*model->edge_flags));
	for (uint32_t i = 0, source = 0; i < EDGES; i++) {
		// One object has more than a block of them.
		if (i < 300000 || i > 500000)
			source = (uint32_t)((uint64_t)i * (OBJECTS - 1) / EDGES);
		slot = model->edge_first[source + 1]++ ? slot + 1 + random_below(3) : 0;
		model->edge_slot[i] = slot;
		model->edge_target[i] = random_below(OBJECTS);
		model->edge_interior[i] = random_below(3) ? 0 : random_below(100);
		model->edge_flags[i] = (uint8_t)random_below(2);
	}
	for (uint32_t i = 0; i < OBJECTS; i++)
		model->edge_first[i + 1] += model->edge_first[i];
}

// A struct with another one inside, to which pointers lead.
static void make_types(struct heap_snapshot *model)
{
	heap_type_id outer = build_type(
		model, (struct heap_type){ .kind = HEAP_TYPE_STRUCT, .size = 24 }, "outer");

	build_member(model, outer,
		     (struct heap_member){ .type = heap_types_find(&model->types, "node", 0),
					   .offset = 8 },
		     "inner");
}

static int write_model(void **state)
{
	static struct heap_snapshot model; // whose types are never freed, as those of the sample

	(void)state;
	model = sample_snapshot();
	model.info.content_limit = 0;
	make_types(&model);
	make_objects(&model);
	make_edges(&model);
	bytes = sample_bytes(&model, &size);
	free(model.address);
	free(model.size);
	free(model.type);
	free(model.elements);
	free(model.evidence);
	free(model.site);
	free(model.birth);
	model_deinit(&(struct heap_snapshot){ .edge_first = model.edge_first,
					      .edge_target = model.edge_target,
					      .edge_slot = model.edge_slot,
					      .edge_interior = model.edge_interior,
					      .edge_flags = model.edge_flags });
	whole = sample_open(bytes, size);
	sample_check(heap_snapshot_load(whole, HEAP_COLUMN_ALL));
	return 0;
}

static int drop_model(void **state)
{
	(void)state;
	heap_snapshot_close(whole);
	free(bytes);
	return 0;
}

static void check_object(const struct heap_snapshot *snapshot, heap_object_id object)
{
	uint32_t first = whole->edge_first[object];
	size_t edges = whole->edge_first[object + 1] - first;

	assert_int_equal(snapshot->address[object], whole->address[object]);
	assert_int_equal(snapshot->size[object], whole->size[object]);
	assert_int_equal(snapshot->type[object], whole->type[object]);
	assert_int_equal(snapshot->elements[object], whole->elements[object]);
	assert_int_equal(snapshot->evidence[object], whole->evidence[object]);
	assert_int_equal(snapshot->site[object], whole->site[object]);
	assert_int_equal(snapshot->birth[object], whole->birth[object]);
	assert_int_equal(snapshot->backtrace[object], 0);
	assert_int_equal(snapshot->conflicts[object], 0);
	assert_memory_equal(&snapshot->edge_slot[first], &whole->edge_slot[first], edges * 4);
}

static void neighbours_are_loaded_right(void **state)
{
	struct heap_snapshot *snapshot = sample_open(bytes, size);
	heap_object_id objects[40];

	(void)state;
	// Two blocks, twice; then all blocks, one after the other.
	for (uint32_t i = 0; i < 40; i++) {
		objects[i] = i < 20 ? 65536 + random_below(131072)
				    : (uint32_t)((uint64_t)i * (OBJECTS - 1) / 39);
		sample_check(heap_snapshot_load_neighbours(
			snapshot, OBJECT_COLUMNS | HEAP_COLUMN_SLOTS, &objects[i], 1));
		for (uint32_t j = 0; j <= i; j++)
			check_object(snapshot, objects[j]);
	}
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_ALL));
	assert_memory_equal(snapshot->address, whole->address, OBJECTS * 8);
	assert_memory_equal(snapshot->size, whole->size, OBJECTS * 8);
	assert_memory_equal(snapshot->type, whole->type, OBJECTS * 4);
	assert_memory_equal(snapshot->edge_target, whole->edge_target, EDGES * 4);
	assert_memory_equal(snapshot->edge_slot, whole->edge_slot, EDGES * 4);
	heap_snapshot_close(snapshot);
}

static void many_blocks_are_loaded_as_a_whole(void **state)
{
	struct heap_snapshot *snapshot = sample_open(bytes, size);
	heap_object_id objects[11];
	uint64_t *before;

	(void)state;
	for (uint32_t i = 0; i < 11; i++)
		objects[i] = i * 65536 - (i > 0);
	sample_check(heap_snapshot_load_neighbours(snapshot, HEAP_COLUMN_SIZE, objects, 11));
	assert_memory_equal(snapshot->size, whole->size, OBJECTS * 8);
	before = snapshot->size;
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE));
	assert_ptr_equal(snapshot->size, before);
	heap_snapshot_close(snapshot);
}

static void check_qualities(struct heap_snapshot *snapshot, uint32_t step)
{
	static struct heap_edge_quality qualities[EDGES];
	size_t count = 0;

	for (uint32_t edge = step / 2; edge < EDGES; edge += 1 + random_below(step))
		qualities[count++] = (struct heap_edge_quality){ .edge = edge };
	sample_check(heap_snapshot_find_quality(snapshot, qualities, count));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(qualities[i].interior, whole->edge_interior[qualities[i].edge]);
		assert_int_equal(qualities[i].flags, whole->edge_flags[qualities[i].edge]);
	}
}

static void qualities_are_found_without_their_column(void **state)
{
	static const uint32_t steps[] = { 1, 10, 100000, 1000000 };
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	(void)state;
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_EDGES));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		check_qualities(snapshot, steps[i]);
		check_qualities(whole, steps[i]);
	}
	assert_null(snapshot->edge_interior);
	sample_check(heap_snapshot_find_quality(snapshot, NULL, 0));
	heap_snapshot_close(snapshot);
}

// A bit for each edge that is as demanded, whether columns are loaded or not.
static void edges_are_chosen_without_their_columns(void **state)
{
	static uint8_t expected[EDGES / 8 + 1];
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	(void)state;
	for (unsigned demands = 0; demands < 4; demands++) {
		uint8_t *bits, *others;

		memset(expected, 0, sizeof(expected));
		for (uint32_t i = 0; i < EDGES; i++) {
			bool typed = whole->edge_flags[i] & HEAP_EDGE_TYPED;
			bool start = whole->edge_interior[i] == 0 ||
				     (typed && whole->edge_interior[i] < 8);

			if ((start || !(demands & HEAP_EDGE_TO_START)) &&
			    (typed || !(demands & HEAP_EDGE_BY_TYPE)))
				heap_bit_set(expected, i);
		}
		sample_check(heap_edge_bits_create(snapshot, demands, &bits));
		sample_check(heap_edge_bits_create(whole, demands, &others));
		assert_memory_equal(bits, expected, sizeof(expected));
		assert_memory_equal(others, expected, sizeof(expected));
		heap_column_destroy(bits);
		heap_column_destroy(others);
	}
	assert_null(snapshot->edge_interior);
	heap_snapshot_close(snapshot);
}

// Slots are stored as differences, which count where pointers to members do.
static void members_are_found_without_slots(void **state)
{
	struct heap_snapshot *snapshot = sample_open(bytes, size);
	uint8_t *bits, *others, *starts;
	uint32_t members = 0;

	(void)state;
	sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_TYPE | HEAP_COLUMN_EDGES));
	sample_check(
		heap_edge_bits_create(snapshot, HEAP_EDGE_TO_START | HEAP_EDGE_TO_MEMBER, &bits));
	sample_check(
		heap_edge_bits_create(whole, HEAP_EDGE_TO_START | HEAP_EDGE_TO_MEMBER, &others));
	sample_check(heap_edge_bits_create(whole, HEAP_EDGE_TO_START, &starts));
	assert_memory_equal(bits, others, EDGES / 8);
	for (uint32_t i = 0; i < EDGES; i++)
		members += heap_bit_get(others, i) && !heap_bit_get(starts, i);
	assert_true(members > 0);
	assert_null(snapshot->edge_slot);
	heap_column_destroy(bits);
	heap_column_destroy(others);
	heap_column_destroy(starts);
	heap_snapshot_close(snapshot);
}

// Declarations of people are in the columns alone.
static void edges_are_chosen_as_they_are_declared(void **state)
{
	struct heap_snapshot *snapshot = sample_open(bytes, size);
	uint8_t *bits;

	(void)state;
	snapshot->declarations = calloc(1, sizeof(*snapshot->declarations));
	snapshot->declarations->are_applied = true;
	sample_check(heap_edge_bits_create(snapshot, HEAP_EDGE_BY_TYPE, &bits));
	heap_column_destroy(bits);
	assert_non_null(snapshot->edge_flags);
	for (uint32_t i = 0; i < EDGES; i++)
		snapshot->edge_flags[i] ^= HEAP_EDGE_TYPED;
	sample_check(heap_edge_bits_create(snapshot, HEAP_EDGE_BY_TYPE, &bits));
	for (uint32_t i = 0; i < EDGES; i++) {
		if (heap_bit_get(bits, i) != !(whole->edge_flags[i] & HEAP_EDGE_TYPED))
			fail_msg("edge %u", i);
	}
	heap_column_destroy(bits);
	heap_snapshot_close(snapshot);
}

// Sizes in order, whether they are loaded, in part or not at all.
static void sizes_are_read_without_their_column(void **state)
{
	static uint64_t sizes[OBJECTS];
	struct heap_snapshot *snapshot = sample_open(bytes, size);

	(void)state;
	sample_check(heap_snapshot_read_sizes(snapshot, sizes));
	assert_memory_equal(sizes, whole->size, sizeof(sizes));
	assert_null(snapshot->size);
	memset(sizes, 0, sizeof(sizes));
	sample_check(heap_snapshot_load_neighbours(snapshot, HEAP_COLUMN_SIZE,
						   &(heap_object_id){ 0 }, 1));
	sample_check(heap_snapshot_read_sizes(snapshot, sizes));
	assert_memory_equal(sizes, whole->size, sizeof(sizes));
	memset(sizes, 0, sizeof(sizes));
	sample_check(heap_snapshot_read_sizes(whole, sizes));
	assert_memory_equal(sizes, whole->size, sizeof(sizes));
	heap_snapshot_close(snapshot);
}

// Sums of sizes of some objects, or of none, whether they are loaded, in part or not at all.
static void sizes_are_summed_without_their_column(void **state)
{
	static uint8_t all[OBJECTS / 8 + 1], none[OBJECTS / 8 + 1], some[OBJECTS / 8 + 1];
	uint64_t sum_of_all = 0, sum_of_some = 0;

	(void)state;
	for (uint32_t i = 0; i < OBJECTS; i++) {
		heap_bit_set(all, i);
		sum_of_all += whole->size[i];
		if (i % 1000 == 0 && i / 100000 % 2) {
			heap_bit_set(some, i);
			sum_of_some += whole->size[i];
		}
	}
	for (int loaded = 0; loaded < 3; loaded++) {
		struct heap_snapshot *snapshot = sample_open(bytes, size);
		uint64_t sum;

		if (loaded == 1)
			sample_check(heap_snapshot_load_neighbours(snapshot, HEAP_COLUMN_SIZE,
								   &(heap_object_id){ 0 }, 1));
		if (loaded == 2)
			sample_check(heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE));
		sample_check(heap_snapshot_sum_sizes(snapshot, all, &sum));
		assert_int_equal(sum, sum_of_all);
		sample_check(heap_snapshot_sum_sizes(snapshot, some, &sum));
		assert_int_equal(sum, sum_of_some);
		sample_check(heap_snapshot_sum_sizes(snapshot, none, &sum));
		assert_int_equal(sum, 0);
		assert_int_equal(snapshot->size == NULL, loaded == 0);
		heap_snapshot_close(snapshot);
	}
}

static void check_address(struct heap_snapshot *snapshot, uint64_t address)
{
	heap_object_id object = 0;

	sample_check(heap_snapshot_locate(snapshot, address, &object));
	assert_int_equal(object, heap_snapshot_find(whole, address));
}

static void addresses_are_located(void **state)
{
	uint64_t end = whole->address[OBJECTS - 1] + whole->size[OBJECTS - 1];

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		struct heap_snapshot *snapshot = sample_open(bytes, size);

		check_address(snapshot, i * (end / 29));
		check_address(snapshot, whole->address[i == 29 ? OBJECTS - 1 : i * 24000]);
		check_address(snapshot, whole->address[random_below(OBJECTS)] - 1);
		heap_snapshot_close(snapshot);
	}

	struct heap_snapshot *snapshot = sample_open(bytes, size);

	check_address(snapshot, 0);
	check_address(snapshot, 0xfff);
	check_address(snapshot, end);
	check_address(snapshot, UINT64_MAX);
	check_address(snapshot, whole->address[65535]);
	check_address(snapshot, whole->address[65536] - 1);
	check_address(snapshot, whole->address[65536]);
	check_address(whole, whole->address[65536] + 1);
	heap_snapshot_close(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_loaded_right),
		cmocka_unit_test(many_blocks_are_loaded_as_a_whole),
		cmocka_unit_test(qualities_are_found_without_their_column),
		cmocka_unit_test(edges_are_chosen_without_their_columns),
		cmocka_unit_test(members_are_found_without_slots),
		cmocka_unit_test(edges_are_chosen_as_they_are_declared),
		cmocka_unit_test(sizes_are_read_without_their_column),
		cmocka_unit_test(sizes_are_summed_without_their_column),
		cmocka_unit_test(addresses_are_located),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("neighbours", tests, write_model, drop_model);
}
