// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * One thread, which blocks in a system call: "open PATH" of a FIFO, "write" of pages to standard output, "lock" of a
 * file that a child holds until standard input ends, or "ring", an io_uring that waits for standard input. It exits
 * with 0 if the call has done what it does when nobody attaches; "ring" with 77 if there is none here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PAGES = 64,
	PAGE = 4096,
	NONE = 77
};

static int do_open(const char *path)
{
	int descriptor = open(path, O_RDONLY);
	char byte;

	return descriptor >= 0 && read(descriptor, &byte, 1) == 1 ? 0 : 1;
}

// More than a pipe holds. Each page begins with its number.
static int do_write(void)
{
	static char page[PAGE];

	for (int i = 0; i < PAGES; i++) {
		memset(page, 'a' + i % 26, sizeof(page));
		if (write(STDOUT_FILENO, page, sizeof(page)) != sizeof(page))
			return 1;
	}
	return 0;
}

static int do_lock(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[] = "/tmp/heapsnap-lock-XXXXXX", byte;
	int file = mkstemp(name), held[2], result;
	pid_t child;

	unlink(name);
	if (file < 0 || pipe(held) != 0)
		return 1;
	child = fork();
	if (child == 0) {
		result = fcntl(file, F_SETLK, &lock) == 0 && write(held[1], "", 1) == 1;
		while (result && read(STDIN_FILENO, &byte, 1) == 1)
			;
		_exit(!result);
	}
	if (read(held[0], &byte, 1) != 1)
		return 1;
	result = fcntl(file, F_SETLKW, &lock);
	return result == 0 && waitpid(child, &result, 0) == child && result == 0 ? 0 : 1;
}

static int do_ring(void)
{
	struct io_uring_params params = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);

	if (ring < 0)
		return NONE;

	size_t size = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	char *submissions = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				 ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries =
		mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);

	if (submissions == MAP_FAILED || entries == MAP_FAILED)
		return NONE;
	entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_POLL_ADD,
					    .fd = STDIN_FILENO,
					    .poll_events = POLLIN };
	((unsigned *)(submissions + params.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(submissions + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1)
		return 1;
	return syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 0 ? 0
											     : 1;
}

int main(int argc, char **argv)
{
	void *block = malloc(100);
	const char *name = argc > 1 ? argv[1] : "";
	int result;

	puts("ready");
	fflush(stdout);
	if (strcmp(name, "open") == 0 && argc == 3)
		result = do_open(argv[2]);
	else if (strcmp(name, "write") == 0)
		result = do_write();
	else if (strcmp(name, "lock") == 0)
		result = do_lock();
	else
		result = do_ring();
	free(block);
	return result;
}
