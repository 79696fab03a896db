// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/pprof.h"

#include "lib/base/array.h"
#include "lib/base/escape.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_byte(struct protobuf *message, uint8_t byte)
{
	struct heap_error *error = NULL;

	if (!message->failed)
		error = heap_reserve(message->bytes, message->capacity, message->size + 1);
	message->failed |= error != NULL;
	heap_error_destroy(error);
	if (!message->failed)
		message->bytes[message->size++] = byte;
}

void protobuf_put_varint(struct protobuf *message, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(message, (uint8_t)(value | 0x80));
	put_byte(message, (uint8_t)value);
}

void protobuf_put_number(struct protobuf *message, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	protobuf_put_varint(message, field << 3);
	protobuf_put_varint(message, value);
}

void protobuf_put_bytes(struct protobuf *message, unsigned field, const void *bytes, size_t size)
{
	protobuf_put_varint(message, field << 3 | 2);
	protobuf_put_varint(message, size);
	for (size_t i = 0; i < size; i++)
		put_byte(message, ((const uint8_t *)bytes)[i]);
}

void protobuf_put_text(struct protobuf *message, unsigned field, const char *text)
{
	char *name = heap_escape(HEAP_ESCAPE_NAME, text, strlen(text));

	message->failed |= !name;
	if (name)
		protobuf_put_bytes(message, field, name, strlen(name));
	free(name);
}

void protobuf_put_message(struct protobuf *message, unsigned field, struct protobuf *inner)
{
	protobuf_put_bytes(message, field, inner->bytes, inner->size);
	message->failed |= inner->failed;
	inner->size = 0;
}

struct heap_error *protobuf_compress(const struct protobuf *message, FILE *file)
{
	z_stream stream = { .next_in = message->bytes, .avail_in = (uInt)message->size };
	uint8_t buffer[16384];
	int status;

	if (message->size > UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "the profile is larger than 4 GiB");
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return heap_error_out_of_memory();
	do {
		stream.next_out = buffer;
		stream.avail_out = sizeof(buffer);
		status = deflate(&stream, Z_FINISH);
		fwrite(buffer, 1, sizeof(buffer) - stream.avail_out, file);
	} while (status == Z_OK);
	deflateEnd(&stream);
	return NULL;
}
