// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/container_text.h"

#include "shell/print/value_print.h"
#include "shell/print/container_walk.h"
#include "shell/base/format.h"

#include "lib/snapshot/constants.h"

#include <inttypes.h>
#include <string.h>

enum {
	BRIEF_BYTES = 48,
	SHORT_BYTES = 256,
	MAX_CONSTANT = 1 << 20,
	COW_HEADER = 24, // before the text of old std::strings: length, capacity, owners
};

struct text {
	struct place bytes; // without a value if there is not one byte
	uint64_t length;    // characters
	uint64_t width;     // bytes of a character
};

// Text that is a constant of the program, which no object holds.
static bool find_constant(struct session *session, uint64_t address, struct text *text)
{
	uint64_t size = text->length * text->width;
	struct value *value = session_allocate(session, sizeof(*value));
	char *bytes = size <= MAX_CONSTANT ? session_allocate(session, size + 1) : NULL;

	if (!value || !bytes || heap_constants_read(session->snapshot, address, bytes, size) < size)
		return false;
	*value = (struct value){ .bytes = (const uint8_t *)bytes,
				 .kept = size,
				 .size = size,
				 .object = HEAP_NO_OBJECT,
				 .address = address };
	text->bytes = (struct place){ value, 0, HEAP_NO_TYPE };
	return true;
}

// Text in a block, whose characters are all there.
static bool follow_text(struct session *session, const struct place *place, uint64_t address,
			struct text *text)
{
	if (text->length == 0)
		return true;
	return text->length <= UINT32_MAX && text->width > 0 && text->width <= 4 &&
	       (place_follow_whole(session, place, address, text->length * text->width,
				   &text->bytes) ||
		(heap_snapshot_find(session->snapshot, address) == HEAP_NO_OBJECT &&
		 find_constant(session, address, text)));
}

static bool find_cow(struct session *session, const struct place *place, uint64_t address,
		     struct text *text)
{
	struct place header;

	text->length = 0;
	// The one empty string that all others share is in the library's data.
	if (!place_follow(session, place, address - COW_HEADER, COW_HEADER, &header))
		return heap_snapshot_find(session->snapshot, address) == HEAP_NO_OBJECT;
	return value_load_number(header.value, header.offset, 8, &text->length) &&
	       follow_text(session, place, address, text);
}

static bool find_gnu(struct session *session, const struct place *place, struct text *text)
{
	struct place pointer, local;
	uint64_t address;

	if (!place_find(session, place, "_M_dataplus._M_p", &pointer) ||
	    !place_pointer(session, &pointer, &address))
		return false;
	text->width = heap_types_size(&session->snapshot->types, place_pointee(session, &pointer));
	if (!place_find(session, place, "_M_local_buf", &local))
		return find_cow(session, place, address, text);
	if (!place_find_number(session, place, "_M_string_length", &text->length))
		return false;
	if (address != place_address(&local))
		return follow_text(session, place, address, text);
	text->bytes = local;
	return text->width > 0 &&
	       text->length < heap_types_size(&session->snapshot->types, local.type) / text->width;
}

// The lowest bit of the first byte tells long from short ones, the others are the length
// of a short one.
static bool find_llvm(struct session *session, const struct place *place, struct text *text)
{
	const struct heap_types *types = &session->snapshot->types;
	struct place body, pointer, local;
	uint64_t first, address;

	if (!place_find(session, place, "__r_.__value_", &body) &&
	    !place_find(session, place, "__rep_", &body))
		return false;
	if (!place_find(session, &body, "__l.__data_", &pointer) ||
	    !place_find(session, &body, "__s.__data_", &local) ||
	    !value_load_number(body.value, body.offset, 1, &first))
		return false;
	text->width = heap_types_size(types, place_pointee(session, &pointer));
	if (first & 1)
		return place_pointer(session, &pointer, &address) &&
		       place_find_number(session, &body, "__l.__size_", &text->length) &&
		       follow_text(session, place, address, text);
	text->length = first >> 1;
	text->bytes = local;
	return text->width > 0 && text->length <= heap_types_size(types, local.type) / text->width;
}

static bool find_view(struct session *session, const struct place *place, struct text *text)
{
	struct place pointer;
	uint64_t address;

	if ((!place_find(session, place, "_M_str", &pointer) ||
	     !place_find_number(session, place, "_M_len", &text->length)) &&
	    (!place_find(session, place, "__data", &pointer) ||
	     !place_find_number(session, place, "__size", &text->length)))
		return false;
	text->width = heap_types_size(&session->snapshot->types, place_pointee(session, &pointer));
	return place_pointer(session, &pointer, &address) &&
	       follow_text(session, place, address, text);
}

static bool find_rust(struct session *session, const struct place *place, struct text *text)
{
	struct place vec, pointer;
	uint64_t capacity, address;

	text->width = 1;
	return place_find(session, place, "vec", &vec) &&
	       container_walk_vec(session, &vec, &pointer, &text->length, &capacity) &&
	       place_pointer(session, &pointer, &address) &&
	       follow_text(session, place, address, text);
}

