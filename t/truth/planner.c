// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A query planner: trees of nodes whose first member, an enum, names their struct, in zones that round
 * chunks up to powers of 2. Lists hold nodes by void *. A catalog keeps its entries behind the links of a
 * hash table that knows only their size, and rows begin with their own length. A table of groups lies
 * where something else was, to which old pointers still lead.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	ZONE_BLOCK = 8192,
	LEAST_CHUNK = 16,
	BUCKETS = 64,
	ENTRIES_AT_ONCE = 16,
};

// --- zones --------------------------------------------------------------------

struct zone_block {
	struct zone_block *next;
	char *free, *end;
};

struct zone {
	struct zone_block *blocks;
	const char *name;
};

struct chunk_head {
	struct zone *zone;
	size_t size;
};

static void *zone_take(struct zone *zone, size_t size)
{
	struct zone_block *block = zone->blocks;
	struct chunk_head *head;
	size_t rounded = LEAST_CHUNK;

	while (rounded < size)
		rounded *= 2;
	if (!block || (size_t)(block->end - block->free) < sizeof(*head) + rounded) {
		size_t bytes = rounded > ZONE_BLOCK / 4 ? rounded * 2 : ZONE_BLOCK;

		block = POOL(struct zone_block, malloc(bytes));
		*block = (struct zone_block){ zone->blocks, (char *)(block + 1),
					      (char *)block + bytes };
		zone->blocks = block;
	}
	head = (struct chunk_head *)block->free;
	*head = (struct chunk_head){ zone, rounded };
	block->free += sizeof(*head) + rounded;
	return memset(head + 1, 0, rounded);
}

#define TAKE(zone, T) PART(T, zone_take(zone, sizeof(T)))

static char *zone_text(struct zone *zone, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(PART(char, zone_take(zone, size)), text, size);
}

// --- nodes --------------------------------------------------------------------

enum node_tag {
	NODE_INVALID,
	NODE_LIST,
	NODE_LITERAL,
	NODE_COLUMN_REF,
	NODE_OPERATOR_CALL,
	NODE_QUERY,
	NODE_PLAN, // abstract
	NODE_SEQ_SCAN,
	NODE_INDEX_SCAN,
	NODE_HASH_JOIN,
	NODE_SORT,
	NODE_UNUSED,
};

struct node {
	enum node_tag tag;
};

union cell {
	void *pointer;
	int number;
};

struct list {
	enum node_tag tag;
	int length, room;
	union cell *cells; // those that follow, at first
	union cell first[];
};

struct expression {
	enum node_tag tag;
	int location;
};

struct literal {
	struct expression base;
	int64_t value;
	bool is_null;
};

struct column_ref {
	struct expression base;
	unsigned relation, column;
	char *name;
};

struct operator_call {
	struct expression base;
	unsigned code;
	struct list *arguments;
};

struct query {
	enum node_tag tag;
	char *source;
	struct list *targets;
	struct expression *where;
	struct plan *plan;
};

struct plan {
	enum node_tag tag;
	double cost, rows;
	struct plan *left, *right;
	struct list *targets;
};

struct seq_scan {
	struct plan plan;
	unsigned relation;
};

struct index_scan { // in a chunk as large as that of seq_scan
	struct plan plan;
	unsigned index;
};

struct hash_join {
	struct plan plan;
	struct list *clauses;
	unsigned buckets, batches;
	void *first_row;
};

struct sort {
	struct plan plan;
	unsigned count;
	unsigned *columns;
	bool *directions;
};

struct planner {
	struct zone *zone;
	struct list *queries;
	struct catalog *catalog;
	struct groups *groups;
	struct cursor *cursors[8];
};

static struct planner *planner;

#define MAKE(zone, T, tag_) ((T *)set_tag(TAKE(zone, T), tag_))

static void *set_tag(void *value, enum node_tag tag)
{
	((struct node *)value)->tag = tag;
	return value;
}

static struct list *list_append(struct zone *zone, struct list *list, void *node)
{
	if (!list) {
		list = zone_take(zone, sizeof(*list) + 4 * sizeof(union cell));
		PART(struct list, list)->tag = NODE_LIST;
		list->room = 4;
		list->cells = list->first;
		for (int i = 0; i < list->room; i++) // old bytes, as of memory that is not cleared
			list->first[i].pointer = zone->blocks->free - 64;
	}
	if (list->length == list->room) {
		union cell *cells =
			PART(union cell, zone_take(zone, 2 * list->room * sizeof(union cell)));

		memcpy(cells, list->cells, list->length * sizeof(*cells));
		if (list->cells != list->first)
			PART_FREE(list->cells);
		list->cells = cells;
		list->room *= 2;
	}
	list->cells[list->length++].pointer = node;
	return list;
}

