// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_units.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- headers -------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add(struct heap_dwarf_units *units, const struct heap_dwarf_unit *unit)
{
	// Skeletons and ranges have numbers of units in 32 bits.
	if (units->count >= UINT32_MAX / 2)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_reserve(units->units, units->capacity, units->count + 1));
	units->units[units->count++] = *unit;
	return NULL;
}

// Reads a header behind its length. @return false if it is damaged
static bool read_header(struct heap_dwarf_cursor *cursor, struct heap_dwarf_unit *unit)
{
	bool is_type = unit->start >> HEAP_DWARF_PLACE_SHIFT & 1;
	uint8_t type = is_type ? DW_UT_type : DW_UT_compile;
	uint64_t type_offset = 0;

	unit->version = heap_dwarf_fixed(cursor, 2);
	if (unit->version < 2 || unit->version > 5)
		return false;
	if (unit->version == 5) {
		type = heap_dwarf_fixed(cursor, 1);
		unit->address_size = heap_dwarf_fixed(cursor, 1);
	}
	unit->abbreviations = heap_dwarf_fixed(cursor, unit->offset_size);
	if (unit->version < 5)
		unit->address_size = heap_dwarf_fixed(cursor, 1);
	is_type |= type == DW_UT_type || type == DW_UT_split_type;
	if (is_type) {
		unit->signature = heap_dwarf_fixed(cursor, 8);
		type_offset = heap_dwarf_fixed(cursor, unit->offset_size);
	} else if (type == DW_UT_skeleton || type == DW_UT_split_compile) {
		unit->signature = heap_dwarf_fixed(cursor, 8);
	}
	unit->type = type;
	unit->split = unit->start >> HEAP_DWARF_PLACE_SHIFT >= HEAP_DWARF_SPLIT;
	if (type_offset >= unit->end - unit->start || (is_type && !type_offset))
		return false;
	unit->type_die = is_type ? unit->start + type_offset : HEAP_DWARF_NOWHERE;
	return !cursor->bad && (unit->address_size == 4 || unit->address_size == 8);
}

// Goes from header to header; a length that leads beyond the section ends that.
struct heap_error *heap_dwarf_units_read(struct heap_dwarf_units *units, uint64_t number)
{
	uint64_t base = number << HEAP_DWARF_PLACE_SHIFT, offset = 0;
	struct heap_dwarf_bytes section = heap_dwarf_units_section(units, base);

	while (offset < section.size) {
		struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, offset, section.size);
		struct heap_dwarf_unit unit = { .start = base + offset, .offset_size = 4 };
		uint64_t length = heap_dwarf_fixed(&cursor, 4);

		if (length == 0xffffffff) {
			unit.offset_size = 8;
			length = heap_dwarf_fixed(&cursor, 8);
		}
		if (cursor.bad || !length || length > (uint64_t)(cursor.end - cursor.at)) {
			units->unreadable++;
			break;
		}
		cursor.end = cursor.at + length;
		offset = cursor.end - section.bytes;
		unit.end = base + offset;
		if (!read_header(&cursor, &unit)) {
			units->unreadable++;
			continue;
		}
		unit.die = base + (cursor.at - section.bytes);
		HEAP_TRY(add(units, &unit));
	}
	return NULL;
}

// --- the alternate file --------------------------------------------------------------------

// The identity of an alternate file, and the path that it had.
struct link {
	const char *name;
	const uint8_t *id; // [size]
	uint64_t size;
};

// GNU's section: a name and a build id.
static bool read_link(struct heap_dwarf_bytes section, struct link *link)
{
	struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, 0, section.size);

	link->name = heap_dwarf_string(&cursor);
	link->id = cursor.at;
	link->size = cursor.end - cursor.at;
	return !cursor.bad;
}

// (DWARF 5, section 7.3.6.) In both files: a name, which the alternate file lacks, and an id.
static bool read_supplementary(struct heap_dwarf_bytes section, struct link *link)
{
	struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, 0, section.size);

	if (heap_dwarf_fixed(&cursor, 2) != 5)
		return false;
	heap_dwarf_fixed(&cursor, 1);
	link->name = heap_dwarf_string(&cursor);
	link->size = heap_dwarf_unsigned(&cursor);
	link->id = heap_dwarf_skip(&cursor, link->size);
	return link->id;
}

