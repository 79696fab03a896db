// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CLASS_CLAIMS_H
#define CLASS_CLAIMS_H

/**
 * The claims of vtable pointers: a block that begins with one is an object of its class, unless it is larger, and
 * begins with such an object.
 *
 *	class Watch { virtual ... };		struct Timing { Watch watch; const char *label; };
 *	┌────────┬──────────┐			┌────────┬──────────┬───────┐
 *	│ vtable │ members  │			│ vtable │ members  │ label │
 *	└────────┴──────────┘			└────────┴──────────┴───────┘
 *
 * Where the size of the class is known, a struct of the block's size that has the class as its first member, and not
 * as its base, is as likely: the vtable is a mere hint then. Without debug information the smallest block with the
 * vtable tells that size. A larger one gets no name, unless its site makes objects of several sizes, with data of any
 * length behind them, or it is an array.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

struct inference;

/** @param classes  [objects] the class whose vtable each begins with, or HEAP_NO_TYPE */
HEAP_MUST_CHECK
struct heap_error *class_claims_add(struct inference *inference, const heap_type_id *classes);

#endif
