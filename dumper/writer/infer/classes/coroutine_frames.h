// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COROUTINE_FRAMES_H
#define COROUTINE_FRAMES_H

/**
 * Frames of C++ coroutines. Pointers to them have no type (std::coroutine_handle<>), or that of a promise in their
 * middle, but each begins with the functions that resume and destroy it, and these know the frame:
 *
 *	┌────────┬─────────┬─────────┬───────────┐
 *	│ resume │ destroy │ promise │ variables │
 *	└────────┴────┬────┴─────────┴───────────┘
 *	              └─▶ destroy(struct work.Frame *)
 */

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/head_words.h"
#include "lib/base/array.h"

struct coroutine_frame {
	heap_object_id object;
	heap_type_id type;
};

struct coroutine_frames {
	struct HEAP_ARRAY(struct coroutine_frame) list;
};

/** Finds the frames, whose types may be added to the capture's. coroutine_frames_deinit() frees the result. */
HEAP_MUST_CHECK
struct heap_error *coroutine_frames_find(struct capture *capture, const struct head_words *heads,
					 struct coroutine_frames *result);

void coroutine_frames_deinit(struct coroutine_frames *frames);

#endif
