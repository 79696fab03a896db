// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_OWN_PROC_H
#define HEAP_OWN_PROC_H

/** Whether what /proc calls process 123 is the one that the kernel calls so here. */

#include "lib/base/error.h"

/**
 * In a namespace of processes that still has the /proc of the one around it ("unshare --pid" without --mount-proc)
 * /proc/123 is somebody else.
 *
 * @return NULL, also where there is no /proc; HEAP_ERROR_SYSTEM if its numbers are of another namespace
 */
HEAP_MUST_CHECK
struct heap_error *heap_own_proc_check(void);

#endif
