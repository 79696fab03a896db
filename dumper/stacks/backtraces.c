// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/backtraces.h"

#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/base/process.h"
#include "dumper/base/report.h"
#include "dumper/trace/sampling.h"
#include "dumper/base/settings.h"
#include "dumper/trace/trace.h"
#include "dumper/trace/trace_file.h"
#include "dumper/stacks/wrappers.h"

#include <dlfcn.h>
#include <link.h>

enum {
	STEPS = 1 << 20,
	KINDS = 1 << 17,
	FIRST_KINDS = 1 << 12, // slots for the first ones: few kinds touch few pages
	SAMPLES = 1 << 17,
	FIRST_SAMPLES = 1 << 12, // slots that are tried first
	CHAINS = 1 << 17,
	FIRST_CHAINS = 1 << 12,
	FIRST_STEPS = 1 << 13, // which are in the first chains
	MAX_LINKS = 32,        // of a chain that are followed
	UNMAPPED = 256,
	KNOWN_SITES = 1 << 14,
	SEEN_SITES = 1 << 15,
	AREA_SHIFT = 20,      // of code, by address: 64 areas
	PROBES = 16,          // slots of a table that may hold an entry
	MAX_STEPS = 128,      // of a backtrace: the innermost
	FEW_STEPS = 24,       // enough to see who has called a wrapper
	RECURSION_STEPS = 32, // of these, those in which recursion is looked for
	CALLER_STEPS = 3,     // enough to see who has called a function
	LOOKS = 4,            // at the callers of each kind
	LOOK_BITS = 8,        // of heapsnap_kind.looks; what is above, generation_of() says
	PARTIAL = 0x80,       // among these bits: the backtrace is not whole
	SWEPT_SLOTS = HEAPSNAP_SEEN_SLOTS + HEAPSNAP_DISPLACED_SLOTS,
	SWEEP_STRETCH = 1024, // slots that are swept, each time that a thread has earned credit
	SWEEP_EVENT = 128,    // and with each backtrace
	SWEEP_STEP = 8,       // of them cost a step
	SWEEP_KIND = 16,      // a kind costs as much as so many slots
	QUEUE = 1 << 18,      // more than there are kinds
	QUEUED = 0x80,        // in the mark of a kind
	RESUMED_STEPS = 64,   // what one that has been postponed may cost
	FIND_STEPS = 2,       // what a look at the kinds costs
	EXAMINE_STEPS = 8,    // what a backtrace costs besides its frames
};

_Static_assert((int)HEAPSNAP_TRACE_WRAPPERS == (int)HEAPSNAP_WRAPPER_SITES,
	       "a trace tells of all sites in wrappers");

// One mapping: what of it is not used is never touched.
struct tables {
	struct heapsnap_step steps[STEPS];
	struct heapsnap_kind kinds[FIRST_KINDS + KINDS];
	uint32_t made[FIRST_KINDS +
		      KINDS]; // [made_count] kinds in the order in which they were made
	struct heapsnap_sample samples[SAMPLES];
	struct heapsnap_unmapped unmapped[UNMAPPED];
	uint32_t first_chains[FIRST_CHAINS];
	uint32_t chains[CHAINS]; // the first step of each hash; they go on with step.next
	struct heapsnap_wrappers wrappers;
	struct heapsnap_rule_slot rules[2 * HEAPSNAP_RULE_SLOTS];
	uint64_t seen_sites[SEEN_SITES / 64]; // a bit by hash: the site may be in heapsnap_seen
	uint32_t known_sites[KNOWN_SITES];    // by hash: another part of the hash
	uint8_t closed[FIRST_KINDS + KINDS];  // marks of kinds; 0: open
	uint32_t queue[QUEUE];                // numbers of kinds that wait, and 1; 0: none
};

uint64_t heapsnap_seen[HEAPSNAP_SEEN_SLOTS];
uint64_t heapsnap_displaced[HEAPSNAP_DISPLACED_SLOTS];
uint64_t heapsnap_hops[HEAPSNAP_HOPS];

static struct tables *tables;
static bool is_ready;
static uint32_t others;          // samples that did not find room among the first
static uint32_t kind_count;      // among the first
static uint32_t wrapper_changes; // functions that pass sizes on are judged anew after each
static uint32_t made_count;
static uint32_t kinds_at, kinds_left;   // of tables->made, to be swept
static uint32_t queue_first, queue_end; // of tables->queue; they count on
static uint32_t sweep_at, sweep_left;   // slots of heapsnap_seen, after these
static bool passing_were_seen;          // since the last sweep began
static uint64_t areas;                  // a bit for code in which sites have been seen

