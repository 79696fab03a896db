// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Inheritance as C does it: structs that begin with the members of another one, written out again or in one member, and
 * to which all pointers are of the smaller one. Beside these are blocks of the smaller one, arrays of it, chunks with
 * a rest behind it, and pointers to where something else is now.
 */
#include "t/truth/extensions.h"
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	TABLES = 50,
	NODES = 40,
	SHAPES = 900,
	CACHES = 60,
	RECENT = 64,
	ROWS = 30,
	PAGES = 40,
};

struct node {
	struct node *next;
	char *name;
	int flags;
	long value[2];
};

struct table {
	int size, count;
	struct node **nodes;
	void *data[10];
	void (*visit[3])(struct node *);
};

struct index {
	int size, count;
	struct node **nodes;
	void *data[10];
	void (*visit[3])(struct node *);
	long scans;
};

struct shape {
	struct shape *next;
	char *label;
	int layer;
};

struct circle {
	struct shape shape;
	double radius;
};

struct link_shape {
	struct shape shape;
	struct style *style;
};

struct style {
	unsigned colour;
	char *font;
};

struct column {
	char *title;
	unsigned long width;
	struct node *first;
};

struct sorted_column {
	struct column column;
	int order;
};

struct page {
	struct page *next;
	char *title;
	unsigned long words[136];
};

struct noted_page {
	struct page page;
	unsigned long note;
};

struct visitor {
	struct visitor *older;
	char *address;
	unsigned long visits, seen[140];
};

static struct table *tables[TABLES];
static struct shape *shapes;
static struct cache *caches[CACHES];
static struct visitor *recent[RECENT];
static void *blobs[RECENT];
static struct column *rows[ROWS];
static struct page *pages;
static void *guards[PAGES];
struct noted_page noted;
struct sorted_column sorted;

static void visit(struct node *node)
{
	node->flags |= 1;
}

static char *name_of(const char *what, int number)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %d", what, number);
	return TEXT(strdup(text));
}

static void add(struct table *table, int number)
{
	struct node *node = NEW_ZEROED(struct node);
	struct node **at = &table->nodes[number % table->size];

	node->name = name_of("node", number);
	node->flags = number;
	node->next = *at;
	*at = node;
	table->count++;
}

static struct table *make_table(int size)
{
	struct index *index = NEW_ZEROED(struct index);

	index->size = size;
	index->nodes = NEW_ZEROED_ARRAY(struct node *, size);
	index->visit[0] = visit;
	index->scans = 3;
	return (struct table *)index;
}

static void add_shape(struct shape *shape, int number)
{
	shape->label = name_of("shape", number);
	shape->layer = number % 7;
	shape->next = shapes;
	shapes = shape;
}

static void add_circle(int number)
{
	struct circle *circle = NEW(struct circle);

	circle->radius = 0.5 + number;
	add_shape(&circle->shape, number);
}

static void add_link_shape(int number)
{
	struct link_shape *link = NEW(struct link_shape);

	link->style = NEW(struct style);
	link->style->colour = 0xff8000u + number;
	link->style->font = name_of("font", number);
	add_shape(&link->shape, number);
}

// The array keeps pointers to visitors that have left. Larger blocks begin there now, to which nothing else leads.
static void visit_and_leave(void)
{
	void *more[RECENT];

	for (int i = 0; i < RECENT; i++) {
		recent[i] = calloc(1, sizeof(struct visitor));
		more[i] = malloc(sizeof(struct visitor));
		recent[i]->address = name_of("address", i);
	}
	for (int i = 0; i < RECENT; i++) {
		free(recent[i]);
		free(more[i]);
	}
	for (int i = 0; i < RECENT; i++) {
		unsigned long *blob = NEW_ARRAY(unsigned long, 2 * sizeof(struct visitor) / 8);

		for (size_t j = 0; j < 2 * sizeof(struct visitor) / 8; j++)
			blob[j] = next();
		blobs[i] = blob;
	}
}

static struct column *make_row(int count, int row)
{
	struct column *columns = NEW_ZEROED_ARRAY(struct column, count);

	for (int i = 0; i < count; i++) {
		columns[i].title = name_of("column", row * 100 + i);
		columns[i].width = 8 + i;
	}
	return columns;
}

// Where a free chunk is larger than the page by less than a chunk needs, the page gets all of it.
static void add_page(int number)
{
	if (number % 4 == 0) {
		void *larger = malloc(sizeof(struct page) + 16);

		guards[number] = NEW_TEXT(40);
		strcpy(guards[number], "guard");
		free(larger);
	}

	struct page *page = NEW_ZEROED(struct page);

	page->title = name_of("page", number);
	page->next = pages;
	pages = page;
}

int main(void)
{
	unsigned long sum = sorted.order + noted.note;

	for (int i = 0; i < PAGES; i++)
		add_page(i);
	for (int i = 0; i < TABLES; i++) {
		tables[i] = make_table(17);
		for (int j = 0; j < NODES; j++)
			add(tables[i], j);
	}
	for (int i = 0; i < SHAPES; i++)
		(next() % 2 ? add_circle : add_link_shape)(i);
	for (int i = 0; i < CACHES; i++) {
		caches[i] = cache_create("cache");
		for (int j = 0; j < 20; j++)
			cache_add(caches[i], "cached");
	}
	for (int i = 0; i < ROWS; i++)
		rows[i] = make_row(2 + i % 9, i);
	visit_and_leave();
	truth_capture();
	for (int i = 0; i < TABLES; i++)
		sum += tables[i]->count + caches[i]->count;
	printf("%lu\n", sum + shapes->layer + pages->words[3] + (blobs[3] != NULL) +
				rows[3]->width + (recent[4] != NULL));
	return 0;
}
