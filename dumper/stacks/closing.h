// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_CLOSING_H
#define HEAPSNAP_CLOSING_H

/**
 * dlclose(): facts about code that it unmaps do not hold for code that is mapped there next, so they are
 * forgotten.
 */

#include "dumper/stacks/wrappers.h"

/** Nothing is forgotten before. */
void heapsnap_closing_init(struct heapsnap_wrappers *known);

/** A module that dlclose() may be about to unmap. */
struct heapsnap_closing {
	uint64_t inside;     /**< an address of the module; 0: not known */
	uint64_t start, end; /**< where it lies */
	uint64_t unloaded;   /**< modules that have gone before */
};

/** Notes that something is known of the code at a site. Async-signal-safe. */
void heapsnap_closing_note(uint64_t site);

/** Notes the addresses of a module before it is closed. @param handle  of dlopen() */
struct heapsnap_closing heapsnap_closing_begin(void *handle);

/** Forgets all facts about the code of the module, if it has been unmapped. */
void heapsnap_closing_end(const struct heapsnap_closing *closing);

#endif
