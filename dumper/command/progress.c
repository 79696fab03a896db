// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/progress.h"
#include "lib/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t SECOND_NS = 1000000000;

static const char *const phases[HEAPSNAP_PHASES] = {
	[HEAPSNAP_PHASE_NONE] = "nothing",
	[HEAPSNAP_PHASE_STARTING] = "starting",
	[HEAPSNAP_PHASE_SYMBOLS] = "reading symbols",
	[HEAPSNAP_PHASE_OBJECTS] = "finding objects",
	[HEAPSNAP_PHASE_EDGES] = "finding pointers",
	[HEAPSNAP_PHASE_ROOTS] = "finding roots",
	[HEAPSNAP_PHASE_TYPES] = "finding types",
	[HEAPSNAP_PHASE_STORING] = "writing the file",
};

bool progress_is_understood(struct process *process, const struct announcement *announcement)
{
	struct heapsnap_announcement details;
	struct {
		uint64_t magic;
		uint32_t version;
	} start; // of struct heapsnap_process

	return announcement->address != 0 &&
	       process_read(process, announcement->address, &details, sizeof(details)) &&
	       process_read(process, details.process, &start, sizeof(start)) &&
	       start.magic == HEAPSNAP_PROCESS_MAGIC && start.version == HEAPSNAP_PROTOCOL_VERSION;
}

bool progress_of_process(struct process *process, const struct announcement *announcement,
			 struct heapsnap_announcement *details)
{
	struct process_status status;

	return announcement->address != 0 && process_read_status(process, &status) &&
	       process_read(process, announcement->address, details, sizeof(*details)) &&
	       details->pid == (uint32_t)status.own_pid;
}

bool progress_read(struct process *process, uint64_t shared, struct heapsnap_progress *result)
{
	return shared != 0 &&
	       process_read(process, shared + offsetof(struct heapsnap_shared, progress), result,
			    sizeof(*result));
}

bool progress_is_writing(const struct heapsnap_progress *progress)
{
	return progress->start_ns != 0 && progress->phase != HEAPSNAP_PHASE_NONE;
}

void progress_format(const struct heapsnap_progress *progress, char *buffer, size_t size)
{
	// The numbers are another process's.
	const char *phase = progress->phase < HEAPSNAP_PHASES ? phases[progress->phase] : "?";
	uint64_t time = heap_monotonic_ns(), share = 0;
	char share_text[16] = "";

	if (progress->total != 0) {
		share = progress->done < progress->total
				? (uint64_t)(100.0 * (double)progress->done /
					     (double)progress->total)
				: 100;
		snprintf(share_text, sizeof(share_text), " %" PRIu64 " %%,", share);
	}
	snprintf(buffer, size, "%s,%s %" PRIu64 " s", phase, share_text,
		 time > progress->start_ns ? (time - progress->start_ns) / SECOND_NS : 0);
}
