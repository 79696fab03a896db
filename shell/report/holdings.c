// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report/holdings.h"

#include "lib/base/cleanup.h"
#include "lib/graph/merged_tree.h"
#include "shell/print/describe.h"
#include "shell/report/text.h"
#include "shell/tables/root_sizes.h"

#include <stdlib.h>

enum {
	MAX_SHOWN = 2500,
	SMALLEST = 50000, // the share of the heap that is too small to be visible
};

static const char *const kinds[] = {
	[HEAP_MERGED_ALL] = "all",         [HEAP_MERGED_ROOT] = "root",
	[HEAP_MERGED_SEVERAL] = "several", [HEAP_MERGED_UNREACHABLE] = "unreachable",
	[HEAP_MERGED_TYPE] = "type",       [HEAP_MERGED_SITE] = "site",
	[HEAP_MERGED_WORDS] = "words",
};

static const char *describe_holding(struct session *session, const struct root_groups *groups,
				    const struct heap_merged *holding)
{
	switch (holding->kind) {
	case HEAP_MERGED_ROOT:
		return describe_root(session, holding->what);
	case HEAP_MERGED_TYPE:
		return describe_type(session, holding->what);
	case HEAP_MERGED_SITE:
		return session_format(session, "untyped%s",
				      describe_with_site(session, ", ", holding->what));
	case HEAP_MERGED_SEVERAL:
		return session_format(session, "held by %s",
				      root_class_name(session, groups, holding->what));
	case HEAP_MERGED_WORDS:
		return "held by words of stacks, registers and mappings alone";
	case HEAP_MERGED_UNREACHABLE:
		return "unreachable";
	default:
		return "the heap";
	}
}

struct ranked {
	uint64_t bytes;
	uint32_t holding;
};

// The largest first; a parent before its children, which have higher numbers.
static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->holding < b->holding ? -1 : a->holding > b->holding;
}

static void write_holding(struct session *session, const struct root_groups *groups,
			  const struct heap_merged *holding, uint32_t parent,
			  struct report_details *details)
{
	struct output *output = session->output;

	output_open_object(output, NULL);
	if (holding->kind != HEAP_MERGED_ALL)
		output_number(output, "parent", parent);
	output_string(output, "name",
		      report_name(session, describe_holding(session, groups, holding)));
	output_string(output, "kind", kinds[holding->kind]);
	output_number(output, "objects", holding->objects);
	output_number(output, "own", holding->own);
	output_number(output, "bytes", holding->bytes);
	report_details_refer(details, session, "example",
			     heap_divided_block(session->divided, holding->example));
	output_close(output);
}

// Positions of the shown holdings in the answer; parents come first.
HEAP_MUST_CHECK
static struct heap_error *write_largest(struct session *session, const struct root_groups *groups,
					const struct heap_merged *holdings, uint32_t count,
					struct report_details *details)
{
	CLEANUP_FREE struct ranked *ranked = calloc(count, sizeof(*ranked));
	CLEANUP_FREE uint32_t *place = calloc(count, sizeof(*place));

	if (!ranked || !place)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ holdings[i].bytes, i };
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	output_open_array(session->output, "holdings");
	for (uint32_t i = 0; i < count && i < MAX_SHOWN; i++) {
		const struct heap_merged *holding = &holdings[ranked[i].holding];
		const void *mark = session_mark(session);

		if (i > 0 && holding->bytes <= holdings[0].bytes / SMALLEST)
			break;
		place[ranked[i].holding] = i;
		write_holding(session, groups, holding, place[holding->parent], details);
		session_release(session, mark);
	}
	output_close(session->output);
	return NULL;
}

struct heap_error *report_holdings_write(struct session *session, struct report_details *details)
{
	const struct session_holders *all;
	const struct heap_snapshot *nodes;
	CLEANUP_FREE struct heap_merged *holdings = NULL;
	struct heap_holders holders;
	struct root_groups groups;
	uint32_t count;

	HEAP_TRY(root_groups_by_root(session, &groups));
	HEAP_TRY(session_holders(session, &all));
	holders = session_heap_holders(all);
	HEAP_TRY(session_node_kinds(session, &nodes));
	HEAP_TRY(heap_merged_tree_find(nodes, &session->tree, &holders, &session->progress.progress,
				       &holdings, &count));
	return write_largest(session, &groups, holdings, count, details);
}
