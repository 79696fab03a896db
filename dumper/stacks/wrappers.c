// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/wrappers.h"

#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/stacks/later.h"
#include "dumper/stacks/passing.h"
#include "dumper/stacks/standard.h"
#include "dumper/stacks/symbols.h"

#include <stddef.h>

enum {
	PROBES = 16,
	NONE = 0xffff,        // the number of a function that is not known, or finds no room
	TRANSPARENT = 0xfffe, // the number of functions that are looked through always
	NUMBER_SHIFT = 48,
	CALLERS_NEEDED = 4,
	SIZES_NEEDED = 3,
	TIMES_NEEDED = 2, // requests of one size by a caller
	REMOVED = 1,      // instead of a site: those behind it are still found
};

static uint32_t hash(uint64_t address, uint32_t slots)
{
	return (uint32_t)(heapsnap_code_hash(address) >> 40) & (slots - 1);
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

static uint64_t filter_bit(uint64_t site)
{
	return UINT64_C(1) << site % 64;
}

static void note_in_filter(struct heapsnap_site_filter *filter, uint64_t site)
{
	uint64_t *word = &filter->bits[site % HEAPSNAP_FILTER_BITS / 64];

	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & filter_bit(site)))
		__atomic_or_fetch(word, filter_bit(site), __ATOMIC_RELAXED);
}

static inline bool may_have(const struct heapsnap_site_filter *filter, uint64_t site)
{
	uint64_t word =
		__atomic_load_n(&filter->bits[site % HEAPSNAP_FILTER_BITS / 64], __ATOMIC_RELAXED);

	return word & filter_bit(site);
}

// True if a table has a site.
static bool has_site(const uint64_t *sites, uint64_t site)
{
	uint32_t at = hash(site, HEAPSNAP_WRAPPER_SITES);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_SITES - 1)) {
		uint64_t present = __atomic_load_n(&sites[at], __ATOMIC_RELAXED);

		if (present == site)
			return true;
		if (present == 0)
			return false;
	}
	return false;
}

static bool add_to_table(uint64_t *sites, uint64_t site)
{
	uint32_t at = hash(site, HEAPSNAP_WRAPPER_SITES);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_SITES - 1)) {
		if (claim(&sites[at], site))
			return true;
	}
	return false;
}

// Notes a site in a wrapper. @return false if there is no room
static bool add_site(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	note_in_filter(&wrappers->may_be_site, site);
	return add_to_table(wrappers->sites, site);
}

static void add_passing(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	note_in_filter(&wrappers->may_be_passing, site);
	add_to_table(wrappers->passing, site);
}

static void remove_site(uint64_t *sites, uint64_t site)
{
	uint32_t at = hash(site, HEAPSNAP_WRAPPER_SITES);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_SITES - 1)) {
		if (__atomic_load_n(&sites[at], __ATOMIC_RELAXED) == site)
			__atomic_store_n(&sites[at], REMOVED, __ATOMIC_RELAXED);
	}
}

_Static_assert((int)HEAPSNAP_WRAPPER_PASSING == (int)HEAPSNAP_WRAPPER_SITES, "has_site()");

bool heapsnap_wrappers_has(const struct heapsnap_wrappers *wrappers, uint64_t site)
{
	return may_have(&wrappers->may_be_site, site) && has_site(wrappers->sites, site);
}

bool heapsnap_wrappers_passes(const struct heapsnap_wrappers *wrappers, uint64_t site)
{
	return may_have(&wrappers->may_be_passing, site) && has_site(wrappers->passing, site);
}

// Reads memory that several threads write to: whole words or none.
#define load(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define store(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

// --- functions ---------------------------------------------------------------------

static struct heapsnap_allocating *function_at(struct heapsnap_wrappers *wrappers, uint32_t number)
{
	if (number == 0 || number > HEAPSNAP_WRAPPER_FUNCTIONS)
		return NULL;
	if (number <= HEAPSNAP_WRAPPER_FEW)
		return &wrappers->functions[number - 1];
	return &__atomic_load_n(&wrappers->more,
				__ATOMIC_ACQUIRE)[number - 1 - HEAPSNAP_WRAPPER_FEW];
}

