// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/classes/template_nodes.h"
#include "dumper/writer/infer/classes/type_copies.h"

#include <stdio.h>
#include <string.h>

enum {
	WORD = 8,
	MANY = 3000, // instances of a template
};

struct field {
	const char *name;
	heap_type_id type;
	uint64_t offset;
	uint8_t flags;
};

static struct heap_types types;
static heap_type_id link_type, core,
	number; // struct link { link *next, *prev; }; struct core { link *first; long n; };

static heap_type_id add_named(enum heap_type_kind kind, const char *name, uint64_t size)
{
	struct heap_type type = { .kind = (uint8_t)kind, .size = size };
	heap_type_id result;

	assert_null(heap_types_add_string(&types, name, &type.name));
	assert_null(heap_types_add(&types, &type, &result));
	return result;
}

static heap_type_id pointer_to(heap_type_id target)
{
	heap_type_id result;

	assert_null(type_copies_add_pointer(&types, target, &result));
	return result;
}

static void add_fields(heap_type_id id, const struct field *fields, uint32_t count)
{
	types.types[id].first_member = types.member_count;
	types.types[id].members = count;
	for (uint32_t i = 0; i < count; i++) {
		struct heap_member member = { .type = fields[i].type,
					      .offset = fields[i].offset,
					      .flags = fields[i].flags };

		assert_null(heap_types_add_string(&types, fields[i].name, &member.name));
		assert_null(heap_types_add_member(&types, &member));
	}
}

#define ADD_FIELDS(id, ...) \
	add_fields(id, (const struct field[]){ __VA_ARGS__ }, \
		   sizeof((const struct field[]){ __VA_ARGS__ }) / sizeof(struct field))

// class NAME { core *data; }
static heap_type_id add_container(const char *name)
{
	heap_type_id id = add_named(HEAP_TYPE_CLASS, name, WORD);

	ADD_FIELDS(id, { "data", pointer_to(core), 0, 0 });
	return id;
}

// struct NAME : link { VALUE value; }
static heap_type_id add_node(const char *name, heap_type_id value)
{
	heap_type_id id =
		add_named(HEAP_TYPE_STRUCT, name, 2 * WORD + heap_types_size(&types, value));

	ADD_FIELDS(id, { "link", link_type, 0, HEAP_MEMBER_BASE }, { "value", value, 2 * WORD, 0 });
	return id;
}

static int make_table(void **state)
{
	heap_type_id to_link;

	(void)state;
	assert_null(heap_types_init(&types));
	number = add_named(HEAP_TYPE_BASE, "long", WORD);
	link_type = add_named(HEAP_TYPE_STRUCT, "link", 2 * WORD);
	to_link = pointer_to(link_type);
	ADD_FIELDS(link_type, { "next", to_link, 0, 0 }, { "prev", to_link, WORD, 0 });
	core = add_named(HEAP_TYPE_STRUCT, "core", 2 * WORD);
	ADD_FIELDS(core, { "first", to_link, 0, 0 }, { "n", number, WORD, 0 });
	return 0;
}

static int free_table(void **state)
{
	(void)state;
	heap_types_deinit(&types);
	return 0;
}

static heap_type_id member_of(heap_type_id id, uint32_t member)
{
	assert_true(member < types.types[id].members);
	return types.members[types.types[id].first_member + member].type;
}

static heap_type_id pointee_of(heap_type_id id, uint32_t member)
{
	return heap_types_pointee(&types, member_of(id, member));
}

// The node to which a container leads by its core.
static heap_type_id node_of(heap_type_id container)
{
	heap_type_id own = pointee_of(container, 0);

	assert_int_equal(types.types[own].name, types.types[core].name);
	return pointee_of(own, 0);
}

static void equal_arguments_tell_nodes(void **state)
{
	heap_type_id cities = add_container("Hash<long, city>"),
		     roads = add_container("Hash<long, road>"),
		     city = add_node("Node<long, city>", number),
		     road = add_node("Node<long, road>", number);

	(void)state;
	assert_null(template_nodes_complete(&types));
	assert_int_equal(node_of(cities), city);
	assert_int_equal(node_of(roads), road);
	// Each leads to its own kind, and the part that both share is as it was.
	assert_int_equal(pointee_of(member_of(city, 0), 0), city);
	assert_int_equal(pointee_of(member_of(road, 0), 1), road);
	assert_int_equal(pointee_of(core, 0), link_type);
	assert_int_equal(pointee_of(link_type, 0), link_type);
}

static void first_arguments_tell_nodes(void **state)
{
	heap_type_id map = add_container("Map<long, city, less<long> >"),
		     other = add_container("Map<city, long, less<city> >"),
		     node = add_node("Node<long, city>", number);

	(void)state;
	assert_null(template_nodes_complete(&types));
	assert_int_equal(node_of(map), node);
	assert_int_equal(node_of(other), node); // for want of a better one
}

static void better_nodes_come_first(void **state)
{
	heap_type_id map = add_container("Map<long, city>");

	add_node("Node<city, long>", number);
	add_node("Node<long>", number);

	heap_type_id equal = add_node("Node<long, city>", number);

	(void)state;
	assert_null(template_nodes_complete(&types));
	assert_int_equal(node_of(map), equal);
}

static void containers_in_nodes_keep_theirs(void **state)
{
	heap_type_id inner = add_container("Hash<long, city>"),
		     outer = add_container("Hash<long, Hash<long, city> >"),
		     city = add_node("Node<long, city>", number),
		     node = add_node("Node<long, Hash<long, city> >", inner);

	(void)state;
	assert_null(template_nodes_complete(&types));
	assert_int_equal(node_of(inner), city);
	assert_int_equal(node_of(outer), node);
	assert_int_equal(member_of(node, 1), inner);
}

