// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory contexts, as database servers have them: blocks that double in size, cut into chunks of powers
 * of 2. Before each chunk stand its size and its context; freed chunks are linked in lists by size. Some
 * blocks have hardly anything but free chunks, to which an old list still leads.
 * Beside it, a heap whose chunks have a word of their own size and two flags, as boundary tags have.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	FIRST_BLOCK = 1024,
	LAST_BLOCK = 16384,
	CLASSES = 9, // of 16 bytes, 32, ...
	HEAP = 65536,
	IN_USE = 1,
	PREVIOUS_IN_USE = 2,
};

// --- contexts -----------------------------------------------------------------

struct chunk {
	size_t size;
	void *context; // the next free chunk of its class while it is free
};

struct block {
	struct context *context;
	struct block *previous, *next;
	char *free, *end;
};

struct context {
	int kind;
	const char *name;
	struct context *parent, *first, *sibling;
	struct block *blocks;
	struct chunk *lists[CLASSES];
	size_t next_size;
};

static struct context *top;

static struct block *block_init(struct block *block, struct context *context, char *end)
{
	*block = (struct block){ context, NULL, context->blocks, (char *)(block + 1), end };
	if (context->blocks)
		context->blocks->previous = block;
	context->blocks = block;
	return block;
}

static struct context *context_create(struct context *parent, const char *name)
{
	struct context *context = POOL(struct context, malloc(FIRST_BLOCK));

	*context = (struct context){ .kind = 7, .name = name, .parent = parent };
	context->next_size = FIRST_BLOCK * 2;
	if (parent) {
		context->sibling = parent->first;
		parent->first = context;
	}
	block_init((struct block *)(context + 1), context, (char *)context + FIRST_BLOCK);
	return context;
}

static int class_of(size_t size)
{
	int class = 0;

	while (((size_t)16 << class) < size)
		class ++;
	return class;
}

static void *chunk_cut(struct block *block, struct context *context, size_t size)
{
	struct chunk *chunk = (struct chunk *)block->free;

	block->free += sizeof(*chunk) + size;
	*chunk = (struct chunk){ size, context };
	return chunk + 1;
}

static struct block *block_add(struct context *context, size_t size)
{
	struct block *block = POOL(struct block, malloc(size));

	return block_init(block, context, (char *)block + size);
}

static void *context_alloc(struct context *context, size_t size)
{
	int class = class_of(size);
	struct block *block = context->blocks;
	struct chunk *chunk;

	size = (size + 7) & ~(size_t)7;
	if (class >= CLASSES)
		return chunk_cut(block_add(context, sizeof(*block) + sizeof(*chunk) + size),
				 context, size);
	chunk = context->lists[class];
	if (chunk) {
		context->lists[class] = chunk->context;
		chunk->context = context;
		return chunk + 1;
	}
	size = (size_t)16 << class;
	if ((size_t)(block->end - block->free) < sizeof(*chunk) + size) {
		block = block_add(context, context->next_size);
		if (context->next_size < LAST_BLOCK)
			context->next_size *= 2;
	}
	return chunk_cut(block, context, size);
}

static void context_free(void *value)
{
	struct chunk *chunk = (struct chunk *)value - 1;
	struct context *context = chunk->context;
	int class = class_of(chunk->size);

	PART_FREE(value);
	chunk->context = context->lists[class];
	context->lists[class] = chunk;
}

#define MAKE(context, T) PART(T, context_alloc(context, sizeof(T)))

static char *context_text(struct context *context, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(PART(char, context_alloc(context, size)), text, size);
}

// --- what lies in contexts ----------------------------------------------------

struct column {
	struct column *next;
	char *name;
	uint32_t type, width;
	struct relation *of;
};

struct relation { // 72 bytes in a chunk of 128
	struct relation *next;
	char *name;
	struct column *columns;
	struct context *context;
	struct index *indices;
	uint64_t rows, pages, id;
	struct column **by_number;
};

struct index { // 40 bytes in 64, as expression
	struct index *next;
	struct relation *of;
	uint64_t root, height, kind;
};

struct expression {
	uint64_t operator;
	struct expression *left, *right;
	struct column *column;
	int64_t constant;
};

struct statement {
	struct statement *next;
	char *source;
	struct expression *where;
	struct relation *from;
	struct context *context;
	uint64_t runs;
};

static struct relation *relations;
static struct statement *statements;

static struct relation *relation_add(struct context *parent, unsigned id)
{
	struct context *own = context_create(parent, "relation");
	struct relation *relation = MAKE(own, struct relation);
	unsigned count = 2 + id % 9;
	char name[40];

