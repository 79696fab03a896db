// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests objects, and parts of them, against a filter.
 */
#include "lib/query/filter_state.h"

#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/query/field_test.h"

#include <string.h>

// The object, or the part of one, that is tested.
struct subject {
	heap_object_id object;
	const struct heap_part *part; // NULL: the whole
};

static heap_type_id type_of(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return subject->part ? subject->part->type : snapshot->type[subject->object];
}

static uint64_t elements_of(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return subject->part ? subject->part->elements : snapshot->elements[subject->object];
}

static uint64_t size_of(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return subject->part ? heap_snapshot_part_size(snapshot, subject->part)
			     : snapshot->size[subject->object];
}

static bool is_within(const struct heap_snapshot *snapshot, const struct subject *subject,
		      uint64_t offset)
{
	const struct heap_part *part = subject->part;

	return !part || (offset >= part->offset &&
			 offset - part->offset < heap_snapshot_part_size(snapshot, part));
}

static bool points_to(const struct heap_snapshot *snapshot, const struct subject *subject,
		      heap_object_id to)
{
	heap_object_id from = subject->object;

	for (uint32_t i = snapshot->edge_first[from]; i < snapshot->edge_first[from + 1]; i++) {
		if (snapshot->edge_target[i] == to &&
		    (!subject->part ||
		     is_within(snapshot, subject, (uint64_t)snapshot->edge_slot[i] * 8)))
			return true;
	}
	return false;
}

static bool is_pointed_by(const struct heap_snapshot *snapshot, const struct subject *subject,
			  heap_object_id from)
{
	for (uint32_t i = snapshot->edge_first[from]; i < snapshot->edge_first[from + 1]; i++) {
		if (snapshot->edge_target[i] == subject->object &&
		    (!subject->part || is_within(snapshot, subject, snapshot->edge_interior[i])))
			return true;
	}
	return false;
}

// Reads the bytes of a subject. @return their number
static size_t read_subject(struct heap_filter *filter, const struct subject *subject,
			   const uint8_t **bytes)
{
	struct heap_snapshot *snapshot = filter->snapshot;
	uint64_t size = snapshot->size[subject->object];
	uint64_t from = subject->part ? subject->part->offset : 0;
	size_t kept;

	if (size > snapshot->info.content_limit)
		size = snapshot->info.content_limit;
	if (filter->error)
		return 0;
	filter->error = heap_reserve(filter->content, filter->content_capacity, size);
	if (filter->error)
		return 0;
	filter->error =
		heap_snapshot_read_content(snapshot, subject->object, filter->content, size, &kept);
	if (filter->error || from >= kept)
		return 0;
	kept -= from;
	if (subject->part && kept > heap_snapshot_part_size(snapshot, subject->part))
		kept = heap_snapshot_part_size(snapshot, subject->part);
	*bytes = filter->content + from;
	return kept;
}

static bool holds_text(struct heap_filter *filter, const struct subject *subject,
		       const struct heap_text_pattern *pattern)
{
	const uint8_t *bytes;
	size_t kept = read_subject(filter, subject, &bytes);

	return kept > 0 && heap_text_pattern_matches(pattern, (const char *)bytes, kept,
						     kept == size_of(filter->snapshot, subject));
}

// True if one of the words that were kept is the address of one of the functions.
static bool holds_function(struct heap_filter *filter, const struct subject *subject,
			   const uint8_t *functions)
{
	const struct heap_snapshot *snapshot = filter->snapshot;
	const uint8_t *bytes;
	size_t kept = read_subject(filter, subject, &bytes);

	for (size_t at = 0; at + sizeof(uint64_t) <= kept; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));

		const struct heap_call *code = heap_snapshot_function(snapshot, word);

		if (code && functions[code - snapshot->functions])
			return true;
	}
	return false;
}

static bool has_field(struct heap_filter *filter, const struct subject *subject,
		      struct heap_field_test *test)
{
	const struct heap_snapshot *snapshot = filter->snapshot;
	struct heap_field_subject field = { subject->object,
					    subject->part ? subject->part->offset : 0,
					    size_of(snapshot, subject),
					    type_of(snapshot, subject),
					    elements_of(snapshot, subject),
					    NULL,
					    0 };

	if (field.type == HEAP_NO_TYPE)
		return false;
	field.kept = read_subject(filter, subject, &field.bytes);
	return heap_field_test_matches(test, &field, &filter->error);
}

static bool is_under_typed(const struct heap_snapshot *snapshot, const struct subject *subject)
{
	return heap_types_uncovered(&snapshot->types, type_of(snapshot, subject),
				    elements_of(snapshot, subject), size_of(snapshot, subject)) > 0;
}

