// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/ending.h"

#include "lib/base/library_code.h"
#include "lib/base/path.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

// True for functions by which C programs end themselves, and names that C reserves for its library (C11, 7.1.3):
// in a program that is statically linked, these are in no module of the library's.
static bool is_of_c(const char *name)
{
	static const char *const names[] = { "abort", "raise", "gsignal", "pthread_kill" };

	if (name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1])))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool is_of_library(const struct heap_snapshot *snapshot, const struct heap_frame *frame)
{
	const char *name = heap_snapshot_string(snapshot, frame->function);

	if (frame->module != HEAP_NO_INDEX &&
	    heap_is_library_module(heap_base_name(
		    heap_snapshot_string(snapshot, snapshot->modules[frame->module].path))))
		return true;
	return is_of_c(name) || heap_is_library_function(name);
}

// True if a frame is in the same module as another one further out of which the line is known.
static bool is_without_line(const struct heap_snapshot *snapshot, const struct heap_thread *thread,
			    uint32_t frame)
{
	const struct heap_frame *frames = &snapshot->frames[thread->first_frame];

	if (frames[frame].line != 0)
		return false;
	for (uint32_t i = frame + 1; i < thread->frames; i++) {
		if (frames[i].module == frames[frame].module && frames[i].line != 0)
			return true;
	}
	return false;
}

// The first frame of the program's own, or the number of frames. What is statically linked with a library is told from
// that by debug information, which the library's archive mostly has none of.
static uint32_t find_own_frame(const struct heap_snapshot *snapshot,
			       const struct heap_thread *thread)
{
	uint32_t own = 0;

	while (own < thread->frames &&
	       (is_of_library(snapshot, &snapshot->frames[thread->first_frame + own]) ||
		(own > 0 && is_without_line(snapshot, thread, own))))
		own++;
	return own;
}

// Where the thread was: ": main (app.c:7), in abort (libc.so.6)"; "" if it has no frames.
static const char *describe_place_of_end(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_thread *thread = &snapshot->threads[0];
	uint32_t own = find_own_frame(snapshot, thread);

	if (thread->frames == 0)
		return "";
	if (own == 0 || own == thread->frames)
		return session_format(session, ": %s",
				      describe_frame(session, thread->first_frame));
	return session_format(session, ": %s, in %s",
			      describe_frame(session, thread->first_frame + own),
			      describe_frame(session, thread->first_frame + own - 1));
}

static void print_fault(struct session *session)
{
	static const char *const reasons[] = {
		[HEAP_FAULT_UNMAPPED] = ", where nothing is mapped",
		[HEAP_FAULT_FORBIDDEN] = ", which may not be accessed so",
		[HEAP_FAULT_NO_FILE] = ", where the mapped file has no bytes",
	};
	const struct heap_info *info = &session->snapshot->info;
	const char *reason =
		info->fault < sizeof(reasons) / sizeof(*reasons) ? reasons[info->fault] : NULL;

	if (info->fault == HEAP_FAULT_NONE)
		return;
	if (info->fault == HEAP_FAULT_UNKNOWN) {
		output_text(session->output,
			    "fault     at an address that no program can have; the processor does "
			    "not say which\n");
		return;
	}
	output_text(session->output, "fault     at 0x%" PRIx64 "%s\n", info->fault_address,
		    reason ? reason : "");
	output_address(session->output, "fault_address", info->fault_address);
}

// The first thread of a core file is the one that got the signal.
void ending_print(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_info *info = &snapshot->info;

	if (info->signal == 0)
		return;
	output_text(session->output, "ended     by signal %" PRIu64 ", %s", info->signal,
		    strsignal((int)info->signal));
	if (snapshot->thread_count > 0)
		output_text(session->output, ", in %s%s", describe_named_thread(session, 0),
			    describe_place_of_end(session));
	output_text(session->output, "\n");
	if (info->sender) {
		output_text(session->output, "sent by   process %" PRIu64 "\n", info->sender);
		output_number(session->output, "sender", info->sender);
	}
	print_fault(session);
}
