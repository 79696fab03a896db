// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STORE_H
#define STORE_H

/** Completes a capture's snapshot, and writes it to a file. */

#include "dumper/writer/scan/capture.h"

HEAP_MUST_CHECK
struct heap_error *store_snapshot(struct capture *capture, int descriptor);

/** Drops the types that nothing in the snapshot is of. */
HEAP_MUST_CHECK
struct heap_error *store_keep_types(struct capture *capture);

/** Fills the snapshot's table of modules. */
HEAP_MUST_CHECK
struct heap_error *store_fill_modules(struct capture *capture);

#endif
