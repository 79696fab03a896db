// SPDX-License-Identifier: GPL-3.0-or-later
// A filter for all threads waits until none of them is in the midst of calls that it forbids.
#include "t/unit/unit.h"

#include "dumper/base/owner.h"
#include "dumper/host/announce.h"
#include "dumper/host/sandbox.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	WHILE_US = 20000,
};

// --- what it needs of the library ------------------------------------------------------

struct heapsnap_announcement heapsnap_announcement;

void heapsnap_announce_handler(enum heapsnap_handler handler)
{
	(void)handler;
}

void heapsnap_announce_sandbox(void)
{
}

bool heapsnap_is_owner(void)
{
	return true;
}

uint32_t heapsnap_owner_pid(void)
{
	return 1;
}

// --- a thread that installs a filter ----------------------------------------------------

static uint32_t installed;

static long install(long number, ...)
{
	(void)number;
	__atomic_store_n(&installed, 1, __ATOMIC_RELEASE);
	return 0;
}

static long request(unsigned flags)
{
	struct sock_filter kill[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
	struct sock_fprog program = { 1, kill };
	const long arguments[6] = { SECCOMP_SET_MODE_FILTER, (long)flags, (long)&program };

	return heapsnap_sandbox_call(install, SYS_seccomp, arguments);
}

static void *request_for_all(void *unused)
{
	assert_int_equal(request(SECCOMP_FILTER_FLAG_TSYNC), 0);
	return unused;
}

static bool is_installed(void)
{
	return __atomic_load_n(&installed, __ATOMIC_ACQUIRE);
}

static void waits_for_those_inside(void **state)
{
	pthread_t thread;

	(void)state;
	assert_true(heapsnap_sandbox_enter(HEAPSNAP_NEED_SNAPSHOT));
	assert_true(heapsnap_sandbox_enter(HEAPSNAP_NEED_CLOCK));
	pthread_create(&thread, NULL, request_for_all, NULL);
	// From now on nobody enters for what it forbids.
	while (!heapsnap_sandbox_forbids_snapshots())
		usleep(100);
	assert_false(heapsnap_sandbox_enter(HEAPSNAP_NEED_SNAPSHOT));
	heapsnap_sandbox_leave();
	usleep(WHILE_US);
	assert_false(is_installed());
	heapsnap_sandbox_leave();
	pthread_join(thread, NULL);
	assert_true(is_installed());
	assert_true(heapsnap_sandbox_enter(0));
	// There is no wait for what is forbidden already.
	assert_int_equal(request(SECCOMP_FILTER_FLAG_TSYNC), 0);
	heapsnap_sandbox_leave();
}

UNIT_TESTS("sandbox", cmocka_unit_test(waits_for_those_inside))
