// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_PROTOCOL_H
#define HEAPSNAP_PROTOCOL_H

/**
 * The data that the library hands to the writer, and the writer's answer.
 *
 *	frozen copy ──▶ exec  heapsnap-writer PID ADDRESS
 *	                      PID: of the frozen copy; ADDRESS: hex, of its struct heapsnap_process
 *	heapsnap attach ──▶   heapsnap-writer --attached PID DESCRIPTOR
 *	heapsnap core ──▶     heapsnap-writer --core FILE DESCRIPTOR SYSROOT EXECUTABLE
 *	                      DESCRIPTOR: of a file that holds a struct heapsnap_foreign
 *	writer ──▶ stdout     one line, "wrote NUMBER PATH\n" or "failed MESSAGE\n"; exit status 0 or 1
 *
 * The writer reads the structure from the frozen copy's memory, as it reads everything else.
 * Library and writer are built and installed together; the version tells if they were not. All
 * addresses are those of the frozen process.
 */

#include <stdint.h>

#define HEAPSNAP_PROCESS_MAGIC UINT64_C(0x50414e5350414548) /* "HEAPSNAP" */

enum {
	HEAPSNAP_PROTOCOL_VERSION = 12,
	HEAPSNAP_PATH_MAX = 4096,
	HEAPSNAP_NAME_MAX = 256,
	HEAPSNAP_NAME_IN_FILE = 200, /**< of a program's name: numbers and a suffix follow */
	HEAPSNAP_REGISTERS = 34, /**< by DWARF number; x86-64: 16 is rip; aarch64: 31 sp, 32 pc */
	HEAPSNAP_EPOCHS = 65536,
	HEAPSNAP_TLS_MODULES = 512,
	HEAPSNAP_REPORT_DESCRIPTOR = 9, /**< the program's standard error, for a report to it */
	HEAPSNAP_THREADS = 32768,       /**< the most that are noted of one process */

	/** Entries in the first part of some tables. A second part, elsewhere, goes on with them. */
	HEAPSNAP_FIRST_STEPS = 1 << 13,
	HEAPSNAP_FIRST_KINDS = 1 << 12,
	HEAPSNAP_FIRST_SAMPLES = 1 << 12,
};

/** All bits of heapsnap_thread.known. */
#define HEAPSNAP_ALL_REGISTERS ((UINT64_C(1) << HEAPSNAP_REGISTERS) - 1)

enum heapsnap_thread_state {
	HEAPSNAP_THREAD_EMPTY,
	HEAPSNAP_THREAD_ASKED,    /**< signalled, has not answered: its registers are unknown */
	HEAPSNAP_THREAD_STOPPED,  /**< registers are exact */
	HEAPSNAP_THREAD_SLEEPING, /**< asleep in the kernel; some registers are known */
};

/** The writer's product: a snapshot, or a report of unfreed blocks. */
enum heapsnap_report {
	HEAPSNAP_REPORT_NONE,
	HEAPSNAP_REPORT_STANDARD_ERROR,
	HEAPSNAP_REPORT_FILE, /**< by the pattern */
};

/** The origin of the process that the writer reads. */
enum heapsnap_origin {
	HEAPSNAP_ORIGIN_LIBRARY,  /**< the library is in it, and has stopped it */
	HEAPSNAP_ORIGIN_ATTACHED, /**< heapsnap attach has: blocks have no headers */
	HEAPSNAP_ORIGIN_CORE,     /**< heapsnap core: it is dead, and the image a file */
	HEAPSNAP_ORIGIN_TRACED,   /**< the trace-only library: blocks have no headers */
};

/** A thread at the moment of the clone. */
struct heapsnap_thread {
	uint32_t tid;
	uint32_t state; /**< enum heapsnap_thread_state */
	uint64_t registers[HEAPSNAP_REGISTERS];
	uint64_t known;          /**< a bit per register that is filled in */
	uint64_t thread_pointer; /**< x86-64: fs base; 0 if unknown */
};

/** A module whose thread-local variables lie at the same place in every thread. */
struct heapsnap_tls_module {
	uint64_t bias;  /**< address in memory minus address in the file */
	int64_t offset; /**< of its TLS block from the thread pointer */
};

/** An entry of the table of heapsnap_set_type(); free while block is 0. */
struct heapsnap_label {
	uint64_t block;
	uint64_t type; /**< address of the type's name, NUL-terminated */
};

/** A piece of memory that the program registered with heapsnap_track(). */
struct heapsnap_piece {
	uint64_t address;
	uint64_t
		extent; /**< as a block's header has it (header.h); 0: it is not tracked any more */
	uint64_t site;
};

/**
 * A step of a backtrace: where its function was called from. Backtraces that end alike share
 * steps, so a backtrace is the number of its innermost step.
 */
