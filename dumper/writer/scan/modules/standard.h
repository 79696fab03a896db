// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STANDARD_H
#define STANDARD_H

/**
 * The code of the standard libraries, where no site lies: the library skips it
 * (dumper/stacks/standard.h), and where it is inlined, the function that contains it counts.
 */

#include "dumper/writer/base/strings.h"
#include "dumper/writer/scan/modules/modules.h"

/**
 * The innermost of the places at an address that is in no standard library.
 *
 * @param places  [count] as module_describe() has filled them
 * @param lookup  the address
 * @return @p count if all are in one
 */
size_t standard_skip(const struct module *module, const struct strings *strings, uint64_t lookup,
		     const struct code_place *places, size_t count);

/** True if the function that was compiled, which the others are inlined into, is in one. */
bool standard_has(const struct module *module, const struct strings *strings, uint64_t lookup,
		  const struct code_place *outermost);

#endif
