// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Writes a snapshot that is known to the last byte, without a program or a capture, for the
 * tests of the shell, which say what is in it.
 *
 *	sample_snapshot FILE             the heap that the functions below build
 *	sample_snapshot FILE series N    the Nth of a series, for heapsh-leakreport; taken as many
 *	                                 seconds late as a number behind it says
 *	sample_snapshot FILE attached N  the same as heapsnap attach takes it
 *	sample_snapshot FILE flat N      the Nth of one in which nothing grows
 *	sample_snapshot FILE doubling N  the Nth of one in which a vector doubles, but not in the end
 *	sample_snapshot FILE other       a later one of another process
 *	sample_snapshot FILE fleet HOST BUILD N    the Nth of a server on one of many machines
 *	sample_snapshot FILE wild SEED   the first, with numbers in it that make no sense
 *	sample_snapshot FILE typed       backtraces, pools, conflicts: see sample_typed.h
 *	sample_snapshot FILE huge        a table of 5 GiB
 *	sample_snapshot FILE empty       nothing at all
 *	sample_snapshot FILE hostile N [KIND...]   any of these, in which all names and texts mean
 *	                                 harm (1), are wide (2), or are as long but harmless (0, 3)
 */
#include "t/helper/snapshot_builder.h"

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

enum {
	MAX = 256,           // objects
	MAX_CONTENT = 8192,  // of an object
	CONTENT_LIMIT = 256, // of what is stored
	HEAP = 0x5f00000,
	DATA = 0x404000,
	LIBRARY = 0x7f0000000000,
};

#define COLUMNS \
	(HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE | HEAP_COLUMN_ELEMENTS | \
	 HEAP_COLUMN_EVIDENCE | HEAP_COLUMN_SITE | HEAP_COLUMN_BIRTH | HEAP_COLUMN_EDGES | \
	 HEAP_COLUMN_SLOTS | HEAP_COLUMN_QUALITY)

#define SECOND UINT64_C(1000000000)
#define TAKEN (UINT64_C(1795201201) * SECOND) // 2026-11-20 19:00:01 UTC

static struct heap_snapshot snapshot;
static uint8_t contents[MAX][MAX_CONTENT];

// --- names that mean harm -----------------------------------------------------

// The end of all names.
static const char *suffix = "";

static const char *const suffixes[] = {
	NULL,
	// Terminals: a title, a cleared screen, C1 as bytes and as UTF-8, line ends; markup, quotes
	// and separators; turned, invisible and malformed characters; half a character.
	"\x1b]0;owned\a\x1b[2J\x9b"
	"31m\xc2\x9b"
	"1m\xc2\x85\n\r\t\v\b\x7f\"'<img src=x onerror=alert(1)>"
	"</"
	"script>]]>&amp;,;|\\%s%n{}[]()="
	"\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8b\xef\xbb\xbf\xe2\x80\xa8"
	"\xf3\xa0\x80\x81\xef\xbf\xbe\xc0\xaf\xe0\x80\x9b\xed\xa0\x80\xf4\x90\x80\x80\xff\xe2\x82",
	"\xe5\xa4\xa7\xf0\x9f\xa6\x80"
	"e\xcc\x81\xc3\xbc"
	"\xe5\xa4\xa7\xf0\x9f\xa6\x80"
	"e\xcc\x81\xc3\xbc"
	"\xe5\xa4\xa7\xf0\x9f\xa6\x80"
	"e\xcc\x81\xc3\xbc"
	"\xe5\xa4\xa7\xf0\x9f\xa6\x80"
	"e\xcc\x81\xc3\xbc",
	NULL,
};

// 0 and 3 are 1 and 2, made harmless.
static void choose_suffix(unsigned number)
{
	static char harmless[512];
	const char *from = suffixes[number % 3 ? number : number / 3 + 1];

	suffix = from;
	if (number % 3)
		return;
	for (size_t i = 0; from[i]; i++)
		harmless[i] = from[i] == '/' || from[i] == ' ' ? from[i] : 'x';
	suffix = harmless;
}

// A text with what all names end with. Kept to the end.
static const char *hostile(const char *text)
{
	static char *names[4096];
	static size_t count;
	char *name = NULL;

	if (!*suffix || !*text)
		return text;
	// A formula too, for spreadsheets.
	if (asprintf(&name, "%s%s%s", strchr(suffix, '\x1b') ? "=" : "x", text, suffix) < 0)
		sample_check(heap_error_out_of_memory());
	names[count++ % (sizeof(names) / sizeof(names[0]))] = name;
	return name;
}

static uint32_t string(const char *text)
{
	return build_string(&snapshot, hostile(text));
}

// --- types -------------------------------------------------------------------

static heap_type_id add_type(struct heap_type type, const char *name)
{
	return build_type(&snapshot, type, hostile(name));
}

static heap_type_id base(const char *name, uint64_t size, uint8_t flags)
{
	return add_type((struct heap_type){ .kind = HEAP_TYPE_BASE, .size = size, .flags = flags },
			name);
}

static heap_type_id pointer(heap_type_id target)
{
	return build_pointer(&snapshot, target);
}

