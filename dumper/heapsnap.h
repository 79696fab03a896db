// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_H
#define HEAPSNAP_H

/**
 * Heap snapshots from inside the program.
 *
 * All of this works only while libheapsnap.so is loaded, preloaded or linked. The
 * functions are weak for whoever includes this header without linking: a program that
 * wants to run without the library too tests for it,
 *
 *	if (heapsnap_dump)
 *		heapsnap_dump(NULL);
 *
 * or calls the heapsnap_…() forms below through HEAPSNAP_CALL(), which does that.
 */

#include <stddef.h>
#ifndef HEAPSNAP_FAIL
#include <stdio.h>
#include <stdlib.h>
#endif

#ifdef HEAPSNAP_BUILD
#define HEAPSNAP_API __attribute__((visibility("default")))
#else
#define HEAPSNAP_API __attribute__((weak))
#endif

/** Calls @p function with the arguments that follow if the library is there; else does nothing. */
#define HEAPSNAP_CALL(function, ...) ((function) ? (function)(__VA_ARGS__) : 0)

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Takes a snapshot, and returns as soon as the program is frozen, before it is written.
 *
 * @param name  pattern for the file's name, as HEAPSNAP_FILE; NULL for that setting
 * @return 0, or -errno: -EAGAIN if one is still being written, -ENOTSUP in libheapsnap-trace.so, ...
 */
HEAPSNAP_API int heapsnap_dump(const char *name);

/**
 * Waits until no snapshot is being written.
 *
 * @return 0 if the last one was written, -errno if it failed or there was none
 */
HEAPSNAP_API int heapsnap_wait(void);

/**
 * Marks the blocks that exist: reports of unfreed blocks then count only later ones, as in
 * a program that has set itself up, or between two phases of a test. HEAPSNAP_AT_CHECKPOINT takes a
 * snapshot before each, which heapsh-check(1) uses.
 *
 * @return 0, or -ENOSPC if there have been too many
 */
HEAPSNAP_API int heapsnap_checkpoint(void);

/** A check of growth: private to HEAPSNAP_EXPECT_NO_GROWTH but for `grew` and `message`. */
struct heapsnap_loops {
	unsigned done;
	int has_ended;
	int grew;
	char message[4096]; /**< what grew, by how much, and what holds it */
};

/**
 * Goes on to the next loop of a check, takes a snapshot of the one before, and after @p count of them has
 * heapsh-check(1) judge the series.
 *
 * @return 1 for another loop; at the end once more if @p loops->grew, then 0
 */
HEAPSNAP_API int heapsnap_next_loop(struct heapsnap_loops *loops, unsigned count);

/** How often the block of HEAPSNAP_EXPECT_NO_GROWTH runs: five times at least. */
#ifndef HEAPSNAP_LOOPS
#define HEAPSNAP_LOOPS 5
#endif

/** The reaction of a test to the message of a failure; define it before this header is included. */
#ifndef HEAPSNAP_FAIL
#define HEAPSNAP_FAIL(message) \
	do { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, message); \
		abort(); \
	} while (0)
#endif

/**
 * Fails a test if the heap grows by the same type or site in each loop.
 *
 *	HEAPSNAP_EXPECT_NO_GROWTH {
 *		struct session *session = session_open();
 *
 *		session_close(session);
 *	}
 *
 * The block runs HEAPSNAP_LOOPS times; what the first loop allocates does not count. The message is
 * that of heapsh-check(1). Without the library the block runs once, and nothing is checked. One such
 * block runs at a time.
 */
#define HEAPSNAP_EXPECT_NO_GROWTH \
	for (struct heapsnap_loops heapsnap_loops_ = { 0, 0, 0, "" }; \
	     heapsnap_next_loop ? heapsnap_next_loop(&heapsnap_loops_, HEAPSNAP_LOOPS) \
				: heapsnap_loops_.done++ == 0;) \
		if (heapsnap_loops_.grew) { \
			HEAPSNAP_FAIL(heapsnap_loops_.message); \
		} else

/**
 * Sets when automatic snapshots are taken: the same names and values as in the
 * environment.
 *
 *	heapsnap_set("HEAPSNAP_GROWTH", "64M");
 *
 * @param name   HEAPSNAP_EVERY, HEAPSNAP_GROWTH, HEAPSNAP_BEFORE_OOM, HEAPSNAP_AT_EXIT,
 *               HEAPSNAP_AT_CHECKPOINT, HEAPSNAP_KEEP, HEAPSNAP_MIN_INTERVAL, HEAPSNAP_REPORT, HEAPSNAP_REPORT_LIMIT,
 *               HEAPSNAP_REPORT_TYPE or HEAPSNAP_TRACE (a trace begins; "" ends it)
 * @return 0, -ENOENT if it is none of these, -EINVAL if the value makes no sense, -ENOTSUP if it asks
 *         for snapshots of libheapsnap-trace.so, which takes none
 */
HEAPSNAP_API int heapsnap_set(const char *name, const char *value);

/**
 * Says what a block is, for snapshots: "struct session". Forgotten when the block is freed.
 *
 * @param block  from malloc, new or their like, or tracked
 * @param type   a C type's name; must live as long as the program
 * @return 0, -EINVAL if it is no live block of ours, -ENOMEM, -ENOTSUP in libheapsnap-trace.so
 */
HEAPSNAP_API int heapsnap_set_type(void *block, const char *type);

/**
 * Says that a piece of memory has been handed out by a pool or arena of the program's own, so that
 * snapshots have it as an object. It lies in memory from mmap(), or in a block of malloc's, which
 * for snapshots then ends where the first piece in it begins.
 *
 *	void *piece = pool_take(pool);
 *
 *	HEAPSNAP_CALL(heapsnap_track, piece, pool->element_size);
 *
 * Its site is the caller of this function, or whoever called the wrapper that this is in
 * (HEAPSNAP_WRAPPERS).
 *
 * @param piece  at a multiple of 8
 * @param size   bytes; 1 at least. Of a piece that is tracked already: the new size
 * @return 0, -EINVAL if one of them makes no sense, -ENOMEM if there are too many
 */
HEAPSNAP_API int heapsnap_track(void *piece, size_t size);

/**
 * Says that the pool has taken a piece back, or is about to go itself.
 *
 * @return 0, -EINVAL if it is not tracked
 */
HEAPSNAP_API int heapsnap_untrack(void *piece);

#ifdef __cplusplus
}
#endif

#endif
