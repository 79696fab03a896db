// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_EVIDENCE_H
#define HEAP_EVIDENCE_H

/** Names of the kinds of evidence. */

#include "lib/snapshot/snapshot.h"

/** The name of a kind of evidence, in filters and answers: "vtable", "pointer"... */
const char *heap_evidence_name(enum heap_evidence evidence);

/** The names of all kinds, "none, declared, vtable...": malloc'd; NULL: out of memory. */
char *heap_evidence_list(void);

#endif
