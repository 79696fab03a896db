// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNION_NAMES_H
#define UNION_NAMES_H

/**
 * Unions whose members have the names of a tag's enumerators.
 *
 *	enum kind { NODE_CALL, NODE_UNARY, NODE_RETURN, ... };
 *	struct node { enum kind kind; union { struct { ... } call; struct { ... } unary; struct node *result; }; };
 *
 * Names may be short: INT, STR and LIST name i, s and l, if all members have such a name, each of one enumerator.
 *
 * If several members have such names, the tag tells which of them holds, where no block has taught it (union_tags.h):
 * for those values that name none, one of the members that no value names does.
 */

#include "dumper/writer/infer/tags/union_choices.h"

/** Finds out once for a choice which pointee goes with which value of which number. */
HEAP_MUST_CHECK
struct heap_error *union_names_find(const struct inference *inference, struct union_choice *choice);

/** The pointee that the tag in a struct at an address names; HEAP_NO_TYPE: none, or any. */
heap_type_id union_names_ask(const struct inference *inference, const struct union_choice *choice,
			     uint64_t address);

#endif
