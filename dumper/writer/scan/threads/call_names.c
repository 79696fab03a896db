// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/threads/call_names.h"

#include "dumper/writer/scan/samples.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MAX_INLINED = 32, // functions at one address
};

// Calls that have been named: by address, for the innermost of each.
struct naming {
	struct heap_snapshot *snapshot; // that gets the calls and steps
	uint32_t call_capacity, step_capacity;
	struct backtraces *backtraces;
	const struct modules *modules;
	struct strings *strings;
	uint32_t *named; // [taken_count] the snapshot's step of each of the library's; 0: not yet
	uint32_t *first; // [taken_count] the first call of its address
	uint8_t *places; // [taken_count] and how many there are; 0: not yet
	struct heap_hash_table by_address; // the library's steps that have calls
};

static void naming_deinit(struct naming *naming)
{
	heap_hash_table_deinit(&naming->by_address);
}

HEAP_MUST_CHECK
static struct heap_error *add_call(struct naming *naming, const struct heap_call *call)
{
	struct heap_snapshot *snapshot = naming->snapshot;

	HEAP_TRY(heap_reserve(snapshot->calls, naming->call_capacity,
			      (size_t)snapshot->call_count + 1));
	snapshot->calls[snapshot->call_count++] = *call;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_step(struct naming *naming, uint32_t caller, uint32_t call,
				   uint32_t *result)
{
	struct heap_snapshot *snapshot = naming->snapshot;

	HEAP_TRY(heap_reserve(snapshot->steps, naming->step_capacity,
			      (size_t)snapshot->step_count + 1));
	*result = snapshot->step_count;
	snapshot->steps[snapshot->step_count++] = (struct heap_step){ caller, call };
	return NULL;
}

// Names the code at a return address: a call per function that is inlined there.
HEAP_MUST_CHECK
static struct heap_error *name_address(struct naming *naming, uint64_t address, uint32_t *first,
				       uint8_t *count)
{
	struct module *module = modules_find(naming->modules, address - 1);
	struct code_place places[MAX_INLINED] = { { 0 } };
	size_t found = module ? module_describe(module, address, address - 1, naming->strings,
						places, MAX_INLINED)
			      : 1;

	*first = naming->snapshot->call_count;
	*count = (uint8_t)found;
	for (size_t i = 0; i < found; i++)
		HEAP_TRY(add_call(
			naming,
			&(struct heap_call){
				.address = address,
				.module = module ? (uint32_t)(module - naming->modules->modules)
						 : HEAP_NO_INDEX,
				.function = places[i].function,
				.offset = places[i].offset,
				.file = places[i].file,
				.line = places[i].line,
				.flags = i + 1 < found ? HEAP_FRAME_INLINED : 0,
			}));
	return NULL;
}

// True if a step is of code that had been unmapped before the snapshot.
static bool is_of_unmapped(const struct backtraces *backtraces, uint32_t step)
{
	uint64_t address = backtraces->taken[step].address;

	for (uint32_t i = 0; i < backtraces->unmapped_count; i++) {
		const struct heapsnap_unmapped *unmapped = &backtraces->unmapped[i];

		if (address >= unmapped->start && address < unmapped->end && step < unmapped->step)
			return true;
	}
	return false;
}

// The calls of a step's address, named once however many steps have it.
HEAP_MUST_CHECK
static struct heap_error *name_step(struct naming *naming, uint32_t step)
{
	const struct heapsnap_step *taken = naming->backtraces->taken;
	uint64_t address = taken[step].address;
	uint64_t hash = heap_hash_u64(address);
	uint32_t known;

	if (is_of_unmapped(naming->backtraces, step)) {
		naming->first[step] = naming->snapshot->call_count;
		naming->places[step] = 1;
		return add_call(naming,
				&(struct heap_call){ .address = address, .module = HEAP_NO_INDEX });
	}
	known = heap_hash_find(&naming->by_address, hash, i, taken[i].address == address);
	if (known != HEAP_HASH_NONE) {
		naming->first[step] = naming->first[known];
		naming->places[step] = naming->places[known];
		return NULL;
	}
	HEAP_TRY(heap_hash_add(&naming->by_address, hash, step));
	return name_address(naming, address, &naming->first[step], &naming->places[step]);
}

// The snapshot's step for one of the library's, whose caller has one.
HEAP_MUST_CHECK
static struct heap_error *convert_one(struct naming *naming, uint32_t step)
{
	uint32_t caller = naming->backtraces->taken[step].caller;
	uint32_t result = caller ? naming->named[caller] : 0;

