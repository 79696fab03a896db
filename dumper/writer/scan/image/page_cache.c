// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/page_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
	PAGE = 4096,
	MIN_PAGES = 16,
	SHARE = 64, // of the memory that there may be, no more than one part in so many
	NEAR = 4,   // pages: as far ahead is still by ascending addresses
	AHEAD = 16, // are read at once there
};

struct pages {
	const struct image *image;
	size_t count;           // a power of two
	uint64_t last;          // page that was read
	uint64_t *numbers;      // [count] of the pages that are there
	uint8_t (*bytes)[PAGE]; // [count]
};

// How many are kept; a power of two.
static size_t count_pages(size_t most)
{
	struct rlimit limit;
	size_t count = most;

	if (getrlimit(RLIMIT_DATA, &limit) != 0)
		return count;
	while (count > MIN_PAGES && (rlim_t)count * PAGE > limit.rlim_cur / SHARE)
		count /= 2;
	return count;
}

struct pages *pages_create(const struct image *image, size_t most)
{
	struct pages *pages = calloc(1, sizeof(*pages));
	size_t count = count_pages(most);

	if (!pages)
		return NULL;
	// No memory of malloc()'s: where that is in huge pages, each page would cost one.
	*pages = (struct pages){
		.image = image,
		.count = count,
		.numbers = calloc(count, sizeof(*pages->numbers)),
		.bytes = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	};
	if (!pages->numbers || pages->bytes == MAP_FAILED) {
		pages_destroy(pages);
		return NULL;
	}
	madvise(pages->bytes, count * PAGE, MADV_NOHUGEPAGE);
	return pages;
}

void pages_destroy(struct pages *pages)
{
	if (!pages)
		return;
	if (pages->bytes != MAP_FAILED)
		munmap(pages->bytes, pages->count * PAGE);
	free(pages->numbers);
	free(pages);
}

static size_t place_of(const struct pages *pages, uint64_t number)
{
	return number & (pages->count - 1);
}

static void fetch(struct pages *pages, uint64_t number)
{
	size_t place = place_of(pages, number), count = 1;

	if (number > pages->last && number - pages->last <= NEAR)
		count = place + AHEAD <= pages->count ? AHEAD : pages->count - place;
	image_read_padded(pages->image, number * PAGE, pages->bytes[place], count * PAGE);
	for (size_t i = 0; i < count; i++)
		pages->numbers[place + i] = number + i;
	pages->last = number + count - 1;
}

void pages_read(struct pages *pages, uint64_t address, void *buffer, size_t size)
{
	uint8_t *at = buffer;

	while (size > 0) {
		uint64_t number = address / PAGE;
		size_t start = address % PAGE, part = PAGE - start < size ? PAGE - start : size;

		size_t place = place_of(pages, number);

		if (pages->numbers[place] != number)
			fetch(pages, number);
		memcpy(at, pages->bytes[place] + start, part);
		at += part;
		address += part;
		size -= part;
	}
}
