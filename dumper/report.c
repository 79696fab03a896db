// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/report.h"

#include "dumper/system.h"

#include <errno.h>

enum {
	MAX_LINES = 32,
};

static uint32_t lines;

void heapsnap_report(const char *subject, const char *message, const char *end)
{
	char line[1024];
	char *at = line;
	const char *limit = line + sizeof(line) - 1;

	if (__atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED) >= MAX_LINES)
		return;
	at = heapsnap_format_text(at, limit, "heapsnap: ");
	if (subject) {
		at = heapsnap_format_text(at, limit, subject);
		at = heapsnap_format_text(at, limit, ": ");
	}
	at = heapsnap_format_text(at, limit, message);
	at = heapsnap_format_text(at, limit, end);
	*at++ = '\n';
	HEAPSNAP_SYSTEM_3(SYS_write, 2, line, at - line);
}

const char *heapsnap_error_text(int number)
{
	switch (number) {
	case EAGAIN:
		return "no more processes are allowed";
	case ENOMEM:
		return "out of memory";
	case ENOENT:
		return "no such file or directory";
	case EACCES:
		return "permission denied";
	case EPERM:
		return "operation not permitted";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	case ENOSYS:
		return "the kernel does not have it";
	default:
		return "a system call failed";
	}
}
