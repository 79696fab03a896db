// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/exit_note.h"

#include "lib/base/escape.h"

#include <string.h>

bool exit_note_applies(const struct heap_snapshot *snapshot)
{
	static const char *const functions[] = { "exit", "__GI_exit", "quick_exit",
						 "__GI_quick_exit", "__run_exit_handlers" };

	for (uint32_t i = 0; i < snapshot->frame_count; i++) {
		const char *name = heap_snapshot_string(snapshot, snapshot->frames[i].function);

		for (size_t j = 0; j < sizeof(functions) / sizeof(*functions); j++) {
			if (strcmp(name, functions[j]) == 0)
				return true;
		}
	}
	return false;
}

void exit_note_print(const char *program, const char *file)
{
	heap_print(stderr,
		   "%s: %s was taken while the program exited: what main() and destructors free is "
		   "gone from it, so leave it out to see what grew\n",
		   program, file);
}
