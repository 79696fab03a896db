// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The library's own tables, used by several threads at once, for ThreadSanitizer: headers,
 * labels, backtraces, samples, wrappers, tracked pieces, epochs. The library's code is linked in, and is not malloc
 * here. t/races.t builds and runs it.
 */
#include "dumper/alloc/epochs.h"
#include "dumper/capture/automatic.h"
#include "dumper/stacks/backtraces.h"
#include "dumper/stacks/closing.h"
#include "dumper/heapsnap.h"
#include "t/races/race.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 3000,
	BLOCKS = 64,
	PIECES = 200,
};

static char *exchange[BLOCKS]; // blocks that one thread makes and another frees

static long pool[PIECES][2];

static int failures;

static void expect(const char *what, bool good)
{
	if (!good && __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED) < 10)
		printf("%s\n", what);
}

static char *make_block(unsigned *seed)
{
	size_t size = (size_t)rand_r(seed) % 2000 + 1;
	// As if from a thousand places in the code.
	uint64_t site = (uint64_t)make_block + (unsigned)rand_r(seed) % 1000;
	char *block = heapsnap_allocate_aligned(size % 8 ? 1 : 64, size, site, 0);

	memset(block, 'x', size);
	return block;
}

static char *change_block(char *block, unsigned *seed)
{
	long(*piece)[2];

	switch (rand_r(seed) % 5) {
	case 0:
		return heapsnap_reallocate(block, (size_t)rand_r(seed) % 3000 + 1,
					   (uint64_t)change_block);
	case 1:
		expect("a label", heapsnap_set_type(block, "struct label") == 0);
		return block;
	case 2:
		heapsnap_observe((uint64_t)rand_r(seed) % 1000,
				 (uint64_t)change_block + (unsigned)rand_r(seed) % 500,
				 (struct heapsnap_frame){ 0 }, rand_r(seed) % 2);
		return block;
	case 3:
		piece = &pool[rand_r(seed) % PIECES];
		expect("tracked", heapsnap_track(piece, sizeof(*piece)) == 0);
		heapsnap_set_type(piece, "struct label");
		heapsnap_untrack(piece); // which another thread may have done
		return block;
	default:
		expect("is live", heapsnap_find_header(block) != NULL);
		return block;
	}
}

static void *work(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;

	for (int i = 0; i < ROUNDS; i++) {
		char *mine = change_block(make_block(&seed), &seed);
		char *others = __atomic_exchange_n(&exchange[rand_r(&seed) % BLOCKS], mine,
						   __ATOMIC_ACQ_REL);

		if (others)
			heapsnap_release(change_block(others, &seed));
		if (i % 100 == 0)
			heapsnap_begin_epoch((uint64_t)i);
		if (i % 500 == 0)
			heapsnap_closing_end(&(struct heapsnap_closing){ 0 });
		heapsnap_release(heapsnap_allocate_zeros(100, (uint64_t)work));
	}
	return NULL;
}

int main(void)
{
	run_threads(work);
	puts(failures ? "failed" : "done");
	return failures != 0;
}
