// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/backtraces.h"

#include "dumper/frame_rules.h"
#include "dumper/process.h"
#include "dumper/report.h"
#include "dumper/sampling.h"
#include "dumper/settings.h"
#include "dumper/trace.h"
#include "dumper/wrappers.h"

#include <dlfcn.h>
#include <link.h>

enum {
	STEPS = 1 << 20,
	KINDS = 1 << 17,
	SAMPLES = 1 << 17,
	FIRST_SAMPLES = 1 << 12, // slots that are tried first: few samples touch few pages
	CHAINS = 1 << 17,
	UNMAPPED = 256,
	PROBES = 16,     // slots of a table that may hold an entry
	MAX_STEPS = 128, // of a backtrace: the innermost
	FEW_STEPS = 12,  // enough to see who has called a wrapper
	LOOKS = 4,       // at the callers of each kind
	LOOK_BITS = 8,   // of heapsnap_kind.looks; the generation is above
};

// One mapping: what of it is not used is never touched.
struct tables {
	struct heapsnap_step steps[STEPS];
	struct heapsnap_kind kinds[KINDS];
	struct heapsnap_sample samples[SAMPLES];
	struct heapsnap_unmapped unmapped[UNMAPPED];
	uint32_t chains[CHAINS]; // the first step of each hash; they go on with step.next
	struct heapsnap_wrappers wrappers;
	struct heapsnap_rule_slot rules[HEAPSNAP_RULE_SLOTS];
};

uint64_t heapsnap_seen[HEAPSNAP_SEEN_SLOTS];
uint64_t heapsnap_hops[HEAPSNAP_HOPS];

static struct tables *tables;
static bool is_ready;
static uint32_t others;     // samples that did not find room among the first
static uint32_t generation; // of what is known: one more when it has to be looked at anew

static uint64_t mix(uint64_t value)
{
	return value * UINT64_C(0x9e3779b97f4a7c15);
}

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
	process->kind_slots = KINDS;
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

// Whether a step is of code that has been unmapped since.
static bool is_of_unmapped(uint32_t step)
{
	uint32_t count = __atomic_load_n(&heapsnap_process.unmapped_count, __ATOMIC_ACQUIRE);
	uint64_t address = tables->steps[step].address;

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

	while (step != 0 && (tables->steps[step].address != address ||
			     tables->steps[step].caller != caller || is_of_unmapped(step)))
		step = tables->steps[step].next;
	return step;
}

