// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/trace/trace_file.h"

#include "dumper/base/process.h"
#include "dumper/base/settings.h"
#include "dumper/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HEAD = 8,          // bytes of a chunk before its records
	MAX_NUMBER = 10,   // bytes of a varint
	MAX_RECORD = 4200, // bytes; texts are as long as paths
	MAX_SERIAL = 100000,
	MAPS_BYTES = 8192,
	WAITS = 1000, // for another thread to fill in a step
};

static const uint64_t LOOK_NS = 100000000; // between two looks at the modules
static const uint64_t TICK_NS = 10000000;  // by which the times of files may be late

static bool has_begun; // a trace of this program

// --- records -------------------------------------------------------------------

int heapsnap_trace_file_flush(struct heapsnap_trace_file *file)
{
	uint32_t head[2] = { file->used - HEAD };
	const uint8_t *at = file->chunk;

	if (file->descriptor < 0 || file->used <= HEAD)
		return file->error;
	head[1] = heapsnap_trace_checksum(file->chunk + HEAD, head[0]);
	memcpy(file->chunk, head, HEAD);
	while (at < file->chunk + file->used) {
		long wrote = HEAPSNAP_SYSTEM_3(SYS_write, file->descriptor, at,
					       file->chunk + file->used - at);

		if (wrote == -EINTR)
			continue;
		if (wrote <= 0) {
			HEAPSNAP_SYSTEM_1(SYS_close, file->descriptor);
			file->descriptor = -1;
			file->error = wrote < 0 ? (int)wrote : -EIO;
			return file->error;
		}
		at += wrote;
	}
	file->used = HEAD;
	return 0;
}

static void put_number(struct heapsnap_trace_file *file, uint64_t value)
{
	while (value >= 0x80) {
		file->chunk[file->used++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	file->chunk[file->used++] = (uint8_t)value;
}

static void put_difference(struct heapsnap_trace_file *file, uint64_t value, uint64_t before)
{
	uint64_t difference = value - before;

	put_number(file, difference << 1 ^ (0 - (difference >> 63)));
}

static void put_text(struct heapsnap_trace_file *file, const char *text)
{
	size_t length = strlen(text);

	put_number(file, length);
	memcpy(file->chunk + file->used, text, length);
	file->used += (uint32_t)length;
}

// Begins a record, for which there is room.
static void put_tag(struct heapsnap_trace_file *file, enum heapsnap_trace_tag tag)
{
	if (file->used > sizeof(file->chunk) - MAX_RECORD)
		heapsnap_trace_file_flush(file);
	if (file->descriptor < 0)
		file->used = HEAD; // nobody will read it
	file->chunk[file->used++] = (uint8_t)tag;
}

static void put_time(struct heapsnap_trace_file *file, uint64_t time_ns)
{
	put_difference(file, time_ns / 1000, file->time_us);
	file->time_us = time_ns / 1000;
}

// --- modules -------------------------------------------------------------------

static bool is_known(const struct heapsnap_trace_file *file, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < file->module_count; i++) {
		if (file->modules[i].start == start && file->modules[i].end == end)
			return true;
	}
	return false;
}

static bool is_in_module(const struct heapsnap_trace_file *file, uint64_t address)
{
	for (uint32_t i = 0; i < file->module_count; i++) {
		if (address >= file->modules[i].start && address < file->modules[i].end)
			return true;
	}
	return false;
}

// A module's mappings stand together, and have its name.
struct mapping {
	uint64_t start, end;
	bool has_code;
	char path[HEAPSNAP_PATH_MAX];
};

static void add_module(struct heapsnap_trace_file *file, const struct mapping *mapping)
{
	if (!mapping->has_code || is_known(file, mapping->start, mapping->end) ||
	    file->module_count == HEAPSNAP_TRACE_MODULES)
		return;
	file->modules[file->module_count].start = mapping->start;
	file->modules[file->module_count++].end = mapping->end;
	put_tag(file, HEAPSNAP_TRACE_MODULE);
	put_number(file, mapping->start);
	put_number(file, mapping->end - mapping->start);
	put_text(file, mapping->path);
}

// "start-end perms offset device inode   path"
static void read_mapping(struct heapsnap_trace_file *file, const char *line,
			 struct mapping *mapping)
{
	uint64_t start, end;
	const char *at = heapsnap_read_hex(line, &start);
	bool has_code;

	at = heapsnap_read_hex(at + (*at == '-'), &end);
	has_code = strlen(at) > 4 && at[3] == 'x';
	while (*at && *at != '/')
		at++;
	if (*at == '/' && start >= mapping->end && strcmp(at, mapping->path) == 0) {
		mapping->end = end;
		mapping->has_code = mapping->has_code || has_code;
		return;
	}
	add_module(file, mapping);
	*mapping = (struct mapping){ .start = start, .end = end, .has_code = has_code && *at };
	heapsnap_format_text(mapping->path, mapping->path + sizeof(mapping->path), at);
}

static void look_at_modules(struct heapsnap_trace_file *file)
{
	static const char path[] = "/proc/self/maps";
	static struct mapping mapping; // of this thread alone; it has a small stack
	static char text[MAPS_BYTES];
	long maps = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	size_t used = 0;
	long got;

	mapping = (struct mapping){ 0 };
	while (maps >= 0 && (got = HEAPSNAP_SYSTEM_3(SYS_read, maps, text + used,
						     sizeof(text) - 1 - used)) > 0) {
		char *line = text, *end;

		used += (size_t)got;
		text[used] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			read_mapping(file, line, &mapping);
		}
		used -= (size_t)(line - text);
		memmove(text, line, used);
		if (used == sizeof(text) - 1)
			used = 0; // no line is so long
	}
	add_module(file, &mapping);
	if (maps >= 0)
		HEAPSNAP_SYSTEM_1(SYS_close, maps);
}

