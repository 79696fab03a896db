// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/types/slots.h"
#include "lib/types/types.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- tables made by hand -------------------------------------------------------------------

static struct heap_types types, other;
static heap_type_id map[256];

static int two_tables(void **state)
{
	(void)state;
	assert_null(heap_types_init(&types));
	assert_null(heap_types_init(&other));
	return 0;
}

static int no_tables(void **state)
{
	(void)state;
	heap_types_deinit(&types);
	heap_types_deinit(&other);
	return 0;
}

static uint32_t string(struct heap_types *table, const char *text)
{
	uint32_t offset;

	assert_null(heap_types_add_string(table, text, &offset));
	return offset;
}

static heap_type_id add(struct heap_types *table, uint8_t kind, const char *name, uint64_t size,
			heap_type_id target)
{
	struct heap_type type = { .kind = kind, .size = size, .target = target };
	heap_type_id id;

	type.name = string(table, name);
	assert_null(heap_types_add(table, &type, &id));
	return id;
}

static heap_type_id add_int(struct heap_types *table)
{
	heap_type_id id = add(table, HEAP_TYPE_BASE, "int", 4, 0);

	table->types[id].flags = HEAP_TYPE_SIGNED;
	return id;
}

static heap_type_id pointer_to(struct heap_types *table, heap_type_id target)
{
	return add(table, HEAP_TYPE_POINTER, "", 8, target);
}

static heap_type_id array_of(struct heap_types *table, heap_type_id element, uint64_t count)
{
	heap_type_id id =
		add(table, HEAP_TYPE_ARRAY, "", count * heap_types_size(table, element), element);

	table->types[id].count = count;
	return id;
}

static void member(struct heap_types *table, heap_type_id owner, const char *name,
		   heap_type_id type, uint64_t offset)
{
	struct heap_member member = { .name = string(table, name), .type = type, .offset = offset };
	struct heap_type *structure = &table->types[owner];

	if (!structure->members++)
		structure->first_member = table->member_count;
	assert_null(heap_types_add_member(table, &member));
}

static heap_type_id declare(struct heap_types *table, const char *name)
{
	heap_type_id id = add(table, HEAP_TYPE_STRUCT, name, 0, 0);

	table->types[id].flags = HEAP_TYPE_DECLARATION;
	return id;
}

// struct node { int value; struct node *next; [int more;] };
static heap_type_id add_node(struct heap_types *table, bool more)
{
	heap_type_id number = add_int(table);
	heap_type_id node = add(table, HEAP_TYPE_STRUCT, "node", more ? 24 : 16, 0);
	heap_type_id next = pointer_to(table, node);

	table->types[node].file = string(table, more ? "more.c" : "node.c");
	table->types[node].line = 7;
	member(table, node, "value", number, 0);
	member(table, node, "next", next, 8);
	if (more)
		member(table, node, "more", number, 16);
	return node;
}

static heap_type_id find(const char *name)
{
	return heap_types_find(&types, name, 0);
}

static void assert_name(heap_type_id type, const char *name)
{
	char text[256];

	assert_int_equal(heap_types_format(&types, type, text, sizeof(text)), strlen(name));
	assert_string_equal(text, name);
}

static void merge(void)
{
	assert_true(other.count <= sizeof(map) / sizeof(*map));
	assert_null(heap_types_merge(&types, &other, map));
	assert_null(heap_types_check(&types));
}

static void renew(void)
{
	heap_types_deinit(&other);
	assert_null(heap_types_init(&other));
}

// --- strings and growth --------------------------------------------------------------------

static void strings_are_kept_once(void **state)
{
	(void)state;
	char text[32];
	uint32_t first[1000];

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		first[i] = string(&types, text);
	}

	uint32_t size = types.string_size;

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_int_equal(string(&types, text), first[i]);
		assert_string_equal(heap_types_string(&types, first[i]), text);
	}
	assert_int_equal(types.string_size, size);
	assert_int_equal(string(&types, ""), 0);
}

static void strings_of_a_table_without_index_are_found(void **state)
{
	(void)state;
	static char pool[] = "\0one\0two";

	free(types.strings);
	types.strings = malloc(sizeof(pool));
	memcpy(types.strings, pool, sizeof(pool));
	types.string_size = types.string_capacity = sizeof(pool);
	assert_int_equal(string(&types, "two"), 5);
	assert_int_equal(string(&types, "one"), 1);
	assert_int_equal(string(&types, "three"), sizeof(pool));
}