struct heapsnap_step {
	uint64_t address; /**< a return address; 0: not filled in yet */
	uint32_t caller;  /**< the step that follows outwards; 0: none is known */
	uint32_t next;    /**< private to the library: of a chain of steps with one hash */
};

/** Code that dlclose() has unmapped: earlier steps in its range belong to that code. */
struct heapsnap_unmapped {
	uint64_t start, end;
	uint32_t step;
	uint32_t unused;
};

/** Blocks of one site and size, and the backtrace of the first of them. */
struct heapsnap_kind {
	uint64_t site;      /**< as in the block's header; 0: the entry is free */
	uint64_t size;      /**< bytes */
	uint32_t backtrace; /**< 0: not known */
	uint32_t looks;     /**< private to the library */
};

/** A sampled block, with its own backtrace. */
struct heapsnap_sample {
	uint64_t block;   /**< 0: the entry is free; what is not live any more counts for nothing */
	uint64_t time_ns; /**< when it was allocated, on the clock of heapsnap_process.clock_ns */
	uint32_t backtrace; /**< 0: not known */
	uint32_t number;    /**< in the trace; 0: none */
	uint32_t thread;    /**< id of the one that allocated it */
	uint32_t unused;
};

/** The trace that is being written, or was last. */
struct heapsnap_traced {
	uint64_t start_ns; /**< since 1970, as in the file; 0: there has been none */
	uint64_t clock_ns; /**< the same moment on the clock of samples, in whole µs */
	uint32_t pid;      /**< whose it is: a child of fork() begins one of its own */
	uint32_t first;    /**< number of its first sample; UINT32_MAX / 2 may follow */
	char path[HEAPSNAP_PATH_MAX];
};

/**
 * Each thread's, in its thread-local storage: the block that its realloc is just moving. Until
 * that is signed again, the block lies where a header has this stamp: first at its old place,
 * then, by libc's copying, at its new one too, then there alone. Its extent is the old one or,
 * just before it is signed, that of the new size. A site precedes the stamp here, so that the
 * note itself looks like no header.
 */
struct heapsnap_move {
	uint64_t block;  /**< its old place, then its new one; 0: none is being moved */
	uint64_t extent; /**< of its header */
	uint64_t size;   /**< bytes that it will have */
	uint64_t site;   /**< of its header, which has the stamp instead */
	uint64_t stamp;  /**< HEAPSNAP_MOVING, and a number that no other move has */
};

/** The stages of writing a snapshot, in their order. */
enum heapsnap_phase {
	HEAPSNAP_PHASE_NONE,     /**< no snapshot is being written */
	HEAPSNAP_PHASE_STARTING, /**< the writer has been started */
	HEAPSNAP_PHASE_SYMBOLS,  /**< modules whose symbols have been read */
	HEAPSNAP_PHASE_OBJECTS,  /**< bytes of memory searched for blocks */
	HEAPSNAP_PHASE_EDGES,    /**< objects searched for pointers */
	HEAPSNAP_PHASE_ROOTS,    /**< variables and stacks; no share is known */
	HEAPSNAP_PHASE_TYPES,    /**< objects that have a type */
	HEAPSNAP_PHASE_STORING,  /**< objects written to the file */
	HEAPSNAP_PHASES,
};

/**
 * How far the writer has come. The writer updates it some ten times a second, by writing to the
 * frozen copy's memory; each field is read and written atomically (relaxed), but fields may be
 * of different moments.
 */
struct heapsnap_progress {
	uint64_t start_ns; /**< CLOCK_MONOTONIC when the program had been frozen; 0: never */
	uint64_t phase;    /**< enum heapsnap_phase */
	uint64_t phase_ns; /**< CLOCK_MONOTONIC when the phase began */
	uint64_t done;     /**< of the phase's total, in units of the phase */
	uint64_t total;    /**< 0: unknown */
	uint64_t steps;    /**< of all loops of type inference: a measure of its work */
	uint64_t is_late;  /**< 1: time was up before all types had been found */
};

/** Memory that the program, its frozen copy and the library's own threads share. */
struct heapsnap_shared {
	struct heapsnap_progress progress;

	uint64_t stop_ns;                /**< from the first thread's stop to the release of all */
	uint64_t stop_calls;             /**< system calls that this took the thread that did it */
	uint64_t clone_ns;               /**< the clone's part of it */
	int32_t status;                  /**< 0: the snapshot has been written; else not */
	uint32_t number;                 /**< that the file got */
	char message[HEAPSNAP_PATH_MAX]; /**< the file's path; or why there is none */

	uint32_t ready;                      /**< futex: all above is known but the outcome */
	uint8_t moved[HEAPSNAP_THREADS / 8]; /**< bit per thread: it ran during the clone */
};

