// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/filter.h"

#include <stdlib.h>
#include <string.h>

/*
 * Six objects in memory: a node, a node[3], 40 bytes of char, an untyped block, a pointer to
 * a node, and a node that points to itself, which alone is reachable.
 */
enum {
	NODE = 1,
	CHARACTER,
	POINTER
};

static char strings[] = "\0node_new\0app.c\0/opt/app";
static uint64_t address[] = { 0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500 };
static uint64_t size[] = { 16, 48, 40, 100, 8, 16 };
static heap_type_id type[] = { NODE, NODE, CHARACTER, HEAP_NO_TYPE, POINTER, NODE };
static uint64_t elements[] = { 1, 3, 40, 1, 1, 1 };
static uint8_t evidence[] = { HEAP_EVIDENCE_POINTER, HEAP_EVIDENCE_VOTE, HEAP_EVIDENCE_POINTER,
			      HEAP_EVIDENCE_NONE,    HEAP_EVIDENCE_SITE, HEAP_EVIDENCE_VOTE };
static heap_site_id site[] = { 0, 0, 1, 1, 0, 0 };
static uint32_t birth[] = { 0, 0, 0, 1, 1, 1 };
static uint32_t edge_first[] = { 0, 0, 0, 0, 0, 1, 2 };
static heap_object_id edge_target[] = { 0, 5 };
static uint32_t edge_slot[] = { 0, 0 }, edge_interior[] = { 0, 0 };
static uint8_t edge_flags[] = { HEAP_EDGE_TYPED, HEAP_EDGE_TYPED };
static struct heap_module modules[] = { { .path = 16 } };
static struct heap_site sites[] = { { .address = 1, .function = 1, .file = 10, .line = 7 },
				    { .address = 2, .module = HEAP_NO_INDEX } };
static struct heap_root roots[] = { { .module = HEAP_NO_INDEX } };
static struct heap_root_edge root_edges[] = { { .target = 5 } };
static uint64_t epochs[] = { 0, 60 * UINT64_C(1000000000) };

static struct heap_call calls[] = { { .module = HEAP_NO_INDEX },
				    { .function = 1 },
				    { .file = 10 } };
static struct heap_step steps[] = { { 0, 0 }, { 0, 1 }, { 1, 2 }, { 0, 2 } };
static uint32_t backtrace[] = { 0, 4, 5, 6, 2, 0 };
static heap_type_id rival[] = { 0, CHARACTER, 0, 0, 0, 0 };
static uint32_t rivals[] = { 0, 2, 0, 0, 1, 0 };
static struct heap_part parts[] = { { 3, 8, NODE, 1, HEAP_EVIDENCE_POINTER },
				    { 3, 24, NODE, 3, HEAP_EVIDENCE_EMBEDDING },
				    { 3, 92, POINTER, 1, HEAP_EVIDENCE_POINTER } };

static struct heap_snapshot snapshot = {
	.info = { .time_ns = 100 * UINT64_C(1000000000) },
	.strings = strings,
	.string_size = sizeof(strings),
	.modules = modules,
	.module_count = 1,
	.sites = sites,
	.site_count = 2,
	.roots = roots,
	.root_count = 1,
	.root_edges = root_edges,
	.root_edge_count = 1,
	.epochs = epochs,
	.epoch_count = 2,
	.object_count = 6,
	.edge_count = 2,
	.address = address,
	.size = size,
	.type = type,
	.elements = elements,
	.evidence = evidence,
	.site = site,
	.birth = birth,
	.edge_first = edge_first,
	.edge_target = edge_target,
	.edge_slot = edge_slot,
	.edge_interior = edge_interior,
	.edge_flags = edge_flags,
	.calls = calls,
	.call_count = 3,
	.steps = steps,
	.step_count = 4,
	.backtrace = backtrace,
	.rival = rival,
	.rivals = rivals,
	.parts = parts,
	.part_count = 3,
};

static void add(uint8_t kind, uint64_t bytes, heap_type_id target, const char *name)
{
	struct heap_type added = { .kind = kind, .size = bytes, .target = target };
	heap_type_id id;

	assert_null(heap_types_add_string(&snapshot.types, name, &added.name));
	assert_null(heap_types_add(&snapshot.types, &added, &id));
}

