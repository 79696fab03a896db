// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CAPTURE_H
#define CAPTURE_H

/**
 * A snapshot in the making: the results of each stage, for the stages after it.
 *
 *	process ▶ image ▶ modules ▶ objects ▶ backtraces ▶ sites ▶ edges ▶ globals, stacks ▶ types ▶ the file
 */

#include "dumper/base/protocol.h"
#include "dumper/writer/scan/threads/backtraces.h"
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/core_file.h"
#include "dumper/writer/scan/edges.h"
#include "dumper/writer/scan/modules/functions.h"
#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/modules/modules.h"
#include "dumper/writer/scan/names.h"
#include "dumper/writer/scan/objects.h"
#include "dumper/writer/scan/roots.h"
#include "dumper/writer/scan/threads/unplaced.h"
#include "dumper/writer/base/strings.h"
#include "lib/snapshot/snapshot.h"

struct capture {
	uint64_t process_address;
	struct heapsnap_process process;
	struct heapsnap_thread *threads; /**< [process.thread_count] */
	struct heapsnap_shared shared;   /**< as far as it was known when the writer began */
	uint32_t taken; /**< enum heapsnap_origin: where from, whatever origin says is known */
	struct image image;
	struct core core;    /**< what the image is of, if that is a core file */
	char root[64];       /**< of the process, where that is not ours */
	char allocators[64]; /**< whose structures blocks were found by; "": by headers */
	enum heap_block_sizes block_sizes;
	char doubts[256]; /**< what of these does not add up; "": all does */
	/** What memory is used for: struct memory_use; zeros: that is not known */
	uint64_t block_bytes, spare_bytes, spare_page_bytes, stack_bytes, mapped_bytes;
	uint64_t taken_bytes; /**< of huge pages that the kernel has taken from the frozen copy */
	char lacks[256];      /**< what was cut off a core file; "": nothing */
	const struct heap_snapshot *old; /**< that it is made from; NULL: from a process */
	/** The result: each stage adds its tables and columns, and store.h the rest. */
	struct heap_snapshot snapshot;
	struct names names;     /**< of its objects: the columns ELEMENTS and EVIDENCE */
	struct strings strings; /**< the snapshot's, until it is written */
	heap_type_id
		first_copy; /**< types from here on are not the program's own: infer_complete_types() */
	struct modules modules;
	struct objects objects;
	struct backtraces backtraces;
	heap_site_id *site_of_kind;  /**< [objects.kinds.count] the site that matters */
	heap_site_id *maker_of_kind; /**< [objects.kinds.count] that knows most about the blocks */
	struct heap_stored_edges *stored_edges; /**< those of the snapshot, where it has no types */
	struct functions functions;
	struct roots roots;
	struct unplaced unplaced;
};

enum {
	/** Bytes of a variable's value that are kept, whatever is kept of objects. */
	CAPTURE_VARIABLE_BYTES = 256,
};

/** Reads what the library says of the process, and opens its image. @return NULL or why not */
HEAP_MUST_CHECK
struct heap_error *capture_open(struct capture *capture, pid_t pid, uint64_t process);

/**
 * The same of a process that is attached to. If it has the library all the same, its tables are used.
 *
 * @param descriptor  of a struct heapsnap_foreign
 */
HEAP_MUST_CHECK
struct heap_error *capture_open_foreign(struct capture *capture, pid_t pid, int descriptor);

/**
 * The same of a core file.
 *
 * @param sysroot     directory that has the mapped files; "": they are where they were
 * @param executable  file of the program; "": it is where it was
 */
HEAP_MUST_CHECK
struct heap_error *capture_open_core(struct capture *capture, const char *path, int descriptor,
				     const char *sysroot, const char *executable);

/**
 * The same of a snapshot, whose objects and edges become the capture's. Types and roots are left to be
 * found anew.
 *
 * @param snapshot  with all columns; outlives the capture, and owns the tables that stay
 */
HEAP_MUST_CHECK
struct heap_error *capture_open_snapshot(struct capture *capture, struct heap_snapshot *snapshot);

/** True if the library was in the program: its blocks have headers, so their sites and the sizes requested are known. */
static inline bool capture_has_headers(const struct capture *capture)
{
	return capture->process.origin == HEAPSNAP_ORIGIN_LIBRARY;
}

void capture_close(struct capture *capture);

/** Finds the live blocks: by their headers, or else by the structures of allocators. */
HEAP_MUST_CHECK
struct heap_error *capture_find_objects(struct capture *capture);

/** True if a module is this project's library, within the program. */
bool capture_is_own(const struct capture *capture, const struct module *module);

enum {
	CAPTURE_OWN_RANGES = 12,
};

/** The library's own memory, which is neither heap nor root: (start, end). @return how many */
size_t capture_own_ranges(const struct capture *capture, uint64_t ranges[CAPTURE_OWN_RANGES][2]);

#endif
