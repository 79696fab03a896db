// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/seen.h"

#include "dumper/base/settings.h"
#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/later.h"
#include "dumper/stacks/hops.h"
#include "dumper/stacks/unwind.h"

enum {
	DISPLACED_SITES = 1 << 15,
	SWEPT_SLOTS = HEAPSNAP_SEEN_SLOTS + HEAPSNAP_DISPLACED_SLOTS,
	SWEEP_STRETCH = 1024, // slots that are swept, each time that a thread has earned credit
	SWEEP_EVENT = 128,    // and with each backtrace
	SWEEP_STEP = 8,       // of them cost a step
	SWEEP_KIND = 16,      // a kind costs as much as so many slots
	QUEUED = 0x80,        // in the mark of a kind
	RESUMED_STEPS = 64,   // what one that has been postponed may cost
};

uint64_t heapsnap_seen[HEAPSNAP_SEEN_SLOTS];
uint64_t heapsnap_displaced[HEAPSNAP_DISPLACED_SLOTS];

static struct heapsnap_seen_table *table;
static struct heapsnap_wrappers *wrappers;
static uint32_t queue_first, queue_end; // of table->queue; they count on
static uint32_t sweep_at, sweep_left;   // slots of heapsnap_seen, after the kinds
static bool passing_were_seen;          // since the last sweep began

// A bit by hash for each site that has ever lost a slot of heapsnap_seen.
static uint64_t displaced_sites[DISPLACED_SITES / 64];

void heapsnap_seen_init(struct heapsnap_seen_table *room, struct heapsnap_wrappers *known)
{
	wrappers = known;
	table = room;
}

static uint32_t seen_slot(uint64_t site, uint64_t size)
{
	return (uint16_t)(site + size);
}

static uint64_t *seen_site_word(uint64_t site, uint64_t *bit)
{
	uint64_t hash = heapsnap_code_hash(site) >> 40 & (HEAPSNAP_SEEN_SITES - 1);

	*bit = UINT64_C(1) << hash % 64;
	return &table->sites[hash / 64];
}

static void note_seen_site(uint64_t site, bool has_kind)
{
	uint64_t bit, *word = seen_site_word(site, &bit);

	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_or_fetch(word, bit, __ATOMIC_RELAXED);
	if (has_kind && heapsnap_wrappers_passes(wrappers, site))
		__atomic_store_n(&passing_were_seen, true, __ATOMIC_RELAXED);
}

