// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/system.h"

#include "dumper/base/vdso.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static uint64_t clock_ns(int clock)
{
	struct timespec now = { 0, 0 };
	heapsnap_clock_function *function = heapsnap_vdso_clock();

	if (!function || function(clock, &now) != 0)
		HEAPSNAP_SYSTEM_2(SYS_clock_gettime, clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t heapsnap_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t heapsnap_coarse_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t heapsnap_coarse_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME_COARSE);
}

uint64_t heapsnap_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void heapsnap_block_signals(heapsnap_signals *before)
{
	heapsnap_signals all = ~UINT64_C(0);

	HEAPSNAP_SYSTEM_4(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof(all));
}

void heapsnap_restore_signals(const heapsnap_signals *mask)
{
	HEAPSNAP_SYSTEM_4(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, sizeof(*mask));
}

void heapsnap_futex_wait(volatile uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct __kernel_timespec timeout = { (long long)(timeout_ns / 1000000000u),
					     (long long)(timeout_ns % 1000000000u) };

	HEAPSNAP_SYSTEM_4(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &timeout : NULL);
}

void heapsnap_futex_wake_some(volatile uint32_t *word, uint32_t count)
{
	HEAPSNAP_SYSTEM_3(SYS_futex, word, FUTEX_WAKE_PRIVATE, count);
}

void heapsnap_futex_wake(volatile uint32_t *word)
{
	heapsnap_futex_wake_some(word, 0x7fffffff);
}

char *heapsnap_format_text(char *at, const char *end, const char *text)
{
	while (*text && at + 1 < end)
		*at++ = *text++;
	*at = '\0';
	return at;
}

char *heapsnap_format_number(char *at, const char *end, uint64_t value, unsigned base)
{
	char digits[24];
	char *digit = digits + sizeof(digits);

	*--digit = '\0';
	do {
		*--digit = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	return heapsnap_format_text(at, end, digit);
}

/*
 * The kernel looks for a signal set there, and at what to do with it only then. That is no signal
 * operation, so that nothing happens either way. (Known from Abseil's AddressIsReadable.)
 */
static bool is_readable(uint64_t page)
{
	enum {
		NO_OPERATION = ~0,
		INVALID = -22, // EINVAL
	};

	return HEAPSNAP_SYSTEM_4(SYS_rt_sigprocmask, NO_OPERATION, page, NULL, sizeof(uint64_t)) ==
	       INVALID;
}

bool heapsnap_is_readable(const void *memory, size_t bytes)
{
	const uint64_t page = 4096; // or more
	uint64_t start = (uint64_t)memory & ~(page - 1), end = (uint64_t)memory + bytes;

	for (; start < end; start += page) {
		if (!is_readable(start))
			return false;
	}
	return end >= (uint64_t)memory;
}

long heapsnap_read_file_at(int directory, const char *path, char *buffer, size_t size)
{
	long file = HEAPSNAP_SYSTEM_4(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC, 0);

	if (file < 0)
		return file;

	long got = HEAPSNAP_SYSTEM_3(SYS_read, file, buffer, size - 1);

	HEAPSNAP_SYSTEM_1(SYS_close, file);
	buffer[got < 0 ? 0 : got] = '\0';
	return got;
}

long heapsnap_read_file(const char *path, char *buffer, size_t size)
{
	return heapsnap_read_file_at(AT_FDCWD, path, buffer, size);
}

const char *heapsnap_find_line(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; *text; text++) {
		if (strncmp(text, name, length) == 0)
			return text + length;
		while (*text && *text != '\n')
			text++;
		if (!*text)
			break;
	}
	return NULL;
}

uint64_t heapsnap_parse_decimal(const char *text)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

const char *heapsnap_read_hex(const char *at, uint64_t *value)
{
	for (*value = 0;; at++) {
		if (*at >= '0' && *at <= '9')
			*value = *value << 4 | (uint64_t)(*at - '0');
		else if (*at >= 'a' && *at <= 'f')
			*value = *value << 4 | (uint64_t)(*at - 'a' + 10);
		else
			return at;
	}
}
