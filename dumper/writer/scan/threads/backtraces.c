// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/threads/backtraces.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MAX_STEPS = 1 << 22, // of any table; the process's word on its size is not believed blindly
	MAX_CHAIN = 64,      // wrappers in wrappers
};

// --- reading -----------------------------------------------------------------

// A table of the process's, which may have a second part elsewhere.
struct table {
	uint64_t address;
	uint32_t count; // of rows
	size_t row;     // bytes
	uint64_t more;  // address
	uint32_t first; // rows in the first part, if there is another
};

// Reads one. What cannot be read is zeros.
HEAP_MUST_CHECK
static struct heap_error *read_parts(const struct image *image, struct table table, void *result,
				     uint32_t *rows)
{
	uint32_t count = table.address == 0 || table.count > MAX_STEPS ? 0 : table.count;
	uint32_t first = count < table.first ? count : table.first;
	char *memory = malloc(count * table.row + 1);

	*rows = 0;
	if (!memory)
		return heap_error_out_of_memory();
	image_read_padded(image, table.address, memory, first * table.row);
	image_read_padded(image, table.more, memory + first * table.row,
			  (count - first) * table.row);
	*(void **)result = memory;
	*rows = count;
	return NULL;
}

// Reads one that is in one place.
HEAP_MUST_CHECK
static struct heap_error *read_table(const struct image *image, uint64_t address, uint32_t count,
				     size_t row, void *result, uint32_t *rows)
{
	return read_parts(image, (struct table){ address, count, row, 0, count }, result, rows);
}

bool backtraces_have_step(const struct backtraces *backtraces, uint32_t step)
{
	return step > 0 && step < backtraces->taken_count && backtraces->taken[step].address != 0 &&
	       backtraces->taken[step].caller < step;
}

static uint32_t find_index(const struct backtraces *backtraces, uint64_t site, uint64_t size)
{
	const struct heapsnap_kind *kinds = backtraces->kinds;

	return heap_hash_find(&backtraces->by_site, heap_hash_pair(site, size), i,
			      kinds[i].site == site && kinds[i].size == size);
}

// The library's hash table may be full, or damaged: so its rows go into one of our own. The last row
// of a kind counts.
HEAP_MUST_CHECK
static struct heap_error *index_kinds(struct backtraces *backtraces,
				      const struct heapsnap_kind *kinds, uint32_t count)
{
	uint32_t sound = 0;

	for (uint32_t i = 0; i < count; i++)
		sound += kinds[i].site != 0 && backtraces_have_step(backtraces, kinds[i].backtrace);
	backtraces->kinds = calloc((size_t)sound + 1, sizeof(*backtraces->kinds));
	if (!backtraces->kinds)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++) {
		if (kinds[i].site == 0 || !backtraces_have_step(backtraces, kinds[i].backtrace))
			continue;

		uint32_t found = find_index(backtraces, kinds[i].site, kinds[i].size);

		if (found == HEAP_HASH_NONE) {
			found = backtraces->kind_count;
			HEAP_TRY(heap_hash_add(&backtraces->by_site,
					       heap_hash_pair(kinds[i].site, kinds[i].size),
					       found));
			backtraces->kind_count++;
		}
		backtraces->kinds[found] =
			(struct heapsnap_kind){ .site = kinds[i].site,
						.size = kinds[i].size,
						.backtrace = kinds[i].backtrace };
	}
	return NULL;
}

static void sort_wrappers(struct backtraces *backtraces, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++) {
		if (backtraces->wrappers[i] != 0)
			backtraces->wrappers[backtraces->wrapper_count++] = backtraces->wrappers[i];
	}
	if (backtraces->wrapper_count > 0)
		qsort(backtraces->wrappers, backtraces->wrapper_count, sizeof(uint64_t),
		      heap_order_u64);
}

