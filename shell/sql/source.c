// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/sql/source.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"

#include <string.h>

static void free_names(struct sql_name *names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free(names[i].text);
	free(names);
}

void sql_source_deinit(struct sql_source *source)
{
	if (!source->session)
		return;
	free_names(source->types, source->session->snapshot->types.count);
	free_names(source->sites, source->session->snapshot->site_count);
	free(source->by_type);
	free(source->of_type);
	free(source->of_site);
	if (source->has_leaks)
		heap_leaks_deinit(&source->leaks);
	if (source->session == &source->own)
		session_close(&source->own);
}

struct heap_error *sql_load(struct sql_source *source, unsigned columns)
{
	if ((source->loaded & columns) == columns)
		return NULL;
	HEAP_TRY(heap_snapshot_load(source->session->snapshot, columns));
	source->loaded |= columns;
	return NULL;
}

// --- names ---------------------------------------------------------------------------

static const struct sql_name *find_name(struct sql_source *source, struct sql_name **names,
					size_t count, uint32_t id,
					const char *(*describe)(struct session *, uint32_t))
{
	struct sql_name *name;

	if (!*names)
		*names = calloc(count + 1, sizeof(**names));
	if (!*names)
		return NULL;
	name = &(*names)[id];
	if (!name->text) {
		SESSION_SCOPE(source->session);

		name->text = strdup(describe(source->session, id));
		name->length = name->text ? (int)strlen(name->text) : 0;
	}
	return name->text ? name : NULL;
}

const struct sql_name *sql_type_name(struct sql_source *source, heap_type_id type)
{
	return find_name(source, &source->types, source->session->snapshot->types.count, type,
			 describe_type);
}

const struct sql_name *sql_site_name(struct sql_source *source, heap_site_id site)
{
	return find_name(source, &source->sites, source->session->snapshot->site_count, site,
			 describe_site);
}

// --- the order of types --------------------------------------------------------------

struct named_type {
	const struct sql_name *name;
	heap_type_id type;
};

// Orders as SQLite's BINARY collation does. Objects without a type come first, as NULL does.
static int compare_named(const void *left, const void *right)
{
	const struct named_type *a = left, *b = right;
	int order;

	if ((a->type == HEAP_NO_TYPE) != (b->type == HEAP_NO_TYPE))
		return a->type == HEAP_NO_TYPE ? -1 : 1;
	order = strcmp(a->name->text, b->name->text);
	return order ? order : a->type < b->type ? -1 : a->type > b->type;
}

// Finds where the objects of each type begin. @param next  [types]
HEAP_MUST_CHECK
static struct heap_error *place_types(struct sql_source *source, const struct sql_sum *sums,
				      uint32_t *next)
{
	size_t count = source->session->snapshot->types.count;
	CLEANUP_FREE struct named_type *types = malloc((count + 1) * sizeof(*types));
	size_t used = 0;
	uint32_t at = 0;

	if (!types)
		return heap_error_out_of_memory();
	for (heap_type_id i = 0; i < count; i++) {
		if (sums[i].objects == 0)
			continue;
		types[used] = (struct named_type){ sql_type_name(source, i), i };
		if (!types[used++].name)
			return heap_error_out_of_memory();
	}
	qsort(types, used, sizeof(*types), compare_named);
	for (size_t i = 0; i < used; i++) {
		next[types[i].type] = at;
		at += (uint32_t)sums[types[i].type].objects;
	}
	return NULL;
}

struct heap_error *sql_by_type(struct sql_source *source, const uint32_t **result)
{
	const struct heap_snapshot *snapshot = source->session->snapshot;
	const struct sql_sum *sums;

	*result = source->by_type;
	if (source->by_type)
		return NULL;
	HEAP_TRY(sql_sums(source, &sums, NULL));

	CLEANUP_FREE uint32_t *next = calloc(snapshot->types.count + 1, sizeof(*next));
	CLEANUP_FREE uint32_t *order =
		malloc(((size_t)snapshot->object_count + 1) * sizeof(*order));

	if (!next || !order)
		return heap_error_out_of_memory();
	HEAP_TRY(place_types(source, sums, next));
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		order[next[snapshot->type[i]]++] = i;
	*result = source->by_type = keep(order);
	return NULL;
}

// --- sums ----------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *sum_up(const struct heap_snapshot *snapshot, const uint32_t *ids,
				 size_t count, struct sql_sum **result)
{
	struct sql_sum *sums = calloc(count + 1, sizeof(*sums));

	if (!sums)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		sums[ids[i]].objects++;
		sums[ids[i]].bytes += snapshot->size[i];
	}
	*result = sums;
	return NULL;
}

struct heap_error *sql_sums(struct sql_source *source, const struct sql_sum **types,
			    const struct sql_sum **sites)
{
	const struct heap_snapshot *snapshot = source->session->snapshot;

	if (types && !source->of_type) {
		HEAP_TRY(sql_load(source, HEAP_COLUMN_TYPE | HEAP_COLUMN_SIZE));
		HEAP_TRY(sum_up(snapshot, snapshot->type, snapshot->types.count, &source->of_type));
	}
	if (sites && !source->of_site) {
		HEAP_TRY(sql_load(source, HEAP_COLUMN_SITE | HEAP_COLUMN_SIZE));
		HEAP_TRY(sum_up(snapshot, snapshot->site, snapshot->site_count, &source->of_site));
	}
	if (types)
		*types = source->of_type;
	if (sites)
		*sites = source->of_site;
	return NULL;
}

struct heap_error *sql_reachability(struct sql_source *source, heap_object_id object,
				    const char **result)
{
	if (!source->has_leaks) {
		HEAP_TRY(session_edges(source->session));
		HEAP_TRY(heap_leaks_find(source->session->graph, NULL, NULL, &source->leaks));
		source->has_leaks = true;
	}
	*result = heap_leak_class_name(source->leaks.class_of[object]);
	return NULL;
}