struct heapsnap_process {
	uint64_t magic;      /**< HEAPSNAP_PROCESS_MAGIC */
	uint32_t version;    /**< HEAPSNAP_PROTOCOL_VERSION */
	uint32_t bytes;      /**< sizeof(struct heapsnap_process) */
	uint64_t secret;     /**< for header.h: odd */
	uint64_t mark;       /**< for header.h: a bit */
	uint32_t has_chunks; /**< 1: the word before what libc gave is glibc's size of it */
	uint64_t
		footers_start; /**< every block with a footer lies in [footers_start, footers_end) */
	uint64_t footers_end;

	uint32_t pid;           /**< of the program, not of its frozen copy */
	uint32_t serial;        /**< snapshots of this process before this one */
	uint32_t first_number;  /**< the lowest that the file may get */
	uint64_t start_time_ns; /**< since 1970 */
	uint64_t time_ns;
	uint64_t clock_ns;      /**< the same moment on a clock that is never set */
	uint64_t checkpoint_ns; /**< of heapsnap_checkpoint(): when its epoch began; 0: never */
	uint64_t content_limit; /**< bytes of each object to keep; UINT64_MAX for all */
	uint32_t has_types;     /**< 1: infer the types of objects */
	uint32_t oldest; /**< write only so many of the oldest sampled blocks, and paths; 0: all */

	uint64_t writer_memory;  /**< bytes that the writer may use at most; 0: what is free */
	uint64_t writer_time_ns; /**< after which it finds no more types; 0: any */
	uint32_t writer_nice; /**< 1: it takes the processor and the disk when nobody else does */

	char program[HEAPSNAP_NAME_MAX]; /**< file name of the executable */
	/** File of a malloc that comes before ours, whose blocks are not tracked; "": there is none */
	char other_malloc[HEAPSNAP_PATH_MAX];
	char directory[HEAPSNAP_PATH_MAX]; /**< where relative names begin */
	char pattern[HEAPSNAP_PATH_MAX];   /**< of the file's name: %e %p %h %t %N */

	uint32_t origin;                     /**< enum heapsnap_origin */
	uint32_t signal;                     /**< that ended it, if it is dead; 0: none */
	uint32_t report;                     /**< enum heapsnap_report */
	uint32_t report_limit;               /**< lines of each part; 0: heapsh-unfreed's own */
	char report_type[HEAPSNAP_NAME_MAX]; /**< of that type alone; "": all */

	uint64_t shared; /**< address of struct heapsnap_shared */

	uint64_t threads; /**< address of struct heapsnap_thread[thread_count]; [0] triggered */
	uint32_t thread_count;
	uint32_t missed_threads; /**< beyond what the table holds */

	uint64_t main_thread_pointer; /**< of the thread that loaded the library */
	int64_t move_offset; /**< of each thread's struct heapsnap_move from its thread pointer */

	uint64_t labels; /**< address of struct heapsnap_label[label_slots] */
	uint64_t label_slots;
	uint64_t pieces; /**< address of struct heapsnap_piece[piece_count]; 0: there are none */
	uint32_t piece_count;

	struct heapsnap_traced traced;

	uint64_t steps;   /**< address of struct heapsnap_step[step_count]; [0] is none */
	uint64_t kinds;   /**< address of struct heapsnap_kind[kind_slots] */
	uint64_t samples; /**< address of struct heapsnap_sample[sample_slots] */
	/** Addresses of the second parts, from entry HEAPSNAP_FIRST_... on; 0: there is none yet. */
	uint64_t more_steps, more_kinds, more_samples;
	uint64_t wrappers; /**< address of uint64_t[wrapper_slots]: sites looked through; 0: free */
	uint64_t unmapped; /**< address of struct heapsnap_unmapped[unmapped_count] */
	uint32_t unmapped_count;
	uint32_t step_count; /**< 0 for all five: no backtraces are taken */
	uint32_t kind_slots;
	uint32_t sample_slots;
	uint32_t wrapper_slots;
	uint64_t wrapper_names; /**< address of the value of HEAPSNAP_WRAPPERS; 0: not set */

	uint32_t epoch; /**< the current one */
	uint32_t tls_module_count;
	struct heapsnap_tls_module tls_modules[HEAPSNAP_TLS_MODULES];
	uint64_t epochs; /**< address of uint64_t[epoch + 1]: when each began, ns since 1970 */
};

/**
 * Facts about a process without the library, from heapsnap attach, in a file that the writer
 * inherits. The addresses in it are all 0.
 */
struct heapsnap_foreign {
	struct heapsnap_process process;
	struct heapsnap_shared shared;
	struct heapsnap_thread threads[]; /**< [process.thread_count] */
};

/** The bytes of a program's name that %e stands for in a file's name: whole characters of UTF-8. */
static inline int heapsnap_name_in_file(const char *program)
{
	int length = 0;

	while (length < HEAPSNAP_NAME_IN_FILE && program[length])
		length++;
	while (length > 0 && (program[length] & 0xc0) == 0x80)
		length--;
	return length;
}

#endif
