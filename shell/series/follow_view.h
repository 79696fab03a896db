// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FOLLOW_VIEW_H
#define FOLLOW_VIEW_H

/**
 * The types and sites of a process that is followed (follow.h), as lines for a screen of any width,
 * for a file, or as JSON.
 */

#include "shell/series/follow.h"

enum follow_order {
	FOLLOW_BY_GROWTH, /**< bytes since the first snapshot */
	FOLLOW_BY_LAST,   /**< bytes since the one before */
	FOLLOW_BY_BYTES,
	FOLLOW_BY_OBJECTS,
	FOLLOW_BY_NAME,
	FOLLOW_ORDERS,
};

struct follow_view {
	int way; /**< of FOLLOW_WAYS */
	enum follow_order order;
	bool colours;
};

/** A row: a kind of objects. */
struct follow_row {
	const char *name;
	struct heap_amount amounts[FOLLOW_MOMENTS];
};

struct follow_rows HEAP_ARRAY(struct follow_row);

/** "kind", "type", "site". @return FOLLOW_WAYS for another word */
int follow_way_parse(const char *word);

/** "growth", "last", "bytes", "objects", "name". @return FOLLOW_ORDERS for another word */
enum follow_order follow_order_parse(const char *word);

/** "growth since the first snapshot". */
const char *follow_order_name(enum follow_order order);

/** Lists the kinds that have objects now, or had some in the first snapshot or the one before. */
HEAP_MUST_CHECK
struct heap_error *follow_rows_make(struct follow_rows *rows, const struct follow_process *process,
				    const struct follow_view *view);

/** Writes a line, cut to @p columns (0: any number), without its newline. */
__attribute__((format(printf, 3, 4))) void follow_print_line(FILE *stream, size_t columns,
							     const char *format, ...);

/** The line of titles, and a row, for that many columns (0: all). Without a newline. */
void follow_print_titles(FILE *stream, size_t columns, const struct follow_view *view);
void follow_print_row(FILE *stream, size_t columns, const struct follow_row *row);

/** "app, pid 12: 3 snapshots in 20.0 s". */
void follow_print_process(FILE *stream, size_t columns, struct session *session,
			  const struct follow_process *process, const char *rest);

/** "1.2 MiB in 31 objects, +4.0 KiB since the first, +1.0 KiB since the one before". */
void follow_print_total(FILE *stream, size_t columns, const struct follow_process *process);

/** Writes the latest snapshot as a JSON object. */
void follow_print_json(struct output *output, const struct follow_process *process,
		       const struct follow_rows *rows, size_t limit);

#endif
