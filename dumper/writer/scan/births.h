// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BIRTHS_H
#define BIRTHS_H

/**
 * The epochs in which objects were allocated.
 *
 * Neighbours are often of one epoch, which then is kept once for a group of them; of other groups, each
 * object has its own:
 *
 *	groups   {3} {3} {mixed: 1} {4} …
 *	mixed                │ 3 3 4 3 …
 */

#include "lib/base/array.h"
#include "lib/base/error.h"

#include <stdint.h>

enum {
	BIRTH_GROUP = 256, /**< objects */
};

struct birth_group {
	uint32_t mixed; /**< its number among those in mixed, + 1; 0: all are of one epoch */
	uint16_t epoch; /**< of all */
};

/** Zeros are no births: all objects are of epoch 0. */
struct births {
	struct HEAP_ARRAY(struct birth_group) groups;
	struct HEAP_ARRAY(uint16_t) mixed; /**< BIRTH_GROUP of each such group */
};

void births_deinit(struct births *births);

/** births_add() where the object's group may have to be made, or mixed. */
HEAP_MUST_CHECK
struct heap_error *births_add_to_group(struct births *births, uint32_t object, uint16_t epoch);

/** Sets that of the object behind all others, or of one that replaces it. */
HEAP_MUST_CHECK
static inline struct heap_error *births_add(struct births *births, uint32_t object, uint16_t epoch)
{
	const struct birth_group *group = &births->groups.items[object / BIRTH_GROUP];

	return object % BIRTH_GROUP != 0 && group->epoch == epoch && !group->mixed
		       ? NULL
		       : births_add_to_group(births, object, epoch);
}

/** The epoch of an object. */
static inline uint16_t births_of(const struct births *births, uint32_t object)
{
	const struct birth_group *group;

	if (births->groups.count == 0)
		return 0;
	group = &births->groups.items[object / BIRTH_GROUP];
	return group->mixed ? births->mixed.items[(group->mixed - 1) * (size_t)BIRTH_GROUP +
						  object % BIRTH_GROUP]
			    : group->epoch;
}

#endif
