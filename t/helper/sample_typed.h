// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The heap of the tests on types and sites, a part of sample_snapshot.c:
 *
 *	list ──▶ node ──▶ node ──▶ node      made by node_new, through add and xmalloc
 *	table ──▶ slot[4]                    slots by grow; the table has conflicts
 *	pool of 4 parts                      two nodes, a node[2], a date
 *	header of 64 bytes                   under-typed: node is all that is known of it
 *	block(48) ──▶ block(24) ──▶ block(16), node of a wrong type
 */

enum {
	TYPED_XMALLOC = 1,
	TYPED_NODE_NEW,
	TYPED_ADD,
	TYPED_MAIN,
	TYPED_SERVE,
	TYPED_CACHE_INSERT,
	TYPED_GROW,
	TYPED_MAIN_SERVES,
};

static void make_calls(void)
{
	const uint32_t app = string("app.c");

	build_row(&snapshot, calls, call_count, (struct heap_call){ .module = HEAP_NO_INDEX });
	build_row(
		&snapshot, calls, call_count,
		(struct heap_call){ 0x401010, 0, string("xmalloc"), 0x10, string("util.c"), 5, 0 });
	build_row(&snapshot, calls, call_count,
		  (struct heap_call){ 0x401020, 0, string("node_new"), 0x20, app, 12,
				      HEAP_FRAME_INLINED });
	build_row(&snapshot, calls, call_count,
		  (struct heap_call){ 0x401020, 0, string("add"), 0x60, app, 20, 0 });
	build_row(&snapshot, calls, call_count,
		  (struct heap_call){ 0x401300, 0, string("main"), 0x80, app, 44, 0 });
	build_row(&snapshot, calls, call_count,
		  (struct heap_call){ 0x401200, 0, string("serve"), 0x40, app, 30, 0 });
	build_row(&snapshot, calls, call_count,
		  (struct heap_call){ LIBRARY + 0x1044, 1, string("cache_insert"), 0x44,
				      string("cache.c"), 88, 0 });
	build_row(&snapshot, calls, call_count,
		  (struct heap_call){ LIBRARY + 0x2010, 1, string("grow"), 0x10, 0, 0, 0 });
	build_row(&snapshot, calls, call_count,
		  (struct heap_call){ 0x401340, 0, string("main"), 0xc0, app, 46, 0 });
}

enum {
	STEP_XMALLOC = 4,
	STEP_CACHE_INSERT = 7,
	STEP_GROW = 8,
};

static void make_steps(void)
{
	static const struct heap_step steps[] = {
		{ 0, 0 },
		{ 0, TYPED_MAIN },
		{ 1, TYPED_ADD },
		{ 2, TYPED_NODE_NEW },
		{ 3, TYPED_XMALLOC },
		{ 0, TYPED_MAIN_SERVES },
		{ 5, TYPED_SERVE },
		{ 6, TYPED_CACHE_INSERT },
		{ 7, TYPED_GROW },
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		build_row(&snapshot, steps, step_count, steps[i]);
}

static void came_by(heap_object_id id, uint32_t step, bool is_own)
{
	snapshot.backtrace[id] = step * 2 + is_own;
}

static void part(heap_object_id id, uint64_t offset, heap_type_id type, uint64_t elements)
{
	build_row(&snapshot, parts, part_count,
		  (struct heap_part){ id, offset, type, elements, HEAP_EVIDENCE_POINTER });
}

static void make_typed_list(void)
{
	for (uint32_t i = 0; i < 3; i++) {
		heap_object_id node = object(HEAP + 0x100 + i * 0x20, 16, types.node, 1,
					     i ? HEAP_EVIDENCE_VOTE : HEAP_EVIDENCE_POINTER, 0);

		put(node, 0, i < 2 ? HEAP + 0x120 + i * 0x20 : 0, 8);
		put(node, 8, i, 4);
		came_by(node, STEP_XMALLOC, i == 0);
	}
}

static void make_typed_table(void)
{
	heap_object_id cache = object(HEAP + 0x200, 24, types.table, 1, HEAP_EVIDENCE_POINTER, 1);

	put(cache, 0, HEAP + 0x300, 8);
	put(cache, 8, 4, 8);
	came_by(cache, STEP_CACHE_INSERT, true);
	snapshot.conflict_type[cache] = types.node;
	snapshot.conflicts[cache] = 3;

	heap_object_id slots = object(HEAP + 0x300, 64, types.slot, 4, HEAP_EVIDENCE_POINTER, 3);

	came_by(slots, STEP_GROW, false);
}

static void make_typed_pool(void)
{
	heap_object_id pool = object(HEAP + 0x1000, 256, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_POOL, 2);

	part(pool, 16, types.node, 1);
	part(pool, 32, types.node, 1);
	part(pool, 64, types.node, 2);
	part(pool, 128, types.date, 1);
	put(pool, 16, HEAP + 0x1020, 8);
	put(pool, 24, 7, 4);
	put(pool, 72, 8, 4);
	put(pool, 80, HEAP + 0x100, 8);
	put(pool, 128, 2026, 4);
	put(pool, 132, 11, 4);
	put(pool, 136, 21, 4);
}

static void make_typed_rest(void)
{
	heap_object_id header =
		object(HEAP + 0x2000, 64, types.node, 1, HEAP_EVIDENCE_EMBEDDING, 1);
	heap_object_id first = object(HEAP + 0x3000, 48, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 4);
	heap_object_id second = object(HEAP + 0x3100, 24, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 4);
	heap_object_id third = object(HEAP + 0x3200, 16, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 4);
	heap_object_id last = object(HEAP + 0x3300, 24, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 4);

	came_by(header, STEP_CACHE_INSERT, false);
	put(first, 0, HEAP + 0x3100, 8);
	put(first, 8, HEAP + 0x100, 8);
	put(second, 0, HEAP + 0x3200, 8);
	put(second, 8, 1, 8);
	put(third, 8, 5, 4);
	put(last, 16, 1, 8);
}

static void make_typed(void)
{
	static const uint64_t block = HEAP + 0x3000;

	make_calls();
	make_steps();
	build_columns(&snapshot,
		      HEAP_COLUMN_BACKTRACE | HEAP_COLUMN_CONFLICT_TYPE | HEAP_COLUMN_CONFLICTS,
		      MAX, 0);
	make_typed_list();
	make_typed_table();
	make_typed_pool();
	make_typed_rest();
	global("list", types.node_pointer, DATA + 0x10, 0, "app.c", 5, HEAP + 0x100);
	global("popular", types.table_pointer, LIBRARY + 0x4010, 1, "cache.c", 50, HEAP + 0x200);
	global("pool", types.any, DATA + 0x18, 0, "app.c", 6, HEAP + 0x1000);
	global("header", types.node_pointer, DATA + 0x20, 0, "app.c", 7, HEAP + 0x2000);
	variable(HEAP_ROOT_SEGMENT, ".data", HEAP_NO_TYPE, DATA + 0x80, 0, "", 0, HEAP_NO_INDEX,
		 HEAP_NO_INDEX, &block, 1);
}
