// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/announce.h"

#include "dumper/process.h"
#include "dumper/settings.h"
#include "dumper/system.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	NAME_BYTES = 250, // the kernel takes names of up to 249 characters
};

// A per cent sign in the directory's name stands for itself.
static char *append_directory(char *at, const char *end, const char *directory)
{
	for (; *directory; directory++) {
		char piece[3] = { *directory, *directory == '%' ? '%' : '\0', '\0' };

		at = heapsnap_format_text(at, end, piece);
	}
	return heapsnap_format_text(at, end, "/");
}

void heapsnap_announce(int signal)
{
	char name[NAME_BYTES + 1];
	const char *end = name + sizeof(name);
	char *at = heapsnap_format_text(name, end, "heapsnap ");

	at = heapsnap_format_number(at, end, (uint64_t)signal, 10);
	at = heapsnap_format_text(at, end, " ");
	if (heapsnap_settings.file[0] != '/')
		at = append_directory(at, end, heapsnap_process.directory);
	at = heapsnap_format_text(at, end, heapsnap_settings.file);
	if (at + 1 >= end)
		strchr(strchr(name, ' ') + 1, ' ')[1] = '\0'; // too long: the signal alone

	int file = memfd_create(name, MFD_CLOEXEC);

	if (file < 0)
		return; // then heapsnap capture says that it does not know
	mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, file, 0);
	close(file);
}
