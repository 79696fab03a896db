// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/go_runtime.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

enum {
	GO_BUILD_ID = 4, // the type of Go's note, cmd/link/internal/ld/elf.go
	NOTE_ALIGNMENT = 4,
};

static bool is_go;

static size_t round_up(size_t size)
{
	return (size + NOTE_ALIGNMENT - 1) / NOTE_ALIGNMENT * NOTE_ALIGNMENT;
}

static bool has_go_note(const char *notes, size_t size)
{
	static const char owner[] = "Go";
	ElfW(Nhdr) note;

	while (size >= sizeof(note)) {
		memcpy(&note, notes, sizeof(note));

		size_t length = sizeof(note) + round_up(note.n_namesz) + round_up(note.n_descsz);

		if (length > size)
			return false;
		if (note.n_type == GO_BUILD_ID && note.n_namesz >= sizeof(owner) &&
		    memcmp(notes + sizeof(note), owner, sizeof(owner)) == 0)
			return true;
		notes += length;
		size -= length;
	}
	return false;
}

// The first module is the program. A library in Go leaves a program's handlers alone.
static int look_at_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_NOTE &&
		    has_go_note((const char *)(info->dlpi_addr + segment->p_vaddr),
				segment->p_memsz))
			is_go = true;
	}
	return 1;
}

void heapsnap_go_init(void)
{
	dl_iterate_phdr(look_at_program, NULL);
}

bool heapsnap_is_go(void)
{
	return is_go;
}

// Signals that the table of runtime/sigtab_linux_generic.go leaves to the kernel and to libc.
bool heapsnap_go_takes(int number)
{
	return is_go && number != SIGCONT && number != SIGTSTP && number != SIGTTIN &&
	       number != SIGTTOU && number != 34;
}
