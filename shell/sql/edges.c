// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The table edges: a row per pointer from an object to another; and root_edges, those from roots.
 */
#include "shell/sql/virtual_table.h"

#include "lib/base/cleanup.h"
#include "shell/print/field.h"

enum {
	SOURCE,
	OFFSET,
	FIELD,
	TARGET,
	INTERIOR,
	TYPED,
	SNAPSHOT,
	ROOT = SOURCE,
};

// The object at exactly that address, or HEAP_NO_OBJECT.
HEAP_MUST_CHECK
static struct heap_error *find_object(struct sql_source *source, sqlite3_value *value,
				      heap_object_id *result)
{
	*result = HEAP_NO_OBJECT;
	if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER)
		return NULL;
	HEAP_TRY(sql_load(source, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE));

	const struct heap_snapshot *snapshot = source->session->snapshot;
	uint64_t address = (uint64_t)sqlite3_value_int64(value);
	heap_object_id object = heap_snapshot_find(snapshot, address);

	if (object != HEAP_NO_OBJECT && snapshot->address[object] == address)
		*result = object;
	return NULL;
}

static void set_interior(sqlite3_context *result, uint32_t interior)
{
	if (interior != UINT32_MAX)
		sqlite3_result_int64(result, interior);
}

// --- edges ---------------------------------------------------------------------------

static uint64_t count_edges(const struct sql_source *source)
{
	return source->session->snapshot->edge_count;
}

static enum sql_rating rate_edges(int column, uint8_t op)
{
	return (column == SOURCE || column == TARGET) && op == SQLITE_INDEX_CONSTRAINT_EQ
		       ? SQL_LOOKUP
		       : SQL_NO;
}

// The pointers of an object are a range of edges; the transposed graph lists those to an object.
HEAP_MUST_CHECK
static struct heap_error *select_edges(struct sql_cursor *cursor, const struct sql_term *terms,
				       size_t count, bool sorted)
{
	struct session *session = cursor->source->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id object;

	(void)sorted;
	HEAP_TRY(session_edges(session));
	for (size_t i = 0; i < count; i++) {
		HEAP_TRY(find_object(cursor->source, terms[i].value, &object));
		if (object == HEAP_NO_OBJECT) {
			sql_select_none(cursor);
			return NULL;
		}
		// One lookup is enough: SQLite tests the other condition itself.
		if (i > 0)
			continue;
		if (terms[i].column == SOURCE) {
			cursor->at = snapshot->edge_first[object];
			cursor->end = snapshot->edge_first[object + 1];
			cursor->owner = object;
			continue;
		}
		HEAP_TRY(session_graph(session));
		cursor->order = session->graph->in_edge;
		cursor->at = session->graph->in_first[object];
		cursor->end = session->graph->in_first[object + 1];
	}
	return NULL;
}

// Rows mostly come in order, so the source is mostly that of the row before, or the next one.
static heap_object_id source_of(struct sql_cursor *cursor, uint32_t edge)
{
	const struct heap_snapshot *snapshot = cursor->source->session->snapshot;

	if (snapshot->edge_first[cursor->owner] > edge ||
	    (cursor->order && snapshot->edge_first[cursor->owner + 1] <= edge))
		cursor->owner = heap_graph_source(cursor->source->session->graph, edge);
	while (snapshot->edge_first[cursor->owner + 1] <= edge)
		cursor->owner++;
	return cursor->owner;
}

