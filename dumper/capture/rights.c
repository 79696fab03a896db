// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/rights.h"

#include "dumper/heapsnap.h"

#include "dumper/base/reserve.h"
#include "dumper/base/system.h"
#include "dumper/base/thread_call.h"
#include "dumper/capture/timer.h"
#include "dumper/host/next_function.h"
#include "dumper/host/sandbox.h"
#include "dumper/host/system_call.h"
#include "dumper/trace/trace.h"

#include <errno.h>
#include <grp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

int capset(void *header, const void *data); // libc has it without a declaration

static const uid_t KEPT = (uid_t)-1;

static struct {
	int (*setuid)(uid_t);
	int (*setreuid)(uid_t, uid_t);
	int (*setresuid)(uid_t, uid_t, uid_t);
	int (*setgid)(gid_t);
	int (*setregid)(gid_t, gid_t);
	int (*setresgid)(gid_t, gid_t, gid_t);
	int (*setgroups)(size_t, const gid_t *);
	int (*initgroups)(const char *, gid_t);
	int (*capset)(void *, const void *);
} next;

// Has our threads do as this one did. A child of vfork() is no owner: its parent keeps its rights.
static void call_in_threads(long number, const long *arguments)
{
	int before = errno;

	if (!heapsnap_sandbox_forbids_snapshots()) {
		heapsnap_trace_call(number, arguments);
		heapsnap_timer_call(number, arguments);
	}
	errno = before;
}

static int after(int result, long number, long a, long b, long c)
{
	const long arguments[HEAPSNAP_CALL_ARGUMENTS] = { a, b, c };

	if (result == 0)
		call_in_threads(number, arguments);
	return result;
}

static void after_prctl(const long *arguments)
{
	call_in_threads(SYS_prctl, arguments);
}

void heapsnap_rights_init(void)
{
	if (next.capset)
		return;
	heapsnap_find_next(&next.setuid, "setuid");
	heapsnap_find_next(&next.setreuid, "setreuid");
	heapsnap_find_next(&next.setresuid, "setresuid");
	heapsnap_find_next(&next.setgid, "setgid");
	heapsnap_find_next(&next.setregid, "setregid");
	heapsnap_find_next(&next.setresgid, "setresgid");
	heapsnap_find_next(&next.setgroups, "setgroups");
	heapsnap_find_next(&next.initgroups, "initgroups");
	heapsnap_find_next(&next.capset, "capset");
	heapsnap_system_call_tell(after_prctl);
}

HEAPSNAP_API int setuid(uid_t user)
{
	heapsnap_rights_init();
	return after(next.setuid(user), SYS_setuid, (long)user, 0, 0);
}

HEAPSNAP_API int setreuid(uid_t real, uid_t effective)
{
	heapsnap_rights_init();
	return after(next.setreuid(real, effective), SYS_setreuid, (long)real, (long)effective, 0);
}

HEAPSNAP_API int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	int result;

	heapsnap_rights_init();
	result = next.setresuid(real, effective, saved);
	if (real == KEPT && saved == KEPT)
		return result;
	return after(result, SYS_setresuid, (long)real, (long)effective, (long)saved);
}

HEAPSNAP_API int setgid(gid_t group)
{
	heapsnap_rights_init();
	return after(next.setgid(group), SYS_setgid, (long)group, 0, 0);
}

HEAPSNAP_API int setregid(gid_t real, gid_t effective)
{
	heapsnap_rights_init();
	return after(next.setregid(real, effective), SYS_setregid, (long)real, (long)effective, 0);
}

HEAPSNAP_API int setresgid(gid_t real, gid_t effective, gid_t saved)
{
	int result;

	heapsnap_rights_init();
	result = next.setresgid(real, effective, saved);
	if (real == KEPT && saved == KEPT)
		return result;
	return after(result, SYS_setresgid, (long)real, (long)effective, (long)saved);
}

HEAPSNAP_API int setgroups(size_t count, const gid_t *groups)
{
	heapsnap_rights_init();
	return after(next.setgroups(count, groups), SYS_setgroups, (long)count, (long)groups, 0);
}

// libc's calls setgroups(), but not ours.
HEAPSNAP_API int initgroups(const char *user, gid_t group)
{
	int result;
	long count;
	size_t bytes;
	gid_t *groups;

	heapsnap_rights_init();
	result = next.initgroups(user, group);
	count = result == 0 ? HEAPSNAP_SYSTEM_2(SYS_getgroups, 0, NULL) : -1;
	bytes = (size_t)(count + 1) * sizeof(*groups);
	groups = count >= 0 ? heapsnap_reserve(bytes) : NULL;
	if (!groups)
		return result;
	count = HEAPSNAP_SYSTEM_2(SYS_getgroups, count, groups);
	if (count >= 0)
		after(result, SYS_setgroups, count, (long)groups, 0);
	heapsnap_unreserve(groups, bytes);
	return result;
}

// As <linux/capability.h> has it; the thread is this one.
struct capability_header {
	uint32_t version;
	int pid;
};

HEAPSNAP_API int capset(void *header, const void *data)
{
	struct capability_header own = { 0 };
	int result;

	heapsnap_rights_init();
	result = next.capset(header, data);
	if (result != 0)
		return result;
	own.version = ((const struct capability_header *)header)->version;
	return after(result, SYS_capset, (long)&own, (long)data, 0);
}
