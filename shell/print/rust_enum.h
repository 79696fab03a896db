// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef RUST_ENUM_H
#define RUST_ENUM_H

/** Enums of Rust, which debug information tells as a union of variants with a discriminant. */

#include "shell/print/place.h"

/**
 * Finds the active variant: the one with the discriminant's value, or else the one that no value of the
 * discriminant selects.
 *
 * @param name  gets the variant's; of the snapshot
 * @return false if the place is no such enum, or its discriminant was not kept
 */
bool rust_enum_find(const struct session *session, const struct place *place, struct place *variant,
		    const char **name);

#endif
