// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NAMED_POINTEES_H
#define NAMED_POINTEES_H

/**
 * Void pointers with an enum beside them, whose enumerators have the names of what the pointers lead to.
 *
 *	struct column { enum component kind; uint32_t stride; void *data; }
 *			COMPONENT_SPRITE		      └──▶ struct sprite │ struct sprite │ …
 *			COMPONENT_HEALTH		      └──▶ struct health │ struct health │ …
 *
 * A name alone proves nothing. Such an enum counts if it has several values, and nearly all targets have the sizes
 * and may have the contents of the structs that these name.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims what such pointers lead to: whole blocks, or parts of pools.
 *
 * @param claimed  increased by the number of blocks
 */
HEAP_MUST_CHECK
struct heap_error *named_pointees_claim(struct inference *inference, uint64_t *claimed);

#endif
