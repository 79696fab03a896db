// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ENUM_NAMES_H
#define ENUM_NAMES_H

/**
 * Enumerators that have the names of structs.
 *
 *	enum { T_Query, T_SeqScan, … }		struct Query, struct SeqScan
 *	enum { COMPONENT_SPRITE, … }		struct sprite
 *	enum { OP_CALL, OP_PHI, … }		CallInfo, PhiInfo
 *	enum { ConstantVal, BlockVal, … }	class Constant, class Block
 *
 * Case and punctuation do not count in names, nor do the first words, or the first and last letters, that enumerators have in
 * common; all structs may have one affix beside the enumerator's name.
 */

#include "dumper/writer/infer/layout.h"
#include "lib/base/array.h"

enum {
	ENUM_NAME = 64, /**< bytes of a name; longer ones are cut */
};

/** An enum in a struct, whole or a bit-field. */
struct enum_place {
	heap_type_id tag; /**< the enum; HEAP_NO_TYPE: none, or of no interest */
	uint32_t offset;  /**< bytes */
	uint8_t shift, bits;
};

/** A struct by one of its names. */
struct named_struct {
	struct enum_place place;
	heap_type_id type;
	char name[ENUM_NAME]; /**< without case and punctuation */
};

struct named_structs HEAP_ARRAY(struct named_struct);

/** Structs that an enum's enumerators may name, by their names. */
struct enum_structs {
	const struct heap_types *types;
	heap_type_id tag;                /**< the enum */
	const struct named_struct *list; /**< [count] */
	size_t count;
};

/** The part of enumerators' names that names a struct, and the rest of the struct's name. */
struct enum_naming_rule {
	int skipped;        /**< words */
	size_t front, back; /**< further letters that most enumerators begin and end with */
	bool is_before;     /**< the affix */
	char affix[ENUM_NAME];
	uint32_t count; /**< structs that enumerators name */
};

/** Keeps letters and digits alone, in lower case. @param folded  [ENUM_NAME] @return the length */
size_t enum_names_fold(const char *name, char *folded);

/** Folds the name of an enumerator without its first words. @return its length; 0: it has no more words */
size_t enum_names_core(const struct heap_types *types, heap_type_id tag, uint32_t enumerator,
		       int skipped, char *folded);

/**
 * Sets the name of a struct, or of a typedef of it.
 *
 * @return false: it has none
 */
bool enum_names_set(const struct layouts *layouts, heap_type_id id, struct named_struct *named);

/** Finds the rule by which most enumerators name structs, or @p enough do. */
HEAP_MUST_CHECK
struct heap_error *enum_names_find_rule(const struct enum_structs *structs, uint32_t enough,
					struct enum_naming_rule *result);

/** The enumerators that rules are applied to: the first few thousand. */
uint32_t enum_names_count(const struct enum_structs *structs);

/** The only struct that an enumerator names by a rule, or HEAP_NO_TYPE. */
heap_type_id enum_names_apply(const struct enum_structs *structs,
			      const struct enum_naming_rule *rule, uint32_t enumerator);

#endif