struct heap_error *backtraces_init(struct backtraces *backtraces, const struct image *image,
				   const struct heapsnap_process *process)
{
	CLEANUP_FREE struct heapsnap_kind *kinds = NULL;
	uint32_t kind_count = 0, wrapper_slots = 0;

	*backtraces = (struct backtraces){ 0 };
	HEAP_TRY(read_parts(image,
			    (struct table){ process->steps, process->step_count,
					    sizeof(*backtraces->taken), process->more_steps,
					    HEAPSNAP_FIRST_STEPS },
			    &backtraces->taken, &backtraces->taken_count));
	HEAP_TRY(read_parts(image,
			    (struct table){ process->kinds, process->kind_slots, sizeof(*kinds),
					    process->more_kinds, HEAPSNAP_FIRST_KINDS },
			    &kinds, &kind_count));
	HEAP_TRY(read_table(image, process->wrappers, process->wrapper_slots,
			    sizeof(*backtraces->wrappers), &backtraces->wrappers, &wrapper_slots));
	HEAP_TRY(read_table(image, process->unmapped, process->unmapped_count,
			    sizeof(*backtraces->unmapped), &backtraces->unmapped,
			    &backtraces->unmapped_count));
	HEAP_TRY(index_kinds(backtraces, kinds, kind_count));
	sort_wrappers(backtraces, wrapper_slots);
	return NULL;
}

void backtraces_deinit(struct backtraces *backtraces)
{
	free(backtraces->taken);
	free(backtraces->kinds);
	heap_hash_table_deinit(&backtraces->by_site);
	free(backtraces->unmapped);
	free(backtraces->wrappers);
	free(backtraces->passed);
	free(backtraces->paths);
	free(backtraces->refused);
	heap_array_deinit(&backtraces->own);
	free(backtraces->of_kind);
}

// --- sites -------------------------------------------------------------------

bool backtraces_is_wrapper(const struct backtraces *backtraces, uint64_t site)
{
	return backtraces->wrapper_count > 0 &&
	       bsearch(&site, backtraces->wrappers, backtraces->wrapper_count, sizeof(site),
		       heap_order_u64);
}

uint32_t backtraces_of_kind(const struct backtraces *backtraces, uint64_t site, uint64_t size)
{
	uint32_t found = find_index(backtraces, site, size);

	return found == HEAP_HASH_NONE ? 0 : backtraces->kinds[found].backtrace;
}

// The innermost call of a backtrace that is in no wrapper; 0 if there is none.
static uint64_t find_asker(const struct backtraces *backtraces, uint32_t step)
{
	for (int i = 0; i < MAX_CHAIN && backtraces_have_step(backtraces, step); i++) {
		if (!backtraces_is_wrapper(backtraces, backtraces->taken[step].address))
			return backtraces->taken[step].address;
		step = backtraces->taken[step].caller;
	}
	return 0;
}

static int compare_passed(const void *left, const void *right)
{
	const struct passed *a = left, *b = right;

	if (a->wrapper != b->wrapper)
		return a->wrapper < b->wrapper ? -1 : 1;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

// How many wrappers a kind's blocks have come through.
static uint32_t count_wrappers(const struct backtraces *backtraces,
			       const struct heapsnap_kind *kind)
{
	uint32_t step = kind->backtrace, count = 0;

	while (count < MAX_CHAIN && backtraces_have_step(backtraces, step) &&
	       backtraces_is_wrapper(backtraces, backtraces->taken[step].address)) {
		step = backtraces->taken[step].caller;
		count++;
	}
	return backtraces_have_step(backtraces, step) ? count : 0;
}

// Notes who has asked which wrapper for what size.
HEAP_MUST_CHECK
static struct heap_error *note_passed(struct backtraces *backtraces)
{
	size_t count = 0;

	for (uint32_t i = 0; i < backtraces->kind_count; i++)
		count += count_wrappers(backtraces, &backtraces->kinds[i]);
	backtraces->passed = malloc((count + 1) * sizeof(*backtraces->passed));
	if (!backtraces->passed)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < backtraces->kind_count; i++) {
		const struct heapsnap_kind *kind = &backtraces->kinds[i];
		uint32_t step = kind->backtrace, wrappers = count_wrappers(backtraces, kind);
		uint64_t site = find_asker(backtraces, step);

		for (; wrappers > 0; wrappers--, step = backtraces->taken[step].caller)
			backtraces->passed[backtraces->passed_count++] =
				(struct passed){ backtraces->taken[step].address, kind->size,
						 site };
	}
	if (backtraces->passed_count > 0)
		qsort(backtraces->passed, backtraces->passed_count, sizeof(*backtraces->passed),
		      compare_passed);
	return NULL;
}