static bool find_text(struct session *session, const struct place *place, struct text *text)
{
	*text = (struct text){ 0 };
	return find_gnu(session, place, text) || find_llvm(session, place, text) ||
	       find_view(session, place, text) || find_rust(session, place, text);
}

// --- characters --------------------------------------------------------------

static char *put_utf8(char *at, uint32_t character)
{
	if (character < 0x80) {
		*at++ = (char)character;
	} else if (character < 0x800) {
		*at++ = (char)(0xc0 | character >> 6);
		*at++ = (char)(0x80 | (character & 0x3f));
	} else if (character < 0x10000) {
		*at++ = (char)(0xe0 | character >> 12);
		*at++ = (char)(0x80 | (character >> 6 & 0x3f));
		*at++ = (char)(0x80 | (character & 0x3f));
	} else {
		*at++ = (char)(0xf0 | (character >> 18 & 0x7));
		*at++ = (char)(0x80 | (character >> 12 & 0x3f));
		*at++ = (char)(0x80 | (character >> 6 & 0x3f));
		*at++ = (char)(0x80 | (character & 0x3f));
	}
	return at;
}

static uint32_t load_character(const uint8_t *at, uint64_t width)
{
	uint32_t character = 0;

	memcpy(&character, at, width);
	return character;
}

// UTF-16's pairs become one character.
static uint32_t join_pair(const uint8_t *at, uint32_t character)
{
	uint32_t low = load_character(at, 2);

	if (character >= 0xd800 && character < 0xdc00 && low >= 0xdc00 && low < 0xe000)
		return 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
	return 0;
}

static char *to_utf8(struct session *session, const uint8_t *bytes, uint64_t count, uint64_t width,
		     size_t *length)
{
	char *result = session_allocate(session, count * 4 + 1), *at = result;

	if (!result)
		return NULL;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t character = load_character(bytes + i * width, width);
		uint32_t joined =
			width == 2 && i + 1 < count ? join_pair(bytes + (i + 1) * 2, character) : 0;

		at = put_utf8(at, joined ? joined : character);
		i += joined != 0;
	}
	*length = (size_t)(at - result);
	return result;
}

// Counts the bytes that were kept, of those that are wanted.
static uint64_t count_kept(const struct text *text, uint64_t most)
{
	const struct value *value = text->bytes.value;
	uint64_t count = text->length < most ? text->length : most;

	if (!value || text->bytes.offset >= value->kept)
		return 0;

	uint64_t kept = (value->kept - text->bytes.offset) / text->width;

	return count < kept ? count : kept;
}

// At most that many characters, as UTF-8 that ends with NUL; NULL if memory is short.
static const char *read_text(struct session *session, const struct text *text, uint64_t count,
			     size_t *length)
{
	const uint8_t *bytes = count > 0 ? text->bytes.value->bytes + text->bytes.offset : NULL;
	char *result;

	if (text->width > 1 && count > 0) {
		result = to_utf8(session, bytes, count, text->width, length);
	} else {
		result = session_allocate(session, count + 1);
		if (result && count > 0)
			memcpy(result, bytes, count);
		*length = count;
	}
	if (result)
		result[*length] = '\0';
	return result;
}

static const char *quote(struct session *session, const struct text *text, uint64_t count)
{
	size_t length;
	const char *read = read_text(session, text, count, &length);

	if (!read)
		return "";
	return session_format(session, "\"%s\"%s",
			      session_keep(session, format_escaped(read, length)),
			      count < text->length ? "…" : "");
}

bool container_text_print(struct session *session, const struct place *place, const char *name,
			  int indent, enum value_limit limit)
{
	struct text text;
	size_t length;

	if (!find_text(session, place, &text))
		return false;

	uint64_t count = count_kept(&text, limit == VALUE_SHORT && !output_is_json(session->output)
						   ? SHORT_BYTES
						   : UINT64_MAX);
	const char *read = read_text(session, &text, count, &length);

	value_begin_line(session, name, indent);
	if (count == 0 && text.length > 0)
		output_text(session->output, "(not kept)\n");
	else
		output_text(session->output, "%s\n", quote(session, &text, count));
	output_format(session->output, name, "%s%s", read ? read : "",
		      count < text.length ? "…" : "");
	return true;
}

const char *container_text_describe(struct session *session, const struct place *place)
{
	struct text text;

	if (!find_text(session, place, &text))
		return "";

	uint64_t count = count_kept(&text, BRIEF_BYTES);

	return count == 0 && text.length > 0 ? "" : quote(session, &text, count);
}

const char *container_text_read(struct session *session, const struct place *place, size_t *length)
{
	struct text text;

	return find_text(session, place, &text)
		       ? read_text(session, &text, count_kept(&text, UINT64_MAX), length)
		       : NULL;
}