void heapsnap_backtraces_init(void)
{
	struct heapsnap_process *process = &heapsnap_process;
	struct tables *room;

	is_ready = true;
	if (heapsnap_settings.stacks == 0)
		return;
	room = heapsnap_reserve(sizeof(*room));
	if (!room) {
		heapsnap_report(NULL, "out of memory", "; no backtraces can be taken");
		return;
	}
	// Not on every machine; heapsnap(1) says where.
	if (!heapsnap_unwind_init(room->rules)) {
		heapsnap_unreserve(room, sizeof(*room));
		return;
	}
	heapsnap_wrappers_init(&room->wrappers, heapsnap_settings.wrappers);
	heapsnap_sampling_init();
	process->steps = (uint64_t)room->steps;
	process->kinds = (uint64_t)room->kinds;
	process->samples = (uint64_t)room->samples;
	process->wrappers = (uint64_t)room->wrappers.sites;
	process->unmapped = (uint64_t)room->unmapped;
	process->step_count = 1;
	process->kind_slots = FIRST_KINDS + KINDS;
	process->sample_slots = SAMPLES;
	process->wrapper_slots = HEAPSNAP_WRAPPER_SITES;
	process->wrapper_names = (uint64_t)heapsnap_settings.wrappers;
	tables = room;
}

// --- steps -------------------------------------------------------------------------

