// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VOID_PLACES_H
#define VOID_PLACES_H

/**
 * Places of void pointers, and the search for what they lead to: see void_pointers.h.
 *
 *	void_visits.h    the void pointers of all values
 *	void_pointers.c  places, with samples of their targets, and the claims at the end
 *	void_meanings.h  what a place's samples say of all of its targets
 */

#include "dumper/writer/infer/void_pointers/byte_lengths.h"
#include "dumper/writer/infer/void_pointers/callbacks.h"
#include "dumper/writer/infer/deep_content.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/void_pointers/self_lengths.h"
#include "dumper/writer/infer/void_pointers/void_arrays.h"
#include "dumper/writer/infer/void_pointers/void_casts.h"
#include "dumper/writer/infer/classes/thin_templates.h"
#include "dumper/writer/infer/void_pointers/void_contexts.h"
#include "lib/base/hash_table.h"

enum {
	VOID_SAMPLES = 64, /**< targets of one place */
};

/** The targets of void pointers at one place. */
enum void_meaning {
	MEANS_NOTHING,
	MEANS_TAGGED, /**< structs with an enum tag */
	MEANS_LENGTH, /**< a struct with its own length */
	MEANS_TYPE,
	MEANS_BYTES, /**< as many as a number beside the pointer says */
	MEANS_CAST,  /**< what code casts the pointer to */
	MEANS_ONE_CAST, /**< the only one of these that all of a narrow place may be, or values of it in a row */
	MEANS_POINTERS, /**< an array of void pointers */
	MEANS_TEXT,
};

/**
 * Void pointers at one place of a type. Those that lead to different types are told apart by the callback that
 * the value has beside them, or by what leads to that, or by their index in an array.
 */
struct void_place {
	heap_type_id type;
	uint64_t offset;
	uint64_t exact;    /**< VOID_INDEX: the offset of that element */
	uint64_t callback; /**< or VOID_CONTEXT and a context, or VOID_INDEX and a hash; 0: any */
	struct callback beside; /**< the callback in the type; NO_CALLBACK: not needed */
	uint32_t pointers, kept, step;
	uint32_t inner;  /**< pointers into the middle of blocks, and no samples */
	uint32_t voters; /**< of all pointers, not only samples, those to blocks with a name */
	struct majority names;                     /**< likewise: the types of these */
	struct byte_pointer samples[VOID_SAMPLES]; /**< [kept] each step-th */
	struct void_arrays arrays;                 /**< by content */
	enum void_meaning meaning;
	struct self_length length;   /**< its type also for MEANS_TYPE and MEANS_BYTES */
	struct header_member number; /**< MEANS_BYTES: that of the bytes */
	struct void_casts casts;     /**< MEANS_CAST */
	const struct thin_content
		*named;  /**< what the template around the pointers says; NULL: nothing */
	bool is_partial; /**< some samples have no name, and others voted; or no cast is for them */
	bool is_few; /**< few have voted: the contents of each of the others must speak for it */
	bool is_handled;   /**< the callback has told the type */
	bool is_contested; /**< its functions handle several types that the targets may be */
	bool is_mixed;     /**< MEANS_CAST: the targets are of several types */
	enum rank rank;
};

#define VOID_CONTEXT (UINT64_C(1) << 63) /**< no address has this bit */
/** Nor this: of one context, and one length of the array, all elements with one index. */
#define VOID_INDEX (UINT64_C(1) << 62)

/** The void pointers of the values of a type, so far. */
enum voids {
	VOIDS_UNKNOWN,
	VOIDS_NONE,
	VOIDS_IDLE, /**< that the next visit wants nothing of */
	VOIDS_SOME,
};

#define NO_INDEX UINT64_MAX

/** A void pointer of a value. */
struct void_pointer {
	heap_type_id type; /**< that has it */
	uint64_t offset;   /**< in that, of the first element of an array */
	uint64_t exact;    /**< of the element; NO_INDEX: it is in no short array */
	uint64_t
		length; /**< bytes of the block that is an array of such pointers; 0: it is a member */
	uint64_t value; /**< address of the value, one element of an array */
	/** From there to the element of an array in it that has the pointer; 0: the first, or none. */
	uint64_t element;
	heap_object_id holder;             /**< HEAP_NO_OBJECT: a variable... */
	const struct heap_root_edge *edge; /**< ...from which this is the edge; NULL: none */
	heap_object_id target;
	bool is_sure;  /**< the name of its holder */
	bool is_inner; /**< it leads into the middle of its target */
};

/** The search of void_pointers_claim(). */
struct void_search {
	struct inference *inference;
	uint8_t *voids;   /**< [types] enum voids */
	bool has_holders; /**< objects have types that the next visit wants */
	struct HEAP_ARRAY(struct void_place) places;
	struct heap_hash_table by_place;
	struct self_lengths lengths;
	struct deep_content deep;
	struct deep_values values;
	uint64_t *words; /**< [CONTENT_WORDS + 1] */
	bool by_content;
	bool by_callback;  /**< places are being counted by callbacks */
	bool by_context;   /**< likewise */
	bool by_index;     /**< likewise */
	uint32_t indexed;  /**< places that have an index */
	uint64_t compared; /**< types, with the contents of what these lead to */
	struct void_contexts contexts;
	heap_type_id void_pointer; /**< that type; HEAP_NO_TYPE: the program has none */
	uint64_t *claimed;
};

#endif
