// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/room.h"

#include "dumper/base/process.h"
#include "dumper/base/reserve.h"

struct heapsnap_room *heapsnap_room;

bool heapsnap_room_make(void)
{
	if (heapsnap_room)
		return true;
	heapsnap_room = heapsnap_reserve(sizeof(*heapsnap_room));
	heapsnap_process.threads = (uint64_t)heapsnap_room;
	return heapsnap_room != NULL;
}