// --- merging -------------------------------------------------------------------------------

static void equal_structs_become_one(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		renew();
		// Other numbers in each table, the same types.
		for (int j = 0; j < i; j++)
			add(&other, HEAP_TYPE_BASE, "filler", 1, 0);

		heap_type_id node = add_node(&other, false);

		merge();
		assert_int_equal(map[node], find("struct node"));
	}
	// unknown, int, node, node *, filler
	assert_int_equal(types.count, 5);
	assert_int_equal(types.member_count, 2);
	assert_name(types.members[1].type, "struct node *");
}

static void different_layouts_stay_two(void **state)
{
	(void)state;
	heap_type_id small = add_node(&other, false);

	merge();
	small = map[small];
	renew();

	heap_type_id large = add_node(&other, true);

	merge();
	large = map[large];
	assert_int_not_equal(small, large);
	assert_name(small, "struct node (node.c:7)");
	assert_name(large, "struct node (more.c:7)");
	// Each one's pointers lead to itself.
	assert_int_equal(
		types.types[types.members[types.types[small].first_member + 1].type].target, small);
	assert_int_equal(
		types.types[types.members[types.types[large].first_member + 1].type].target, large);
	assert_int_equal(heap_types_find(&types, "node", 0), small);
	assert_int_equal(heap_types_find(&types, "node", small + 1), large);
	assert_int_equal(heap_types_find(&types, "struct node (more.c:7)", 0), large);
	assert_int_equal(heap_types_find(&types, "node", large + 1), HEAP_NO_TYPE);
}

// struct list { struct node *head; }, where each unit has its own struct node.
static void holders_of_different_structs_stay_two(void **state)
{
	(void)state;
	heap_type_id lists[2], nodes[2];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 2; i++) {
			renew();

			heap_type_id node = add_node(&other, i);
			heap_type_id list = add(&other, HEAP_TYPE_STRUCT, "list", 8, 0);

			member(&other, list, "head", pointer_to(&other, node), 0);
			merge();
			if (round) {
				assert_int_equal(map[list], lists[i]);
				assert_int_equal(map[node], nodes[i]);
			}
			lists[i] = map[list];
			nodes[i] = map[node];
		}
	assert_int_not_equal(lists[0], lists[1]);
	for (int i = 0; i < 2; i++) {
		heap_type_id head = types.members[types.types[lists[i]].first_member].type;

		assert_int_equal(types.types[head].target, nodes[i]);
	}

	// The whole table into another: they stay what they are.
	struct heap_types all;

	assert_null(heap_types_init(&all));
	assert_null(heap_types_merge(&all, &types, map));
	assert_int_equal(all.count, types.count);
	assert_int_not_equal(map[lists[0]], map[lists[1]]);
	heap_types_deinit(&all);
}

static void declaration_becomes_the_definition(void **state)
{
	(void)state;
	heap_type_id pointer = pointer_to(&other, declare(&other, "node"));

	merge();
	pointer = map[pointer];
	assert_int_equal(heap_types_size(&types, types.types[pointer].target), 0);
	renew();

	heap_type_id node = add_node(&other, false);

	merge();
	assert_int_equal(types.types[pointer].target, map[node]);
	assert_int_equal(types.types[map[node]].flags, 0);
	assert_int_equal(heap_types_size(&types, map[node]), 16);
	// unknown, node, node *, int
	assert_int_equal(types.count, 4);
}

static void declaration_finds_the_definition(void **state)
{
	(void)state;
	heap_type_id node = add_node(&other, false);

	merge();
	node = map[node];
	renew();

	heap_type_id declared = declare(&other, "node");
	heap_type_id pointer = pointer_to(&other, declared);

	merge();
	assert_int_equal(map[declared], node);
	assert_int_equal(types.types[map[pointer]].target, node);
	assert_int_equal(types.count, 4);
}

static void declaration_of_an_ambiguous_name_stays_one(void **state)
{
	(void)state;
	add_node(&other, false);
	merge();
	renew();
	add_node(&other, true);
	merge();
	renew();

	heap_type_id declared = declare(&other, "node");

	merge();
	assert_true(types.types[map[declared]].flags & HEAP_TYPE_DECLARATION);
	// But a unit that has a definition of its own means that one.
	renew();
	declared = declare(&other, "node");

	heap_type_id node = add_node(&other, true);

	merge();
	assert_int_equal(map[declared], map[node]);
}

