// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/vast.h"

#include "dumper/base/page_scan.h"
#include "dumper/base/system.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PARTS = 1024,
	HUGE_PAGE = 2 << 20, // none is cut in two
	LEAST_PART = 64 << 20,
};

#define LEAST_VAST (UINT64_C(16) << 30)

bool heapsnap_must_divide(void)
{
	const uint64_t most = 65536; // bytes of a page
	struct heapsnap_page_region found;
	uint64_t page = (uint64_t)&found & ~(most - 1);
	struct heapsnap_page_scan scan = heapsnap_page_scan(page, page + most, &found);
	long result, pagemap = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, "/proc/self/pagemap",
						 O_RDONLY | O_CLOEXEC, 0);

	if (pagemap < 0)
		return false; // the writer does not have it either
	result = HEAPSNAP_SYSTEM_3(SYS_ioctl, pagemap, HEAPSNAP_PAGE_SCAN, &scan);
	HEAPSNAP_SYSTEM_1(SYS_close, pagemap);
	return result < 0;
}

static const char *skip_word(const char *at)
{
	while (*at && *at != ' ')
		at++;
	while (*at == ' ')
		at++;
	return at;
}

// "rw-p 00000000 00:00 0      name": memory of no file, and of no other process, that may be touched.
static bool is_anonymous(const char *at)
{
	const char *inode;

	if (strlen(at) < 5 || at[3] != 'p' || (at[0] != 'r' && at[1] != 'w'))
		return false;
	inode = skip_word(skip_word(skip_word(at)));
	if (inode[0] != '0')
		return false;
	at = skip_word(inode);
	return *at == '\0' || *at == '\n' || strncmp(at, "[anon:", 6) == 0 ||
	       strncmp(at, "[heap]", 6) == 0;
}

bool heapsnap_find_vast(const char *line, struct heapsnap_vast *vast)
{
	const char *at = heapsnap_read_hex(line, &vast->start);
	uint64_t size, mask = HUGE_PAGE - 1;

	if (*at != '-')
		return false;
	at = heapsnap_read_hex(at + 1, &vast->end);
	if (*at != ' ' || vast->end < vast->start || vast->end - vast->start < LEAST_VAST ||
	    !is_anonymous(at + 1))
		return false;
	size = vast->end - vast->start;
	vast->part = size / PARTS < LEAST_PART ? LEAST_PART : (size / PARTS + mask) & ~mask;
	vast->first = (vast->start & ~mask) + vast->part;
	return true;
}

void heapsnap_vast_divide(const struct heapsnap_vast *vast, heapsnap_vast_advise *advise,
			  void *context)
{
	for (uint64_t at = 0; (at = heapsnap_vast_next(vast, at));) {
		if (advise(context, at, vast->part, MADV_DONTFORK) != 0) {
			// Too many mappings: it is one again.
			advise(context, vast->start, vast->end - vast->start, MADV_DOFORK);
			return;
		}
	}
}
