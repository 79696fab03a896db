// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Rows for a column store that has the snapshots of many machines: tab-separated values as
 * ClickHouse reads them, compressed by gzip. scripts/clickhouse has its tables and questions.
 *
 *	rows         a row per type and site, with its holder: the summary of a snapshot to keep for years
 *	object_rows  a row per object
 *	edge_rows    a row per pointer between objects
 *
 * Each row identifies its snapshot, so files can be concatenated.
 */
#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/base/hash_table.h"
#include "lib/base/column.h"
#include "lib/base/escape.h"
#include "shell/print/describe.h"
#include "shell/export/export.h"
#include "shell/export/holders.h"
#include "shell/print/field.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// --- lines, compressed -------------------------------------------------------

enum {
	LINES_AT_ONCE = 64 << 10, // bytes
};

struct rows {
	struct session *session;
	FILE *stream;
	z_stream zlib;
	char *lines; // [LINES_AT_ONCE] not compressed yet
	size_t length;
	bool failed;                 // memory was short
	const char **types, **sites; // their names, made on demand
};

// Compresses the buffered lines. @param flush  Z_NO_FLUSH or Z_FINISH
static void compress_lines(struct rows *rows, int flush)
{
	uint8_t buffer[16384];

	rows->zlib.next_in = (Bytef *)rows->lines;
	rows->zlib.avail_in = (uInt)rows->length;
	rows->length = 0;
	do {
		rows->zlib.next_out = buffer;
		rows->zlib.avail_out = sizeof(buffer);
		deflate(&rows->zlib, flush);
		fwrite(buffer, 1, sizeof(buffer) - rows->zlib.avail_out, rows->stream);
	} while (rows->zlib.avail_out == 0);
}

static void put_byte(struct rows *rows, char byte)
{
	if (rows->length == LINES_AT_ONCE)
		compress_lines(rows, Z_NO_FLUSH);
	rows->lines[rows->length++] = byte;
}

static void put_bytes(struct rows *rows, const char *bytes)
{
	for (; *bytes; bytes++)
		put_byte(rows, *bytes);
}

// Adds a value, escaped, and a tab.
static void put_text(struct rows *rows, const char *text)
{
	char *field = heap_escape(HEAP_ESCAPE_TSV, text, strlen(text));

	rows->failed |= !field;
	put_bytes(rows, field ? field : "");
	put_byte(rows, '\t');
	free(field);
}

static void put_number(struct rows *rows, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	put_bytes(rows, text);
	put_byte(rows, '\t');
}

static void end_row(struct rows *rows)
{
	rows->lines[rows->length - 1] = '\n'; // in place of the last tab
}

// --- names, made once --------------------------------------------------------

static const char *type_name(struct rows *rows, heap_object_id object)
{
	const struct heap_snapshot *snapshot = rows->session->snapshot;
	heap_type_id type = snapshot->type[object];

	if (type == HEAP_NO_TYPE)
		return snapshot->evidence[object] == HEAP_EVIDENCE_POOL ? "(pool)" : "(untyped)";
	if (!rows->types[type])
		rows->types[type] = describe_type(rows->session, type);
	return rows->types[type];
}

static const char *site_name(struct rows *rows, heap_site_id site)
{
	if (!rows->sites[site])
		rows->sites[site] = describe_site(rows->session, site);
	return rows->sites[site];
}

// The build id of the program itself.
static const char *find_build(const struct heap_snapshot *snapshot)
{
	uint32_t module = heap_snapshot_program_module(snapshot);

	return module == snapshot->module_count
		       ? ""
		       : heap_snapshot_string(snapshot, snapshot->modules[module].build_id);
}

// Runs a writer of lines.
HEAP_MUST_CHECK
static struct heap_error *write_rows(struct export *export,
				     struct heap_error *(*put_rows)(struct rows *rows))
{
	const struct heap_snapshot *snapshot = export->session->snapshot;
	CLEANUP_FREE char *lines = malloc(LINES_AT_ONCE);
	CLEANUP_FREE const char **types = calloc(snapshot->types.count + 1, sizeof(*types));
	CLEANUP_FREE const char **sites = calloc((size_t)snapshot->site_count + 1, sizeof(*sites));
	struct rows rows = { .session = export->session,
			     .stream = export->stream,
			     .lines = lines,
			     .types = types,
			     .sites = sites };

