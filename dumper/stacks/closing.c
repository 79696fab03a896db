// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/closing.h"

#include "dumper/stacks/frame_rules.h"
#include "dumper/stacks/hops.h"
#include "dumper/stacks/seen.h"
#include "dumper/stacks/steps.h"
#include "dumper/stacks/unwind.h"

#include <dlfcn.h>
#include <link.h>

enum {
	AREA_SHIFT = 20, // of code, by address: 64 areas
};

static struct heapsnap_wrappers *wrappers;
static uint64_t areas; // a bit for code in which sites have been seen

void heapsnap_closing_init(struct heapsnap_wrappers *known)
{
	wrappers = known;
}

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

struct heapsnap_closing heapsnap_closing_begin(void *handle)
{
	struct heapsnap_closing closing = { 0 };
	struct heapsnap_code code;
	struct link_map *map;

	if (!wrappers || !handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return closing;
	if (heapsnap_code_find((uint64_t)map->l_ld, &code))
		closing = (struct heapsnap_closing){ .inside = (uint64_t)map->l_ld,
						     .start = code.start,
						     .end = code.end };
	closing.unloaded = count_unloaded();
	return closing;
}

static uint64_t area_of(uint64_t site)
{
	return UINT64_C(1) << (site >> AREA_SHIFT) % 64;
}

void heapsnap_closing_note(uint64_t site)
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
	heapsnap_hops_forget();
	if (!is_any_known(start, end))
		return;
	heapsnap_wrappers_forget(wrappers, start, end);
	heapsnap_seen_forget(start, end);
}

void heapsnap_closing_end(const struct heapsnap_closing *closing)
{
	struct heapsnap_code code;
	bool goes_on = closing->inside != 0 && heapsnap_code_find(closing->inside, &code) &&
		       code.start == closing->start;
	uint64_t gone;

	if (!wrappers)
		return;
	gone = count_unloaded() - closing->unloaded;
	if (closing->inside != 0 && !goes_on)
		heapsnap_steps_unmapped(closing->start, closing->end);
	if (closing->inside != 0 && !goes_on && gone <= 1)
		forget(closing->start, closing->end);
	else if (gone > 0 || closing->inside == 0)
		forget(0, UINT64_MAX - (1 << AREA_SHIFT)); // with others that only it needed
}