// A struct whose members follow, and which may be pointed to before.
static heap_type_id compound(enum heap_type_kind kind, const char *name, uint64_t size)
{
	return add_type((struct heap_type){ .kind = kind,
					    .size = size,
					    .file = build_type_string(&snapshot, hostile("app.h")),
					    .line = snapshot.types.count },
			name);
}

static void add_member(heap_type_id owner, struct heap_member member, const char *name)
{
	build_member(&snapshot, owner, member, hostile(name));
}

static void member(heap_type_id owner, const char *name, heap_type_id type, uint64_t offset)
{
	add_member(owner, (struct heap_member){ .type = type, .offset = offset }, name);
}

static void bit_field(heap_type_id owner, const char *name, heap_type_id type, uint64_t offset,
		      uint8_t from, uint8_t bits)
{
	add_member(owner,
		   (struct heap_member){ .type = type,
					 .offset = offset,
					 .flags = HEAP_MEMBER_BIT_FIELD,
					 .bit_offset = from,
					 .bit_size = bits },
		   name);
}

static void enumerator(heap_type_id owner, const char *name, int64_t value)
{
	build_enumerator(&snapshot, owner, hostile(name), value);
}

static struct {
	heap_type_id character, byte, boolean, integer, number, size, real, single;
	heap_type_id colour, mode, node, pair, either, date, utility, slot, table, shape, circle;
	heap_type_id message, point, all;
	heap_type_id text, node_pointer, table_pointer, all_pointer, function, any;
} types;

static void make_base_types(void)
{
	types.character = base("char", 1, HEAP_TYPE_SIGNED | HEAP_TYPE_CHARACTER);
	types.byte = base("unsigned char", 1, HEAP_TYPE_CHARACTER);
	types.boolean = base("_Bool", 1, HEAP_TYPE_BOOLEAN);
	types.integer = base("int", 4, HEAP_TYPE_SIGNED);
	types.number = base("unsigned int", 4, 0);
	types.size = base("unsigned long", 8, 0);
	types.single = base("float", 4, HEAP_TYPE_FLOAT);
	types.real = base("double", 8, HEAP_TYPE_FLOAT);
	types.colour = add_type((struct heap_type){ .kind = HEAP_TYPE_ENUM, .size = 4 }, "colour");
	enumerator(types.colour, "RED", 0);
	enumerator(types.colour, "GREEN", 1);
	enumerator(types.colour, "BLUE", 7);
	types.mode = add_type((struct heap_type){ .kind = HEAP_TYPE_ENUM, .size = 4 }, "mode");
	enumerator(types.mode, "MODE_READ", 1);
	enumerator(types.mode, "MODE_WRITE", 2);
	enumerator(types.mode, "MODE_EXECUTE", 4);
	types.text = pointer(types.character);
	types.any = pointer(HEAP_NO_TYPE);
	types.function = pointer(add_type(
		(struct heap_type){ .kind = HEAP_TYPE_FUNCTION, .target = types.integer }, ""));
}

static void make_structs(void)
{
	types.node = compound(HEAP_TYPE_STRUCT, "node", 16);
	types.node_pointer = pointer(types.node);
	member(types.node, "next", types.node_pointer, 0);
	member(types.node, "value", types.integer, 8);

	types.date = compound(HEAP_TYPE_STRUCT, "date", 12);
	member(types.date, "year", types.integer, 0);
	member(types.date, "month", types.integer, 4);
	member(types.date, "day", types.integer, 8);

	types.utility = compound(HEAP_TYPE_STRUCT, "utility", 24);
	heap_type_id date_pointer = pointer(types.date);
	member(types.utility, "name", types.text, 0);
	member(types.utility, "day", date_pointer, 8);
	member(types.utility, "month", date_pointer, 16);

	types.slot = compound(HEAP_TYPE_STRUCT, "slot", 16);
	heap_type_id slot_pointer = pointer(types.slot);
	heap_type_id utility_pointer = pointer(types.utility);
	member(types.slot, "hash", types.size, 0);
	member(types.slot, "value", utility_pointer, 8);

	types.table = compound(HEAP_TYPE_STRUCT, "table", 24);
	types.table_pointer = pointer(types.table);
	member(types.table, "slots", slot_pointer, 0);
	member(types.table, "count", types.size, 8);
	member(types.table, "name", types.text, 16);
}

static void make_classes(void)
{
	types.shape = compound(HEAP_TYPE_CLASS, "Shape", 16);
	snapshot.types.types[types.shape].flags |= HEAP_TYPE_POLYMORPHIC;
	add_member(types.shape,
		   (struct heap_member){ .type = types.any, .flags = HEAP_MEMBER_VTABLE },
		   "_vptr.Shape");
	member(types.shape, "id", types.integer, 8);

	types.circle = compound(HEAP_TYPE_CLASS, "Circle", 24);
	snapshot.types.types[types.circle].flags |= HEAP_TYPE_POLYMORPHIC;
	add_member(types.circle,
		   (struct heap_member){ .type = types.shape, .flags = HEAP_MEMBER_BASE }, "Shape");
	member(types.circle, "radius", types.real, 16);

	types.point = compound(HEAP_TYPE_STRUCT, "point", 8);
	member(types.point, "x", types.single, 0);
	member(types.point, "y", types.single, 4);

	types.message = compound(HEAP_TYPE_STRUCT, "message", 16);
	heap_type_id path = build_array(&snapshot, types.point, 0);
	member(types.message, "author", types.text, 0);
	member(types.message, "length", types.number, 8);
	member(types.message, "path", path, 16);
}

