// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BACKTRACES_H
#define BACKTRACES_H

/**
 * The backtraces of blocks that the library has recorded. call_names.h converts them.
 *
 *	library                              snapshot
 *	samples  block → step                own[]: object → step ─▶ call, named
 *	kinds    site, size → step           of_kind[]: that of the first of its kind
 *	steps    return address, caller      a step per function, those inlined at the address
 *	                                     too, each with its caller
 *
 * This module also decides which functions are wrappers, and so which sites blocks get. When the
 * library recognizes a wrapper depends on which of its callers came first; so it only notes the
 * functions that may be wrappers.
 *
 *	C ← zmalloc ← malloc    header: C, if the library knew zmalloc for a wrapper by then. The block
 *	                        stays at C if zmalloc is accepted as one, or else goes back to zmalloc.
 *	                        header: zmalloc, if the library did not. The block stays at zmalloc, and
 *	                        the site says that its callers are not known.
 *
 * For type inference, a wrapper is better evidence than a caller that does not know the type: a
 * wrapper that puts a header of its own before its blocks knows the type, and blocks made in one
 * way are mostly alike.
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/modules/modules.h"
#include "dumper/writer/scan/objects.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

/** The backtrace of an object that was sampled. */
struct own_backtrace {
	heap_object_id object;
	uint32_t backtrace;
};

/** How a site comes to malloc for a size. */
struct path {
	uint64_t site;
	uint64_t size;
	uint32_t backtrace;
};

/** A site in a function that the library took for a wrapper, and that is not believed to be one. */
struct refused {
	uint64_t start; /**< of the function */
	uint64_t site;
	bool jumps; /**< the function may have the result of another one: see backtraces_find_jumps() */
};

/** A caller of a wrapper. */
struct passed {
	uint64_t wrapper; /**< a site in it */
	uint64_t size;    /**< requested */
	uint64_t site;    /**< of the first caller that is no wrapper */
};

struct backtraces {
	struct heapsnap_step *taken; /**< [taken_count] as the library has them; [0] is none */
	uint32_t taken_count;
	struct heapsnap_kind *kinds; /**< [kind_count] */
	uint32_t kind_count;
	struct heap_hash_table by_site;     /**< the kinds by site and size */
	struct heapsnap_unmapped *unmapped; /**< [unmapped_count] */
	uint32_t unmapped_count;
	uint64_t *wrappers; /**< [wrapper_count] ascending */
	uint32_t wrapper_count;
	/** [path_count] ascending: for sizes that have no backtrace, those of others of the site */
	struct path *paths;
	uint32_t path_count;
	struct refused *refused; /**< [refused_count] ascending */
	uint32_t refused_count;
	struct passed *passed; /**< [passed_count] ascending: who has called wrappers */
	uint32_t passed_count;

	/** As call_names.h converts them, of objects: those that were sampled, and all others. */
	struct HEAP_ARRAY(struct own_backtrace) own; /**< by object */
	uint32_t *of_kind;                           /**< [kinds of objects] */
};

/**
 * Reads the library's tables. Entries that make no sense, because the program has overwritten them,
 * are left out.
 */
HEAP_MUST_CHECK
struct heap_error *backtraces_init(struct backtraces *backtraces, const struct image *image,
				   const struct heapsnap_process *process);

void backtraces_deinit(struct backtraces *backtraces);

/**
 * True if a step can be read, and was called from one that was made before it: the library makes
 * them from the outermost in.
 */
bool backtraces_have_step(const struct backtraces *backtraces, uint32_t step);

/** The backtrace of the first block of a site and size; 0 if there is none. */
uint32_t backtraces_of_kind(const struct backtraces *backtraces, uint64_t site, uint64_t size);

/**
 * True if the function at a site may be a wrapper.
 *
 * @param start  gets where the function begins; 0: not known
 */
typedef bool backtraces_test(void *context, uint64_t site, uint64_t *start);

/**
 * Keeps only those of the library's wrappers that pass a test, whose answer is the same in each
 * snapshot of a program. Must be called before sites are looked up.
 */
HEAP_MUST_CHECK
struct heap_error *backtraces_choose_wrappers(struct backtraces *backtraces, backtraces_test *test,
					      void *context);

/** True if a site is in a function that counts as a wrapper. */
bool backtraces_is_wrapper(const struct backtraces *backtraces, uint64_t site);

/** True if a function that is no wrapper after all begins there. */
bool backtraces_have_refused(const struct backtraces *backtraces, uint64_t function);

/** True if a function jumps to another one that is no wrapper after all, as at its end. */
typedef bool backtraces_jumps(void *context, uint64_t function);

/** Asks that of all such functions: what they return may be from the others. To be called once they have been chosen. */
void backtraces_find_jumps(struct backtraces *backtraces, backtraces_jumps *jumps, void *context);

/** True if a backtrace shows how a site comes to malloc. */
bool backtraces_have_path(const struct backtraces *backtraces, uint64_t site, uint64_t size);

/**
 * The site in a function that is no wrapper after all, by the function's start. 0 if it is a wrapper,
 * or has several sites.
 */
uint64_t backtraces_called(const struct backtraces *backtraces, uint64_t callee);

/** The site of a block: its own, that of its caller, or that in a function that is no wrapper after all. */
uint64_t backtraces_site(const struct backtraces *backtraces, uint64_t site, uint64_t size);

/** True if the code at a return address knows the type of the block of @p size that it gets. */
typedef bool backtraces_knows(void *context, uint64_t address, uint64_t size);

/**
 * The call whose code tells the type of a block: that at its site, if the code there knows the type;
 * or else the innermost call in a wrapper that knows it; or else the innermost call.
 */
uint64_t backtraces_maker(const struct backtraces *backtraces, uint64_t site, uint64_t size,
			  backtraces_knows *knows, void *context);

#endif
