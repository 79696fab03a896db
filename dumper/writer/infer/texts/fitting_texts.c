// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/texts/fitting_texts.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/base_types.h"
#include "dumper/writer/infer/symbols/shape_fields.h"
#include "dumper/writer/scan/sites.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	LEAST_TEXTS = 4, // of a kind
	PER_CENT = 95,   // of the blocks of a kind without a type
};

// How many blocks of a kind have no type, and how many of these are texts.
struct tally {
	uint32_t untyped, texts;
};

struct search {
	struct capture *capture;
	struct shape_reader reader;
	struct tally *kinds;
	uint8_t *texts; // bits.h: [objects]
};

static void search_deinit(struct search *search)
{
	shape_reader_deinit(&search->reader);
	free(search->kinds);
	free(search->texts);
}

static bool is_untyped(const struct capture *capture, heap_object_id object)
{
	return names_of(&capture->names, object)->evidence == HEAP_EVIDENCE_NONE &&
	       sites_has_types(capture,
			       capture->site_of_kind[objects_kind(&capture->objects, object)]);
}

static bool is_any_untyped(const struct capture *capture)
{
	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		if (is_untyped(capture, i))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *search_init(struct search *search)
{
	struct capture *capture = search->capture;
	heap_type_id character;

	search->kinds = calloc((size_t)capture->objects.kinds.count + 1, sizeof(*search->kinds));
	search->texts = calloc((size_t)capture->objects.count / 8 + 1, 1);
	if (!search->kinds || !search->texts)
		return heap_error_out_of_memory();
	HEAP_TRY(base_types_find_char(&capture->snapshot.types, &character));
	return shape_reader_init(&search->reader, capture, character);
}

static void find_texts(struct search *search)
{
	const struct capture *capture = search->capture;

	for (heap_object_id i = 0; i < capture->objects.count && !progress_is_late(); i++) {
		struct tally *kind = &search->kinds[objects_kind(&capture->objects, i)];

		progress_step();
		if (!is_untyped(capture, i))
			continue;
		kind->untyped++;
		if (!shape_is_fitting_text(&search->reader, i))
			continue;
		kind->texts++;
		heap_bit_set(search->texts, i);
	}
}

static bool are_texts(const struct tally *kind)
{
	return kind->texts >= LEAST_TEXTS &&
	       kind->texts * UINT64_C(100) >= kind->untyped * (uint64_t)PER_CENT;
}

struct heap_error *fitting_texts_name(struct capture *capture)
{
	CLEANUP(search_deinit) struct search search = { .capture = capture };
	const struct objects *objects = &capture->objects;

	if (!capture_has_headers(capture) || !is_any_untyped(capture))
		return NULL;
	HEAP_TRY(search_init(&search));
	find_texts(&search);
	for (heap_object_id i = 0; i < objects->count; i++) {
		if (heap_bit_get(search.texts, i) &&
		    are_texts(&search.kinds[objects_kind(objects, i)]))
			HEAP_TRY(names_set(&capture->names, i, search.reader.character,
					   objects_size(objects, i), HEAP_EVIDENCE_SHAPE));
	}
	return NULL;
}
