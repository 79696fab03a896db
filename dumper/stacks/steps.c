// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/steps.h"

#include "dumper/base/hash.h"
#include "dumper/base/process.h"
#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/later.h"
#include "dumper/stacks/unwind.h"

enum {
	MAX_LINKS = 32, // of a chain that are followed
};

static struct heapsnap_steps *table;

void heapsnap_steps_init(struct heapsnap_steps *room)
{
	struct heapsnap_process *process = &heapsnap_process;

	process->steps = (uint64_t)room->first;
	process->unmapped = (uint64_t)room->unmapped;
	process->step_count = 1;
	table = room;
}

static struct heapsnap_step *at(uint32_t step)
{
	return heapsnap_step_at(table, step);
}

// @return NULL if there is no memory for it
static struct heapsnap_more_steps *second_part(void)
{
	struct heapsnap_more_steps *more =
		heapsnap_reserve_later((void **)&table->more, sizeof(*more));

	if (more)
		__atomic_store_n(&heapsnap_process.more_steps, (uint64_t)more->steps,
				 __ATOMIC_RELEASE);
	return more;
}

// @return 0 if there is no room left
static uint32_t new_step(void)
{
	uint32_t *count = &heapsnap_process.step_count;
	uint32_t step = __atomic_load_n(count, __ATOMIC_RELAXED);
	uint32_t end;

	do {
		end = step < HEAPSNAP_FIRST_STEPS || second_part() ? HEAPSNAP_STEPS
								   : HEAPSNAP_FIRST_STEPS;
	} while (step < end && !__atomic_compare_exchange_n(count, &step, step + 1, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return step < end ? step : 0;
}

// True if a step's code has been unmapped since.
static bool is_of_unmapped(uint32_t step)
{
	uint32_t count = __atomic_load_n(&heapsnap_process.unmapped_count, __ATOMIC_ACQUIRE);
	uint64_t address = at(step)->address;

	if (count == 0 || heapsnap_code_age(address) == 0)
		return false;
	heapsnap_spend((int32_t)count / 8);
	for (uint32_t i = 0; i < count; i++) {
		const struct heapsnap_unmapped *unmapped = &table->unmapped[i];

		if (address >= unmapped->start && address < unmapped->end && step < unmapped->step)
			return true;
	}
	return false;
}

static uint32_t find_step(uint32_t first, uint64_t address, uint32_t caller)
{
	uint32_t step = first;

	for (int i = 0; step != 0 && i < MAX_LINKS; i++) {
		if (at(step)->address == address && at(step)->caller == caller &&
		    !is_of_unmapped(step))
			return step;
		step = at(step)->next;
	}
	return 0;
}

// The step of an address that was called from a step; 0 if there is no room for a new one.
static uint32_t intern_step(uint64_t address, uint32_t caller)
{
	// However long the chain: samples, too, make it longer.
	heapsnap_spend(1);

	uint32_t hash = (heapsnap_code_hash(address) ^ heapsnap_scatter(caller)) >> 40;
	bool is_few = __atomic_load_n(&heapsnap_process.step_count, __ATOMIC_RELAXED) <
		      HEAPSNAP_FIRST_STEPS;
	struct heapsnap_more_steps *more = is_few ? NULL : second_part();
	uint32_t *chain = more ? &more->chains[hash & (HEAPSNAP_CHAINS - 1)]
			       : &table->first_chains[hash & (HEAPSNAP_FIRST_CHAINS - 1)];
	uint32_t first = __atomic_load_n(chain, __ATOMIC_ACQUIRE);
	uint32_t step = find_step(first, address, caller);

	if (step == 0 && more)
		step = find_step(
			__atomic_load_n(&table->first_chains[hash & (HEAPSNAP_FIRST_CHAINS - 1)],
					__ATOMIC_ACQUIRE),
			address, caller);
	if (step != 0)
		return step;
	step = new_step();
	if (step == 0)
		return 0;
	at(step)->caller = caller;
	__atomic_store_n(&at(step)->address, address, __ATOMIC_RELEASE);
	// Another thread may have added the same one meanwhile. Two are as good as one.
	do
		at(step)->next = first;
	while (!__atomic_compare_exchange_n(chain, &first, step, true, __ATOMIC_RELEASE,
					    __ATOMIC_ACQUIRE));
	return step;
}

// The thread's last backtrace: most of the outer calls of the next one are the same.
static __thread struct {
	uint32_t step;
	uint32_t count;
} last;

/*
 * Finds the outer calls that a backtrace has in common with the thread's last one.
 *
 * @param count  gets the number of those that it has not
 * @return the step of the innermost common one; 0: there is none
 */
static uint32_t find_common(const uint64_t *addresses, unsigned *count)
{
	uint32_t step = last.step, common = step;
	unsigned place = 0, differing = 0;

	// Steps of code that has been unmapped would have to be found out among them.
	if (__atomic_load_n(&heapsnap_process.unmapped_count, __ATOMIC_ACQUIRE) != 0)
		return 0;
	if (*count > last.count)
		differing = place = *count - last.count;
	for (unsigned i = *count; i < last.count; i++)
		common = step = at(step)->caller;
	for (; place < *count; place++) {
		const struct heapsnap_step *present = at(step);

		step = present->caller;
		if (present->address != addresses[place]) {
			differing = place + 1;
			common = step;
		}
	}
	*count = differing;
	return common;
}

uint32_t heapsnap_steps_intern(const uint64_t *addresses, unsigned count)
{
	unsigned left = count;
	uint32_t step = find_common(addresses, &left);

	// They cost as much as others, so that all that depends on it is the same with any threads.
	heapsnap_spend((int32_t)(count - left));
	for (; left > 0; left--) {
		step = intern_step(addresses[left - 1], step);
		if (step == 0)
			return 0;
	}
	last.step = step;
	last.count = count;
	return step;
}

void heapsnap_steps_unmapped(uint64_t start, uint64_t end)
{
	uint32_t *count = &heapsnap_process.unmapped_count;
	uint32_t steps = __atomic_load_n(&heapsnap_process.step_count, __ATOMIC_RELAXED);
	uint32_t at = 0;

	// The same place again: there is nothing else to say of it.
	while (at < *count &&
	       (table->unmapped[at].start != start || table->unmapped[at].end != end))
		at++;
	if (at == HEAPSNAP_UNMAPPED)
		return;
	table->unmapped[at] = (struct heapsnap_unmapped){ start, end, steps, 0 };
	if (at == *count)
		__atomic_store_n(count, at + 1, __ATOMIC_RELEASE);
}
