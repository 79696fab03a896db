// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory of a process in which each walk looks for the blocks of its allocator. The input:
 *
 *	'm' kind, 'p' or '-', start u64, pages u16     a mapping; kind: a(nonymous) h(eap) f(ile)
 *	'w' address u64, count u8, words u64...        what it holds
 *	't' thread pointer u64
 *	'r' address u64                                of 16 random bytes
 *
 * 'p' stands for pages that are there, '-' for memory that a core file has left out.
 */
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/core_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	MAX_MAPPINGS = 64,
	MAX_THREADS = 16,
	MAX_BYTES = 32 << 20, // in all
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct input {
	const uint8_t *bytes;
	size_t size;
};

struct process {
	struct core core;
	struct core_segment segments[MAX_MAPPINGS];
	uint64_t threads[MAX_THREADS];
	size_t thread_count;
	uint8_t *memory;
	uint64_t used; // bytes
};

static void take(struct input *input, void *result, size_t size)
{
	size_t got = size < input->size ? size : input->size;

	memset(result, 0, size);
	if (got > 0)
		memcpy(result, input->bytes, got);
	input->bytes += got;
	input->size -= got;
}

// They come by address, and do not overlap.
static void add_mapping(struct process *process, struct input *input)
{
	struct core *core = &process->core;
	uint64_t start;
	uint16_t pages;
	char kind[2];

	take(input, kind, sizeof(kind));
	take(input, &start, sizeof(start));
	take(input, &pages, sizeof(pages));
	start &= ~(uint64_t)(PAGE - 1);

	uint64_t before =
		core->segments.count ? core->segments.items[core->segments.count - 1].end : PAGE;
	uint64_t length = (uint64_t)pages * PAGE << (kind[1] == 'p' ? 0 : 20);

	if (core->segments.count == MAX_MAPPINGS || start < before || length == 0 ||
	    length > UINT64_MAX - start || (kind[1] == 'p' && length > MAX_BYTES - process->used))
		return;
	core->segments.items[core->segments.count++] = (struct core_segment){
		.start = start,
		.end = start + length,
		.offset = process->used,
		.size = kind[1] == 'p' ? length : 0,
		.protection = PROT_READ | PROT_WRITE,
		.name = kind[0] == 'f'   ? "/lib/libc.so.6"
			: kind[0] == 'h' ? "[heap]"
					 : "",
		.file_offset = 4096, // data, and not the beginning of a module
		.file = -1,
	};
	if (kind[1] == 'p')
		process->used += length;
}

static void put_words(struct process *process, struct input *input)
{
	uint64_t address, word;
	uint8_t count;

	take(input, &address, sizeof(address));
	take(input, &count, sizeof(count));
	for (; count > 0 && input->size > 0; count--, address += 8) {
		take(input, &word, sizeof(word));
		for (size_t i = 0; i < process->core.segments.count; i++) {
			const struct core_segment *segment = &process->segments[i];

			if (segment->size >= 8 && address - segment->start <= segment->size - 8)
				memcpy(process->memory + segment->offset +
					       (address - segment->start),
				       &word, sizeof(word));
		}
	}
}

static void read_input(struct process *process, struct input input)
{
	uint64_t word;
	char what;

	while (input.size > 0) {
		take(&input, &what, 1);
		if (what == 'm') {
			add_mapping(process, &input);
		} else if (what == 'w') {
			put_words(process, &input);
		} else if (what == 't' || what == 'r') {
			take(&input, &word, sizeof(word));
			if (what == 'r')
				process->core.random = word;
			else if (process->thread_count < MAX_THREADS)
				process->threads[process->thread_count++] = word;
		}
	}
}

// Blocks lie in memory, one behind the other.
static void check(const struct image *image, const struct objects *objects, uint64_t used)
{
	uint64_t end = 0;

	if (objects->count > used / 8 + 1)
		abort();
	for (size_t i = 0; i < objects->count; i++) {
		uint64_t address = objects_address(objects, i);

		if (address < end || !image_find(image, address))
			abort();
		end = address + objects_size(objects, (heap_object_id)i);
	}
}

static void find_blocks(const struct process *process)
{
	const struct block_threads threads = { process->threads, process->thread_count };
	struct image image;
	struct blocks blocks = { 0 };
	struct objects objects = { 0 };
	struct heap_error *error = image_init_core(&image, &process->core);

	if (!error)
		error = objects_init(&objects);
	if (!error)
		error = blocks_find(&blocks, &image, &threads);
	if (!error)
		error = blocks_add_objects(&blocks, &image, &objects);
	if (!error)
		check(&image, &objects, process->used);
	heap_error_destroy(error);
	objects_deinit(&objects);
	blocks_deinit(&blocks);
	image_deinit(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct process process;

	process = (struct process){ .core.descriptor = memfd_create("memory", MFD_CLOEXEC) };
	process.core.segments.items = process.segments;
	if (process.core.descriptor < 0 || ftruncate(process.core.descriptor, MAX_BYTES) != 0)
		abort();
	process.memory = mmap(NULL, MAX_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			      process.core.descriptor, 0);
	if (process.memory == MAP_FAILED)
		abort();
	read_input(&process, (struct input){ bytes, size });
	find_blocks(&process);
	munmap(process.memory, MAX_BYTES);
	close(process.core.descriptor);
	return 0;
}