static bool is_alternate(const struct heap_dwarf_sections *sections, const struct link *link)
{
	struct link own;

	if (heap_dwarf_sections_is(sections, link->id, link->size))
		return true;
	return read_supplementary(sections->supplementary, &own) && own.size == link->size &&
	       memcmp(own.id, link->id, own.size) == 0;
}

static bool try_alternate(struct heap_dwarf_units *units, const char *path, const struct link *link)
{
	int descriptor = heap_regular_file_try(path);

	if (descriptor < 0)
		return false;

	struct heap_dwarf_sections sections;
	struct heap_error *error = heap_dwarf_sections_open(descriptor, path, false, &sections);

	if (!error && is_alternate(&sections, link)) {
		units->alternate = sections;
		units->alternate_descriptor = descriptor;
		return true;
	}
	if (!error)
		heap_dwarf_sections_close(&sections);
	heap_error_destroy(error);
	close(descriptor);
	return false;
}

static heap_dwarf_fetch *fetch_file;

void heap_dwarf_set_fetch(heap_dwarf_fetch *fetch)
{
	fetch_file = fetch;
}

// Tries a file that debuginfod's clients have fetched, or can fetch. @param why  gets the reason, or NULL
static bool try_fetched(struct heap_dwarf_units *units, const struct link *link, const char **why)
{
	CLEANUP_FREE char *path = NULL;
	struct heap_build_id id = { .size = 0 };
	struct heap_error *error;

	if (link->size > HEAP_BUILD_ID_MAX)
		return false;
	memcpy(id.bytes, link->id, link->size);
	id.size = (uint8_t)link->size;
	error = heap_elf_find_fetched(&id, &path);
	if (!error && !path && fetch_file)
		error = fetch_file(&id, &path, why);
	heap_error_destroy(error);
	return path && try_alternate(units, path, link);
}

// Relative to the file, or by build id where distributions put it.
static void find_alternate(struct heap_dwarf_units *units)
{
	const char *slash = strrchr(units->path, '/');
	struct link link;
	char id[2 * 64 + 1], path[8192];
	const char *why = NULL;

	if (!read_link(units->main.alternate, &link) &&
	    !read_supplementary(units->main.supplementary, &link))
		return;
	if (!*link.name || link.size < 2 || link.size > 64)
		return;
	snprintf(path, sizeof(path), "%.*s%s",
		 slash && *link.name != '/' ? (int)(slash - units->path) + 1 : 0, units->path,
		 link.name);
	if (try_alternate(units, path, &link))
		return;
	for (size_t i = 0; i < link.size; i++)
		snprintf(id + 2 * i, 3, "%02x", link.id[i]);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if (!try_alternate(units, path, &link) && !try_fetched(units, &link, &why) &&
	    asprintf(&units->missing, "alternate file %s not found%s%s", link.name, why ? ": " : "",
		     why ? why : "") < 0)
		units->missing = NULL;
}

// --- all of it -----------------------------------------------------------------------------

static int compare_signatures(const void *left, const void *right, void *context)
{
	const struct heap_dwarf_unit *units = context;
	uint64_t a = units[*(const uint32_t *)left].signature;
	uint64_t b = units[*(const uint32_t *)right].signature;

	return (a > b) - (a < b);
}

struct heap_error *heap_dwarf_units_index_types(struct heap_dwarf_units *units)
{
	size_t count = 0;

	units->by_signature = calloc(units->count + 1, sizeof(*units->by_signature));
	if (!units->by_signature)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < units->count; i++)
		if (units->units[i].type_die)
			units->by_signature[count++] = i;
	units->signature_count = count;
	qsort_r(units->by_signature, count, sizeof(*units->by_signature), compare_signatures,
		units->units);
	return NULL;
}

struct heap_error *heap_dwarf_units_open(int descriptor, const char *path,
					 struct heap_dwarf_units *result)
{
	struct heap_dwarf_units units = { .path = path, .alternate_descriptor = -1 };
	struct heap_error *error = NULL;

	HEAP_TRY(heap_dwarf_sections_open(descriptor, path, false, &units.main));
	if (units.main.alternate.size || units.main.supplementary.size)
		find_alternate(&units);
	for (uint64_t place = HEAP_DWARF_INFO; !error && place <= HEAP_DWARF_ALTERNATE; place++)
		error = heap_dwarf_units_read(&units, place);
	if (error)
		heap_dwarf_units_close(&units);
	else
		*result = units;
	return error;
}