	if (!lines || !types || !sites ||
	    deflateInit2(&rows.zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return heap_error_out_of_memory();

	struct heap_error *error = put_rows(&rows);

	compress_lines(&rows, Z_FINISH);
	deflateEnd(&rows.zlib);
	if (!error && rows.failed)
		error = heap_error_out_of_memory();
	// The error does not refer to the rows:
	// cppcheck-suppress returnDanglingLifetime
	return error;
}

// --- groups ------------------------------------------------------------------

// Objects of one type and site.
struct group {
	heap_object_id example;
	uint32_t claim;  // the holder of most of them, in groups.claims
	uint32_t active; // members that are dominators of where the walk is
	uint64_t objects, bytes, retained, leaked;
};

// Objects of a group that are held by the same path of names (holders.h).
struct claim {
	uint32_t group;
	heap_object_id example; // of those with the shortest path the first
	uint64_t key, objects;
};

struct groups {
	struct HEAP_ARRAY(struct claim) claims;
	struct heap_hash_table by_claim; // by group and key
	struct holders *holders;
	struct group *groups; // [count]
	uint32_t count, capacity;
	struct heap_hash_table by_kind; // groups, by type and site
	uint32_t *of;                   // [objects] each one's group
};

static bool is_alike(const struct heap_snapshot *snapshot, heap_object_id a, heap_object_id b)
{
	return snapshot->type[a] == snapshot->type[b] && snapshot->site[a] == snapshot->site[b] &&
	       (snapshot->evidence[a] == HEAP_EVIDENCE_POOL) ==
		       (snapshot->evidence[b] == HEAP_EVIDENCE_POOL);
}

// Finds the group of an object, or makes one.
HEAP_MUST_CHECK
static struct heap_error *need_group(const struct heap_snapshot *snapshot, struct groups *groups,
				     heap_object_id object, struct group **result)
{
	uint64_t hash = heap_hash_pair(snapshot->type[object], snapshot->site[object]);
	uint32_t found = heap_hash_find(&groups->by_kind, hash, i,
					is_alike(snapshot, groups->groups[i].example, object));

	if (found == HEAP_HASH_NONE) {
		found = groups->count;
		HEAP_TRY(heap_reserve(groups->groups, groups->capacity, (size_t)found + 1));
		HEAP_TRY(heap_hash_add(&groups->by_kind, hash, found));
		groups->groups[groups->count++] = (struct group){ .example = object };
	}
	groups->of[object] = found;
	*result = &groups->groups[found];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_objects(const struct session *session, struct groups *groups)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		struct group *group;

		HEAP_TRY(need_group(snapshot, groups, i, &group));
		group->objects++;
		group->bytes += snapshot->size[i];
		if (session->graph->reach[i] == HEAP_REACH_NOT)
			group->leaked += snapshot->size[i];
	}
	return NULL;
}

// --- who holds groups --------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *count_claim(struct groups *groups, heap_object_id object)
{
	uint32_t group = groups->of[object];
	uint64_t key = holders_key(groups->holders, object);
	uint64_t hash = heap_hash_pair(group, key);
	uint32_t found = heap_hash_find(&groups->by_claim, hash, i,
					groups->claims.items[i].group == group &&
						groups->claims.items[i].key == key);

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)groups->claims.count;
		HEAP_TRY(heap_array_append(&groups->claims,
					   (struct claim){ group, object, key, 0 }));
		HEAP_TRY(heap_hash_add(&groups->by_claim, hash, found));
	}

	struct claim *claim = &groups->claims.items[found];

	claim->objects++;
	if (holders_depth(groups->holders, object) < holders_depth(groups->holders, claim->example))
		claim->example = object;
	return NULL;
}

// A holder wins over none; then most objects, the shorter path, the lesser key. No address counts.
static bool is_better(const struct groups *groups, const struct claim *a, const struct claim *b)
{
	unsigned left = holders_depth(groups->holders, a->example);
	unsigned right = holders_depth(groups->holders, b->example);

	if ((a->key == 0) != (b->key == 0))
		return b->key == 0;
	if (a->objects != b->objects)
		return a->objects > b->objects;
	return left != right ? left < right : a->key < b->key;
}

