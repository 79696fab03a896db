// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/follow_view.h"

#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_CELL = 48,
	MAX_CELLS = 160, // of a line, in front of the name
};

static const char *const way_names[FOLLOW_WAYS] = { "kind", "type", "site" };
static const char *const way_titles[FOLLOW_WAYS] = { "type, site", "type", "site" };

static const struct {
	const char *word, *name;
} orders[FOLLOW_ORDERS] = {
	{ "growth", "growth since the first snapshot" },
	{ "last", "growth since the snapshot before" },
	{ "bytes", "bytes" },
	{ "objects", "objects" },
	{ "name", "name" },
};

int follow_way_parse(const char *word)
{
	int way = 0;

	while (way < FOLLOW_WAYS && strcmp(way_names[way], word) != 0)
		way++;
	return way;
}

enum follow_order follow_order_parse(const char *word)
{
	enum follow_order order = 0;

	while (order < FOLLOW_ORDERS && strcmp(orders[order].word, word) != 0)
		order++;
	return order;
}

const char *follow_order_name(enum follow_order order)
{
	return orders[order].name;
}

// --- rows ------------------------------------------------------------------------------

static int64_t growth(const struct follow_row *row, enum follow_moment since)
{
	return (int64_t)(row->amounts[FOLLOW_LATEST].bytes - row->amounts[since].bytes);
}

static int64_t measure(const struct follow_row *row, enum follow_order order)
{
	switch (order) {
	case FOLLOW_BY_GROWTH:
		return growth(row, FOLLOW_FIRST);
	case FOLLOW_BY_LAST:
		return growth(row, FOLLOW_BEFORE);
	case FOLLOW_BY_OBJECTS:
		return (int64_t)row->amounts[FOLLOW_LATEST].objects;
	default:
		return (int64_t)row->amounts[FOLLOW_LATEST].bytes;
	}
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct follow_row *a = left, *b = right;
	const struct follow_view *view = context;
	int64_t x = measure(a, view->order), y = measure(b, view->order);

	if (view->order != FOLLOW_BY_NAME && x != y)
		return x > y ? -1 : 1;
	x = measure(a, FOLLOW_BY_BYTES);
	y = measure(b, FOLLOW_BY_BYTES);
	if (view->order != FOLLOW_BY_NAME && x != y)
		return x > y ? -1 : 1;
	return strcmp(a->name, b->name);
}

struct heap_error *follow_rows_make(struct follow_rows *rows, const struct follow_process *process,
				    const struct follow_view *view)
{
	const struct heap_census *census = process->census[view->way];

	rows->count = 0;
	for (heap_kind_id i = 0; i < heap_census_kinds(census); i++) {
		struct follow_row row = { .name = heap_census_name_of(census, i) };
		uint64_t objects = 0;

		for (int j = 0; j < FOLLOW_MOMENTS; j++) {
			row.amounts[j] = follow_amount(process, view->way, i, j);
			objects += row.amounts[j].objects;
		}
		if (objects > 0)
			HEAP_TRY(heap_array_append(rows, row));
	}
	if (rows->count > 0)
		qsort_r(rows->items, rows->count, sizeof(*rows->items), compare_rows, (void *)view);
	return NULL;
}

// --- lines -----------------------------------------------------------------------------

void follow_print_line(FILE *stream, size_t columns, const char *format, ...)
{
	CLEANUP_FREE char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (text)
		fwrite(text, 1, columns > 0 ? heap_text_fit(text, columns) : strlen(text), stream);
}

// "+1.2 KiB", "-24 B", "0 B".
static const char *format_growth(int64_t bytes, char buffer[MAX_CELL])
{
	char amount[FORMAT_BYTES_MAX];
	uint64_t size = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes;

	snprintf(buffer, MAX_CELL, "%s%s",
		 bytes > 0   ? "+"
		 : bytes < 0 ? "-"
			     : "",
		 format_bytes(size, amount));
	return buffer;
}

// A column, and the width of the line from which on it is there.
struct column {
	const char *title;
	size_t least;
	int width;
};

enum {
	COLUMN_GROWTH,
	COLUMN_LAST,
	COLUMN_BYTES,
	COLUMN_OBJECTS,
	COLUMN_MORE_OBJECTS,
	COLUMN_COUNT,
};

static const struct column known[COLUMN_COUNT] = {
	{ "growth", 0, 10 },  { "last", 64, 10 },     { "bytes", 52, 10 },
	{ "objects", 80, 9 }, { "+objects", 100, 9 },
};

