// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The shapes and labels of a drawing. A label's union leads to its lines, but for the only label that leads to a
 * table, and of the two numbers behind it that of the alignment tells nothing of that: all labels with the
 * table's alignment have lines. And the corners of a shape are an array of points, which may be of the
 * size of a struct that begins with the same two coordinates by chance.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct point {
	double x, y;
};

// A corner of an outline that is drawn in several widths.
struct corner {
	double x, y, length;
	char kind;
	double direction, before;
	int bevel;
	double after;
};

struct span {
	char *text;
	struct font *font;
	void *layout;
	void (*free_layout)(void *);
	double offset, centre;
	struct point size;
	char align;
};

struct font {
	char *name;
	double size;
	uint32_t colour;
};

struct table {
	union {
		struct table_body *body;
		struct span *text;
	} u;
	char kind;
};

struct table_body {
	int rows, columns;
	struct font *font;
};

struct label {
	char *text;
	struct font *font;
	double size;
	struct point dimensions, space, place;
	union {
		struct {
			struct span *spans;
			short count;
		} lines;
		struct table *table;
	} u;
	char align;
	bool is_set, is_table;
};

struct shape {
	int sides, outlines;
	double angle;
	struct point *corners;
	struct label *label;
	struct shape *next;
};

struct edge {
	struct label *label;
	struct point *curve;
	size_t points;
	struct edge *next;
};

enum {
	SHAPES = 600,
	EDGES = 900,
};

struct drawing {
	struct font *fonts[2];
	struct shape *shapes;
	struct edge *edges;
	struct corner *outline;
} drawing;

static char *copy(const char *format, int number)
{
	char buffer[64];
	int length = snprintf(buffer, sizeof(buffer), format, number);

	return memcpy(NEW_TEXT((size_t)length + 1), buffer, (size_t)length + 1);
}

__attribute__((noinline)) static void add_line(struct label *label, char *text)
{
	struct span *span;

	label->u.lines.spans = NEW_ZEROED_ARRAY(struct span, (size_t)label->u.lines.count + 2);
	span = &label->u.lines.spans[label->u.lines.count++];
	span->text = text;
	span->font = label->font;
	span->centre = label->size * 0.1;
	span->size = (struct point){ label->size * 6, label->size * 1.2 };
	span->align = 'n';
}

__attribute__((noinline)) static struct label *make_label(int number, char align)
{
	struct label *label = NEW_ZEROED(struct label);

	label->text = copy("the text of number %d", number);
	label->font = drawing.fonts[number % 2];
	label->size = 10 + number % 7;
	label->align = align;
	return label;
}

static struct label *make_lines(int number, char align)
{
	struct label *label = make_label(number, align);

	add_line(label, copy("number %d", number));
	return label;
}

static struct label *make_table(int number)
{
	struct label *label = make_label(number, 'c');
	struct table *table = NEW_ZEROED(struct table);

	table->u.body = NEW_ZEROED(struct table_body);
	table->u.body->font = label->font;
	table->u.body->rows = 2;
	table->kind = 1;
	label->u.table = table;
	label->is_table = true;
	return label;
}

static double any(void)
{
	return (double)(int64_t)(next() % 20000) / 64 - 150;
}

__attribute__((noinline)) static struct point *make_corners(int sides, int outlines)
{
	size_t count = (size_t)sides * (size_t)outlines;
	struct point *corners = NEW_ARRAY(struct point, count);

	for (size_t i = 0; i < count; i++)
		corners[i] = (struct point){ any(), any() };
	return corners;
}

static void add_shape(int number)
{
	struct shape *shape = NEW_ZEROED(struct shape);

	shape->sides = 4;
	shape->outlines = 1;
	shape->angle = any();
	shape->corners = make_corners(shape->sides, shape->outlines);
	shape->label = number == SHAPES / 2 ? make_table(number) : make_lines(number, 'c');
	shape->next = drawing.shapes;
	drawing.shapes = shape;
}

static void add_edge(int number)
{
	struct edge *edge = NEW_ZEROED(struct edge);

	edge->points = 4 + 3 * (next() % 3);
	edge->curve = NEW_ARRAY(struct point, edge->points);
	for (size_t i = 0; i < edge->points; i++)
		edge->curve[i] = (struct point){ any(), any() };
	edge->label = make_lines(number, 0);
	edge->next = drawing.edges;
	drawing.edges = edge;
}

static void make_outline(void)
{
	drawing.outline = NEW_ZEROED_ARRAY(struct corner, 20);
	for (int i = 0; i < 20; i++) {
		drawing.outline[i] = (struct corner){ .x = any(), .y = any(), .length = any() };
		drawing.outline[i].direction = any();
		drawing.outline[i].bevel = i % 2;
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		drawing.fonts[i] = NEW_ZEROED(struct font);
		drawing.fonts[i]->name = copy("Font %d", i);
		drawing.fonts[i]->size = 12 + i;
	}
	for (int i = 0; i < SHAPES; i++)
		add_shape(i);
	for (int i = 0; i < EDGES; i++)
		add_edge(i);
	make_outline();
	truth_capture();
	return 0;
}