HEAP_MUST_CHECK
static struct heap_error *find_holders(struct session *session, struct groups *groups)
{
	HEAP_TRY(holders_create(session, &groups->holders));
	for (heap_object_id i = 0; i < session->snapshot->object_count; i++)
		HEAP_TRY(count_claim(groups, i));
	for (uint32_t i = 0; i < groups->count; i++)
		groups->groups[i].claim = UINT32_MAX;
	for (uint32_t i = 0; i < groups->claims.count; i++) {
		const struct claim *claims = groups->claims.items;
		uint32_t *best = &groups->groups[claims[i].group].claim;

		if (*best == UINT32_MAX || is_better(groups, &claims[i], &claims[*best]))
			*best = i;
	}
	return NULL;
}

// With the NUL, so that texts do not run together.
static uint64_t fingerprint(uint64_t hash, const char *text)
{
	return heap_hash_fnv(hash, text, strlen(text) + 1);
}

// The type, the function that allocates and the holder; no line, so that it outlives changes.
static void put_holder(struct rows *rows, const struct groups *groups, const struct group *group)
{
	struct session *session = rows->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_site *site = &snapshot->sites[snapshot->site[group->example]];
	const char *function = heap_snapshot_string(snapshot, site->function);
	const char *path =
		holders_path(groups->holders, groups->claims.items[group->claim].example);
	uint64_t hash = HEAP_HASH_START;
	char text[17];

	hash = fingerprint(hash, type_name(rows, group->example));
	hash = fingerprint(hash, *function ? function : describe_module(session, site->module));
	hash = fingerprint(hash, path);
	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	put_text(rows, path);
	put_text(rows, text);
}

// --- what groups retain ------------------------------------------------------

/*
 * The bytes that a member retains count for its group unless another member, which dominates it,
 * has counted it already: on a walk through the dominator tree, unless there is one on the path
 * down. Objects that only several members retain together are not counted.
 */
static void enter(const struct session *session, struct groups *groups, heap_node_id node)
{
	heap_object_id object = heap_divided_block(session->divided, node);

	if (object == HEAP_NO_OBJECT)
		return;

	struct group *group = &groups->groups[groups->of[object]];

	if (group->active++ == 0)
		group->retained += session->dominators->retained[node];
}

static void leave(const struct session *session, struct groups *groups, heap_node_id node)
{
	heap_object_id object = heap_divided_block(session->divided, node);

	if (object != HEAP_NO_OBJECT)
		groups->groups[groups->of[object]].active--;
}

HEAP_MUST_CHECK
static struct heap_error *add_retained(struct session *session, struct groups *groups)
{
	const struct heap_dominator_tree *tree = &session->tree;
	CLEANUP_COLUMN uint32_t *next = NULL; // [nodes] the child to visit next

	HEAP_TRY(session_dominator_tree(session));
	HEAP_TRY(heap_column_create((size_t)tree->nodes + 1, sizeof(*next), &next));
	memcpy(next, tree->first, ((size_t)tree->nodes + 1) * sizeof(*next));
	for (uint32_t i = tree->first[tree->nodes]; i < tree->first[tree->nodes + 1]; i++) {
		heap_node_id at = tree->child[i];

		enter(session, groups, at);
		while (at != HEAP_NO_NODE) {
			if (next[at] < tree->first[at + 1]) {
				at = tree->child[next[at]++];
				enter(session, groups, at);
			} else {
				leave(session, groups, at);
				at = session->dominators->nearest[at];
			}
		}
	}
	return NULL;
}

// --- rows --------------------------------------------------------------------

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

