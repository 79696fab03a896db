// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/retention.h"

#include "dumper/capture/automatic.h"
#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FIRST_SLOTS = 8,
};

struct file {
	uint64_t device;
	uint64_t node;
	char path[HEAPSNAP_PATH_MAX];
};

static struct state {
	uint32_t first; // the oldest that is there
	uint32_t next;
	uint32_t slots;     // a power of two
	struct file *files; // [slots]: a ring
} * state;                  // zeros in a child

bool heapsnap_keep_init(void)
{
	if (!state)
		state = heapsnap_reserve_own(sizeof(*state));
	return state != NULL;
}

// The kernel's struct stat is libc's on both machines that we know.
static bool look_at(const char *path, struct stat *result)
{
	return HEAPSNAP_SYSTEM_4(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW) == 0;
}

static void remove_oldest(void)
{
	const struct file *file = &state->files[state->first++ % state->slots];
	struct stat now;

	if (look_at(file->path, &now) && now.st_dev == file->device && now.st_ino == file->node)
		HEAPSNAP_SYSTEM_3(SYS_unlinkat, AT_FDCWD, file->path, 0);
}

// Makes room for one more. @return false if there is no memory
static bool make_room(void)
{
	uint32_t slots = state->slots ? 2 * state->slots : FIRST_SLOTS;
	struct file *files;

	if (state->next - state->first < state->slots)
		return true;
	files = heapsnap_reserve(slots * sizeof(*files));
	if (!files)
		return false;
	for (uint32_t i = state->first; i != state->next; i++)
		files[i % slots] = state->files[i % state->slots];
	if (state->files)
		heapsnap_unreserve(state->files, state->slots * sizeof(*files));
	state->files = files;
	state->slots = slots;
	return true;
}

void heapsnap_keep(const char *path)
{
	uint32_t keep = heapsnap_automatic.keep;
	struct stat now;

	if (keep == 0 || !state || !look_at(path, &now) || !make_room())
		return;

	struct file *file = &state->files[state->next++ % state->slots];

	file->device = now.st_dev;
	file->node = now.st_ino;
	heapsnap_format_text(file->path, file->path + sizeof(file->path), path);
	while (state->next - state->first > keep)
		remove_oldest();
}
