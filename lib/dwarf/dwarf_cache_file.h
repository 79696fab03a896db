// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_CACHE_FILE_H
#define HEAP_DWARF_CACHE_FILE_H

/**
 * Files of the cache: containers (file.h) in a directory of the user's, named by build id.
 *
 * Only files that nobody else can have changed are read (trust.h). A file is written under a
 * temporary name and then renamed: of two writers at once the last wins, and readers see whole files only.
 *
 * A build id is only what a file says of itself: builds may be given one that others have, and whoever is captured may
 * claim that of libc. So a file of the cache also records from which debug file it comes, and whose that is.
 */

#include "lib/base/error.h"
#include "lib/dwarf/dwarf_file.h"
#include "lib/file/file.h"

struct heap_dwarf_cache_name {
	const char *directory;
	const char *build_id; /**< lower-case hex */
	const char *kind;     /**< the contents and their version: "lines-1" */
	const struct heap_dwarf_source *source;
};

typedef struct heap_error *heap_dwarf_cache_reader(void *context, const struct heap_file *file);
typedef struct heap_error *heap_dwarf_cache_writer(void *context, struct heap_file_writer *writer);

/**
 * Opens a file and calls @p read with it.
 *
 * @return NULL; HEAP_ERROR_ABSENT if there is none or it is not trusted; HEAP_ERROR_ARGUMENT if the build
 *         id is none; HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT, HEAP_ERROR_MEMORY; or the error of @p read
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_cache_load(const struct heap_dwarf_cache_name *name,
					 heap_dwarf_cache_reader *read, void *context);

/** Makes the directory (0700) if need be, and stores what @p write writes. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_cache_store(const struct heap_dwarf_cache_name *name,
					  heap_dwarf_cache_writer *write, void *context);

/* --- for readers and writers --- */

/** "cached debug information is damaged: @p why", HEAP_ERROR_FORMAT. */
HEAP_MAKES_ERROR
struct heap_error *heap_dwarf_cache_damaged(const char *why);

/** Finds a column of at most UINT32_MAX / 2 elements. @return NULL, HEAP_ERROR_FORMAT */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_cache_find(const struct heap_file *file, uint32_t tag,
					 enum heap_encoding encoding,
					 const struct heap_section **result);

/** Reads a section of bytes. @param bytes  [*size] malloc'd; NULL if it is empty */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_cache_read_bytes(const struct heap_file *file, uint32_t tag,
					       char **bytes, uint32_t *size);

/** Appends a section of bytes. Errors are kept by the writer. */
void heap_dwarf_cache_write_bytes(struct heap_file_writer *writer, uint32_t tag, const char *bytes,
				  size_t size);

#endif
