// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FORMS_H
#define HEAP_DWARF_FORMS_H

/**
 * The values of attributes, whichever of the fifty forms they have.
 *
 * (DWARF 5, section 7.5.6; GNU's extensions for split units and alternate files.)
 */

#include "lib/dwarf/dwarf_dies.h"

enum {
	HEAP_DEBUG_FORM_VARIES = -1,
};

/** Bytes of a value of that form, or HEAP_DEBUG_FORM_VARIES. */
int heap_debug_form_size(const struct heap_debug_unit *unit, uint16_t form);

/** Reads the attribute's value. A form that is not known makes the cursor bad. */
struct heap_debug_value heap_debug_form_read(const struct heap_debug_entries *entries,
					     struct heap_debug_cursor *cursor,
					     const struct heap_debug_attribute *attribute);

#endif