// struct List<city> : link { long n; }
static void heads_may_begin_with_the_link(void **state)
{
	heap_type_id city = add_named(HEAP_TYPE_STRUCT, "city", WORD);
	heap_type_id node = add_node("Node<city>", city), list = add_node("List<city>", number);

	(void)state;
	assert_null(template_nodes_complete(&types));
	assert_int_equal(pointee_of(member_of(list, 0), 0), node);
	assert_int_equal(pointee_of(member_of(node, 0), 0), node);
}

static void ambiguous_nodes_are_left_alone(void **state)
{
	heap_type_id bag = add_container("Bag<city>");

	add_node("Node<city>", number);
	add_node("Leaf<city>", number);

	heap_type_id before = types.count;

	(void)state;
	assert_null(template_nodes_complete(&types));
	assert_int_equal(pointee_of(bag, 0), core);
	assert_int_equal(types.count, before);
}

static void shared_bases_are_left_alone(void **state)
{
	heap_type_id bag = add_container("Bag<city>"), queue = add_container("Queue<city>"),
		     node = add_node("Queue<city>::Node", number);

	(void)state;
	add_node("Node<city>", number);
	add_node("window", number);
	assert_null(template_nodes_complete(&types));
	assert_int_equal(pointee_of(bag, 0), core);
	assert_int_equal(node_of(queue), node); // declared inside, it can be no other's
}

static void classes_without_their_link_are_left_alone(void **state)
{
	heap_type_id box = add_named(HEAP_TYPE_CLASS, "Box<city>", WORD);

	(void)state;
	ADD_FIELDS(box, { "value", pointer_to(number), 0, 0 });
	add_node("Node<city>", number);

	heap_type_id before = types.count;

	assert_null(template_nodes_complete(&types));
	assert_int_equal(types.count, before);
}

// struct ring { union { ring *end; link *first; }; }: an end has the place of the first node.
static void ends_are_no_nodes(void **state)
{
	heap_type_id ring = add_named(HEAP_TYPE_STRUCT, "ring", WORD),
		     first = add_named(HEAP_TYPE_UNION, "", WORD),
		     list = add_named(HEAP_TYPE_CLASS, "List<city>", WORD);

	(void)state;
	ADD_FIELDS(first, { "end", pointer_to(ring), 0, 0 },
		   { "first", pointer_to(link_type), 0, 0 });
	ADD_FIELDS(ring, { "", first, 0, 0 });
	ADD_FIELDS(list, { "data", pointer_to(ring), 0, 0 });
	add_node("Node<city>", number);
	assert_null(template_nodes_complete(&types));

	heap_type_id own = pointee_of(list, 0);

	assert_int_not_equal(own, ring);
	assert_int_equal(pointee_of(member_of(own, 0), 0), own);
	assert_int_equal(pointee_of(member_of(own, 0), 1), own);
	assert_int_equal(pointee_of(first, 1), link_type);
}

// All have a first argument in common. Only pairs that have the other one, too, are compared.
static void many_instances_take_no_time(void **state)
{
	heap_type_id last = HEAP_NO_TYPE, node = HEAP_NO_TYPE;
	uint64_t steps = progress_total_steps();
	char name[32];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "Hash<long, %d>", i);
		last = add_container(name);
		snprintf(name, sizeof(name), "Node<long, %d>", i);
		node = add_node(name, number);
	}
	assert_null(template_nodes_complete(&types));
	progress_flush();
	assert_int_equal(node_of(last), node);
	assert_true(progress_total_steps() - steps < (uint64_t)MANY * 10);
}

static void copies_have_a_first_version(void **state)
{
	heap_type_id first[256], cities = add_container("Hash<long, city>");

	(void)state;
	add_node("Node<long, city>", number);

	heap_type_id count = types.count;

	assert_null(template_nodes_complete(&types));
	assert_true(types.count <= sizeof(first) / sizeof(first[0]));
	assert_null(type_copies_find_first(&types, count, first));
	assert_true(pointee_of(cities, 0) >= count);
	assert_int_equal(first[pointee_of(cities, 0)], core);
	assert_int_equal(heap_types_pointee(&types, first[member_of(cities, 0)]), core);
	for (heap_type_id id = 0; id < count; id++) {
		if (types.types[id].kind != HEAP_TYPE_POINTER)
			assert_int_equal(first[id], id);
	}
}

// As of one header that two files include, each with a macro of its own.
static void structs_of_the_program_stay_apart(void **state)
{
	heap_type_id first[64], cells[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		cells[i] = add_named(HEAP_TYPE_STRUCT, "cell", WORD);
		ADD_FIELDS(cells[i], { "value", pointer_to(i == 0 ? core : link_type), 0, 0 });
	}

	heap_type_id count = types.count, node = add_node("Node<city>", number), copy;
	struct type_copies copies = { .types = &types, .base = link_type, .node = node };

	assert_null(type_copies_make(&copies, cells[1], &copy));
	assert_int_not_equal(copy, cells[1]);
	assert_null(type_copies_find_first(&types, count, first));
	assert_int_equal(first[cells[0]], cells[0]);
	assert_int_equal(first[cells[1]], cells[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_table, free_table)

UNIT_TESTS("copies of types", TEST(equal_arguments_tell_nodes), TEST(first_arguments_tell_nodes),
	   TEST(better_nodes_come_first), TEST(containers_in_nodes_keep_theirs),
	   TEST(heads_may_begin_with_the_link), TEST(ambiguous_nodes_are_left_alone),
	   TEST(shared_bases_are_left_alone), TEST(classes_without_their_link_are_left_alone),
	   TEST(ends_are_no_nodes), TEST(many_instances_take_no_time),
	   TEST(copies_have_a_first_version), TEST(structs_of_the_program_stay_apart))