void heap_dwarf_units_close(struct heap_dwarf_units *units)
{
	heap_dwarf_sections_close(&units->main);
	if (units->alternate_descriptor >= 0) {
		heap_dwarf_sections_close(&units->alternate);
		close(units->alternate_descriptor);
	}
	for (size_t i = 0; i < units->split_count; i++) {
		heap_dwarf_sections_close(&units->split[i].sections);
		free(units->split[i].path);
	}
	free(units->split);
	free(units->units);
	free(units->skeletons);
	free(units->contributions);
	free(units->by_signature);
	free(units->missing);
	*units = (struct heap_dwarf_units){ .alternate_descriptor = -1 };
}

// The last unit that starts at or before a place, or NULL.
static const struct heap_dwarf_unit *last_before(const struct heap_dwarf_units *units,
						 uint64_t place)
{
	size_t next = heap_partition_point(i, 0, units->count, units->units[i].start <= place);

	return next ? &units->units[next - 1] : NULL;
}

const struct heap_dwarf_unit *heap_dwarf_units_find(const struct heap_dwarf_units *units,
						    uint64_t place)
{
	const struct heap_dwarf_unit *unit = last_before(units, place);

	return unit && place >= unit->die && place < unit->end ? unit : NULL;
}

const struct heap_dwarf_unit *heap_dwarf_units_at(const struct heap_dwarf_units *units,
						  uint64_t start)
{
	const struct heap_dwarf_unit *unit = last_before(units, start);

	return unit && unit->start == start ? unit : NULL;
}

const struct heap_dwarf_unit *heap_dwarf_units_full(const struct heap_dwarf_units *units,
						    const struct heap_dwarf_unit *unit)
{
	uint32_t full = UINT32_MAX;

	if (unit->skeleton)
		full = units->skeletons[unit->skeleton - 1].full;
	return full == UINT32_MAX ? unit : &units->units[full];
}

void heap_dwarf_units_load_late(struct heap_dwarf_units *units)
{
	heap_dwarf_sections_load_late(&units->main);
	for (size_t i = 0; i < units->split_count; i++)
		heap_dwarf_sections_load_late(&units->split[i].sections);
}

const struct heap_dwarf_unit *heap_dwarf_units_find_type(const struct heap_dwarf_units *units,
							 uint64_t signature)
{
	const struct heap_dwarf_unit *all = units->units;
	size_t at = heap_partition_point(i, 0, units->signature_count,
					 all[units->by_signature[i]].signature < signature);

	return at < units->signature_count && all[units->by_signature[at]].signature == signature
		       ? &all[units->by_signature[at]]
		       : NULL;
}

static const struct heap_dwarf_sections *sections_of(const struct heap_dwarf_units *units,
						     uint64_t place)
{
	uint64_t number = place >> HEAP_DWARF_PLACE_SHIFT;

	if (number < HEAP_DWARF_ALTERNATE)
		return &units->main;
	if (number < HEAP_DWARF_SPLIT)
		return &units->alternate;
	number = (number - HEAP_DWARF_SPLIT) / 2;
	return number < units->split_count ? &units->split[number].sections : NULL;
}

const struct heap_dwarf_sections *heap_dwarf_units_sections(const struct heap_dwarf_units *units,
							    const struct heap_dwarf_unit *unit)
{
	return sections_of(units, unit->start);
}

struct heap_dwarf_bytes heap_dwarf_units_section(const struct heap_dwarf_units *units,
						 uint64_t place)
{
	const struct heap_dwarf_sections *sections = sections_of(units, place);

	if (!sections)
		return (struct heap_dwarf_bytes){ 0 };
	return place >> HEAP_DWARF_PLACE_SHIFT & 1 ? sections->types : sections->info;
}

bool heap_dwarf_units_are_complete(const struct heap_dwarf_units *units)
{
	bool is_partial = units->missing || units->main.is_partial || units->alternate.is_partial;

	for (size_t i = 0; i < units->split_count; i++)
		is_partial |= units->split[i].sections.is_partial;
	return !is_partial && units->count > 0;
}
