// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_DIVIDE_H
#define HEAPSNAP_DIVIDE_H

/** In the frozen copy: divides its vast mappings, if the kernel is so old that this helps; dumper/base/vast.h. */
void heapsnap_divide_vast(void);

#endif
