// SPDX-License-Identifier: GPL-3.0-or-later
// Asks libheapgraph all that it can be asked, about snapshots of t/helper/sample_snapshot.c;
// t/library.t knows the answers. As a user would, it knows heapgraph.h alone.
#include <heapgraph.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct heapgraph *graph;

static void check(struct heapgraph_error *error)
{
	if (error) {
		printf("error %d: %s\n", heapgraph_error_code(error),
		       heapgraph_error_message(error));
		exit(1);
	}
}

// Prints an error that is expected.
static void refused(const char *what, struct heapgraph_error *error)
{
	if (error)
		printf("%s: error %d: %s\n", what, heapgraph_error_code(error),
		       heapgraph_error_message(error));
	else
		printf("%s: no error\n", what);
	heapgraph_error_free(error);
}

static const char *type_name(heapgraph_type_id type)
{
	static char name[64];

	heapgraph_type_name(graph, type, name, sizeof(name));
	return name;
}

static heapgraph_object_id at(uint64_t address)
{
	return heapgraph_object_at(graph, address);
}

static void ask_info(void)
{
	uint64_t number = 0;

	printf("version %s\n", heapgraph_version());
	printf("program %s of %s\n", heapgraph_info_text(graph, "program"),
	       heapgraph_info_text(graph, "command"));
	printf("pid %d", heapgraph_info_number(graph, "pid", &number));
	printf(" %" PRIu64 "\n", number);
	printf("unknown keys %d %d\n", heapgraph_info_text(graph, "pid") == NULL,
	       heapgraph_info_number(graph, "program", &number));
}

static void ask_object(uint64_t address)
{
	heapgraph_object_id object = at(address);
	struct heapgraph_place place;
	unsigned char bytes[8] = { 0 };
	size_t kept;

	printf("object %" PRIu32 " of %" PRIu32 " at %#" PRIx64 "\n", object,
	       heapgraph_object_count(graph), heapgraph_object_address(graph, object));
	printf("  %s[%" PRIu64 "], %" PRIu64 " bytes, evidence %d, age %" PRIu64 "\n",
	       type_name(heapgraph_object_type(graph, object)),
	       heapgraph_object_elements(graph, object), heapgraph_object_size(graph, object),
	       heapgraph_object_evidence(graph, object), heapgraph_object_age(graph, object));
	printf("  site %d", heapgraph_object_site(graph, object, &place));
	printf(" %s %s:%" PRIu64 " %s\n", place.function, place.file, place.line, place.module);
	check(heapgraph_object_content(graph, object, bytes, sizeof(bytes), &kept));
	printf("  %zu bytes: %02x %02x\n", kept, bytes[0], bytes[1]);
}

static void ask_types(void)
{
	heapgraph_type_id slot = heapgraph_type_find(graph, "struct slot", HEAPGRAPH_NO_TYPE);
	struct heapgraph_field field;

	printf("type %s: kind %d, %" PRIu64 " bytes, %" PRIu32 " fields, the only one: %d\n",
	       type_name(slot), heapgraph_type_kind(graph, slot), heapgraph_type_size(graph, slot),
	       heapgraph_field_count(graph, slot), !heapgraph_type_find(graph, "slot", slot));
	for (uint32_t i = 0; heapgraph_field(graph, slot, i, &field); i++)
		printf("  %s at %" PRIu64 ": %s\n", field.name, field.offset,
		       type_name(field.type));
	printf("  behind value: %s\n", type_name(heapgraph_type_target(graph, field.type)));

	heapgraph_type_id all = heapgraph_type_find(graph, "struct all", 0);
	static const char *const paths[] = { "scores[2]", "depth",      "points[1].y", "width",
					     "scores[3]", "size.depth", "[1].next",    "" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (!heapgraph_field_find(graph, all, paths[i], &field))
			printf("  '%s' is not there\n", paths[i]);
		else
			printf("  '%s' at %" PRIu64 " bits %" PRIu32 "+%" PRIu32 ": %s\n", paths[i],
			       field.offset, field.bit_offset, field.bit_size,
			       type_name(field.type));
	}
	heapgraph_field_find(graph, all, "count", &field);
	printf("  count is a %s,", type_name(field.type));
	printf(" that is %s\n", type_name(heapgraph_type_strip(graph, field.type)));
	heapgraph_field_find(graph, all, "scores", &field);
	printf("  scores has %" PRIu64 " elements\n", heapgraph_type_elements(graph, field.type));
}