static void resolve_leads_pointers_to_the_definition(void **state)
{
	(void)state;
	heap_type_id declared = declare(&types, "node");
	heap_type_id pointer = pointer_to(&types, declared);
	heap_type_id holder = add(&types, HEAP_TYPE_STRUCT, "holder", 16, 0);

	member(&types, holder, "node", declared, 0);

	heap_type_id node = add_node(&types, false);
	heap_type_id unknown = pointer_to(&types, declare(&types, "other"));

	heap_types_resolve(&types);
	assert_int_equal(types.types[pointer].target, node);
	assert_int_equal(types.members[types.types[holder].first_member].type, node);
	assert_true(types.types[types.types[unknown].target].flags & HEAP_TYPE_DECLARATION);

	add_node(&types, true);
	pointer = pointer_to(&types, declared);
	heap_types_resolve(&types);
	assert_int_equal(types.types[pointer].target, declared);
}

static void unnamed_structs_are_compared_by_layout(void **state)
{
	(void)state;
	heap_type_id ids[3];

	for (int i = 0; i < 3; i++) {
		heap_type_id number = add_int(&other);

		ids[i] = add(&other, HEAP_TYPE_STRUCT, "", 8, 0);
		member(&other, ids[i], "a", number, 0);
		member(&other, ids[i], i == 2 ? "c" : "b", number, 4);
	}
	merge();
	assert_int_equal(map[ids[0]], map[ids[1]]);
	assert_int_not_equal(map[ids[0]], map[ids[2]]);
	assert_int_equal(types.count, 4);
}

static void unnamed_structs_of_two_lines_are_two(void **state)
{
	(void)state;
	heap_type_id ids[6];

	// Those of a header are one: it may have several versions.
	for (int i = 0; i < 6; i++) {
		ids[i] = add(&other, HEAP_TYPE_STRUCT, "", 4, 0);
		member(&other, ids[i], i < 3 ? "a" : "b", add_int(&other), 0);
		other.types[ids[i]].file = string(&other, i < 3 ? "a.cc" : "a.h");
		other.types[ids[i]].line = i % 3 == 2 ? 7 : 5;
	}
	merge();
	assert_int_equal(map[ids[0]], map[ids[1]]);
	assert_int_not_equal(map[ids[0]], map[ids[2]]);
	assert_int_equal(map[ids[3]], map[ids[5]]);
}

static void enums_are_compared_by_values(void **state)
{
	(void)state;
	heap_type_id ids[3];

	for (int i = 0; i < 3; i++) {
		struct heap_enumerator red = { string(&other, "RED"), i == 2 ? 5 : -1 };

		ids[i] = add(&other, HEAP_TYPE_ENUM, i ? "colour" : "", 4, 0);
		other.types[ids[i]].first_member = other.enumerator_count;
		other.types[ids[i]].members = 1;
		assert_null(heap_types_add_enumerator(&other, &red));
	}
	merge();
	assert_int_equal(types.count, 4);
	for (int i = 0; i < 3; i++)
		assert_int_equal(types.enumerators[types.types[map[ids[i]]].first_member].value,
				 i == 2 ? 5 : -1);
}

static void merges_into_a_table_that_was_loaded(void **state)
{
	(void)state;
	// Types added other than by merging, as a table from a file has them.
	heap_type_id node = add_node(&types, false);
	uint32_t count = types.count;
	heap_type_id same = add_node(&other, false);

	merge();
	assert_int_equal(map[same], node);
	assert_int_equal(types.count, count);
}

static void what_contains_itself_ends(void **state)
{
	(void)state;
	// A typedef of itself, and structs without a name inside each other.
	heap_type_id loop = add(&other, HEAP_TYPE_TYPEDEF, "loop", 0, 0);
	heap_type_id one = add(&other, HEAP_TYPE_STRUCT, "", 8, 0);
	heap_type_id two = add(&other, HEAP_TYPE_STRUCT, "", 8, 0);

	other.types[loop].target = loop;
	member(&other, one, "two", two, 0);
	member(&other, two, "one", one, 0);
	assert_null(heap_types_merge(&types, &other, map));
	assert_null(heap_types_check(&types));
	assert_int_equal(heap_types_strip(&other, loop), HEAP_NO_TYPE);
	assert_int_equal(heap_types_size(&other, loop), 0);
}

