// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_UNSHARE_H
#define HEAPSNAP_UNSHARE_H

/** Has the library's threads rest while the program calls unshare() or setns(), by whatever way. */
void heapsnap_unshare_init(void);

#endif
