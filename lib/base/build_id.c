// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/build_id.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

void heap_build_id_parse(const uint8_t *notes, size_t size, uint32_t alignment,
			 struct heap_build_id *result)
{
	size_t at = 0;

	// A note's name and description are padded to 4 bytes, or to 8 in segments that are
	// aligned so (.note.gnu.property).
	if (alignment != 8)
		alignment = 4;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);

		uint64_t name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
		uint64_t description =
			((uint64_t)note.n_descsz + alignment - 1) & ~(uint64_t)(alignment - 1);

		if (name > size - at || note.n_descsz > size - at - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0 && note.n_descsz <= HEAP_BUILD_ID_MAX) {
			result->size = (uint8_t)note.n_descsz;
			memcpy(result->bytes, notes + at + name, note.n_descsz);
			return;
		}
		if (description > size - at - name)
			return;
		at += name + description;
	}
}

void heap_build_id_read(const char *text, struct heap_build_id *result)
{
	size_t length = strlen(text);

	*result = (struct heap_build_id){ 0 };
	if (length % 2 != 0 || length / 2 > HEAP_BUILD_ID_MAX ||
	    strspn(text, "0123456789abcdef") != length)
		return;
	for (; *text; text += 2) {
		const char digits[] = { text[0], text[1], '\0' };

		result->bytes[result->size++] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

void heap_build_id_format(const struct heap_build_id *id, char *buffer, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	for (size_t i = 0; i < id->size && at + 2 < size; i++) {
		buffer[at++] = digits[id->bytes[i] >> 4];
		buffer[at++] = digits[id->bytes[i] & 15];
	}
	buffer[at] = '\0';
}