static void deep_chains_end(void **state)
{
	(void)state;
	static heap_type_id deep[100001];
	heap_type_id id = add_int(&other);

	for (int i = 0; i < 100000 - 2; i++)
		id = add(&other, HEAP_TYPE_TYPEDEF, "t", 0, id);
	assert_null(heap_types_merge(&types, &other, deep));
	assert_int_equal(heap_types_strip(&types, deep[id]), HEAP_NO_TYPE);
}

// --- sizes and names -----------------------------------------------------------------------

static void sizes_go_through_typedefs_and_arrays(void **state)
{
	(void)state;
	heap_type_id node = add_node(&types, false);
	heap_type_id alias = add(&types, HEAP_TYPE_TYPEDEF, "node_t", 0, node);
	heap_type_id constant = add(&types, HEAP_TYPE_CONST, "", 0, alias);
	heap_type_id array = array_of(&types, constant, 3);

	assert_int_equal(heap_types_strip(&types, constant), node);
	assert_int_equal(heap_types_size(&types, constant), 16);
	assert_int_equal(heap_types_size(&types, array), 48);
	types.types[array].size = 0;
	assert_int_equal(heap_types_size(&types, array), 48);
	types.types[array].count = UINT64_MAX / 2;
	assert_int_equal(heap_types_size(&types, array), 0);
}

static void names_are_as_in_c(void **state)
{
	(void)state;
	heap_type_id node = add_node(&types, false), number = find("int");
	heap_type_id character = add(&types, HEAP_TYPE_BASE, "char", 1, 0);
	heap_type_id constant = add(&types, HEAP_TYPE_CONST, "", 0, character);
	heap_type_id text = pointer_to(&types, constant);
	heap_type_id function = add(&types, HEAP_TYPE_FUNCTION, "", 0, 0);
	heap_type_id row = array_of(&types, number, 3);

	assert_name(HEAP_NO_TYPE, "void");
	assert_name(node, "struct node");
	assert_name(text, "const char *");
	assert_name(add(&types, HEAP_TYPE_CONST, "", 0, text), "const char *const");
	assert_name(pointer_to(&types, pointer_to(&types, HEAP_NO_TYPE)), "void **");
	assert_name(array_of(&types, pointer_to(&types, node), 12), "struct node *[12]");
	assert_name(array_of(&types, row, 2), "int[2][3]");
	assert_name(pointer_to(&types, row), "int (*)[3]");
	assert_name(pointer_to(&types, function), "void (*)(...)");
	assert_name(array_of(&types, pointer_to(&types, function), 4), "void (*[4])(...)");
	assert_name(add(&types, HEAP_TYPE_REFERENCE, "", 8, node), "struct node &");
	assert_name(add(&types, HEAP_TYPE_VOLATILE, "", 0, number), "volatile int");
	assert_name(add(&types, HEAP_TYPE_CLASS, "ns::entry<int>", 1, 0), "class ns::entry<int>");
	assert_name(add(&types, HEAP_TYPE_CONST, "", 0, array_of(&types, constant, 9)),
		    "const char[9]");

	heap_type_id unnamed = add(&types, HEAP_TYPE_UNION, "", 8, 0);

	types.types[unnamed].file = string(&types, "file.c");
	types.types[unnamed].line = 12;
	assert_name(unnamed, "union {…} (file.c:12)");
	types.types[unnamed].file = 0;
	assert_name(unnamed, "union {…}");

	heap_type_id flexible = array_of(&types, character, 0);

	types.types[flexible].flags = HEAP_TYPE_FLEXIBLE;
	assert_name(flexible, "char[]");
}

static heap_type_id add_unnamed(const char *file, uint32_t line)
{
	heap_type_id id = add(&types, HEAP_TYPE_STRUCT, "", 8, 0);

	types.types[id].file = string(&types, file);
	types.types[id].line = line;
	return id;
}

