// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/divide.h"

#include "dumper/base/system.h"
#include "dumper/base/vast.h"
#include "dumper/host/sandbox.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

enum {
	TEXT_BYTES = 8192,
};

static char text[TEXT_BYTES]; // the stack is small

static long advise(void *context, uint64_t start, uint64_t size, int advice)
{
	(void)context;
	return HEAPSNAP_SYSTEM_3(SYS_madvise, start, size, advice);
}

// Lines of maps are read while mappings are divided: each is about what lies behind the one before.
static void divide_lines(long maps)
{
	size_t used = 0;
	uint64_t end = 0;
	long got;

	while ((got = HEAPSNAP_SYSTEM_3(SYS_read, maps, text + used, sizeof(text) - 1 - used)) >
	       0) {
		struct heapsnap_vast vast;
		char *line = text, *newline;

		used += (size_t)got;
		text[used] = '\0';
		for (; (newline = strchr(line, '\n')); line = newline + 1) {
			*newline = '\0';
			if (!heapsnap_find_vast(line, &vast) || vast.start < end)
				continue;
			if (end == 0 && !heapsnap_must_divide())
				return;
			end = vast.end;
			heapsnap_vast_divide(&vast, advise, NULL);
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
		if (used == sizeof(text) - 1)
			used = 0; // no line is so long
	}
}

void heapsnap_divide_vast(void)
{
	long maps;

	// A filter may end this copy for calls that it does not expect.
	if (heapsnap_is_sandboxed())
		return;
	maps = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	if (maps < 0)
		return;
	divide_lines(maps);
	HEAPSNAP_SYSTEM_1(SYS_close, maps);
}
