// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/root_sizes.h"

#include <stdlib.h>

static int compare_roots(const void *left, const void *right)
{
	const struct root_sizes *a = left, *b = right;

	if (a->retained != b->retained)
		return a->retained > b->retained ? -1 : 1;
	if (a->reachable.bytes != b->reachable.bytes)
		return a->reachable.bytes > b->reachable.bytes ? -1 : 1;
	return a->root < b->root ? -1 : a->root > b->root;
}

// What each root holds, by root; all are measured at once.
HEAP_MUST_CHECK
static struct heap_error *measure(struct session *session, struct heap_root_size **result)
{
	const struct heap_root_sizes *sizes;
	size_t count = (size_t)session->snapshot->root_count + 1;
	uint32_t *group = session_allocate(session, count * sizeof(*group));
	struct heap_root_size *measured = session_allocate(session, count * sizeof(*measured));
	struct heap_error *error = session_root_sizes(session, &sizes);

	if (!error && (!group || !measured))
		error = heap_error_out_of_memory();
	if (error)
		return error;
	for (heap_root_id i = 0; i < session->snapshot->root_count; i++)
		group[i] = i;
	*result = measured;
	return heap_root_sizes_measure(sizes, group, session->snapshot->root_count, measured, NULL);
}

struct heap_error *root_sizes_measure(struct session *session, uint64_t minimum, size_t limit,
				      struct root_sizes **result, size_t *count)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct heap_root_size *measured;
	struct heap_error *error = measure(session, &measured);
	struct root_sizes *roots =
		session_allocate(session, ((size_t)snapshot->root_count + 1) * sizeof(*roots));
	size_t found = 0;

	if (!error && !roots)
		error = heap_error_out_of_memory();
	if (error)
		return error;
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		const struct heap_root_size *held = &measured[i];

		if (held->reachable_objects == 0 || held->retained < minimum)
			continue;
		roots[found++] = (struct root_sizes){
			.root = i,
			.retained = held->retained,
			.exclusive = held->exclusive,
			.reachable = { held->reachable_objects, held->reachable },
		};
	}
	qsort(roots, found, sizeof(*roots), compare_roots);
	*result = roots;
	*count = found < limit ? found : limit;
	return NULL;
}
