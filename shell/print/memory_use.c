// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/memory_use.h"

#include "shell/print/describe.h"

enum {
	MUCH = 1 << 20, // bytes of growth that are told, if they are a tenth of all, too
};

static const char spare_text[] = "free memory that malloc keeps, and its own";
static const char stacks_text[] = "threads' stacks";
static const char mapped_text[] = "mapped without malloc";

struct memory_use memory_use_of(const struct heap_snapshot *snapshot)
{
	const struct heap_info *info = &snapshot->info;

	return (struct memory_use){ info->block_bytes, info->spare_bytes, info->spare_page_bytes,
				    info->stack_bytes, info->mapped_bytes };
}

// Bytes that are no live blocks.
static uint64_t other_bytes(const struct memory_use *use)
{
	return use->spare + use->stacks + use->mapped;
}

static uint64_t all_bytes(const struct memory_use *use)
{
	return use->blocks + other_bytes(use);
}

static void print_line(struct session *session, uint64_t bytes, const char *text)
{
	if (bytes > 0)
		output_text(session->output, "          %12s  %s\n", describe_bytes(session, bytes),
			    text);
}

static void print_json(struct output *output, const char *key, const struct memory_use *use)
{
	output_open_object(output, key);
	output_number(output, "all", all_bytes(use));
	output_number(output, "blocks", use->blocks);
	output_number(output, "spare", use->spare);
	output_number(output, "spare_pages", use->spare_pages);
	output_number(output, "stacks", use->stacks);
	output_number(output, "mapped", use->mapped);
	output_close(output);
}

void memory_use_print(struct session *session)
{
	const struct memory_use use = memory_use_of(session->snapshot);
	const char *pages = "";

	if (all_bytes(&use) == 0)
		return;
	if (use.spare_pages > 0)
		pages = session_format(session, ", %s of it whole pages",
				       describe_bytes(session, use.spare_pages));
	output_text(session->output,
		    "memory    %s of private memory are in use, but for modules' data\n",
		    describe_bytes(session, all_bytes(&use)));
	print_line(session, use.blocks, "live blocks");
	print_line(session, use.spare, session_format(session, "%s%s", spare_text, pages));
	print_line(session, use.stacks, stacks_text);
	print_line(session, use.mapped, mapped_text);
	print_json(session->output, "memory", &use);
}

// A line of a change.
static void print_change(struct session *session, uint64_t before, uint64_t after, const char *text)
{
	uint64_t change = after > before ? after - before : before - after;

	if (change >= MUCH / 16)
		output_text(session->output, "%14s  %s\n",
			    session_format(session, "%c%s", after > before ? '+' : '-',
					   describe_bytes(session, change)),
			    text);
}

void memory_use_print_growth(struct session *session, const struct memory_use *before)
{
	const struct memory_use after = memory_use_of(session->snapshot);
	uint64_t old = other_bytes(before), new = other_bytes(&after);
	uint64_t change = new > old ? new - old : old - new;

	if (all_bytes(before) == 0 || all_bytes(&after) == 0)
		return;
	output_open_object(session->output, "memory");
	print_json(session->output, "first", before);
	print_json(session->output, "last", &after);
	output_close(session->output);
	if (change < MUCH || change < all_bytes(before) / 10)
		return;
	output_text(session->output, "\nBeside live blocks, the memory in use %s from %s to %s:\n",
		    new > old ? "grew" : "shrank", describe_bytes(session, old),
		    describe_bytes(session, new));
	print_change(session, before->spare, after.spare, spare_text);
	print_change(session, before->mapped, after.mapped, mapped_text);
	print_change(session, before->stacks, after.stacks, stacks_text);
}

// True if who looks among live blocks looks in the wrong place.
static bool is_elsewhere(const struct memory_use *use)
{
	const uint64_t little = UINT64_C(8) << 20; // that a process may have for nothing

	return other_bytes(use) >= little && use->blocks < all_bytes(use) / 5 * 2;
}

// A line of advice, if it is about a tenth of all or more.
static void advise(struct session *session, uint64_t all, uint64_t bytes, const char *text)
{
	if (bytes >= all / 10)
		output_text(session->output, "   %s %s\n", describe_bytes(session, bytes), text);
}

void memory_use_advise(struct session *session)
{
	const struct memory_use use = memory_use_of(session->snapshot);
	uint64_t all = all_bytes(&use);

	if (!is_elsewhere(&use))
		return;
	output_text(session->output,
		    "Live blocks are %s of %s that are in use. Beside them, `info` tells:\n",
		    describe_bytes(session, use.blocks), describe_bytes(session, all));
	advise(session, all, use.spare,
	       session_format(session,
			      "are free memory that malloc keeps, %s of it whole pages, which "
			      "malloc_trim(3) gives back.",
			      describe_bytes(session, use.spare_pages)));
	advise(session, all, use.mapped,
	       "are mapped without malloc: by mmap(2), or by an allocator that is not known.");
	advise(session, all, use.stacks, "are threads' stacks.");
	output_text(session->output, "\n");
}