// One of each kind of member.
static void make_all(void)
{
	heap_type_id unnamed = compound(HEAP_TYPE_STRUCT, "", 8);
	member(unnamed, "width", types.integer, 0);
	member(unnamed, "height", types.integer, 4);

	types.either = compound(HEAP_TYPE_UNION, "either", 8);
	member(types.either, "node", types.node_pointer, 0);
	member(types.either, "number", types.size, 0);

	heap_type_id label = build_array(&snapshot, types.character, 12);
	heap_type_id scores = build_array(&snapshot, types.integer, 3);
	heap_type_id points = build_array(&snapshot, types.point, 2);
	heap_type_id alias = add_type(
		(struct heap_type){ .kind = HEAP_TYPE_TYPEDEF, .target = types.size }, "size_t");

	types.all = compound(HEAP_TYPE_STRUCT, "all", 152);
	member(types.all, "next", types.node_pointer, 0);
	member(types.all, "middle", types.text, 8);
	member(types.all, "nothing", types.any, 16);
	member(types.all, "call", types.function, 24);
	member(types.all, "wild", types.any, 32);
	member(types.all, "count", alias, 40);
	member(types.all, "colour", types.colour, 48);
	member(types.all, "mode", types.mode, 52);
	member(types.all, "odd", types.colour, 56);
	member(types.all, "ratio", types.single, 60);
	member(types.all, "balance", types.real, 64);
	member(types.all, "yes", types.boolean, 72);
	member(types.all, "letter", types.character, 73);
	bit_field(types.all, "red", types.number, 76, 0, 1);
	bit_field(types.all, "depth", types.integer, 76, 1, 5);
	member(types.all, "label", label, 80);
	member(types.all, "scores", scores, 92);
	member(types.all, "size", unnamed, 104);
	member(types.all, "either", types.either, 112);
	member(types.all, "points", points, 120);
	member(types.all, "", unnamed, 136);
	types.all_pointer = pointer(types.all);
}

// --- objects -----------------------------------------------------------------

// Adds an object; by ascending address. @return its number
static heap_object_id object(uint64_t address, uint64_t size, heap_type_id type, uint64_t elements,
			     enum heap_evidence evidence, heap_site_id site)
{
	heap_object_id id = build_object(&snapshot, address, size, type, elements, evidence, site);

	snapshot.birth[id] = id < 6 ? 0 : 1;
	return id;
}

static void put(heap_object_id id, uint64_t offset, uint64_t value, size_t size)
{
	memcpy(contents[id] + offset, &value, size);
}

static void put_bytes(heap_object_id id, uint64_t offset, const void *bytes, size_t size)
{
	memcpy(contents[id] + offset, bytes, size);
}

static void put_double(heap_object_id id, uint64_t offset, double value)
{
	put_bytes(id, offset, &value, sizeof(value));
}

static void put_float(heap_object_id id, uint64_t offset, float value)
{
	put_bytes(id, offset, &value, sizeof(value));
}

static heap_object_id text(uint64_t address, const char *bytes, size_t size, heap_type_id type)
{
	heap_object_id id = object(address, size, type, size, HEAP_EVIDENCE_POINTER, 2);

	put_bytes(id, 0, bytes, size);
	if (*suffix)
		put_bytes(id, 1, suffix, strlen(suffix) < size - 2 ? strlen(suffix) : size - 2);
	return id;
}

struct slot_search {
	uint64_t offset;
	bool found;
};

static bool is_slot(void *context, uint64_t offset, heap_type_id type)
{
	struct slot_search *search = context;

	(void)type;
	search->found = search->found || offset == search->offset;
	return !search->found;
}

// Every word that points into an object is an edge.
static void make_edges(void)
{
	for (heap_object_id i = 0; i < snapshot.object_count; i++) {
		uint64_t stride = heap_types_size(&snapshot.types, snapshot.type[i]);

		for (uint32_t slot = 0; slot < snapshot.size[i] / 8 && slot < MAX_CONTENT / 8;
		     slot++) {
			uint64_t word;
			struct slot_search search = { stride ? slot * 8 % stride : 0, false };

			memcpy(&word, contents[i] + slot * 8, 8);

			heap_object_id target = heap_snapshot_find(&snapshot, word);

			if (target == HEAP_NO_OBJECT)
				continue;
			heap_types_visit_pointers(&snapshot.types, snapshot.type[i], is_slot,
						  &search);
			build_edge(&snapshot,
				   (struct built_edge){
					   .source = i,
					   .target = target,
					   .interior = (uint32_t)(word - snapshot.address[target]),
					   .flags = search.found ? HEAP_EDGE_TYPED : 0,
				   },
				   slot);
		}
	}
	build_end_edges(&snapshot);
}