// @return false if there is no memory for the functions after the first few
static bool has_more(struct heapsnap_wrappers *wrappers)
{
	enum {
		MORE = HEAPSNAP_WRAPPER_FUNCTIONS - HEAPSNAP_WRAPPER_FEW,
	};

	return heapsnap_reserve_later((void **)&wrappers->more,
				      MORE * sizeof(struct heapsnap_allocating)) != NULL;
}

// Takes the next entry. @return its number; NONE if there is no room
static uint16_t new_function(struct heapsnap_wrappers *wrappers, uint64_t function)
{
	uint32_t count = load(wrappers->function_count);

	do {
		if (count == HEAPSNAP_WRAPPER_FUNCTIONS ||
		    (count >= HEAPSNAP_WRAPPER_FEW && !has_more(wrappers)))
			return NONE;
	} while (!__atomic_compare_exchange_n(&wrappers->function_count, &count, count + 1, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	__atomic_store_n(&function_at(wrappers, count + 1)->function, function, __ATOMIC_RELEASE);
	return (uint16_t)(count + 1);
}

// The number of a function, new ones included; NONE if there is no room.
static uint16_t find_number(struct heapsnap_wrappers *wrappers, uint64_t function)
{
	uint32_t at = hash(function, HEAPSNAP_WRAPPER_NUMBERS);

	for (int i = 0; i < PROBES; i++, at = (at + 1) & (HEAPSNAP_WRAPPER_NUMBERS - 1)) {
		uint16_t present = __atomic_load_n(&wrappers->numbers[at], __ATOMIC_ACQUIRE);

		if (present == 0) {
			uint16_t number = new_function(wrappers, function);

			// Another thread may have taken the place; then this entry remains unused.
			if (number == NONE ||
			    __atomic_compare_exchange_n(&wrappers->numbers[at], &present, number,
							false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return number;
		}
		if (load(function_at(wrappers, present)->function) == function)
			return present;
	}
	return NONE;
}

static bool is_of_site(uint64_t word, uint64_t site)
{
	return word != 0 && (word ^ site) << (64 - NUMBER_SHIFT) == 0;
}

bool heapsnap_wrappers_knows(const struct heapsnap_wrappers *wrappers, uint64_t site)
{
	return is_of_site(load(wrappers->known[hash(site, HEAPSNAP_WRAPPER_KNOWN)]), site);
}

// The number of the function that a site is in, as far as the tables of its module tell.
static uint16_t number_at(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	uint64_t *known = &wrappers->known[hash(site, HEAPSNAP_WRAPPER_KNOWN)];
	uint64_t word = load(*known), start, end;
	struct heapsnap_allocating *function;
	uint16_t number;

	heapsnap_spend(1);
	if (is_of_site(word, site))
		return (uint16_t)(word >> NUMBER_SHIFT);
	heapsnap_spend(HEAPSNAP_EFFORT_LOOKUP);
	start = heapsnap_function_find(site - 1, &end);
	if (heapsnap_standard_has(start, site - 1) ||
	    (start && heapsnap_passes_size(start, end, site)))
		number = TRANSPARENT;
	else
		number = start ? find_number(wrappers, start) : NONE;
	function = function_at(wrappers, number);
	if (function)
		store(function->end, end);
	store(*known, site | (uint64_t)number << NUMBER_SHIFT);
	return number;
}

// The function that a site is in; NULL if it is not known, or looked through always.
static struct heapsnap_allocating *find_function(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	return function_at(wrappers, number_at(wrappers, site));
}

/*
 * True if an address, as a backtrace has it, is in a function one of whose sites has been looked up.
 * That is cheaper than to find the address's own function.
 */
static bool contains(const struct heapsnap_allocating *function, uint64_t address)
{
	// Where another thread has not stored the end yet, it is 0, and nothing is in the function.
	return address - 1 >= load(function->function) && address - 1 < load(function->end);
}

bool heapsnap_wrappers_add_transparent(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	return number_at(wrappers, site) == TRANSPARENT && add_site(wrappers, site);
}

// @return whether that may change what the function is taken for
static bool note_caller(struct heapsnap_allocating *function, uint64_t address, uint64_t size)
{
	for (int i = 0; i < HEAPSNAP_WRAPPER_CALLERS; i++) {
		struct heapsnap_allocating_caller *caller = &function->callers[i];

		bool was_free = load(caller->address) == 0;

		if (!claim(&caller->address, address))
			continue;
		// A thread that came late may have written to an entry that was being forgotten.
		if (was_free) {
			store(caller->times, 0);
			store(caller->varies, false);
		}

		uint32_t times = load(caller->times);
		bool varied = load(caller->varies);

		if (times == 0)
			store(caller->size, size);
		if (load(caller->size) == size)
			store(caller->times, times + 1);
		else
			store(caller->varies, true);
		return times < TIMES_NEEDED || (!varied && load(caller->varies));
	}
	return false;
}

// True if a caller before this one asks for the same size.
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

/*
 * True if a caller asks it for many sizes. Others may ask for one: the first block of a runtime is
 * made by the same allocator as all others.
 */
static bool passes_on(const struct heapsnap_allocating *function)
{
	for (int i = 0; i < HEAPSNAP_WRAPPER_CALLERS && load(function->callers[i].address); i++) {
		if (load(function->callers[i].varies))
			return true;
	}
	return false;
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
	bool was_wrapper = load(function->verdict) == HEAPSNAP_VERDICT_WRAPPER;

	store(function->verdict, HEAPSNAP_VERDICT_REFUSED);
	for (int i = 0; i < HEAPSNAP_WRAPPER_PLACES && load(function->places[i]); i++) {
		remove_site(wrappers->passing, load(function->places[i]));
		if (was_wrapper)
			remove_site(wrappers->sites, load(function->places[i]));
	}
	return was_wrapper ? HEAPSNAP_ROLE_WRAPPER_NO_MORE : HEAPSNAP_ROLE_OWN;
}

// All the function's sites are a wrapper's from now on.
static void accept(struct heapsnap_wrappers *wrappers, struct heapsnap_allocating *function)
{
	store(function->verdict, HEAPSNAP_VERDICT_WRAPPER);
	for (int i = 0; i < HEAPSNAP_WRAPPER_PLACES && load(function->places[i]); i++)
		add_site(wrappers, load(function->places[i]));
}

static enum heapsnap_role role_of_open(struct heapsnap_wrappers *wrappers,
				       struct heapsnap_allocating *function, uint64_t site,
				       uint64_t caller, uint64_t size)
{
	bool has_changed = note_caller(function, caller, size);

	if (has_changed) {
		heapsnap_spend(HEAPSNAP_WRAPPER_CALLERS);
		if (is_used_as_wrapper(function)) {
			accept(wrappers, function);
			return HEAPSNAP_ROLE_WRAPPER_NEW;
		}
	}
	store(function->looks, (uint16_t)(load(function->looks) + 1));
	if (!passes_on(function)) {
		// The first of its callers have been noted by now.
		if (load(function->looks) >= HEAPSNAP_WRAPPER_LOOKS)
			refuse(wrappers, function);
		return HEAPSNAP_ROLE_OWN;
	}
	add_passing(wrappers, site);
	return HEAPSNAP_ROLE_PASSES;
}

enum heapsnap_role heapsnap_wrappers_note(struct heapsnap_wrappers *wrappers, uint64_t site,
					  uint64_t caller, uint64_t size)
{
	uint16_t number = number_at(wrappers, site);
	struct heapsnap_allocating *function = caller ? function_at(wrappers, number) : NULL;

	if (number == TRANSPARENT && add_site(wrappers, site))
		return HEAPSNAP_ROLE_TRANSPARENT;
	if (!function || load(function->verdict) == HEAPSNAP_VERDICT_REFUSED)
		return HEAPSNAP_ROLE_OWN;
	if (!note_place(function, site) && !load(function->is_named))
		return refuse(wrappers, function);
	// A function that calls itself does more than pass a size on.
	if (contains(function, caller) && !load(function->is_named))
		return refuse(wrappers, function);
	if (load(function->verdict) == HEAPSNAP_VERDICT_OPEN)
		return role_of_open(wrappers, function, site, caller, size);
	return add_site(wrappers, site) ? HEAPSNAP_ROLE_WRAPPER : HEAPSNAP_ROLE_OWN;
}

bool heapsnap_wrappers_refuses(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	const struct heapsnap_allocating *function = find_function(wrappers, site);

	return function && load(function->verdict) == HEAPSNAP_VERDICT_REFUSED;
}

bool heapsnap_wrappers_refuse_recursive(struct heapsnap_wrappers *wrappers,
					const uint64_t *addresses, unsigned count)
{
	bool has_changed = false;

	for (unsigned i = 0; i < count; i++) {
		struct heapsnap_allocating *function;
		unsigned outer = i + 1;

		if (!heapsnap_wrappers_has(wrappers, addresses[i]))
			continue;
		function = find_function(wrappers, addresses[i]);
		if (!function || load(function->is_named))
			continue;
		while (outer < count && !contains(function, addresses[outer]))
			outer++;
		if (outer == count)
			continue;
		refuse(wrappers, function);
		has_changed = true;
	}
	return has_changed;
}

const uint64_t *heapsnap_wrappers_places(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	struct heapsnap_allocating *function = find_function(wrappers, site);

	return function ? function->places : NULL;
}

void heapsnap_wrappers_add(struct heapsnap_wrappers *wrappers, uint64_t site)
{
	struct heapsnap_allocating *function = find_function(wrappers, site);

	if (heapsnap_wrappers_add_transparent(wrappers, site) || !function ||
	    load(function->verdict) == HEAPSNAP_VERDICT_REFUSED)
		return;
	accept(wrappers, function);
	add_site(wrappers, site);
}

/*
 * Others may read the entry meanwhile: each word is stored as a whole, and the function is refused
 * until the last. It keeps its address, and so its number, which others may hold.
 */
static void forget_function(struct heapsnap_wrappers *wrappers,
			    struct heapsnap_allocating *function)
{
	refuse(wrappers, function);
	store(function->is_named, false);
	store(function->looks, 0);
	store(function->end, 0);
	for (int i = 0; i < HEAPSNAP_WRAPPER_PLACES; i++)
		store(function->places[i], 0);
	for (int i = 0; i < HEAPSNAP_WRAPPER_CALLERS; i++) {
		store(function->callers[i].address, 0);
		store(function->callers[i].size, 0);
		store(function->callers[i].times, 0);
		store(function->callers[i].varies, false);
	}
	__atomic_store_n(&function->verdict, HEAPSNAP_VERDICT_OPEN, __ATOMIC_RELEASE);
}

void heapsnap_wrappers_forget(struct heapsnap_wrappers *wrappers, uint64_t start, uint64_t end)
{
	uint32_t count = load(wrappers->function_count);

	heapsnap_passing_forget();
	for (uint32_t i = 0; i < HEAPSNAP_WRAPPER_KNOWN; i++)
		store(wrappers->known[i], 0);
	// Also those of the standard libraries, which no entry below has.
	for (uint32_t i = 0; i < HEAPSNAP_WRAPPER_SITES; i++) {
		uint64_t site = load(wrappers->sites[i]);

		if (site > REMOVED && site >= start && site < end)
			store(wrappers->sites[i], REMOVED);
	}
	for (uint32_t i = 0; i < count; i++) {
		struct heapsnap_allocating *function = function_at(wrappers, i + 1);
		uint64_t address = load(function->function);

		// An entry that another thread is just taking has no address yet.
		if (address != 0 && address >= start && address < end)
			forget_function(wrappers, function);
	}
}

static void add_named(void *context, uint64_t address)
{
	struct heapsnap_wrappers *wrappers = context;
	struct heapsnap_allocating *function =
		function_at(wrappers, find_number(wrappers, address));

	if (!function)
		return;
	function->verdict = HEAPSNAP_VERDICT_WRAPPER;
	function->is_named = true;
}

void heapsnap_wrappers_init(struct heapsnap_wrappers *wrappers, const char *names)
{
	heapsnap_standard_init();
	heapsnap_passing_init();
	if (names && *names)
		heapsnap_symbols_find(names, add_named, wrappers);
}