static int compare_paths(const void *left, const void *right)
{
	const struct path *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

// The calls from malloc out to that at a site; MAX_CHAIN if it is not among them.
static uint32_t count_calls(const struct backtraces *backtraces, uint32_t step, uint64_t site)
{
	uint32_t count = 0;

	while (count < MAX_CHAIN && backtraces_have_step(backtraces, step)) {
		if (backtraces->taken[step].address == site)
			return count;
		step = backtraces->taken[step].caller;
		count++;
	}
	return MAX_CHAIN;
}

// The innermost of the calls, from that at a site inwards, in which two backtraces agree; 0 if they
// do not even have the site. A site may call malloc in several ways, which depend on the size.
static uint32_t find_common(const struct backtraces *backtraces, uint32_t left, uint32_t right,
			    uint64_t site)
{
	const struct heapsnap_step *taken = backtraces->taken;
	uint32_t left_calls = count_calls(backtraces, left, site);
	uint32_t right_calls = count_calls(backtraces, right, site);
	uint32_t common;

	if (left_calls == MAX_CHAIN || right_calls == MAX_CHAIN)
		return 0;
	for (; left_calls > right_calls; left_calls--)
		left = taken[left].caller;
	for (; right_calls > left_calls; right_calls--)
		right = taken[right].caller;
	common = left;
	for (; left_calls > 0; left_calls--) {
		bool agrees = taken[left].address == taken[right].address;

		left = taken[left].caller;
		right = taken[right].caller;
		if (!agrees)
			common = left;
	}
	return common;
}

// The number of a site in a function that is no wrapper after all, or refused_count. Functions do not overlap, so that
// their sites ascend as they do.
static uint32_t find_refused(const struct backtraces *backtraces, uint64_t site)
{
	const struct refused *refused = backtraces->refused;
	uint32_t count = backtraces->refused_count;
	uint32_t at = heap_partition_point(i, 0, count, refused[i].site < site);

	return at < count && refused[at].site == site ? at : count;
}

static bool is_refused(const struct backtraces *backtraces, uint64_t site)
{
	return find_refused(backtraces, site) < backtraces->refused_count;
}

// True if what a function returns that is no wrapper after all may be from other places than a site, too.
static bool has_other_places(const struct backtraces *backtraces, uint64_t site)
{
	const struct refused *refused = backtraces->refused;
	uint32_t count = backtraces->refused_count, at = find_refused(backtraces, site);

	return at < count &&
	       (refused[at].jumps || (at > 0 && refused[at - 1].start == refused[at].start) ||
		(at + 1 < count && refused[at + 1].start == refused[at].start));
}

// The innermost of the calls, from that at a site inwards, that any block of the site must come through: a function
// which allocates at several places may have taken another way for it.
static uint32_t find_certain(const struct backtraces *backtraces, uint32_t step, uint64_t site)
{
	uint32_t certain = step;

	if (count_calls(backtraces, step, site) == MAX_CHAIN)
		return step;
	for (; backtraces->taken[step].address != site; step = backtraces->taken[step].caller) {
		if (has_other_places(backtraces, backtraces->taken[step].address))
			certain = backtraces->taken[step].caller;
	}
	return certain;
}

// The call that led to that at a site; 0 if it is not known.
static uint64_t find_caller(const struct backtraces *backtraces, uint32_t step, uint64_t site)
{
	uint32_t calls = count_calls(backtraces, step, site);

	if (calls == MAX_CHAIN)
		return 0;
	for (; calls > 0; calls--)
		step = backtraces->taken[step].caller;
	step = backtraces->taken[step].caller;
	return backtraces_have_step(backtraces, step) ? backtraces->taken[step].address : 0;
}

/*
 * Notes how each site comes to malloc, by size. Blocks from before the library took a function for a
 * wrapper have its own sites: if it is none after all, they show how its callers come to malloc.
 */
HEAP_MUST_CHECK
static struct heap_error *note_paths(struct backtraces *backtraces)
{
	struct path *paths = malloc((2 * (size_t)backtraces->kind_count + 1) * sizeof(*paths));
	uint32_t count = 0;

	if (!paths)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < backtraces->kind_count; i++) {
		const struct heapsnap_kind *kind = &backtraces->kinds[i];
		uint64_t caller = is_refused(backtraces, kind->site)
					  ? find_caller(backtraces, kind->backtrace, kind->site)
					  : 0;

		paths[count++] = (struct path){ kind->site, kind->size, kind->backtrace };
		if (caller)
			paths[count++] = (struct path){ caller, kind->size, kind->backtrace };
	}
	if (count > 0)
		qsort(paths, count, sizeof(*paths), compare_paths);
	backtraces->paths = paths;
	backtraces->path_count = count;
	return NULL;
}

