// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CORE_FILE_H
#define CORE_FILE_H

/**
 * A core file (core(5), elf(5)): memory of a process that has ended, and its threads' registers.
 *
 *	PT_LOAD   a piece of memory, which may be in the file as a whole, in part or not at all
 *	PT_NOTE   NT_PRSTATUS for each thread, the one that crashed first; NT_FILE: the files that were
 *	          mapped, and where (core_links.h finds them where it is missing); NT_AUXV, NT_PRPSINFO, NT_SIGINFO
 *
 * The kernel leaves out code, which is read from the mapped file instead. A core file may be
 * damaged or forged; everything in it is checked.
 */

#include "dumper/base/protocol.h"
#include "lib/base/array.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct core_segment {
	uint64_t start, end;  /**< addresses */
	uint64_t offset;      /**< in the core file */
	uint64_t size;        /**< bytes that the core file has, from the start on */
	uint8_t protection;   /**< PROT_READ | PROT_WRITE | PROT_EXEC */
	const char *name;     /**< of the file that was mapped; "": none was */
	uint64_t file_offset; /**< in that */
	int file; /**< that file, for what the core lacks; borrowed; -1: not needed, or not there */
	uint64_t wanted; /**< bytes that the core file should have */
	bool is_lost;    /**< what is missing of these is nowhere: the process had written to it */
};

struct core {
	int descriptor;
	struct HEAP_ARRAY(struct core_segment) segments; /**< by address, not overlapping */
	struct HEAP_ARRAY(struct heapsnap_thread) threads;
	uint64_t random, entry;         /**< addresses of AT_RANDOM and AT_ENTRY; 0: not known */
	uint64_t headers, header_count; /**< of the program: AT_PHDR and AT_PHNUM */
	uint64_t program_name;          /**< address of its path: AT_EXECFN */
	uint32_t pid;
	int signal;      /**< that ended the process; 0: none */
	siginfo_t cause; /**< of that signal; si_signo is 0 if it is not known */
	char program[17];
	char command[81];
	uint64_t expected;            /**< bytes of memory that the file should have */
	uint64_t missing;             /**< of these have been cut off */
	uint64_t lost;                /**< of these are not in a mapped file either */
	uint64_t written;             /**< bytes of writable memory that are to be in the file */
	uint64_t left_out;            /**< likewise, that are not to be */
	char *names;                  /**< private: of the mapped files */
	struct HEAP_ARRAY(int) files; /**< private: mapped files that are open */
	struct HEAP_ARRAY(char *)
		found_names; /**< private: of files that only the dynamic linker names */
	uint64_t file_size;  /**< private: bytes */
	/** Private: bytes that segments may still claim, and that notes may. */
	uint64_t memory_left, notes_left;
};

/**
 * Reads what is in the file, but for memory.
 *
 * @param core     to be given to core_close() in any case
 * @param sysroot  directory that has the mapped files; "": they are where they were
 * @return HEAP_ERROR_FORMAT: no core file, or one of another machine
 */
HEAP_MUST_CHECK
struct heap_error *core_open(struct core *core, const char *path, const char *sysroot);

void core_close(struct core *core);

/** Reads memory. @return how many bytes from @p address on could be read */
size_t core_read(const struct core *core, uint64_t address, void *buffer, size_t size);

/** True if memory at an address has been cut off, and is in no mapped file either. */
bool core_is_lost(const struct core *core, uint64_t address);

/**
 * Finds how long memory stays as it is at an address: there; or left out, or a hole in the file,
 * which takes no time however long it is.
 *
 * @param is_there  gets false if all of the run is zeros, or cannot be read
 * @return          where the run ends, at most @p end
 */
uint64_t core_find_run(const struct core *core, uint64_t address, uint64_t end, bool *is_there);

#endif
