// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FIELD_VALUE_H
#define HEAP_FIELD_VALUE_H

/** Fields of several members that are one value for a person, and what of them is compared. */

#include "lib/types/member_path.h"

/**
 * Steps into a structure that has one member, as std::atomic, std::chrono::duration and std::unique_ptr do, and
 * to the pointer of those that are a text or a pointer: std::string, std::shared_ptr.
 */
void heap_field_unwrap(const struct heap_types *types, struct heap_member_place *place);

/** True for structures of the C, C++ and Rust libraries, which a person may take for one value. */
bool heap_field_may_be_described(const struct heap_types *types, heap_type_id type);

#endif
