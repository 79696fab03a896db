// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/watch.h"

#include "dumper/base/headroom.h"
#include "dumper/command/attach.h"
#include "dumper/command/complain.h"
#include "dumper/command/priority.h"
#include "dumper/command/process.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/escape.h"

#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const uint64_t HOLD_NS = UINT64_C(30000000000);

// Sleeps, but not beyond the end of the process.
static void wait_for(const struct process *process, uint64_t wait_ns)
{
	struct pollfd handle = { .fd = process->handle, .events = POLLIN };
	struct timespec time = { (time_t)(wait_ns / 1000000000), (long)(wait_ns % 1000000000) };

	ppoll(&handle, 1, &time, NULL);
}

static void explain(const struct process *process, const char *name,
		    const struct heapsnap_headroom *room)
{
	uint64_t used = room->limit > room->left ? room->limit - room->left : 0;

	heap_print(stderr, "heapsnap: %d (%s): ", (int)process->pid, name);
	if (room->stalls_now)
		heap_print(stderr, "everything waits for memory\n");
	else
		heap_print(stderr, "%" PRIu64 " of %" PRIu64 " MiB are used of %s\n", used >> 20,
			   room->limit >> 20, *room->name ? room->name : "the machine's memory");
}

// Waits until the end is near. @param lock  gets the descriptor of heapsnap_headroom_lock()
HEAP_MUST_CHECK
static struct heap_error *await(const struct process *process, struct heapsnap_headroom *room,
				int *lock)
{
	while (!process_has_ended(process)) {
		uint64_t wait = heapsnap_headroom_look(room, heap_monotonic_ns());

		if (room->is_near && (*lock = heapsnap_headroom_lock(room)) >= 0)
			return NULL;
		wait_for(process, wait);
	}
	return heap_error_create(HEAP_ERROR_ABSENT,
				 "%d has ended, and its memory had not come near an end",
				 (int)process->pid);
}

HEAP_MUST_CHECK
static struct heap_error *watch_process(pid_t pid, struct foreign_options *options)
{
	CLEANUP(process_close) struct process process = { 0 };
	CLEANUP_CLOSE int lock = -1;
	struct heapsnap_headroom room;
	struct heap_error *error;
	char membership[32], name[NAME_MAX + 1];

	HEAP_TRY(process_open(pid, &process));
	HEAP_TRY(attach_check(pid));
	if (options->writer_time_ns == 0 || options->writer_time_ns > HOLD_NS / 3 * 2)
		options->writer_time_ns = HOLD_NS / 3 * 2;
	process_name(&process, name, sizeof(name));
	snprintf(membership, sizeof(membership), "/proc/%d/cgroup", (int)pid);
	heapsnap_headroom_init(&room, membership, options->share);
	// Under pressure the pages of this program's code would be among the first to go.
	mlockall(MCL_CURRENT);
	priority_raise();
	error = await(&process, &room, &lock);
	if (!error)
		error = attach_take(pid, options, HOLD_NS);
	if (lock >= 0)
		explain(&process, name, &room);
	return error;
}

int watch(char **words)
{
	struct foreign_options options;
	pid_t pid;
	int status = attach_read_arguments("watch", words, &options, &pid);

	if (status != STATUS_DONE)
		return status;

	struct heap_error *error = watch_process(pid, &options);

	return error ? fail(error) : STATUS_DONE;
}
