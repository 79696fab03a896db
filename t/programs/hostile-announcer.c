// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A process that says of itself what it likes, for heapsnap capture and heapsnap list.
 *
 *	name=TEXT       maps a memfd of that name; as often as wanted
 *	library=PATH    maps the first page of that file, as if the library were loaded, and forges its
 *	                announcement: signal, handler, pid, shared, version, pattern,
 *	                message, status, phase
 *	file=PATH       maps the first page of any file
 *	catch=N         handles signal N, by counting it as a snapshot
 *	comm=TEXT       renames the main thread
 *	delete          deletes its own executable
 *
 * It prints "ready", and on its next line of input how many signals came.
 */
#define _GNU_SOURCE
#include "dumper/host/announce.h"
#include "dumper/base/note.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	SPACE = 16 << 20,
};

static struct heapsnap_announcement forged_, *forged = &forged_;
static struct heapsnap_shared *shared;
static struct heapsnap_process process = {
	.magic = HEAPSNAP_PROCESS_MAGIC,
	.version = HEAPSNAP_PROTOCOL_VERSION,
};
static volatile int signals;

static void count(int number)
{
	(void)number;
	signals++;
	forged->begun++;
	forged->ended += shared->progress.phase == HEAPSNAP_PHASE_NONE;
}

static void map_name(const char *name)
{
	int file = memfd_create(name, MFD_CLOEXEC);

	if (file < 0 || mmap(NULL, 1, PROT_NONE, MAP_PRIVATE, file, 0) == MAP_FAILED)
		abort();
	close(file);
}

static void map_file(const char *path)
{
	int file = open(path, O_RDONLY);

	if (mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED)
		abort();
	close(file);
}

// The page of the file, and memory behind it where its announcement would be.
static void map_library(const char *path)
{
	static const char owner[12] = HEAPSNAP_NOTE_OWNER;
	char *space = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = open(path, O_RDONLY);
	struct heapsnap_note note;
	char *at;

	if (mmap(space, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
		abort();
	at = memmem(space, PAGE, owner, sizeof(owner));
	if (!at)
		abort();
	at += sizeof(owner);
	memcpy(&note, at, sizeof(note));
	forged =
		(struct heapsnap_announcement *)(at + offsetof(struct heapsnap_note, announcement) +
						 note.announcement);
	*forged = (struct heapsnap_announcement){
		.magic = HEAPSNAP_ANNOUNCEMENT_MAGIC,
		.version = HEAPSNAP_ANNOUNCEMENT_VERSION,
		.bytes = sizeof(*forged),
		.address = (uint64_t)forged,
		.pid = (uint32_t)getpid(),
		.signal = SIGUSR1,
		.handler = HEAPSNAP_HANDLER_OURS,
		.takes_snapshots = 1,
		.process = (uint64_t)&process,
		.shared = (uint64_t)shared,
		.pattern = "/x",
	};
}

static void apply(const char *name, const char *value)
{
	if (strcmp(name, "name") == 0)
		map_name(value);
	else if (strcmp(name, "library") == 0)
		map_library(value);
	else if (strcmp(name, "file") == 0)
		map_file(value);
	else if (strcmp(name, "catch") == 0)
		signal(atoi(value), count);
	else if (strcmp(name, "comm") == 0)
		prctl(PR_SET_NAME, value, 0, 0, 0);
	else if (strcmp(name, "signal") == 0)
		forged->signal = (uint32_t)strtoul(value, NULL, 0);
	else if (strcmp(name, "handler") == 0)
		forged->handler = (uint32_t)strtoul(value, NULL, 0);
	else if (strcmp(name, "pid") == 0)
		forged->pid = (uint32_t)strtoul(value, NULL, 0);
	else if (strcmp(name, "shared") == 0)
		forged->shared = strtoull(value, NULL, 0);
	else if (strcmp(name, "version") == 0)
		process.version = (uint32_t)atoi(value);
	else if (strcmp(name, "pattern") == 0)
		snprintf(forged->pattern, sizeof(forged->pattern), "%s", value);
	else if (strcmp(name, "message") == 0)
		snprintf(shared->message, sizeof(shared->message), "%s", value);
	else if (strcmp(name, "status") == 0)
		shared->status = atoi(value);
	else if (strcmp(name, "phase") == 0)
		shared->progress.phase = strtoull(value, NULL, 0);
	else
		abort();
}

int main(int argc, char **argv)
{
	struct timespec now;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	shared->progress.start_ns = (uint64_t)now.tv_sec * 1000000000;
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value) {
			if (unlink(argv[0]) != 0)
				return 1;
			continue;
		}
		*value = '\0';
		apply(argv[i], value + 1);
	}
	puts("ready");
	fflush(stdout);

	char line[8];

	while (read(0, line, sizeof(line)) < 0)
		;
	printf("%d\n", signals);
	return 0;
}