HEAP_MUST_CHECK
static struct heap_error *set_field(struct sql_cursor *cursor, uint32_t edge,
				    sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	uint64_t offset = (uint64_t)session->snapshot->edge_slot[edge] * 8;
	SESSION_SCOPE(session);

	HEAP_TRY(sql_load(cursor->source, HEAP_COLUMN_TYPE | HEAP_COLUMN_SIZE |
						  HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_PARTS |
						  HEAP_COLUMN_EVIDENCE));
	sql_result_text(result, field_of_object(session, source_of(cursor, edge), offset));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *edge_column(struct sql_cursor *cursor, uint64_t row, int column,
				      sqlite3_context *result)
{
	struct sql_source *source = cursor->source;
	const struct heap_snapshot *snapshot = source->session->snapshot;
	uint32_t edge = (uint32_t)row;

	if (column == SOURCE)
		return sql_result_address(result, source, source_of(cursor, edge));
	if (column == TARGET)
		return sql_result_address(result, source, snapshot->edge_target[edge]);
	HEAP_TRY(sql_load(source, HEAP_COLUMN_SLOTS | HEAP_COLUMN_QUALITY));
	if (column == FIELD)
		return set_field(cursor, edge, result);
	if (column == OFFSET)
		sqlite3_result_int64(result, (sqlite3_int64)snapshot->edge_slot[edge] * 8);
	else if (column == INTERIOR)
		set_interior(result, snapshot->edge_interior[edge]);
	else
		sqlite3_result_int(result, (snapshot->edge_flags[edge] & HEAP_EDGE_TYPED) != 0);
	return NULL;
}

const struct sql_table sql_edges = {
	.name = "edges",
	.columns = "source ADDRESS, offset INTEGER, field TEXT, target ADDRESS, interior INTEGER, "
		   "typed INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = SNAPSHOT,
	.sorted = SQL_UNSORTED,
	.count = count_edges,
	.rate = rate_edges,
	.select = select_edges,
	.column = edge_column,
};

// --- root_edges ----------------------------------------------------------------------

static uint64_t count_root_edges(const struct sql_source *source)
{
	return source->session->snapshot->root_edge_count;
}

HEAP_MUST_CHECK
static struct heap_error *select_root_edges(struct sql_cursor *cursor, const struct sql_term *terms,
					    size_t count, bool sorted)
{
	struct session *session = cursor->source->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id object;

	(void)sorted;
	if (count == 0)
		return NULL;
	if (terms[0].column == ROOT) {
		sqlite3_int64 root = sqlite3_value_int64(terms[0].value);

		if (root < 0 || root >= (sqlite3_int64)snapshot->root_count) {
			sql_select_none(cursor);
			return NULL;
		}
		cursor->at = heap_snapshot_first_root_edge(snapshot, (heap_root_id)root);
		cursor->end = heap_snapshot_first_root_edge(snapshot, (heap_root_id)root + 1);
		return NULL;
	}
	HEAP_TRY(find_object(cursor->source, terms[0].value, &object));
	if (object == HEAP_NO_OBJECT) {
		sql_select_none(cursor);
		return NULL;
	}
	HEAP_TRY(session_graph(session));
	cursor->order = session->graph->root_in;
	cursor->at = session->graph->root_in_first[object];
	cursor->end = session->graph->root_in_first[object + 1];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *root_edge_column(struct sql_cursor *cursor, uint64_t row, int column,
					   sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	const struct heap_root_edge *edge = &session->snapshot->root_edges[row];
	SESSION_SCOPE(session);

	switch (column) {
	case ROOT:
		sqlite3_result_int64(result, edge->root);
		break;
	case OFFSET:
		sqlite3_result_int64(result, (sqlite3_int64)edge->offset);
		break;
	case FIELD:
		sql_result_text(result, field_of_root(session, edge->root, edge->offset));
		break;
	case TARGET:
		return sql_result_address(result, cursor->source, edge->target);
	case INTERIOR:
		set_interior(result, edge->interior);
		break;
	default:
		sqlite3_result_int(result, (edge->flags & HEAP_EDGE_TYPED) != 0);
	}
	return NULL;
}

const struct sql_table sql_root_edges = {
	.name = "root_edges",
	.columns = "root INTEGER, offset INTEGER, field TEXT, target ADDRESS, interior INTEGER, "
		   "typed INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = SNAPSHOT,
	.sorted = SQL_UNSORTED,
	.count = count_root_edges,
	.rate = rate_edges,
	.select = select_root_edges,
	.column = root_edge_column,
};
