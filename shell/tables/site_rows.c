// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/site_rows.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "shell/print/describe.h"

#include <string.h>

static bool print_alike(struct session *session, heap_site_id site, const char *text)
{
	const void *mark = session_mark(session);
	bool is_same = strcmp(describe_site(session, site), text) == 0;

	session_release(session, mark);
	return is_same;
}

HEAP_MUST_CHECK
static struct heap_error *find_first(struct session *session, struct heap_hash_table *table,
				     heap_site_id site, heap_site_id *result)
{
	const void *mark = session_mark(session);
	const char *text = describe_site(session, site);
	uint64_t hash = heap_hash_string(text);
	struct heap_error *error = NULL;

	*result = heap_hash_find(table, hash, other, print_alike(session, other, text));
	if (*result == HEAP_HASH_NONE) {
		*result = site;
		error = heap_hash_add(table, hash, site);
	}
	session_release(session, mark);
	return error;
}

struct heap_error *site_rows_find(struct session *session, const heap_site_id **result)
{
	CLEANUP_HASH_TABLE struct heap_hash_table table = { 0 };
	uint32_t count = session->snapshot->site_count;
	heap_site_id *first = session_allocate(session, ((size_t)count + 1) * sizeof(*first));

	if (!first)
		return heap_error_out_of_memory();
	for (heap_site_id i = 0; i < count; i++)
		HEAP_TRY(find_first(session, &table, i, &first[i]));
	*result = first;
	return NULL;
}
