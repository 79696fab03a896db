// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/report.h"

#include "dumper/base/system.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_LINES = 32,
	NAME_BYTES = 1024,
};

// How long a full pipe, or a terminal that was stopped, may hold a line up.
static const long PATIENCE_NS = 100000000;

static uint32_t lines;
static struct stat standard_error;

// The file that heapsnap_report_by_name() writes to.
static char name[NAME_BYTES];
static struct stat named;

void heapsnap_report_init(void)
{
	HEAPSNAP_SYSTEM_2(SYS_fstat, STDERR_FILENO, &standard_error);
}

// The kernel's struct stat is libc's on both machines that we know.
bool heapsnap_report_is_possible(void)
{
	struct stat now;

	if (HEAPSNAP_SYSTEM_2(SYS_fstat, STDERR_FILENO, &now) != 0)
		return false;
	if (now.st_dev == standard_error.st_dev && now.st_ino == standard_error.st_ino)
		return true;
	// Sent elsewhere since: to a terminal or null device, or to a log.
	if (S_ISCHR(now.st_mode))
		return true;
	return S_ISREG(now.st_mode) &&
	       HEAPSNAP_SYSTEM_2(SYS_fcntl, STDERR_FILENO, F_GETFL) & O_APPEND;
}

bool heapsnap_report_would_disturb(void)
{
	struct termios terminal;

	return HEAPSNAP_SYSTEM_3(SYS_ioctl, STDERR_FILENO, TCGETS, &terminal) == 0 &&
	       !(terminal.c_lflag & ICANON);
}

// Names of programs and files may have what controls a terminal: C0, DEL, and C1 in UTF-8.
static void make_harmless(char *text, const char *end)
{
	for (char *at = text; at < end; at++) {
		unsigned char byte = (unsigned char)*at, next = (unsigned char)at[1];

		if (byte == 0xc2 && at + 1 < end && next >= 0x80 && next < 0xa0)
			at[1] = '?';
		else if (byte >= ' ' && byte != 0x7f)
			continue;
		*at = '?';
	}
}

// @return false if who read the file has gone, or reads nothing
static bool takes_a_line(long file)
{
	struct pollfd asked = { .fd = (int)file, .events = POLLOUT };
	struct timespec patience = { .tv_nsec = PATIENCE_NS };
	long ready =
		HEAPSNAP_SYSTEM_5(SYS_ppoll, &asked, 1, &patience, NULL, sizeof(heapsnap_signals));

	return ready < 0 || (ready > 0 && !(asked.revents & (POLLERR | POLLHUP)));
}

// A reader that went in the last instant.
static void forget_broken_pipe(void)
{
	heapsnap_signals broken = (heapsnap_signals)1 << (SIGPIPE - 1);
	struct timespec none = { 0 };

	HEAPSNAP_SYSTEM_4(SYS_rt_sigtimedwait, &broken, NULL, &none, sizeof(broken));
}

// The line is ours, and so is what comes of it: the program, which may not even know of us, is not to end by
// SIGPIPE because nobody reads its errors, to be stopped by SIGTTOU, or to wait for somebody to read.
static void write_politely(long file, const char *line, size_t bytes)
{
	heapsnap_signals before;

	heapsnap_block_signals(&before);
	if (takes_a_line(file) && HEAPSNAP_SYSTEM_3(SYS_write, file, line, bytes) == -EPIPE)
		forget_broken_pipe();
	heapsnap_restore_signals(&before);
}

static void write_line(long file, const char *subject, const char *message, const char *end)
{
	char line[1024] = "";
	char *at = line;
	const char *limit = line + sizeof(line) - 1;

	at = heapsnap_format_text(at, limit, "heapsnap: ");
	if (subject) {
		at = heapsnap_format_text(at, limit, subject);
		at = heapsnap_format_text(at, limit, ": ");
	}
	at = heapsnap_format_text(at, limit, message);
	at = heapsnap_format_text(at, limit, end);
	make_harmless(line, at);
	*at++ = '\n';
	write_politely(file, line, (size_t)(at - line));
}

void heapsnap_report(const char *subject, const char *message, const char *end)
{
	if (heapsnap_report_is_possible() &&
	    __atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED) < MAX_LINES)
		write_line(STDERR_FILENO, subject, message, end);
}

void heapsnap_report_note_name(void)
{
	long length;

	name[0] = '\0';
	if (!heapsnap_report_is_possible() ||
	    HEAPSNAP_SYSTEM_2(SYS_fstat, STDERR_FILENO, &named) != 0 ||
	    (!S_ISREG(named.st_mode) && !S_ISCHR(named.st_mode)))
		return;
	length = HEAPSNAP_SYSTEM_4(SYS_readlinkat, AT_FDCWD, "/proc/self/fd/2", name,
				   sizeof(name) - 1);
	name[length > 0 ? length : 0] = '\0';
}

void heapsnap_report_by_name(const char *message, const char *end)
{
	struct stat now;
	long file;

	if (!name[0])
		return;
	file = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, name,
				 O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0);
	if (file < 0)
		return;
	if (HEAPSNAP_SYSTEM_2(SYS_fstat, file, &now) == 0 && now.st_dev == named.st_dev &&
	    now.st_ino == named.st_ino)
		write_line(file, NULL, message, end);
	HEAPSNAP_SYSTEM_1(SYS_close, file);
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
	case EEXIST:
		return "there is such a file already";
	case EACCES:
		return "permission denied";
	case ENOEXEC:
		return "not a program for this machine";
	case EPERM:
		return "operation not permitted";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	case ENOSPC:
		return "no space left on device";
	case EDQUOT:
		return "disk quota exceeded";
	case EFBIG:
		return "file too large";
	case EROFS:
		return "read-only file system";
	case EIO:
		return "input/output error";
	case ENAMETOOLONG:
		return "file name too long";
	case ENOTDIR:
		return "not a directory";
	case ELOOP:
		return "too many symbolic links";
	case ENOSYS:
		return "the kernel does not have it";
	default:
		return "a system call failed";
	}
}
