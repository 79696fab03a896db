// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARENA_PIECES_H
#define ARENA_PIECES_H

/**
 * Arenas as several objects: while types are inferred, each chunk is an object of its own.
 *
 *	the heap's objects        A   B (arena)                            C
 *	inference's objects       A   head, header, chunk, header, …, rest  C
 *
 * So all evidence counts for chunks as for blocks, except that of sites: the allocator's code does not
 * know what it cuts. Afterwards the typed pieces become parts of their arena, and so do free chunks, and what
 * rounding has added to chunks, with types of their own names: "free memory", "slack memory".
 */

#include "dumper/writer/infer/parts/arenas.h"

struct head_words;

enum {
	ARENA_LEAST = 16, /**< the smallest size that chunks are rounded to has no size below it */
};

/** Marks of pieces in objects.flags, beside enum heapsnap_block_flags. */
enum arena_piece_flags {
	ARENA_SLOT = 1 << 3,    /**< a chunk of a page: chunk_pages.h tells its slack */
	ARENA_HEADER = 1 << 4,  /**< before a chunk */
	ARENA_CHUNK = 1 << 5,   /**< nothing is known of the code that asked for it */
	ARENA_ROUNDED = 1 << 6, /**< a chunk whose size is a power of 2, whatever was asked for */
	ARENA_UNUSED = 1 << 7,  /**< a free chunk, or what was never cut */
};

/** The heap's own tables, kept while its arenas are cut. Zeros: none is. */
struct arena_pieces {
	struct arenas arenas;
	struct objects whole;        /**< the heap's objects */
	uint32_t *first;             /**< [whole.count + 1] the first piece of each */
	uint32_t *edge_first;        /**< the column of the heap's objects */
	heap_site_id *site_of_kind;  /**< likewise */
	heap_site_id *maker_of_kind; /**< likewise */
	uint32_t *step_of_kind;      /**< likewise: capture.backtraces.of_kind */
	heap_type_id *classes;       /**< [objects] of the pieces */
	uint8_t *with_code;          /**< the bits of the heap's objects */
};

/**
 * Finds the arenas, and cuts them. Without any, nothing changes.
 *
 * @param pieces   zeros at first; arena_pieces_deinit() frees it, also after an error
 * @param classes  [objects] replaced by that of the pieces
 */
HEAP_MUST_CHECK
struct heap_error *arena_pieces_cut(struct arena_pieces *pieces, struct capture *capture,
				    const heap_type_id **classes, struct head_words *heads);

/** Makes arenas of their pieces again, whose types become those of parts. */
HEAP_MUST_CHECK
struct heap_error *arena_pieces_join(struct arena_pieces *pieces, struct capture *capture,
				     struct head_words *heads);

/** Frees it. If the arenas have not been joined, the capture keeps the pieces as objects. */
void arena_pieces_deinit(struct arena_pieces *pieces);

#endif
