// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf_file.h"

#include "lib/cleanup.h"
#include "lib/debug_code.h"

#include <fcntl.h>
#include <string.h>

// --- what differs between libdwarf 20210528 and 0.4 and later ----------------------------

#ifdef DW_LIBDWARF_VERSION_MAJOR
static int init(int descriptor, Dwarf_Debug *debug, Dwarf_Error *error)
{
	return dwarf_init_b(descriptor, DW_GROUPNUMBER_ANY, NULL, NULL, debug, error);
}

static void finish(Dwarf_Debug debug)
{
	dwarf_finish(debug);
}

#else
static int init(int descriptor, Dwarf_Debug *debug, Dwarf_Error *error)
{
	return dwarf_init_b(descriptor, DW_DLC_READ, DW_GROUPNUMBER_ANY, NULL, NULL, debug, error);
}

static void finish(Dwarf_Debug debug)
{
	dwarf_finish(debug, NULL);
}

#endif

// --- open and close ------------------------------------------------------------------------

struct heap_error *heap_dwarf_open(const char *path, struct heap_dwarf_file **result)
{
	CLEANUP_FREE struct heap_dwarf_file *file = calloc(1, sizeof(*file));
	CLEANUP_FREE char *name = strdup(path);
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);

	if (!file || !name)
		return heap_error_out_of_memory();
	if (descriptor < 0)
		return heap_error_create_system("%s", path);

	Dwarf_Error error = NULL;

	file->path = name;
	switch (init(descriptor, &file->debug, &error)) {
	case DW_DLV_OK:
		break;
	case DW_DLV_NO_ENTRY:
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: no debug information", path);
	default:
		return heap_dwarf_error(file, error, "cannot be opened");
	}
	file->descriptor = descriptor;
	descriptor = -1;
	name = NULL;
	*result = keep(file);
	return NULL;
}

void heap_dwarf_close(struct heap_dwarf_file *file)
{
	if (!file)
		return;
	finish(file->debug);
	heap_debug_code_destroy(file->code);
	if (file->debug_units)
		heap_debug_units_close(file->debug_units);
	free(file->debug_units);
	close(file->descriptor);
	free(file->path);
	free(file);
}

struct heap_error *heap_dwarf_error(struct heap_dwarf_file *file, Dwarf_Error error,
				    const char *what)
{
	struct heap_error *result = heap_error_create(HEAP_ERROR_FORMAT, "%s: %s: %s", file->path,
						      what, dwarf_errmsg(error));

	dwarf_dealloc_error(file->debug, error);
	return result;
}
