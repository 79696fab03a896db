// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/deep_content.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	LARGEST = CONTENT_WORDS * 8,
	SAMPLES = 32,         // values
	MOST_AHEAD = 16,      // points for what one pointer leads to
	AGREES = 4,           // points, if that has the pointee's name; else as many against
	MIN_SCORE = 16,       // of all samples
	MARGIN = 2,           // times that of any other type
	CONTRADICTED = 8,     // one of so many samples may be, or does not agree
	NEARLY = 75,          // per cent of the best score that a near type needs
	CONFIRMED_BY_ANY = 1, // points of content_score() for a void pointer to a block
};

// A struct by its size.
struct deep_type {
	uint64_t size;
	heap_type_id type;
};

static int compare_types(const void *left, const void *right)
{
	const struct deep_type *a = left, *b = right;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

// Marks the types that the executable knows, and those of blocks whose names are good.
HEAP_MUST_CHECK
static struct heap_error *mark_near(struct deep_content *deep)
{
	const struct inference *inference = deep->inference;
	const struct capture *capture = inference->capture;
	const struct module *program = modules_find(&capture->modules, capture->image.entry);

	deep->near = calloc((size_t)inference->layouts.types->count + 1, sizeof(*deep->near));
	if (!deep->near)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; program && program->type_map && i < program->debug.types.count; i++)
		deep->near[program->type_map[i]] = 1;
	for (heap_object_id i = 0; i < capture->objects.count && !progress_is_late(); i++) {
		progress_step();
		if (claims_are_good(&inference->claims, i))
			deep->near[names_type(&capture->names, i)] = 1;
	}
	return NULL;
}

struct heap_error *deep_content_init(struct deep_content *deep, const struct inference *inference)
{
	const struct layouts *layouts = &inference->layouts;

	*deep = (struct deep_content){
		.inference = inference,
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*deep->words)),
		.ahead = malloc((CONTENT_WORDS + 1) * sizeof(*deep->ahead)),
	};
	if (!deep->words || !deep->ahead)
		return heap_error_out_of_memory();
	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		const struct layout_facts *facts = &layouts->facts[id];

		if (facts->is_candidate && facts->stripped == id && !facts->is_flexible &&
		    layouts_is_compound(layouts, id) && facts->size <= LARGEST)
			HEAP_TRY(heap_array_append(&deep->types,
						   ((struct deep_type){ facts->size, id })));
	}
	if (deep->types.count > 0)
		qsort(deep->types.items, deep->types.count, sizeof(*deep->types.items),
		      compare_types);
	return inference_has_sites(inference) ? NULL : mark_near(deep);
}

void deep_content_deinit(struct deep_content *deep)
{
	heap_array_deinit(&deep->types);
	free(deep->near);
	free(deep->words);
	free(deep->ahead);
}

static void read_value(const struct deep_content *deep, const struct deep_value *value,
		       struct content *content)
{
	content_read_part(deep->inference, value->object, value->start, value->size, deep->words,
			  content);
}

static bool is_zero(const struct content *content)
{
	for (size_t i = 0; i < content->count; i++) {
		if (content->words[i] != 0)
			return false;
	}
	return true;
}

bool deep_content_is_near(const struct deep_content *deep, heap_type_id type)
{
	return !deep->near || deep->near[type] != 0;
}

bool deep_content_is_zero(const struct deep_content *deep, const struct deep_value *value)
{
	struct content content;

	read_value(deep, value, &content);
	return is_zero(&content);
}

static int limit(int score, int most)
{
	if (score > most)
		return most;
	return score < -most ? -most : score;
}

// Scores the block that a pointer to characters leads to. It may be any bytes, so only a text agrees. That of a single letter
// may as well be a small number.
static int text_score(const struct deep_content *deep, heap_object_id target)
{
	const struct inference *inference = deep->inference;
	struct content ahead;

	if (inference->claims.name_rank[target] != RANK_NONE)
		return layouts_is_character(&inference->layouts, inference_type(inference, target))
			       ? AGREES
			       : 0;
	content_read(inference, target, deep->ahead, &ahead);
	if (memchr(deep->ahead, '\0', sizeof(uint16_t)))
		return 0;
	return content_is_text(inference, &ahead, inference_size(inference, target)) ? AGREES : 0;
}

