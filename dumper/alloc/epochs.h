// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_EPOCHS_H
#define HEAPSNAP_EPOCHS_H

/**
 * Birth epochs: a header has the number of the epoch in which its block was allocated, and a table
 * that the writer reads has the time at which each epoch began.
 */

#include <stdbool.h>
#include <stdint.h>

/** Reserves the table. When the library is loaded, after heapsnap_process_init(). */
void heapsnap_epochs_init(void);

/** Begins a new epoch, at @p time_ns since 1970. async-signal-safe. */
void heapsnap_begin_epoch(uint64_t time_ns);

/** Begins an epoch now, and notes it as the checkpoint. @return false if the table is full */
bool heapsnap_begin_checkpoint(void);

#endif