static bool may_be_seen(uint64_t site)
{
	uint64_t bit, *word = seen_site_word(site, &bit);

	return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

static uint64_t *displaced_site_word(uint64_t site, uint64_t *bit)
{
	uint64_t hash = heapsnap_scatter(site) >> 40 & (DISPLACED_SITES - 1);

	*bit = UINT64_C(1) << hash % 64;
	return &displaced_sites[hash / 64];
}

bool heapsnap_seen_may_be_displaced(uint64_t site)
{
	uint64_t bit, *word = displaced_site_word(site, &bit);

	return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

// A hop from the site must be looked up together with heapsnap_displaced from here on.
static void note_displaced(uint64_t site)
{
	uint64_t bit, *word = displaced_site_word(site, &bit);

	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_or_fetch(word, bit, __ATOMIC_RELAXED);
	// Either the thread that learns a hop meanwhile finds the bit, or its hop is found here.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	// Another site of that hash may have set the bit when the hop from this one was known already.
	heapsnap_hops_forget_site(site);
}

void heapsnap_seen_cache(uint64_t site, uint64_t size)
{
	uint32_t slot = seen_slot(site, size);
	uint64_t other;

	if (!HEAPSNAP_TAKES_SNAPSHOTS || size >= HEAPSNAP_SEEN_SLOTS)
		return;
	other = __atomic_exchange_n(&heapsnap_seen[slot], site, __ATOMIC_RELAXED);
	if (other != 0 && other != site) {
		uint64_t word = heapsnap_displaced_word(other, (uint16_t)(slot - other));

		note_displaced(other);
		__atomic_store_n(heapsnap_displaced_slot(word), word, __ATOMIC_RELAXED);
	}
}

static void clear_if(uint64_t *slot, uint64_t value)
{
	if (__atomic_load_n(slot, __ATOMIC_RELAXED) == value)
		__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
}

/*
 * A kind is closed when all has been learned from it, or as long as it waits for credit. The fast path's
 * tables are a mere cache of that, by address: which entries they lose differs from run to run.
 */
static uint8_t *closed_mark(const struct heapsnap_kind *kind)
{
	return heapsnap_kind_marks(heapsnap_kind_number(kind));
}

// The mark of a kind that has been closed since its code was mapped.
static uint8_t mark_of_age(const struct heapsnap_kind *kind)
{
	uint64_t site = __atomic_load_n(&kind->site, __ATOMIC_RELAXED);

	return (uint8_t)(1 + heapsnap_code_age(site) % (QUEUED - 1));
}

bool heapsnap_seen_is_closed(const struct heapsnap_kind *kind)
{
	uint8_t mark = __atomic_load_n(closed_mark(kind), __ATOMIC_RELAXED);

	return mark & QUEUED || mark == mark_of_age(kind);
}

bool heapsnap_seen_is_site_closed(uint64_t site, uint64_t size)
{
	const struct heapsnap_kind *kind = heapsnap_kinds_look_up(site, size);

	return heapsnap_kind_is_known(kind) &&
	       (__atomic_load_n(closed_mark(kind), __ATOMIC_RELAXED) & (uint8_t)~QUEUED) ==
		       mark_of_age(kind);
}

void heapsnap_seen_close(struct heapsnap_kind *kind, uint64_t site, uint64_t size)
{
	uint8_t mark;

	if (HEAPSNAP_TAKES_SNAPSHOTS)
		note_seen_site(site, kind != NULL);
	heapsnap_seen_cache(site, size);
	if (!kind)
		return;
	mark = __atomic_load_n(closed_mark(kind), __ATOMIC_RELAXED);
	if (!(mark & QUEUED)) // or another thread has just queued it
		__atomic_compare_exchange_n(closed_mark(kind), &mark, mark_of_age(kind), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// A kind is to be observed again. One that waits goes on waiting for its turn.
static void reopen(const struct heapsnap_kind *kind)
{
	uint64_t site = __atomic_load_n(&kind->site, __ATOMIC_RELAXED);
	uint64_t size = __atomic_load_n(&kind->size, __ATOMIC_RELAXED);
	uint64_t word = heapsnap_displaced_word(site, size);

	__atomic_and_fetch(closed_mark(kind), QUEUED, __ATOMIC_RELAXED);
	if (size >= HEAPSNAP_SEEN_SLOTS)
		return;
	clear_if(&heapsnap_seen[seen_slot(site, size)], site);
	clear_if(heapsnap_displaced_slot(word), word);
}

// --- waiting for credit ------------------------------------------------------------------

void heapsnap_seen_postpone(const struct heapsnap_kind *kind, uint64_t site, uint64_t size)
{
	uint32_t *queue, at;

	if (!HEAPSNAP_TAKES_SNAPSHOTS)
		return;
	queue = heapsnap_reserve_later((void **)&table->queue, HEAPSNAP_QUEUE * sizeof(*queue));
	if (!queue)
		return; // it will be tried at the next block
	note_seen_site(site, true);
	heapsnap_seen_cache(site, size);
	if (__atomic_fetch_or(closed_mark(kind), QUEUED, __ATOMIC_RELAXED) & QUEUED)
		return;
	__atomic_store_n(closed_mark(kind), QUEUED | mark_of_age(kind), __ATOMIC_RELAXED);
	at = __atomic_fetch_add(&queue_end, 1, __ATOMIC_RELAXED) % HEAPSNAP_QUEUE;
	__atomic_store_n(&queue[at], heapsnap_kind_number(kind) + 1, __ATOMIC_RELEASE);
}

// @return false if none waits
static bool resume_first(void)
{
	uint32_t at = __atomic_load_n(&queue_first, __ATOMIC_RELAXED);
	uint32_t *queue = __atomic_load_n(&table->queue, __ATOMIC_ACQUIRE), *place, number;

	if (!queue)
		return false;
	place = &queue[at % HEAPSNAP_QUEUE];
	number = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (number == 0 || !__atomic_compare_exchange_n(&queue_first, &at, at + 1, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(place, 0, __ATOMIC_RELAXED);
	__atomic_and_fetch(heapsnap_kind_marks(number - 1), (uint8_t)~QUEUED, __ATOMIC_RELEASE);
	reopen(heapsnap_kind_numbered(number - 1));
	return true;
}

// Lets kinds that wait be observed again, first come, first served: as many as there is credit for.
static void resume(void)
{
	int64_t credit =
		__atomic_load_n(&heapsnap_effort.credit[HEAPSNAP_EFFORT_LOOKS], __ATOMIC_RELAXED);

	while (credit > 0 && resume_first())
		credit -= RESUMED_STEPS;
}

// --- sweeping -----------------------------------------------------------------------------

// All slots in which there is a site, one after the other. @param in_row  gets how many lie together
static uint64_t *swept_slots(uint32_t at, uint32_t *in_row)
{
	if (at < HEAPSNAP_SEEN_SLOTS) {
		*in_row = HEAPSNAP_SEEN_SLOTS - at;
		return &heapsnap_seen[at];
	}
	*in_row = SWEPT_SLOTS - at;
	return &heapsnap_displaced[at - HEAPSNAP_SEEN_SLOTS];
}

// The site in a slot; 0: there is none.
static uint64_t swept_site(const uint64_t *slot)
{
	uint64_t word = __atomic_load_n(slot, __ATOMIC_RELAXED);
	bool is_displaced =
		slot >= heapsnap_displaced && slot < heapsnap_displaced + HEAPSNAP_DISPLACED_SLOTS;

	return is_displaced ? heapsnap_displaced_site(word) : word;
}

static bool needs_sweep(uint64_t site)
{
	return site != 0 &&
	       (heapsnap_wrappers_has(wrappers, site) || heapsnap_wrappers_passes(wrappers, site));
}

static void sweep_kinds(uint32_t most)
{
	for (uint32_t i = 0; i < most; i++) {
		const struct heapsnap_kind *kind = heapsnap_kinds_next();

		if (!kind)
			return;
		if (needs_sweep(__atomic_load_n(&kind->site, __ATOMIC_RELAXED)))
			reopen(kind);
	}
}

/*
 * Takes a part of a round through the slots. If another thread begins a new round at the same time,
 * the rest of that is not all.
 *
 * @return how many; *from is the first
 */
static uint32_t take_slots(uint32_t most, uint32_t *from)
{
	uint32_t rest = __atomic_load_n(&sweep_left, __ATOMIC_RELAXED);
	uint32_t count = rest < most ? rest : most;

	if (count == 0 || !__atomic_compare_exchange_n(&sweep_left, &rest, rest - count, false,
						       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return 0;
	*from = __atomic_fetch_add(&sweep_at, count, __ATOMIC_RELAXED) % SWEPT_SLOTS;
	return count;
}

static void sweep_row(uint64_t *slots, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (needs_sweep(swept_site(&slots[i])))
			__atomic_store_n(&slots[i], 0, __ATOMIC_RELAXED);
	}
}

static void sweep_slots(uint32_t most)
{
	uint32_t at = 0, in_row;
	uint32_t count = take_slots(most, &at);

	while (count > 0) {
		uint64_t *slots = swept_slots(at, &in_row);

		in_row = in_row < count ? in_row : count;
		sweep_row(slots, in_row);
		count -= in_row;
		at = (at + in_row) % SWEPT_SLOTS;
	}
}

/*
 * When sites have become a wrapper's, or may become one's, those that have been seen by then must
 * not take the fast path any more. Sweeps a part of them: kinds first, in the order in which the
 * program made them. The order of the slots is that of addresses, another one in each run; they
 * have those sites that found no room among the kinds.
 */
static void sweep(uint32_t slots)
{
	if (heapsnap_kinds_round_is_over())
		sweep_slots(slots);
	else
		sweep_kinds(slots / SWEEP_KIND);
}

static bool is_swept(void)
{
	return heapsnap_kinds_round_is_over() &&
	       __atomic_load_n(&sweep_left, __ATOMIC_RELAXED) == 0;
}

void heapsnap_seen_earned(void)
{
	if (!HEAPSNAP_TAKES_SNAPSHOTS)
		return;
	resume();
	if (is_swept())
		return;
	sweep(SWEEP_STRETCH);
	heapsnap_effort_charge(HEAPSNAP_EFFORT_LOOKS, SWEEP_STRETCH / SWEEP_STEP);
}

void heapsnap_seen_examined(void)
{
	sweep(SWEEP_EVENT);
	heapsnap_spend(SWEEP_EVENT / SWEEP_STEP);
}

void heapsnap_seen_look_again(uint64_t of)
{
	const uint64_t *places = heapsnap_wrappers_places(wrappers, of);
	bool were_seen = __atomic_exchange_n(&passing_were_seen, false, __ATOMIC_RELAXED);

	heapsnap_kinds_judge_anew();
	for (int i = 0; places && i < HEAPSNAP_WRAPPER_PLACES && !were_seen; i++) {
		uint64_t site = __atomic_load_n(&places[i], __ATOMIC_RELAXED);

		were_seen = site != 0 && may_be_seen(site);
	}
	if (!were_seen || !HEAPSNAP_TAKES_SNAPSHOTS)
		return;
	__atomic_store_n(&sweep_left, SWEPT_SLOTS, __ATOMIC_RELAXED);
	heapsnap_kinds_begin_round();
}

// --- code that goes --------------------------------------------------------------------

void heapsnap_seen_forget(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; HEAPSNAP_TAKES_SNAPSHOTS && i < SWEPT_SLOTS; i++) {
		uint32_t in_row;
		uint64_t *slot = swept_slots(i, &in_row);
		uint64_t site = swept_site(slot);

		if (site >= start && site < end && site != 0)
			__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
	}
}
