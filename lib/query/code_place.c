// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/code_place.h"

#include "lib/base/path.h"
#include "lib/query/comparison.h"
#include "lib/types/short_name.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_FUNCTION_NAME = 1024,
};

// Parses a hexadecimal number, all of @p text. @return 0 if it is none
static uint64_t parse_hexadecimal(const char *text)
{
	char *end;
	uint64_t number = strncmp(text, "0x", 2) == 0 ? strtoull(text, &end, 16) : 0;

	return number > 0 && !*end ? number : 0;
}

struct heap_code_place heap_code_place_parse(const char *word)
{
	const char *colon = strrchr(word, ':'), *plus = strrchr(word, '+');
	uint64_t offset = plus ? parse_hexadecimal(plus + 1) : 0;

	return (struct heap_code_place){
		.pattern = word,
		.file_length = colon ? (size_t)(colon - word) : 0,
		.line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0,
		.name_length = offset > 0 ? (size_t)(plus - word) : 0,
		.offset = offset,
		.address = parse_hexadecimal(word),
	};
}

static bool begins_as(const struct heap_code_place *place, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(name, place->pattern, length) == 0;
}

// True for FUNCTION+0xN, or MODULE+0xN where no function is known.
static bool matches_offset(const struct heap_snapshot *snapshot,
			   const struct heap_code_place *place, const struct heap_code *code)
{
	const char *function = heap_snapshot_string(snapshot, code->function);
	char name[MAX_FUNCTION_NAME];

	if (place->name_length == 0 || place->offset != code->offset)
		return false;
	heap_short_name(function, name, sizeof(name));
	if (*function)
		return begins_as(place, place->name_length, function) ||
		       begins_as(place, place->name_length, name);
	return code->module != HEAP_NO_INDEX &&
	       begins_as(place, place->name_length,
			 heap_base_name(heap_snapshot_string(
				 snapshot, snapshot->modules[code->module].path)));
}

bool heap_code_place_matches(const struct heap_snapshot *snapshot,
			     const struct heap_code_place *place, const struct heap_code *code)
{
	const char *function = heap_snapshot_string(snapshot, code->function);
	const char *path = heap_snapshot_string(snapshot, code->file);
	const char *name = heap_base_name(path);

	if (place->unqualified)
		return heap_name_matches_inside(place->pattern, function);
	if (heap_name_matches(place->pattern, function) ||
	    heap_name_matches(place->pattern, path) || heap_name_matches(place->pattern, name) ||
	    (place->address > 0 && place->address == code->address) ||
	    matches_offset(snapshot, place, code))
		return true;
	return place->line > 0 && place->line == code->line &&
	       (begins_as(place, place->file_length, path) ||
		begins_as(place, place->file_length, name));
}
