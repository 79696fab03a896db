// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_ANNOUNCEMENT_H
#define HEAPSNAP_ANNOUNCEMENT_H

/**
 * Another process's word on how it can be captured, as far as that can be verified.
 *
 * The library in a process is recognised by the device and inode of the one beside this program,
 * or by its note (dumper/base/note.h). It answers by a structure in its memory and, for those who may
 * not read that, by the name and the permissions of a mapping (dumper/host/announce.h).
 *
 * A hostile process can forge all of it, and gets no more by that than a signal of its own choice
 * among those that a library of ours takes.
 */

#include "dumper/host/announce.h"
#include "dumper/command/maps.h"
#include "dumper/command/process.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	ANNOUNCED_NAME_MAX = 256, // of a memfd, which the kernel limits to 249
};

/** A file as /proc/PID/maps shows it, which on some file systems is not as stat() does. */
struct file_identity {
	uint32_t major, minor;
	uint64_t inode; /**< 0: there is no such file */
};

/** The libraries that lie beside this program. */
struct own_libraries {
	struct file_identity snapshots, trace;
};

struct announcement {
	bool has_library;     /**< one of ours is loaded */
	bool takes_snapshots; /**< false: the trace-only library */
	bool is_known;        /**< the library says how it is captured: */

	int signal;                    /**< 1 to 63; 0 unless handler says that there is one */
	enum heapsnap_handler handler; /**< only with HEAPSNAP_HANDLER_OURS may it be sent */
	char *pattern;                 /**< absolute, with %; NULL if it is unknown */
	uint64_t address;              /**< of the structure; 0: it could not be read */
};

/** Looks them up. Those that are missing are not recognised by their inode. */
void own_libraries_find(struct own_libraries *result);

/**
 * Reads a process's announcement.
 *
 * @param result  to be given to announcement_deinit() in any case
 * @return NULL, or HEAP_ERROR_SYSTEM: the process may not be examined
 */
HEAP_MUST_CHECK
struct heap_error *announcement_read(struct process *process, const struct own_libraries *own,
				     struct announcement *result);

void announcement_deinit(struct announcement *announcement);

/**
 * Takes the parts out of "heapsnap SIGNAL PATTERN", which may be any text.
 *
 * @return false if it is no such name
 */
bool announcement_parse_name(const char *name, struct announcement *result);

/**
 * Checks a structure that was read at @p address, and takes the parts out of it.
 *
 * @param details  its texts get an end
 */
bool announcement_parse_details(struct heapsnap_announcement *details, uint64_t address,
				struct announcement *result);

#endif