static bool is_path_of(const struct backtraces *backtraces, uint32_t number, uint64_t site)
{
	return number < backtraces->path_count && backtraces->paths[number].site == site;
}

// The backtrace of the first block of a site and size. If there is none: the calls that are common to
// those of the two nearest sizes, a smaller and a larger one if there are both; or those that are certain if there is
// one other size alone; or 0.
static uint32_t find_path(const struct backtraces *backtraces, uint64_t site, uint64_t size)
{
	const struct path *paths = backtraces->paths, key = { .site = site, .size = size };
	uint32_t step = backtraces_of_kind(backtraces, site, size), at, other;

	if (step != 0)
		return step;
	at = heap_partition_point(i, 0, backtraces->path_count, compare_paths(&paths[i], &key) < 0);
	other = at - 1;
	if (!is_path_of(backtraces, at, site))
		at -= 2;
	else if (paths[at].size == size || !is_path_of(backtraces, other, site))
		other = at + 1;
	if (!is_path_of(backtraces, at, site))
		return is_path_of(backtraces, other, site)
			       ? find_certain(backtraces, paths[other].backtrace, site)
			       : 0;
	// Other sizes tell nothing more of one that is known.
	if (paths[at].size == size &&
	    (!is_path_of(backtraces, other, site) || paths[other].size != size))
		return paths[at].backtrace;
	if (!is_path_of(backtraces, other, site))
		return find_certain(backtraces, paths[at].backtrace, site);
	return find_common(backtraces, paths[at].backtrace, paths[other].backtrace, site);
}

static int compare_refused(const void *left, const void *right)
{
	const struct refused *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

// The first site in a function that is no wrapper after all, or one of a function behind it.
static uint32_t find_refused_function(const struct backtraces *backtraces, uint64_t function)
{
	const struct refused *refused = backtraces->refused;

	return heap_partition_point(i, 0, backtraces->refused_count, refused[i].start < function);
}

bool backtraces_have_refused(const struct backtraces *backtraces, uint64_t function)
{
	uint32_t at = find_refused_function(backtraces, function);

	return at < backtraces->refused_count && backtraces->refused[at].start == function;
}

void backtraces_find_jumps(struct backtraces *backtraces, backtraces_jumps *jumps, void *context)
{
	struct refused *refused = backtraces->refused;

	for (uint32_t i = 0; i < backtraces->refused_count; i++)
		refused[i].jumps = i > 0 && refused[i - 1].start == refused[i].start
					   ? refused[i - 1].jumps
					   : jumps(context, refused[i].start);
}

uint64_t backtraces_called(const struct backtraces *backtraces, uint64_t callee)
{
	const struct refused *refused = backtraces->refused;
	uint32_t at = find_refused_function(backtraces, callee);

	return backtraces_have_refused(backtraces, callee) &&
			       !has_other_places(backtraces, refused[at].site)
		       ? refused[at].site
		       : 0;
}

bool backtraces_have_path(const struct backtraces *backtraces, uint64_t site, uint64_t size)
{
	return find_path(backtraces, site, size) != 0;
}

struct heap_error *backtraces_choose_wrappers(struct backtraces *backtraces, backtraces_test *test,
					      void *context)
{
	uint32_t kept = 0;

	backtraces->refused =
		malloc(((size_t)backtraces->wrapper_count + 1) * sizeof(*backtraces->refused));
	if (!backtraces->refused)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < backtraces->wrapper_count; i++) {
		uint64_t start = 0;

		if (test(context, backtraces->wrappers[i], &start))
			backtraces->wrappers[kept++] = backtraces->wrappers[i];
		else if (start != 0)
			backtraces->refused[backtraces->refused_count++] =
				(struct refused){ .start = start, .site = backtraces->wrappers[i] };
	}
	backtraces->wrapper_count = kept;
	if (backtraces->refused_count > 0)
		qsort(backtraces->refused, backtraces->refused_count, sizeof(*backtraces->refused),
		      compare_refused);
	HEAP_TRY(note_paths(backtraces));
	return note_passed(backtraces);
}

