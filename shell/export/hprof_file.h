// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HPROF_FILE_H
#define HPROF_FILE_H

/**
 * A file in the binary format of the JVM's heap dumps (JAVA PROFILE 1.0.2): big-endian records. Those of
 * the dump itself are gathered in segments.
 *
 *	header │ STRING… │ LOAD CLASS… │ HEAP DUMP SEGMENT: class, instance, array, root… │ … │ END
 *
 * Source: the manual of HPROF in the JDK's demo/jvmti/hprof, and HotSpot's heapDumper.cpp.
 */

#include "lib/base/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Records of the file. */
enum hprof_tag {
	HPROF_STRING = 0x01,
	HPROF_LOAD_CLASS = 0x02,
	HPROF_STACK_TRACE = 0x05,
	HPROF_SEGMENT = 0x1c,
	HPROF_END = 0x2c,
};

/** Parts of a dump. */
enum hprof_part {
	HPROF_ROOT_JAVA_FRAME = 0x03,
	HPROF_ROOT_NATIVE_STACK = 0x04,
	HPROF_ROOT_STICKY_CLASS = 0x05,
	HPROF_ROOT_THREAD_BLOCK = 0x06,
	HPROF_CLASS = 0x20,
	HPROF_INSTANCE = 0x21,
	HPROF_OBJECT_ARRAY = 0x22,
	HPROF_PRIMITIVE_ARRAY = 0x23,
	HPROF_ROOT_UNKNOWN = 0xff,
};

/** Types of fields and array elements. */
enum hprof_type {
	HPROF_OBJECT = 2,
	HPROF_FLOAT = 6,
	HPROF_DOUBLE = 7,
	HPROF_BYTE = 8,
	HPROF_SHORT = 9,
	HPROF_INT = 10,
	HPROF_LONG = 11,
};

struct hprof_file {
	FILE *stream;
	struct HEAP_ARRAY(uint8_t) segment; /**< of parts, until it is full */
	bool is_direct;                     /**< a part that is larger than a segment is written */
	bool failed;                        /**< memory was short */
};

/** @param time_ms  since 1970 */
void hprof_begin(struct hprof_file *file, FILE *stream, uint64_t time_ms);

/** Ends the dump. @return HEAP_ERROR_MEMORY if memory was short meanwhile */
HEAP_MUST_CHECK
struct heap_error *hprof_end(struct hprof_file *file);

/** Frees what the file holds. The stream is the caller's. */
void hprof_deinit(struct hprof_file *file);

/** Begins a record of @p size bytes, which must be put next. */
void hprof_begin_record(struct hprof_file *file, enum hprof_tag tag, uint32_t size);

/** Begins a part of a dump of @p size bytes, which must be put next; its tag is put here. */
void hprof_begin_part(struct hprof_file *file, enum hprof_part part, uint64_t size);

/** Puts a number of that many bytes: 1, 2, 4 or 8. */
void hprof_put(struct hprof_file *file, uint64_t number, unsigned size);

/** Puts bytes as they are. */
void hprof_put_bytes(struct hprof_file *file, const void *bytes, size_t size);

/** Bytes of a field of a type. */
unsigned hprof_type_size(enum hprof_type type);

#endif