static bool is_of_type(const struct heap_snapshot *snapshot, const struct subject *subject,
		       const struct heap_term *term)
{
	heap_type_id type = type_of(snapshot, subject);
	// The number in front of an array counts as an element.
	uint64_t header = heap_types_counted(&snapshot->types, type) != HEAP_NO_TYPE;

	switch (term->set[type]) {
	case HEAP_IF_AS_MANY:
		return elements_of(snapshot, subject) - header == term->number;
	case HEAP_ALWAYS:
		return true;
	default:
		return false;
	}
}

static bool has_frame(const struct heap_snapshot *snapshot, heap_object_id object,
		      const struct heap_term *term)
{
	uint32_t step = heap_backtrace_step(snapshot->backtrace[object]);

	return term->set[snapshot->site[object]] || (step > 0 && term->steps[step]);
}

static bool is_sample(const struct heap_snapshot *snapshot, heap_object_id object,
		      const struct heap_term *term)
{
	const struct heap_sample *sample = heap_snapshot_sample(snapshot, object);

	return sample && term->set[sample - snapshot->samples];
}

// The node of a part, or of the one that it lies in.
static heap_node_id node_of(const struct heap_filter *filter, const struct subject *subject)
{
	return subject->part
		       ? heap_divided_node(filter->divided, subject->object, subject->part->offset)
		       : subject->object;
}

static uint64_t retained_by(const struct heap_filter *filter, const struct subject *subject)
{
	return subject->part ? filter->divided->dominators->retained[node_of(filter, subject)]
			     : heap_divided_retained(filter->divided, subject->object);
}

static bool term_matches(struct heap_filter *filter, const struct heap_term *term,
			 const struct subject *subject)
{
	const struct heap_snapshot *snapshot = filter->snapshot;
	heap_object_id object = subject->object;

	switch (term->kind) {
	case HEAP_TERM_TYPE:
		return is_of_type(snapshot, subject, term);
	case HEAP_TERM_SITE:
		return term->set[snapshot->site[object]];
	case HEAP_TERM_FRAME:
		return has_frame(snapshot, object, term);
	case HEAP_TERM_EVIDENCE:
		return (subject->part ? subject->part->evidence : snapshot->evidence[object]) ==
		       term->number;
	case HEAP_TERM_TAG:
		return !subject->part && term->set[snapshot->tag[object]];
	case HEAP_TERM_CONFLICT:
		return !subject->part && snapshot->conflicts[object] > 0;
	case HEAP_TERM_NEW:
		return filter->is_new && filter->is_new[object];
	case HEAP_TERM_TRACED:
		return is_sample(snapshot, object, term);
	case HEAP_TERM_UNDER_TYPED:
		return is_under_typed(snapshot, subject);
	case HEAP_TERM_SIZE:
		return heap_compare(size_of(snapshot, subject), term->comparison, term->number);
	case HEAP_TERM_AGE:
		return term->set[snapshot->birth[object]];
	case HEAP_TERM_STRING:
		return holds_text(filter, subject, term->pattern);
	case HEAP_TERM_FIELD:
		return has_field(filter, subject, term->field);
	case HEAP_TERM_REACH:
		return heap_graph_is_leaked(filter->graph, object) == (term->number == 0);
	case HEAP_TERM_LOCAL:
		return heap_bit_get(term->set, object);
	case HEAP_TERM_POINTS_TO:
		return term->set ? holds_function(filter, subject, term->set)
				 : points_to(snapshot, subject, term->object);
	case HEAP_TERM_POINTED_BY:
		return is_pointed_by(snapshot, subject, term->object);
	case HEAP_TERM_RETAINED:
		return heap_compare(retained_by(filter, subject), term->comparison, term->number);
	case HEAP_TERM_UNDER:
		return heap_bit_get(term->set, node_of(filter, subject));
	}
	return false;
}

static bool subject_matches(struct heap_filter *filter, const struct subject *subject)
{
	bool matches = filter->count == 0;

	for (size_t i = 0; i < filter->count; i++) {
		const struct heap_term *term = &filter->terms[i];

		if (term->begins_group) {
			if (i > 0 && matches)
				return true;
			matches = true;
		}
		if (matches)
			matches = term_matches(filter, term, subject) != term->negated;
	}
	return matches;
}

bool heap_filter_matches(struct heap_filter *filter, heap_object_id object)
{
	return subject_matches(filter, &(struct subject){ object, NULL });
}

bool heap_filter_matches_part(struct heap_filter *filter, const struct heap_part *part)
{
	return subject_matches(filter, &(struct subject){ part->object, part });
}

heap_object_id heap_filter_next(struct heap_filter *filter, heap_object_id from, heap_object_id end)
{
	const struct heap_term *term = filter->terms;

	// The most frequent filter has a loop of its own, without a call for each object.
	if (filter->count == 1 && term->kind == HEAP_TERM_TYPE && !term->negated && !term->number) {
		const heap_type_id *type = filter->snapshot->type;

		while (from < end && !term->set[type[from]])
			from++;
		return from;
	}
	while (from < end && !heap_filter_matches(filter, from))
		from++;
	return from;
}
