// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_templates.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdlib.h>

enum {
	NESTING_MAX = 1024, // DIEs inside each other; more is damage
};

// A DIE whose children are being read.
struct level {
	uint64_t start; // of the instance that arguments among them are of
	uint32_t first; // argument in the list that may be of it
	bool is_pack;   // it has more arguments of the instance around it
};

struct reading {
	const struct heap_dwarf_dies *dies;
	struct heap_dwarf_templates *templates;
	struct level levels[NESTING_MAX];
	unsigned depth;
};

HEAP_MUST_CHECK
static struct heap_error *append(struct heap_dwarf_templates *templates, uint64_t start,
				 uint64_t type, bool is_elsewhere)
{
	// Until all are sorted, `outer` is their number.
	return heap_array_append(&templates->list,
				 ((struct heap_dwarf_template_argument){
					 .start = start,
					 .type = type,
					 .is_elsewhere = is_elsewhere,
					 .outer = (uint32_t)templates->list.count }));
}

HEAP_MUST_CHECK
static struct heap_error *add_argument(struct reading *reading, uint64_t place)
{
	struct heap_dwarf_die die;
	uint64_t next;

	HEAP_TRY(heap_dwarf_dies_read(reading->dies, place, true, &die, &next));
	if (die.type == HEAP_DWARF_NOWHERE || reading->depth == 0)
		return NULL;
	return append(reading->templates, reading->levels[reading->depth - 1].start, die.type,
		      false);
}

// A class that is described in a type unit has its methods here, and its arguments there.
HEAP_MUST_CHECK
static struct heap_error *open_level(struct reading *reading, const struct heap_dwarf_die *die)
{
	struct level level = { die->place, (uint32_t)reading->templates->list.count, false };

	if (die->tag == DW_TAG_GNU_template_parameter_pack && reading->depth > 0) {
		level = reading->levels[reading->depth - 1];
		level.is_pack = true;
	}
	reading->levels[reading->depth++] = level;
	if (die->signature == HEAP_DWARF_NOWHERE)
		return NULL;
	return append(reading->templates, die->place, die->signature, true);
}

static void close_level(struct reading *reading, uint64_t end)
{
	const struct level *level = &reading->levels[--reading->depth];
	struct heap_dwarf_templates *templates = reading->templates;

	for (size_t i = level->first; !level->is_pack && i < templates->list.count; i++) {
		if (templates->list.items[i].start == level->start)
			templates->list.items[i].end = end;
	}
}

static bool has_attribute(const struct heap_dwarf_dies *dies,
			  const struct heap_dwarf_abbreviation *abbreviation, uint16_t name)
{
	for (uint32_t i = 0; i < abbreviation->count; i++) {
		if (dies->attributes[abbreviation->attributes + i].name == name)
			return true;
	}
	return false;
}

// False for a unit without templates, as each of C: its abbreviations tell, and the rest need not be read.
static bool may_have_arguments(const struct heap_dwarf_dies *dies)
{
	for (size_t i = 0; i < dies->count; i++) {
		const struct heap_dwarf_abbreviation *abbreviation = &dies->abbreviations[i];

		if (abbreviation->tag == DW_TAG_template_type_parameter ||
		    has_attribute(dies, abbreviation, DW_AT_signature))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *read_dies(struct reading *reading)
{
	const struct heap_dwarf_unit *unit = reading->dies->unit;
	struct heap_error *error = NULL;
	uint64_t place = unit->die, next = place;

	for (; !error && place < unit->end; place = next) {
		struct heap_dwarf_die die;

		error = heap_dwarf_dies_read(reading->dies, place, false, &die, &next);
		if (error || (die.children && reading->depth == NESTING_MAX))
			break;
		if (!die.tag && reading->depth > 0)
			close_level(reading, next);
		if (die.tag == DW_TAG_template_type_parameter)
			error = add_argument(reading, place);
		if (!error && die.tag && die.children)
			error = open_level(reading, &die);
	}
	while (reading->depth > 0)
		close_level(reading, next);
	if (error && heap_error_code(error) == HEAP_ERROR_FORMAT) {
		heap_error_destroy(error);
		error = NULL;
	}
	return error;
}

// Those of one instance stay in their order.
static int compare(const void *left, const void *right)
{
	const struct heap_dwarf_template_argument *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->outer > b->outer) - (a->outer < b->outer);
}

// Links the instances that lie in others.
static void link_outer(struct heap_dwarf_templates *templates)
{
	struct heap_dwarf_template_argument *list = templates->list.items;
	uint32_t count = (uint32_t)templates->list.count, last = count;

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && list[i].start == list[i - 1].start) {
			list[i].outer = list[i - 1].outer;
			continue;
		}
		while (last < count && list[last].end <= list[i].start)
			last = list[last].outer;
		list[i].outer = last;
		last = i;
	}
}

struct heap_error *heap_dwarf_templates_read(struct heap_dwarf_templates *templates,
					     const struct heap_dwarf_dies *dies)
{
	CLEANUP_FREE struct reading *reading = NULL;

	if (!may_have_arguments(dies))
		return NULL;
	reading = calloc(1, sizeof(*reading));
	if (!reading)
		return heap_error_out_of_memory();
	reading->dies = dies;
	reading->templates = templates;
	HEAP_TRY(read_dies(reading));
	if (templates->list.count > 0)
		qsort(templates->list.items, templates->list.count, sizeof(*templates->list.items),
		      compare);
	link_outer(templates);
	return NULL;
}

void heap_dwarf_templates_deinit(struct heap_dwarf_templates *templates)
{
	heap_array_deinit(&templates->list);
}

uint32_t heap_dwarf_templates_find(const struct heap_dwarf_templates *templates, uint64_t place)
{
	const struct heap_dwarf_template_argument *list = templates->list.items;
	uint32_t count = (uint32_t)templates->list.count;
	size_t after = heap_partition_point(i, 0, count, list[i].start <= place);
	uint32_t result = count;

	if (after == 0)
		return count;
	// The first of the last instance that begins before.
	result = (uint32_t)heap_partition_point(i, 0, after, list[i].start < list[after - 1].start);
	while (result < count && list[result].end <= place)
		result = list[result].outer;
	return result;
}
