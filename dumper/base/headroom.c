// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/headroom.h"

#include "dumper/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

enum {
	STALL_SHARE = 2, // one part in so many of the time
	MAX_FILE = 8192, // two of them fit on the stack of a thread of ours
};

static const uint64_t LEAST_LEFT = 64 << 20; // bytes that a writer should have
static const uint64_t FASTEST = 1 << 30;     // bytes a second that a processor may fill
static const uint64_t SHORTEST_WAIT = 10000000, LONGEST_WAIT = 500000000; // ns
static const uint64_t STALL_TIME = 1000000000;                            // ns
static const uint64_t NO_LIMIT = UINT64_C(1) << 60; // version 1 has about 2^63

// A control group's files, by version.
struct controller {
	const char *limit, *usage;
	const char *both_limit, *both_usage; // of memory and swap together, or of swap
	bool is_both;                        // they are of both
	// In memory.stat, pages of files: the kernel takes them back.
	const char *inactive, *active;
};

static const struct controller version_1 = {
	"memory.limit_in_bytes",
	"memory.usage_in_bytes",
	"memory.memsw.limit_in_bytes",
	"memory.memsw.usage_in_bytes",
	true,
	"total_inactive_file ",
	"total_active_file ",
};

static const struct controller version_2 = {
	"memory.max", "memory.current", "memory.swap.max", "memory.swap.current",
	false,        "inactive_file ", "active_file ",
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// The number that follows in a text after `key` at the beginning of a line.
static uint64_t find_number(const char *text, const char *key)
{
	const char *value = *key ? heapsnap_find_line(text, key) : text;

	while (value && *value == ' ')
		value++;
	return value && *value >= '0' && *value <= '9' ? heapsnap_parse_decimal(value) : UINT64_MAX;
}

static uint64_t read_number(const char *directory, const char *name)
{
	char path[HEAPSNAP_HEADROOM_PATH + 64], text[64];
	char *at = heapsnap_format_text(path, path + sizeof(path), directory);

	at = heapsnap_format_text(at, path + sizeof(path), "/");
	heapsnap_format_text(at, path + sizeof(path), name);
	return heapsnap_read_file(path, text, sizeof(text)) > 0 ? find_number(text, "")
								: UINT64_MAX;
}

// --- what is left ------------------------------------------------------------------

static uint64_t margin_of(const struct heapsnap_headroom *room, uint64_t limit)
{
	uint64_t percent = room->percent ? room->percent : HEAPSNAP_HEADROOM_PERCENT;
	uint64_t margin = limit - limit / 100 * percent;

	if (room->percent == 0 && margin < LEAST_LEFT)
		margin = least(LEAST_LEFT, limit / 2);
	return margin;
}

// Notes a place if less is left there, beyond the margin, than elsewhere.
static void note(struct heapsnap_headroom *room, uint64_t limit, uint64_t left, const char *name)
{
	int64_t there = (int64_t)left - (int64_t)margin_of(room, limit);
	int64_t before = (int64_t)room->left - (int64_t)margin_of(room, room->limit);

	if (room->limit != 0 && there >= before)
		return;
	room->limit = limit;
	room->left = left;
	room->is_near = there <= 0;
	heapsnap_format_text(room->name, room->name + sizeof(room->name), name);
}

// Bytes of the group's that the kernel can take back.
static uint64_t cache_of(const struct controller *controller, const char *directory)
{
	char path[HEAPSNAP_HEADROOM_PATH + 64], text[MAX_FILE];
	char *at = heapsnap_format_text(path, path + sizeof(path), directory);
	uint64_t inactive, active;

	heapsnap_format_text(at, path + sizeof(path), "/memory.stat");
	if (heapsnap_read_file(path, text, sizeof(text)) <= 0)
		return 0;
	inactive = find_number(text, controller->inactive);
	active = find_number(text, controller->active);
	return (inactive == UINT64_MAX ? 0 : inactive) + (active == UINT64_MAX ? 0 : active);
}

// The swap space that the group may have besides `left` bytes of memory.
static uint64_t swap_of(const struct controller *controller, const char *directory, uint64_t left,
			uint64_t free)
{
	uint64_t limit, usage, allowed;

	if (free == 0)
		return 0;
	limit = read_number(directory, controller->both_limit);
	usage = read_number(directory, controller->both_usage);
	if (limit == UINT64_MAX || usage == UINT64_MAX)
		return free;
	allowed = limit > usage ? limit - usage : 0;
	if (controller->is_both)
		allowed = allowed > left ? allowed - left : 0;
	return least(allowed, free);
}

static void look_at_group(struct heapsnap_headroom *room, const struct controller *controller,
			  const char *directory, uint64_t swap)
{
	uint64_t limit = read_number(directory, controller->limit);
	uint64_t usage = read_number(directory, controller->usage), left;

	if (limit >= NO_LIMIT || usage == UINT64_MAX)
		return;
	left = limit > usage ? limit - usage : 0;
	// Statistics of a large group may take the kernel a millisecond.
	if (left <= margin_of(room, limit) * 2)
		left = least(left + cache_of(controller, directory), limit);
	note(room, limit, left + swap_of(controller, directory, left, swap), directory);
}

// Looks at a group and those above it. In a container the group may be mounted as the root,
// whatever its path: directories that are not there have no files either.
static void look_above(struct heapsnap_headroom *room, const struct controller *controller,
		       const char *root, const char *path, uint64_t swap)
{
	char directory[HEAPSNAP_HEADROOM_PATH];
	const char *end = directory + sizeof(directory);
	size_t length = strlen(root);
	char *at = heapsnap_format_text(directory, end, root);

	at = heapsnap_format_text(at, end, path);
	if (at + 1 == end)
		return;
	while (at > directory + length && at[-1] == '/')
		*--at = '\0';
	for (;;) {
		if (!*room->own && read_number(directory, controller->usage) != UINT64_MAX)
			heapsnap_format_text(room->own, room->own + sizeof(room->own), directory);
		look_at_group(room, controller, directory, swap);
		if (strlen(directory) <= length)
			break;
		*strrchr(directory, '/') = '\0';
	}
}

// Lines are "0::/path" or "4:memory:/path" (cgroups(7)).
static void look_at_groups(struct heapsnap_headroom *room, uint64_t swap)
{
	char text[MAX_FILE];
	char *line = text, *next;

	if (heapsnap_read_file(room->places.membership, text, sizeof(text)) <= 0)
		return;
	for (; line && *line; line = next) {
		char *controllers = strchr(line, ':'), *path;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		path = controllers && (!next || controllers < next) ? strchr(controllers + 1, ':')
								    : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		if (controllers[1] == '\0')
			look_above(room, &version_2, room->places.groups_2, path, swap);
		else if (strstr(controllers, "memory"))
			look_above(room, &version_1, room->places.groups_1, path, swap);
	}
}

// @return bytes of swap space that are free
static uint64_t look_at_machine(struct heapsnap_headroom *room)
{
	char text[8192];
	uint64_t total, available, swap, free;

	if (heapsnap_read_file(room->places.memory, text, sizeof(text)) <= 0)
		return 0;
	total = find_number(text, "MemTotal:");
	available = find_number(text, "MemAvailable:");
	swap = find_number(text, "SwapTotal:");
	free = find_number(text, "SwapFree:");
	if (swap >= NO_LIMIT || free >= NO_LIMIT)
		swap = free = 0;
	if (total < NO_LIMIT && available < NO_LIMIT)
		note(room, (total + swap) * 1024, (available + free) * 1024, "");
	return free * 1024;
}

// --- pressure ------------------------------------------------------------------------

static void look_at_stalls(struct heapsnap_stall *stall, const char *path, uint64_t now_ns)
{
	char text[512];
	const char *full, *total;
	uint64_t stalled;

	if (now_ns - stall->since_ns < STALL_TIME && stall->since_ns != 0)
		return;
	if (heapsnap_read_file(path, text, sizeof(text)) <= 0 ||
	    !(full = heapsnap_find_line(text, "full ")) || !(total = strstr(full, "total=")))
		return;
	stalled = heapsnap_parse_decimal(total + strlen("total="));
	stall->is_long =
		stall->since_ns != 0 &&
		stalled - stall->total_us > (now_ns - stall->since_ns) / 1000 / STALL_SHARE;
	stall->total_us = stalled;
	stall->since_ns = now_ns;
}

static void look_at_pressure(struct heapsnap_headroom *room, uint64_t now_ns)
{
	char path[HEAPSNAP_HEADROOM_PATH + 64];
	char *at = heapsnap_format_text(path, path + sizeof(path), room->own);

	look_at_stalls(&room->stalls[0], room->places.pressure, now_ns);
	heapsnap_format_text(at, path + sizeof(path), "/memory.pressure");
	if (*room->own)
		look_at_stalls(&room->stalls[1], path, now_ns);
	room->stalls_now = room->stalls[0].is_long || room->stalls[1].is_long;
}

// --- how fast it may go --------------------------------------------------------------

// From a file: a sandbox of the program's may allow no other call. It has numbers and ranges: 0-3,8
static uint64_t count_processors(const char *online)
{
	char text[512];
	const char *at = text;
	uint64_t count = 0;

	if (heapsnap_read_file(online, text, sizeof(text)) <= 0)
		return 1;
	while (at && *at >= '0' && *at <= '9') {
		const char *comma = strchr(at, ','), *dash = strchr(at, '-');
		uint64_t first = heapsnap_parse_decimal(at), last = first;

		if (dash && (!comma || dash < comma))
			last = heapsnap_parse_decimal(dash + 1);
		count += last > first ? last - first + 1 : 1;
		at = comma ? comma + 1 : NULL;
	}
	return count > 0 ? count : 1;
}

// --- all of it -----------------------------------------------------------------------

void heapsnap_headroom_init(struct heapsnap_headroom *room, const char *membership,
			    uint32_t percent)
{
	memset(room, 0, sizeof(*room));
	room->percent = percent;
	room->places = (struct heapsnap_headroom_places){
		.groups_1 = "/sys/fs/cgroup/memory",
		.groups_2 = "/sys/fs/cgroup",
		.membership = membership,
		.memory = "/proc/meminfo",
		.pressure = "/proc/pressure/memory",
		.processors = "/sys/devices/system/cpu/online",
	};
}

uint64_t heapsnap_headroom_look(struct heapsnap_headroom *room, uint64_t now_ns)
{
	uint64_t margin, wait;

	room->limit = room->left = room->beyond = 0;
	room->is_near = false;
	*room->own = *room->name = '\0';
	look_at_groups(room, look_at_machine(room));
	look_at_pressure(room, now_ns);
	room->is_near |= room->stalls_now;
	if (room->limit == 0) {
		room->beyond = UINT64_MAX;
		return LONGEST_WAIT;
	}
	if (room->fastest == 0)
		room->fastest = FASTEST * count_processors(room->places.processors);
	margin = margin_of(room, room->limit);
	room->beyond = room->left > margin ? room->left - margin : 0;
	wait = room->beyond / (room->fastest / 1000000) * 1000;
	return wait < SHORTEST_WAIT ? SHORTEST_WAIT : least(wait, LONGEST_WAIT);
}

int heapsnap_headroom_lock(const struct heapsnap_headroom *room)
{
	const char *path = *room->own ? room->own : room->places.memory;
	long file = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	if (file < 0)
		return -1;
	if (HEAPSNAP_SYSTEM_2(SYS_flock, file, LOCK_EX | LOCK_NB) == 0)
		return (int)file;
	HEAPSNAP_SYSTEM_1(SYS_close, file);
	return -1;
}
