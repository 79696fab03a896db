// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/host/announce.h"

#include "dumper/base/process.h"
#include "dumper/base/settings.h"
#include "dumper/base/system.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	NAME_BYTES = 250, // the kernel takes names of up to 249 characters
};

struct heapsnap_announcement heapsnap_announcement;

// For dumper/base/note.c: a name that no other module can take the place of.
extern struct heapsnap_announcement heapsnap_announcement_here
	__attribute__((alias("heapsnap_announcement"), visibility("hidden")));

static void *named; // the mapping with the name

// Escapes per cent signs in the directory's name.
static char *append_directory(char *at, const char *end, const char *directory)
{
	for (; *directory; directory++) {
		char piece[3] = { *directory, *directory == '%' ? '%' : '\0', '\0' };

		at = heapsnap_format_text(at, end, piece);
	}
	return heapsnap_format_text(at, end, "/");
}

static void set_pattern(void)
{
	char *at = heapsnap_announcement.pattern;
	const char *end = at + sizeof(heapsnap_announcement.pattern);

	if (heapsnap_settings.file[0] != '/')
		at = append_directory(at, end, heapsnap_process.directory);
	heapsnap_format_text(at, end, heapsnap_settings.file);
}

static void map_name(int signal)
{
	char name[NAME_BYTES + 1];
	const char *end = name + sizeof(name);
	char *at = heapsnap_format_text(name, end, "heapsnap ");

	at = heapsnap_format_number(at, end, (uint64_t)signal, 10);
	at = heapsnap_format_text(at, end, " ");
	if (strlen(heapsnap_announcement.pattern) < (size_t)(end - at))
		heapsnap_format_text(at, end, heapsnap_announcement.pattern);

	int file = memfd_create(name, MFD_CLOEXEC);

	if (file < 0)
		return; // who may not read the structure then learns nothing
	named = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, file, 0);
	close(file);
	if (named == MAP_FAILED)
		named = NULL;
}

void heapsnap_announce(int signal, enum heapsnap_handler handler,
		       enum heapsnap_whose_malloc allocator)
{
	struct heapsnap_announcement *all = &heapsnap_announcement;

	all->version = HEAPSNAP_ANNOUNCEMENT_VERSION;
	all->bytes = sizeof(*all);
	all->address = (uint64_t)all;
	all->pid = (uint32_t)getpid();
	all->signal = (uint32_t)signal;
	all->allocator = allocator;
	heapsnap_format_text(all->allocator_file, all->allocator_file + sizeof(all->allocator_file),
			     heapsnap_process.other_malloc);
	all->takes_snapshots = heapsnap_freezes() && all->allocator != HEAPSNAP_ALLOCATOR_SANITIZER;
	all->process = (uint64_t)&heapsnap_process;
	set_pattern();
	if (heapsnap_freezes())
		map_name(handler == HEAPSNAP_HANDLER_OURS ? signal : 0);
	heapsnap_announce_handler(handler);
	__atomic_store_n(&all->magic, HEAPSNAP_ANNOUNCEMENT_MAGIC, __ATOMIC_RELEASE);
}

void heapsnap_announce_inherited_sandbox(uint32_t pid)
{
	struct heapsnap_announcement *all = &heapsnap_announcement;

	all->version = HEAPSNAP_ANNOUNCEMENT_VERSION;
	all->bytes = sizeof(*all);
	all->address = (uint64_t)all;
	all->pid = pid;
	all->signal = (uint32_t)heapsnap_settings.signal;
	all->handler = HEAPSNAP_HANDLER_SANDBOX;
	all->takes_snapshots = heapsnap_freezes();
	all->process = (uint64_t)&heapsnap_process;
	__atomic_store_n(&all->magic, HEAPSNAP_ANNOUNCEMENT_MAGIC, __ATOMIC_RELEASE);
}

// While another call is still allowed.
void heapsnap_announce_sandbox(void)
{
	heapsnap_announce_handler(HEAPSNAP_HANDLER_SANDBOX);
}

void heapsnap_announce_handler(enum heapsnap_handler handler)
{
	struct heapsnap_announcement *all = &heapsnap_announcement;
	uint32_t before = __atomic_exchange_n(&all->handler, handler, __ATOMIC_ACQ_REL);

	__atomic_store_n(&all->looked_ns, heapsnap_monotonic_ns(), __ATOMIC_RELAXED);
	if (before == handler)
		return;
	__atomic_add_fetch(&all->changes, 1, __ATOMIC_RELAXED);
	if (named)
		HEAPSNAP_SYSTEM_3(SYS_mprotect, named, 1,
				  handler == HEAPSNAP_HANDLER_OURS ? PROT_NONE : PROT_READ);
}

void heapsnap_announce_child(void)
{
	struct heapsnap_announcement *all = &heapsnap_announcement;

	all->writing = all->begun = all->ended = 0;
	all->outcome = 0;
	all->shared = 0;
	__atomic_store_n(&all->pid, (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0),
			 __ATOMIC_RELEASE);
}
