// SPDX-License-Identifier: GPL-3.0-or-later
// The log: a hash table by hidden address, in a mapping of its own. Nothing here allocates.
#include "t/truth/truth.h"
#include "dumper/heapsnap.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIDE UINT64_C(0xa5c3f00fda7a5eed) // Judge.pm knows it, too
#define TRUTH_BITS 19
#define SLOTS ((size_t)1 << TRUTH_BITS)

struct entry {
	uint64_t hidden; // 0: a free slot
	const char *type;
	uint32_t count;
	int kind; // 0: forgotten
};

static struct entry *entries; // [SLOTS]
static atomic_flag busy;
static size_t used;

static void fail(const char *why)
{
	dprintf(STDERR_FILENO, "truth: %s\n", why);
	_exit(3);
}

static void lock(void)
{
	while (atomic_flag_test_and_set(&busy))
		sched_yield();
}

static void map_entries(void)
{
	entries = mmap(NULL, SLOTS * sizeof(*entries), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (entries == MAP_FAILED)
		fail("out of memory");
}

// A pool's first part has the pool's address: parts are entries of their own.
static struct entry *find(uint64_t hidden, int part)
{
	size_t slot = (hidden * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - TRUTH_BITS);

	if (!entries)
		map_entries();
	while (entries[slot].hidden &&
	       (entries[slot].hidden != hidden ||
		(entries[slot].kind && (entries[slot].kind == TRUTH_PART) != part)))
		slot = (slot + 1) % SLOTS;
	return &entries[slot];
}

void *truth_log(void *block, int kind, const char *type, size_t count)
{
	struct entry *entry;

	if (!block)
		fail("out of memory");
	lock();
	entry = find((uint64_t)(uintptr_t)block ^ HIDE, kind == TRUTH_PART);
	if (!entry->hidden && ++used > SLOTS / 4 * 3)
		fail("the table is full");
	entry->hidden = (uint64_t)(uintptr_t)block ^ HIDE;
	entry->kind = kind;
	entry->type = type;
	entry->count = (uint32_t)count;
	atomic_flag_clear(&busy);
	return block;
}

static void forget(const void *address, int part)
{
	struct entry *entry;

	lock();
	entry = find((uint64_t)(uintptr_t)address ^ HIDE, part);
	if (address && entry->hidden)
		entry->kind = 0;
	atomic_flag_clear(&busy);
}

int truth_forget(const void *block)
{
	forget(block, 0);
	return 0;
}

void truth_forget_part(const void *address)
{
	forget(address, 1);
}

void *truth_moved(int forgotten, void *block, int kind, const char *type, size_t count)
{
	(void)forgotten;
	return truth_log(block, kind, type, count);
}

static void write_log(const char *path)
{
	static char line[512];
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t length = 0;
	static char buffer[1 << 16];

	if (file < 0)
		fail("the log cannot be written");
	for (size_t i = 0; entries && i < SLOTS; i++) {
		int part;

		if (!entries[i].hidden || !entries[i].kind)
			continue;
		part = snprintf(line, sizeof(line), "%016llx\t%c\t%u\t%s\n",
				(unsigned long long)entries[i].hidden, entries[i].kind,
				entries[i].count, entries[i].type);
		if (length + part > sizeof(buffer)) {
			if (write(file, buffer, length) != (ssize_t)length)
				fail("the log cannot be written");
			length = 0;
		}
		memcpy(buffer + length, line, part);
		length += part;
	}
	if (write(file, buffer, length) != (ssize_t)length || close(file))
		fail("the log cannot be written");
}

// Has heapsnap attach to this process, which is not prepared then.
static void attach(const char *heapsnap)
{
	char pid[24];
	pid_t child;
	int status;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	child = fork();
	if (child == 0) {
		execl(heapsnap, "heapsnap", "attach", "--file", getenv("HEAPSNAP_FILE"), pid,
		      (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		fail("heapsnap attach failed");
}

void truth_capture(void)
{
	const char *path = getenv("HEAPSH_TRUTH");

	if (path && getenv("HEAPSH_ATTACH")) {
		write_log(path);
		attach(getenv("HEAPSH_ATTACH"));
		return;
	}
	if (!path || !heapsnap_dump)
		fail("neither HEAPSH_TRUTH nor libheapsnap.so is there");
	write_log(path);
	if (heapsnap_dump(NULL) || heapsnap_wait())
		fail("no snapshot");
}
