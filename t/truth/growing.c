// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Arrays that grow by macros, as of three libraries: their length and room stand before the elements, as numbers of 4
 * bytes, as numbers of elements or of bytes. Each struct has some, and global variables lead to a single one.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	SHEETS = 40,
	ROWS = 30,
	NAMES = 7,
};

// The heads of three libraries: one saves bytes, one counts elements and one counts bytes.
struct short_head {
	uint32_t room, length;
};

struct long_head {
	size_t length, room;
};

struct byte_head {
	size_t bytes;
	uint32_t length, generation;
};

static void *grow(void *old, size_t head, size_t bytes, const char *type)
{
	int forgotten = old ? truth_forget(old) : 0;
	void *block = realloc(old, head + bytes);

	if (!old)
		memset(block, 0, head);
	return truth_moved(forgotten, block, TRUTH_BEHIND, type, head);
}

#define HEAD(T, array) ((T *)(array)-1)

// Defines a function that makes room for one more element. ROOM: what the field of the head counts it in.
#define GROWS(name, T, head, field, ROOM) \
	static T *name(T *array) \
	{ \
		struct head *h = array ? HEAD(struct head, array) : NULL; \
		size_t room = h ? h->field / (ROOM) : 0; \
\
		if (h && h->length < room) \
			return array; \
		room = room ? 2 * room : 3; \
		h = grow(h, sizeof(*h), room * sizeof(T), #T); \
		h->field = (__typeof__(h->field))(room * (ROOM)); \
		return (T *)(h + 1); \
	}

struct style {
	double width, height;
	uint32_t colour;
};

struct cell {
	const char *text;
	struct style *style;
	int column, span;
};

struct row {
	struct cell *cells;
	double *heights;
	uint32_t *marks;
};

struct sheet {
	char name[16];
	struct row *rows;
	struct style *styles;
	struct sheet **linked;
	uint64_t *sums;
};

static struct sheet **sheets;
static char **names;
static double *totals;

GROWS(grow_sheets, struct sheet *, long_head, room, 1)
GROWS(grow_names, char *, byte_head, bytes, sizeof(char *))
GROWS(grow_totals, double, byte_head, bytes, sizeof(double))
GROWS(grow_cells, struct cell, short_head, room, 1)
GROWS(grow_heights, double, long_head, room, 1)
GROWS(grow_marks, uint32_t, short_head, room, 1)
GROWS(grow_rows, struct row, long_head, room, 1)
GROWS(grow_styles, struct style, byte_head, bytes, sizeof(struct style))
GROWS(grow_sums, uint64_t, short_head, room, 1)

#define PUSH(grow, head, array, ...) \
	((array) = grow(array), (array)[HEAD(struct head, array)->length++] = __VA_ARGS__)

static struct row make_row(struct sheet *sheet)
{
	struct row row = { NULL, NULL, NULL };
	size_t cells = 1 + next() % 12;

	for (size_t i = 0; i < cells; i++) {
		struct style *style =
			sheet->styles + next() % HEAD(struct byte_head, sheet->styles)->length;

		PUSH(grow_cells, short_head, row.cells,
		     (struct cell){ names[next() % NAMES], style, (int)i, 1 });
		PUSH(grow_heights, long_head, row.heights, (double)(next() % 100) / 7);
		if (next() % 2)
			PUSH(grow_marks, short_head, row.marks, (uint32_t)next());
	}
	return row;
}

static struct sheet *make_sheet(int number)
{
	struct sheet *sheet = NEW_ZEROED(struct sheet);

	snprintf(sheet->name, sizeof(sheet->name), "sheet %d", number);
	for (size_t i = 0; i < 2 + next() % 9; i++)
		PUSH(grow_styles, byte_head, sheet->styles, (struct style){ 1, (double)i, 3 });
	for (int i = 0; i < ROWS; i++) {
		PUSH(grow_rows, long_head, sheet->rows, make_row(sheet));
		PUSH(grow_sums, short_head, sheet->sums, next());
	}
	if (number)
		PUSH(grow_sheets, long_head, sheet->linked, sheets[next() % (uint64_t)number]);
	return sheet;
}

int main(void)
{
	double sum = 0;

	for (int i = 0; i < NAMES; i++)
		PUSH(grow_names, byte_head, names, TEXT(strdup("the name of a cell")));
	for (int i = 0; i < SHEETS; i++) {
		PUSH(grow_sheets, long_head, sheets, make_sheet(i));
		PUSH(grow_totals, byte_head, totals, (double)i / 3);
	}
	truth_capture();
	for (int i = 0; i < SHEETS; i++)
		sum += totals[i] + sheets[i]->rows[0].heights[0] + (double)sheets[i]->sums[0];
	printf("%f\n", sum);
	return 0;
}
