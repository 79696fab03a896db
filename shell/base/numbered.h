// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NUMBERED_H
#define NUMBERED_H

/** Files of a series whose names differ in numbers, in the order of these. */

#include <stddef.h>

/**
 * Sorts what a pattern of the calling shell has put into alphabetical order, such as app-10.snap,
 * app-100.snap, app-11.snap: three names or more that follow each other in that order, and are the same
 * but for their numbers. All other names stay where they are: somebody chose their order.
 */
void numbered_sort(char **paths, size_t count);

#endif
