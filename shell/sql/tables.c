// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The tables of roots, types, sites, threads, frames and snapshots: a row per entry of the snapshot's
 * own tables, which are small. The row's number is the id.
 */
#include "shell/sql/virtual_table.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/series/series.h"

static void give_count(sqlite3_context *result, uint64_t number)
{
	sqlite3_result_int64(result, (sqlite3_int64)number);
}

static void give_string(sqlite3_context *result, const struct heap_snapshot *snapshot,
			uint32_t string)
{
	sql_text(result, heap_snapshot_string(snapshot, string));
}

static void give_module(sqlite3_context *result, struct session *session, uint32_t module)
{
	if (module != HEAP_NO_INDEX)
		sql_text(result, describe_module(session, module));
}

static void give_type(sqlite3_context *result, struct sql_source *source, heap_type_id type)
{
	const struct sql_name *name = type == HEAP_NO_TYPE ? NULL : sql_type_name(source, type);

	if (name)
		sql_text(result, name->text);
}

static void give_line(sqlite3_context *result, uint32_t line)
{
	if (line > 0)
		sqlite3_result_int64(result, line);
}

static void give_address(sqlite3_context *result, uint64_t address)
{
	if (address > 0)
		sqlite3_result_int64(result, (sqlite3_int64)address);
}

// --- roots ---------------------------------------------------------------------------

static uint64_t count_roots(const struct sql_source *source)
{
	return source->session->snapshot->root_count;
}

static void give_root_place(const struct heap_snapshot *snapshot, const struct heap_root *root,
			    int column, sqlite3_context *result)
{
	if (column == 9 && root->thread != HEAP_NO_INDEX)
		sqlite3_result_int64(result, snapshot->threads[root->thread].tid);
	if (column == 10 && root->frame != HEAP_NO_INDEX)
		give_string(result, snapshot, snapshot->frames[root->frame].function);
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
	case 0:
		give_count(result, row);
		break;
	case 1:
		give_string(result, snapshot, root->name);
		break;
	case 2:
		sql_text(result, describe_root_kind(root->kind));
		break;
	case 3:
		give_type(result, cursor->source, root->type);
		break;
	case 4:
		give_address(result, root->address);
		break;
	case 5:
		give_count(result, root->size);
		break;
	case 6:
		give_module(result, session, root->module);
		break;
	case 7:
		give_string(result, snapshot, root->file);
		break;
	case 8:
		give_line(result, root->line);
		break;
	case 11:
		HEAP_TRY(session_dominators(session));
		give_count(result, session->dominators->retained[snapshot->object_count + row]);
		break;
	case 12:
		sql_text(result, describe_root(session, (heap_root_id)row));
		break;
	default:
		give_root_place(snapshot, root, column, result);
	}
	return NULL;
}

const struct sql_table sql_roots = {
	.name = "roots",
	.columns = "id INTEGER, name TEXT, kind TEXT, type TEXT, address ADDRESS, size INTEGER, "
		   "module TEXT, file TEXT, line INTEGER, thread INTEGER, function TEXT, "
		   "retained INTEGER, description TEXT, snapshot INTEGER HIDDEN",
	.snapshot = 13,
	.sorted = -1,
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
		give_count(result, row);
		break;
	case 1:
		give_type(result, cursor->source, (heap_type_id)row);
		break;
	case 2:
		sql_text(result, describe_type_kind(type->kind));
		break;
	case 3:
		give_count(result, heap_types_size(types, (heap_type_id)row));
		break;
	case 4:
		sql_text(result, heap_types_string(types, type->file));
		break;
	case 5:
		give_line(result, type->line);
		break;
	default:
		HEAP_TRY(sql_sums(cursor->source, &sums, NULL));
		give_count(result, column == 6 ? sums[row].objects : sums[row].bytes);
	}
	return NULL;
}

const struct sql_table sql_types = {
	.name = "types",
	.columns = "id INTEGER, name TEXT, kind TEXT, size INTEGER, file TEXT, line INTEGER, "
		   "objects INTEGER, bytes INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = 8,
	.sorted = -1,
	.count = count_types,
	.column = type_column,
};

// --- sites ---------------------------------------------------------------------------

static uint64_t count_sites(const struct sql_source *source)
{
	return source->session->snapshot->site_count;
}