static void unnamed_structs_are_known_by_their_typedef(void **state)
{
	(void)state;
	heap_type_id point = add_unnamed("a.c", 1), twice = add_unnamed("a.c", 2);
	heap_type_id first = add_unnamed("b.c", 3), second = add_unnamed("c.c", 4);
	heap_type_id node = add_node(&types, false), number = find("int");

	add(&types, HEAP_TYPE_TYPEDEF, "point_t", 0, point);
	add(&types, HEAP_TYPE_TYPEDEF, "point_t", 0, point);
	add(&types, HEAP_TYPE_TYPEDEF, "one_t", 0, twice);
	add(&types, HEAP_TYPE_TYPEDEF, "other_t", 0, twice);
	add(&types, HEAP_TYPE_TYPEDEF, "entry_t", 0, first);
	add(&types, HEAP_TYPE_TYPEDEF, "entry_t", 0, second);
	add(&types, HEAP_TYPE_TYPEDEF, "node_t", 0, node);
	add(&types, HEAP_TYPE_TYPEDEF, "number_t", 0, number);
	assert_name(point, "struct {…} (a.c:1)");
	assert_null(heap_types_name_unnamed(&types));
	assert_name(point, "point_t");
	assert_name(pointer_to(&types, point), "point_t *");
	assert_name(array_of(&types, point, 3), "point_t[3]");
	assert_name(twice, "struct {…} (a.c:2)");
	assert_name(first, "entry_t (b.c:3)");
	assert_name(second, "entry_t (c.c:4)");
	assert_name(node, "struct node");
	assert_name(number, "int");
	assert_int_equal(heap_types_alias(&types, types.count + 1), HEAP_NO_TYPE);
	// A table that has grown since has no more names, but no wrong ones either.
	assert_name(add_unnamed("d.c", 5), "struct {…} (d.c:5)");
	assert_null(heap_types_check(&types));
}

static void names_are_cut_as_snprintf_does(void **state)
{
	(void)state;
	heap_type_id pointer = pointer_to(&types, add_node(&types, false));
	char text[16] = "untouched";

	assert_int_equal(heap_types_format(&types, pointer, text, 7), 13);
	assert_string_equal(text, "struct");
	assert_int_equal(heap_types_format(&types, pointer, text, 1), 13);
	assert_string_equal(text, "");
	assert_int_equal(heap_types_format(&types, pointer, NULL, 0), 13);
}

static void names_of_endless_types_end(void **state)
{
	(void)state;
	heap_type_id loop = pointer_to(&types, 0);
	char text[8];

	types.types[loop].target = loop;
	assert_true(heap_types_format(&types, loop, text, sizeof(text)) < 1000);
}

// --- finding -------------------------------------------------------------------------------

static void finds_by_name_keyword_and_glob(void **state)
{
	(void)state;
	heap_type_id node = add_node(&types, false);
	heap_type_id alias = add(&types, HEAP_TYPE_TYPEDEF, "node_t", 0, node);
	heap_type_id pointer = pointer_to(&types, node);
	heap_type_id array = array_of(&types, node, 14);
	heap_type_id twice = pointer_to(&types, pointer);
	heap_type_id large = add(&types, HEAP_TYPE_STRUCT, "node2", 8, 0);
	heap_type_id clas = add(&types, HEAP_TYPE_CLASS, "ns::tree", 8, 0);

	assert_int_equal(find("struct node"), node);
	assert_int_equal(find("node"), node);
	assert_int_equal(find("union node"), HEAP_NO_TYPE);
	assert_int_equal(find("node_t"), alias);
	assert_int_equal(find("struct node *"), find("node *"));
	assert_int_equal(heap_types_find(&types, "node *", pointer), pointer);
	assert_int_equal(find("struct node **"), twice);
	assert_int_equal(find("struct node[14]"), array);
	assert_int_equal(find("struct node[13]"), HEAP_NO_TYPE);
	assert_int_equal(find("class ns::*"), clas);
	assert_int_equal(find("*tree"), clas);
	assert_int_equal(heap_types_find(&types, "struct node*", node + 1), pointer - 2);
	assert_int_equal(find("node?"), large);
	assert_int_equal(find("nod[a-e]2"), large);
	assert_int_equal(find("node2*"), large);
	assert_int_equal(heap_types_find(&types, "struct *", twice + 1), large);
	assert_int_equal(find("missing"), HEAP_NO_TYPE);
	assert_int_equal(find(""), HEAP_NO_TYPE);
}