static void ask_values(void)
{
	heapgraph_object_id all = at(0x5f02000), slots = at(0x5f00300), utility = at(0x5f00200),
			    target;
	int64_t integer;
	double real;
	char text[8];
	size_t length;

	check(heapgraph_field_integer(graph, all, "scores[1]", &integer));
	printf("scores[1] = %" PRId64 "\n", integer);
	check(heapgraph_field_integer(graph, all, "depth", &integer));
	printf("depth = %" PRId64 "\n", integer);
	check(heapgraph_field_real(graph, all, "balance", &real));
	printf("balance = %g\n", real);
	check(heapgraph_field_real(graph, at(0x5f02100), "id", &real));
	printf("id of the base class = %g\n", real);
	check(heapgraph_field_object(graph, slots, "[3].value", &target));
	printf("[3].value is the utility: %d\n", target == utility);
	check(heapgraph_field_object(graph, slots, "[4].value", &target));
	printf("[4].value is none: %d\n", target == HEAPGRAPH_NO_OBJECT);
	check(heapgraph_field_text(graph, utility, "name", text, sizeof(text), &length));
	printf("name = %s, %zu bytes\n", text, length);
	check(heapgraph_field_text(graph, at(0x5f00500), "", text, sizeof(text), NULL));
	printf("the text itself = %s\n", text);
	check(heapgraph_field_text(graph, all, "label", text, sizeof(text), &length));
	printf("label = %s, %zu bytes\n", text, length);
	refused("no field", heapgraph_field_integer(graph, all, "colours", &integer));
	refused("no integer", heapgraph_field_integer(graph, all, "balance", &integer));
	refused("no number", heapgraph_field_real(graph, all, "next", &real));
	refused("no pointer", heapgraph_field_object(graph, all, "count", &target));
	refused("no text", heapgraph_field_text(graph, all, "count", text, sizeof(text), NULL));
	refused("not kept", heapgraph_field_integer(graph, at(0x5f00300), "[40].hash", &integer));
	refused("no object", heapgraph_field_integer(graph, 99, "next", &integer));
}

static void print_edge(const struct heapgraph_edge *edge)
{
	if (edge->root != HEAPGRAPH_NO_ROOT)
		printf("  root %s", heapgraph_root_name(graph, edge->root));
	else
		printf("  %#" PRIx64, heapgraph_object_address(graph, edge->source));
	printf(" +%" PRIu64 " -> %#" PRIx64 " +%" PRIu64 " flags %" PRIu32 "\n", edge->offset,
	       heapgraph_object_address(graph, edge->target), edge->interior, edge->flags);
}

static void ask_edges(void)
{
	heapgraph_object_id utility = at(0x5f00200);
	struct heapgraph_edge edge, edges[2];
	size_t count;

	printf("%" PRIu32 " out\n", heapgraph_out_count(graph, utility));
	for (uint32_t i = 0; heapgraph_out(graph, utility, i, &edge); i++)
		print_edge(&edge);
	printf("%" PRIu32 " in\n", heapgraph_in_count(graph, at(0x5f00400)));
	for (uint32_t i = 0; heapgraph_in(graph, at(0x5f00400), i, &edge); i++)
		print_edge(&edge);
	for (uint32_t i = 0; heapgraph_in(graph, at(0x5f00100), i, &edge); i++)
		print_edge(&edge);
	check(heapgraph_path(graph, at(0x5f00100), edges, 2, &count));
	printf("a way of %zu\n", count);
	print_edge(&edges[0]);
	print_edge(&edges[1]);
	refused("leaked", heapgraph_path(graph, at(0x5f01200), edges, 2, &count));
}

static void ask_roots(void)
{
	struct heapgraph_place place;
	struct heapgraph_edge edge;

	for (heapgraph_root_id i = 0; i < heapgraph_root_count(graph); i++) {
		heapgraph_root_place(graph, i, &place);
		printf("root %s: kind %d, %s, %" PRIu64 " bytes, at %s:%" PRIu64 ", function '%s', "
		       "thread %" PRIu32 ", %" PRIu64 " out, retains %" PRIu64 "\n",
		       heapgraph_root_name(graph, i), heapgraph_root_kind(graph, i),
		       type_name(heapgraph_root_type(graph, i)), heapgraph_root_size(graph, i),
		       place.file, place.line, place.function, heapgraph_root_thread(graph, i),
		       heapgraph_root_out_count(graph, i), heapgraph_root_retained(graph, i));
		for (uint64_t j = 0; heapgraph_root_out(graph, i, j, &edge); j++)
			print_edge(&edge);
	}
}

static void ask_retained(void)
{
	heapgraph_object_id date = at(0x5f00100), table = at(0x5f00400), leaked = at(0x5f01200);

	printf("retained %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       heapgraph_object_retained(graph, date), heapgraph_object_retained(graph, table),
	       heapgraph_object_retained(graph, leaked));
	printf("reach %d %d\n", heapgraph_object_reach(graph, date),
	       heapgraph_object_reach(graph, leaked));
	printf("dominators %#" PRIx64 " %s\n",
	       heapgraph_object_address(graph, heapgraph_object_dominator(graph, date)),
	       heapgraph_root_name(graph, heapgraph_object_dominating_root(graph, table)));
	printf("none %d %d\n", heapgraph_object_dominator(graph, table) == HEAPGRAPH_NO_OBJECT,
	       heapgraph_object_dominating_root(graph, date) == HEAPGRAPH_NO_ROOT);
}

