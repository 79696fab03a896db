// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool heap_terminal_is_able(int descriptor)
{
	const char *type = getenv("TERM");

	return type && *type && strcmp(type, "dumb") != 0 && isatty(descriptor);
}