static void put_group(struct rows *rows, const struct groups *groups, const struct group *group,
		      const char *build)
{
	const struct heap_snapshot *snapshot = rows->session->snapshot;
	const struct heap_info *info = &snapshot->info;
	heap_site_id site = snapshot->site[group->example];

	put_text(rows, info->host);
	put_text(rows, info->program);
	put_text(rows, build);
	put_number(rows, info->pid);
	put_number(rows, info->start_time_ns / 1000000000);
	put_number(rows, info->serial);
	put_text(rows, info->id);
	put_number(rows, info->time_ns / 1000000000);
	put_text(rows, type_name(rows, group->example));
	put_text(rows, site_name(rows, site));
	put_text(rows, describe_module(rows->session, snapshot->sites[site].module));
	put_number(rows, group->objects);
	put_number(rows, group->bytes);
	put_number(rows, group->retained);
	put_number(rows, group->leaked);
	put_holder(rows, groups, group);
	end_row(rows);
}

static void groups_deinit(struct groups *groups)
{
	heap_column_destroy(groups->of);
	free(groups->groups);
	holders_destroy(groups->holders);
	heap_array_deinit(&groups->claims);
	heap_hash_table_deinit(&groups->by_claim);
	heap_hash_table_deinit(&groups->by_kind);
}

HEAP_MUST_CHECK
static struct heap_error *write_groups(struct rows *rows)
{
	struct session *session = rows->session;
	CLEANUP(groups_deinit) struct groups groups = { .count = 0 };
	const char *build = find_build(session->snapshot);

	HEAP_TRY(heap_column_create((size_t)session->snapshot->object_count + 1, sizeof(*groups.of),
				    &groups.of));
	HEAP_TRY(count_objects(session, &groups));
	HEAP_TRY(find_holders(session, &groups));
	HEAP_TRY(add_retained(session, &groups));
	if (groups.count > 0)
		qsort(groups.groups, groups.count, sizeof(*groups.groups), compare_groups);
	for (uint32_t i = 0; i < groups.count; i++)
		put_group(rows, &groups, &groups.groups[i], build);
	return NULL;
}

struct heap_error *export_rows(struct export *export)
{
	return write_rows(export, write_groups);
}

HEAP_MUST_CHECK
static struct heap_error *write_objects(struct rows *rows)
{
	static const char *const reaches[] = { "leaked", "interior", "start" };
	const struct session *session = rows->session;
	const struct heap_snapshot *snapshot = session->snapshot;

	for (heap_object_id i = 0; i < snapshot->object_count && !session_must_stop(session); i++) {
		put_text(rows, snapshot->info.id);
		put_number(rows, snapshot->address[i]);
		put_text(rows, type_name(rows, i));
		put_number(rows, snapshot->elements[i]);
		put_number(rows, snapshot->size[i]);
		put_text(rows, site_name(rows, snapshot->site[i]));
		put_number(rows, snapshot->epochs[snapshot->birth[i]] / 1000000000);
		put_text(rows, reaches[session->graph->reach[i]]);
		put_number(rows, session_retained(session, i));
		end_row(rows);
	}
	return NULL;
}

struct heap_error *export_object_rows(struct export *export)
{
	return write_rows(export, write_objects);
}

static void put_edge(struct rows *rows, heap_object_id source, uint32_t edge)
{
	const struct heap_snapshot *snapshot = rows->session->snapshot;
	uint64_t offset = (uint64_t)snapshot->edge_slot[edge] * 8;
	const void *mark = session_mark(rows->session);

	put_text(rows, snapshot->info.id);
	put_number(rows, snapshot->address[source]);
	put_number(rows, offset);
	put_text(rows, field_of_object(rows->session, source, offset));
	put_number(rows, snapshot->address[snapshot->edge_target[edge]]);
	put_number(rows, snapshot->edge_interior[edge]);
	put_number(rows, snapshot->edge_flags[edge] & HEAP_EDGE_TYPED);
	end_row(rows);
	session_release(rows->session, mark);
}

HEAP_MUST_CHECK
static struct heap_error *write_edges(struct rows *rows)
{
	const struct heap_snapshot *snapshot = rows->session->snapshot;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (session_must_stop(rows->session))
			break;
		for (uint32_t edge = snapshot->edge_first[i]; edge < snapshot->edge_first[i + 1];
		     edge++)
			put_edge(rows, i, edge);
	}
	return NULL;
}

struct heap_error *export_edge_rows(struct export *export)
{
	return write_rows(export, write_edges);
}
