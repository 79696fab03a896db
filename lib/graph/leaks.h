// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_LEAKS_H
#define HEAP_LEAKS_H

/**
 * Leaked objects, in the classes of LeakSanitizer and Valgrind.
 *
 *	nothing ──▶ a ──▶ b ──▶ c            a directly; b and c indirectly, as a holds them
 *	nothing ──▶ d ⇄ e ──▶ f              a cycle that nothing else points to: the largest
 *	                                     of its objects that are of one known type, and no
 *	                                     arrays, stands for it; if that is d, e and f are
 *	                                     indirect
 *	root ──▶ g (into its middle)         not leaked if that pointer is intended, such as a
 *	                                     link of an intrusive list (embedded.h)
 *
 * If the registers of some threads are not known, one of them may hold an object that looks leaked.
 * Call a direct leak, or the object that stands for a cycle, a head. A thread rarely holds two blocks of
 * one site in registers only, so a site with more heads than there are such threads does leak. A
 * register holds one pointer at most, so no more heads count as held than there are registers,
 * HEAP_KEPT_REGISTERS of each such thread. Sites with the fewest heads come first, equal ones in
 * the order of the snapshot, and each site counts as a whole or not at all. These heads, and all
 * that they lead to, are perhaps held.
 *
 * If memory of the process is missing, as in a core file that was cut off, it may hold any of them: all are
 * perhaps held then.
 *
 * Each indirect leak belongs to one direct leak, its leader: the first one that leads to it, by
 * address. So the sizes of what direct leaks hold add up.
 *
 * LeakSanitizer counts all objects of such a cycle as indirect. Valgrind counts one of them as
 * direct, as this module does, but any one. Objects that only interior pointers reach are reachable
 * for both tools; Valgrind reports them as possibly lost.
 */

#include "lib/graph/graph.h"

enum heap_leak_class {
	HEAP_LEAK_REACHABLE,
	HEAP_LEAK_INTERIOR,   /**< reachable, but only through a pointer into a middle */
	HEAP_LEAK_SUPPRESSED, /**< leaked, but not to be reported; and what only that leads to */
	HEAP_LEAK_PERHAPS,    /**< perhaps held by what is not known; its leader is too */
	HEAP_LEAK_DIRECT,     /**< no other leaked object points to it */
	HEAP_LEAK_CYCLE,      /**< stands for a cycle that no other leaked object points to */
	HEAP_LEAK_INDIRECT,   /**< a leaked object points to it */
	HEAP_LEAK_CLASSES,
};

/** The name of a class: "reachable", "direct", "cycle"... */
const char *heap_leak_class_name(enum heap_leak_class class);

/**
 * The registers that a called function preserves, so that they may hold pointers that are not on the
 * stack: rbx, rbp and r12 to r15 by the x86-64 ABI. AArch64 has ten, x19 to x28. A snapshot does not
 * tell its machine, so both count as six.
 */
enum {
	HEAP_KEPT_REGISTERS = 6,
};

/** @return how many threads' registers are not known. @param thread  index of the first, or NULL */
uint32_t heap_leaks_unknown_threads(const struct heap_snapshot *snapshot, uint32_t *thread);

/** True if there is memory that is not known, and may hold objects that look leaked. */
bool heap_leaks_lack_memory(const struct heap_snapshot *snapshot);

/** True if objects that look leaked may be held by what is not known: registers, or memory. */
bool heap_leaks_are_uncertain(const struct heap_snapshot *snapshot);

struct heap_leaks {
	uint8_t *class_of;      /**< [objects] enum heap_leak_class */
	heap_object_id *leader; /**< [objects] its direct leak; itself; HEAP_NO_OBJECT */
	struct {
		uint64_t objects;
		uint64_t bytes;
	} sums[HEAP_LEAK_CLASSES];
};

/** True if a leaked object is not to be reported. */
typedef bool heap_leak_suppressor(void *context, heap_object_id object);

/**
 * Linear in objects and edges. Needs heap_graph_need_reach(), and HEAP_COLUMN_SITE where threads'
 * registers are not known; computes and loads them.
 *
 * @param suppress  asked of each leaked object; NULL: none is
 * @param result    filled on success; heap_leaks_deinit() frees it
 */
HEAP_MUST_CHECK
struct heap_error *heap_leaks_find(struct heap_graph *graph, heap_leak_suppressor *suppress,
				   void *context, struct heap_leaks *result);

void heap_leaks_deinit(struct heap_leaks *leaks);

#endif
