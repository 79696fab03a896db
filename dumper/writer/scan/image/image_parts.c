// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/image_parts.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ENTRIES = 8192, // of the page map, read at once
	NEAR = 1 << 20, // touched pages that are so close are one span
	DENSE = 8,      // a part of which so much is in use is one span: 1/DENSE
};

struct span {
	uint64_t start, end;
};

// Where divided mappings have pages, by address. Between the spans they have none.
struct image_parts {
	struct HEAP_ARRAY(struct span) spans;
};

// Facts about a mapping, from smaps.
struct usage {
	uint64_t bytes; // in memory, or swapped out
	bool left_out;  // of further copies: a part
};

struct list {
	struct image_mapping *mappings;
	size_t count;
	struct usage *usages; // [count]
};

void image_parts_destroy(struct image_parts *parts)
{
	if (parts)
		heap_array_deinit(&parts->spans);
	free(parts);
}

// --- smaps -----------------------------------------------------------------------

// @param at  the mapping of the lines before
static void apply_line(const struct list *list, const char *line, size_t *at)
{
	uint64_t start, end, kib;
	bool is_known = *at < list->count;

	if (strncmp(line, "VmFlags:", 8) == 0) {
		if (is_known && strstr(line, " wf"))
			list->mappings[*at].wiped = true;
		if (is_known && strstr(line, " dc"))
			list->usages[*at].left_out = true;
	} else if (sscanf(line, "Rss: %" SCNu64, &kib) == 1 ||
		   sscanf(line, "Swap: %" SCNu64, &kib) == 1) {
		if (is_known)
			list->usages[*at].bytes += kib * 1024;
	} else if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
		while (*at < list->count && list->mappings[*at].start < start)
			++*at;
	}
}

// Only smaps knows. A kernel without it leaves that unknown.
static void read_smaps(const struct list *list, pid_t pid)
{
	char path[64];
	CLEANUP_FREE char *line = NULL;
	CLEANUP_FILE FILE *file = NULL;
	size_t capacity = 0, at = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "re");
	while (file && getline(&line, &capacity, file) > 0)
		apply_line(list, line, &at);
}

// --- parts that have pages ---------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_span(struct image_parts *parts, uint64_t start, uint64_t end)
{
	struct span *last = parts->spans.items + parts->spans.count;

	if (parts->spans.count > 0 && start - last[-1].end < NEAR) {
		last[-1].end = end;
		return NULL;
	}
	return heap_array_append(&parts->spans, (struct span){ start, end });
}

// The spans of a part, by its pages.
HEAP_MUST_CHECK
static struct heap_error *find_spans(struct image_parts *parts, int pagemap, uint64_t start,
				     uint64_t end)
{
	const uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t page = start / size, last = end / size;
	CLEANUP_FREE uint64_t *entries = malloc(ENTRIES * sizeof(*entries));

	if (!entries)
		return heap_error_out_of_memory();
	while (page < last) {
		size_t wanted = last - page < ENTRIES ? last - page : ENTRIES;
		ssize_t got = pread(pagemap, entries, wanted * 8, (off_t)(page * 8));

		if (got < 8)
			return add_span(parts, page * size, end);
		for (ssize_t i = 0; i < got / 8; i++, page++) {
			if (entries[i] & IMAGE_PAGE_TOUCHED)
				HEAP_TRY(add_span(parts, page * size, (page + 1) * size));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_part(struct image_parts *parts, int pagemap,
				   const struct image_mapping *part, uint64_t bytes)
{
	if (bytes == 0)
		return NULL;
	if (bytes >= (part->end - part->start) / DENSE)
		return add_span(parts, part->start, part->end);
	return find_spans(parts, pagemap, part->start, part->end);
}

// --- joining ---------------------------------------------------------------------

// True if a mapping is the next part of the one before: only one of two parts is left out.
static bool goes_on(const struct list *list, size_t at)
{
	const struct image_mapping *mapping = &list->mappings[at], *before = mapping - 1;

	return list->usages[at - 1].left_out != list->usages[at].left_out &&
	       before->end == mapping->start && before->protection == mapping->protection &&
	       !mapping->shared && before->kind == mapping->kind;
}

// @param count  gets the number of mappings that are left
HEAP_MUST_CHECK
static struct heap_error *join(const struct list *list, int pagemap, struct image_parts *parts,
			       size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < list->count; i = next) {
		struct image_mapping whole = list->mappings[i];

		for (next = i + 1; next < list->count && goes_on(list, next); next++)
			whole.end = list->mappings[next].end;
		whole.divided = next > i + 1;
		for (size_t part = i; whole.divided && part < next; part++)
			HEAP_TRY(add_part(parts, pagemap, &list->mappings[part],
					  list->usages[part].bytes));
		list->mappings[kept++] = whole;
	}
	*count = kept;
	return NULL;
}

struct heap_error *image_parts_join(pid_t pid, int pagemap, struct image_mapping *mappings,
				    size_t *count, struct image_parts **parts)
{
	CLEANUP_FREE struct usage *usages = calloc(*count + 1, sizeof(*usages));
	const struct list list = { mappings, *count, usages };
	bool any = false;

	*parts = NULL;
	if (!usages)
		return heap_error_out_of_memory();
	read_smaps(&list, pid);
	for (size_t i = 0; i < list.count; i++)
		any |= usages[i].left_out;
	if (!any)
		return NULL;
	*parts = calloc(1, sizeof(**parts));
	return *parts ? join(&list, pagemap, *parts, count) : heap_error_out_of_memory();
}

uint64_t image_parts_skip(const struct image_parts *parts, uint64_t start, uint64_t end)
{
	const struct span *spans = parts->spans.items;
	size_t at = heap_partition_point(i, (size_t)0, parts->spans.count, spans[i].end <= start);

	if (at == parts->spans.count || spans[at].start >= end)
		return end;
	return spans[at].start > start ? spans[at].start : start;
}
