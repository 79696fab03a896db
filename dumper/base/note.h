// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_NOTE_H
#define HEAPSNAP_NOTE_H

/**
 * An ELF note by which other processes recognise the library in memory, whatever its file is
 * called and wherever it has been copied to, and find its announcement (dumper/host/announce.h).
 *
 * The note lies in the first page of the library; its owner is HEAPSNAP_NOTE_OWNER, its type
 * HEAPSNAP_NOTE_TYPE, its description a struct heapsnap_note.
 */

#include <stdint.h>

// Numbers for the assembler, too.
#define HEAPSNAP_NOTE_OWNER "heapsnap"
#define HEAPSNAP_NOTE_TYPE 1
#define HEAPSNAP_NOTE_VERSION 1

struct heapsnap_note {
	uint32_t version;         /**< HEAPSNAP_NOTE_VERSION */
	uint32_t takes_snapshots; /**< 0: the trace-only library */
	int64_t announcement;     /**< address of heapsnap_announcement minus that of this field */
};

#endif
