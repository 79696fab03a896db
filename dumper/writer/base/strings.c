// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/base/strings.h"

#include "lib/base/hash.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct heap_error *strings_init(struct strings *strings)
{
	*strings = (struct strings){
		.bytes = calloc(1, 4096),
		.size = 1,
		.capacity = 4096,
		.slots = calloc(1024, sizeof(uint32_t)),
		.slot_count = 1024,
	};
	if (!strings->bytes || !strings->slots) {
		strings_deinit(strings);
		return heap_error_out_of_memory();
	}
	return NULL;
}

struct heap_error *strings_adopt(struct strings *strings, const char *bytes, size_t size)
{
	HEAP_TRY(heap_reserve(strings->bytes, strings->capacity, size + 1));
	memcpy(strings->bytes, bytes, size);
	// A text that is added later is not looked for among these.
	strings->size = size > 0 ? size : 1;
	return NULL;
}

void strings_deinit(struct strings *strings)
{
	free(strings->bytes);
	free(strings->slots);
}

char *strings_take(struct strings *strings, uint64_t *size)
{
	char *bytes = keep(strings->bytes);

	*size = strings->size;
	strings_deinit(strings);
	*strings = (struct strings){ 0 };
	return bytes;
}

static uint32_t *find_slot(const struct strings *strings, uint32_t *slots, size_t slot_count,
			   const char *text)
{
	size_t at = heap_hash_string(text) & (slot_count - 1);

	while (slots[at] && strcmp(strings->bytes + slots[at], text) != 0)
		at = (at + 1) & (slot_count - 1);
	return &slots[at];
}

static bool grow_slots(struct strings *strings)
{
	size_t slot_count = strings->slot_count * 2;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < strings->slot_count; i++) {
		if (strings->slots[i])
			*find_slot(strings, slots, slot_count, strings->bytes + strings->slots[i]) =
				strings->slots[i];
	}
	free(strings->slots);
	strings->slots = slots;
	strings->slot_count = slot_count;
	return true;
}

static bool grow_bytes(struct strings *strings, size_t needed)
{
	size_t capacity = strings->capacity * 2;

	while (capacity - strings->size < needed)
		capacity *= 2;
	if (capacity > UINT32_MAX)
		return false;

	// Not heap_reserve(): a string that finds no room is no error.
	char *bytes = realloc(strings->bytes, capacity);

	if (!bytes)
		return false;
	strings->bytes = bytes;
	strings->capacity = capacity;
	return true;
}

uint32_t strings_add(struct strings *strings, const char *text)
{
	if (!text || !*text)
		return 0;

	uint32_t *slot = find_slot(strings, strings->slots, strings->slot_count, text);

	if (*slot)
		return *slot;

	size_t length = strlen(text) + 1;

	if (length > strings->capacity - strings->size && !grow_bytes(strings, length))
		return 0;
	if (strings->used * 2 >= strings->slot_count) {
		if (!grow_slots(strings))
			return 0;
		slot = find_slot(strings, strings->slots, strings->slot_count, text);
	}
	*slot = (uint32_t)strings->size;
	memcpy(strings->bytes + strings->size, text, length);
	strings->size += length;
	strings->used++;
	return *slot;
}