// The only caller that has asked a wrapper for a size; the wrapper's own site if there are more.
static uint64_t find_only_asker(const struct backtraces *backtraces, uint64_t wrapper,
				uint64_t size)
{
	const struct passed *passed = backtraces->passed;
	const struct passed key = { wrapper, size, 0 };
	uint32_t at = heap_partition_point(i, 0, backtraces->passed_count,
					   compare_passed(&passed[i], &key) < 0);

	if (at == backtraces->passed_count || passed[at].wrapper != wrapper ||
	    passed[at].size != size)
		return wrapper;
	for (uint32_t high = at; high < backtraces->passed_count &&
				 passed[high].wrapper == wrapper && passed[high].size == size;
	     high++) {
		if (passed[high].site != passed[at].site)
			return wrapper;
	}
	return passed[at].site;
}

/*
 * Where a block belongs. Of one with a site in a wrapper, only the size tells the caller.
 *
 * @param guesses  take the only caller known to have requested that size
 */
static uint64_t find_site(const struct backtraces *backtraces, uint64_t site, uint64_t size,
			  bool guesses)
{
	uint32_t step = find_path(backtraces, site, size);
	uint64_t asker;

	if (backtraces_is_wrapper(backtraces, site))
		return guesses ? find_only_asker(backtraces, site, size) : site;
	// A function that was looked through on the way may no longer count as a wrapper.
	asker = find_asker(backtraces, step);
	for (int i = 0; i < MAX_CHAIN && backtraces_have_step(backtraces, step); i++) {
		if (backtraces->taken[step].address == asker)
			return asker;
		if (backtraces->taken[step].address == site)
			break;
		step = backtraces->taken[step].caller;
	}
	return site;
}

uint64_t backtraces_site(const struct backtraces *backtraces, uint64_t site, uint64_t size)
{
	return find_site(backtraces, site, size, false);
}

/*
 * The innermost of the functions that are looked through, and that knows what it makes. An outer one
 * may have requested it, by the size alone.
 */
static uint64_t find_knowing(const struct backtraces *backtraces, uint32_t step, uint64_t asker,
			     uint64_t size, backtraces_knows *knows, void *context)
{
	for (int i = 0; i < MAX_CHAIN && backtraces_have_step(backtraces, step); i++) {
		uint64_t address = backtraces->taken[step].address;

		if (address == asker)
			break;
		if (knows(context, address, size))
			return address;
		step = backtraces->taken[step].caller;
	}
	return 0;
}

uint64_t backtraces_maker(const struct backtraces *backtraces, uint64_t site, uint64_t size,
			  backtraces_knows *knows, void *context)
{
	uint64_t asker = find_site(backtraces, site, size, true), knowing;
	uint32_t step = find_path(backtraces, site, size);
	uint64_t innermost = step ? backtraces->taken[step].address : site;

	if (innermost == asker || !backtraces_is_wrapper(backtraces, innermost) ||
	    knows(context, asker, size))
		return asker;
	knowing = find_knowing(backtraces, step, asker, size, knows, context);
	return knowing ? knowing : innermost;
}
