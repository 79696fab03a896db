// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PPROF_H
#define PPROF_H

/**
 * The input of pprof: a message of Protocol Buffers (profile.proto), compressed by gzip.
 *
 * A field is a key (its number and wire type), then a varint, or a length and as
 * many bytes. A message for which memory was short is not written.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_INLINED = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

struct protobuf {
	uint8_t *bytes; /**< [size] malloc'd */
	size_t size, capacity;
	bool failed;
};

/** Appends a bare number, for packed fields. */
void protobuf_put_varint(struct protobuf *message, uint64_t value);

/** Omits the field for 0, which is the value of absent fields. */
void protobuf_put_number(struct protobuf *message, unsigned field, uint64_t value);

/** Puts a field of bytes: a string, or packed numbers. */
void protobuf_put_bytes(struct protobuf *message, unsigned field, const void *bytes, size_t size);

/** Puts text of the program as printable UTF-8, since pprof prints it to a terminal. */
void protobuf_put_text(struct protobuf *message, unsigned field, const char *text);

/** Puts a message into another one, and empties it. */
void protobuf_put_message(struct protobuf *message, unsigned field, struct protobuf *inner);

/** Writes the message, compressed by gzip. */
HEAP_MUST_CHECK
struct heap_error *protobuf_compress(const struct protobuf *message, FILE *file);

#endif
