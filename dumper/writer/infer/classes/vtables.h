// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VTABLES_H
#define VTABLES_H

/** Finds the class of an object by its first word, which points into the vtable of that class. */

#include "dumper/writer/scan/capture.h"

struct vtables;

HEAP_MUST_CHECK
struct heap_error *vtables_create(struct capture *capture, struct vtables **result);

void vtables_destroy(struct vtables *vtables);

/** The half-open range of addresses that contains all vtables. */
void vtables_bounds(const struct vtables *vtables, uint64_t *low, uint64_t *high);

/** The class whose vtable @p word points into, or HEAP_NO_TYPE. */
heap_type_id vtables_find(struct vtables *vtables, uint64_t word);

#endif
