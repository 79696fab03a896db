// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/kinds.h"

#include "dumper/base/process.h"
#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/later.h"
#include "dumper/stacks/unwind.h"

enum {
	PROBES = 16,    // slots of each part that may hold a kind
	LOOKS = 4,      // at the callers of each kind
	LOOK_BITS = 8,  // of heapsnap_kind.looks; what is above, generation_of() says
	PARTIAL = 0x80, // among these bits: the backtrace is not whole
	FIND_STEPS = 2, // what a look at the kinds costs
};

static struct heapsnap_kinds *table;
static const struct heapsnap_wrappers *wrappers;
static uint32_t kind_count;      // among the first
static uint32_t wrapper_changes; // functions that pass sizes on are judged anew after each
static uint32_t made_count;
static uint32_t kinds_at, kinds_left; // of table->made, of the round

void heapsnap_kinds_init(struct heapsnap_kinds *room, const struct heapsnap_wrappers *known)
{
	heapsnap_process.kinds = (uint64_t)room->first;
	heapsnap_process.kind_slots = HEAPSNAP_FIRST_KINDS;
	wrappers = known;
	table = room;
}

// Looks for a kind from a slot on. @return its entry, or the first free one; NULL if there is neither
// --- two parts -----------------------------------------------------------------------

static struct heapsnap_more_kinds *present_second_part(void)
{
	return __atomic_load_n(&table->more, __ATOMIC_ACQUIRE);
}

// @return NULL if there is no memory for it
static struct heapsnap_more_kinds *second_part(void)
{
	struct heapsnap_more_kinds *more =
		heapsnap_reserve_later((void **)&table->more, sizeof(*more));

	if (more) {
		__atomic_store_n(&heapsnap_process.more_kinds, (uint64_t)more->kinds,
				 __ATOMIC_RELEASE);
		__atomic_store_n(&heapsnap_process.kind_slots, HEAPSNAP_KINDS, __ATOMIC_RELEASE);
	}
	return more;
}

static bool is_first(const struct heapsnap_kind *kind)
{
	return kind >= table->first && kind < table->first + HEAPSNAP_FIRST_KINDS;
}

uint32_t heapsnap_kind_number(const struct heapsnap_kind *kind)
{
	if (is_first(kind))
		return (uint32_t)(kind - table->first);
	return HEAPSNAP_FIRST_KINDS + (uint32_t)(kind - present_second_part()->kinds);
}

struct heapsnap_kind *heapsnap_kind_numbered(uint32_t number)
{
	if (number < HEAPSNAP_FIRST_KINDS)
		return &table->first[number];
	return &present_second_part()->kinds[number - HEAPSNAP_FIRST_KINDS];
}

uint8_t *heapsnap_kind_marks(uint32_t number)
{
	if (number < HEAPSNAP_FIRST_KINDS)
		return &table->closed[number];
	return &present_second_part()->closed[number - HEAPSNAP_FIRST_KINDS];
}

// There are never more made than there is room for kinds.
static uint32_t *made_at(uint32_t at)
{
	if (at < HEAPSNAP_FIRST_KINDS)
		return &table->made[at];
	return &present_second_part()->made[at - HEAPSNAP_FIRST_KINDS];
}

// --- finding one -----------------------------------------------------------------------

static struct heapsnap_kind *search_kinds(struct heapsnap_kind *kinds, uint64_t count, uint64_t at,
					  uint64_t site, uint64_t size)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		struct heapsnap_kind *kind = &kinds[(at + i) & (count - 1)];
		uint64_t present = __atomic_load_n(&kind->site, __ATOMIC_ACQUIRE);

		if (present == 0 ||
		    (present == site && __atomic_load_n(&kind->size, __ATOMIC_RELAXED) == size))
			return kind;
	}
	return NULL;
}

// Each slot is taken once at most, so that there is room.
static void note_made(const struct heapsnap_kind *kind)
{
	uint32_t at = __atomic_fetch_add(&made_count, 1, __ATOMIC_RELAXED);

	__atomic_store_n(made_at(at), heapsnap_kind_number(kind), __ATOMIC_RELAXED);
	// A round that is under way takes one more, so that it does not end before its beginning.
	if (__atomic_load_n(&kinds_left, __ATOMIC_RELAXED) != 0)
		__atomic_fetch_add(&kinds_left, 1, __ATOMIC_RELAXED);
}

// Sizes that one site asks for lie near each other, and so do their entries.
static uint64_t hash_kind(uint64_t site, uint64_t size)
{
	return (heapsnap_code_hash(site) >> 32) + size / 16 * 3 + size % 16;
}

static struct heapsnap_kind *search_more(uint64_t at, uint64_t site, uint64_t size)
{
	struct heapsnap_more_kinds *more = second_part();

	return more ? search_kinds(more->kinds, HEAPSNAP_MORE_KINDS, at, site, size) : NULL;
}

