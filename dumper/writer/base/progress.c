// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/base/progress.h"
#include "lib/base/clock.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

static const uint64_t INTERVAL_NS = 100000000; // between two updates that the program sees

__thread uint32_t progress_pending;
bool progress_late;

static struct {
	pid_t frozen;
	int memory;           // of the frozen copy; -1: process_vm_writev(2) is used
	uint64_t address;     // of struct heapsnap_progress; 0: nobody is told
	uint64_t start_ns;    // monotonic
	uint64_t deadline_ns; // UINT64_MAX: none
	uint64_t next_ns;     // when the program is told again
	void (*beat)(void);
	struct heapsnap_progress progress;
} state = { .memory = -1, .deadline_ns = UINT64_MAX };

void progress_init(pid_t frozen, const struct heapsnap_process *process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)frozen);
	state.start_ns = heap_monotonic_ns();
	state.frozen = frozen;
	state.memory = open(path, O_WRONLY | O_CLOEXEC);
	state.address =
		process->shared ? process->shared + offsetof(struct heapsnap_shared, progress) : 0;
	if (process->writer_time_ns != 0)
		state.deadline_ns = state.start_ns + process->writer_time_ns;
}

uint64_t progress_elapsed_ns(void)
{
	return heap_monotonic_ns() - state.start_ns;
}

void progress_set_beat(void (*beat)(void))
{
	state.beat = beat;
}

// The start is the frozen copy's, and stays.
static void publish(void)
{
	size_t skipped = offsetof(struct heapsnap_progress, phase);
	char *start = (char *)&state.progress + skipped;
	size_t size = sizeof(state.progress) - skipped;
	uint64_t to = state.address + skipped;
	struct iovec local = { start, size }, remote = { (void *)(uintptr_t)to, size };

	if (state.address == 0)
		return;
	if (state.memory < 0 || pwrite(state.memory, start, size, (off_t)to) < 0)
		state.address = process_vm_writev(state.frozen, &local, 1, &remote, 1, 0) < 0
					? 0 // the kernel does not let us: no progress is shown
					: state.address;
}

void progress_begin(enum heapsnap_phase phase, uint64_t total)
{
	uint64_t now = heap_monotonic_ns();

	__atomic_store_n(&state.progress.done, 0, __ATOMIC_RELAXED);
	state.progress.phase = phase;
	state.progress.phase_ns = now;
	state.progress.total = total;
	state.next_ns = now + INTERVAL_NS;
	if (now >= state.deadline_ns)
		__atomic_store_n(&progress_late, true, __ATOMIC_RELAXED);
	publish();
	if (state.beat)
		state.beat();
}

void progress_set_done(uint64_t done)
{
	__atomic_store_n(&state.progress.done, done, __ATOMIC_RELAXED);
}

void progress_add_done(uint64_t more)
{
	__atomic_add_fetch(&state.progress.done, more, __ATOMIC_RELAXED);
}

void progress_flush(void)
{
	uint64_t now = heap_monotonic_ns(),
		 next = __atomic_load_n(&state.next_ns, __ATOMIC_RELAXED);

	__atomic_add_fetch(&state.progress.steps, progress_pending, __ATOMIC_RELAXED);
	progress_pending = 0;
	if (now >= state.deadline_ns)
		__atomic_store_n(&progress_late, true, __ATOMIC_RELAXED);
	// One of several threads tells.
	if (now < next || !__atomic_compare_exchange_n(&state.next_ns, &next, now + INTERVAL_NS,
						       false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	publish();
	if (state.beat)
		state.beat();
}

uint64_t progress_total_steps(void)
{
	return __atomic_load_n(&state.progress.steps, __ATOMIC_RELAXED) + progress_pending;
}

void progress_miss_types(void)
{
	state.progress.is_late = 1;
}

bool progress_missed_types(void)
{
	return state.progress.is_late != 0;
}
