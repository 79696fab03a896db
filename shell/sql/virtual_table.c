// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/sql/virtual_table.h"

#include "lib/base/cleanup.h"
#include "shell/series/series.h"

#include <math.h>
#include <string.h>

enum {
	MAX_TERMS = 16,
	FEW = 25,       // rows that a lookup finds, as SQLite's planner is told
	SOME_OF = 10,   // one row in so many passes a condition
	ID_COLUMN = -1, // SQLite's number of the row id
};

struct table {
	sqlite3_vtab base;
	struct sql_database *database;
	const struct sql_table *table;
};

// --- snapshots -----------------------------------------------------------------------

struct heap_error *sql_open_source(struct sql_database *database, int64_t number,
				   struct sql_source **result)
{
	struct session_series *series = database->session->series;
	struct sql_source *source;

	*result = NULL;
	if (number < 0 || number >= (int64_t)database->source_count)
		return NULL;
	source = &database->sources[number];
	if (!source->session) {
		source->own = (struct session){ .errors = database->session->errors,
						.output = database->session->output,
						.progress = database->session->progress };
		source->own.progress.progress.context = &source->own.progress;
		HEAP_TRY(session_open(&source->own, series->paths[number]));
		source->session = &source->own;
	}
	*result = source;
	return NULL;
}

// --- names ---------------------------------------------------------------------------

enum sql_rating sql_rate_name(uint8_t op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
	case SQLITE_INDEX_CONSTRAINT_LIKE:
	case SQLITE_INDEX_CONSTRAINT_GLOB:
	case SQLITE_INDEX_CONSTRAINT_ISNULL:
	case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
		return SQL_EXACT;
	default:
		return SQL_NO;
	}
}

static bool name_passes(const struct sql_name *name, uint8_t op, const char *text)
{
	if (op == SQLITE_INDEX_CONSTRAINT_ISNULL || op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
		return (name == NULL) == (op == SQLITE_INDEX_CONSTRAINT_ISNULL);
	if (!name || !text)
		return false;
	if (op == SQLITE_INDEX_CONSTRAINT_LIKE)
		return sqlite3_strlike(text, name->text, 0) == 0;
	if (op == SQLITE_INDEX_CONSTRAINT_GLOB)
		return sqlite3_strglob(text, name->text) == 0;
	return strcmp(text, name->text) == 0;
}

struct heap_error *sql_mark_names(struct sql_source *source, const struct sql_term *term,
				  size_t count,
				  const struct sql_name *(*name)(struct sql_source *, uint32_t),
				  uint8_t **flags)
{
	const char *text = (const char *)sqlite3_value_text(term->value);
	bool is_first = *flags == NULL;

	if (is_first)
		*flags = malloc(count + 1);
	if (!*flags)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++) {
		bool passes = name_passes(name(source, i), term->op, text);

		(*flags)[i] = passes && (is_first || (*flags)[i]);
	}
	return NULL;
}

// --- SQLite's side -------------------------------------------------------------------

// Keeps the first error, and hands SQLite its message. @return SQLITE_OK or SQLITE_ERROR
static int fail(struct table *table, struct heap_error *error)
{
	struct sql_database *database = table->database;

	if (!error)
		return SQLITE_OK;
	sqlite3_free(table->base.zErrMsg);
	table->base.zErrMsg = sqlite3_mprintf("%s", heap_error_message(error));
	if (database->error)
		heap_error_destroy(error);
	else
		database->error = error;
	return SQLITE_ERROR;
}

struct registration {
	struct sql_database *database;
	const struct sql_table *table;
};