// --- roots -------------------------------------------------------------------

// Adds a root with its value, and its edges. @param words  [count]
static void root(struct heap_root added, const char *name, const uint64_t *words, size_t count)
{
	heap_root_id id = build_root(&snapshot, added, hostile(name));

	build_root_content(&snapshot, words, count * 8);
	for (size_t i = 0; i < snapshot.roots[id].content_size / 8; i++) {
		heap_object_id target = heap_snapshot_find(&snapshot, words[i]);

		if (target == HEAP_NO_OBJECT)
			continue;
		build_row(&snapshot, root_edges, root_edge_count,
			  (struct heap_root_edge){
				  .root = id,
				  .target = target,
				  .offset = i * 8,
				  .interior = (uint32_t)(words[i] - snapshot.address[target]),
				  .flags = added.type ? HEAP_EDGE_TYPED : 0,
			  });
	}
}

static void variable(enum heap_root_kind kind, const char *name, heap_type_id type,
		     uint64_t address, uint32_t module, const char *file, uint32_t line,
		     uint32_t thread, uint32_t frame, const uint64_t *words, size_t count)
{
	root((struct heap_root){ .kind = kind,
				 .type = type,
				 .address = address,
				 .size = type ? heap_types_size(&snapshot.types, type) : count * 8,
				 .module = module,
				 .file = string(file),
				 .line = line,
				 .thread = thread,
				 .frame = frame },
	     name, words, count);
}

static void global(const char *name, heap_type_id type, uint64_t address, uint32_t module,
		   const char *file, uint32_t line, uint64_t value)
{
	variable(HEAP_ROOT_GLOBAL, name, type, address, module, file, line, HEAP_NO_INDEX,
		 HEAP_NO_INDEX, &value, 1);
}

// --- tables ------------------------------------------------------------------

static void make_places(void)
{
	build_row(&snapshot, modules, module_count,
		  (struct heap_module){ .path = string("/opt/demo/app"),
					.build_id = string("0123456789abcdef"),
					.debug = string("/opt/demo/app"),
					.start = 0x400000,
					.end = 0x406000 });
	build_row(&snapshot, modules, module_count,
		  (struct heap_module){ .path = string("/opt/demo/libutility.so"),
					.build_id = string("fedcba9876543210"),
					.note = string("no debug information"),
					.start = LIBRARY,
					.end = LIBRARY + 0x5000,
					.bias = LIBRARY });
	build_row(&snapshot, sites, site_count,
		  (struct heap_site){ 0x401020, 0, string("node_new"), 0x20, string("app.c"), 12,
				      0 });
	build_row(&snapshot, sites, site_count,
		  (struct heap_site){ LIBRARY + 0x1044, 1, string("cache_insert"), 0x44,
				      string("cache.c"), 88, 0 });
	build_row(&snapshot, sites, site_count,
		  (struct heap_site){ 0x401130, 0, string("copy_text"), 0x30, string("text.c"), 7,
				      0 });
	build_row(&snapshot, sites, site_count,
		  (struct heap_site){ LIBRARY + 0x2010, 1, string("grow"), 0x10, 0, 0, 0 });
	build_row(&snapshot, sites, site_count,
		  (struct heap_site){ 0x12345678, HEAP_NO_INDEX, 0, 0, 0, 0, 0 });
	build_row(&snapshot, mappings, mapping_count,
		  (struct heap_mapping){ 0x400000, 0x404000, 5, string("/opt/demo/app") });
	build_row(&snapshot, mappings, mapping_count,
		  (struct heap_mapping){ HEAP, HEAP + 0x21000, 3, string("[heap]") });
	build_row(&snapshot, epochs, epoch_count, TAKEN - 3600 * SECOND);
	build_row(&snapshot, epochs, epoch_count, TAKEN - 10 * SECOND);
}

static void make_threads(void)
{
	build_row(&snapshot, threads, thread_count,
		  (struct heap_thread){
			  .tid = 4242,
			  .name = string("app"),
			  .state = HEAP_THREAD_EXACT,
			  .frames = 2,
			  .stack_start = 0x7ffe00000000,
			  .stack_end = 0x7ffe00001000,
		  });
	build_row(&snapshot, threads, thread_count,
		  (struct heap_thread){
			  .tid = 4243,
			  .name = string("worker"),
			  .state = HEAP_THREAD_SLEEPING,
			  .first_frame = 2,
			  .frames = 1,
			  .stack_start = 0x7ffd00000000,
			  .stack_end = 0x7ffd00001000,
		  });
	build_row(&snapshot, frames, frame_count,
		  (struct heap_frame){
			  .pc = 0x401200,
			  .cfa = 0x7ffe00000040,
			  .module = 0,
			  .function = string("serve"),
			  .offset = 0x40,
			  .file = string("app.c"),
			  .line = 30,
		  });
	build_row(&snapshot, frames, frame_count,
		  (struct heap_frame){
			  .pc = 0x401300,
			  .cfa = 0x7ffe00000080,
			  .module = 0,
			  .function = string("main"),
			  .offset = 0x80,
			  .file = string("app.c"),
			  .line = 44,
		  });
	build_row(&snapshot, frames, frame_count,
		  (struct heap_frame){
			  .pc = LIBRARY + 0x3010,
			  .cfa = 0x7ffd00000040,
			  .module = 1,
			  .function = string("poll"),
			  .offset = 0x10,
		  });
}

