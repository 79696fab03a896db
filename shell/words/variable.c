// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/words/variable.h"

#include "lib/base/library_code.h"
#include "lib/types/short_name.h"

#include <string.h>

enum {
	NAMES_TOLD = 4, // of variables that a short name could mean
	UNRANKED = UINT32_MAX,
	IN_RUNTIME = 1 << 5,
	IN_NAMESPACE = 1 << 4,
	IN_LIBRARY = 1 << 3,
	RANK_OF_NAME = IN_RUNTIME | IN_NAMESPACE | IN_LIBRARY,
};

// --- whose it is -------------------------------------------------------------------

// The file name of the module; "" for what is in none, such as the stack.
static const char *module_name(const struct heap_snapshot *snapshot, const struct heap_root *root)
{
	uint32_t module =
		root->frame != HEAP_NO_INDEX ? snapshot->frames[root->frame].module : root->module;
	const char *path, *slash;

	if (module == HEAP_NO_INDEX)
		return "";
	path = heap_snapshot_string(snapshot, snapshot->modules[module].path);
	slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool variable_is_own(const struct heap_snapshot *snapshot, heap_root_id root)
{
	const char *name = module_name(snapshot, &snapshot->roots[root]);

	return *name == '\0' || strcmp(name, snapshot->info.program) == 0;
}

static bool is_of_runtime(const char *module)
{
	return heap_is_library_module(module) ||
	       strncmp(module, "libheapsnap", strlen("libheapsnap")) == 0;
}

bool variable_holds_object(const struct heap_snapshot *snapshot, heap_root_id root)
{
	uint64_t at = heap_snapshot_first_root_edge(snapshot, root);

	return at < snapshot->root_edge_count && snapshot->root_edges[at].root == root;
}

// --- by name -----------------------------------------------------------------------

static const char *name_of(const struct heap_snapshot *snapshot, heap_root_id root)
{
	return heap_snapshot_string(snapshot, snapshot->roots[root].name);
}

static bool is_inside(const char *full, const char *name)
{
	for (const char *inner = heap_name_inside(full); inner; inner = heap_name_inside(inner)) {
		if (strcmp(inner, name) == 0)
			return true;
	}
	return false;
}

// The lower, the more likely a variable is meant; UNRANKED: it is not called that.
static unsigned rank(const struct heap_snapshot *snapshot, heap_root_id id, const char *name)
{
	const struct heap_root *root = &snapshot->roots[id];
	const char *full = heap_snapshot_string(snapshot, root->name);
	unsigned result = 0;

	if (root->kind > HEAP_ROOT_LOCAL)
		return UNRANKED;
	if (strcmp(full, name) != 0) {
		if (!is_inside(full, name))
			return UNRANKED;
		result |= IN_NAMESPACE;
	}
	if (is_of_runtime(module_name(snapshot, root)))
		result |= IN_RUNTIME;
	if (!variable_is_own(snapshot, id))
		result |= IN_LIBRARY;
	return result | (unsigned)root->kind << 1 | !variable_holds_object(snapshot, id);
}

HEAP_MAKES_ERROR
static struct heap_error *several(struct session *session, const char *name, heap_root_id best,
				  unsigned best_rank)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *list = name_of(snapshot, best), *last = list;
	int told = 1;

	for (heap_root_id i = best + 1; i < snapshot->root_count && told <= NAMES_TOLD; i++) {
		unsigned its_rank = rank(snapshot, i, name);
		const char *full = name_of(snapshot, i);

		if (its_rank == UNRANKED ||
		    (its_rank & RANK_OF_NAME) != (best_rank & RANK_OF_NAME) ||
		    strcmp(full, name_of(snapshot, best)) == 0 || strcmp(full, last) == 0)
			continue;
		list = session_format(session, "%s, %s", list, told < NAMES_TOLD ? full : "...");
		last = full;
		told++;
	}
	return heap_error_create(HEAP_ERROR_ABSENT, "%s: could be %s", name, list);
}

struct heap_error *variable_find(struct session *session, const char *name, heap_root_id *result)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	unsigned best = UNRANKED;
	bool is_ambiguous = false;

	*result = UINT32_MAX;
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		unsigned its_rank = rank(snapshot, i, name);

		if (its_rank == UNRANKED)
			continue;
		if (best == UNRANKED || (its_rank & RANK_OF_NAME) < (best & RANK_OF_NAME))
			is_ambiguous = false;
		else if ((its_rank & RANK_OF_NAME) == (best & RANK_OF_NAME))
			is_ambiguous |=
				strcmp(name_of(snapshot, i), name_of(snapshot, *result)) != 0;
		if (its_rank < best) {
			best = its_rank;
			*result = i;
		}
	}
	if (!is_ambiguous)
		return NULL;

	// The list is in the order of the snapshot.
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		unsigned its_rank = rank(snapshot, i, name);

		if (its_rank != UNRANKED && (its_rank & RANK_OF_NAME) == (best & RANK_OF_NAME))
			return several(session, name, i, best);
	}
	return NULL;
}
