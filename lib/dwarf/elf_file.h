// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ELF_FILE_H
#define HEAP_ELF_FILE_H

/**
 * An ELF file on disk: its build id, its symbols, and where its debug information is.
 *
 * Addresses are those of the file; add the module's bias for those in memory. Files may
 * be hostile: libelf checks most, and this module what libelf leaves (symbol names, note
 * lengths, section ranges).
 */

#include "lib/base/build_id.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heap_symbol_kind {
	HEAP_SYMBOL_FUNCTION,
	HEAP_SYMBOL_OBJECT,
	HEAP_SYMBOL_THREAD_LOCAL, /**< address: offset in the module's TLS block */
};

struct heap_symbol {
	uint64_t address;
	uint64_t size;    /**< bytes; 0 if the file does not say */
	uint64_t limit;   /**< of a sizeless one: where its section ends */
	const char *name; /**< owned by the file; as linked (mangled) */
	uint8_t kind;     /**< enum heap_symbol_kind */
	bool global;
};

struct heap_elf_file {
	char *path;
	struct Elf *elf; /**< libelf's */
	struct heap_build_id build_id;
	bool has_debug_info; /**< .debug_info, also compressed (.zdebug_info, SHF_COMPRESSED) */
	bool has_eh_frame;
	bool has_packed_symbols; /**< .gnu_debugdata: symbols compressed by xz */
	bool is_executable;      /**< ET_EXEC: bias 0 */
	uint64_t first_address;  /**< virtual address of the first PT_LOAD, page aligned */
	uint64_t tls_size;       /**< of PT_TLS in memory, 0 if there is none */
	uint64_t tls_alignment;
	uint64_t data_start, data_end; /**< writable PT_LOAD segments, as one range */

	struct heap_symbol
		*symbols; /**< [symbol_count] by kind, then by address, one per address */
	size_t symbol_count;
	char **names; /**< private: [name_count] strings of symbols from other files */
	size_t name_count;
};

/** @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT (no ELF, another machine's...) or MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_elf_open(const char *path, struct heap_elf_file **result);

/** NULL is fine. */
void heap_elf_close(struct heap_elf_file *file);

/**
 * Adds the symbols of another file of the same code, which usually is the separate debug
 * file and has more (.symtab).
 */
HEAP_MUST_CHECK
struct heap_error *heap_elf_add_symbols(struct heap_elf_file *file,
					const struct heap_elf_file *more);

/**
 * Adds the symbols that are packed in .gnu_debugdata.
 *
 * @return NULL, HEAP_ERROR_ABSENT (there are none, or no liblzma), FORMAT, SYSTEM or MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_elf_add_packed_symbols(struct heap_elf_file *file);

/**
 * The symbol that holds @p address, or NULL. A sizeless one reaches to the next, or to the end of
 * its section.
 */
const struct heap_symbol *heap_elf_find_symbol(const struct heap_elf_file *file,
					       enum heap_symbol_kind kind, uint64_t address);

/** The last symbol that begins at or before @p address, whether it reaches that far or not; NULL: none does. */
const struct heap_symbol *heap_elf_find_before(const struct heap_elf_file *file,
					       enum heap_symbol_kind kind, uint64_t address);

/**
 * The name of the section that holds @p address in memory. Linear.
 *
 * @param start  gets the section's address
 * @return NULL if none does, or it has no name
 */
const char *heap_elf_find_section_at(const struct heap_elf_file *file, uint64_t address,
				     uint64_t *start);

/** The symbol of that name, or NULL; the first of several. Linear. */
const struct heap_symbol *heap_elf_find_name(const struct heap_elf_file *file, const char *name);

/** True if the file uses a symbol of that name, which another one defines. Linear. */
bool heap_elf_imports(const struct heap_elf_file *file, const char *name);

/**
 * Looks for the separate debug file of @p file, the way gdb does: by build id under
 * @p directory/.build-id, then by .gnu_debuglink (its CRC must agree) beside the file, in
 * .debug/ beside it, and under @p directory; last among what debuginfod's clients have fetched
 * ($DEBUGINFOD_CACHE_PATH, ~/.cache/debuginfod_client). Nothing is fetched.
 *
 * @param directory  usually /usr/lib/debug
 * @param result     malloc'd path; NULL if there is none
 */
HEAP_MUST_CHECK
struct heap_error *heap_elf_find_debug_file(const struct heap_elf_file *file, const char *directory,
					    char **result);

/** Looks for a debug file among what debuginfod's clients have fetched alone. */
HEAP_MUST_CHECK
struct heap_error *heap_elf_find_fetched(const struct heap_build_id *id, char **result);

#endif