// @return 0 if there is no room left
static uint32_t new_step(void)
{
	uint32_t *count = &heapsnap_process.step_count;
	uint32_t step = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (step < STEPS && !__atomic_compare_exchange_n(count, &step, step + 1, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return step < STEPS ? step : 0;
}

// True if a step's code has been unmapped since.
static bool is_of_unmapped(uint32_t step)
{
	uint32_t count = __atomic_load_n(&heapsnap_process.unmapped_count, __ATOMIC_ACQUIRE);
	uint64_t address = tables->steps[step].address;

	if (count == 0 || heapsnap_code_age(address) == 0)
		return false;
	heapsnap_spend((int32_t)count / 8);
	for (uint32_t i = 0; i < count; i++) {
		const struct heapsnap_unmapped *unmapped = &tables->unmapped[i];

		if (address >= unmapped->start && address < unmapped->end && step < unmapped->step)
			return true;
	}
	return false;
}

static uint32_t find_step(uint32_t first, uint64_t address, uint32_t caller)
{
	uint32_t step = first;

	for (int i = 0; step != 0 && i < MAX_LINKS; i++) {
		if (tables->steps[step].address == address &&
		    tables->steps[step].caller == caller && !is_of_unmapped(step))
			return step;
		step = tables->steps[step].next;
	}
	return 0;
}

// The step of an address that was called from a step; 0 if there is no room for a new one.
static uint32_t intern_step(uint64_t address, uint32_t caller)
{
	// However long the chain: samples, too, make it longer.
	heapsnap_spend(1);

	uint32_t hash = (heapsnap_code_hash(address) ^ heapsnap_scatter(caller)) >> 40;
	bool is_few = __atomic_load_n(&heapsnap_process.step_count, __ATOMIC_RELAXED) < FIRST_STEPS;
	uint32_t *chain = is_few ? &tables->first_chains[hash & (FIRST_CHAINS - 1)]
				 : &tables->chains[hash & (CHAINS - 1)];
	uint32_t first = __atomic_load_n(chain, __ATOMIC_ACQUIRE);
	uint32_t step = find_step(first, address, caller);

	if (step == 0 && !is_few)
		step = find_step(__atomic_load_n(&tables->first_chains[hash & (FIRST_CHAINS - 1)],
						 __ATOMIC_ACQUIRE),
				 address, caller);
	if (step != 0)
		return step;
	step = new_step();
	if (step == 0)
		return 0;
	tables->steps[step].caller = caller;
	__atomic_store_n(&tables->steps[step].address, address, __ATOMIC_RELEASE);
	// Another thread may have added the same one meanwhile. Two are as good as one.
	do
		tables->steps[step].next = first;
	while (!__atomic_compare_exchange_n(chain, &first, step, true, __ATOMIC_RELEASE,
					    __ATOMIC_ACQUIRE));
	return step;
}

// The innermost step of a backtrace; 0 if there is no room.
static uint32_t intern(const uint64_t *addresses, unsigned count)
{
	uint32_t step = 0;

	for (unsigned i = count; i > 0; i--) {
		step = intern_step(addresses[i - 1], step);
		if (step == 0)
			return 0;
	}
	return step;
}

// --- kinds -------------------------------------------------------------------------

// Looks for a kind from a slot on. @return its entry, or the first free one; NULL if there is neither
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

static bool is_taken(const struct heapsnap_kind *kind)
{
	return kind && __atomic_load_n(&kind->site, __ATOMIC_RELAXED) != 0;
}

// Each slot is taken once at most, so that there is room.
static void note_made(const struct heapsnap_kind *kind)
{
	uint32_t at = __atomic_fetch_add(&made_count, 1, __ATOMIC_RELAXED);

	__atomic_store_n(&tables->made[at], (uint32_t)(kind - tables->kinds), __ATOMIC_RELAXED);
	// A round that is under way takes one more, so that it does not end before its beginning.
	if (__atomic_load_n(&kinds_left, __ATOMIC_RELAXED) != 0)
		__atomic_fetch_add(&kinds_left, 1, __ATOMIC_RELAXED);
}

// Sizes that one site asks for lie near each other, and so do their entries.
static uint64_t hash_kind(uint64_t site, uint64_t size)
{
	return (heapsnap_code_hash(site) >> 32) + size / 16 * 3 + size % 16;
}

// The entry of a site and size, or the one that it may take. NULL if there is neither.
static struct heapsnap_kind *look_up_kind(uint64_t site, uint64_t size)
{
	uint64_t at = hash_kind(site, size);
	bool is_few = __atomic_load_n(&kind_count, __ATOMIC_RELAXED) < FIRST_KINDS / 2;
	struct heapsnap_kind *kind = NULL, *first;

	heapsnap_spend(FIND_STEPS);
	if (!is_few)
		kind = search_kinds(tables->kinds + FIRST_KINDS, KINDS, at, site, size);
	if (is_taken(kind))
		return kind;
	first = search_kinds(tables->kinds, FIRST_KINDS, at, site, size);
	if (is_taken(first) || (is_few && first))
		return first;
	return is_few ? search_kinds(tables->kinds + FIRST_KINDS, KINDS, at, site, size) : kind;
}

// The entry of a site and size, new ones included; NULL if there is no room.
static struct heapsnap_kind *find_kind(uint64_t site, uint64_t size)
{
	struct heapsnap_kind *kind = look_up_kind(site, size);
	uint64_t present = 0;

	if (is_taken(kind))
		return kind;
	if (!kind || !__atomic_compare_exchange_n(&kind->site, &present, site, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return NULL; // or another thread was faster: the next time
	// Who comes by meanwhile makes an entry of its own: two are as good as one.
	__atomic_store_n(&kind->size, size, __ATOMIC_RELAXED);
	note_made(kind);
	if (kind < tables->kinds + FIRST_KINDS)
		__atomic_add_fetch(&kind_count, 1, __ATOMIC_RELAXED);
	return kind;
}

/*
 * Looks at a kind count for nothing when its code has been unmapped since, or a function has become
 * a wrapper and this one only passes sizes on.
 */
static uint32_t generation_of(uint64_t site)
{
	uint32_t changes = heapsnap_wrappers_passes(&tables->wrappers, site)
				   ? __atomic_load_n(&wrapper_changes, __ATOMIC_RELAXED)
				   : 0;

	return (heapsnap_code_age(site) << 12 ^ changes) & (UINT32_MAX >> LOOK_BITS);
}

static uint32_t looks_of(const struct heapsnap_kind *kind)
{
	uint32_t looks = __atomic_load_n(&kind->looks, __ATOMIC_RELAXED);

	if (looks >> LOOK_BITS != generation_of(__atomic_load_n(&kind->site, __ATOMIC_RELAXED)))
		return 0;
	return looks & ((1 << LOOK_BITS) - 1);
}

// True if this kind's callers have not been observed often enough.
static bool needs_look(const struct heapsnap_kind *kind)
{
	return (looks_of(kind) & ~(uint32_t)PARTIAL) < LOOKS;
}

static void set_looks(struct heapsnap_kind *kind, uint32_t looks)
{
	uint32_t generation = generation_of(__atomic_load_n(&kind->site, __ATOMIC_RELAXED));

	// When two threads look at the same time, the look of one is lost.
	__atomic_store_n(&kind->looks, looks | generation << LOOK_BITS, __ATOMIC_RELAXED);
}

static void add_look(struct heapsnap_kind *kind, bool is_partial)
{
	set_looks(kind, ((looks_of(kind) & ~(uint32_t)PARTIAL) + 1) | (is_partial ? PARTIAL : 0));
}

// Its function will never be a wrapper: one whole backtrace is enough.
static void settle(struct heapsnap_kind *kind)
{
	if (!(looks_of(kind) & PARTIAL))
		set_looks(kind, LOOKS);
}

// --- what has been seen ----------------------------------------------------------------

static uint32_t seen_slot(uint64_t site, uint64_t size)
{
	return (uint16_t)(site + size);
}

static uint64_t *seen_site_word(uint64_t site, uint64_t *bit)
{
	uint64_t hash = heapsnap_code_hash(site) >> 40 & (SEEN_SITES - 1);

	*bit = UINT64_C(1) << hash % 64;
	return &tables->seen_sites[hash / 64];
}

static void note_seen_site(uint64_t site, bool has_kind)
{
	uint64_t bit, *word = seen_site_word(site, &bit);

	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_or_fetch(word, bit, __ATOMIC_RELAXED);
	if (has_kind && heapsnap_wrappers_passes(&tables->wrappers, site))
		__atomic_store_n(&passing_were_seen, true, __ATOMIC_RELAXED);
}

static bool may_be_seen(uint64_t site)
{
	uint64_t bit, *word = seen_site_word(site, &bit);

	return __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

// Puts a site and size where the fast path looks.
static void cache_seen(uint64_t site, uint64_t size)
{
	uint32_t slot = seen_slot(site, size);
	uint64_t other;

	if (!HEAPSNAP_TAKES_SNAPSHOTS || size >= HEAPSNAP_SEEN_SLOTS)
		return;
	other = __atomic_exchange_n(&heapsnap_seen[slot], site, __ATOMIC_RELAXED);
	if (other != 0 && other != site) {
		uint64_t word = other | (uint64_t)(uint16_t)(slot - other) << HEAPSNAP_SITE_BITS;

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
	return &tables->closed[kind - tables->kinds];
}

// The mark of a kind that has been closed since its code was mapped.
static uint8_t mark_of_age(const struct heapsnap_kind *kind)
{
	uint64_t site = __atomic_load_n(&kind->site, __ATOMIC_RELAXED);

	return (uint8_t)(1 + heapsnap_code_age(site) % (QUEUED - 1));
}

// True if nothing more is to be learned from it, or it waits for its turn.
static bool is_closed(const struct heapsnap_kind *kind)
{
	uint8_t mark = __atomic_load_n(closed_mark(kind), __ATOMIC_RELAXED);

	return mark & QUEUED || mark == mark_of_age(kind);
}

/*
 * True if the blocks of a site count as its own: it is in no wrapper, or in one that was not known when
 * it was closed and has not been swept since. The fast path may know it.
 */
static bool is_site_closed(uint64_t site, uint64_t size)
{
	const struct heapsnap_kind *kind = look_up_kind(site, size);

	return is_taken(kind) && (__atomic_load_n(closed_mark(kind), __ATOMIC_RELAXED) &
				  (uint8_t)~QUEUED) == mark_of_age(kind);
}

// All has been learned from a site and size. @param kind  NULL: it has found no room
static void close_kind(struct heapsnap_kind *kind, uint64_t site, uint64_t size)
{
	uint8_t mark;

	if (HEAPSNAP_TAKES_SNAPSHOTS)
		note_seen_site(site, kind != NULL);
	cache_seen(site, size);
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

	__atomic_and_fetch(closed_mark(kind), QUEUED, __ATOMIC_RELAXED);
	if (size >= HEAPSNAP_SEEN_SLOTS)
		return;
	clear_if(&heapsnap_seen[seen_slot(site, size)], site);
	clear_if(heapsnap_displaced_slot(site | size << HEAPSNAP_SITE_BITS),
		 site | size << HEAPSNAP_SITE_BITS);
}

// --- waiting for credit ------------------------------------------------------------------

// Counts as seen until there is credit again. Each kind waits once, so that the queue has room.
static void postpone(const struct heapsnap_kind *kind, uint64_t site, uint64_t size)
{
	uint32_t at;

	if (!HEAPSNAP_TAKES_SNAPSHOTS)
		return;
	note_seen_site(site, true);
	cache_seen(site, size);
	if (__atomic_fetch_or(closed_mark(kind), QUEUED, __ATOMIC_RELAXED) & QUEUED)
		return;
	__atomic_store_n(closed_mark(kind), QUEUED | mark_of_age(kind), __ATOMIC_RELAXED);
	at = __atomic_fetch_add(&queue_end, 1, __ATOMIC_RELAXED) % QUEUE;
	__atomic_store_n(&tables->queue[at], (uint32_t)(kind - tables->kinds) + 1,
			 __ATOMIC_RELEASE);
}

// @return false if none waits
static bool resume_first(void)
{
	uint32_t at = __atomic_load_n(&queue_first, __ATOMIC_RELAXED);
	uint32_t *place = &tables->queue[at % QUEUE];
	uint32_t number = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	if (number == 0 || !__atomic_compare_exchange_n(&queue_first, &at, at + 1, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(place, 0, __ATOMIC_RELAXED);
	__atomic_and_fetch(&tables->closed[number - 1], (uint8_t)~QUEUED, __ATOMIC_RELEASE);
	reopen(&tables->kinds[number - 1]);
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

static bool needs_sweep(uint64_t site)
{
	return site != 0 && (heapsnap_wrappers_has(&tables->wrappers, site) ||
			     heapsnap_wrappers_passes(&tables->wrappers, site));
}

// Takes the next kind of a round. @return false if it has ended
static bool take_swept_kind(uint32_t *number)
{
	uint32_t left = __atomic_load_n(&kinds_left, __ATOMIC_RELAXED), at, next;

	do {
		if (left == 0)
			return false;
	} while (!__atomic_compare_exchange_n(&kinds_left, &left, left - 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	at = __atomic_load_n(&kinds_at, __ATOMIC_RELAXED);
	do
		next = at + 1 < __atomic_load_n(&made_count, __ATOMIC_RELAXED) ? at + 1 : 0;
	while (!__atomic_compare_exchange_n(&kinds_at, &at, next, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	*number = __atomic_load_n(&tables->made[at], __ATOMIC_RELAXED);
	return true;
}

static void sweep_kinds(uint32_t most)
{
	uint32_t number;

	for (uint32_t i = 0; i < most && take_swept_kind(&number); i++) {
		if (needs_sweep(__atomic_load_n(&tables->kinds[number].site, __ATOMIC_RELAXED)))
			reopen(&tables->kinds[number]);
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
		if (needs_sweep(__atomic_load_n(&slots[i], __ATOMIC_RELAXED) & HEAPSNAP_SITE_MASK))
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
	if (__atomic_load_n(&kinds_left, __ATOMIC_RELAXED) != 0)
		sweep_kinds(slots / SWEEP_KIND);
	else
		sweep_slots(slots);
}

static bool is_swept(void)
{
	return __atomic_load_n(&kinds_left, __ATOMIC_RELAXED) == 0 &&
	       __atomic_load_n(&sweep_left, __ATOMIC_RELAXED) == 0;
}

void heapsnap_backtraces_earn(uint64_t bytes)
{
	heapsnap_effort_earn(bytes);
	if (!tables || !HEAPSNAP_TAKES_SNAPSHOTS)
		return;
	resume();
	if (is_swept())
		return;
	sweep(SWEEP_STRETCH);
	heapsnap_effort_charge(HEAPSNAP_EFFORT_LOOKS, SWEEP_STRETCH / SWEEP_STEP);
}

// The function that a site is in has become a wrapper: if need be, what has been seen is swept.
static void look_again(uint64_t of)
{
	const uint64_t *places = heapsnap_wrappers_places(&tables->wrappers, of);
	bool were_seen = __atomic_exchange_n(&passing_were_seen, false, __ATOMIC_RELAXED);

	__atomic_add_fetch(&wrapper_changes, 1, __ATOMIC_RELAXED);
	for (int i = 0; places && i < HEAPSNAP_WRAPPER_PLACES && !were_seen; i++) {
		uint64_t site = __atomic_load_n(&places[i], __ATOMIC_RELAXED);

		were_seen = site != 0 && may_be_seen(site);
	}
	if (!were_seen || !HEAPSNAP_TAKES_SNAPSHOTS)
		return;
	__atomic_store_n(&sweep_left, SWEPT_SLOTS, __ATOMIC_RELAXED);
	__atomic_store_n(&kinds_left, __atomic_load_n(&made_count, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
}

/*
 * True if a site is a new one. Another may have taken its place since; then it is new again, and
 * costs credit, which is all that depends on it.
 */
static bool is_new_site(uint64_t site)
{
	uint64_t hash = heapsnap_code_hash(site);
	uint32_t tag = (uint32_t)hash | 1;
	uint32_t *known = &tables->known_sites[hash >> 50];

	_Static_assert(KNOWN_SITES == 1 << (64 - 50), "bits of the hash");
	if (__atomic_load_n(known, __ATOMIC_RELAXED) == tag)
		return false;
	__atomic_store_n(known, tag, __ATOMIC_RELAXED);
	return true;
}

// --- looking through wrappers ----------------------------------------------------------

/*
 * Costs no steps: which hops others have displaced differs from run to run.
 *
 * @return false if there is no hop from a site
 */
static bool learn_hop(uint64_t site)
{
	int32_t left = heapsnap_effort_left;
	uint64_t way = heapsnap_hop_at(site);

	heapsnap_effort_left = left;

	if (way == 0 || site > HEAPSNAP_SITE_MASK)
		return false;
	__atomic_store_n(heapsnap_hop_of(site), site | way << HEAPSNAP_SITE_BITS, __ATOMIC_RELAXED);
	return true;
}

static void forget_hops(void)
{
	for (int i = 0; i < HEAPSNAP_HOPS; i++)
		__atomic_store_n(&heapsnap_hops[i], 0, __ATOMIC_RELAXED);
}

// Transparent functions are looked through from the first block on; other wrappers once they are known.
static bool is_in_wrapper(uint64_t address)
{
	return heapsnap_wrappers_has(&tables->wrappers, address) ||
	       heapsnap_wrappers_add_transparent(&tables->wrappers, address);
}

// The same where nothing has been paid for yet: a function is looked up if there is credit.
static bool may_look_through(uint64_t address)
{
	int32_t before = heapsnap_effort_left;
	bool is_known = heapsnap_wrappers_has(&tables->wrappers, address) ||
			heapsnap_wrappers_knows(&tables->wrappers, address);
	bool result;

	if (!is_known && !heapsnap_effort_may(HEAPSNAP_EFFORT_SITES))
		return false;
	result = is_in_wrapper(address);
	if (!is_known)
		heapsnap_effort_charge(HEAPSNAP_EFFORT_SITES,
				       (uint32_t)(before - heapsnap_effort_left));
	return result;
}

// True if it is in no wrapper; a wrapper is looked through from then on.
static bool is_no_wrapper(uint64_t address)
{
	if (!is_in_wrapper(address))
		return true;
	learn_hop(address);
	return false;
}

// The site that a block has: where the wrapper was called, if it is made in one.
static uint64_t look_through(uint64_t size, uint64_t site, struct heapsnap_frame frame)
{
	struct heapsnap_frame at = frame;
	uint64_t address = site, left = heapsnap_stack_left(frame.sp);
	int32_t before;

	if (is_site_closed(site, size) || !may_look_through(site))
		return site;
	for (int i = 0; i < HEAPSNAP_NESTED; i++) {
		heapsnap_spend(1);
		if (!heapsnap_hop_once(&address, &at, &left)) {
			// Where the stack's pages end must not decide, as that differs from run to run.
			if (!learn_hop(address))
				break;
			left = heapsnap_stack_probe(at.sp);
			if (!heapsnap_hop_once(&address, &at, &left))
				break;
		}
		if (is_site_closed(address, size) || !may_look_through(address))
			return address;
	}
	// There may be a system call for each page of another stack.
	if (!heapsnap_effort_may(HEAPSNAP_EFFORT_LOOKS))
		return site;
	before = heapsnap_effort_left;
	address = heapsnap_unwind_to(site, frame, is_no_wrapper, FEW_STEPS);
	heapsnap_effort_charge(HEAPSNAP_EFFORT_LOOKS, (uint32_t)(before - heapsnap_effort_left));
	return address ? address : site;
}

// --- code that goes --------------------------------------------------------------------

static int note_unloaded(struct dl_phdr_info *info, size_t size, void *count)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(uint64_t *)count = info->dlpi_subs;
	return 1; // it is the same for all modules
}

// How many modules have been unloaded so far. 0 where libc does not say.
static uint64_t count_unloaded(void)
{
	uint64_t count = 0;

	dl_iterate_phdr(note_unloaded, &count);
	return count;
}

struct heapsnap_closing heapsnap_backtraces_close(void *handle)
{
	struct heapsnap_closing closing = { 0 };
	struct heapsnap_code code;
	struct link_map *map;

	if (!tables || !handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return closing;
	if (heapsnap_code_find((uint64_t)map->l_ld, &code))
		closing = (struct heapsnap_closing){ .inside = (uint64_t)map->l_ld,
						     .start = code.start,
						     .end = code.end };
	closing.unloaded = count_unloaded();
	return closing;
}

static void note_unmapped(const struct heapsnap_closing *closing)
{
	uint32_t *count = &heapsnap_process.unmapped_count;
	uint32_t steps = __atomic_load_n(&heapsnap_process.step_count, __ATOMIC_RELAXED);
	uint32_t at = 0;

	// The same place again: there is nothing else to say of it.
	while (at < *count && (tables->unmapped[at].start != closing->start ||
			       tables->unmapped[at].end != closing->end))
		at++;
	if (at == UNMAPPED)
		return;
	tables->unmapped[at] = (struct heapsnap_unmapped){ closing->start, closing->end, steps, 0 };
	if (at == *count)
		__atomic_store_n(count, at + 1, __ATOMIC_RELEASE);
}

static uint64_t area_of(uint64_t site)
{
	return UINT64_C(1) << (site >> AREA_SHIFT) % 64;
}

// Notes that something is known of code, which then is to be forgotten when that is unmapped.
static void note_area(uint64_t site)
{
	if (!(__atomic_load_n(&areas, __ATOMIC_RELAXED) & area_of(site)))
		__atomic_or_fetch(&areas, area_of(site), __ATOMIC_RELAXED);
}

static bool is_any_known(uint64_t start, uint64_t end)
{
	uint64_t known = 0;

	for (uint64_t i = 0; i < 64 && start + (i << AREA_SHIFT) < end + (1 << AREA_SHIFT); i++)
		known |= area_of(start + (i << AREA_SHIFT));
	return __atomic_load_n(&areas, __ATOMIC_RELAXED) & known;
}

// Goes through all that is known: some 20 us, as long as dlclose() itself takes at least.
static void forget(uint64_t start, uint64_t end)
{
	heapsnap_unwind_forget(start, end);
	forget_hops();
	if (!is_any_known(start, end))
		return;
	heapsnap_wrappers_forget(&tables->wrappers, start, end);
	for (uint32_t i = 0; HEAPSNAP_TAKES_SNAPSHOTS && i < SWEPT_SLOTS; i++) {
		uint32_t in_row;
		uint64_t *slot = swept_slots(i, &in_row);
		uint64_t site = __atomic_load_n(slot, __ATOMIC_RELAXED) & HEAPSNAP_SITE_MASK;

		if (site >= start && site < end && site != 0)
			__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
	}
}

void heapsnap_backtraces_closed(const struct heapsnap_closing *closing)
{
	struct heapsnap_code code;
	bool goes_on = closing->inside != 0 && heapsnap_code_find(closing->inside, &code) &&
		       code.start == closing->start;
	uint64_t gone;

	if (!tables)
		return;
	gone = count_unloaded() - closing->unloaded;
	if (closing->inside != 0 && !goes_on)
		note_unmapped(closing);
	if (closing->inside != 0 && !goes_on && gone <= 1)
		forget(closing->start, closing->end);
	else if (gone > 0 || closing->inside == 0)
		forget(0, UINT64_MAX - (1 << AREA_SHIFT)); // with others that only it needed
}

// --- observing -------------------------------------------------------------------------

// The calls that led here, as many of them as have been needed so far.
struct trail {
	uint64_t addresses[MAX_STEPS];
	unsigned count;
	unsigned wanted; // there are more if the count is this
};

// Goes on to the FEW_STEPS that matter, if there was no reason to before.
static void extend(struct trail *trail)
{
	if (trail->count < trail->wanted || trail->wanted >= FEW_STEPS)
		return;
	trail->wanted = FEW_STEPS;
	trail->count = heapsnap_unwind(trail->addresses, FEW_STEPS);
}

// The first site from @p from on that is in no wrapper; count if there is none.
static unsigned skip_wrappers(struct trail *trail, unsigned from)
{
	for (;; from++) {
		if (from + 1 >= trail->count)
			extend(trail);
		if (from >= trail->count || !is_in_wrapper(trail->addresses[from]))
			return from;
	}
}

/*
 * Looks at who has called the function at @p at. If that proves it a wrapper, so may be its caller,
 * and so on. A function that only passes on what few callers ask for is one if its caller is:
 * allocators that are called through a pointer, for one.
 *
 * @return where the site is that matters
 */
static unsigned look_at_callers(struct trail *trail, unsigned at, uint64_t size)
{
	const uint64_t *addresses = trail->addresses;
	unsigned next = at;

	while (next + 1 < trail->count && next < FEW_STEPS) {
		enum heapsnap_role role = heapsnap_wrappers_note(&tables->wrappers, addresses[next],
								 addresses[next + 1], size);
		bool is_wrapper =
			role == HEAPSNAP_ROLE_WRAPPER || role == HEAPSNAP_ROLE_WRAPPER_NEW;

		note_area(addresses[next]);
		if (role == HEAPSNAP_ROLE_WRAPPER_NO_MORE)
			forget_hops();
		if (!is_wrapper && role != HEAPSNAP_ROLE_PASSES &&
		    role != HEAPSNAP_ROLE_TRANSPARENT)
			break;
		if (role == HEAPSNAP_ROLE_WRAPPER_NEW)
			look_again(addresses[next]); // at the function's other sites
		if (is_wrapper) {
			for (; at < next; at++) {
				heapsnap_wrappers_add(&tables->wrappers, addresses[at]);
				look_again(addresses[at]);
			}
			at = skip_wrappers(trail, next + 1);
			next = at;
		} else {
			next++;
			if (next + 1 >= trail->count)
				extend(trail);
		}
	}
	return at;
}

// A recursion shows in long backtraces only.
static void refuse_recursive(const struct trail *trail)
{
	unsigned count = trail->count < RECURSION_STEPS ? trail->count : RECURSION_STEPS;

	if (trail->wanted == MAX_STEPS &&
	    heapsnap_wrappers_refuse_recursive(&tables->wrappers, trail->addresses, count))
		forget_hops();
}

/*
 * Takes the backtrace of a sample. Nothing is learned from it: samples lie at random, and the same
 * program must learn the same in each run.
 */
static uint32_t take_sample(void)
{
	uint64_t addresses[MAX_STEPS];
	int32_t before = heapsnap_effort_begin();
	uint32_t backtrace;

	heapsnap_unwinds_aside = true;
	backtrace = intern(addresses, heapsnap_unwind(addresses, MAX_STEPS));
	heapsnap_unwinds_aside = false;
	heapsnap_effort_end(before);
	if (backtrace == 0)
		heapsnap_trace_missed();
	return backtrace;
}

// Takes a backtrace for the first of a kind, or to look at its callers.
static void examine(struct heapsnap_making *making, uint64_t size, struct heapsnap_kind *kind)
{
	uint32_t looks = looks_of(kind);
	bool is_first = looks == 0 || looks & PARTIAL, is_partial;
	struct trail trail;
	unsigned at;
	uint32_t backtrace;

	trail.wanted = is_first ? MAX_STEPS : CALLER_STEPS;
	trail.count = heapsnap_unwind(trail.addresses, trail.wanted);
	is_partial = heapsnap_effort_left <= 0;
	backtrace = trail.wanted == MAX_STEPS ? intern(trail.addresses, trail.count) : 0;
	if (is_first && backtrace != 0)
		__atomic_store_n(&kind->backtrace, backtrace, __ATOMIC_RELAXED);
	refuse_recursive(&trail);
	add_look(kind, is_first && is_partial);
	at = skip_wrappers(&trail, 0);
	if (at < trail.count && heapsnap_wrappers_refuses(&tables->wrappers, trail.addresses[at]))
		settle(kind);
	at = look_at_callers(&trail, at, size);
	if (at >= trail.count || trail.addresses[at] == making->site)
		return;
	// Found out just now: the block belongs to the caller already.
	making->site = trail.addresses[at];
	kind = find_kind(making->site, size);
	if (kind && __atomic_load_n(&kind->backtrace, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&kind->backtrace, backtrace, __ATOMIC_RELAXED);
}

// Takes a backtrace if there is credit for it. @return false if there is none
static bool try_examine(struct heapsnap_making *making, uint64_t size, struct heapsnap_kind *kind)
{
	enum heapsnap_effort_pool pool =
		is_new_site(making->site) ? HEAPSNAP_EFFORT_SITES : HEAPSNAP_EFFORT_LOOKS;
	int32_t before = heapsnap_effort_left;

	if (!heapsnap_effort_may(pool))
		return false;
	examine(making, size, kind);
	sweep(SWEEP_EVENT);
	heapsnap_spend(EXAMINE_STEPS + SWEEP_EVENT / SWEEP_STEP);
	heapsnap_effort_charge(pool, (uint32_t)(before - heapsnap_effort_left));
	return true;
}

static struct heapsnap_making observe(uint64_t size, uint64_t site, struct heapsnap_frame frame,
				      bool is_sampled)
{
	struct heapsnap_making making = { .site = look_through(size, site, frame) };
	uint64_t looked_at = making.site;
	struct heapsnap_kind *kind;

	if (is_sampled)
		making.backtrace = take_sample();
	if (size < HEAPSNAP_SEEN_SLOTS && heapsnap_is_known(making.site, size))
		return making;
	note_area(making.site);
	kind = find_kind(making.site, size);
	if (kind && is_closed(kind))
		cache_seen(making.site, size);
	else if (kind && needs_look(kind) && !try_examine(&making, size, kind))
		postpone(kind, making.site, size);
	else if (making.site == looked_at && (!kind || !needs_look(kind)))
		close_kind(kind, making.site, size);
	return making;
}

struct heapsnap_making heapsnap_observe(uint64_t size, uint64_t site, struct heapsnap_frame frame,
					bool is_sampled)
{
	struct heapsnap_making making = { .site = site };
	int32_t before;

	if (!tables) {
		if (is_ready)
			cache_seen(site, size);
		return making;
	}
	before = heapsnap_effort_begin();
	making = observe(size, site, frame, is_sampled);
	heapsnap_effort_end(before);
	return making;
}

// --- samples -------------------------------------------------------------------------

static struct heapsnap_sample *sample_slot(const void *block, int probe)
{
	uint64_t hash = (heapsnap_scatter((uint64_t)block) >> 32) + (uint64_t)probe;

	if (probe < PROBES)
		return &tables->samples[hash % FIRST_SAMPLES];
	return &tables->samples[FIRST_SAMPLES + hash % (SAMPLES - FIRST_SAMPLES)];
}

uint32_t *heapsnap_sample_add(const void *block, struct heapsnap_sampled sampled)
{
	for (int i = 0; tables && sampled.backtrace && i < 2 * PROBES; i++) {
		struct heapsnap_sample *sample = sample_slot(block, i);
		uint64_t free = 0;

		if (__atomic_compare_exchange_n(&sample->block, &free, (uint64_t)block, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			sample->time_ns = sampled.time_ns;
			sample->backtrace = sampled.backtrace;
			sample->number = sampled.number;
			sample->thread = sampled.thread;
			if (i >= PROBES)
				__atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
			return &sample->number;
		}
	}
	return NULL;
}

bool heapsnap_sample_begin(const void *block, uint64_t size, uint32_t backtrace, bool moved)
{
	struct heapsnap_sampled sampled = { .backtrace = backtrace };
	uint32_t *number;

	if (backtrace == 0)
		return false;
	sampled.time_ns = heapsnap_trace_now_ns();
	sampled.thread = heapsnap_sampling_thread();
	number = heapsnap_sample_add(block, sampled);
	if (!number) {
		heapsnap_trace_missed();
		return false;
	}
	*number = heapsnap_trace_allocated(size, &sampled, moved);
	return true;
}

struct heapsnap_sampled heapsnap_sample_remove(const void *block)
{
	int probes = __atomic_load_n(&others, __ATOMIC_RELAXED) ? 2 * PROBES : PROBES;

	for (int i = 0; tables && i < probes; i++) {
		struct heapsnap_sample *sample = sample_slot(block, i);

		if (__atomic_load_n(&sample->block, __ATOMIC_RELAXED) == (uint64_t)block) {
			struct heapsnap_sampled sampled = { .backtrace = sample->backtrace,
							    .number = sample->number,
							    .time_ns = sample->time_ns,
							    .thread = sample->thread };

			sample->backtrace = 0;
			__atomic_store_n(&sample->block, 0, __ATOMIC_RELEASE);
			if (i >= PROBES)
				__atomic_sub_fetch(&others, 1, __ATOMIC_RELAXED);
			return sampled;
		}
	}
	return (struct heapsnap_sampled){ 0 };
}
