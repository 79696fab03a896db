// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/reallocations.h"

#include "dumper/base/header.h"

#include <stdlib.h>

static bool is_stamp(uint64_t origin)
{
	return origin >> HEAPSNAP_SITE_BITS == HEAPSNAP_MOVING;
}

// The extent is written before the signature. What looks like a stamp may be a copy of one.
static bool has_extent(const struct heapsnap_move *note, uint64_t extent)
{
	return extent == note->extent ||
	       extent == heapsnap_extent(note->size, heapsnap_extent_birth(note->extent), 0, 0);
}

// At its old place libc may not have touched it yet, or may have given its memory to others.
static uint64_t find_place(const struct image *image, const struct heapsnap_move *note)
{
	struct heapsnap_header header;

	if (!image_read(image, note->block - HEAPSNAP_HEADER_SIZE, &header, sizeof(header)) ||
	    !has_extent(note, header.extent) || header.origin != note->stamp)
		return 0;
	return note->block;
}

struct heap_error *moves_init(struct moves *moves, const struct image *image,
			      const struct heapsnap_process *process,
			      const struct heapsnap_thread *threads)
{
	*moves = (struct moves){ calloc(process->thread_count + 1, sizeof(*moves->moves)), 0 };
	if (!moves->moves)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < process->thread_count; i++) {
		uint64_t address = threads[i].thread_pointer + (uint64_t)process->move_offset;
		struct heapsnap_move note;

		if (threads[i].thread_pointer == 0 ||
		    !image_read(image, address, &note, sizeof(note)) || note.block == 0 ||
		    !is_stamp(note.stamp))
			continue;
		moves->moves[moves->count++] = (struct move){ note, find_place(image, &note) };
	}
	return NULL;
}

void moves_deinit(struct moves *moves)
{
	free(moves->moves);
}

const struct heapsnap_move *moves_find(struct moves *moves, uint64_t block, uint64_t extent,
				       uint64_t stamp)
{
	for (size_t i = 0; i < moves->count; i++) {
		struct move *move = &moves->moves[i];

		if (move->note.stamp != stamp || !has_extent(&move->note, extent) ||
		    (move->place != 0 && move->place != block))
			continue;
		move->place = block;
		return &move->note;
	}
	return NULL;
}
