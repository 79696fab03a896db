// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/room.h"

#include "dumper/base/process.h"
#include "dumper/base/reserve.h"
#include "dumper/base/system.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

enum {
	LEAST = 1024,    // threads
	NOT_THREADS = 2, // links of the directory of threads: from above, and its own
	PART_ALIGNMENT = 8,
};

static struct heapsnap_room room;
struct heapsnap_room *heapsnap_room;

static uint32_t count_threads(void)
{
	struct stat status;

	if (HEAPSNAP_SYSTEM_4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &status, 0) != 0 ||
	    status.st_nlink <= NOT_THREADS)
		return 0;
	return status.st_nlink - NOT_THREADS < HEAPSNAP_THREADS
		       ? (uint32_t)status.st_nlink - NOT_THREADS
		       : HEAPSNAP_THREADS;
}

// As much again, for threads that are yet to start.
static uint32_t choose_capacity(void)
{
	uint32_t capacity = LEAST, wanted = 2 * count_threads();

	while (capacity < wanted && capacity < HEAPSNAP_THREADS)
		capacity *= 2;
	return capacity;
}

// @return the next part of the memory; its address alone, while the memory is measured
static void *take_part(uint64_t *at, uint64_t size)
{
	uint64_t start = *at;

	*at += (size + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
	return (void *)start;
}

// @return where the tables end if they begin at @p at
static uint64_t lay_out(struct heapsnap_room *tables, uint64_t at, uint64_t capacity)
{
	tables->threads = take_part(&at, capacity * sizeof(*tables->threads));
	tables->time_before = take_part(&at, capacity * sizeof(*tables->time_before));
	tables->known_tids =
		take_part(&at, capacity * HEAPSNAP_TID_SLOTS * sizeof(*tables->known_tids));
	tables->asked = take_part(&at, capacity * HEAPSNAP_ASKED * sizeof(*tables->asked));
	tables->held_call = take_part(&at, capacity * sizeof(*tables->held_call));
	tables->left_call = take_part(&at, capacity);
	tables->answer = take_part(&at, capacity);
	tables->grip = take_part(&at, capacity);
	tables->signal = take_part(&at, capacity);
	tables->capacity = (uint32_t)capacity;
	return at;
}

// Smaller tables stay where they are: a thread that answers late may be looking at them.
bool heapsnap_room_make(void)
{
	uint32_t capacity = choose_capacity();
	void *memory;

	if (heapsnap_room && heapsnap_room->capacity >= capacity)
		return true;
	memory = heapsnap_reserve(lay_out(&(struct heapsnap_room){ 0 }, 0, capacity));
	if (!memory)
		return heapsnap_room != NULL;
	lay_out(&room, (uint64_t)memory, capacity);
	heapsnap_room = &room;
	heapsnap_process.threads = (uint64_t)room.threads;
	return true;
}
