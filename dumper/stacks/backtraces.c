// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/backtraces.h"

#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/report.h"
#include "dumper/base/settings.h"
#include "dumper/stacks/closing.h"
#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/stacks/steps.h"
#include "dumper/stacks/workspace.h"
#include "dumper/trace/trace.h"
#include "dumper/trace/trace_file.h"

enum {
	KNOWN_SITES = 1 << 14,
	MAX_STEPS = 128,      // of a backtrace: the innermost
	FEW_STEPS = 24,       // enough to see who has called a wrapper
	RECURSION_STEPS = 32, // of these, those in which recursion is looked for
	CALLER_STEPS = 3,     // enough to see who has called a function
	EXAMINE_STEPS = 8,    // what a backtrace costs besides its frames
};

_Static_assert((int)HEAPSNAP_TRACE_WRAPPERS == (int)HEAPSNAP_WRAPPER_SITES,
	       "a trace tells of all sites in wrappers");

// One mapping: what of it is not used is never touched.
struct tables {
	struct heapsnap_steps steps;
	struct heapsnap_kinds kinds;
	struct heapsnap_samples samples;
	struct heapsnap_seen_table seen;
	struct heapsnap_wrappers wrappers;
	struct heapsnap_rule_slot rules[2 * HEAPSNAP_RULE_SLOTS];
	uint32_t known_sites[KNOWN_SITES]; // by hash: another part of the hash
};

static struct tables *tables;
static bool is_ready;

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
	heapsnap_kinds_init(&room->kinds, &room->wrappers);
	heapsnap_samples_init(&room->samples);
	heapsnap_seen_init(&room->seen, &room->wrappers);
	heapsnap_closing_init(&room->wrappers);
	process->wrappers = (uint64_t)room->wrappers.sites;
	process->wrapper_slots = HEAPSNAP_WRAPPER_SITES;
	process->wrapper_names = (uint64_t)heapsnap_settings.wrappers;
	heapsnap_steps_init(&room->steps);
	tables = room;
}

void heapsnap_backtraces_earn(uint64_t bytes)
{
	heapsnap_effort_earn(bytes);
	if (tables)
		heapsnap_seen_earned();
}

// --- looking through wrappers ----------------------------------------------------------

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
	bool is_known, result;

	if (heapsnap_wrappers_has(&tables->wrappers, address))
		return true;
	is_known = heapsnap_wrappers_knows(&tables->wrappers, address);
	if (!is_known &&
	    (!heapsnap_effort_may(HEAPSNAP_EFFORT_SITES) || !heapsnap_stack_has_room()))
		return false;
	result = heapsnap_wrappers_add_transparent(&tables->wrappers, address);
	if (!is_known)
		heapsnap_effort_charge(HEAPSNAP_EFFORT_SITES,
				       (uint32_t)(before - heapsnap_effort_left));
	return result;
}

// Notes the hop from a site in a wrapper. @return false if there is none
static bool learn_hop(uint64_t site)
{
	bool is_displaced = heapsnap_seen_may_be_displaced(site);

	if (!heapsnap_hops_learn(site, is_displaced))
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	// Another thread may have displaced it, and forgotten the hop that had not been written.
	if (!is_displaced && heapsnap_seen_may_be_displaced(site))
		heapsnap_hops_learn(site, true);
	return true;
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
	uint64_t address = site, end = heapsnap_stack_end(frame.sp);
	int32_t before;

	if (heapsnap_seen_is_site_closed(site, size) || !may_look_through(site))
		return site;
	for (int i = 0; i < HEAPSNAP_NESTED; i++) {
		heapsnap_spend(1);
		if (!heapsnap_hop_once(end, &address, &at)) {
			// Where the stack's pages end must not decide, as that differs from run to run.
			if (!learn_hop(address))
				break;
			end = at.sp + heapsnap_stack_probe(at.sp);
			if (!heapsnap_hop_once(end, &address, &at))
				break;
		}
		if (heapsnap_seen_is_site_closed(address, size) || !may_look_through(address))
			return address;
	}
	// There may be a system call for each page of another stack.
	if (!heapsnap_effort_may(HEAPSNAP_EFFORT_LOOKS) || !heapsnap_stack_has_room())
		return site;
	before = heapsnap_effort_left;
	address = heapsnap_unwind_to(site, frame, is_no_wrapper, FEW_STEPS);
	heapsnap_effort_charge(HEAPSNAP_EFFORT_LOOKS, (uint32_t)(before - heapsnap_effort_left));
	return address ? address : site;
}