// Scores what a pointer of a value leads to. A void pointer may lead to anything: that it leads to a block is
// no agreement.
static int pointee_score(const struct deep_content *deep, const struct content *content,
			 const struct heap_slot *slot)
{
	const struct inference *inference = deep->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t place =
		inference_prefix(inference, content->object) + content->start + slot->offset;
	uint32_t edge = heap_edge_at(snapshot, content->object, place);
	struct content ahead;
	struct layout_claim claim;
	heap_object_id target;

	if (edge != UINT32_MAX && slot->pointee == HEAP_NO_TYPE)
		return -CONFIRMED_BY_ANY;
	if (edge == UINT32_MAX || snapshot->edge_interior[edge] != 0)
		return 0;
	target = snapshot->edge_target[edge];
	// Texts speak for rivals as well, of which there are enough where sites name other blocks.
	if (layouts_is_character(&inference->layouts, slot->pointee))
		return inference_has_sites(inference) ? 0 : text_score(deep, target);
	if (!layouts_is_compound(&inference->layouts, slot->pointee))
		return 0;
	if (inference->claims.name_rank[target] != RANK_NONE)
		return inference_has(inference, target, slot->pointee, 0) ? AGREES : -AGREES;
	claim = inference_fit(inference, slot->pointee, target);
	if (claim.fit == LAYOUT_NONE)
		return 0;
	content_read(inference, target, deep->ahead, &ahead);
	return limit(content_score(inference, &ahead, claim.type, claim.elements), MOST_AHEAD);
}

// @param is_deep  gets true if what a pointer leads to agrees
static int value_score(const struct deep_content *deep, const struct content *content,
		       heap_type_id type, bool *is_deep)
{
	const struct heap_slots *slots = heap_slot_table_get(&deep->inference->layouts.slots, type);
	int score = content_score(deep->inference, content, type, 1);

	*is_deep = false;
	for (uint32_t i = 0; slots && score >= 0 && i < slots->count; i++) {
		int ahead = pointee_score(deep, content, &slots->list[i]);

		*is_deep |= ahead > 0;
		score += ahead;
	}
	return score;
}

struct deep_verdict deep_content_judge(const struct deep_content *deep,
				       const struct deep_values *values, heap_type_id type)
{
	size_t step = values->count / SAMPLES + 1, most = (values->count + step - 1) / step;
	struct deep_verdict result = { 0 };

	for (size_t i = 0; i < values->count && result.against * CONTRADICTED <= most; i += step) {
		struct content content;
		bool is_deep;
		int score;

		progress_step();
		read_value(deep, &values->items[i], &content);
		if (is_zero(&content))
			continue;
		score = value_score(deep, &content, type, &is_deep);
		result.samples++;
		result.against += score < 0;
		result.agreeing += score > 0 && is_deep;
		result.score += score;
	}
	return result;
}

// Scores a sample of the values. @return below 0 if too many contradict
static int64_t score_type(const struct deep_content *deep, const struct deep_values *values,
			  bool are_alike, heap_type_id type)
{
	const struct deep_verdict found = deep_content_judge(deep, values, type);

	if (found.against * CONTRADICTED > found.samples)
		return -1;
	// Values of several types may be like those of one as far as they go: what lies ahead must agree.
	// Where all are of one type, those whose pointers are not set do not matter.
	if (are_alike ? found.agreeing == 0
		      : (found.samples - found.agreeing) * CONTRADICTED > found.samples)
		return -1;
	return found.score;
}

// The best of some types, and the score of the next one.
struct leader {
	int64_t best, second;
	heap_type_id type;
};

static void compete(struct leader *leader, heap_type_id type, int64_t score)
{
	if (score <= leader->best) {
		leader->second = score > leader->second ? score : leader->second;
		return;
	}
	*leader = (struct leader){ score, leader->best, type };
}

static bool is_clear(const struct leader *leader)
{
	return leader->best >= MIN_SCORE && leader->best >= leader->second * MARGIN;
}

// Types of a size that all of some values may have: [first, end) of those of deep_content_init().
struct range {
	size_t first, end;
};

static struct range find_range(const struct deep_content *deep, const struct deep_values *values)
{
	const struct deep_type *types = deep->types.items;
	uint64_t least = 0, most = UINT64_MAX;
	struct range result;

	for (size_t i = 0; i < values->count; i++) {
		const struct deep_value *value = &values->items[i];

		least = value->size - value->slack > least ? value->size - value->slack : least;
		most = value->size < most ? value->size : most;
	}
	result.first = heap_partition_point(i, 0, deep->types.count, types[i].size < least);
	result.end =
		heap_partition_point(i, result.first, deep->types.count, types[i].size <= most);
	return result;
}

size_t deep_content_rivals(const struct deep_content *deep, const struct deep_values *values)
{
	const struct range range = find_range(deep, values);

	return range.end - range.first;
}

heap_type_id deep_content_choose(const struct deep_content *deep, const struct deep_values *values,
				 bool are_alike)
{
	const struct range range = find_range(deep, values);
	const struct deep_type *types = deep->types.items;
	struct leader near = { 0, 0, HEAP_NO_TYPE }, all = near;

	for (size_t i = range.first; i < range.end && !progress_is_late(); i++) {
		int64_t score = score_type(deep, values, are_alike, types[i].type);

		compete(&all, types[i].type, score);
		if (deep->near && deep->near[types[i].type])
			compete(&near, types[i].type, score);
	}
	if (is_clear(&near) && near.best * 100 >= all.best * NEARLY)
		return near.type;
	return is_clear(&all) ? all.type : HEAP_NO_TYPE;
}
