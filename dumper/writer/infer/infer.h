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