static int setup(void **state)
{
	(void)state;
	assert_null(heap_types_init(&snapshot.types));
	add(HEAP_TYPE_STRUCT, 16, 0, "node");
	add(HEAP_TYPE_BASE, 1, 0, "char");
	add(HEAP_TYPE_POINTER, 8, NODE, "");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	heap_types_deinit(&snapshot.types);
	return 0;
}

static struct heap_error *resolve(void *context, const char *word, heap_object_id *result)
{
	(void)context;
	*result = (heap_object_id)atoi(word);
	return NULL;
}

// Splits at blanks; a ~ stands for a blank inside a word.
static int split(char *text, char **words)
{
	int count = 0;

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
		for (char *at = word; *at; at++)
			*at = *at == '~' ? ' ' : *at;
		words[count++] = word;
	}
	return count;
}

static struct heap_error *parse(const char *text, struct heap_filter **filter)
{
	char copy[200], *words[50];

	strcpy(copy, text);
	return heap_filter_parse(&snapshot, split(copy, words), words, resolve, NULL, filter);
}

// Which objects match, as a bit each; the same by heap_filter_next().
static unsigned matches(const char *text)
{
	struct heap_filter *filter;
	struct heap_graph *graph;
	unsigned one_by_one = 0, in_turn = 0;

	assert_null(parse(text, &filter));
	assert_null(heap_graph_create(&snapshot, &graph));
	assert_null(heap_filter_prepare(filter, graph, NULL));
	for (heap_object_id i = 0; i < 6; i++)
		one_by_one |= (unsigned)heap_filter_matches(filter, i) << i;
	for (heap_object_id i = heap_filter_next(filter, 0, 6); i < 6;
	     i = heap_filter_next(filter, i + 1, 6))
		in_turn |= 1u << i;
	assert_null(heap_filter_finish(filter));
	heap_filter_destroy(filter);
	heap_graph_destroy(graph);
	assert_int_equal(one_by_one, in_turn);
	return one_by_one;
}

static void matches_types(void **state)
{
	(void)state;
	assert_int_equal(matches(""), 0x3f);
	assert_int_equal(matches("type struct~node"), 0x23);
	assert_int_equal(matches("type struct node"), 0x23);
	assert_int_equal(matches("type node"), 0x23);
	assert_int_equal(matches("type n*"), 0x33); // a pointer's name begins alike
	assert_int_equal(matches("type struct~node[3]"), 0x02);
	assert_int_equal(matches("type struct node [3]"), 0x02);
	assert_int_equal(matches("type char[]"), 0x04);
	assert_int_equal(matches("type struct node *"), 0x10);
	assert_int_equal(matches("type nothing"), 0);
	assert_int_equal(matches("untyped"), 0x08);
	assert_int_equal(matches("evidence vote"), 0x22);
	assert_int_equal(matches("evidence pool"), 0);
	assert_int_equal(matches("conflict"), 0x12);
	assert_int_equal(matches("conflict type node"), 0x02);
	assert_int_equal(matches("under-typed"), 0);
	size[5] = 31;
	assert_int_equal(matches("under-typed"), 0);
	size[5] = 32;
	assert_int_equal(matches("under-typed"), 0x20);
	size[5] = 16;
}

// Which parts match, as a bit each.
static unsigned part_matches(const char *text)
{
	struct heap_filter *filter;
	unsigned result = 0;

	assert_null(parse(text, &filter));
	assert_null(heap_filter_prepare(filter, NULL, NULL));
	for (unsigned i = 0; i < 3; i++)
		result |= (unsigned)heap_filter_matches_part(filter, &parts[i]) << i;
	heap_filter_destroy(filter);
	return result;
}

static void matches_parts(void **state)
{
	(void)state;
	assert_int_equal(heap_snapshot_part_size(&snapshot, &parts[1]), 48);
	assert_int_equal(part_matches(""), 7);
	assert_int_equal(part_matches("type node"), 3);
	assert_int_equal(part_matches("type struct~node[3]"), 2);
	assert_int_equal(part_matches("evidence embedding"), 2);
	assert_int_equal(part_matches("size 16"), 1);
	assert_int_equal(part_matches("size 48"), 2);
	assert_int_equal(part_matches("size 8"), 4);
	assert_int_equal(part_matches("untyped"), 0);
	assert_int_equal(part_matches("conflict"), 0);
	assert_int_equal(part_matches("age <= 40s"), 7);
	assert_int_equal(part_matches("points-to 0"), 0);
}

