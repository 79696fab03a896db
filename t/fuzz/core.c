// SPDX-License-Identifier: GPL-3.0-or-later
// A core file that is damaged, or was made to do harm: its headers, notes, names and segments. The
// mapped files that it names are looked for in a directory that has none.
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/core_file.h"
#include "dumper/writer/scan/image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile uint64_t sink;

static void check_segments(const struct core *core, size_t size)
{
	uint64_t end = 0, stored = 0;

	for (size_t i = 0; i < core->segments.count; i++) {
		const struct core_segment *segment = &core->segments.items[i];

		if (segment->start < end || segment->end <= segment->start ||
		    segment->size > segment->end - segment->start || segment->size > size ||
		    (segment->size > 0 && segment->offset > size - segment->size))
			abort();
		end = segment->end;
		stored += segment->size;
		sink += strlen(segment->name);
	}
	// No byte of the file is memory twice: a small file is not a huge process.
	if (stored > size || strlen(core->program) > 16 || strlen(core->command) > 80)
		abort();
}

static struct heap_error *visit(void *context, uint64_t address, const uint64_t *words,
				size_t count)
{
	uint64_t *visited = context;

	sink += address + words[0] + words[count - 1];
	*visited += count * 8;
	return NULL;
}

static void visit_unread(void *context, uint64_t start, uint64_t end)
{
	if (start >= end || start % 4096 != 0 || end % 4096 != 0 ||
	    image_read(context, start, (uint8_t[4096]){ 0 }, 4096))
		abort();
}

// Blocks lie in memory, and do not overlap.
static void find_blocks(const struct image *image)
{
	struct blocks blocks;
	struct heap_error *error = blocks_find(&blocks, image, &(struct block_threads){ 0 });
	uint64_t end = 0;

	for (size_t i = 0; !error && i < blocks.list.count; i++) {
		if (blocks.list.items[i].address < end)
			abort();
		end = blocks.list.items[i].address + blocks.list.items[i].size;
	}
	heap_error_destroy(error);
	blocks_deinit(&blocks);
}

// Visits all memory. What the file does not have takes no time.
static void use_image(const struct core *core, size_t size)
{
	struct image image;
	struct heap_error *error = image_init_core(&image, core);
	uint64_t visited = 0;
	size_t pages = 0;

	for (size_t i = 0; !error && i < image.mapping_count; i++) {
		error = image_visit(&image, image.mappings[i].start & ~UINT64_C(7),
				    image.mappings[i].end & ~UINT64_C(7), visit, &visited);
		pages += 4;
	}
	if (!error && visited > size + pages * 4096)
		abort();
	if (image.random)
		sink += image_read(&image, image.random, (uint64_t[2]){ 0 }, 16);
	heap_error_destroy(error);
	error = image_visit_unread(&image, visit_unread, &image);
	heap_error_destroy(error);
	find_blocks(&image);
	image_deinit(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int file = memfd_create("core", MFD_CLOEXEC);
	struct core core;
	struct heap_error *error;
	char path[32];

	if (file < 0 || write(file, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	error = core_open(&core, path, "/nowhere");
	if (!error) {
		check_segments(&core, size);
		use_image(&core, size);
	}
	heap_error_destroy(error);
	core_close(&core);
	close(file);
	return 0;
}