static void finds_names_that_are_spelled_in_another_way(void **state)
{
	(void)state;
	heap_type_id number = add(&types, HEAP_TYPE_BASE, "unsigned int", 4, 0);
	heap_type_id gcc = add(&types, HEAP_TYPE_STRUCT, "pair<long unsigned int, const char*>", 16,
			       HEAP_NO_TYPE);
	heap_type_id clang =
		add(&types, HEAP_TYPE_STRUCT, "pair<short, const char *>", 16, HEAP_NO_TYPE);
	heap_type_id pointer = pointer_to(&types, gcc);

	assert_int_equal(find("unsigned"), number);
	assert_int_equal(find("pair<unsigned long, char const *>"), gcc);
	assert_int_equal(find("struct pair<unsigned long,char const*> *"), pointer);
	assert_int_equal(find("pair<short int, const char*>"), clang);
	assert_int_equal(heap_types_find(&types, "pair<short int, const char*>", clang + 1),
			 HEAP_NO_TYPE);
	assert_int_equal(find("pair<unsigned short, const char*>"), HEAP_NO_TYPE);
	// As it is written comes first.
	heap_type_id same = add(&types, HEAP_TYPE_STRUCT, "pair<unsigned long, const char *>", 16,
				HEAP_NO_TYPE);

	assert_int_equal(find("pair<unsigned long, const char *>"), same);
}

// --- pointers ------------------------------------------------------------------------------

static uint64_t slots[32];
static heap_type_id targets[32];
static size_t slot_count, slot_limit;

static bool note_slot(void *context, uint64_t offset, heap_type_id pointer)
{
	(void)context;
	targets[slot_count] = types.types[pointer].target;
	slots[slot_count++] = offset;
	return slot_count < slot_limit;
}

static void visits_all_pointer_slots(void **state)
{
	(void)state;
	heap_type_id node = add_node(&types, false);
	heap_type_id character = add(&types, HEAP_TYPE_BASE, "char", 1, 0);
	heap_type_id onion = add(&types, HEAP_TYPE_UNION, "", 8, 0);
	heap_type_id holder = add(&types, HEAP_TYPE_STRUCT, "holder", 80 + (1 << 20), 0);
	heap_type_id text = pointer_to(&types, character), nodes = array_of(&types, node, 3);
	heap_type_id alias = add(&types, HEAP_TYPE_CONST, "", 0, text);

	member(&types, onion, "text", text, 0);
	member(&types, onion, "node", pointer_to(&types, node), 0);
	member(&types, holder, "nodes", nodes, 0);
	member(&types, holder, "", onion, 48);
	member(&types, holder, "text", alias, 56);
	member(&types, holder, "many", array_of(&types, character, 1 << 20), 80);

	slot_count = 0;
	slot_limit = 32;
	assert_true(heap_types_visit_pointers(&types, holder, note_slot, NULL));
	assert_int_equal(slot_count, 6);

	static const uint64_t expected[] = { 8, 24, 40, 48, 48, 56 };

	assert_memory_equal(slots, expected, sizeof(expected));
	assert_int_equal(targets[0], node);
	assert_int_equal(targets[3], character);
	assert_int_equal(targets[4], node);
	assert_int_equal(targets[5], character);

	slot_count = 0;
	slot_limit = 2;
	assert_false(heap_types_visit_pointers(&types, holder, note_slot, NULL));
	assert_int_equal(slot_count, 2);
}

static void visit_of_a_doubling_type_ends(void **state)
{
	(void)state;
	heap_type_id inner = add_int(&types);

	for (int i = 0; i < 60; i++) {
		heap_type_id outer = add(&types, HEAP_TYPE_STRUCT, "twice", 4, 0);

		member(&types, outer, "a", inner, 0);
		member(&types, outer, "b", inner, 0);
		inner = outer;
	}
	slot_count = 0;
	assert_true(heap_types_visit_pointers(&types, inner, note_slot, NULL));
	assert_int_equal(slot_count, 0);
}

static heap_type_id add_header(heap_type_id last, const char *first)
{
	heap_type_id header = add(&types, HEAP_TYPE_STRUCT, "header", first ? 8 : 4, 0);

	if (first)
		member(&types, header, first, find("int"), 0);
	member(&types, header, "values", last, first ? 4 : 0);
	return header;
}

// The old form of a flexible array has one element. Without a header, its length is a constant.
static void a_single_element_is_flexible_behind_a_header(void **state)
{
	(void)state;
	heap_type_id number = add_int(&types), one = array_of(&types, number, 1);
	heap_type_id none = array_of(&types, number, 0), two = array_of(&types, number, 2);
	uint64_t offset = 0;

	assert_true(heap_types_flexible(&types, add_header(one, "count"), &offset, NULL));
	assert_int_equal(offset, 4);
	assert_true(heap_types_flexible(&types, add_header(none, NULL), NULL, NULL));
	assert_false(heap_types_flexible(&types, add_header(one, NULL), NULL, NULL));
	assert_false(heap_types_flexible(&types, add_header(two, "count"), NULL, NULL));
}

