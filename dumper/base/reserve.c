// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/reserve.h"

#include "dumper/base/system.h"

#include <sys/auxv.h>
#include <sys/mman.h>

static size_t page_bytes(void)
{
	return getauxval(AT_PAGESZ);
}

static size_t guarded_size(size_t bytes)
{
	size_t page = page_bytes();

	return (bytes + page - 1) / page * page + 2 * page;
}

void *heapsnap_reserve(size_t bytes)
{
	size_t page = page_bytes(), size = guarded_size(bytes);
	long start = heapsnap_system(SYS_mmap, 0, (long)size, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *memory = (char *)start + page;

	if (start < 0 && start > -4096)
		return NULL;
	if (HEAPSNAP_SYSTEM_3(SYS_mprotect, memory, size - 2 * page, PROT_READ | PROT_WRITE) != 0) {
		HEAPSNAP_SYSTEM_2(SYS_munmap, start, size);
		return NULL;
	}
	// A few words of a table would take 2 MiB each, where the system makes huge pages of all memory.
	// A kernel without them gives an error.
	HEAPSNAP_SYSTEM_3(SYS_madvise, memory, size - 2 * page, MADV_NOHUGEPAGE);
	return memory;
}

void *heapsnap_reserve_own(size_t bytes)
{
	void *memory = heapsnap_reserve(bytes);

	if (memory)
		HEAPSNAP_SYSTEM_3(SYS_madvise, memory, bytes, MADV_WIPEONFORK);
	return memory;
}

void heapsnap_unreserve(void *memory, size_t bytes)
{
	HEAPSNAP_SYSTEM_2(SYS_munmap, (char *)memory - page_bytes(), guarded_size(bytes));
}

void *heapsnap_reserve_once(void **table, size_t bytes)
{
	void *present = __atomic_load_n(table, __ATOMIC_ACQUIRE), *room;

	if (present)
		return present;
	room = heapsnap_reserve(bytes);
	if (!room)
		return NULL;
	if (__atomic_compare_exchange_n(table, &present, room, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return room;
	heapsnap_unreserve(room, bytes);
	return present;
}
