// SPDX-License-Identifier: GPL-3.0-or-later
// A container of any bytes, as they are and with all checksums set: every section is read in
// all ways, whole and in part.
#include "t/fuzz/damage.h"

#include "lib/file/file.h"

enum {
	// Elements; larger sections are read in part only, to stay quick.
	PART = 1 << 20,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_range(const struct heap_file *file, const struct heap_section *section,
		       uint64_t first, uint64_t count)
{
	void *values = malloc(count * 8 + 1);

	heap_error_destroy(heap_file_read_u64(file, section, first, count, values));
	heap_error_destroy(heap_file_read_u32(file, section, first, count, values));
	heap_error_destroy(heap_file_read_bytes(file, section, first, count, values));
	free(values);
}

static void read_section(const struct heap_file *file, const struct heap_section *section)
{
	struct heap_error *error = heap_file_check(file, section);
	uint64_t count = section->count < PART ? section->count : PART;

	if (error) {
		heap_error_destroy(error);
		return;
	}
	read_range(file, section, 0, count);
	read_range(file, section, count / 3, count / 2);
	read_range(file, section, section->count - count / 4, count / 4);
	read_range(file, section, section->count, 1);
}

static void open_and_read(const uint8_t *bytes, size_t size)
{
	struct heap_file *file;
	struct heap_error *error = heap_file_open_memory(bytes, size, &file);

	if (error) {
		heap_error_destroy(error);
		return;
	}
	// Its directory is sound if it could be opened.
	const uint8_t *trailer = bytes + size - HEAP_TRAILER_SIZE;
	const uint8_t *directory = bytes + heap_get_u64(trailer);
	uint32_t count = heap_get_u32(trailer + 16);
	uint64_t stride = count ? heap_get_u64(trailer + 8) / count : 0;

	for (uint32_t i = 0; i < count; i++)
		read_section(file, heap_file_find(file, heap_get_u32(directory + i * stride)));
	heap_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	open_and_read(bytes, size);
	if (size > 0)
		memcpy(copy, bytes, size);
	mend(copy, size);
	open_and_read(copy, size);
	free(copy);
	return 0;
}
