// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/tables.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct export_table export_tables[] = {
	{ "snapshots",
	  "id n, file s, program s, command s, pid n, host s, serial n, uuid s, time_ns n, "
	  "start_ns n, objects n, bytes n",
	  "id" },
	{ "types", "snapshot n, id n, name s, kind s, size n, file s, line n", "snapshot, id" },
	{ "members", "snapshot n, type n, name s, offset n, member_type n, size n", NULL },
	{ "sites", "snapshot n, id n, function s, file s, line n, module s, address n",
	  "snapshot, id" },
	{ "objects",
	  "snapshot n, id n, address n, size n, type n, elements n, evidence s, site n, born_ns n, "
	  "reach s, retained n, text s",
	  "snapshot, id" },
	{ "edges", "snapshot n, source n, target n, offset n, field s, interior n, typed n", NULL },
	{ "roots",
	  "snapshot n, id n, kind s, name s, type n, address n, size n, module s, file s, line n, "
	  "thread n, function s, retained n",
	  "snapshot, id" },
	{ "root_edges", "snapshot n, root n, target n, offset n, field s, interior n, typed n",
	  NULL },
};

const size_t export_table_count = sizeof(export_tables) / sizeof(export_tables[0]);

bool export_next_column(const char **columns, char name[32], char *kind)
{
	int length = 0;

	if (sscanf(*columns, " %31s %c%n", name, kind, &length) < 2)
		return false;
	*columns += length;
	if (**columns == ',')
		++*columns;
	return true;
}

// --- rows --------------------------------------------------------------------

struct row {
	struct export_value values[EXPORT_COLUMNS_MAX];
	size_t count;
};

static void put_number(struct row *row, uint64_t number)
{
	row->values[row->count++] = (struct export_value){ EXPORT_NUMBER, number, NULL };
}

static void put_text(struct row *row, const char *text)
{
	row->values[row->count++] = (struct export_value){ EXPORT_TEXT, 0, text };
}

// Writes a value that is unknown or does not exist.
static void put_null(struct row *row)
{
	row->values[row->count++] = (struct export_value){ .kind = EXPORT_NULL };
}

static void put_index(struct row *row, uint32_t index)
{
	if (index == HEAP_NO_INDEX)
		put_null(row);
	else
		put_number(row, index);
}

struct tables {
	struct session *session;
	const struct heap_snapshot *snapshot;
	const struct export_sink *sink;
};

static struct row begin_row(const struct tables *tables)
{
	struct row row = { .count = 0 };

	put_number(&row, tables->sink->snapshot);
	return row;
}

HEAP_MUST_CHECK
static struct heap_error *put_row(const struct tables *tables, const struct row *row)
{
	return tables->sink->row(tables->sink->context, row->values, row->count);
}

// --- tables ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *write_snapshots(const struct tables *tables)
{
	const struct heap_snapshot *snapshot = tables->snapshot;
	const struct heap_info *info = &snapshot->info;
	struct row row = begin_row(tables);

	put_text(&row, snapshot->path ? snapshot->path : "");
	put_text(&row, info->program);
	put_text(&row, info->command);
	put_number(&row, info->pid);
	put_text(&row, info->host);
	put_number(&row, info->serial);
	put_text(&row, info->id);
	put_number(&row, info->time_ns);
	put_number(&row, info->start_time_ns);
	put_number(&row, snapshot->object_count);
	put_number(&row, heap_snapshot_bytes(snapshot));
	return put_row(tables, &row);
}

HEAP_MUST_CHECK
static struct heap_error *write_types(const struct tables *tables)
{
	const struct heap_types *types = &tables->snapshot->types;

