// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The tables objects and strings: a row per object, whose number is the object's id.
 */
#include "shell/sql/virtual_table.h"

#include "lib/base/array.h"
#include "lib/snapshot/evidence.h"
#include "shell/print/describe.h"

#include <string.h>

enum {
	ID,
	ADDRESS,
	SIZE,
	TYPE,
	ELEMENTS,
	SITE,
	AGE,
	RETAINED,
	DOMINATOR,
	REACHABILITY,
	EVIDENCE,
	TEXT,
	TYPE_ID,
	SITE_ID,
	SNAPSHOT,
};

static uint64_t count_objects(const struct sql_source *source)
{
	return source->session->snapshot->object_count;
}

// --- conditions ----------------------------------------------------------------------

static enum sql_rating rate_range(uint8_t op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return SQL_SOME;
	default:
		return SQL_NO;
	}
}

static enum sql_rating rate_objects(int column, uint8_t op)
{
	switch (column) {
	case TYPE:
	case SITE:
		return sql_rate_name(op);
	case SIZE:
		return rate_range(op);
	case ID:
	case ADDRESS:
		return op == SQLITE_INDEX_CONSTRAINT_EQ ? SQL_LOOKUP : rate_range(op);
	default:
		return SQL_NO;
	}
}

static const struct sql_name *type_name(struct sql_source *source, uint32_t type)
{
	return type == HEAP_NO_TYPE ? NULL : sql_type_name(source, type);
}

static const struct sql_name *site_name(struct sql_source *source, uint32_t site)
{
	return sql_site_name(source, site);
}

// Narrows a range of numbers by a condition; SQLite tests the rows again. A value that is no integer
// leaves the range unchanged.
static void narrow(const struct sql_term *term, uint64_t *least, uint64_t *most)
{
	sqlite3_int64 number = sqlite3_value_int64(term->value);
	uint64_t value = number < 0 ? 0 : (uint64_t)number;

	if (sqlite3_value_numeric_type(term->value) != SQLITE_INTEGER)
		return;
	if (term->op != SQLITE_INDEX_CONSTRAINT_LT && term->op != SQLITE_INDEX_CONSTRAINT_LE &&
	    value > *least)
		*least = value;
	if (term->op != SQLITE_INDEX_CONSTRAINT_GT && term->op != SQLITE_INDEX_CONSTRAINT_GE &&
	    value < *most)
		*most = value;
}

// The first object at an address or after it.
static uint64_t lower_bound(const struct heap_snapshot *snapshot, uint64_t address)
{
	heap_object_id before = heap_snapshot_find_before(snapshot, address);

	return before == HEAP_NO_OBJECT ? 0 : (uint64_t)before + 1;
}

static void limit(struct sql_cursor *cursor, uint64_t first, uint64_t end)
{
	if (first > cursor->at)
		cursor->at = first;
	if (end < cursor->end)
		cursor->end = end;
	if (cursor->at >= cursor->end)
		sql_select_none(cursor);
}

HEAP_MUST_CHECK
static struct heap_error *select_addresses(struct sql_cursor *cursor, const struct sql_term *term)
{
	const struct heap_snapshot *snapshot = cursor->source->session->snapshot;
	uint64_t least = 0, most = UINT64_MAX;

