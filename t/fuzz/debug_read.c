// SPDX-License-Identifier: GPL-3.0-or-later
// Reads types and variables from any ELF file.
#include "lib/dwarf/dwarf_info.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char path[] = "fuzzed";
	struct heap_dwarf_file file = { .path = path,
					.descriptor = memfd_create(path, MFD_CLOEXEC) };
	struct heap_dwarf_info debug;

	if (file.descriptor < 0 || write(file.descriptor, bytes, size) != (ssize_t)size)
		abort();

	struct heap_error *error = heap_dwarf_info_read(&file, &debug);

	if (!error) {
		error = heap_types_check(&debug.types);
		if (error)
			abort();
		heap_dwarf_info_deinit(&debug);
	}
	heap_error_destroy(error);
	heap_dwarf_forget(&file);
	close(file.descriptor);
	return 0;
}
