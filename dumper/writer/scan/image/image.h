// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef IMAGE_H
#define IMAGE_H

/**
 * The frozen copy, or a core file: its memory map, and its memory.
 *
 * Memory is read from /proc/PID/mem, or by process_vm_readv(2) where that cannot be opened. Pages
 * of anonymous memory that were never touched are not read (/proc/PID/pagemap knows them), so a
 * huge, mostly empty mapping costs nothing. Before Linux 6.7 it is divided for that: dumper/base/vast.h.
 */

#include "dumper/writer/scan/image/image_mapping.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

struct image_unread;
struct image_parts;
struct core;

struct image {
	pid_t pid;
	int memory;                     /**< /proc/PID/mem, or -1 */
	int pagemap;                    /**< /proc/PID/pagemap, or -1 */
	uint64_t page_size;             /**< what an entry of the page map is about, in bytes */
	struct image_mapping *mappings; /**< [mapping_count] by address */
	size_t mapping_count;
	const struct core *core;  /**< instead of a process; NULL: there is one */
	const char *root;         /**< directory that has the mapped files; "": "/" */
	const char *executable;   /**< file of the program; NULL: by its name */
	char *const *debug_files; /**< NULL-terminated: for modules of their build ids; or NULL */
	uint64_t random; /**< address of 16 random bytes, AT_RANDOM of getauxval(3); 0: not known */
	uint64_t entry;  /**< where the program begins, AT_ENTRY; 0: not known */
	char *maps;      /**< text of /proc/PID/maps, cut into the mappings' names */
	struct image_unread *unread; /**< private: pages that image_visit() could not read */
	struct image_parts *parts;   /**< private: of divided mappings; NULL: there are none */
};

/** @return NULL, HEAP_ERROR_SYSTEM or HEAP_ERROR_MEMORY: image_deinit() is due then, too */
HEAP_MUST_CHECK
struct heap_error *image_init(struct image *image, pid_t pid);

/** The image of a process that has ended. @param core  outlives it */
HEAP_MUST_CHECK
struct heap_error *image_init_core(struct image *image, const struct core *core);

void image_deinit(struct image *image);

/** Reads exactly @p size bytes. @return false if not all of them are there */
bool image_read(const struct image *image, uint64_t address, void *buffer, size_t size);

/** Reads memory; pages that cannot be read are zeros. */
void image_read_padded(const struct image *image, uint64_t address, void *buffer, size_t size);

/** Reads a string of at most @p size - 1 bytes; "" if it cannot be read. */
void image_read_string(const struct image *image, uint64_t address, char *buffer, size_t size);

/** The mapping that holds @p address, or NULL. */
const struct image_mapping *image_find(const struct image *image, uint64_t address);

/** True if code may be at an address. */
bool image_is_code(const struct image *image, uint64_t address);

/** True if it is memory that the process writes to, without a file or other processes. */
static inline bool image_is_private_memory(const struct image_mapping *mapping)
{
	return mapping && !mapping->shared && mapping->kind == IMAGE_ANONYMOUS &&
	       (mapping->protection & PROT_WRITE);
}

/** The end of a module's writable data and of the zeros behind it; 0: the mapping is not such data. */
uint64_t image_data_end(const struct image *image, size_t mapping);

/**
 * Bytes of a private mapping's pages that the process has written to, which are then no longer its file's.
 * Those of a core file are not known: 0.
 */
uint64_t image_written_bytes(const struct image *image, const struct image_mapping *mapping);

/** True if there is a mapping within @p distance bytes of @p address. */
bool image_is_near(const struct image *image, uint64_t address, uint64_t distance);

/** Memory that was read ahead; see image_visit(). */
typedef struct heap_error *image_visitor(void *context, uint64_t address, const uint64_t *words,
					 size_t count);

/**
 * Visits the words of [start, end) in pieces, in order, leaving out what is not mapped and pages
 * of anonymous memory that were never touched.
 *
 * @param start, end  multiples of 8
 */
HEAP_MUST_CHECK
struct heap_error *image_visit(const struct image *image, uint64_t start, uint64_t end,
			       image_visitor *visit, void *context);

/**
 * Finds memory that may hold something, as image_visit() does.
 *
 * @param until  gets where it ends, at most @p end
 * @return       where it begins, from @p start on; @p end: there is none
 */
uint64_t image_skip_untouched(const struct image *image, uint64_t start, uint64_t end,
			      uint64_t *until);

/** True if a core file lacks what the process had there. */
bool image_is_lost(const struct image *image, uint64_t address);

/** True for private memory in pages of MAP_HUGETLB. */
bool image_has_huge_pages(const struct image_mapping *mapping);

/** Notes that whole pages have been lost. Not while threads visit the image. */
HEAP_MUST_CHECK
struct heap_error *image_add_unread(struct image *image, uint64_t start, uint64_t end);

/** Whole pages that image_visit() found in a mapping and could not read, that were lost, or that a core file lacks. */
typedef void image_unread_visitor(void *context, uint64_t start, uint64_t end);

/** Calls @p visit for such pages, by address, and for those side by side once. */
HEAP_MUST_CHECK
struct heap_error *image_visit_unread(const struct image *image, image_unread_visitor *visit,
				      void *context);

#endif