static void make_info(void)
{
	snapshot.info = (struct heap_info){
		.program = hostile("app"),
		.command = hostile("/opt/demo/app --serve"),
		.host = hostile("nowhere"),
		.maker = hostile("heapsnap 0.1"),
		.id = hostile("00112233445566778899aabbccddeeff"),
		.pid = 4242,
		.time_ns = TAKEN,
		.start_time_ns = TAKEN - 3600 * SECOND,
		.stop_ns = 1500000,
		.clone_ns = 1200000,
		.content_limit = CONTENT_LIMIT,
	};
	build_start(&snapshot);
	build_columns(&snapshot, COLUMNS, MAX, MAX * 4);
	make_base_types();
	make_structs();
	make_classes();
	make_all();
	make_places();
	make_threads();
}

// --- the heap ----------------------------------------------------------------

// The example of the manual: a date, held by a utility, in a slot, in a table, in `popular`.
static void make_cache(void)
{
	heap_object_id date = object(HEAP + 0x100, 12, types.date, 1, HEAP_EVIDENCE_POINTER, 1);

	put(date, 0, 2026, 4);
	put(date, 4, 11, 4);
	put(date, 8, 20, 4);

	heap_object_id utility =
		object(HEAP + 0x200, 24, types.utility, 1, HEAP_EVIDENCE_POINTER, 1);

	put(utility, 0, HEAP + 0x500, 8);
	put(utility, 16, HEAP + 0x100, 8);

	heap_object_id slots =
		object(HEAP + 0x300, 14 * 16, types.slot, 14, HEAP_EVIDENCE_POINTER, 3);

	put(slots, 3 * 16, 0xfeed, 8);
	put(slots, 3 * 16 + 8, HEAP + 0x200, 8);

	heap_object_id cache = object(HEAP + 0x400, 24, types.table, 1, HEAP_EVIDENCE_POINTER, 1);

	put(cache, 0, HEAP + 0x300, 8);
	put(cache, 8, 14, 8);
	put(cache, 16, HEAP + 0x500, 8);
	text(HEAP + 0x500, "hello, world\0\0\0\0", 17, types.character);
	text(HEAP + 0x600, "\x1b[31mred\n\"\xff\\", 13, types.character);
}

static void make_lists(void)
{
	for (uint32_t i = 0; i < 3; i++) {
		heap_object_id node = object(HEAP + 0x1000 + i * 0x20, 16, types.node, 1,
					     HEAP_EVIDENCE_POINTER, 0);

		put(node, 0, i < 2 ? HEAP + 0x1020 + i * 0x20 : 0, 8);
		put(node, 8, 100 + i, 4);
	}
	// A ring of two, from a local variable.
	for (uint32_t i = 0; i < 2; i++) {
		heap_object_id node = object(HEAP + 0x1100 + i * 0x20, 16, types.node, 1,
					     HEAP_EVIDENCE_POINTER, 0);

		put(node, 0, HEAP + 0x1100 + (1 - i) * 0x20, 8);
		put(node, 8, -1u - i, 4);
	}
	// Leaked: one that holds another, and a ring.
	for (uint32_t i = 0; i < 4; i++) {
		static const uint64_t next[] = { HEAP + 0x1220, 0, HEAP + 0x1260, HEAP + 0x1240 };
		heap_object_id node =
			object(HEAP + 0x1200 + i * 0x20, 16, types.node, 1, HEAP_EVIDENCE_VOTE, 0);

		put(node, 0, next[i], 8);
		put(node, 8, 200 + i, 4);
	}
}

