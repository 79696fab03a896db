// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/texts.h"

#include <stdlib.h>
#include <string.h>

void export_texts_init(struct export_texts *texts)
{
	*texts = (struct export_texts){ 0 };
	export_texts_add(texts, "");
}

void export_texts_deinit(struct export_texts *texts)
{
	free(texts->bytes);
	free(texts->offsets);
	free(texts->slots);
}

const char *export_texts_get(const struct export_texts *texts, uint32_t number)
{
	return number < texts->count ? texts->bytes + texts->offsets[number] : "";
}

// FNV-1a.
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash;
}

// The slot of a text, or the free one where it belongs. Slots hold numbers + 1.
static uint32_t find_slot(const struct export_texts *texts, const char *text)
{
	uint32_t mask = texts->slot_count - 1, slot = (uint32_t)(hash_of(text) >> 20) & mask;

	while (texts->slots[slot] &&
	       strcmp(export_texts_get(texts, texts->slots[slot] - 1), text) != 0)
		slot = (slot + 1) & mask;
	return slot;
}

static bool grow_slots(struct export_texts *texts)
{
	uint32_t count = texts->slot_count ? texts->slot_count * 2 : 1024;
	uint32_t *larger = calloc(count, sizeof(*larger));

	if (!larger)
		return false;
	free(texts->slots);
	texts->slots = larger;
	texts->slot_count = count;
	for (uint32_t i = 0; i < texts->count; i++)
		larger[find_slot(texts, export_texts_get(texts, i))] = i + 1;
	return true;
}

static bool reserve(struct export_texts *texts, size_t size)
{
	if (texts->count == texts->offset_capacity) {
		uint32_t capacity = texts->offset_capacity ? texts->offset_capacity * 2 : 256;
		void *larger = realloc(texts->offsets, capacity * sizeof(*texts->offsets));

		if (!larger)
			return false;
		texts->offsets = larger;
		texts->offset_capacity = capacity;
	}
	if (size > texts->capacity - texts->size) {
		size_t capacity = (texts->capacity + size) * 2 + 4096;
		char *larger = realloc(texts->bytes, capacity);

		if (!larger)
			return false;
		texts->bytes = larger;
		texts->capacity = capacity;
	}
	return texts->count < texts->slot_count / 2 || grow_slots(texts);
}

uint32_t export_texts_add(struct export_texts *texts, const char *text)
{
	size_t size = strlen(text) + 1;
	uint32_t slot;

	if (texts->failed || !reserve(texts, size)) {
		texts->failed = true;
		return 0;
	}
	slot = find_slot(texts, text);
	if (texts->slots[slot])
		return texts->slots[slot] - 1;
	memcpy(texts->bytes + texts->size, text, size);
	texts->offsets[texts->count] = texts->size;
	texts->size += size;
	texts->slots[slot] = ++texts->count;
	return texts->count - 1;
}