	HEAP_TRY(sql_load(cursor->source, HEAP_COLUMN_ADDRESS));
	narrow(term, &least, &most);
	limit(cursor, lower_bound(snapshot, least),
	      most == UINT64_MAX ? UINT64_MAX : lower_bound(snapshot, most + 1));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *select_term(struct sql_cursor *cursor, const struct sql_term *term)
{
	struct sql_source *source = cursor->source;
	const struct heap_snapshot *snapshot = source->session->snapshot;
	uint64_t least = 0, most = UINT64_MAX;

	switch (term->column) {
	case TYPE:
		HEAP_TRY(sql_load(source, HEAP_COLUMN_TYPE));
		return sql_mark_names(source, term, snapshot->types.count, type_name,
				      &cursor->types);
	case SITE:
		HEAP_TRY(sql_load(source, HEAP_COLUMN_SITE));
		return sql_mark_names(source, term, snapshot->site_count, site_name,
				      &cursor->sites);
	case SIZE:
		HEAP_TRY(sql_load(source, HEAP_COLUMN_SIZE));
		narrow(term, &cursor->least, &cursor->most);
		return NULL;
	case ID:
		narrow(term, &least, &most);
		limit(cursor, least, most == UINT64_MAX ? most : most + 1);
		return NULL;
	default:
		return select_addresses(cursor, term);
	}
}

HEAP_MUST_CHECK
static struct heap_error *select_objects(struct sql_cursor *cursor, const struct sql_term *terms,
					 size_t count, bool sorted)
{
	bool is_whole;

	for (size_t i = 0; i < count; i++)
		HEAP_TRY(select_term(cursor, &terms[i]));
	is_whole = cursor->at == 0 && cursor->end == count_objects(cursor->source);
	if (!sorted || cursor->at == cursor->end)
		return NULL;
	// A range of addresses does not come sorted by type: walk all rows in order, skip those outside.
	if (!is_whole) {
		cursor->first = cursor->at;
		cursor->last = cursor->end;
		cursor->at = 0;
		cursor->end = count_objects(cursor->source);
	}
	return sql_by_type(cursor->source, &cursor->order);
}

static bool accepts_object(struct sql_cursor *cursor, uint64_t row)
{
	const struct heap_snapshot *snapshot = cursor->source->session->snapshot;

	if (cursor->types && !cursor->types[snapshot->type[row]])
		return false;
	if (cursor->sites && !cursor->sites[snapshot->site[row]])
		return false;
	if (cursor->order && (row < cursor->first || row >= cursor->last))
		return false;
	return (cursor->least == 0 && cursor->most == UINT64_MAX) ||
	       (snapshot->size[row] >= cursor->least && snapshot->size[row] <= cursor->most);
}

// --- columns -------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *set_age(struct sql_source *source, heap_object_id object,
				  sqlite3_context *result)
{
	const struct heap_snapshot *snapshot = source->session->snapshot;
	uint64_t birth;

	HEAP_TRY(sql_load(source, HEAP_COLUMN_BIRTH));
	birth = heap_snapshot_birth_ns(snapshot, object);
	if (birth > 0 && birth <= snapshot->info.time_ns)
		sqlite3_result_double(result, (double)(snapshot->info.time_ns - birth) / 1e9);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *set_dominator(struct sql_source *source, heap_object_id object,
					sqlite3_context *result)
{
	const struct heap_divided *divided;
	heap_node_id holder;

	HEAP_TRY(session_dominators(source->session));
	divided = source->session->divided;
	holder = heap_divided_holder(divided, object);
	return heap_divided_is_object(divided, holder)
		       ? sql_result_address(result, source, heap_divided_block(divided, holder))
		       : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *set_text(struct sql_source *source, heap_object_id object,
				   sqlite3_context *result)
{
	SESSION_SCOPE(source->session);

	HEAP_TRY(sql_load(source, HEAP_COLUMN_TYPE | HEAP_COLUMN_SIZE | HEAP_COLUMN_ELEMENTS));
	if (sql_is_text(source, object))
		sql_result_text(result, describe_text(source->session, object));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *set_reachability(struct sql_source *source, heap_object_id object,
					   sqlite3_context *result)
{
	const char *name;

	HEAP_TRY(sql_reachability(source, object, &name));
	sqlite3_result_text(result, name, -1, SQLITE_STATIC);
	return NULL;
}

// Sets a number, which comes from the column of the snapshot.
HEAP_MUST_CHECK
static struct heap_error *set_number(struct sql_source *source, heap_object_id object, int column,
				     sqlite3_context *result)
{
	const struct heap_snapshot *snapshot = source->session->snapshot;
	uint64_t number = object;

	if (column == SIZE) {
		HEAP_TRY(sql_load(source, HEAP_COLUMN_SIZE));
		number = snapshot->size[object];
	} else if (column == ELEMENTS) {
		HEAP_TRY(sql_load(source, HEAP_COLUMN_ELEMENTS));
		number = snapshot->elements[object];
	} else if (column == RETAINED) {
		HEAP_TRY(session_dominators(source->session));
		number = session_retained(source->session, object);
	} else if (column == TYPE_ID) {
		HEAP_TRY(sql_load(source, HEAP_COLUMN_TYPE));
		number = snapshot->type[object];
	} else if (column == SITE_ID) {
		HEAP_TRY(sql_load(source, HEAP_COLUMN_SITE));
		number = snapshot->site[object];
	}
	sql_result_count(result, number);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *object_column(struct sql_cursor *cursor, uint64_t row, int column,
					sqlite3_context *result)
{
	struct sql_source *source = cursor->source;
	heap_object_id object = (heap_object_id)row;

	switch (column) {
	case ADDRESS:
		return sql_result_address(result, source, object);
	case TYPE:
		HEAP_TRY(sql_load(source, HEAP_COLUMN_TYPE));
		return sql_result_type(result, source, source->session->snapshot->type[object]);
	case SITE:
		HEAP_TRY(sql_load(source, HEAP_COLUMN_SITE));
		return sql_result_site(result, source, source->session->snapshot->site[object]);
	case AGE:
		return set_age(source, object, result);
	case DOMINATOR:
		return set_dominator(source, object, result);
	case REACHABILITY:
		return set_reachability(source, object, result);
	case EVIDENCE:
		HEAP_TRY(sql_load(source, HEAP_COLUMN_EVIDENCE));
		sqlite3_result_text(result,
				    heap_evidence_name(source->session->snapshot->evidence[object]),
				    -1, SQLITE_STATIC);
		return NULL;
	case TEXT:
		return set_text(source, object, result);
	default:
		return set_number(source, object, column, result);
	}
}

const struct sql_table sql_objects = {
	.name = "objects",
	.columns = "id INTEGER, address ADDRESS, size INTEGER, type TEXT, elements INTEGER, "
		   "site TEXT, age REAL, retained INTEGER, dominator ADDRESS, reachability TEXT, "
		   "evidence TEXT, text TEXT, type_id INTEGER, site_id INTEGER, "
		   "snapshot INTEGER HIDDEN",
	.snapshot = SNAPSHOT,
	.sorted = TYPE,
	.count = count_objects,
	.rate = rate_objects,
	.select = select_objects,
	.accepts = accepts_object,
	.column = object_column,
};

// --- strings -------------------------------------------------------------------------

enum {
	STRING_ID,
	STRING_ADDRESS,
	STRING_SIZE,
	STRING_LENGTH,
	STRING_TEXT,
	STRING_SNAPSHOT,
	MAX_READ = 16 << 20, // bytes of an object
};

static enum sql_rating rate_strings(int column, uint8_t op)
{
	return column <= STRING_SIZE ? rate_objects(column, op) : SQL_NO;
}

HEAP_MUST_CHECK
static struct heap_error *select_strings(struct sql_cursor *cursor, const struct sql_term *terms,
					 size_t count, bool sorted)
{
	HEAP_TRY(sql_load(cursor->source, HEAP_COLUMN_TYPE | HEAP_COLUMN_SIZE));
	return select_objects(cursor, terms, count, sorted);
}

static bool accepts_string(struct sql_cursor *cursor, uint64_t row)
{
	return sql_is_text(cursor->source, (heap_object_id)row) && accepts_object(cursor, row);
}

// Reads a string up to its NUL, or to the end of the bytes that were kept.
HEAP_MUST_CHECK
static struct heap_error *read_string(struct sql_cursor *cursor, heap_object_id object,
				      size_t *length)
{
	struct heap_snapshot *snapshot = cursor->source->session->snapshot;
	uint64_t size = snapshot->size[object];
	size_t kept = 0;

	if (size > snapshot->info.content_limit)
		size = snapshot->info.content_limit;
	if (size > MAX_READ)
		size = MAX_READ;
	HEAP_TRY(heap_reserve(cursor->buffer, cursor->capacity, (size_t)size + 1));
	HEAP_TRY(heap_snapshot_read_content(snapshot, object, (uint8_t *)cursor->buffer, size,
					    &kept));
	*length = strnlen(cursor->buffer, kept);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *string_column(struct sql_cursor *cursor, uint64_t row, int column,
					sqlite3_context *result)
{
	size_t length;

	if (column <= STRING_SIZE)
		return object_column(cursor, row, column, result);
	HEAP_TRY(read_string(cursor, (heap_object_id)row, &length));
	if (column == STRING_LENGTH)
		sql_result_count(result, length);
	else
		sqlite3_result_text(result, cursor->buffer, (int)length, SQLITE_TRANSIENT);
	return NULL;
}

const struct sql_table sql_strings = {
	.name = "strings",
	.columns = "id INTEGER, address ADDRESS, size INTEGER, length INTEGER, text TEXT, "
		   "snapshot INTEGER HIDDEN",
	.snapshot = STRING_SNAPSHOT,
	.sorted = SQL_UNSORTED,
	.count = count_objects,
	.rate = rate_strings,
	.select = select_strings,
	.accepts = accepts_string,
	.column = string_column,
};
