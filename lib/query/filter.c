// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/filter_state.h"

#include "lib/base/cleanup.h"
#include "lib/query/field_test.h"

#include <stdlib.h>

void heap_filter_destroy(struct heap_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; filter->terms && i < filter->count; i++)
		heap_term_deinit(&filter->terms[i]);
	free(filter->terms);
	free(filter->content);
	heap_error_destroy(filter->error);
	heap_error_destroy(filter->absent);
	free(filter);
}

struct heap_error *heap_filter_finish(struct heap_filter *filter)
{
	return keep(filter->error);
}

uint64_t heap_filter_unknown(const struct heap_filter *filter)
{
	uint64_t unknown = 0;

	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].field)
			unknown += heap_field_test_unknown(filter->terms[i].field);
	}
	return unknown;
}

bool heap_filter_lacks_field(const struct heap_filter *filter)
{
	return filter->lacks_field;
}

struct heap_error *heap_filter_absent(struct heap_filter *filter)
{
	return keep(filter->absent);
}

bool heap_filter_needs_graph(const struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_REACH)
			return true;
	}
	return false;
}

bool heap_filter_needs_dominators(const struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_RETAINED ||
		    filter->terms[i].kind == HEAP_TERM_UNDER)
			return true;
	}
	return false;
}

bool heap_filter_needs_new(const struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_NEW)
			return true;
	}
	return false;
}

void heap_filter_set_new(struct heap_filter *filter, const uint8_t *is_new)
{
	filter->is_new = is_new;
}

static unsigned columns_of(const struct heap_term *term)
{
	switch (term->kind) {
	case HEAP_TERM_TYPE:
		return HEAP_COLUMN_TYPE | (term->number ? HEAP_COLUMN_ELEMENTS : 0);
	case HEAP_TERM_SITE:
		return HEAP_COLUMN_SITE;
	case HEAP_TERM_FRAME:
		return HEAP_COLUMN_SITE | HEAP_COLUMN_BACKTRACE;
	case HEAP_TERM_EVIDENCE:
		return HEAP_COLUMN_EVIDENCE;
	case HEAP_TERM_TAG:
		return HEAP_COLUMN_TAG;
	case HEAP_TERM_CONFLICT:
		return HEAP_COLUMN_CONFLICTS;
	case HEAP_TERM_UNDER_TYPED:
		return HEAP_COLUMN_TYPE | HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_SIZE;
	case HEAP_TERM_AGE:
		return HEAP_COLUMN_BIRTH;
	case HEAP_TERM_SIZE:
	case HEAP_TERM_STRING:
		return HEAP_COLUMN_SIZE;
	case HEAP_TERM_POINTS_TO:
		return term->set ? HEAP_COLUMN_SIZE : HEAP_COLUMN_SLOTS;
	case HEAP_TERM_POINTED_BY:
		return HEAP_COLUMN_SLOTS; // of parts, which slot counts
	case HEAP_TERM_LOCAL:
	case HEAP_TERM_FIELD: // heap_field_test_prepare() does it
	case HEAP_TERM_REACH:
	case HEAP_TERM_RETAINED:
	case HEAP_TERM_UNDER:
	case HEAP_TERM_NEW:
	case HEAP_TERM_TRACED:
		break;
	}
	return 0;
}

// Marks the objects that the objects of `under` dominate.
HEAP_MUST_CHECK
static struct heap_error *mark_under(struct heap_filter *filter)
{
	for (size_t i = 0; i < filter->count; i++) {
		struct heap_term *term = &filter->terms[i];

		if (term->kind != HEAP_TERM_UNDER || term->set)
			continue;
		term->set = calloc(filter->divided->objects / 8 + 1, 1);
		HEAP_TRY(term->set ? heap_divided_mark(filter->divided, term->object, term->set)
				   : heap_error_out_of_memory());
	}
	return NULL;
}

struct heap_error *heap_filter_prepare(struct heap_filter *filter, struct heap_graph *graph,
				       const struct heap_divided *divided)
{
	unsigned needed = 0;

	for (size_t i = 0; i < filter->count; i++)
		needed |= columns_of(&filter->terms[i]);
	filter->graph = graph;
	filter->divided = divided;

	HEAP_TRY(heap_snapshot_load(filter->snapshot, needed));
	if (heap_filter_needs_graph(filter))
		HEAP_TRY(heap_graph_need_leaked(graph));
	HEAP_TRY(mark_under(filter));
	for (size_t i = 0; i < filter->count; i++) {
		if (filter->terms[i].kind == HEAP_TERM_FIELD)
			HEAP_TRY(heap_field_test_prepare(filter->terms[i].field));
	}
	return NULL;
}
