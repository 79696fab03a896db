// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_ANNOUNCE_H
#define HEAPSNAP_ANNOUNCE_H

/**
 * Tells other processes how this one is captured, for heapsnap capture and heapsnap list.
 *
 * The program may change its directory, overwrite its environment to set a title, and install
 * a handler of its own for our signal at any time. So the library keeps the answer up to date,
 * in two forms.
 *
 * A mapping, which /proc/PID/maps shows to everyone who may send a signal:
 *
 *	ADDRESSES ---p ... /memfd:heapsnap SIGNAL PATTERN (deleted)
 *
 * SIGNAL is a number, 0 for none; PATTERN is an absolute path in the form of HEAPSNAP_FILE, and
 * missing if it is too long for a name. The mapping has no permissions while the handler is ours,
 * and is readable (r--p) while it is not: mprotect() is a call that sandboxes allow, and a
 * new name would take one that they kill for. Any program can map such a name: nothing in it
 * may be trusted or evaluated.
 *
 * The whole answer is the exported data symbol heapsnap_announcement of the library. A reader
 * who may read the process's memory finds it without trusting the process: the library's
 * mapping in /proc/PID/maps has the device and inode of a file that the reader knows to be
 * ours, and that file's symbol table has the offset.
 */

#include "dumper/base/protocol.h"

#include <stdint.h>

#define HEAPSNAP_ANNOUNCEMENT_MAGIC UINT64_C(0x454341464f4e5048)

enum {
	HEAPSNAP_ANNOUNCEMENT_VERSION = 1,
};

/** The owner of the signal's handler. The signal may be sent only with HEAPSNAP_HANDLER_OURS. */
enum heapsnap_handler {
	HEAPSNAP_HANDLER_NONE, /**< no signal is wanted: trace-only mode, set-user-id, stays out */
	HEAPSNAP_HANDLER_OURS, /**< the signal takes a snapshot */
	HEAPSNAP_HANDLER_EARLIER,  /**< the program had a handler before we were loaded */
	HEAPSNAP_HANDLER_REPLACED, /**< the program has installed a handler of its own since */
	HEAPSNAP_HANDLER_IGNORED,  /**< the program has had the signal ignored since */
	HEAPSNAP_HANDLER_DEFAULT,  /**< the signal would end it: it has removed our handler */
	HEAPSNAP_HANDLER_WAITED,   /**< the program receives it by sigwait() or signalfd() */
	HEAPSNAP_HANDLER_UNSURE,   /**< a runtime that takes all signals, past libc: Go */
	HEAPSNAP_HANDLER_SANDBOX,  /**< the program's seccomp filter would end it for a snapshot */
};

/** The allocator of the program's blocks. */
enum heapsnap_whose_malloc {
	HEAPSNAP_ALLOCATOR_OURS,
	HEAPSNAP_ALLOCATOR_OTHER,     /**< another malloc comes before ours */
	HEAPSNAP_ALLOCATOR_SANITIZER, /**< ASan, TSan, MSan...: the library stays out */
};

struct heapsnap_announcement {
	uint64_t magic;   /**< HEAPSNAP_ANNOUNCEMENT_MAGIC; 0 until the library is set up */
	uint32_t version; /**< HEAPSNAP_ANNOUNCEMENT_VERSION */
	uint32_t bytes;   /**< sizeof(struct heapsnap_announcement) */
	uint64_t address; /**< of this structure itself */

	/**
	 * This process in its own pid namespace: the last number in NSpid of
	 * /proc/PID/status. Another number: a child that has not run library code since it was
	 * made (a raw clone(), vfork()); then all else is as its parent had it.
	 */
	uint32_t pid;
	uint32_t signal;    /**< that asks for a snapshot; 0: none */
	uint32_t handler;   /**< enum heapsnap_handler */
	uint32_t allocator; /**< enum heapsnap_whose_malloc */
	/** The last time at which the handler's state was certain, on CLOCK_MONOTONIC. */
	uint64_t looked_ns;
	uint32_t changes; /**< how often handler has changed */

	uint32_t takes_snapshots; /**< 0: trace-only mode, or it stays out of the program */

	uint32_t writing; /**< 1 while a snapshot is being taken or written */
	uint32_t begun;   /**< snapshots that have been begun by this process */
	uint32_t ended;   /**< of these, how many have been written or have failed */
	int32_t outcome;  /**< of the last that ended: 0 or -errno */
	uint64_t process; /**< address of struct heapsnap_process */
	/**
	 * Address of struct heapsnap_shared, where the outcome's text and the writer's progress
	 * are; 0 before the first snapshot. Of a child with another pid: its parent's.
	 */
	uint64_t shared;

	char allocator_file[HEAPSNAP_PATH_MAX]; /**< of the malloc that comes first; "" if ours */
	char pattern[2 * HEAPSNAP_PATH_MAX];    /**< absolute, in the form of HEAPSNAP_FILE */
};

/** The one instance. */
extern struct heapsnap_announcement heapsnap_announcement __attribute__((visibility("default")));

/**
 * Fills it in, and maps the name. Once, when the library is set up.
 *
 * @param signal     number, or 0
 * @param allocator  the program's
 */
void heapsnap_announce(int signal, enum heapsnap_handler handler,
		       enum heapsnap_whose_malloc allocator);

/** Notes the handler's state, which may have changed. async-signal-safe. */
void heapsnap_announce_handler(enum heapsnap_handler handler);

/** The program is about to forbid itself what a snapshot takes: see sandbox.h. */
void heapsnap_announce_sandbox(void);

/** The same without a system call, and instead of heapsnap_announce(), for one that was inherited. */
void heapsnap_announce_inherited_sandbox(uint32_t pid);

/** To be called in a child of fork(), where the announcement is still its parent's. */
void heapsnap_announce_child(void);

#endif
