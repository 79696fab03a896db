// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SAMPLES_H
#define SAMPLES_H

/**
 * The sampled objects that are still live: when and where they were allocated, and their numbers in
 * the trace of the process, if there is one.
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/objects.h"
#include "lib/snapshot/snapshot.h"

/** True if the library's trace is one of the process itself. */
bool samples_has_trace(const struct heapsnap_process *process);

/** Told of a sample and the live object that it is of. */
typedef struct heap_error *samples_visitor(void *context, heap_object_id object,
					   const struct heapsnap_sample *sample);

/** Visits the samples of live objects, in no order, until the visitor returns an error. */
HEAP_MUST_CHECK
struct heap_error *samples_visit(const struct image *image, const struct heapsnap_process *process,
				 const struct objects *objects, samples_visitor *visit,
				 void *context);

/**
 * @param result  [*count] by object; the caller's
 */
HEAP_MUST_CHECK
struct heap_error *samples_read(const struct image *image, const struct heapsnap_process *process,
				const struct objects *objects, struct heap_sample **result,
				uint32_t *count);

#endif
