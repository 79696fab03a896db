// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct {
	const char *program;
	int failure;
	pid_t process; // that has begun: a child of it that exits says nothing
	bool is_told;
} streams;

static void do_nothing(int number)
{
	(void)number;
}

// Beyond a limit of the file's size, writing fails then, which is told like a full disk. A handler is not
// passed on to programs that are started, unlike SIG_IGN.
static void survive_size_limits(void)
{
	struct sigaction action;

	if (sigaction(SIGXFSZ, NULL, &action) == 0 && action.sa_handler == SIG_DFL)
		signal(SIGXFSZ, do_nothing);
}

void heap_standard_streams_open(void)
{
	survive_size_limits();
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
		// For the wrong direction: using it is the same error as before.
		int direction = i == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(i, F_GETFD) >= 0 || errno != EBADF)
			continue;
		// The lowest number that is free is this one. A changed root may be without devices:
		// another descriptor that nobody can read or write.
		if (open("/dev/null", direction | O_CLOEXEC) < 0 &&
		    epoll_create1(EPOLL_CLOEXEC) < 0)
			_exit(EXIT_FAILURE);
	}
}

int heap_stream_error(FILE *stream)
{
	if (fflush(stream) != 0)
		return errno;
	if (!ferror(stream))
		return 0;
	// The error number is another one's by now. One more byte fails for the same reason.
	putc('\n', stream);
	return fflush(stream) != 0 ? errno : EIO;
}

static void check_at_exit(void)
{
	int why;

	if (getpid() != streams.process || streams.is_told)
		return;
	why = heap_stream_error(stdout);
	if (why == 0)
		return;
	errno = why;
	fprintf(stderr, "%s: cannot write to standard output: %m\n", streams.program);
	_exit(streams.failure);
}

void heap_standard_streams_init(const char *program, int failure)
{
	heap_standard_streams_open();
	streams.program = program;
	streams.failure = failure;
	streams.process = getpid();
	atexit(check_at_exit);
}

struct heap_error *heap_standard_output_error(void)
{
	streams.is_told = true;
	errno = heap_stream_error(stdout);
	return heap_error_create_system("cannot write to standard output");
}
