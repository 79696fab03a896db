// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/hprof_file.h"

#include "lib/base/cleanup.h"

#include <string.h>

enum {
	SEGMENT_MOST = 1 << 20, // bytes after which another segment begins
};

static void put_direct(struct hprof_file *file, uint64_t number, unsigned size)
{
	while (size-- > 0)
		putc((int)(number >> 8 * size & 0xff), file->stream);
}

static void write_segment(struct hprof_file *file)
{
	if (file->segment.count == 0)
		return;
	hprof_begin_record(file, HPROF_SEGMENT, (uint32_t)file->segment.count);
	fwrite(file->segment.items, 1, file->segment.count, file->stream);
	file->segment.count = 0;
}

void hprof_begin(struct hprof_file *file, FILE *stream, uint64_t time_ms)
{
	static const char magic[] = "JAVA PROFILE 1.0.2";

	*file = (struct hprof_file){ .stream = stream };
	fwrite(magic, 1, sizeof(magic), stream);
	put_direct(file, sizeof(uint64_t), 4); // of an id
	put_direct(file, time_ms, 8);
}

struct heap_error *hprof_end(struct hprof_file *file)
{
	write_segment(file);
	hprof_begin_record(file, HPROF_END, 0);
	return file->failed ? heap_error_out_of_memory() : NULL;
}

void hprof_deinit(struct hprof_file *file)
{
	heap_array_deinit(&file->segment);
}

void hprof_begin_record(struct hprof_file *file, enum hprof_tag tag, uint32_t size)
{
	file->is_direct = true;
	put_direct(file, tag, 1);
	put_direct(file, 0, 4); // µs since the beginning
	put_direct(file, size, 4);
}

void hprof_begin_part(struct hprof_file *file, enum hprof_part part, uint64_t size)
{
	size++; // its tag
	if (file->segment.count + size > SEGMENT_MOST)
		write_segment(file);
	file->is_direct = size > SEGMENT_MOST;
	if (file->is_direct)
		hprof_begin_record(file, HPROF_SEGMENT, (uint32_t)size);
	hprof_put(file, part, 1);
}

void hprof_put(struct hprof_file *file, uint64_t number, unsigned size)
{
	uint8_t bytes[sizeof(number)];

	for (unsigned i = 0; i < size; i++)
		bytes[i] = (uint8_t)(number >> 8 * (size - 1 - i));
	hprof_put_bytes(file, bytes, size);
}

void hprof_put_bytes(struct hprof_file *file, const void *bytes, size_t size)
{
	if (file->is_direct) {
		fwrite(bytes, 1, size, file->stream);
		return;
	}

	struct heap_error *error = heap_array_reserve(&file->segment, size);

	file->failed |= error != NULL;
	if (!error && size > 0) {
		memcpy(file->segment.items + file->segment.count, bytes, size);
		file->segment.count += size;
	}
	heap_error_destroy(error);
}

unsigned hprof_type_size(enum hprof_type type)
{
	switch (type) {
	case HPROF_BYTE:
		return 1;
	case HPROF_SHORT:
		return 2;
	case HPROF_INT:
	case HPROF_FLOAT:
		return 4;
	default:
		return 8;
	}
}
