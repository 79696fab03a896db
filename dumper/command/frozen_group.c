// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/command/frozen_group.h"

#include "lib/base/cleanup.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

// @param root   where groups of that version are mounted
// @param texts  of the file, of a frozen group
static bool has_state(const char *root, const char *group, const char *file, const char *texts[2])
{
	char path[PATH_MAX], line[64];

	if (snprintf(path, sizeof(path), "%s%s/%s", root, group, file) >= (int)sizeof(path))
		return false;

	CLEANUP_FILE FILE *in = fopen(path, "re");

	while (in && fgets(line, sizeof(line), in)) {
		if (strstr(line, texts[0]) || strstr(line, texts[1]))
			return true;
	}
	return false;
}

// @param line  "0::/path" or "4:freezer:/path" (cgroups(7))
static bool is_frozen(char *line)
{
	static const char *states_1[] = { "FROZEN", "FREEZING" },
			  *states_2[] = { "frozen 1", "frozen 1" };
	char *controllers = strchr(line, ':'),
	     *group = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!group)
		return false;
	*group++ = '\0';
	if (strcmp(controllers + 1, "freezer") == 0)
		return has_state("/sys/fs/cgroup/freezer", group, "freezer.state", states_1);
	return controllers[1] == '\0' &&
	       (has_state("/sys/fs/cgroup", group, "cgroup.events", states_2) ||
		has_state("/sys/fs/cgroup/unified", group, "cgroup.events", states_2));
}

bool frozen_group_holds(const struct process *process)
{
	CLEANUP_FILE FILE *groups = process_file(process, "cgroup");
	char line[PATH_MAX];

	while (groups && fgets(line, sizeof(line), groups)) {
		line[strcspn(line, "\n")] = '\0';
		if (is_frozen(line))
			return true;
	}
	return false;
}
