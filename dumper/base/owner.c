// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/owner.h"

#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"

#include <linux/kcmp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t *owner; // process id; the kernel clears it in a child (MADV_WIPEONFORK)
static bool is_wiped;
static void (*begin)(bool is_wiped);

static uint32_t this_process(void)
{
	return (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static bool shares_memory_with_parent(uint32_t pid)
{
	long parent = heapsnap_system(SYS_getppid, 0, 0, 0, 0, 0, 0);

	return HEAPSNAP_SYSTEM_5(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) == 0;
}

static void adopt(uint32_t pid)
{
	begin(is_wiped);
	__atomic_store_n(owner, pid, __ATOMIC_RELEASE);
}

bool heapsnap_owner_init(void (*begin_anew)(bool is_wiped))
{
	uint32_t *memory = heapsnap_reserve(sizeof(*owner));

	if (!memory)
		return false;
	is_wiped = madvise(memory, sizeof(*owner), MADV_WIPEONFORK) == 0; // from Linux 4.14
	begin = begin_anew;
	*memory = this_process();
	owner = memory;
	return true;
}

bool heapsnap_is_owner(void)
{
	uint32_t pid, known;

	if (!owner)
		return false;
	pid = this_process();
	known = __atomic_load_n(owner, __ATOMIC_ACQUIRE);
	if (known == pid)
		return true;
	// A child that shares the memory finds its parent's id there, wiped on fork or not.
	if ((known != 0 && is_wiped) || shares_memory_with_parent(pid))
		return false;
	adopt(pid);
	return true;
}

void heapsnap_owner_fork(void)
{
	if (owner)
		adopt(this_process());
}

uint32_t heapsnap_owner_pid(void)
{
	return owner ? __atomic_load_n(owner, __ATOMIC_RELAXED) : 0;
}
