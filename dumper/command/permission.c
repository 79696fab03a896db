// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/permission.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

enum {
	MAX_NAME = 64,
};

void permission_user_name(uid_t user, char *buffer, size_t size)
{
	const struct passwd *entry = getpwuid(user);

	if (entry)
		snprintf(buffer, size, "%s", entry->pw_name);
	else
		snprintf(buffer, size, "%u", (unsigned)user);
}

struct heap_error *permission_explain(const struct process *process, const char *name,
				      const char *action)
{
	int pid = (int)process->pid;
	char user[MAX_NAME], other[MAX_NAME], own[MAX_NAME];
	struct process_status status;

	if (!process_read_status(process, &status))
		return heap_error_create(HEAP_ERROR_ABSENT, "%d has ended", pid);
	permission_user_name(status.user, user, sizeof(user));
	permission_user_name(status.effective_user, other, sizeof(other));
	permission_user_name(geteuid(), own, sizeof(own));
	if (geteuid() == 0)
		return heap_error_create(
			HEAP_ERROR_SYSTEM,
			"%d (%s) may not be %s: this root has no CAP_SYS_PTRACE, "
			"as in a container, or kernel.yama.ptrace_scope forbids it",
			pid, name, action);
	if (status.user != status.effective_user)
		return heap_error_create(
			HEAP_ERROR_SYSTEM,
			"%d (%s) may not be %s: it runs set-user-id, as %s for %s; "
			"root may",
			pid, name, action, other, user);
	if (status.user != geteuid())
		return heap_error_create(HEAP_ERROR_SYSTEM,
					 "%d (%s) may not be %s: it is another user's, %s's, and "
					 "you are %s; %s%s may",
					 pid, name, action, user, own, user,
					 status.user == 0 ? "" : " or root");
	return heap_error_create(
		HEAP_ERROR_SYSTEM,
		"%d (%s) may not be %s: it has another group or more capabilities, "
		"has asked not to be, or kernel.yama.ptrace_scope forbids it; "
		"root may",
		pid, name, action);
}
