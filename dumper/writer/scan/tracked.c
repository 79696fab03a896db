// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/tracked.h"

#include "dumper/base/header.h"

#include <stdlib.h>

enum {
	MAX_PIECES = 1 << 24, // the process' count may have been overwritten
};

static int compare_pieces(const void *left, const void *right)
{
	const struct heapsnap_piece *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

struct heap_error *tracked_init(struct tracked *tracked, const struct image *image,
				const struct heapsnap_process *process)
{
	size_t count =
		process->pieces && process->piece_count <= MAX_PIECES ? process->piece_count : 0;

	*tracked = (struct tracked){ .pieces = calloc(count + 1, sizeof(*tracked->pieces)) };
	if (!tracked->pieces)
		return heap_error_out_of_memory();
	image_read_padded(image, process->pieces, tracked->pieces,
			  count * sizeof(*tracked->pieces));
	for (size_t i = 0; i < count; i++) {
		const struct heapsnap_piece *piece = &tracked->pieces[i];

		if (piece->address % 8 == 0 && heapsnap_extent_size(piece->extent) > 0)
			tracked->pieces[tracked->count++] = *piece;
	}
	qsort(tracked->pieces, tracked->count, sizeof(*tracked->pieces), compare_pieces);
	return NULL;
}

void tracked_deinit(struct tracked *tracked)
{
	free(tracked->pieces);
}

void tracked_skip(struct tracked *tracked, uint64_t before)
{
	while (tracked_next(tracked) < before)
		tracked->at++;
}

void tracked_rewind(struct tracked *tracked, uint64_t after)
{
	while (tracked->at > 0 && tracked->pieces[tracked->at - 1].address >= after)
		tracked->at--;
}

uint64_t tracked_next(const struct tracked *tracked)
{
	return tracked->at < tracked->count ? tracked->pieces[tracked->at].address : UINT64_MAX;
}