static struct expression *make_expression(struct zone *zone, unsigned number, int depth)
{
	char name[32];

	if (depth == 0 && number % 3 == 0) {
		struct literal *literal = MAKE(zone, struct literal, NODE_LITERAL);

		literal->value = number;
		return &literal->base;
	}
	if (depth == 0) {
		struct column_ref *column = MAKE(zone, struct column_ref, NODE_COLUMN_REF);

		snprintf(name, sizeof(name), "column_%u", number);
		column->column = number;
		column->name = zone_text(zone, name);
		return &column->base;
	}

	struct operator_call *call = MAKE(zone, struct operator_call, NODE_OPERATOR_CALL);

	call->code = 96 + number % 5;
	for (unsigned i = 0; i < 2 + number % 4; i++)
		call->arguments = list_append(zone, call->arguments,
					      make_expression(zone, number + i, depth - 1));
	return &call->base;
}

// --- rows ---------------------------------------------------------------------

struct row {
	uint32_t length; // of all of it
	uint16_t fields, flags;
	char data[];
};

struct stored_row { // of a join's table
	struct stored_row *next;
	uint32_t hash;
};

static void *make_row(struct zone *zone, unsigned number)
{
	uint32_t length = sizeof(struct row) + 20 + number % 7 * 8;
	struct row *row = PART(struct row, zone_take(zone, length));

	*row = (struct row){ length, 3, 0 };
	for (uint32_t i = sizeof(*row); i < length; i++)
		((char *)row)[i] = (char)(number * 37 + i);
	return row;
}

// --- plans --------------------------------------------------------------------

static struct plan *make_plan(struct zone *zone, unsigned number, int depth)
{
	struct plan *plan;

	if (depth > 0 && number % 2) {
		struct hash_join *join = MAKE(zone, struct hash_join, NODE_HASH_JOIN);

		join->clauses = list_append(zone, NULL, make_expression(zone, number, 1));
		join->first_row = make_row(zone, number);
		join->buckets = 16;
		plan = &join->plan;
		plan->right = make_plan(zone, number / 2, depth - 1);
	} else if (depth > 0) {
		struct sort *sort = MAKE(zone, struct sort, NODE_SORT);

		sort->count = 3;
		sort->columns = PART(unsigned, zone_take(zone, 3 * sizeof(unsigned)));
		plan = &sort->plan;
	} else if (number % 3) {
		struct seq_scan *scan = MAKE(zone, struct seq_scan, NODE_SEQ_SCAN);

		scan->relation = number;
		return &scan->plan;
	} else {
		struct index_scan *scan = MAKE(zone, struct index_scan, NODE_INDEX_SCAN);

		scan->index = number;
		return &scan->plan;
	}
	plan->cost = number * 1.5;
	plan->left = make_plan(zone, number / 3, depth - 1);
	plan->targets = list_append(zone, NULL, make_expression(zone, number, 0));
	return plan;
}

static struct query *make_query(struct zone *zone, unsigned number)
{
	struct query *query = MAKE(zone, struct query, NODE_QUERY);
	char source[64];

	snprintf(source, sizeof(source), "select %u from t%u where x", number, number % 90);
	query->source = zone_text(zone, source);
	for (unsigned i = 0; i < 1 + number % 6; i++)
		query->targets =
			list_append(zone, query->targets, make_expression(zone, number + i, 1));
	query->where = make_expression(zone, number, 2);
	query->plan = make_plan(zone, number, 3);
	return query;
}

// --- groups -------------------------------------------------------------------

struct group {
	struct row *first;
	struct row *largest;
	uint32_t status, hash;
};

struct groups {
	uint64_t size, members;
	struct group *data;
	struct zone *zone;
};

struct cursor { // old: what it points to has been freed
	struct plan *plan;
	struct query *query;
	uint64_t position;
};

static struct groups *make_groups(struct zone *zone, uint64_t size)
{
	struct groups *groups = TAKE(zone, struct groups);