static void make_all_kinds(void)
{
	heap_object_id all = object(HEAP + 0x2000, 152, types.all, 1, HEAP_EVIDENCE_DECLARED, 2);

	put(all, 0, HEAP + 0x1000, 8);
	put(all, 8, HEAP + 0x507, 8);
	put(all, 24, 0x401000, 8);
	put(all, 32, 0xdead0000, 8);
	put(all, 40, 18446744073709551615u, 8);
	put(all, 48, 7, 4);
	put(all, 52, 5, 4);
	put(all, 56, 3, 4);
	put_float(all, 60, 0.5f);
	put_double(all, 64, -2.25);
	put(all, 72, 1, 1);
	put(all, 73, '\n', 1);
	put(all, 76, 1 | 0x1d << 1, 4); // red 1, depth -3
	put_bytes(all, 80, "label", 6);
	put(all, 92, 1, 4);
	put(all, 96, 2, 4);
	put(all, 100, -3u, 4);
	put(all, 104, 640, 4);
	put(all, 108, 480, 4);
	put(all, 112, HEAP + 0x1020, 8);
	put_float(all, 120, 1);
	put_float(all, 124, 2);
	put_float(all, 128, 3);
	put_float(all, 132, 4);
	put(all, 136, 11, 4);
	put(all, 140, 22, 4);

	heap_object_id circle = object(HEAP + 0x2100, 24, types.circle, 1, HEAP_EVIDENCE_VTABLE, 2);

	put(circle, 0, 0x403010, 8);
	put(circle, 8, 17, 4);
	put_double(circle, 16, 1.5);

	heap_object_id message =
		object(HEAP + 0x2200, 16 + 2 * 8, types.message, 3, HEAP_EVIDENCE_SITE, 2);

	put(message, 0, HEAP + 0x500, 8);
	put(message, 8, 2, 4);
	put_float(message, 16, 1);
	put_float(message, 20, -1);
	put_float(message, 24, 2);
	put_float(message, 28, -2);

	heap_object_id block = object(HEAP + 0x2300, 48, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 4);

	put_bytes(block, 0, "raw bytes\0", 10);
	put(block, 24, HEAP + 0x1108, 8);

	// Longer than what is kept of it; its last pointer is known all the same.
	heap_object_id vector =
		object(HEAP + 0x3000, 4096, types.node_pointer, 512, HEAP_EVIDENCE_POINTER, 0);

	put(vector, 0, HEAP + 0x1000, 8);
	put(vector, 4088, HEAP + 0x1040, 8);
}

static void make_roots(void)
{
	static const uint64_t origin[2] = { HEAP + 0x2100, HEAP + 0x2200 };
	uint64_t words[2];

	global("popular", types.table_pointer, LIBRARY + 0x4010, 1, "cache.c", 50, HEAP + 0x400);
	global("list", types.node_pointer, DATA + 0x10, 0, "app.c", 5, HEAP + 0x1000);
	global("sample", types.all_pointer, DATA + 0x18, 0, "app.c", 6, HEAP + 0x2000);
	global("vector", pointer(types.node_pointer), DATA + 0x20, 0, "app.c", 7, HEAP + 0x3000);
	global("greeting", types.text, DATA + 0x28, 0, "", 0, HEAP + 0x600);
	global("nobody", types.node_pointer, DATA + 0x30, 0, "app.c", 8, 0);
	words[0] = HEAP + 0x1020;
	words[1] = 5;
	variable(HEAP_ROOT_GLOBAL, "first", types.node, DATA + 0x40, 0, "app.c", 9, HEAP_NO_INDEX,
		 HEAP_NO_INDEX, words, 2);
	words[0] = HEAP + 0x1040;
	variable(HEAP_ROOT_THREAD_LOCAL, "mine", types.node_pointer, 0x7ffd10000000, 0, "app.c", 10,
		 1, HEAP_NO_INDEX, words, 1);
	words[0] = HEAP + 0x1100;
	variable(HEAP_ROOT_LOCAL, "ring", types.node_pointer, 0x7ffe00000020, 0, "app.c", 29, 0, 0,
		 words, 1);
	words[0] = HEAP + 0x2300;
	variable(HEAP_ROOT_REGISTER, "rbx", HEAP_NO_TYPE, 0, HEAP_NO_INDEX, "", 0, 0, 0, words, 1);
	variable(HEAP_ROOT_STACK, "main", HEAP_NO_TYPE, 0x7ffe00000048, 0, "", 0, 0, 1, origin, 1);
	variable(HEAP_ROOT_SEGMENT, ".data", HEAP_NO_TYPE, DATA + 0x80, 0, "", 0, HEAP_NO_INDEX,
		 HEAP_NO_INDEX, origin + 1, 1);
}

static void make_heap(void)
{
	make_cache();
	make_lists();
	make_all_kinds();
	make_roots();
	build_row(&snapshot, damages, damage_count,
		  (struct heap_damage){ HEAP + 0x5ff0,
					string("the block below it has overrun its end") });
}

#include "t/helper/sample_typed.h"

// --- a series ----------------------------------------------------------------

static void make_time(uint32_t number)
{
	static char id[40];

	snprintf(id, sizeof(id), "%032x", number);
	snapshot.info.id = id;
	snapshot.info.serial = number;
	snapshot.info.time_ns = TAKEN + number * SECOND;
	snapshot.epoch_count = 0;
	for (uint32_t i = 0; i <= number; i++)
		build_row(&snapshot, epochs, epoch_count, TAKEN + i * SECOND - SECOND / 2);
}

/*
 * Snapshot N of a program that takes a node more before each, and leaks it; that keeps a table
 * from the beginning; that frees a node and gets the same address again before each; and that
 * frees in the third what it took before the second.
 */