// Joins the cells of the columns that have room.
static void join(char line[MAX_CELLS], size_t columns, char cells[COLUMN_COUNT][MAX_CELL])
{
	size_t length = 0;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (columns == 0 || columns >= known[i].least)
			length += (size_t)snprintf(line + length, MAX_CELLS - length, "%*.*s ",
						   known[i].width, known[i].width, cells[i]);
	}
}

void follow_print_titles(FILE *stream, size_t columns, const struct follow_view *view)
{
	char cells[COLUMN_COUNT][MAX_CELL], line[MAX_CELLS] = "";

	for (int i = 0; i < COLUMN_COUNT; i++)
		snprintf(cells[i], MAX_CELL, "%s", known[i].title);
	join(line, columns, cells);
	follow_print_line(stream, columns, "%s %s", line, way_titles[view->way]);
}

void follow_print_row(FILE *stream, size_t columns, const struct follow_row *row)
{
	char cells[COLUMN_COUNT][MAX_CELL], line[MAX_CELLS] = "", amount[FORMAT_BYTES_MAX];
	const struct heap_amount *now = &row->amounts[FOLLOW_LATEST];
	int64_t objects = (int64_t)(now->objects - row->amounts[FOLLOW_FIRST].objects);

	format_growth(growth(row, FOLLOW_FIRST), cells[COLUMN_GROWTH]);
	format_growth(growth(row, FOLLOW_BEFORE), cells[COLUMN_LAST]);
	snprintf(cells[COLUMN_BYTES], MAX_CELL, "%s", format_bytes(now->bytes, amount));
	snprintf(cells[COLUMN_OBJECTS], MAX_CELL, "%" PRIu64, now->objects);
	snprintf(cells[COLUMN_MORE_OBJECTS], MAX_CELL, objects > 0 ? "+%" PRId64 : "%" PRId64,
		 objects);
	join(line, columns, cells);
	follow_print_line(stream, columns, "%s %s", line, row->name);
}

void follow_print_process(FILE *stream, size_t columns, struct session *session,
			  const struct follow_process *process, const char *rest)
{
	SESSION_SCOPE(session);

	follow_print_line(stream, columns, "%s, pid %" PRIu64 ": %" PRIu64 " snapshot%s in %s%s",
			  process->program, process->latest.pid, process->snapshots,
			  format_plural(process->snapshots),
			  describe_duration(session, process->times[FOLLOW_LATEST] -
							     process->times[FOLLOW_FIRST]),
			  rest);
}

void follow_print_total(FILE *stream, size_t columns, const struct follow_process *process)
{
	char first[MAX_CELL], before[MAX_CELL], amount[FORMAT_BYTES_MAX];
	const struct heap_amount *now = &process->totals[FOLLOW_LATEST];

	format_growth((int64_t)(now->bytes - process->totals[FOLLOW_FIRST].bytes), first);
	format_growth((int64_t)(now->bytes - process->totals[FOLLOW_BEFORE].bytes), before);
	follow_print_line(stream, columns,
			  "%s in %" PRIu64 " object%s, %s since the first, %s since the one before",
			  format_bytes(now->bytes, amount), now->objects,
			  format_plural(now->objects), first, before);
}

void follow_print_json(struct output *output, const struct follow_process *process,
		       const struct follow_rows *rows, size_t limit)
{
	output_open_object(output, NULL);
	output_string(output, "program", process->program);
	output_number(output, "pid", process->latest.pid);
	output_number(output, "time_ns", process->times[FOLLOW_LATEST]);
	output_number(output, "snapshots", process->snapshots);
	output_number(output, "objects", process->totals[FOLLOW_LATEST].objects);
	output_number(output, "bytes", process->totals[FOLLOW_LATEST].bytes);
	output_open_array(output, "rows");
	for (size_t i = 0; i < rows->count && i < limit; i++) {
		const struct follow_row *row = &rows->items[i];

		output_open_object(output, NULL);
		output_string(output, "name", row->name);
		output_number(output, "objects", row->amounts[FOLLOW_LATEST].objects);
		output_number(output, "bytes", row->amounts[FOLLOW_LATEST].bytes);
		output_signed(output, "growth", growth(row, FOLLOW_FIRST));
		output_signed(output, "last", growth(row, FOLLOW_BEFORE));
		output_close(output);
	}
	output_close(output);
}
