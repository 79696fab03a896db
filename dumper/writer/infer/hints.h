// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HINTS_H
#define HINTS_H

/**
 * Hints: "there is a T at this offset of the block, whatever the block is". Typed slots that do
 * not determine a block's type leave them. They confirm or exclude types of the block, and as a last
 * resort suggest one.
 */

#include "dumper/writer/base/sparse_column.h"
#include "dumper/writer/infer/content.h"
#include "dumper/writer/infer/kinds.h"
#include "lib/base/array.h"

enum {
	NO_HINT = 0,
};

/** The evidence of a typed slot for a block that it does not name. Many are kept: 20 bytes. */
struct hint {
	uint32_t next; /**< of the same block, or NO_HINT */
	heap_object_id object;
	heap_type_id type;
	uint32_t interior;       /**< in bytes, behind the block's prefix */
	uint32_t count : 29;     /**< slots that said so */
	uint32_t either : 1;     /**< a union's: this or another of its members */
	uint32_t is_passing : 1; /**< all of these are local variables */
	uint32_t
		may_be_bytes : 1; /**< all of these are in unions with bytes that may hold instead */
};

/** A hash table of the hints on blocks that have more than a few. */
struct hint_table {
	uint32_t *slots; /**< [size] hash table of hints; NO_HINT: free */
	size_t size, count;
};

/** Blocks with new hints, as long as these are few: naming_follow() visits them alone. */
struct fresh_hints {
	struct HEAP_ARRAY(heap_object_id) objects;
	bool are_many; /**< there are others */
};

struct hints {
	struct sparse_column first; /**< [objects] its first hint, or NO_HINT */
	struct hint *list;          /**< [count] [0] is none */
	uint32_t count, capacity;
	uint32_t texts; /**< hints of blocks that may be texts, since they were last read */
	struct hint_table table;
	struct fresh_hints fresh[NAMINGS]; /**< since naming by that evidence has visited all */
};

/** hints_deinit() frees it, also after an error. */
HEAP_MUST_CHECK
struct heap_error *hints_init(struct hints *hints, heap_object_id objects);

void hints_deinit(struct hints *hints);

/** All blocks with new hints have been visited for naming by an evidence. */
void hints_forget_fresh(struct hints *hints, enum naming_evidence evidence);

/** The first hint on an object, or NO_HINT. */
static inline uint32_t hints_first(const struct hints *hints, heap_object_id object)
{
	return sparse_column_get(&hints->first, object);
}

/** True if there are hints on an object. */
static inline bool hints_have(const struct hints *hints, heap_object_id object)
{
	return sparse_column_has(&hints->first, object);
}

/** The first object from one on, before @p end, with hints on it; @p end if there is none. */
static inline heap_object_id hints_next(const struct hints *hints, heap_object_id object,
					heap_object_id end)
{
	return (heap_object_id)sparse_column_next(&hints->first, object, end);
}

/** Prefetches what hints_have() reads. */
static inline void hints_prefetch(const struct hints *hints, heap_object_id object)
{
	sparse_column_prefetch(&hints->first, object);
}

/** Notes a value of a type at the target of a pointer. */
HEAP_MUST_CHECK
struct heap_error *hints_add(struct inference *inference, heap_type_id type,
			     const struct pointer *pointer, bool either);

/** True if a pointer that is no union's leads to a value of a type at an offset of a block. */
bool hints_tell(const struct inference *inference, heap_object_id object, heap_type_id type,
		uint64_t interior);

/**
 * Makes the offsets of a block's hints relative to @p bytes behind its start. Hints on the bytes before
 * are dropped.
 */
HEAP_MUST_CHECK
struct heap_error *hints_rebase(struct inference *inference, heap_object_id object, uint32_t bytes);

/** Makes them relative to its start again. */
HEAP_MUST_CHECK
struct heap_error *hints_unbase(struct inference *inference, heap_object_id object, uint32_t bytes);

/** The verdict of evidence on a type for an object. */
enum verdict {
	VERDICT_NONE,
	VERDICT_FOR,
	VERDICT_AGAINST,
};

/** The verdict of one hint. Only structs are clear evidence: an int * may point anywhere. */
enum verdict hint_ask(const struct inference *inference, const struct hint *hint,
		      heap_type_id type);

/** The verdict of the majority of an object's hints. */
enum verdict hints_ask(const struct inference *inference, heap_object_id object, heap_type_id type);

/** The copy of a struct that most slots say an object begins with, if they say which; else @p type. */
heap_type_id hints_find_copy(const struct inference *inference, heap_object_id object,
			     heap_type_id type);

/** The same of the type that an object has, which may be a header with a payload behind it. */
enum verdict hints_ask_named(const struct inference *inference, heap_object_id object);

/** True if a hint is of a number, character or pointer just behind a struct, which may be its header. */
bool hint_is_payload(const struct inference *inference, const struct hint *hint, heap_type_id type);

/** The type of a char * that points to the start of an object, or HEAP_NO_TYPE. */
heap_type_id hints_find_text(const struct inference *inference, heap_object_id object);

/** Finds the best claim from the hints on a block alone; LAYOUT_NONE if there is none. */
HEAP_MUST_CHECK
struct heap_error *hints_weigh(const struct inference *inference, const struct content *content,
			       struct layout_claim *result);

/** True if there are more than a few hints on a block, as on arenas and large arrays. */
bool hints_are_many(const struct inference *inference, heap_object_id object);

/**
 * True if structs of the block's size have a smaller struct at an offset, and the content agrees with one of them: a
 * pointer to the smaller one may then be one to a base, or to a member.
 */
bool hints_may_be_part(const struct inference *inference, const struct content *content,
		       heap_type_id part, uint64_t offset);

#endif