static void make_series(uint32_t number)
{
	heap_object_id id;

	make_time(number);

	id = object(HEAP + 0x100, 24, types.table, 1, HEAP_EVIDENCE_POINTER, 1);
	snapshot.birth[id] = 0;
	id = object(HEAP + 0x200, 16, types.node, 1, HEAP_EVIDENCE_POINTER, 0);
	snapshot.birth[id] = number;
	if (number == 1) {
		id = object(HEAP + 0x300, 17, types.character, 17, HEAP_EVIDENCE_POINTER, 2);
		snapshot.birth[id] = 1;
	}
	for (uint32_t i = 1; i <= number; i++) {
		id = object(HEAP + 0x1000 + i * 0x20, 16, types.node, 1, HEAP_EVIDENCE_VOTE, 0);
		snapshot.birth[id] = i;
	}
	for (uint32_t i = 1; i <= number; i++) {
		id = object(HEAP + 0x2000 + i * 0x40, 48, HEAP_NO_TYPE, 1, HEAP_EVIDENCE_NONE, 4);
		snapshot.birth[id] = i;
	}
	global("popular", types.table_pointer, LIBRARY + 0x4010, 1, "cache.c", 50, HEAP + 0x100);
}

// A table of more bytes than 32 bits count.
static void make_huge(void)
{
	heap_object_id table = object(HEAP + 0x100, 24, types.table, 1, HEAP_EVIDENCE_POINTER, 1);

	object(HEAP + 0x1000, UINT64_C(5) << 30, types.slot, UINT64_C(5) << 26,
	       HEAP_EVIDENCE_POINTER, 3);
	put(table, 0, HEAP + 0x1000, 8);
	global("popular", types.table_pointer, LIBRARY + 0x4010, 1, "cache.c", 50, HEAP + 0x100);
}

static void make_flat(uint32_t number)
{
	make_time(number);
	snapshot.birth[object(HEAP + 0x100, 24, types.table, 1, HEAP_EVIDENCE_POINTER, 1)] = 0;
}

// A vector that doubles in the first two steps: each time in a new block, and the old one is freed.
static void make_doubling(uint32_t number)
{
	uint32_t times = number < 2 ? number : 2;
	uint64_t slots = UINT64_C(4) << times;

	make_time(number);
	snapshot.birth[object(HEAP + UINT64_C(0x1000) * (times + 1), slots * 16, types.slot, slots,
			      HEAP_EVIDENCE_POINTER, 3)] = times;
}

/*
 * The Nth snapshot of a server on one of several machines. Its cache is full from the third on;
 * of a build whose id begins with "bad" nodes are never freed.
 */
static void make_fleet(const char *host, const char *build, uint32_t number)
{
	static char id[33];
	uint32_t nodes = strncmp(build, "bad", 3) == 0 ? 10 * (number + 1) : 10;
	uint32_t cached = number < 2 ? number + 1 : 3;

	make_time(number);
	snprintf(id, sizeof(id), "%016x%016x", (unsigned)(host[strlen(host) - 1]), number);
	snapshot.info.host = host;
	snapshot.info.id = id;
	snapshot.modules[0].build_id = string(build);
	object(HEAP + 0x100, 24, types.table, 1, HEAP_EVIDENCE_POINTER, 1);
	for (uint32_t i = 0; i < nodes; i++) {
		heap_object_id node = object(HEAP + 0x1000 + i * 0x20, 16, types.node, 1,
					     HEAP_EVIDENCE_POINTER, 0);

		if (i + 1 < nodes)
			put(node, 0, HEAP + 0x1000 + (i + 1) * 0x20, 8);
	}
	for (uint32_t i = 0; i < cached; i++)
		object(HEAP + 0x8000 + i * 0x400, 1000, types.character, 1000,
		       HEAP_EVIDENCE_POINTER, 2);
	memset(snapshot.birth, 0, snapshot.object_count * sizeof(*snapshot.birth));
	global("list", types.node_pointer, DATA + 0x10, 0, "app.c", 5, HEAP + 0x1000);
}

static void make_other(void)
{
	make_time(100);
	snapshot.info.pid++;
}

// --- what no program has ----------------------------------------------------

static uint64_t state;

static uint32_t below(uint32_t limit)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return limit ? (uint32_t)(state >> 33) % limit : 0;
}

static uint64_t wild_number(void)
{
	static const uint64_t numbers[] = { 0,         1,          7,         8,         63,
					    64,        255,        256,       4096,      65537,
					    INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };

	return below(3) ? numbers[below(sizeof(numbers) / sizeof(numbers[0]))] : below(300);
}

static void wild_type(void)
{
	struct heap_type *type = &snapshot.types.types[1 + below(snapshot.types.count - 1)];
	struct heap_member *member = &snapshot.types.members[below(snapshot.types.member_count)];

	switch (below(10)) {
	case 0:
		type->size = wild_number();
		break;
	case 1:
		type->count = wild_number();
		break;
	case 2:
		type->flags = (uint8_t)below(256);
		break;
	case 3:
		type->kind = (uint8_t)below(HEAP_TYPE_KINDS);
		break;
	case 4:
		type->target = below(snapshot.types.count);
		break;
	case 5:
		type->members = below(40);
		break;
	case 6:
		member->type = below(snapshot.types.count);
		break;
	case 7:
		member->offset = wild_number();
		break;
	case 8:
		member->bit_offset = (uint8_t)wild_number();
		member->bit_size = (uint8_t)wild_number();
		break;
	default:
		member->flags = (uint8_t)below(16);
	}
}

