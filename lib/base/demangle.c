// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

char *heap_demangle(const char *symbol)
{
	char *name = NULL;

	// The name may come from a hostile file. libiberty bounds the depth of its recursion; this
	// bounds the rest.
	if (strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0)
		name = strlen(symbol) < 4096 ? cplus_demangle(symbol, DMGL_AUTO) : NULL;
	return name ? name : strdup(symbol);
}

char *heap_demangle_vtable(const char *symbol)
{
	if (strncmp(symbol, "_ZTV", 4) != 0 || strlen(symbol) >= 4096)
		return NULL;

	static const char prefix[] = "vtable for ";
	char *name = cplus_demangle(symbol, DMGL_AUTO);

	if (name && strncmp(name, prefix, strlen(prefix)) == 0)
		memmove(name, name + strlen(prefix), strlen(name) - strlen(prefix) + 1);
	return name;
}