static int connect_table(sqlite3 *sqlite, void *context, int argc, const char *const *argv,
			 sqlite3_vtab **result, char **message)
{
	const struct registration *registration = context;
	struct table *table = sqlite3_malloc(sizeof(*table));
	char *statement = sqlite3_mprintf("CREATE TABLE x(%s)", registration->table->columns);
	int status;

	(void)argc, (void)argv, (void)message;
	registration->database->is_declaring = true;
	status = table && statement ? sqlite3_declare_vtab(sqlite, statement) : SQLITE_NOMEM;
	registration->database->is_declaring = false;
	sqlite3_free(statement);
	if (status != SQLITE_OK) {
		sqlite3_free(table);
		return status;
	}
	*table = (struct table){ .database = registration->database, .table = registration->table };
	*result = &table->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

// --- plans ---------------------------------------------------------------------------

// A plan is a string: a letter for the order, then two bytes for each term, in argv's order.
struct plan {
	char text[2 + 2 * MAX_TERMS];
	int terms;
	double rows;
	bool is_lookup;
};

static int complain(sqlite3_vtab *table, const char *message)
{
	sqlite3_free(table->zErrMsg);
	table->zErrMsg = sqlite3_mprintf("%s", message);
	return SQLITE_ERROR;
}

static enum sql_rating rate(const struct sql_table *table, int column, uint8_t op)
{
	if (column == table->snapshot)
		return SQL_EXACT;
	if (column == ID_COLUMN)
		return op == SQLITE_INDEX_CONSTRAINT_EQ ? SQL_LOOKUP : SQL_NO;
	return table->rate ? table->rate(column, op) : SQL_NO;
}

static bool is_binary(sqlite3_index_info *info, int constraint)
{
	const char *collation = sqlite3_vtab_collation(info, constraint);

	return !collation || sqlite3_stricmp(collation, "BINARY") == 0;
}

static void add_term(struct plan *plan, sqlite3_index_info *info, int constraint,
		     enum sql_rating rating)
{
	static const double shares[] = { [SQL_SOME] = 0.5, [SQL_EXACT] = 1.0 / SOME_OF };
	int column = info->aConstraint[constraint].iColumn;

	plan->text[1 + 2 * plan->terms] = (char)(column + 2); // the row's number is -1
	plan->text[2 + 2 * plan->terms] = (char)info->aConstraint[constraint].op;
	plan->terms++;
	info->aConstraintUsage[constraint].argvIndex = plan->terms;
	info->aConstraintUsage[constraint].omit = rating == SQL_EXACT;
	if (rating == SQL_LOOKUP)
		plan->is_lookup = true;
	else
		plan->rows *= shares[rating];
}

// @return SQLITE_OK; SQLITE_CONSTRAINT: not in this order of tables; SQLITE_ERROR
static int add_terms(struct plan *plan, struct table *table, sqlite3_index_info *info)
{
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		bool is_snapshot = constraint->iColumn == table->table->snapshot;
		enum sql_rating rating = rate(table->table, constraint->iColumn, constraint->op);

		if (is_snapshot && constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
			return complain(&table->base, "snapshot must be compared by =");
		if (is_snapshot && !constraint->usable)
			return SQLITE_CONSTRAINT;
		if (constraint->usable && rating != SQL_NO && plan->terms < MAX_TERMS &&
		    is_binary(info, i)) {
			add_term(plan, info, i, rating);
			if (is_snapshot)
				plan->rows *= SOME_OF; // every row of that snapshot passes
		}
	}
	return SQLITE_OK;
}

// SQLite asks for an order also to group by a column.
static void add_order(struct plan *plan, const struct sql_table *table, sqlite3_index_info *info)
{
	plan->text[0] = '-';
	if (table->sorted < 0 || info->nOrderBy != 1 || plan->is_lookup ||
	    info->aOrderBy[0].iColumn != table->sorted)
		return;
	plan->text[0] = info->aOrderBy[0].desc ? 'd' : 'a';
	info->orderByConsumed = 1;
}

static int choose_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct table *table = (struct table *)base;
	struct sql_source *source = &table->database->sources[table->database->current];
	struct plan plan = { .rows = (double)table->table->count(source) + 1 };
	double all = plan.rows;
	int status = add_terms(&plan, table, info);

	if (status != SQLITE_OK)
		return status;
	add_order(&plan, table->table, info);
	if (plan.is_lookup) {
		plan.rows = fmin(plan.rows, FEW);
		all = plan.rows;
	}
	info->estimatedRows = (sqlite3_int64)plan.rows + 1;
	// Refusing a row here costs little, compared with a row that SQLite reads.
	info->estimatedCost = plan.rows * 4 + all / 4 + 10;
	info->idxNum = plan.terms;
	info->idxStr = sqlite3_mprintf("%s", plan.text);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

// --- cursors -------------------------------------------------------------------------

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
	struct table *table = (struct table *)base;
	struct sql_cursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	cursor->database = table->database;
	cursor->table = table->table;
	if (!table->database->progress)
		table->database->progress = cursor;
	*result = &cursor->base;
	return SQLITE_OK;
}

static void reset_cursor(struct sql_cursor *cursor)
{
	free(cursor->types);
	free(cursor->sites);
	cursor->types = cursor->sites = NULL;
	cursor->order = NULL;
	cursor->backwards = false;
	cursor->least = cursor->first = 0;
	cursor->last = UINT64_MAX;
	cursor->most = UINT64_MAX;
	cursor->owner = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;

	if (cursor->database->progress == cursor)
		cursor->database->progress = NULL;
	reset_cursor(cursor);
	free(cursor->buffer);
	free(cursor);
	return SQLITE_OK;
}

