// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/backtrace.h"

#include "lib/base/path.h"
#include "shell/print/describe.h"

#include <string.h>

enum {
	MAX_STEPS = 1024, // of one backtrace; the library takes far fewer
};

uint32_t backtrace_caller(const struct heap_snapshot *snapshot, uint32_t step)
{
	const struct heap_call *call = &snapshot->calls[snapshot->steps[step].call];

	return strcmp(heap_snapshot_string(snapshot, call->function), "main") == 0
		       ? 0
		       : snapshot->steps[step].caller;
}

const char *backtrace_call(struct session *session, uint32_t number)
{
	const struct heap_call *call = &session->snapshot->calls[number];

	return describe_place(session, &(struct described_place){
					       .function = call->function,
					       .offset = call->offset,
					       .file = call->file,
					       .line = call->line,
					       .module = call->module,
					       .address = call->address,
				       });
}

// True for a call inside the C++ library, such as those that std::make_shared() makes.
static bool is_of_library(const struct heap_snapshot *snapshot, uint32_t step)
{
	const struct heap_call *call = &snapshot->calls[snapshot->steps[step].call];
	const char *name = heap_snapshot_string(snapshot, call->function);

	return strncmp(name, "std::", strlen("std::")) == 0 ||
	       strncmp(name, "__gnu_cxx::", strlen("__gnu_cxx::")) == 0;
}

// True for libc's calls of main() and of a thread's function: they are the same in all programs.
static bool is_start(const struct heap_snapshot *snapshot, uint32_t step)
{
	static const char *const names[] = { "_start",
					     "__libc_start_main",
					     "__libc_start_main_impl",
					     "__libc_start_call_main",
					     "libc_start_main_stage2",
					     "start_thread",
					     "clone",
					     "clone3",
					     "__clone",
					     "__clone3" };
	const struct heap_call *call = &snapshot->calls[snapshot->steps[step].call];
	const char *name = heap_snapshot_string(snapshot, call->function);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

uint32_t backtrace_known_call(const struct heap_snapshot *snapshot, uint32_t step)
{
	for (unsigned i = 0; step > 0 && i < MAX_STEPS; i++) {
		uint32_t call = snapshot->steps[step].call;

		if (snapshot->calls[call].line != 0 && !is_of_library(snapshot, step) &&
		    !is_start(snapshot, step))
			return call;
		step = backtrace_caller(snapshot, step);
	}
	return HEAP_NO_INDEX;
}

const char *backtrace_site(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_site_id site = snapshot->site[object];
	uint32_t call = HEAP_NO_INDEX;

	if (snapshot->sites[site].line == 0)
		call = backtrace_known_call(snapshot,
					    heap_backtrace_step(snapshot->backtrace[object]));
	if (call == HEAP_NO_INDEX)
		return describe_site(session, site);
	return session_format(session, "%s, for %s", describe_site(session, site),
			      backtrace_call(session, call));
}

// @param inside  calls inside it that were not shown
static void print_step(struct session *session, unsigned number, uint32_t id, bool is_shown,
		       unsigned inside)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_call *call = &snapshot->calls[id];
	struct output *output = session->output;
	bool inlined = call->flags & HEAP_FRAME_INLINED;

	if (is_shown)
		output_text(output, "    #%-3u %s%s%s\n", number, backtrace_call(session, id),
			    inlined ? ", inlined" : "",
			    inside ? session_format(session, ", and %u more inside it", inside)
				   : "");
	output_open_object(output, NULL);
	output_string(output, "function", heap_snapshot_string(snapshot, call->function));
	output_string(output, "file", heap_base_name(heap_snapshot_string(snapshot, call->file)));
	output_number(output, "line", call->line);
	output_string(output, "module", describe_module(session, call->module));
	output_address(output, "address", call->address);
	output_boolean(output, "inlined", inlined);
	output_close(output);
}

void backtrace_print(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t step = heap_backtrace_step(snapshot->backtrace[object]);
	bool is_own = heap_backtrace_is_own(snapshot->backtrace[object]);

	if (step == 0)
		return;
	output_text(session->output, "  backtrace%s:\n",
		    is_own ? "" : " of the first of that site and size");
	output_string(session->output, "backtrace_of", is_own ? "object" : "first of its kind");
	output_open_array(session->output, "backtrace");
	// The innermost calls inside the C++ library are hidden, but for the one that the program made.
	for (unsigned i = 0, hidden = 0; step > 0 && i < MAX_STEPS && !session_must_stop(session);
	     i++) {
		uint32_t caller = backtrace_caller(snapshot, step);
		bool hides = hidden == i && is_of_library(snapshot, step) && caller > 0 &&
			     is_of_library(snapshot, caller);

		print_step(session, i, snapshot->steps[step].call, !hides,
			   hidden == i ? hidden : 0);
		hidden += hides;
		step = caller;
	}
	output_close(session->output);
}