static void matches_sizes_and_ages(void **state)
{
	(void)state;
	assert_int_equal(matches("size 16"), 0x21);
	assert_int_equal(matches("size =16"), 0x21);
	assert_int_equal(matches("size < 16"), 0x10);
	assert_int_equal(matches("size<=16"), 0x31);
	assert_int_equal(matches("size >=40"), 0x0e);
	assert_int_equal(matches("size >0.05K"), 0x08);
	assert_int_equal(matches("age >50s"), 0x07);
	assert_int_equal(matches("age <= 40s"), 0x38);
	assert_int_equal(matches("age>1m"), 0x07);
}

static void matches_places(void **state)
{
	(void)state;
	assert_int_equal(matches("site node_new"), 0x33);
	assert_int_equal(matches("site app.c"), 0x33);
	assert_int_equal(matches("site app.c:7"), 0x33);
	assert_int_equal(matches("site app.c:8"), 0);
	assert_int_equal(matches("frame node_new"), 0x37); // by a step, or by the site
	assert_int_equal(matches("frame app.c"), 0x3f);
	assert_int_equal(matches("frame app.c:7"), 0x33);
	assert_int_equal(matches("frame nobody"), 0);
	assert_int_equal(matches("not frame node_new"), 0x08);
	assert_int_equal(matches("module app"), 0x33);
	assert_int_equal(matches("module /opt/*"), 0x33);
	assert_int_equal(matches("points-to 0"), 0x10);
	assert_int_equal(matches("pointed-by 5"), 0x20);
	assert_int_equal(matches("reachable"), 0x20);
	assert_int_equal(matches("leaked"), 0x1f);
}

static void combines(void **state)
{
	(void)state;
	assert_int_equal(matches("type node size 16"), 0x21);
	assert_int_equal(matches("not type node"), 0x1c);
	assert_int_equal(matches("not not untyped"), 0x08);
	assert_int_equal(matches("untyped or type char or size 8"), 0x1c);
	assert_int_equal(matches("type node not size 16 or untyped"), 0x0a);
}

static void refuses(void **state)
{
	static const char *const wrong[][2] = {
		{ "frob", "frob: no such filter" },
		{ "sizes 3", "sizes: no such filter" },
		{ "untyped3", "untyped3: no such filter" },
		{ "type", "filter type: what follows it is missing" },
		{ "size", "filter size: what follows it is missing" },
		{ "size >", "size >: not a size" },
		{ "size 3X", "size 3X: not a size" },
		{ "size -1", "size -1: not a size" },
		{ "age 5y", "age 5y: not a duration" },
		{ "evidence none2", "evidence none2: not one of" },
		{ "not", "not: a filter must follow it" },
		{ "or untyped", "or: it stands between two filters" },
		{ "untyped or", "or: a filter must follow it" },
		{ "untyped or or leaked", "or: it stands between two filters" },
	};
	struct heap_filter *filter = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_error(parse(wrong[i][0], &filter), HEAP_ERROR_ARGUMENT, wrong[i][1]);
	assert_null(filter);
}

static void parses_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} right[] = { { "0", 0 },          { "64", 64 },
		      { "64B", 64 },       { "1K", 1024 },
		      { "1k", 1024 },      { "1KiB", 1024 },
		      { "2.5M", 5 << 19 }, { "3G", UINT64_C(3) << 30 } };
	static const char *const wrong[] = {
		"", "K", "-1", "1T", "1K2", "nan", "inf", "1e30", "one"
	};
	uint64_t bytes = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_true(heap_parse_size(right[i].text, &bytes));
		assert_int_equal(bytes, right[i].bytes);
	}
	bytes = 7;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(heap_parse_size(wrong[i], &bytes));
	assert_int_equal(bytes, 7);
}

#define WITH_TYPES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

UNIT_TESTS("filter", WITH_TYPES(matches_types), WITH_TYPES(matches_parts),
	   WITH_TYPES(matches_sizes_and_ages), WITH_TYPES(matches_places), WITH_TYPES(combines),
	   WITH_TYPES(refuses), cmocka_unit_test(parses_sizes))
