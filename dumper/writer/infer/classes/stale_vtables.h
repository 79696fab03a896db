// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STALE_VTABLES_H
#define STALE_VTABLES_H

/**
 * Stale vtable pointers: a deleted object leaves one in the first word of its block, and the next object there may
 * not use that word. A std::map does not.
 *
 *	┌────────┬──────────┐   delete, new   ┌────────┬─────────────────────┐
 *	│ vtable │ members  │ ──────────────▶ │ vtable │ head of the tree    │
 *	└────────┴──────────┘                 └────────┴─────────────────────┘
 */

#include "dumper/writer/infer/inference.h"

/**
 * True if a type has an object's size, and leaves the first word of an object alone that is named by what lies there.
 */
bool stale_vtables_explain(const struct inference *inference, heap_object_id object,
			   heap_type_id type);

#endif
