// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/wrappers.h"

#include "dumper/frame_rules.h"
#include "dumper/symbols.h"

#include <stddef.h>

enum {
	PROBES = 16,
	CALLERS_NEEDED = 4,
	SIZES_NEEDED = 3,
	TIMES_NEEDED = 2, // that a caller must have asked for its size
	REMOVED = 1,      // instead of a site: those behind it are still found
};

static uint32_t hash(uint64_t address, uint32_t slots)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (slots - 1);
}

// Takes a free word for a value. @return whether it holds the value now
static bool claim(uint64_t *word, uint64_t value)
{
	uint64_t present = __atomic_load_n(word, __ATOMIC_RELAXED);

	return present == value ||
	       (present == 0 && (__atomic_compare_exchange_n(word, &present, value, false,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
				 present == value));
}

// --- sites -----------------------------------------------------------------------

bool heapsnap_wrappers_has(const struct heapsnap_wrappers *wrappers, uint64_t site)
{
	uint32_t at = hash(site, HEAPSNAP_WRAPPER_SITES);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_SITES - 1)) {
		uint64_t present = __atomic_load_n(&wrappers->sites[at], __ATOMIC_RELAXED);

		if (present == site)
			return true;
		if (present == 0)
			return false;
	}
	return false;
}

static bool add_site(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	uint32_t at = hash(site, HEAPSNAP_WRAPPER_SITES);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_SITES - 1)) {
		if (claim(&wrappers->sites[at], site))
			return true;
	}
	return false;
}

static void remove_site(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	uint32_t at = hash(site, HEAPSNAP_WRAPPER_SITES);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_SITES - 1)) {
		if (__atomic_load_n(&wrappers->sites[at], __ATOMIC_RELAXED) == site)
			__atomic_store_n(&wrappers->sites[at], REMOVED, __ATOMIC_RELAXED);
	}
}

// Of what several threads write to, whole words or none.
#define load(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define store(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

// --- functions ---------------------------------------------------------------------

static struct heapsnap_allocating *find_function(struct heapsnap_wrappers *wrappers,
						 uint64_t function)
{
	uint32_t at = hash(function, HEAPSNAP_WRAPPER_FUNCTIONS);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_FUNCTIONS - 1)) {
		if (claim(&wrappers->functions[at].function, function))
			return &wrappers->functions[at];
	}
	return NULL;
}

static void note_caller(struct heapsnap_allocating *function, uint64_t address, uint64_t size)
{
	for (int i = 0; i < HEAPSNAP_WRAPPER_CALLERS; i++) {
		struct heapsnap_allocating_caller *caller = &function->callers[i];

		if (!claim(&caller->address, address))
			continue;
		uint32_t times = load(caller->times);

		if (times == 0)
			store(caller->size, size);
		if (load(caller->size) == size)
			store(caller->times, times + 1);
		else
			store(caller->varies, true);
		return;
	}
}

// Whether a caller before this one asks for the same size.
static bool is_size_known(const struct heapsnap_allocating *function, int caller)
{
	for (int i = 0; i < caller; i++) {
		if (load(function->callers[i].size) == load(function->callers[caller].size) &&
		    !load(function->callers[i].varies))
			return true;
	}
	return false;
}

static bool is_used_as_wrapper(const struct heapsnap_allocating *function)
{
	int callers = 0, steady = 0, varying = 0, sizes = 0;

	for (int i = 0; i < HEAPSNAP_WRAPPER_CALLERS && load(function->callers[i].address); i++) {
		const struct heapsnap_allocating_caller *caller = &function->callers[i];

		callers++;
		varying += load(caller->varies);
		if (load(caller->varies) || load(caller->times) < TIMES_NEEDED)
			continue;
		steady++;
		sizes += !is_size_known(function, i);
	}
	// Callers that vary may be wrappers themselves.
	return callers >= CALLERS_NEEDED && ((sizes >= SIZES_NEEDED && 2 * steady >= callers) ||
					     (steady > 0 && sizes + varying >= CALLERS_NEEDED));
}

// Whether it has callers, and all of them ask for many sizes.
static bool passes_on(const struct heapsnap_allocating *function)
{
	int callers = 0;

	for (; callers < HEAPSNAP_WRAPPER_CALLERS && load(function->callers[callers].address);
	     callers++) {
		if (!load(function->callers[callers].varies))
			return false;
	}
	return callers > 0;
}

// Notes a place where a function allocates. @return false if there are too many for a wrapper
static bool note_place(struct heapsnap_allocating *function, uint64_t site)
{
	for (int i = 0; i < HEAPSNAP_WRAPPER_PLACES; i++) {
		if (claim(&function->places[i], site))
			return true;
	}
	return false;
}

static enum heapsnap_role refuse(struct heapsnap_wrappers *wrappers,
				 struct heapsnap_allocating *function)
{
	if (!load(function->is_wrapper))
		return HEAPSNAP_ROLE_OWN;
	store(function->is_wrapper, false);
	for (int i = 0; i < HEAPSNAP_WRAPPER_PLACES; i++)
		remove_site(wrappers, load(function->places[i]));
	return HEAPSNAP_ROLE_WRAPPER_NO_MORE;
}

enum heapsnap_role heapsnap_wrappers_note(struct heapsnap_wrappers *wrappers, uint64_t site,
					  uint64_t caller, uint64_t size)
{
	uint64_t start = heapsnap_function_find(site - 1);
	struct heapsnap_allocating *function = start ? find_function(wrappers, start) : NULL;

	if (!function || caller == 0)
		return HEAPSNAP_ROLE_OWN;
	if (!note_place(function, site) && !load(function->is_named))
		return refuse(wrappers, function);
	if (!load(function->is_wrapper)) {
		note_caller(function, caller, size);
		store(function->is_wrapper, is_used_as_wrapper(function));
	}
	if (!load(function->is_wrapper))
		return passes_on(function) ? HEAPSNAP_ROLE_PASSES : HEAPSNAP_ROLE_OWN;
	return add_site(wrappers, site) ? HEAPSNAP_ROLE_WRAPPER : HEAPSNAP_ROLE_OWN;
}

void heapsnap_wrappers_add(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	uint64_t start = heapsnap_function_find(site - 1);
	struct heapsnap_allocating *function = start ? find_function(wrappers, start) : NULL;

	if (!function)
		return;
	store(function->is_wrapper, true);
	add_site(wrappers, site);
}

static void add_named(void *context, uint64_t address)
{
	struct heapsnap_allocating *function = find_function(context, address);

	if (function)
		function->is_wrapper = function->is_named = true;
}

void heapsnap_wrappers_init(struct heapsnap_wrappers *wrappers, const char *names)
{
	if (names && *names)
		heapsnap_symbols_find(names, add_named, wrappers);
}
