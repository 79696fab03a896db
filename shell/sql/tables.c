// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The tables of roots, types, sites, threads, frames and snapshots: a row per entry of the snapshot's
 * own tables, which are small. The row's number is the id.
 */
#include "shell/sql/virtual_table.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/series/series.h"

// --- roots ---------------------------------------------------------------------------

static uint64_t count_roots(const struct sql_source *source)
{
	return source->session->snapshot->root_count;
}

enum {
	ROOT_ID,
	ROOT_NAME,
	ROOT_KIND,
	ROOT_TYPE,
	ROOT_ADDRESS,
	ROOT_SIZE,
	ROOT_MODULE,
	ROOT_FILE,
	ROOT_LINE,
	ROOT_THREAD,
	ROOT_FUNCTION,
	ROOT_RETAINED,
	ROOT_DESCRIPTION,
	ROOT_SNAPSHOT,
};

static void set_root_place(sqlite3_context *result, struct session *session,
			   const struct heap_root *root, int column)
{
	static const enum sql_place_column columns[] = {
		[ROOT_ADDRESS] = SQL_PLACE_ADDRESS,   [ROOT_MODULE] = SQL_PLACE_MODULE,
		[ROOT_FILE] = SQL_PLACE_FILE,         [ROOT_LINE] = SQL_PLACE_LINE,
		[ROOT_FUNCTION] = SQL_PLACE_FUNCTION,
	};
	struct sql_place place = { .file = root->file,
				   .line = root->line,
				   .module = root->module,
				   .address = root->address };

	if (root->frame != HEAP_NO_INDEX)
		place.function = session->snapshot->frames[root->frame].function;
	sql_result_place(result, session, &place, columns[column]);
}

HEAP_MUST_CHECK
static struct heap_error *root_column(struct sql_cursor *cursor, uint64_t row, int column,
				      sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root *root = &snapshot->roots[row];
	SESSION_SCOPE(session);

	switch (column) {
	case ROOT_ID:
		sql_result_count(result, row);
		break;
	case ROOT_NAME:
		sql_result_string(result, snapshot, root->name);
		break;
	case ROOT_KIND:
		sql_result_text(result, describe_root_kind(root->kind));
		break;
	case ROOT_TYPE:
		return sql_result_type(result, cursor->source, root->type);
	case ROOT_SIZE:
		sql_result_count(result, root->size);
		break;
	case ROOT_THREAD:
		if (root->thread != HEAP_NO_INDEX)
			sql_result_count(result, snapshot->threads[root->thread].tid);
		break;
	case ROOT_RETAINED:
		HEAP_TRY(session_dominators(session));
		sql_result_count(result, session->dominators->retained[heap_divided_root(
						 session->divided, (heap_root_id)row)]);
		break;
	case ROOT_DESCRIPTION:
		sql_result_text(result, describe_root(session, (heap_root_id)row));
		break;
	default:
		set_root_place(result, session, root, column);
	}
	return NULL;
}

const struct sql_table sql_roots = {
	.name = "roots",
	.columns = "id INTEGER, name TEXT, kind TEXT, type TEXT, address ADDRESS, size INTEGER, "
		   "module TEXT, file TEXT, line INTEGER, thread INTEGER, function TEXT, "
		   "retained INTEGER, description TEXT, snapshot INTEGER HIDDEN",
	.snapshot = ROOT_SNAPSHOT,
	.sorted = SQL_UNSORTED,
	.count = count_roots,
	.column = root_column,
};

// --- types ---------------------------------------------------------------------------

static uint64_t count_types(const struct sql_source *source)
{
	return source->session->snapshot->types.count;
}

