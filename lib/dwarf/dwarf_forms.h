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
	HEAP_DWARF_FORM_VARIES = -1,
};

/** Bytes of a value of that form, or HEAP_DWARF_FORM_VARIES. */
int heap_dwarf_form_size(const struct heap_dwarf_unit *unit, uint16_t form);

/** Reads the attribute's value. A form that is not known makes the cursor bad. */
struct heap_dwarf_value heap_dwarf_form_read(const struct heap_dwarf_dies *dies,
					     struct heap_dwarf_cursor *cursor,
					     const struct heap_dwarf_attribute *attribute);

#endif