// Sees to it that a step's code is in a module that the file tells of, if it is in one.
static void see_to_module(struct heapsnap_trace_file *file, uint64_t address)
{
	uint32_t unmapped = __atomic_load_n(&heapsnap_process.unmapped_count, __ATOMIC_ACQUIRE);
	uint64_t now;

	if (unmapped == file->unmapped && is_in_module(file, address))
		return;
	now = heapsnap_monotonic_ns();
	if (unmapped == file->unmapped && now < file->next_look_ns)
		return;
	if (unmapped != file->unmapped)
		file->module_count = 0; // other code may lie where some was
	file->unmapped = unmapped;
	file->next_look_ns = now + LOOK_NS;
	look_at_modules(file);
}

// --- events ----------------------------------------------------------------------

// Another thread may just be filling in one that lies before.
static uint64_t wait_for_step(const struct heapsnap_step *step)
{
	uint64_t address = 0;

	for (int i = 0; i < WAITS && address == 0; i++) {
		address = __atomic_load_n(&step->address, __ATOMIC_ACQUIRE);
		if (address == 0)
			heapsnap_system(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return address;
}

static const struct heapsnap_step *step_at(uint32_t number)
{
	if (number < HEAPSNAP_FIRST_STEPS)
		return (const struct heapsnap_step *)heapsnap_process.steps + number;
	return (const struct heapsnap_step *)__atomic_load_n(&heapsnap_process.more_steps,
							     __ATOMIC_ACQUIRE) +
	       (number - HEAPSNAP_FIRST_STEPS);
}

static void add_steps(struct heapsnap_trace_file *file, uint32_t last)
{
	while (file->steps < last) {
		uint32_t number = ++file->steps;
		const struct heapsnap_step *step = step_at(number);
		uint64_t address = wait_for_step(step);

		see_to_module(file, address);
		put_tag(file, HEAPSNAP_TRACE_STEP);
		put_difference(file, address, file->address);
		put_number(file, step->caller ? number - step->caller : 0);
		file->address = address;
	}
}

void heapsnap_trace_file_add(struct heapsnap_trace_file *file,
			     const struct heapsnap_trace_event *event)
{
	bool allocated = event->step != 0;

	add_steps(file, event->step);
	if (event->thread != file->thread) {
		put_tag(file, HEAPSNAP_TRACE_THREAD);
		put_number(file, event->thread);
		file->thread = event->thread;
	}
	put_tag(file, allocated ? HEAPSNAP_TRACE_ALLOCATED + event->moved
				: HEAPSNAP_TRACE_FREED + event->moved);
	put_time(file, event->time_ns);
	if (!allocated) {
		put_difference(file, event->number, file->freed);
		file->freed = event->number;
		return;
	}
	put_difference(file, event->number, file->allocated);
	put_number(file, event->size);
	put_difference(file, event->step, file->step);
	file->allocated = event->number;
	file->step = event->step;
}

void heapsnap_trace_file_add_dropped(struct heapsnap_trace_file *file, uint64_t count)
{
	put_tag(file, HEAPSNAP_TRACE_DROPPED);
	put_number(file, count);
}

void heapsnap_trace_file_add_wrappers(struct heapsnap_trace_file *file)
{
	const uint64_t *sites = (const uint64_t *)heapsnap_process.wrappers;

	for (uint32_t i = 0; i < heapsnap_process.wrapper_slots && i < HEAPSNAP_TRACE_WRAPPERS;
	     i++) {
		uint64_t site = __atomic_load_n(&sites[i], __ATOMIC_RELAXED);

		if (site == 0 || file->told[i / 8] >> i % 8 & 1)
			continue;
		file->told[i / 8] |= (uint8_t)(1 << i % 8);
		put_tag(file, HEAPSNAP_TRACE_WRAPPER);
		put_difference(file, site, file->address);
	}
}

// --- opening and closing -------------------------------------------------------------

static char *format_host(char *at, const char *end)
{
	char name[256] = "";

	heapsnap_read_file("/proc/sys/kernel/hostname", name, sizeof(name));
	for (char *c = name; *c; c++) {
		if (*c == '\n' || *c == '/')
			*c = '\0';
	}
	return heapsnap_format_text(at, end, name);
}

// Serial numbers have two digits at least.
static char *format_serial(char *at, const char *end, uint32_t serial)
{
	if (serial < 10)
		at = heapsnap_format_text(at, end, "0");
	return heapsnap_format_number(at, end, serial, 10);
}

// @return whether the name depends on the serial number
static bool format_name(char *name, const char *pattern, uint32_t pid, uint32_t serial)
{
	const char *end = name + HEAPSNAP_PATH_MAX;
	char *at = name;
	bool has_serial = false;

	if (*pattern != '/') {
		at = heapsnap_format_text(at, end, heapsnap_process.directory);
		at = heapsnap_format_text(at, end, "/");
	}
	for (; *pattern; pattern++) {
		const char one[2] = { *pattern, '\0' };

		if (*pattern != '%' || !pattern[1]) {
			at = heapsnap_format_text(at, end, one);
			continue;
		}
		pattern++;
		if (*pattern == 'e')
			at = heapsnap_format_text(at, end, heapsnap_process.program);
		else if (*pattern == 'p')
			at = heapsnap_format_number(at, end, pid, 10);
		else if (*pattern == 'h')
			at = format_host(at, end);
		else if (*pattern == 't')
			at = heapsnap_format_number(at, end, heapsnap_realtime_ns() / 1000000000,
						    10);
		else if (*pattern == 'N')
			at = format_serial(at, end, serial);
		else
			at = heapsnap_format_text(at, end, "%");
		has_serial = has_serial || *pattern == 'N';
	}
	return has_serial;
}

static bool tells_processes_apart(const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern == '%' && (pattern[1] == 'p' || pattern[1] == 'N'))
			return true;
		pattern += *pattern == '%' && pattern[1];
	}
	return false;
}