static void wild_object(void)
{
	heap_object_id id = below(snapshot.object_count);

	switch (below(6)) {
	case 0:
		snapshot.type[id] = below(snapshot.types.count);
		break;
	case 1:
		snapshot.elements[id] = wild_number();
		break;
	case 2:
		snapshot.evidence[id] = (uint8_t)below(HEAP_EVIDENCE_KINDS);
		break;
	case 3:
		snapshot.edge_slot[below(snapshot.edge_count)] = (uint32_t)wild_number();
		break;
	case 4:
		snapshot.edge_interior[below(snapshot.edge_count)] = (uint32_t)wild_number();
		break;
	default:
		snapshot.edge_target[below(snapshot.edge_count)] = below(snapshot.object_count);
	}
}

static void wild_table(void)
{
	struct heap_root *added = &snapshot.roots[below(snapshot.root_count)];
	struct heap_frame *frame = &snapshot.frames[below(snapshot.frame_count)];

	switch (below(10)) {
	case 0:
		added->kind = (uint8_t)below(HEAP_ROOT_KINDS);
		break;
	case 1:
		added->type = below(snapshot.types.count);
		break;
	case 2:
		added->size = wild_number();
		break;
	case 3:
		added->content_size = below(9);
		break;
	case 4:
		added->frame = added->thread = added->module = HEAP_NO_INDEX;
		break;
	case 5:
		snapshot.root_edges[below((uint32_t)snapshot.root_edge_count)].offset =
			wild_number();
		break;
	case 6:
		frame->module = HEAP_NO_INDEX;
		frame->flags = (uint8_t)below(256);
		break;
	case 7:
		snapshot.sites[below(snapshot.site_count)].module = HEAP_NO_INDEX;
		break;
	case 8:
		snapshot.modules[below(2)].end = wild_number();
		break;
	default:
		snapshot.info.content_limit = below(300);
		snapshot.info.time_ns = wild_number();
	}
}

// A file whose checksums hold, but whose author meant harm.
static void run_wild(uint32_t seed)
{
	state = seed * UINT64_C(0x9e3779b97f4a7c15);
	for (uint32_t i = 1 + below(6); i > 0; i--) {
		uint32_t what = below(4);

		if (what < 2)
			wild_type();
		else if (what == 2)
			wild_object();
		else
			wild_table();
	}
}

static struct heap_error *read_content(void *context, heap_object_id id, uint64_t address,
				       uint8_t *buffer, size_t size)
{
	(void)context;
	(void)address;
	memcpy(buffer, contents[id], size);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "";
	char *path = argv[1];

	if (argc < 2) {
		fputs("usage: sample_snapshot FILE [empty | typed | series N [LATE] | flat N | "
		      "huge | "
		      "other |\n"
		      "                            fleet HOST BUILD N | wild SEED]\n"
		      "       sample_snapshot FILE hostile 0..3 [...]\n",
		      stderr);
		return 2;
	}
	if (strcmp(kind, "hostile") == 0 && argc > 3) {
		choose_suffix((unsigned)atoi(argv[3]) % 4);
		argc -= 2;
		argv += 2;
		kind = argc > 2 ? argv[2] : "";
	}
	make_info();
	if (strcmp(kind, "series") == 0 && (argc == 4 || argc == 5)) {
		make_series((uint32_t)atoi(argv[3]));
		if (argc == 5)
			snapshot.info.time_ns += (uint64_t)atoi(argv[4]) * SECOND;
	} else if (strcmp(kind, "attached") == 0 && argc == 4) {
		make_series((uint32_t)atoi(argv[3]));
		// From outside the start is computed anew for each snapshot, from several clocks.
		snapshot.info.origin = snapshot.info.taken = HEAP_ORIGIN_ATTACHED;
		snapshot.info.start_time_ns += (uint64_t)atoi(argv[3]) % 2 * 1700000;
	} else if (strcmp(kind, "flat") == 0 && argc == 4)
		make_flat((uint32_t)atoi(argv[3]));
	else if (strcmp(kind, "doubling") == 0 && argc == 4)
		make_doubling((uint32_t)atoi(argv[3]));
	else if (strcmp(kind, "fleet") == 0 && argc == 6)
		make_fleet(argv[3], argv[4], (uint32_t)atoi(argv[5]));
	else if (strcmp(kind, "huge") == 0)
		make_huge();
	else if (strcmp(kind, "other") == 0)
		make_other();
	else if (strcmp(kind, "typed") == 0)
		make_typed();
	else if (strcmp(kind, "empty") != 0)
		make_heap();
	make_edges();
	if (strcmp(kind, "wild") == 0 && argc == 4)
		run_wild((uint32_t)atoi(argv[3]));

	int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (descriptor < 0) {
		perror(path);
		return 1;
	}
	sample_check(heap_snapshot_write(
		&snapshot, descriptor, &(struct heap_snapshot_source){ .content = read_content }));
	close(descriptor);
	return 0;
}