// C++ has no flexible arrays: programs declare one as large as an index allows, and allocate a part of it.
static void a_huge_array_is_flexible(void **state)
{
	(void)state;
	heap_type_id number = add_int(&types), huge = array_of(&types, number, 1 << 29);
	heap_type_id large = array_of(&types, number, 1 << 20);
	uint64_t offset = 0;

	assert_true(heap_types_flexible(&types, add_header(huge, "count"), &offset, NULL));
	assert_int_equal(offset, 4);
	assert_false(heap_types_flexible(&types, add_header(large, "count"), NULL, NULL));
}

// The slots of each type are kept: of a huge array they are those of its first element.
static void slots_of_a_huge_array_are_few(void **state)
{
	(void)state;
	heap_type_id node = add_node(&types, false);
	heap_type_id holder = add(&types, HEAP_TYPE_STRUCT, "holder", 8 + (16ULL << 27), 0);
	struct heap_slot_table table;
	const struct heap_slots *found;

	member(&types, holder, "first", pointer_to(&types, node), 0);
	member(&types, holder, "nodes", array_of(&types, node, 1 << 27), 8);
	assert_null(heap_slot_table_init(&table, &types));
	found = heap_slot_table_get(&table, holder);
	assert_non_null(found);
	assert_int_equal(found->count, 2);
	assert_int_equal(found->list[0].offset, 0);
	assert_int_equal(found->list[1].offset, 16);
	heap_slot_table_deinit(&table);
}

// Members of a union that lead to the same leave no choice.
static void equal_slots_of_a_union_are_one(void **state)
{
	(void)state;
	heap_type_id target = add(&types, HEAP_TYPE_STRUCT, "core", 32, HEAP_NO_TYPE);
	heap_type_id rest = add(&types, HEAP_TYPE_STRUCT, "rest", 32, HEAP_NO_TYPE);
	heap_type_id both = add(&types, HEAP_TYPE_UNION, "both", 8, HEAP_NO_TYPE);
	heap_type_id any = add(&types, HEAP_TYPE_UNION, "any", 8, HEAP_NO_TYPE);
	struct heap_slot_table table;

	member(&types, both, "core", pointer_to(&types, target), 0);
	member(&types, both, "end", pointer_to(&types, target), 0);
	member(&types, any, "core", pointer_to(&types, target), 0);
	member(&types, any, "rest", pointer_to(&types, rest), 0);
	assert_null(heap_slot_table_init(&table, &types));
	assert_int_equal(heap_slot_table_get(&table, both)->count, 1);
	assert_int_equal(heap_slot_table_get(&table, any)->count, 2);
	heap_slot_table_deinit(&table);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, two_tables, no_tables)

UNIT_TESTS("types", TEST(strings_are_kept_once), TEST(strings_of_a_table_without_index_are_found),
	   TEST(equal_structs_become_one), TEST(different_layouts_stay_two),
	   TEST(holders_of_different_structs_stay_two), TEST(declaration_becomes_the_definition),
	   TEST(declaration_finds_the_definition), TEST(declaration_of_an_ambiguous_name_stays_one),
	   TEST(resolve_leads_pointers_to_the_definition),
	   TEST(unnamed_structs_are_compared_by_layout), TEST(unnamed_structs_of_two_lines_are_two),
	   TEST(enums_are_compared_by_values), TEST(merges_into_a_table_that_was_loaded),
	   TEST(what_contains_itself_ends), TEST(deep_chains_end),
	   TEST(sizes_go_through_typedefs_and_arrays), TEST(names_are_as_in_c),
	   TEST(unnamed_structs_are_known_by_their_typedef), TEST(names_are_cut_as_snprintf_does),
	   TEST(names_of_endless_types_end), TEST(finds_by_name_keyword_and_glob),
	   TEST(finds_names_that_are_spelled_in_another_way), TEST(visits_all_pointer_slots),
	   TEST(visit_of_a_doubling_type_ends), TEST(a_single_element_is_flexible_behind_a_header),
	   TEST(a_huge_array_is_flexible), TEST(slots_of_a_huge_array_are_few),
	   TEST(equal_slots_of_a_union_are_one))