// A number as put_number() puts it. @return where to go on
static const uint8_t *get_number(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		*value |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80))
			break;
	}
	return at;
}

// True if this very process has begun the trace, before it became another program: a script that
// starts the real one. Its exec may have come before the first chunk was written.
static bool is_own(long descriptor, uint32_t pid)
{
	uint8_t start[2 * HEAD + 32]; // of the file, and of its first chunk
	const uint8_t *at = start + 2 * HEAD, *end = start + sizeof(start);
	long size = HEAPSNAP_SYSTEM_3(SYS_read, descriptor, start, sizeof(start));
	uint64_t tag, version, owner, time_ns;
	struct stat status;

	if (size >= 0 && size <= HEAD)
		return HEAPSNAP_SYSTEM_2(SYS_fstat, descriptor, &status) == 0 &&
		       S_ISREG(status.st_mode) &&
		       (uint64_t)status.st_mtim.tv_sec * 1000000000 +
				       (uint64_t)status.st_mtim.tv_nsec + TICK_NS >=
			       heapsnap_settings.run_start_ns;
	at = get_number(at, end, &tag);
	at = get_number(at, end, &version);
	at = get_number(at, end, &owner);
	get_number(at, end, &time_ns);
	return size > 2 * HEAD + 16 && memcmp(start, HEAPSNAP_TRACE_MAGIC, HEAD) == 0 &&
	       tag == HEAPSNAP_TRACE_BEGIN && owner == pid &&
	       time_ns >= heapsnap_settings.run_start_ns;
}

