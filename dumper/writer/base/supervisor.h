// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ISOLATION_H
#define ISOLATION_H

/**
 * Reading symbols and debug information may fail in any way, since files may be damaged. That
 * costs types, never the snapshot.
 *
 *	supervisor ──fork──▶ worker: does the work          suspect: the module that it reads
 *	           ◀──signal 11, too long, out of memory──
 *	           ──fork──▶ worker: does it without that module's symbols
 *	           ◀──signal 11──
 *	           ──fork──▶ worker: does it without anybody's
 *
 * When the time for types is over, the worker stops inferring them by itself, and finishes all other work.
 * From then on it is ended only if it makes no progress.
 *
 * SIGTERM ends both, and the work with an error, so that its caller can remove what was written.
 *
 * Both share a page, on which the worker notes the module that it is working on. The frozen copy does not
 * change meanwhile, so all attempts see the same memory.
 */

#include "dumper/base/protocol.h"
#include "lib/base/error.h"

#include <stdint.h>

/** Does all the work; in the worker. What it leaves behind must not hinder the next attempt. */
typedef struct heap_error *isolation_work(void *context);

/**
 * Does the work in a process of its own; again, with less, if that fails for reasons which may
 * lie in symbols. Where no process can be had, does it here.
 *
 * @param process  has the bound of time; that of memory is this process' own
 * @return what the work returned; or why it could not be done
 */
HEAP_MUST_CHECK
struct heap_error *isolation_run(const struct heapsnap_process *process, isolation_work *work,
				 void *context);

/** In the worker: notes the module (its address) that is read from here on; 0: none. */
void isolation_suspect(uint64_t module);

/** In the worker: shows the supervisor that it goes on. */
void isolation_beat(void);

/** In the worker: why the symbols of a module must not be read; NULL if they may be. */
const char *isolation_reason(uint64_t module);

#endif
