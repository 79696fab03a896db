// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ELF_THREAD_LOCAL_H
#define HEAP_ELF_THREAD_LOCAL_H

/**
 * Where a loaded module keeps what the dynamic linker has decided about its thread-local storage:
 * the words that relocations against it have filled (ELF Handling For Thread-Local Storage; ELF
 * for the Arm 64-bit Architecture).
 */

#include "lib/dwarf/elf_file.h"

enum heap_tls_word_kind {
	HEAP_TLS_NO_WORD,
	HEAP_TLS_OFFSET, /**< the offset of a variable from the thread pointer */
	HEAP_TLS_MODULE, /**< the number of the module */
};

struct heap_tls_word {
	uint8_t kind;      /**< enum heap_tls_word_kind */
	uint64_t address;  /**< of the word, in the file */
	uint64_t variable; /**< HEAP_TLS_OFFSET: the variable's offset in the module's block */
};

/** Looks for such a word, an offset if there is any; HEAP_TLS_NO_WORD if there is none. */
struct heap_tls_word heap_elf_find_tls_word(const struct heap_elf_file *file);

#endif
