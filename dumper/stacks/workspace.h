// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_WORKSPACE_H
#define HEAPSNAP_WORKSPACE_H

/**
 * Memory for what would take too much of the caller's stack: malloc is called on those of coroutines and
 * of signals, which may have 4 KiB.
 *
 * A fixed number of workspaces, which threads borrow: no lock, and async-signal-safe.
 */

enum {
	HEAPSNAP_WORKSPACE_BYTES = 2048,
};

/** @return NULL: all of them are in use, so that the stack must do */
void *heapsnap_workspace_take(void);

void heapsnap_workspace_give(void *workspace);

#endif