// A trace that a signal or this program has begun is never replaced.
// @return -EEXIST if the file is another
static long replace_own(const char *name, uint32_t pid)
{
	long descriptor;

	if (heapsnap_settings.run_pid == 0 || heapsnap_settings.trace_signal != 0 || has_begun)
		return -EEXIST;
	descriptor = HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, name,
				       O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (descriptor < 0)
		return -EEXIST;
	if (is_own(descriptor, pid) && HEAPSNAP_SYSTEM_2(SYS_ftruncate, descriptor, 0) == 0 &&
	    HEAPSNAP_SYSTEM_3(SYS_lseek, descriptor, 0, SEEK_SET) == 0)
		return descriptor;
	HEAPSNAP_SYSTEM_1(SYS_close, descriptor);
	return -EEXIST;
}

static long create_file(const char *name)
{
	return HEAPSNAP_SYSTEM_4(SYS_openat, AT_FDCWD, name,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static char *add_number(char *name, size_t size, uint32_t number)
{
	char *end = heapsnap_format_text(name + strlen(name), name + size, ".");

	return heapsnap_format_number(end, name + size, number, 10);
}

// A process with another name than that which was meant may have the pid that one had before.
static long create(char *name, size_t size, const char *pattern, bool own_name, uint32_t pid)
{
	long descriptor = -EEXIST;

	for (uint32_t serial = 0; serial < MAX_SERIAL && descriptor == -EEXIST; serial++) {
		bool has_serial = format_name(name, pattern, pid, serial);

		if (own_name && !tells_processes_apart(pattern))
			add_number(name, size, pid);
		if (!has_serial && serial > 0)
			add_number(name, size, serial + 1);
		descriptor = create_file(name);
		if (descriptor == -EEXIST && !has_serial)
			descriptor = replace_own(name, pid);
		if (!has_serial && !own_name)
			break;
	}
	return descriptor;
}

// Numbers below 3 have a meaning, also for sandboxes.
static long move_up(long descriptor)
{
	long moved = descriptor;

	if (descriptor >= 0 && descriptor <= STDERR_FILENO)
		moved = HEAPSNAP_SYSTEM_3(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC,
					  STDERR_FILENO + 1);
	if (moved == descriptor || moved < 0)
		return descriptor;
	HEAPSNAP_SYSTEM_1(SYS_close, descriptor);
	return moved;
}

int heapsnap_trace_file_open(struct heapsnap_trace_file *file, const char *pattern, bool own_name)
{
	uint32_t pid = (uint32_t)heapsnap_system(SYS_getpid, 0, 0, 0, 0, 0, 0);
	uint32_t run_pid = heapsnap_settings.run_pid;
	// The name is for the program that was meant, not for all that it starts.
	bool is_other = own_name || (run_pid != 0 && run_pid != pid);
	long descriptor = move_up(create(file->path, sizeof(file->path), pattern, is_other, pid));

	file->descriptor = (int)descriptor;
	if (descriptor < 0)
		return (int)descriptor;
	has_begun = true;
	memcpy(file->chunk, HEAPSNAP_TRACE_MAGIC, HEAD);
	if (HEAPSNAP_SYSTEM_3(SYS_write, descriptor, file->chunk, HEAD) != HEAD) {
		HEAPSNAP_SYSTEM_1(SYS_close, descriptor);
		file->descriptor = -1;
		return -EIO;
	}
	file->used = HEAD;
	file->start_ns = heapsnap_realtime_ns();
	file->start_us = file->time_us = heapsnap_monotonic_ns() / 1000;
	put_tag(file, HEAPSNAP_TRACE_BEGIN);
	put_number(file, HEAPSNAP_TRACE_VERSION);
	put_number(file, pid);
	put_number(file, file->start_ns);
	put_number(file, heapsnap_settings.stacks);
	put_text(file, heapsnap_process.program);
	return heapsnap_trace_file_flush(file);
}

int heapsnap_trace_file_close(struct heapsnap_trace_file *file)
{
	int result;

	put_tag(file, HEAPSNAP_TRACE_END);
	put_time(file, heapsnap_monotonic_ns());
	result = heapsnap_trace_file_flush(file);
	if (file->descriptor >= 0)
		HEAPSNAP_SYSTEM_1(SYS_close, file->descriptor);
	file->descriptor = -1;
	return result;
}