HEAP_MUST_CHECK
static struct heap_error *type_column(struct sql_cursor *cursor, uint64_t row, int column,
				      sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	const struct heap_types *types = &session->snapshot->types;
	const struct heap_type *type = &types->types[row];
	const struct sql_sum *sums;
	SESSION_SCOPE(session);

	switch (column) {
	case 0:
		sql_result_count(result, row);
		break;
	case 1:
		return sql_result_type(result, cursor->source, (heap_type_id)row);
	case 2:
		sql_result_text(result, describe_type_kind(type->kind));
		break;
	case 3:
		sql_result_count(result, heap_types_size(types, (heap_type_id)row));
		break;
	case 4:
		sql_result_text(result, heap_types_string(types, type->file));
		break;
	case 5:
		if (type->line > 0)
			sql_result_count(result, type->line);
		break;
	default:
		HEAP_TRY(sql_sums(cursor->source, &sums, NULL));
		sql_result_count(result, column == 6 ? sums[row].objects : sums[row].bytes);
	}
	return NULL;
}

const struct sql_table sql_types = {
	.name = "types",
	.columns = "id INTEGER, name TEXT, kind TEXT, size INTEGER, file TEXT, line INTEGER, "
		   "objects INTEGER, bytes INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = 8,
	.sorted = SQL_UNSORTED,
	.count = count_types,
	.column = type_column,
};

// --- sites ---------------------------------------------------------------------------

// Between its name and its sums, a site has the columns of a place.
enum {
	SITE_ID,
	SITE_NAME,
	SITE_PLACE,
	SITE_OBJECTS = SITE_PLACE + SQL_PLACE_COLUMNS,
	SITE_BYTES,
	SITE_SNAPSHOT,
};

static uint64_t count_sites(const struct sql_source *source)
{
	return source->session->snapshot->site_count;
}

HEAP_MUST_CHECK
static struct heap_error *site_column(struct sql_cursor *cursor, uint64_t row, int column,
				      sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	const struct heap_site *site = &session->snapshot->sites[row];
	struct sql_place place = { site->function, site->file, site->line, site->module,
				   site->address };
	const struct sql_sum *sums;
	SESSION_SCOPE(session);

	if (column == SITE_ID) {
		sql_result_count(result, row);
	} else if (column == SITE_NAME) {
		sql_result_text(result, describe_site(session, (heap_site_id)row));
	} else if (column < SITE_OBJECTS) {
		sql_result_place(result, session, &place, column - SITE_PLACE);
	} else {
		HEAP_TRY(sql_sums(cursor->source, NULL, &sums));
		sql_result_count(result,
				 column == SITE_OBJECTS ? sums[row].objects : sums[row].bytes);
	}
	return NULL;
}

const struct sql_table sql_sites = {
	.name = "sites",
	.columns = "id INTEGER, name TEXT, function TEXT, file TEXT, line INTEGER, module TEXT, "
		   "address ADDRESS, objects INTEGER, bytes INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = SITE_SNAPSHOT,
	.sorted = SQL_UNSORTED,
	.count = count_sites,
	.column = site_column,
};

// --- threads and frames --------------------------------------------------------------

static uint64_t count_threads(const struct sql_source *source)
{
	return source->session->snapshot->thread_count;
}

HEAP_MUST_CHECK
static struct heap_error *thread_column(struct sql_cursor *cursor, uint64_t row, int column,
					sqlite3_context *result)
{
	const struct heap_snapshot *snapshot = cursor->source->session->snapshot;
	const struct heap_thread *thread = &snapshot->threads[row];

	if (column == 0)
		sqlite3_result_int64(result, thread->tid);
	else if (column == 1)
		sql_result_string(result, snapshot, thread->name);
	else
		sqlite3_result_int64(result, thread->frames);
	return NULL;
}

const struct sql_table sql_threads = {
	.name = "threads",
	.columns = "tid INTEGER, name TEXT, frames INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = 3,
	.sorted = SQL_UNSORTED,
	.count = count_threads,
	.column = thread_column,
};

enum {
	FRAME_THREAD,
	FRAME_NUMBER,
	FRAME_PLACE,
	FRAME_INLINED = FRAME_PLACE + SQL_PLACE_COLUMNS,
	FRAME_SNAPSHOT,
};

static uint64_t count_frames(const struct sql_source *source)
{
	return source->session->snapshot->frame_count;
}

