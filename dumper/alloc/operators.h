// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_OPERATORS_H
#define HEAPSNAP_OPERATORS_H

/**
 * C++'s operator new and delete.
 *
 * A program may replace some of them, and the C++ runtime then builds the others on those: delete
 * with a size on delete without, new[] on new. So where one is replaced, all of ours step aside and
 * pass the call on to the runtime's operator, which gets its memory from malloc, and so from this
 * library.
 */

/** Checks if the program replaces one of them, or malloc itself. */
void heapsnap_operators_init(void);

#endif
