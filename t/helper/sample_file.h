// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SAMPLE_FILE_H
#define SAMPLE_FILE_H

/** A fixture of unit tests: the sample snapshot, written afresh for each ON_SAMPLE(test). */

#include "t/helper/sample.h"

static struct heap_snapshot sample;
static uint8_t *bytes; // of the sample's file
static size_t size;

static int write_sample(void **state)
{
	(void)state;
	sample = sample_snapshot();
	bytes = sample_bytes(&sample, &size);
	return 0;
}

static int drop_sample(void **state)
{
	(void)state;
	free(bytes);
	return 0;
}

#define ON_SAMPLE(test) cmocka_unit_test_setup_teardown(test, write_sample, drop_sample)

/** Compares an array of the variables snapshot and sample. */
#define assert_rows(array, count) \
	do { \
		assert_int_equal(snapshot->count, sample.count); \
		assert_memory_equal(snapshot->array, sample.array, \
				    sample.count * sizeof(*sample.array)); \
	} while (0)

/** Compares every table that is loaded when a snapshot is opened. */
static inline void assert_tables(const struct heap_snapshot *snapshot)
{
	assert_rows(strings, string_size);
	assert_rows(types.strings, types.string_size);
	assert_rows(types.types, types.count);
	assert_rows(types.members, types.member_count);
	assert_rows(types.enumerators, types.enumerator_count);
	assert_rows(modules, module_count);
	assert_rows(sites, site_count);
	assert_rows(calls, call_count);
	assert_rows(steps, step_count);
	assert_rows(roots, root_count);
	assert_rows(root_edges, root_edge_count);
	assert_rows(threads, thread_count);
	assert_rows(frames, frame_count);
	assert_rows(mappings, mapping_count);
	assert_rows(damages, damage_count);
	assert_rows(slabs, slab_count);
	assert_rows(samples, sample_count);
	assert_rows(epochs, epoch_count);
	assert_rows(root_content, root_content_size);
}

#endif