// The step of an address that was called from a step; 0 if there is no room for a new one.
static uint32_t intern_step(uint64_t address, uint32_t caller)
{
	uint32_t *chain = &tables->chains[mix(address ^ mix(caller)) >> 40 & (CHAINS - 1)];
	uint32_t first = __atomic_load_n(chain, __ATOMIC_ACQUIRE);
	uint32_t step = find_step(first, address, caller);

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

// The entry of a site and size, new ones included; NULL if there is no room.
static struct heapsnap_kind *find_kind(uint64_t site, uint64_t size)
{
	// Sizes that one site asks for lie near each other, and so do their entries.
	uint64_t at = (mix(site) >> 32) + size / 16 * 3 + size % 16;

	for (int i = 0; i < PROBES; i++, at++) {
		struct heapsnap_kind *kind = &tables->kinds[at & (KINDS - 1)];
		uint64_t present = __atomic_load_n(&kind->site, __ATOMIC_ACQUIRE);

		if (present == site && __atomic_load_n(&kind->size, __ATOMIC_RELAXED) == size)
			return kind;
		if (present != 0 ||
		    !__atomic_compare_exchange_n(&kind->site, &present, site, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		// Who comes by meanwhile makes an entry of its own: two are as good as one.
		__atomic_store_n(&kind->size, size, __ATOMIC_RELAXED);
		return kind;
	}
	return NULL;
}

// How often this kind's callers have been looked at.
static uint32_t count_looks(const struct heapsnap_kind *kind)
{
	uint32_t looks = __atomic_load_n(&kind->looks, __ATOMIC_RELAXED);

	if (looks >> LOOK_BITS != __atomic_load_n(&generation, __ATOMIC_RELAXED))
		return 0;
	return looks & ((1 << LOOK_BITS) - 1);
}

static void add_look(struct heapsnap_kind *kind)
{
	uint32_t looks = (count_looks(kind) + 1) | __atomic_load_n(&generation, __ATOMIC_RELAXED)
							   << LOOK_BITS;

	// Of two threads that look at the same time, one's look is lost.
	__atomic_store_n(&kind->looks, looks, __ATOMIC_RELAXED);
}

// What the fast path asks, where blocks have headers.
static void mark_seen(uint64_t site, uint64_t size)
{
	if (HEAPSNAP_TAKES_SNAPSHOTS && size < HEAPSNAP_SEEN_SLOTS)
		__atomic_store_n(&heapsnap_seen[(uint16_t)(site + size)], site, __ATOMIC_RELAXED);
}

// Has each kind looked at anew the next time that it is allocated.
static void look_again(void)
{
	// Only so much of it fits beside the looks.
	__atomic_store_n(&generation,
			 (__atomic_load_n(&generation, __ATOMIC_RELAXED) + 1) &
				 (UINT32_MAX >> LOOK_BITS),
			 __ATOMIC_RELAXED);
	for (uint32_t i = 0; HEAPSNAP_TAKES_SNAPSHOTS && i < HEAPSNAP_SEEN_SLOTS; i++) {
		if (__atomic_load_n(&heapsnap_seen[i], __ATOMIC_RELAXED))
			__atomic_store_n(&heapsnap_seen[i], 0, __ATOMIC_RELAXED);
	}
}

// --- looking through wrappers ----------------------------------------------------------

static void learn_hop(uint64_t site)
{
	uint64_t way = heapsnap_hop_at(site);

	if (way != 0 && site <= HEAPSNAP_SITE_MASK)
		__atomic_store_n(heapsnap_hop_of(site), site | way << HEAPSNAP_SITE_BITS,
				 __ATOMIC_RELAXED);
}

static void forget_hops(void)
{
	for (int i = 0; i < HEAPSNAP_HOPS; i++)
		__atomic_store_n(&heapsnap_hops[i], 0, __ATOMIC_RELAXED);
}

// Whether it is in none; if it is in one, that is hopped over from then on.
static bool is_no_wrapper(uint64_t address)
{
	if (!heapsnap_wrappers_has(&tables->wrappers, address))
		return true;
	learn_hop(address);
	return false;
}

// The site that a block has: where the wrapper was called, if it is made in one.
static uint64_t look_through(uint64_t size, uint64_t site, struct heapsnap_frame frame)
{
	uint64_t address = size < HEAPSNAP_SEEN_SLOTS ? heapsnap_hop(size, site, frame) : 0;

	if (!address && is_no_wrapper(site))
		return site;
	if (!address)
		address = heapsnap_unwind_to(site, frame, is_no_wrapper, FEW_STEPS);
	return address ? address : site;
}

// --- code that goes --------------------------------------------------------------------

struct heapsnap_closing heapsnap_backtraces_close(void *handle)
{
	struct heapsnap_closing closing = { 0 };
	struct heapsnap_code code;
	struct link_map *map;

	if (!tables || !handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return closing;
	if (heapsnap_code_find((uint64_t)map->l_ld, &code))
		closing = (struct heapsnap_closing){ (uint64_t)map->l_ld, code.start, code.end };
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

void heapsnap_backtraces_closed(const struct heapsnap_closing *closing)
{
	struct heapsnap_code code;
	bool goes_on = closing->inside != 0 && heapsnap_code_find(closing->inside, &code) &&
		       code.start == closing->start;

	if (!tables || goes_on)
		return;
	if (closing->inside != 0)
		note_unmapped(closing);
	heapsnap_unwind_forget();
	forget_hops();
	look_again();
}

// --- observing -------------------------------------------------------------------------

// The first site from @p from on that is in no wrapper; count if there is none.
static unsigned skip_wrappers(const uint64_t *addresses, unsigned count, unsigned from)
{
	while (from < count && heapsnap_wrappers_has(&tables->wrappers, addresses[from]))
		from++;
	return from;
}

/*
 * Looks at who has called the function at @p addresses[at]. If that proves it a wrapper, so
 * may be its caller, and so on. A function that only passes on what few callers ask for is one if
 * its caller is: allocators that are called through a pointer, for one.
 *
 * @return where the site is that matters
 */
static unsigned look_at_callers(const uint64_t *addresses, unsigned count, unsigned at,
				uint64_t size)
{
	unsigned next = at;

	while (next + 1 < count) {
		enum heapsnap_role role = heapsnap_wrappers_note(&tables->wrappers, addresses[next],
								 addresses[next + 1], size);

		if (role == HEAPSNAP_ROLE_WRAPPER_NO_MORE) {
			forget_hops();
			look_again();
		}
		if (role == HEAPSNAP_ROLE_OWN || role == HEAPSNAP_ROLE_WRAPPER_NO_MORE)
			break;
		if (role == HEAPSNAP_ROLE_WRAPPER) {
			for (; at < next; at++)
				heapsnap_wrappers_add(&tables->wrappers, addresses[at]);
			look_again(); // at the functions' other sites
			at = skip_wrappers(addresses, count, next + 1);
			next = at;
		} else {
			next++;
		}
	}
	return at;
}

// Takes a backtrace: for a sample, for the first of a kind, or to look at its callers.
static void examine(struct heapsnap_making *making, uint64_t size, struct heapsnap_kind *kind,
		    bool is_sampled)
{
	uint64_t addresses[MAX_STEPS];
	bool is_first = kind && count_looks(kind) == 0;
	unsigned max = is_first || is_sampled ? MAX_STEPS : FEW_STEPS;
	unsigned count = heapsnap_unwind(addresses, max);
	unsigned at = skip_wrappers(addresses, count, 0);
	uint32_t backtrace = max == MAX_STEPS ? intern(addresses, count) : 0;

	if (is_first && backtrace != 0)
		__atomic_store_n(&kind->backtrace, backtrace, __ATOMIC_RELAXED);
	if (is_sampled)
		making->backtrace = backtrace;
	if (is_sampled && backtrace == 0)
		heapsnap_trace_missed();
	if (!kind || count_looks(kind) >= LOOKS)
		return;
	add_look(kind);
	at = look_at_callers(addresses, count, at, size);
	if (at >= count || addresses[at] == making->site)
		return;
	// Found out just now: the block belongs to the caller already.
	making->site = addresses[at];
	kind = find_kind(making->site, size);
	if (kind && __atomic_load_n(&kind->backtrace, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&kind->backtrace, backtrace, __ATOMIC_RELAXED);
}

struct heapsnap_making heapsnap_observe(uint64_t size, uint64_t site, struct heapsnap_frame frame,
					bool is_sampled)
{
	struct heapsnap_making making = { .site = site };
	struct heapsnap_kind *kind;

	if (!tables) {
		if (is_ready)
			mark_seen(site, size);
		return making;
	}
	making.site = look_through(size, site, frame);
	if (!is_sampled && size < HEAPSNAP_SEEN_SLOTS && heapsnap_is_known(making.site, size))
		return making;

	uint64_t looked_at = making.site;

	kind = find_kind(making.site, size);
	if (is_sampled || (kind && count_looks(kind) < LOOKS))
		examine(&making, size, kind, is_sampled);
	if (making.site == looked_at && (!kind || count_looks(kind) >= LOOKS))
		mark_seen(making.site, size);
	return making;
}

// --- samples -------------------------------------------------------------------------

static struct heapsnap_sample *sample_slot(const void *block, int probe)
{
	uint64_t hash = (mix((uint64_t)block) >> 32) + (uint64_t)probe;

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
