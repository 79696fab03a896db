// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef INFER_H
#define INFER_H

/**
 * Type inference over the pointer graph: finds the type of each block.
 *
 * Evidence comes, strongest first, from the program itself (heapsnap_set_type()), from
 * vtable pointers, and from typed slots: a pointer variable or a pointer member of a block
 * whose type is known says what it points to, if the size agrees. What has been named
 * names others in turn, until nothing changes. infer.c has the method and its risks.
 */

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/head_words.h"

/** Where classes' vtables are, so that a block's first word can be looked up. */
struct vtables;

HEAP_MUST_CHECK
struct heap_error *vtables_create(struct capture *capture, struct vtables **result);

void vtables_destroy(struct vtables *vtables);

/** No vtable lies outside of [*low, *high). */
void vtables_bounds(const struct vtables *vtables, uint64_t *low, uint64_t *high);

/** The class whose vtable @p word points into, or HEAP_NO_TYPE. */
heap_type_id vtables_find(struct vtables *vtables, uint64_t word);

/**
 * Names what can be named: fills capture's type, elements and evidence, and marks the
 * edges and root edges that are typed slots.
 *
 * @param classes  [objects] the class of each block's vtable, or HEAP_NO_TYPE
 * @param heads    what may lead to method tables
 */
HEAP_MUST_CHECK
struct heap_error *infer_types(struct capture *capture, const heap_type_id *classes,
			       const struct head_words *heads);

#endif