	HEAP_TRY(name_step(naming, step));
	for (uint8_t i = naming->places[step]; i > 0; i--)
		HEAP_TRY(add_step(naming, result, naming->first[step] + i - 1, &result));
	naming->named[step] = result;
	return NULL;
}

// Converts a backtrace from its outermost step in.
HEAP_MUST_CHECK
static struct heap_error *convert(struct naming *naming, uint32_t step)
{
	while (naming->named[step] == 0) {
		uint32_t next = step;

		// As many walks as there are steps without a name: paths are short, and shared.
		while (backtraces_have_step(naming->backtraces,
					    naming->backtraces->taken[next].caller) &&
		       naming->named[naming->backtraces->taken[next].caller] == 0)
			next = naming->backtraces->taken[next].caller;
		if (!backtraces_have_step(naming->backtraces,
					  naming->backtraces->taken[next].caller))
			naming->backtraces->taken[next].caller = 0;
		HEAP_TRY(convert_one(naming, next));
	}
	return NULL;
}

// A backtrace as the snapshot has it; 0: none.
HEAP_MUST_CHECK
static struct heap_error *find_named(struct naming *naming, uint32_t step, bool is_own,
				     uint32_t *result)
{
	*result = 0;
	if (!backtraces_have_step(naming->backtraces, step))
		return NULL;
	HEAP_TRY(convert(naming, step));
	*result = naming->named[step] * 2 + is_own;
	return NULL;
}

// One that was sampled itself.
HEAP_MUST_CHECK
static struct heap_error *set_sample(void *context, heap_object_id object,
				     const struct heapsnap_sample *sample)
{
	struct naming *naming = context;
	struct own_backtrace own = { object, 0 };

	HEAP_TRY(find_named(naming, sample->backtrace, true, &own.backtrace));
	return own.backtrace == 0 ? NULL : heap_array_append(&naming->backtraces->own, own);
}

static int compare_own(const void *left, const void *right)
{
	const struct own_backtrace *a = left, *b = right;

	return a->object < b->object ? -1 : a->object > b->object;
}

HEAP_MUST_CHECK
static struct heap_error *set_all(struct naming *naming, const struct image *image,
				  const struct heapsnap_process *process,
				  const struct objects *objects)
{
	struct backtraces *backtraces = naming->backtraces;
	const struct object_kind *kinds = objects->kinds.list;
	uint32_t none;

	HEAP_TRY(add_call(naming, &(struct heap_call){ .module = HEAP_NO_INDEX }));
	HEAP_TRY(add_step(naming, 0, 0, &none));
	HEAP_TRY(samples_visit(image, process, objects, set_sample, naming));
	if (backtraces->own.count > 0)
		qsort(backtraces->own.items, backtraces->own.count, sizeof(*backtraces->own.items),
		      compare_own);
	for (uint32_t i = 0; i < objects->kinds.count; i++)
		HEAP_TRY(find_named(naming,
				    backtraces_of_kind(backtraces, kinds[i].site, kinds[i].size),
				    false, &backtraces->of_kind[i]));
	return NULL;
}

struct heap_error *call_names_find(struct backtraces *backtraces, const struct image *image,
				   const struct heapsnap_process *process,
				   const struct objects *objects, const struct modules *modules,
				   struct strings *strings, struct heap_snapshot *snapshot)
{
	size_t count = (size_t)backtraces->taken_count + 1;
	CLEANUP_FREE uint32_t *named = calloc(count, sizeof(*named));
	CLEANUP_FREE uint32_t *first = calloc(count, sizeof(*first));
	CLEANUP_FREE uint8_t *places = calloc(count, sizeof(*places));
	CLEANUP(naming_deinit)
	struct naming naming = {
		.snapshot = snapshot,
		.backtraces = backtraces,
		.modules = modules,
		.strings = strings,
		.named = named,
		.first = first,
		.places = places,
	};

	backtraces->of_kind =
		calloc((size_t)objects->kinds.count + 1, sizeof(*backtraces->of_kind));
	if (!named || !first || !places || !backtraces->of_kind)
		return heap_error_out_of_memory();
	return set_all(&naming, image, process, objects);
}
