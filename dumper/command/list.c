// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/list.h"

#include "dumper/command/announcement.h"
#include "dumper/command/attachable.h"
#include "dumper/command/complain.h"
#include "dumper/command/handler.h"
#include "dumper/command/process.h"
#include "dumper/command/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void print_progress(struct process *process, const struct announcement *announcement)
{
	struct heapsnap_announcement details;
	struct heapsnap_progress progress;
	char text[PROGRESS_TEXT_MAX];

	if (!progress_is_understood(process, announcement) ||
	    !progress_of_process(process, announcement, &details) ||
	    !progress_read(process, details.shared, &progress) || !progress_is_writing(&progress))
		return;
	progress_format(&progress, text, sizeof(text));
	heap_print(stdout, " (writing a snapshot: %s)", text);
}

static void print_row(struct process *process, const struct announcement *announcement)
{
	enum heapsnap_handler handler = handler_now(process, announcement);
	bool is_ours = handler == HEAPSNAP_HANDLER_OURS;
	char name[NAME_MAX + 1], signal[SIGNAL_NAME_MAX];

	process_name(process, name, sizeof(name));
	signal_name(announcement->signal, signal);
	heap_print(stdout, "%7d %-6s %s", (int)process->pid, is_ours ? signal : "none", name);
	if (!is_ours && announcement->signal != 0)
		heap_print(stdout, " (%s SIG%s)", handler_text(handler), signal);
	print_progress(process, announcement);
	putchar('\n');
}

// @return true if it has been listed
static bool list_process(pid_t pid, const struct own_libraries *own)
{
	CLEANUP(process_close) struct process process = { 0 };
	CLEANUP(announcement_deinit) struct announcement announcement = { 0 };
	struct heap_error *error = process_open(pid, &process);
	char comm[32];

	if (!error)
		error = announcement_read(&process, own, &announcement);
	// It has just ended, or belongs to another user.
	if (error) {
		heap_error_destroy(error);
		return false;
	}
	if (!announcement.is_known || !announcement.takes_snapshots)
		return false;
	process_comm(&process, comm, sizeof(comm));
	if (strcmp(comm, FROZEN_COMM) == 0)
		return false;
	print_row(&process, &announcement);
	return true;
}

int list(char **words)
{
	CLEANUP_FREE pid_t *pids = NULL;
	struct own_libraries own;
	size_t count;
	bool found = false, is_all = false;

	if (*words && strcmp(*words, "--all") == 0) {
		is_all = true;
		words++;
	}
	if (*words)
		return misused("list: there is --all, and no %s", *words);

	struct heap_error *error = process_list(&pids, &count);

	if (error)
		return fail(error);
	own_libraries_find(&own);
	if (is_all)
		attachable_print_heading();
	for (size_t i = 0; i < count; i++)
		found |= is_all ? attachable_print(pids[i], &own) : list_process(pids[i], &own);
	return found ? STATUS_DONE : STATUS_FAILED;
}
