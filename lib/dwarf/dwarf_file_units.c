// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_file_units.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_split.h"

static void destroy(void *units)
{
	heap_dwarf_units_close(units);
	free(units);
}

HEAP_MUST_CHECK
static struct heap_error *read_units(const struct heap_dwarf_file *file,
				     struct heap_dwarf_units *units)
{
	struct heap_error *error = NULL;

	HEAP_TRY(heap_dwarf_units_open(file->descriptor, file->path, units));
	error = heap_dwarf_split_open(units, file->program);
	if (!error)
		error = heap_dwarf_units_index_types(units);
	if (error)
		heap_dwarf_units_close(units);
	return error;
}

struct heap_error *heap_dwarf_file_units(struct heap_dwarf_file *file,
					 struct heap_dwarf_units **result)
{
	struct heap_dwarf_kept *kept = &file->kept[HEAP_DWARF_KEPT_UNITS];

	if (!kept->thing) {
		CLEANUP_FREE struct heap_dwarf_units *units = calloc(1, sizeof(*units));

		if (!units)
			return heap_error_out_of_memory();
		HEAP_TRY(read_units(file, units));
		*kept = (struct heap_dwarf_kept){ keep(units), destroy };
	}
	*result = kept->thing;
	return NULL;
}