uint64_t heapsnap_hop(uint64_t size, uint64_t site, struct heapsnap_frame frame)
{
	uint64_t end = heapsnap_stack_end(frame.sp), way, caller;

	if (heapsnap_seen_at(site, size) == site)
		return site;
	caller = heapsnap_hop_simply(size, site, frame.sp);
	if (caller != 0)
		return caller;
	for (int i = 0; i < HEAPSNAP_NESTED; i++) {
		way = heapsnap_hop_find(site);
		if ((way == 0 || way & HEAPSNAP_HOP_DISPLACED) && heapsnap_is_displaced(site, size))
			return site;
		if (!heapsnap_hop_take_if(way, end, &site, &frame))
			return 0;
		if (heapsnap_seen_at(site, size) == site)
			return site;
	}
	return 0;
}

// --- observing -------------------------------------------------------------------------

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

// The calls that led here, as many of them as have been needed so far.
struct trail {
	uint64_t addresses[MAX_STEPS];
	unsigned count;
	unsigned wanted; // there are more if the count is this
};

_Static_assert(sizeof(struct trail) <= HEAPSNAP_WORKSPACE_BYTES, "room for it");

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

		heapsnap_closing_note(addresses[next]);
		if (role == HEAPSNAP_ROLE_WRAPPER_NO_MORE)
			heapsnap_hops_forget();
		if (!is_wrapper && role != HEAPSNAP_ROLE_PASSES &&
		    role != HEAPSNAP_ROLE_TRANSPARENT)
			break;
		if (role == HEAPSNAP_ROLE_WRAPPER_NEW)
			heapsnap_seen_look_again(addresses[next]); // at the function's other sites
		if (is_wrapper) {
			for (; at < next; at++) {
				heapsnap_wrappers_add(&tables->wrappers, addresses[at]);
				heapsnap_seen_look_again(addresses[at]);
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
		heapsnap_hops_forget();
}

/*
 * Takes the backtrace of a sample. Nothing is learned from it: samples lie at random, and the same
 * program must learn the same in each run.
 */
static uint32_t take_sample_in(struct trail *trail)
{
	int32_t before = heapsnap_effort_begin();
	uint32_t backtrace;

	heapsnap_unwinds_aside = true;
	backtrace = heapsnap_steps_intern(trail->addresses,
					  heapsnap_unwind(trail->addresses, MAX_STEPS));
	heapsnap_unwinds_aside = false;
	heapsnap_effort_end(before);
	if (backtrace == 0)
		heapsnap_trace_missed();
	return backtrace;
}

static __attribute__((noinline)) uint32_t take_sample_on_stack(void)
{
	struct trail trail;

	return take_sample_in(&trail);
}

static uint32_t take_sample(void)
{
	struct trail *trail;
	uint32_t backtrace;

	if (!heapsnap_stack_has_room()) {
		heapsnap_trace_missed();
		return 0;
	}
	trail = heapsnap_workspace_take();
	if (!trail)
		return take_sample_on_stack();
	backtrace = take_sample_in(trail);
	heapsnap_workspace_give(trail);
	return backtrace;
}

// Takes a backtrace for the first of a kind, or to look at its callers.
static void examine_in(struct trail *trail, struct heapsnap_making *making, uint64_t size,
		       struct heapsnap_kind *kind)
{
	bool is_first = heapsnap_kind_needs_backtrace(kind), is_partial;
	unsigned at;
	uint32_t backtrace;

	trail->wanted = is_first ? MAX_STEPS : CALLER_STEPS;
	trail->count = heapsnap_unwind(trail->addresses, trail->wanted);
	is_partial = heapsnap_effort_left <= 0;
	backtrace = trail->wanted == MAX_STEPS
			    ? heapsnap_steps_intern(trail->addresses, trail->count)
			    : 0;
	if (is_first && backtrace != 0)
		__atomic_store_n(&kind->backtrace, backtrace, __ATOMIC_RELAXED);
	refuse_recursive(trail);
	heapsnap_kind_add_look(kind, is_first && is_partial);
	at = skip_wrappers(trail, 0);
	if (at < trail->count && heapsnap_wrappers_refuses(&tables->wrappers, trail->addresses[at]))
		heapsnap_kind_settle(kind);
	at = look_at_callers(trail, at, size);
	if (at >= trail->count || trail->addresses[at] == making->site)
		return;
	// Found out just now: the block belongs to the caller already.
	making->site = trail->addresses[at];
	kind = heapsnap_kinds_find(making->site, size);
	if (kind && __atomic_load_n(&kind->backtrace, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&kind->backtrace, backtrace, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void examine_on_stack(struct heapsnap_making *making,
						       uint64_t size, struct heapsnap_kind *kind)
{
	struct trail trail;

	examine_in(&trail, making, size, kind);
}

static void examine(struct heapsnap_making *making, uint64_t size, struct heapsnap_kind *kind)
{
	struct trail *trail = heapsnap_workspace_take();

	if (!trail) {
		examine_on_stack(making, size, kind);
		return;
	}
	examine_in(trail, making, size, kind);
	heapsnap_workspace_give(trail);
}

// Takes a backtrace if there is credit for it. @return false if there is none
static bool try_examine(struct heapsnap_making *making, uint64_t size, struct heapsnap_kind *kind)
{
	enum heapsnap_effort_pool pool =
		is_new_site(making->site) ? HEAPSNAP_EFFORT_SITES : HEAPSNAP_EFFORT_LOOKS;
	int32_t before = heapsnap_effort_left;

	if (!heapsnap_effort_may(pool) || !heapsnap_stack_has_room())
		return false;
	examine(making, size, kind);
	heapsnap_seen_examined();
	heapsnap_spend(EXAMINE_STEPS);
	heapsnap_effort_charge(pool, (uint32_t)(before - heapsnap_effort_left));
	return true;
}

static struct heapsnap_making observe(uint64_t size, uint64_t site, struct heapsnap_frame frame,
				      bool is_sampled)
{
	struct heapsnap_making making = { .site = look_through(size, site, frame) };
	uint64_t looked_at = making.site;
	struct heapsnap_kind *kind;
	bool needs_look;

	if (is_sampled)
		making.backtrace = take_sample();
	if (size < HEAPSNAP_SEEN_SLOTS && heapsnap_is_known(making.site, size))
		return making;
	heapsnap_closing_note(making.site);
	kind = heapsnap_kinds_find(making.site, size);
	if (kind && heapsnap_seen_is_closed(kind)) {
		heapsnap_seen_cache(making.site, size);
		return making;
	}
	needs_look = kind && heapsnap_kind_needs_look(kind);
	if (needs_look && !try_examine(&making, size, kind))
		heapsnap_seen_postpone(kind, making.site, size);
	else if (making.site == looked_at && (!needs_look || !heapsnap_kind_needs_look(kind)))
		heapsnap_seen_close(kind, making.site, size);
	return making;
}

struct heapsnap_making heapsnap_observe(uint64_t size, uint64_t site, struct heapsnap_frame frame,
					bool is_sampled)
{
	struct heapsnap_making making = { .site = site };
	int32_t before;

	if (!tables) {
		if (is_ready)
			heapsnap_seen_cache(site, size);
		return making;
	}
	before = heapsnap_effort_begin();
	making = observe(size, site, frame, is_sampled);
	heapsnap_effort_end(before);
	return making;
}