static bool has_frame(const struct heap_thread *thread, uint64_t frame)
{
	return frame >= thread->first_frame && frame - thread->first_frame < thread->frames;
}

// The thread of a frame, mostly that of the previous frame; NULL if it has none.
static const struct heap_thread *thread_of(struct sql_cursor *cursor, uint64_t frame)
{
	const struct heap_snapshot *snapshot = cursor->source->session->snapshot;

	if (cursor->owner < snapshot->thread_count &&
	    has_frame(&snapshot->threads[cursor->owner], frame))
		return &snapshot->threads[cursor->owner];
	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		if (has_frame(&snapshot->threads[i], frame)) {
			cursor->owner = i;
			return &snapshot->threads[i];
		}
	}
	return NULL;
}

// As callstack numbers it: of a deep stack, frames are left out.
static uint64_t number_of_frame(const struct heap_thread *thread, uint64_t frame)
{
	uint64_t number = frame - thread->first_frame;

	return number >= thread->skipped_at ? number + thread->skipped : number;
}

HEAP_MUST_CHECK
static struct heap_error *frame_column(struct sql_cursor *cursor, uint64_t row, int column,
				       sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	const struct heap_frame *frame = &session->snapshot->frames[row];
	const struct heap_thread *thread = thread_of(cursor, row);
	struct sql_place place = { frame->function, frame->file, frame->line, frame->module,
				   frame->pc };
	SESSION_SCOPE(session);

	if (column >= FRAME_INLINED)
		sqlite3_result_int(result, (frame->flags & HEAP_FRAME_INLINED) != 0);
	else if (column >= FRAME_PLACE)
		sql_result_place(result, session, &place, column - FRAME_PLACE);
	else if (thread)
		sql_result_count(result, column == FRAME_THREAD ? thread->tid
								: number_of_frame(thread, row));
	return NULL;
}

const struct sql_table sql_frames = {
	.name = "frames",
	.columns = "thread INTEGER, number INTEGER, function TEXT, file TEXT, line INTEGER, "
		   "module TEXT, pc ADDRESS, inlined INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = FRAME_SNAPSHOT,
	.sorted = SQL_UNSORTED,
	.count = count_frames,
	.column = frame_column,
};

// --- snapshots -----------------------------------------------------------------------

// Counts the snapshots of the whole series, which each source finds through its session.
static uint64_t count_snapshots(const struct sql_source *source)
{
	return source->session->series ? source->session->series->count : 1;
}

HEAP_MUST_CHECK
static struct heap_error *snapshot_column(struct sql_cursor *cursor, uint64_t row, int column,
					  sqlite3_context *result)
{
	struct sql_source *source;
	const struct heap_snapshot *snapshot;
	const struct heap_info *info;

	if (column == 0) {
		sql_result_count(result, row);
		return NULL;
	}
	HEAP_TRY(sql_open_source(cursor->database, (int64_t)row, &source));
	if (!source)
		return NULL;
	snapshot = source->session->snapshot;
	info = &snapshot->info;
	switch (column) {
	case 1:
		sql_result_text(result, snapshot->path);
		break;
	case 2:
		sql_result_text(result, info->program);
		break;
	case 3:
		sql_result_count(result, info->pid);
		break;
	case 4:
		sql_result_text(result, info->host);
		break;
	case 5:
		sqlite3_result_double(result, (double)info->time_ns / 1e9);
		break;
	case 6:
		sqlite3_result_double(result, (double)(info->time_ns - info->start_time_ns) / 1e9);
		break;
	case 7:
		sql_result_count(result, snapshot->object_count);
		break;
	default:
		sql_result_count(result, snapshot->edge_count);
	}
	return NULL;
}

const struct sql_table sql_snapshots = {
	.name = "snapshots",
	.columns = "number INTEGER, file TEXT, program TEXT, pid INTEGER, host TEXT, time REAL, "
		   "uptime REAL, objects INTEGER, edges INTEGER",
	.snapshot = SQL_NO_SNAPSHOT,
	.sorted = SQL_UNSORTED,
	.count = count_snapshots,
	.column = snapshot_column,
};
