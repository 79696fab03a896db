// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_CONFIGURE_H
#define HEAPSNAP_CONFIGURE_H

/**
 * Settings of automatic snapshots, reports and traces, from the environment and from
 * heapsnap_set(). A setting starts or stops the module that it concerns.
 */

/** Reads the environment, unless the program is set-user-id, and starts what it asks for. */
void heapsnap_configure(void);

#endif
