// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/memory_use.h"

#include "shell/print/describe.h"

#include <inttypes.h>

static uint64_t all_bytes(const struct heap_info *info)
{
	return info->block_bytes + info->spare_bytes + info->stack_bytes + info->mapped_bytes;
}

static void print_line(struct session *session, uint64_t bytes, const char *text)
{
	if (bytes > 0)
		output_text(session->output, "          %12s  %s\n", describe_bytes(session, bytes),
			    text);
}

void memory_use_print(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;
	struct output *output = session->output;
	uint64_t all = all_bytes(info);
	const char *pages = "";

	if (all == 0)
		return;
	if (info->spare_page_bytes > 0)
		pages = session_format(session, ", %s of it whole pages",
				       describe_bytes(session, info->spare_page_bytes));
	output_text(output, "memory    %s of private memory are in use, but for modules' data\n",
		    describe_bytes(session, all));
	print_line(session, info->block_bytes, "live blocks");
	print_line(session, info->spare_bytes,
		   session_format(session, "free memory that malloc keeps, and its own%s", pages));
	print_line(session, info->stack_bytes, "threads' stacks");
	print_line(session, info->mapped_bytes, "mapped without malloc");
	output_open_object(output, "memory");
	output_number(output, "all", all);
	output_number(output, "blocks", info->block_bytes);
	output_number(output, "spare", info->spare_bytes);
	output_number(output, "spare_pages", info->spare_page_bytes);
	output_number(output, "stacks", info->stack_bytes);
	output_number(output, "mapped", info->mapped_bytes);
	output_close(output);
}

// True if who looks among live blocks looks in the wrong place.
static bool is_elsewhere(const struct heap_info *info)
{
	const uint64_t little = UINT64_C(8) << 20; // that a process may have for nothing
	uint64_t all = all_bytes(info);

	return all - info->block_bytes >= little && info->block_bytes < all / 5 * 2;
}

// A line of advice, if it is about a tenth of all or more.
static void advise(struct session *session, uint64_t bytes, const char *text)
{
	if (bytes >= all_bytes(&session->snapshot->info) / 10)
		output_text(session->output, "   %s %s\n", describe_bytes(session, bytes), text);
}

void memory_use_advise(struct session *session)
{
	const struct heap_info *info = &session->snapshot->info;

	if (!is_elsewhere(info))
		return;
	output_text(session->output,
		    "Live blocks are %s of %s that are in use. Beside them, `info` tells:\n",
		    describe_bytes(session, info->block_bytes),
		    describe_bytes(session, all_bytes(info)));
	advise(session, info->spare_bytes,
	       session_format(session,
			      "are free memory that malloc keeps, %s of it whole pages, which "
			      "malloc_trim(3) gives back.",
			      describe_bytes(session, info->spare_page_bytes)));
	advise(session, info->mapped_bytes,
	       "are mapped without malloc: by mmap(2), or by an allocator that is not known.");
	advise(session, info->stack_bytes, "are threads' stacks.");
	output_text(session->output, "\n");
}