	*groups = (struct groups){ .size = size, .zone = zone };
	groups->data = PART(struct group, zone_take(zone, size * sizeof(struct group)));
	for (uint64_t i = 0; i < size * 5 / 8; i++) {
		struct group *group = &groups->data[i * 769 % size];

		*group = (struct group){ make_row(zone, (unsigned)i), NULL, 1, (uint32_t)i };
		if (i % 3)
			group->largest = make_row(zone, (unsigned)i + 1);
		groups->members++;
	}
	return groups;
}

static struct cursor *make_cursor(struct zone *zone, const struct groups *groups, unsigned at)
{
	struct cursor *cursor = TAKE(zone, struct cursor);

	cursor->plan = (struct plan *)((char *)groups->data + at * 1000);
	cursor->query = (struct query *)((char *)groups->data + at * 1000 + 400);
	return cursor;
}

// --- the catalog --------------------------------------------------------------

struct link { // before each entry
	struct link *next;
	uint32_t hash;
};

struct table {
	size_t key_size, entry_size;
	uint32_t count;
	struct link *spare;
	struct link *buckets[BUCKETS];
};

struct relation {
	uint64_t id;
	char *name;
	struct relation *parent;
	double rows, pages;
	struct list *columns;
	void *options;
	uint64_t flags[9];
};

struct relation_entry {
	uint32_t id;
	struct relation *relation;
};

struct catalog {
	struct zone *zone;
	struct table *by_id;
	struct row *rows[20]; // of its own tables; plans have theirs by void *
};

static void table_grow(struct zone *zone, struct table *table)
{
	size_t size = sizeof(struct link) + table->entry_size;
	char *elements = zone_take(zone, ENTRIES_AT_ONCE * size);

	for (int i = 0; i < ENTRIES_AT_ONCE; i++) {
		struct link *link = PART(struct link, (struct link *)(elements + i * size));

		link->next = table->spare;
		table->spare = link;
	}
}

static void *table_enter(struct zone *zone, struct table *table, const void *key)
{
	uint32_t hash = *(const uint32_t *)key * 2654435761u;
	struct link *link;

	if (!table->spare)
		table_grow(zone, table);
	link = table->spare;
	table->spare = link->next;
	*link = (struct link){ table->buckets[hash % BUCKETS], hash };
	table->buckets[hash % BUCKETS] = link;
	table->count++;
	return memcpy(link + 1, key, table->key_size);
}

static void catalog_fill(struct catalog *catalog, unsigned count)
{
	struct relation *last = NULL;

	for (uint32_t id = 1; id <= count; id++) {
		struct relation_entry *entry = PART(
			struct relation_entry, table_enter(catalog->zone, catalog->by_id, &id));
		char name[40];

		snprintf(name, sizeof(name), "relation number %u", id);
		entry->relation = TAKE(catalog->zone, struct relation);
		*entry->relation = (struct relation){ .id = id, .rows = id * 10.0 };
		entry->relation->name = zone_text(catalog->zone, name);
		entry->relation->parent = id % 5 ? last : NULL;
		for (unsigned i = 0; i < 1 + id % 3; i++)
			entry->relation->columns =
				list_append(catalog->zone, entry->relation->columns,
					    make_expression(catalog->zone, 3 * i + 1, 0));
		last = entry->relation;
	}
}

int main(void)
{
	struct zone *zone = NEW(struct zone), *own = NEW(struct zone);

	*zone = (struct zone){ NULL, "planner" };
	*own = (struct zone){ NULL, "catalog" };
	planner = NEW(struct planner);
	*planner = (struct planner){ .zone = zone, .catalog = NEW(struct catalog) };
	*planner->catalog = (struct catalog){ .zone = own, .by_id = TAKE(own, struct table) };
	*planner->catalog->by_id = (struct table){ .key_size = sizeof(uint32_t),
						   .entry_size = sizeof(struct relation_entry) };
	catalog_fill(planner->catalog, 300);
	for (unsigned i = 0; i < 20; i++)
		planner->catalog->rows[i] = make_row(own, i);
	for (unsigned i = 0; i < 400; i++)
		planner->queries = list_append(zone, planner->queries, make_query(zone, i));
	planner->groups = make_groups(zone, 1024);
	for (unsigned i = 0; i < 8; i++)
		planner->cursors[i] = make_cursor(zone, planner->groups, i + 1);
	truth_capture();
	printf("%p\n", (void *)planner);
	return 0;
}
