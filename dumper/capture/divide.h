// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_DIVIDE_H
#define HEAPSNAP_DIVIDE_H

/**
 * Divides the vast mappings of the frozen copy, in which it runs, if the kernel is so old that this helps:
 * dumper/base/vast.h. async-signal-safe.
 */
void heapsnap_divide_vast(void);

#endif
