// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image_parts.h"

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

// What smaps tells of a mapping.
struct usage {
	uint64_t bytes; // in memory, or swapped out
	bool left_out;  // of further copies: a part
};

void image_parts_destroy(struct image_parts *parts)
{
	if (parts)
		heap_array_deinit(&parts->spans);
	free(parts);
}

// --- smaps -----------------------------------------------------------------------

// @param at  the mapping of the lines before
static void apply_line(struct image *image, struct usage *usages, const char *line, size_t *at)
{
	uint64_t start, end, kib;
	bool is_known = *at < image->mapping_count;

	if (strncmp(line, "VmFlags:", 8) == 0) {
		if (is_known && strstr(line, " wf"))
			image->mappings[*at].wiped = true;
		if (is_known && strstr(line, " dc"))
			usages[*at].left_out = true;
	} else if (sscanf(line, "Rss: %" SCNu64, &kib) == 1 ||
		   sscanf(line, "Swap: %" SCNu64, &kib) == 1) {
		if (is_known)
			usages[*at].bytes += kib * 1024;
	} else if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
		while (*at < image->mapping_count && image->mappings[*at].start < start)
			++*at;
	}
}

// Only smaps knows. A kernel without it leaves that unknown.
static void read_smaps(struct image *image, struct usage *usages)
{
	char path[64];
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0, at = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)image->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while (getline(&line, &capacity, file) > 0)
		apply_line(image, usages, line, &at);
	fclose(file);
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
static struct heap_error *find_spans(const struct image *image, struct image_parts *parts,
				     const struct image_mapping *part)
{
	const uint64_t size = image->page_size;
	uint64_t page = part->start / size, last = (part->end + size - 1) / size;
	CLEANUP_FREE uint64_t *entries = malloc(ENTRIES * sizeof(*entries));

	if (!entries)
		return heap_error_out_of_memory();
	while (page < last) {
		size_t wanted = last - page < ENTRIES ? last - page : ENTRIES;
		ssize_t got = pread(image->pagemap, entries, wanted * 8, (off_t)(page * 8));

		if (got < 8)
			return add_span(parts, page * size, part->end);
		for (ssize_t i = 0; i < got / 8; i++, page++) {
			if (entries[i] & IMAGE_PAGE_TOUCHED)
				HEAP_TRY(add_span(parts, page * size, (page + 1) * size));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_part(const struct image *image, struct image_parts *parts,
				   const struct image_mapping *part, uint64_t bytes)
{
	if (bytes == 0)
		return NULL;
	if (bytes >= (part->end - part->start) / DENSE)
		return add_span(parts, part->start, part->end);
	return find_spans(image, parts, part);
}

// --- joining ---------------------------------------------------------------------

// True if a mapping is the next part of the one before: only one of two parts is left out.
static bool goes_on(const struct image_mapping *mappings, const struct usage *usages, size_t at)
{
	return usages[at - 1].left_out != usages[at].left_out &&
	       mappings[at - 1].end == mappings[at].start &&
	       mappings[at - 1].protection == mappings[at].protection && !mappings[at].shared &&
	       mappings[at - 1].kind == mappings[at].kind;
}

HEAP_MUST_CHECK
static struct heap_error *join(struct image *image, const struct usage *usages)
{
	struct image_mapping *mappings = image->mappings;
	size_t kept = 0;

	for (size_t i = 0, next; i < image->mapping_count; i = next) {
		struct image_mapping whole = mappings[i];

		for (next = i + 1; next < image->mapping_count && goes_on(mappings, usages, next);
		     next++)
			whole.end = mappings[next].end;
		whole.divided = next > i + 1;
		for (size_t part = i; whole.divided && part < next; part++)
			HEAP_TRY(
				add_part(image, image->parts, &mappings[part], usages[part].bytes));
		mappings[kept++] = whole;
	}
	image->mapping_count = kept;
	return NULL;
}

struct heap_error *image_parts_join(struct image *image)
{
	CLEANUP_FREE struct usage *usages = calloc(image->mapping_count + 1, sizeof(*usages));
	bool any = false;

	if (!usages)
		return heap_error_out_of_memory();
	read_smaps(image, usages);
	for (size_t i = 0; i < image->mapping_count; i++)
		any |= usages[i].left_out;
	if (!any)
		return NULL;
	image->parts = calloc(1, sizeof(*image->parts));
	return image->parts ? join(image, usages) : heap_error_out_of_memory();
}

uint64_t image_parts_skip(const struct image *image, uint64_t start, uint64_t end)
{
	const struct image_mapping *mapping = image_find(image, start);

	if (!mapping || !mapping->divided)
		return start;

	const struct span *spans = image->parts->spans.items;
	size_t at = heap_partition_point(i, (size_t)0, image->parts->spans.count,
					 spans[i].end <= start);

	if (at == image->parts->spans.count || spans[at].start >= end)
		return end;
	return spans[at].start > start ? spans[at].start : start;
}
