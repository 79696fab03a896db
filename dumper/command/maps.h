// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_MAPS_H
#define HEAPSNAP_MAPS_H

/**
 * Lines of /proc/PID/maps (proc_pid_maps(5)). The names in them belong to the process: any text.
 */

#include <stdbool.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end;
	uint64_t offset; /**< in the file */
	uint32_t major, minor;
	uint64_t inode;
	bool is_accessible; /**< readable, writable or executable */
	const char *path;   /**< inside the line; "" if there is none */
};

/**
 * @param line  its newline is removed
 * @return false if it is no such line
 */
bool mapping_parse(char *line, struct mapping *result);

/**
 * Takes away the " (deleted)" that the kernel puts after a path without a file.
 *
 * @return false if there was none
 */
bool mapping_strip_deleted(char *path);

#endif