struct heapsnap_kind *heapsnap_kinds_look_up(uint64_t site, uint64_t size)
{
	uint64_t at = hash_kind(site, size);
	bool is_few = __atomic_load_n(&kind_count, __ATOMIC_RELAXED) < HEAPSNAP_FIRST_KINDS / 2;
	struct heapsnap_kind *kind = NULL, *first;

	heapsnap_spend(FIND_STEPS);
	if (!is_few)
		kind = search_more(at, site, size);
	if (heapsnap_kind_is_known(kind))
		return kind;
	first = search_kinds(table->first, HEAPSNAP_FIRST_KINDS, at, site, size);
	if (heapsnap_kind_is_known(first) || (is_few && first))
		return first;
	return is_few ? search_more(at, site, size) : kind;
}

struct heapsnap_kind *heapsnap_kinds_find(uint64_t site, uint64_t size)
{
	struct heapsnap_kind *kind = heapsnap_kinds_look_up(site, size);
	uint64_t present = 0;

	if (heapsnap_kind_is_known(kind))
		return kind;
	if (!kind || !__atomic_compare_exchange_n(&kind->site, &present, site, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return NULL; // or another thread was faster: the next time
	// Who comes by meanwhile makes an entry of its own: two are as good as one.
	__atomic_store_n(&kind->size, size, __ATOMIC_RELAXED);
	note_made(kind);
	if (is_first(kind))
		__atomic_add_fetch(&kind_count, 1, __ATOMIC_RELAXED);
	return kind;
}

void heapsnap_kinds_judge_anew(void)
{
	__atomic_add_fetch(&wrapper_changes, 1, __ATOMIC_RELAXED);
}

/*
 * Looks at a kind count for nothing when its code has been unmapped since, or a function has become
 * a wrapper and this one only passes sizes on.
 */
static uint32_t generation_of(uint64_t site)
{
	uint32_t changes = heapsnap_wrappers_passes(wrappers, site)
				   ? __atomic_load_n(&wrapper_changes, __ATOMIC_RELAXED)
				   : 0;

	return (heapsnap_code_age(site) << 12 ^ changes) & (UINT32_MAX >> LOOK_BITS);
}

static uint32_t looks_of(const struct heapsnap_kind *kind)
{
	uint32_t looks = __atomic_load_n(&kind->looks, __ATOMIC_RELAXED);

	// No looks are no looks, of whichever generation.
	if ((looks & ((1 << LOOK_BITS) - 1)) == 0)
		return 0;
	if (looks >> LOOK_BITS != generation_of(__atomic_load_n(&kind->site, __ATOMIC_RELAXED)))
		return 0;
	return looks & ((1 << LOOK_BITS) - 1);
}

bool heapsnap_kind_needs_look(const struct heapsnap_kind *kind)
{
	return (looks_of(kind) & ~(uint32_t)PARTIAL) < LOOKS;
}

bool heapsnap_kind_needs_backtrace(const struct heapsnap_kind *kind)
{
	uint32_t looks = looks_of(kind);

	return looks == 0 || looks & PARTIAL;
}

static void set_looks(struct heapsnap_kind *kind, uint32_t looks)
{
	uint32_t generation = generation_of(__atomic_load_n(&kind->site, __ATOMIC_RELAXED));

	// When two threads look at the same time, the look of one is lost.
	__atomic_store_n(&kind->looks, looks | generation << LOOK_BITS, __ATOMIC_RELAXED);
}

void heapsnap_kind_add_look(struct heapsnap_kind *kind, bool is_partial)
{
	set_looks(kind, ((looks_of(kind) & ~(uint32_t)PARTIAL) + 1) | (is_partial ? PARTIAL : 0));
}

void heapsnap_kind_settle(struct heapsnap_kind *kind)
{
	if (!(looks_of(kind) & PARTIAL))
		set_looks(kind, LOOKS);
}

// --- rounds ------------------------------------------------------------------------

void heapsnap_kinds_begin_round(void)
{
	__atomic_store_n(&kinds_left, __atomic_load_n(&made_count, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
}

bool heapsnap_kinds_round_is_over(void)
{
	return __atomic_load_n(&kinds_left, __ATOMIC_RELAXED) == 0;
}

struct heapsnap_kind *heapsnap_kinds_next(void)
{
	uint32_t left = __atomic_load_n(&kinds_left, __ATOMIC_RELAXED), at, next;

	do {
		if (left == 0)
			return NULL;
	} while (!__atomic_compare_exchange_n(&kinds_left, &left, left - 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	at = __atomic_load_n(&kinds_at, __ATOMIC_RELAXED);
	do
		next = at + 1 < __atomic_load_n(&made_count, __ATOMIC_RELAXED) ? at + 1 : 0;
	while (!__atomic_compare_exchange_n(&kinds_at, &at, next, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return heapsnap_kind_numbered(__atomic_load_n(made_at(at), __ATOMIC_RELAXED));
}
