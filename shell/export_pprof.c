// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * pprof's profile.proto, compressed by gzip: a sample per stack and type, with objects and
 * bytes in use.
 *
 * The encoding is that of Protocol Buffers: a key, which is the field's number and how it is
 * encoded, and then a varint, or a length and so many bytes.
 */
#include "shell/describe.h"
#include "shell/export_stacks.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// Field numbers of profile.proto.
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

struct message {
	uint8_t *bytes; // [size]
	size_t size, capacity;
	bool failed;
};

static void put_byte(struct message *message, uint8_t byte)
{
	if (message->size == message->capacity) {
		size_t capacity = message->capacity ? message->capacity * 2 : 256;
		uint8_t *larger = message->failed ? NULL : realloc(message->bytes, capacity);

		if (!larger) {
			message->failed = true;
			return;
		}
		message->bytes = larger;
		message->capacity = capacity;
	}
	message->bytes[message->size++] = byte;
}

static void put_varint(struct message *message, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(message, (uint8_t)(value | 0x80));
	put_byte(message, (uint8_t)value);
}

// 0 is what a field has that is not there.
static void put_number(struct message *message, unsigned field, uint64_t value)
{
	if (value == 0)
		return;
	put_varint(message, field << 3);
	put_varint(message, value);
}

static void put_bytes(struct message *message, unsigned field, const void *bytes, size_t size)
{
	put_varint(message, field << 3 | 2);
	put_varint(message, size);
	for (size_t i = 0; i < size; i++)
		put_byte(message, ((const uint8_t *)bytes)[i]);
}

// Puts a message into another one, and empties it.
static void put_message(struct message *message, unsigned field, struct message *inner)
{
	put_bytes(message, field, inner->bytes, inner->size);
	message->failed |= inner->failed;
	inner->size = 0;
}

struct profile {
	struct session *session;
	struct export_texts texts;
	struct export_stacks stacks;
	struct message message, inner, innermost;
};

static void put_value_type(struct profile *profile, const char *type, const char *unit)
{
	put_number(&profile->inner, VALUE_TYPE, export_texts_add(&profile->texts, type));
	put_number(&profile->inner, VALUE_UNIT, export_texts_add(&profile->texts, unit));
	put_message(&profile->message, PROFILE_SAMPLE_TYPE, &profile->inner);
}

// Locations have the numbers of frames, so that 0, which is none in pprof, is the root.
static void put_sample(struct profile *profile, const struct export_sample *sample)
{
	const struct export_stack_node *nodes = profile->stacks.nodes;
	struct message *inner = &profile->inner, *innermost = &profile->innermost;

	for (uint32_t node = sample->node; node > 0; node = nodes[node].parent)
		put_varint(innermost, nodes[node].frame);
	put_message(inner, SAMPLE_LOCATION, innermost);
	put_varint(innermost, sample->objects);
	put_varint(innermost, sample->bytes);
	put_message(inner, SAMPLE_VALUE, innermost);
	put_number(innermost, LABEL_KEY, export_texts_add(&profile->texts, "type"));
	put_number(innermost, LABEL_TEXT, sample->class);
	put_message(inner, SAMPLE_LABEL, innermost);
	put_message(&profile->message, PROFILE_SAMPLE, inner);
}

static void put_mappings(struct profile *profile)
{
	const struct heap_snapshot *snapshot = profile->session->snapshot;
	struct message *inner = &profile->inner;

	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const struct heap_module *module = &snapshot->modules[i];

		put_number(inner, MAPPING_ID, i + 1);
		put_number(inner, MAPPING_START, module->start);
		put_number(inner, MAPPING_LIMIT, module->end);
		put_number(inner, MAPPING_FILE,
			   export_texts_add(&profile->texts,
					    heap_snapshot_string(snapshot, module->path)));
		put_number(inner, MAPPING_BUILD_ID,
			   export_texts_add(&profile->texts,
					    heap_snapshot_string(snapshot, module->build_id)));
		// Nobody need look for symbols: what is known is there.
		for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINED; has++)
			put_number(inner, has, true);
		put_message(&profile->message, PROFILE_MAPPING, inner);
	}
}

// A function per frame: what is of one name and file is one function to readers.
static void put_locations(struct profile *profile)
{
	struct message *inner = &profile->inner, *innermost = &profile->innermost;

	for (uint32_t i = 1; i < profile->stacks.frame_count; i++) {
		const struct export_frame *frame = &profile->stacks.frames[i];

		put_number(inner, LOCATION_ID, i);
		put_number(inner, LOCATION_MAPPING,
			   frame->module == HEAP_NO_INDEX ? 0 : frame->module + 1);
		put_number(inner, LOCATION_ADDRESS, frame->address);
		put_number(innermost, LINE_FUNCTION, i);
		put_number(innermost, LINE_NUMBER, frame->line);
		put_message(inner, LOCATION_LINE, innermost);
		put_message(&profile->message, PROFILE_LOCATION, inner);

		put_number(inner, FUNCTION_ID, i);
		put_number(inner, FUNCTION_NAME, frame->name);
		put_number(inner, FUNCTION_SYSTEM_NAME, frame->name);
		put_number(inner, FUNCTION_FILE, frame->file);
		put_message(&profile->message, PROFILE_FUNCTION, inner);
	}
}

static void put_profile(struct profile *profile)
{
	const struct heap_info *info = &profile->session->snapshot->info;

	put_value_type(profile, "inuse_objects", "count");
	put_value_type(profile, "inuse_space", "bytes");
	for (size_t i = 0; i < profile->stacks.sample_count; i++)
		put_sample(profile, &profile->stacks.samples[i]);
	put_mappings(profile);
	put_locations(profile);
	put_number(&profile->message, PROFILE_TIME, info->time_ns);
	put_number(&profile->message, PROFILE_COMMENT,
		   export_texts_add(&profile->texts, info->command));
	put_number(&profile->message, PROFILE_DEFAULT_SAMPLE_TYPE,
		   export_texts_add(&profile->texts, "inuse_space"));
	for (uint32_t i = 0; i < profile->texts.count; i++) {
		const char *text = export_texts_get(&profile->texts, i);

		put_bytes(&profile->message, PROFILE_STRING, text, strlen(text));
	}
}

// As gzip has it.
HEAP_MUST_CHECK
static struct heap_error *compress_to(FILE *file, const struct message *message)
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

struct heap_error *export_pprof(struct export *export)
{
	struct profile profile = { .session = export->session };
	struct heap_error *error;

	export_texts_init(&profile.texts);
	error = export_stacks_init(&profile.stacks, export->session, export->options->by,
				   &profile.texts);
	if (!error) {
		put_profile(&profile);
		error = profile.message.failed || profile.texts.failed
				? heap_error_out_of_memory()
				: compress_to(export->stream, &profile.message);
		export_stacks_deinit(&profile.stacks);
	}
	export_texts_deinit(&profile.texts);
	free(profile.message.bytes);
	free(profile.inner.bytes);
	free(profile.innermost.bytes);
	return error;
}
