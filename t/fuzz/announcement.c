// SPDX-License-Identifier: GPL-3.0-or-later
// The input that heapsnap reads of another process: lines of its maps, the library's note, its announcement,
// and names of files against the pattern that it announces. The first byte says which.
#include "dumper/command/announcement.h"
#include "dumper/command/library.h"
#include "dumper/command/maps.h"
#include "dumper/command/names.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile uint64_t sink;

static void use_announcement(struct announcement *announcement)
{
	if (announcement->is_known) {
		if (announcement->signal < 0 || announcement->signal > 63 ||
		    (announcement->signal == 0 && announcement->handler == HEAPSNAP_HANDLER_OURS))
			abort();
		sink += announcement->pattern ? strlen(announcement->pattern) : 0;
	}
	announcement_deinit(announcement);
}

static void use_line(char *line)
{
	struct announcement announcement = { 0 };
	struct mapping mapping;

	if (!mapping_parse(line, &mapping))
		return;
	if (mapping.path < line || mapping.path > line + strlen(line))
		abort();
	sink += mapping.start + mapping.inode;

	char *path = line + (mapping.path - line);

	mapping_strip_deleted(path);
	announcement_parse_name(path + (strncmp(path, "/memfd:", 7) == 0 ? 7 : 0), &announcement);
	use_announcement(&announcement);
}

static void use_note(const uint8_t *bytes, size_t size)
{
	struct heapsnap_note note;
	size_t at;

	if (library_read_note(bytes, size, &note, &at))
		sink += bytes[at + sizeof(note) - 1];
}

static void use_details(const uint8_t *bytes, size_t size)
{
	static struct heapsnap_announcement details;
	struct announcement announcement = { 0 };

	memset(&details, 'x', sizeof(details));
	memcpy(&details, bytes, size < sizeof(details) ? size : sizeof(details));
	announcement_parse_details(&details, details.address, &announcement);
	use_announcement(&announcement);
}

// "PATTERN\nNAME"
static void use_names(char *text)
{
	const struct name_words words = { "pro%gram", "host", 42 };
	char *name = strchr(text, '\n');

	if (!name || name - text > 250)
		return;
	*name++ = '\0';
	sink += name_fits(text, &words, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size == 0)
		return 0;

	// Exactly that size, so that a read beyond it is seen.
	char *text = malloc(size);

	if (!text)
		return 0;
	memcpy(text, bytes + 1, size - 1);
	text[size - 1] = '\0';
	switch (bytes[0]) {
	case 'n':
		use_note((const uint8_t *)text, size - 1);
		break;
	case 'd':
		use_details((const uint8_t *)text, size - 1);
		break;
	case 'p':
		use_names(text);
		break;
	default:
		use_line(text);
	}
	free(text);
	return 0;
}
