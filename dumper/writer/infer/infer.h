// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef INFER_H
#define INFER_H

/**
 * Type inference over the pointer graph: finds the type of each block.
 *
 * Evidence comes, strongest first, from the program itself (heapsnap_set_type()), from
 * vtable pointers, and from typed slots: a pointer variable or a pointer member of a block
 * whose type is known gives its target a type, if the size agrees. Named blocks name others
 * in turn, until nothing changes. README.md describes the method and its risks.
 */

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/head_words.h"

/** Completes the table of types, once all modules' types are in it. To be called before sites are found. */
HEAP_MUST_CHECK
struct heap_error *infer_complete_types(struct capture *capture);

/**
 * Infers the types of blocks: fills the capture's type, elements and evidence, and marks the
 * edges and root edges that are typed slots.
 *
 * @param classes  [objects] the class of each block's vtable, or HEAP_NO_TYPE
 * @param heads    first words that may point to method tables
 */
HEAP_MUST_CHECK
struct heap_error *infer_types(struct capture *capture, const heap_type_id *classes,
			       struct head_words *heads);

#endif