static void ask_set(const char *filter)
{
	struct heapgraph_set *set, *retained;

	check(heapgraph_find(graph, filter, &set));
	check(heapgraph_set_retained(set, &retained));
	printf("%s: %" PRIu64 " objects, %" PRIu64 " bytes, retaining %" PRIu64 "\n ", filter,
	       heapgraph_set_count(set), heapgraph_set_bytes(set), heapgraph_set_bytes(retained));
	for (heapgraph_object_id i = heapgraph_set_next(set, 0); i != HEAPGRAPH_NO_OBJECT;
	     i = heapgraph_set_next(set, i + 1))
		printf(" %" PRIu32 "%s", i, heapgraph_set_has(set, i) ? "" : "?");
	printf("\n");
	heapgraph_set_free(retained);
	heapgraph_set_free(set);
}

static void ask_sets(void)
{
	struct heapgraph_set *set;

	ask_set("type 'struct node' leaked");
	ask_set("size>1K or untyped");
	ask_set("under 0x5f00200");
	ask_set("retained >=4K");
	check(heapgraph_set_create(graph, &set));
	printf("an empty set: %d\n", heapgraph_set_next(set, 0) == HEAPGRAPH_NO_OBJECT);
	heapgraph_set_add(set, 19);
	heapgraph_set_add(set, 20);
	printf("one: %" PRIu32 ", %" PRIu64 "\n", heapgraph_set_next(set, 3),
	       heapgraph_set_count(set));
	heapgraph_set_free(set);
	refused("bad filter", heapgraph_find(graph, "colour red", &set));
	refused("bad quote", heapgraph_find(graph, "type 'struct node", &set));
	refused("bad object", heapgraph_find(graph, "under popular", &set));
}

// Every question about something that does not exist is answered by nothing.
static void ask_nonsense(void)
{
	heapgraph_object_id object = heapgraph_object_count(graph);
	struct heapgraph_edge edge;
	struct heapgraph_place place;
	struct heapgraph_field field;
	bool has_site = heapgraph_object_site(graph, object, &place);

	printf("nothing %d%d%d%d%d%d%d%d%d\n", heapgraph_object_size(graph, object) == 0,
	       heapgraph_object_at(graph, 1) == HEAPGRAPH_NO_OBJECT,
	       !heapgraph_out(graph, object, 0, &edge), !heapgraph_in(graph, object, 0, &edge),
	       !has_site, !*place.function, !heapgraph_field(graph, 1u << 30, 0, &field),
	       !*heapgraph_root_name(graph, 99), !heapgraph_root_out(graph, 99, 0, &edge));
}

static void ask_backtraces_and_parts(const char *path)
{
	struct heapgraph_place place;
	struct heapgraph_part part;

	check(heapgraph_open(path, HEAPGRAPH_OBJECTS | HEAPGRAPH_BACKTRACES | HEAPGRAPH_PARTS,
			     &graph));
	for (heapgraph_object_id i = 0; i <= heapgraph_object_count(graph); i++) {
		printf("object %" PRIu32 ": %" PRIu32 " calls, %" PRIu32 " parts\n", i,
		       heapgraph_backtrace_count(graph, i), heapgraph_part_count(graph, i));
		for (uint32_t j = 0; heapgraph_backtrace(graph, i, j, &place); j++)
			printf("  %s %s:%" PRIu64 "\n", place.function, place.file, place.line);
		for (uint32_t j = 0; heapgraph_part(graph, i, j, &part); j++)
			printf("  %s[%" PRIu64 "] at %" PRIu64 ", %" PRIu64
			       " bytes, evidence %" PRIu32 "\n",
			       type_name(part.type), part.elements, part.offset, part.size,
			       part.evidence);
	}
	heapgraph_close(graph);
}

static bool stop(void *context, const char *what, double share)
{
	(void)what;
	++*(int *)context;
	return share < 0;
}

int main(int argc, char **argv)
{
	struct heapgraph *other;
	int calls = 0;

	if (argc != 3)
		return 2;
	refused("no file", heapgraph_open("/nowhere/x.snap", 0, &other));
	refused("no snapshot", heapgraph_open(argv[0], 0, &other));
	refused("no need", heapgraph_open(argv[1], 1 << 20, &other));
	check(heapgraph_open(argv[1], 0, &graph));
	printf("before: %" PRIu32 " objects, %" PRIu64 " bytes, %" PRIu32 " edges\n",
	       heapgraph_object_count(graph), heapgraph_object_size(graph, 0),
	       heapgraph_out_count(graph, 1));
	heapgraph_set_progress(graph, stop, &calls);
	refused("stopped", heapgraph_need(graph, HEAPGRAPH_RETAINED));
	heapgraph_set_progress(graph, NULL, NULL);
	check(heapgraph_need(graph, HEAPGRAPH_OBJECTS | HEAPGRAPH_HOLDERS | HEAPGRAPH_REACH |
					    HEAPGRAPH_RETAINED));
	printf("asked: %d\n", calls > 0);
	ask_info();
	ask_object(0x5f00301);
	ask_types();
	ask_values();
	ask_edges();
	ask_roots();
	ask_retained();
	ask_sets();
	ask_nonsense();
	heapgraph_close(graph);
	ask_backtraces_and_parts(argv[2]);
	return 0;
}
