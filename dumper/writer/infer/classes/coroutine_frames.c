// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/coroutine_frames.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/scan/modules/module_types.h"
#include "dumper/writer/scan/image/page_cache.h"
#include "lib/base/hash_table.h"

#include <sys/mman.h>

enum {
	RESUME,
	DESTROY,
	FUNCTIONS,
};

// A function that destroys frames.
struct destroyer {
	uint64_t address;
	heap_type_id frame; // HEAP_NO_TYPE: it is another function
};

struct search {
	struct capture *capture;
	struct pages *pages;
	struct HEAP_ARRAY(struct destroyer) known;
	struct heap_hash_table by_address;
};

static void search_deinit(struct search *search)
{
	pages_destroy(search->pages);
	heap_array_deinit(&search->known);
	heap_hash_table_deinit(&search->by_address);
}

static bool is_code(const struct search *search, uint64_t address)
{
	return image_is_code(&search->capture->image, address);
}

HEAP_MUST_CHECK
static struct heap_error *find_frame(struct search *search, uint64_t address, heap_type_id *frame)
{
	uint64_t hash = heap_hash_u64(address);
	uint32_t at = heap_hash_find(&search->by_address, hash, i,
				     search->known.items[i].address == address);
	struct module *module;

	*frame = HEAP_NO_TYPE;
	if (at != HEAP_HASH_NONE) {
		*frame = search->known.items[at].frame;
		return NULL;
	}
	module = modules_find(&search->capture->modules, address);
	if (module && is_code(search, address))
		*frame = module_frame_type(module, address, &search->capture->snapshot.types);
	HEAP_TRY(heap_array_append(&search->known, (struct destroyer){ address, *frame }));
	return heap_hash_add(&search->by_address, hash, (uint32_t)search->known.count - 1);
}

// One that has come to its end has no function to resume it.
HEAP_MUST_CHECK
static struct heap_error *look_at(struct search *search, heap_object_id object,
				  struct coroutine_frames *result)
{
	const struct objects *objects = &search->capture->objects;
	uint64_t functions[FUNCTIONS];
	heap_type_id frame;

	if (objects_size(objects, object) < sizeof(functions))
		return NULL;
	pages_read(search->pages, objects_address(objects, object), functions, sizeof(functions));
	if (functions[DESTROY] == 0 ||
	    (functions[RESUME] != 0 && !is_code(search, functions[RESUME])))
		return NULL;
	HEAP_TRY(find_frame(search, functions[DESTROY], &frame));
	if (frame == HEAP_NO_TYPE)
		return NULL;
	return heap_array_append(&result->list, (struct coroutine_frame){ object, frame });
}

struct heap_error *coroutine_frames_find(struct capture *capture, const struct head_words *heads,
					 struct coroutine_frames *result)
{
	CLEANUP(search_deinit) struct search search = { .capture = capture };
	const heap_object_id count = capture->objects.count;

	if (!heads->has_code)
		return NULL;
	search.pages = pages_create(&capture->image, PAGES_IN_ORDER);
	if (!search.pages)
		return heap_error_out_of_memory();
	for (heap_object_id i = head_words_next_with_code(heads, 0, count);
	     i < count && !progress_is_late(); i = head_words_next_with_code(heads, i + 1, count)) {
		progress_step();
		HEAP_TRY(look_at(&search, i, result));
	}
	return NULL;
}

void coroutine_frames_deinit(struct coroutine_frames *frames)
{
	heap_array_deinit(&frames->list);
}
