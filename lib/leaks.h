// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_LEAKS_H
#define HEAP_LEAKS_H

/**
 * Leaked objects, in the classes that LeakSanitizer and Valgrind have made known.
 *
 *	nothing ──▶ a ──▶ b ──▶ c            a directly; b and c indirectly: they go with a
 *	nothing ──▶ d ⇄ e ──▶ f              a circle that nothing else points to: d stands for
 *	                                     it, e and f are indirect
 *	root ──▶ g (into its middle)         not leaked, if that pointer is meant as one
 *
 * Where the registers of some threads are not known, what looks leaked may be held by one of
 * them. As many threads hold no more than as many blocks of one kind, as a rule, each its own:
 * a site of which at most so many look leaked, of those that nothing else leaked leads to, is
 * taken for that. They, and what they lead to, are perhaps held.
 *
 * Each indirect leak belongs to one that is direct, its leader: the first that leads to it,
 * by address. So what a direct leak takes with it adds up.
 *
 * LeakSanitizer counts all of such a circle as indirect; Valgrind takes one of it as direct, as
 * is done here, but any. What both call reachable through a pointer into the middle alone,
 * Valgrind says may be lost.
 */

#include "lib/graph.h"

enum heap_leak_class {
	HEAP_LEAK_REACHABLE,
	HEAP_LEAK_INTERIOR,   /**< reachable, but only through a pointer into a middle */
	HEAP_LEAK_SUPPRESSED, /**< leaked, but nobody wants to know; and what only that leads to */
	HEAP_LEAK_PERHAPS,  /**< perhaps held by a register that is not known; its leader is too */
	HEAP_LEAK_DIRECT,   /**< no other leaked object points to it */
	HEAP_LEAK_CYCLE,    /**< first of a circle that no other leaked object points to */
	HEAP_LEAK_INDIRECT, /**< a leaked object points to it */
	HEAP_LEAK_CLASSES,
};

/** Registers of a thread that a call keeps: what a sleeping thread has beside its stack. */
enum {
	HEAP_KEPT_REGISTERS = 6,
};

/** @return how many threads' registers are not known. @param thread  index of the first, or NULL */
uint32_t heap_leaks_unknown_threads(const struct heap_snapshot *snapshot, uint32_t *thread);

struct heap_leaks {
	uint8_t *class_of;      /**< [objects] enum heap_leak_class */
	heap_object_id *leader; /**< [objects] its direct leak; itself; HEAP_NO_OBJECT */
	struct {
		uint64_t objects;
		uint64_t bytes;
	} sums[HEAP_LEAK_CLASSES];
};

/** Whether an object, which is leaked, is not to be reported. */
typedef bool heap_leak_suppressor(void *context, heap_object_id object);

/**
 * Linear in objects and edges; asks the graph for heap_graph_need_reach(), and loads
 * HEAP_COLUMN_SITE where threads' registers are not known.
 *
 * @param suppress  asked of each leaked object; NULL: none is
 * @param result    filled on success; heap_leaks_deinit() frees it
 */
HEAP_MUST_CHECK
struct heap_error *heap_leaks_find(struct heap_graph *graph, heap_leak_suppressor *suppress,
				   void *context, struct heap_leaks *result);

void heap_leaks_deinit(struct heap_leaks *leaks);

#endif