static void skip_refused(struct sql_cursor *cursor)
{
	bool (*accepts)(struct sql_cursor *, uint64_t) = cursor->table->accepts;

	if (!accepts)
		return;
	while (cursor->at < cursor->end && !accepts(cursor, sql_row(cursor)))
		cursor->at++;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;

	cursor->at++;
	skip_refused(cursor);
	return SQLITE_OK;
}

// Reads the terms; those of the snapshot and of the row id apart. @return false: no row passes
static bool read_terms(struct sql_cursor *cursor, const char *text, int argc, sqlite3_value **argv,
		       struct sql_term *terms, size_t *count, int64_t *snapshot, int64_t *row)
{
	for (int i = 0; i < argc; i++) {
		struct sql_term term = { (uint8_t)text[1 + 2 * i] - 2, (uint8_t)text[2 + 2 * i],
					 argv[i] };
		bool is_number = sqlite3_value_numeric_type(argv[i]) == SQLITE_INTEGER;

		if (term.column != ID_COLUMN && term.column != cursor->table->snapshot) {
			terms[(*count)++] = term;
			continue;
		}
		if (!is_number)
			return false;
		if (term.column == ID_COLUMN)
			*row = sqlite3_value_int64(argv[i]);
		else
			*snapshot = sqlite3_value_int64(argv[i]);
	}
	return true;
}

// Leaves a cursor the one row, or none if it lacks that row.
static void select_row(struct sql_cursor *cursor, uint64_t row)
{
	if (row < cursor->at || row >= cursor->end) {
		sql_select_none(cursor);
		return;
	}
	cursor->at = row;
	cursor->end = row + 1;
}

HEAP_MUST_CHECK
static struct heap_error *select_rows(struct sql_cursor *cursor, const char *plan, int argc,
				      sqlite3_value **argv)
{
	int64_t snapshot = cursor->database->current, row = -1;
	struct sql_term terms[MAX_TERMS];
	size_t count = 0;

	reset_cursor(cursor);
	sql_select_none(cursor);
	if (!read_terms(cursor, plan, argc, argv, terms, &count, &snapshot, &row))
		return NULL;
	HEAP_TRY(sql_open_source(cursor->database, snapshot, &cursor->source));
	if (!cursor->source)
		return NULL;
	cursor->end = cursor->table->count(cursor->source);
	if (row >= 0)
		select_row(cursor, (uint64_t)row);
	if (cursor->table->select)
		HEAP_TRY(cursor->table->select(cursor, terms, count, plan[0] != '-'));
	cursor->backwards = plan[0] == 'd';
	skip_refused(cursor);
	return NULL;
}

static int filter_rows(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		       sqlite3_value **argv)
{
	(void)number;
	return fail((struct table *)base->pVtab,
		    select_rows((struct sql_cursor *)base, plan, argc, argv));
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
	const struct sql_cursor *cursor = (const struct sql_cursor *)base;

	return cursor->at >= cursor->end;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
	struct sql_cursor *cursor = (struct sql_cursor *)base;

	if (column == cursor->table->snapshot) {
		sqlite3_result_int64(result, cursor->source->number);
		return SQLITE_OK;
	}
	return fail((struct table *)base->pVtab,
		    cursor->table->column(cursor, sql_row(cursor), column, result));
}

static int give_row(sqlite3_vtab_cursor *base, sqlite3_int64 *result)
{
	*result = (sqlite3_int64)sql_row((const struct sql_cursor *)base);
	return SQLITE_OK;
}

int sql_table_register(struct sql_database *database, const struct sql_table *table)
{
	// Without xCreate the table is eponymous: queries use it by the name of its module.
	static const sqlite3_module module = {
		.iVersion = 1,
		.xConnect = connect_table,
		.xBestIndex = choose_plan,
		.xDisconnect = disconnect_table,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter_rows,
		.xNext = next_row,
		.xEof = is_at_end,
		.xColumn = give_column,
		.xRowid = give_row,
	};
	struct registration *registration = malloc(sizeof(*registration));

	if (!registration)
		return SQLITE_NOMEM;
	*registration = (struct registration){ database, table };
	return sqlite3_create_module_v2(database->sqlite, table->name, &module, registration, free);
}