	snprintf(name, sizeof(name), "relation number %u", id);
	*relation = (struct relation){ .next = relations, .context = own, .id = id };
	relation->name = context_text(own, name);
	relation->by_number = PART(struct column *, context_alloc(own, count * sizeof(void *)));
	relations = relation;
	for (unsigned i = 0; i < count; i++) {
		struct column *column = MAKE(own, struct column);

		snprintf(name, sizeof(name), "column %u of %u", i, id);
		*column = (struct column){ relation->columns, NULL, i, 8, relation };
		column->name = context_text(own, name);
		relation->by_number[i] = relation->columns = column;
	}
	for (unsigned i = 0; i < id % 4; i++) {
		struct index *index = MAKE(own, struct index);

		*index = (struct index){ relation->indices, relation, id * 3, i, 1 };
		relation->indices = index;
	}
	return relation;
}

static struct expression *parse(struct context *context, struct column *column, int depth)
{
	struct expression *expression = MAKE(context, struct expression);

	*expression = (struct expression){ depth, NULL, NULL, column, depth * 10 };
	if (depth > 0) {
		expression->left = parse(context, column, depth - 1);
		expression->right = parse(context, column->next ? column->next : column, depth - 1);
	}
	return expression;
}

static void prepare(struct context *parent, struct relation *from)
{
	struct context *own = context_create(parent, "statement");
	struct statement *statement = MAKE(own, struct statement);
	char *scratch[20], source[80];

	for (int i = 0; i < 20; i++)
		scratch[i] = context_text(own, "a word that the parser has no use for any more");
	snprintf(source, sizeof(source), "select * from relation_%lu where a = b", from->id);
	*statement = (struct statement){ .next = statements, .from = from, .context = own };
	statement->source = context_text(own, source);
	for (int i = 0; i < 20; i += 2)
		context_free(scratch[i]);
	statement->where = parse(own, from->columns, 4);
	for (int i = 1; i < 20; i += 2)
		context_free(scratch[i]);
	statements = statement;
}

// --- what has been freed --------------------------------------------------------

struct lock {
	struct lock *next;
	struct relation *of;
	uint64_t holders[10];
};

static struct lock *held, *old_locks; // all but the one that is held have been released

// Takes many locks, and releases all but the first one.
static void lock_all(struct context *parent)
{
	struct context *own = context_create(parent, "locks");

	for (unsigned i = 0; i < 600; i++) {
		struct lock *lock = MAKE(own, struct lock);

		*lock = (struct lock){ old_locks, relations, { i } };
		old_locks = lock;
		held = held ? held : lock;
	}
	for (struct lock *lock = old_locks, *next; lock->next; lock = next) {
		next = lock->next;
		context_free(lock);
	}
}

// --- boundary tags ------------------------------------------------------------

struct span { // before each piece; size counts it too
	size_t size_and_flags;
};

struct region {
	struct region *next;
	char *at, *end;
	size_t total;
};

struct shape {
	struct shape *next;
	struct point *points;
	uint64_t color, layer;
};

struct point {
	struct point *next;
	double x, y, z;
	struct shape *shape;
};

static struct region *regions;
static struct shape *shapes;

static void *region_take(size_t size)
{
	struct region *region = regions;
	struct span *span;

	size = (sizeof(*span) + size + 7) & ~(size_t)7;
	if (!region || (size_t)(region->end - region->at) < size) {
		region = POOL(struct region, malloc(HEAP));
		*region =
			(struct region){ regions, (char *)(region + 1), (char *)region + HEAP, 0 };
		regions = region;
	}
	span = (struct span *)region->at;
	span->size_and_flags = size | IN_USE | PREVIOUS_IN_USE;
	region->at += size;
	region->total += size;
	return span + 1;
}

static void draw(unsigned number)
{
	struct shape *shape = PART(struct shape, region_take(sizeof(*shape)));

	*shape = (struct shape){ shapes, NULL, number, number % 7 };
	shapes = shape;
	for (unsigned i = 0; i < 3 + number % 5; i++) {
		struct point *point = PART(struct point, region_take(sizeof(*point)));

		*point = (struct point){ shape->points, i, number, 0.5, shape };
		shape->points = point;
	}
}

int main(void)
{
	struct context *catalog, *plans;

	top = context_create(NULL, "top");
	catalog = context_create(top, "catalog");
	plans = context_create(top, "plans");
	for (unsigned i = 0; i < 200; i++)
		relation_add(catalog, i);
	for (struct relation *relation = relations; relation; relation = relation->next)
		if (relation->id % 2)
			prepare(plans, relation);
	lock_all(top);
	for (unsigned i = 0; i < 3000; i++)
		draw(i);
	truth_capture();
	printf("%p %p %p %p\n", (void *)statements, (void *)shapes, (void *)old_locks,
	       (void *)held);
	return 0;
}
