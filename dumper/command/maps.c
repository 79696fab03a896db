// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/maps.h"

#include "lib/base/path.h"

#include <string.h>

// Reads digits of a base up to a separator, and moves past it. @return false: there is neither
static bool read_number(const char **at, unsigned base, char separator, uint64_t *result)
{
	static const char digits[] = "0123456789abcdef";
	const char *start = *at, *digit;

	*result = 0;
	for (; **at && (digit = strchr(digits, **at)) && digit < digits + base; ++*at) {
		if (*result > (UINT64_MAX - base) / base)
			return false;
		*result = *result * base + (uint64_t)(digit - digits);
	}
	return *at > start && *(*at)++ == separator;
}

bool mapping_parse(char *line, struct mapping *result)
{
	const char *at = line;
	uint64_t major, minor;

	line[strcspn(line, "\n")] = '\0';
	if (!read_number(&at, 16, '-', &result->start) || !read_number(&at, 16, ' ', &result->end))
		return false;
	if (strcspn(at, " ") != 4 || at[4] != ' ')
		return false;
	result->is_accessible = memcmp(at, "---", 3) != 0;
	at += 5;
	if (!read_number(&at, 16, ' ', &result->offset) || !read_number(&at, 16, ':', &major) ||
	    !read_number(&at, 16, ' ', &minor) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	result->major = (uint32_t)major;
	result->minor = (uint32_t)minor;
	// Without a path the line may end after the inode.
	if (!read_number(&at, 10, ' ', &result->inode) && at[-1] != '\0')
		return false;
	result->path = at[-1] == '\0' ? at - 1 : at + strspn(at, " ");
	heap_path_of_maps(line + (result->path - line));
	return result->start < result->end;
}

bool mapping_strip_deleted(char *path)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path), end = sizeof(suffix) - 1;

	if (length < end || strcmp(path + length - end, suffix) != 0)
		return false;
	path[length - end] = '\0';
	return true;
}