HEAP_MUST_CHECK
static struct heap_error *site_column(struct sql_cursor *cursor, uint64_t row, int column,
				      sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_site *site = &snapshot->sites[row];
	const struct sql_sum *sums;
	SESSION_SCOPE(session);

	switch (column) {
	case 0:
		give_count(result, row);
		break;
	case 1:
		sql_text(result, describe_site(session, (heap_site_id)row));
		break;
	case 2:
		give_string(result, snapshot, site->function);
		break;
	case 3:
		give_string(result, snapshot, site->file);
		break;
	case 4:
		give_line(result, site->line);
		break;
	case 5:
		give_module(result, session, site->module);
		break;
	case 6:
		give_address(result, site->address);
		break;
	default:
		HEAP_TRY(sql_sums(cursor->source, NULL, &sums));
		give_count(result, column == 7 ? sums[row].objects : sums[row].bytes);
	}
	return NULL;
}

const struct sql_table sql_sites = {
	.name = "sites",
	.columns = "id INTEGER, name TEXT, function TEXT, file TEXT, line INTEGER, module TEXT, "
		   "address ADDRESS, objects INTEGER, bytes INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = 9,
	.sorted = -1,
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
		give_string(result, snapshot, thread->name);
	else
		sqlite3_result_int64(result, thread->frames);
	return NULL;
}

const struct sql_table sql_threads = {
	.name = "threads",
	.columns = "tid INTEGER, name TEXT, frames INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = 3,
	.sorted = -1,
	.count = count_threads,
	.column = thread_column,
};

static uint64_t count_frames(const struct sql_source *source)
{
	return source->session->snapshot->frame_count;
}

static bool has_frame(const struct heap_thread *thread, uint64_t frame)
{
	return frame >= thread->first_frame && frame - thread->first_frame < thread->frames;
}

// The thread of a frame: mostly that of the frame before. NULL if it has none
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

HEAP_MUST_CHECK
static struct heap_error *frame_column(struct sql_cursor *cursor, uint64_t row, int column,
				       sqlite3_context *result)
{
	struct session *session = cursor->source->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_frame *frame = &snapshot->frames[row];
	const struct heap_thread *thread = thread_of(cursor, row);
	SESSION_SCOPE(session);

	switch (column) {
	case 0:
		if (thread)
			sqlite3_result_int64(result, thread->tid);
		break;
	case 1:
		if (thread)
			give_count(result, row - thread->first_frame);
		break;
	case 2:
		give_string(result, snapshot, frame->function);
		break;
	case 3:
		give_string(result, snapshot, frame->file);
		break;
	case 4:
		give_line(result, frame->line);
		break;
	case 5:
		give_module(result, session, frame->module);
		break;
	case 6:
		give_address(result, frame->pc);
		break;
	default:
		sqlite3_result_int(result, (frame->flags & HEAP_FRAME_INLINED) != 0);
	}
	return NULL;
}

const struct sql_table sql_frames = {
	.name = "frames",
	.columns = "thread INTEGER, number INTEGER, function TEXT, file TEXT, line INTEGER, "
		   "module TEXT, pc ADDRESS, inlined INTEGER, snapshot INTEGER HIDDEN",
	.snapshot = 8,
	.sorted = -1,
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
		give_count(result, row);
		return NULL;
	}
	HEAP_TRY(sql_open_source(cursor->database, (int64_t)row, &source));
	if (!source)
		return NULL;
	snapshot = source->session->snapshot;
	info = &snapshot->info;
	switch (column) {
	case 1:
		sql_text(result, snapshot->path);
		break;
	case 2:
		sql_text(result, info->program);
		break;
	case 3:
		give_count(result, info->pid);
		break;
	case 4:
		sql_text(result, info->host);
		break;
	case 5:
		sqlite3_result_double(result, (double)info->time_ns / 1e9);
		break;
	case 6:
		sqlite3_result_double(result, (double)(info->time_ns - info->start_time_ns) / 1e9);
		break;
	case 7:
		give_count(result, snapshot->object_count);
		break;
	default:
		give_count(result, snapshot->edge_count);
	}
	return NULL;
}

const struct sql_table sql_snapshots = {
	.name = "snapshots",
	.columns = "number INTEGER, file TEXT, program TEXT, pid INTEGER, host TEXT, time REAL, "
		   "uptime REAL, objects INTEGER, edges INTEGER",
	.snapshot = -2,
	.sorted = -1,
	.count = count_snapshots,
	.column = snapshot_column,
};