	for (heap_type_id i = 0; i < types->count; i++) {
		SESSION_SCOPE(tables->session);
		struct row row = begin_row(tables);

		put_number(&row, i);
		put_text(&row, i == HEAP_NO_TYPE ? "(untyped)" : describe_type(tables->session, i));
		put_text(&row, describe_type_kind(types->types[i].kind));
		put_number(&row, heap_types_size(types, i));
		put_text(&row, heap_types_string(types, types->types[i].file));
		put_number(&row, types->types[i].line);
		HEAP_TRY(put_row(tables, &row));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_members_of(const struct tables *tables, heap_type_id id)
{
	const struct heap_types *types = &tables->snapshot->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		struct row row = begin_row(tables);

		put_number(&row, id);
		put_text(&row, heap_types_string(types, member->name));
		put_number(&row, member->offset);
		put_number(&row, member->type);
		put_number(&row, heap_types_size(types, member->type));
		HEAP_TRY(put_row(tables, &row));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_members(const struct tables *tables)
{
	for (heap_type_id i = 0; i < tables->snapshot->types.count; i++)
		HEAP_TRY(write_members_of(tables, i));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_sites(const struct tables *tables)
{
	const struct heap_snapshot *snapshot = tables->snapshot;

	for (heap_site_id i = 0; i < snapshot->site_count; i++) {
		const struct heap_site *site = &snapshot->sites[i];
		SESSION_SCOPE(tables->session);
		struct row row = begin_row(tables);

		put_number(&row, i);
		put_text(&row, heap_snapshot_string(snapshot, site->function));
		put_text(&row, heap_snapshot_string(snapshot, site->file));
		put_number(&row, site->line);
		put_text(&row, describe_module(tables->session, site->module));
		put_number(&row, site->address);
		HEAP_TRY(put_row(tables, &row));
	}
	return NULL;
}

static void put_characters(struct row *row, struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_type *type = &snapshot->types.types[snapshot->type[object]];

	if ((type->flags & HEAP_TYPE_CHARACTER) && type->size == 1)
		put_text(row, describe_text(session, object));
	else
		put_null(row);
}

static const char *reach_name(uint8_t reach)
{
	return reach == HEAP_REACH_NOT     ? "leaked"
	       : reach == HEAP_REACH_START ? "start"
					   : "interior";
}

HEAP_MUST_CHECK
static struct heap_error *write_objects(const struct tables *tables)
{
	const struct heap_snapshot *snapshot = tables->snapshot;
	struct session *session = tables->session;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		SESSION_SCOPE(session);
		struct row row = begin_row(tables);

		if (session_must_stop(session))
			break;
		put_number(&row, i);
		put_number(&row, snapshot->address[i]);
		put_number(&row, snapshot->size[i]);
		put_number(&row, snapshot->type[i]);
		put_number(&row, snapshot->elements[i]);
		put_text(&row, heap_evidence_name(snapshot->evidence[i]));
		put_number(&row, snapshot->site[i]);
		put_number(&row, snapshot->epochs[snapshot->birth[i]]);
		put_text(&row, reach_name(session->graph->reach[i]));
		put_number(&row, session_retained(session, i));
		put_characters(&row, session, i);
		HEAP_TRY(put_row(tables, &row));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_edges_of(const struct tables *tables, heap_object_id object)
{
	const struct heap_snapshot *snapshot = tables->snapshot;

	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint64_t offset = (uint64_t)snapshot->edge_slot[i] * 8;
		SESSION_SCOPE(tables->session);
		struct row row = begin_row(tables);

		put_number(&row, object);
		put_number(&row, snapshot->edge_target[i]);
		put_number(&row, offset);
		put_text(&row, field_of_object(tables->session, object, offset));
		put_number(&row, snapshot->edge_interior[i]);
		put_number(&row, snapshot->edge_flags[i] & HEAP_EDGE_TYPED);
		HEAP_TRY(put_row(tables, &row));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_edges(const struct tables *tables)
{
	for (heap_object_id i = 0; i < tables->snapshot->object_count; i++) {
		if (session_must_stop(tables->session))
			break;
		HEAP_TRY(write_edges_of(tables, i));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_roots(const struct tables *tables)
{
	const struct heap_snapshot *snapshot = tables->snapshot;
	struct session *session = tables->session;

	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[i];
		SESSION_SCOPE(session);
		struct row row = begin_row(tables);

		put_number(&row, i);
		put_text(&row, describe_root_kind(root->kind));
		put_text(&row, heap_snapshot_string(snapshot, root->name));
		put_number(&row, root->type);
		put_number(&row, root->address);
		put_number(&row, root->size);
		put_text(&row, describe_module(session, root->module));
		put_text(&row, heap_snapshot_string(snapshot, root->file));
		put_number(&row, root->line);
		put_index(&row, root->thread == HEAP_NO_INDEX
					? HEAP_NO_INDEX
					: snapshot->threads[root->thread].tid);
		put_text(&row, root->frame == HEAP_NO_INDEX
				       ? ""
				       : heap_snapshot_string(
						 snapshot, snapshot->frames[root->frame].function));
		put_number(&row, session->dominators->retained[session->dominators->objects + i]);
		HEAP_TRY(put_row(tables, &row));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_root_edges(const struct tables *tables)
{
	const struct heap_snapshot *snapshot = tables->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		SESSION_SCOPE(tables->session);
		struct row row = begin_row(tables);

		put_number(&row, edge->root);
		put_number(&row, edge->target);
		put_number(&row, edge->offset);
		put_text(&row, field_of_root(tables->session, edge->root, edge->offset));
		put_number(&row, edge->interior);
		put_number(&row, edge->flags & HEAP_EDGE_TYPED);
		HEAP_TRY(put_row(tables, &row));
	}
	return NULL;
}

struct heap_error *export_write_tables(struct session *session, const struct export_sink *sink)
{
	// In the order of export_tables.
	static struct heap_error *(*const writers[])(const struct tables *tables) = {
		write_snapshots, write_types, write_members, write_sites,
		write_objects,   write_edges, write_roots,   write_root_edges,
	};
	const struct tables tables = { session, session->snapshot, sink };

	for (size_t i = 0; i < export_table_count; i++) {
		HEAP_TRY(sink->begin(sink->context, &export_tables[i]));
		HEAP_TRY(writers[i](&tables));
		HEAP_TRY(sink->end(sink->context));
	}
	return NULL;
}
