// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ENUM_TAGS_H
#define ENUM_TAGS_H

/**
 * Enum tags: an enum with which structs begin, and whose enumerators have the names of those structs.
 *
 *	enum NodeTag { T_Query, T_SeqScan, … };     struct SeqScan { struct Plan { enum NodeTag type; … } plan; … };
 *	typedef enum { OBJ_STRING, … } ObjType;     typedef struct { struct Obj { ObjType type; … } obj; … } ObjString;
 *
 * So the number in a block names its struct (enum_names.h), however little the type of a pointer to it says. The enum may be
 * a bit-field. Where enumerators have no names of structs, contents tell which goes with which (kin_tags.h).
 */

#include "dumper/writer/infer/tags/enum_names.h"
#include "dumper/writer/infer/tags/kin_tags.h"
#include "lib/base/array.h"

struct inference;

/** The struct that a value of an enum at a place names. */
struct enum_tag_value {
	uint32_t place; /**< in enum_tags.places */
	uint64_t value; /**< as many bits as the place has */
	heap_type_id type;
};

struct enum_tags {
	uint16_t *
		place_of; /**< [types] place + 1 of its tag; 0: it has none; NULL: there are no tags */
	struct HEAP_ARRAY(struct enum_place) places;     /**< of the enums that are tags */
	struct HEAP_ARRAY(struct enum_tag_value) values; /**< by place, value */
	struct HEAP_ARRAY(struct kin) kin;               /**< whose tags may be learned */
	uint16_t *kin_of; /**< [types] number of its kin + 1; 0: it has none; NULL: no type has */
	uint32_t named;   /**< the first places, whose enumerators name structs */
};

/**
 * Finds the enums. enum_tags_deinit() frees them, also after an error.
 *
 * @param layouts  gets is_page set for structs with a flexible array of unions whose members have tags: what a union's
 *                 other members say of a slot is wrong, so no large block is such a struct as a whole
 */
HEAP_MUST_CHECK
struct heap_error *enum_tags_init(struct enum_tags *tags, struct layouts *layouts);

/** Learns the tags of kin (kin_tags.h), whose enumerators do not name structs. */
HEAP_MUST_CHECK
struct heap_error *enum_tags_learn(struct inference *inference);

void enum_tags_deinit(struct enum_tags *tags);

/** True if a type has a tag. Thread-safe. */
static inline bool enum_tags_have(const struct enum_tags *tags, heap_type_id type)
{
	return tags->place_of && tags->place_of[type];
}

/** True if a type is nothing but a tag that another type has at the same place: any of them begins so. So do kin. */
bool enum_tags_is_beginning(const struct inference *inference, heap_type_id part,
			    heap_type_id whole);

/** The struct that the tag of a value names. @return HEAP_NO_TYPE if it names none, or a smaller one */
heap_type_id enum_tags_read(const struct inference *inference, heap_type_id type, uint64_t address);

/** The struct that is named where @p type has its tag. @return HEAP_NO_TYPE if there is none */
heap_type_id enum_tags_read_as(const struct inference *inference, heap_type_id type,
			       uint64_t address);

/** True if a pointer to the start of a block as a type may lead to one of its kin, by the block's size. Thread-safe. */
bool enum_tags_may_be_kin(const struct inference *inference, heap_type_id type,
			  heap_object_id object);

/**
 * True if a block that is larger than one of several kin may be one: an allocator takes a free chunk whole if what remains of
 * it would be too small for another.
 */
bool enum_tags_may_be_in_larger(const struct inference *inference, heap_type_id type,
				heap_object_id object);

/** True if the tags of supposed elements name other structs: so many that they are no array of @p type. */
bool enum_tags_refute_array(const struct inference *inference, heap_type_id type, uint64_t address,
			    uint64_t elements);

/**
 * The struct that the tag of a whole block names, if the block has its size, and its content does not
 * contradict.
 *
 * @param words  [CONTENT_WORDS + 1] the caller's
 */
struct layout_claim enum_tags_fit(const struct inference *inference, heap_object_id object,
				  uint64_t *words);

#endif
