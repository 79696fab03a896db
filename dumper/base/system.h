// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SYSTEM_H
#define HEAPSNAP_SYSTEM_H

/**
 * System calls without libc: no errno, no cancellation, no lock, no thread-local storage.
 *
 * Everything that runs between the trigger and the clone, and in the frozen copy, calls
 * the kernel through these. async-signal-safe. Results are the kernel's: -errno on failure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)

static inline __attribute__((always_inline)) long heapsnap_system(long number, long a, long b,
								  long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#elif defined(__aarch64__)

static inline __attribute__((always_inline)) long heapsnap_system(long number, long a, long b,
								  long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

#else
#error "heapsnap knows x86-64 and aarch64"
#endif

#define HEAPSNAP_SYSTEM_1(number, a) heapsnap_system(number, (long)(a), 0, 0, 0, 0, 0)
#define HEAPSNAP_SYSTEM_2(number, a, b) heapsnap_system(number, (long)(a), (long)(b), 0, 0, 0, 0)
#define HEAPSNAP_SYSTEM_3(number, a, b, c) \
	heapsnap_system(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define HEAPSNAP_SYSTEM_4(number, a, b, c, d) \
	heapsnap_system(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define HEAPSNAP_SYSTEM_5(number, a, b, c, d, e) \
	heapsnap_system(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/** The kernel's signal set: 64 signals. */
typedef uint64_t heapsnap_signals;

/** The time on the kernel's monotonic clock. */
uint64_t heapsnap_monotonic_ns(void);

/** Since 1970, UTC. */
uint64_t heapsnap_realtime_ns(void);

/**
 * The same clocks to within some milliseconds: for malloc, which must make no system call in a
 * program that has restricted its own, and may read no processor clock there (prctl(2),
 * PR_SET_TSC).
 */
uint64_t heapsnap_coarse_ns(void);
uint64_t heapsnap_coarse_realtime_ns(void);

/** Blocks all signals of this thread. @param before  gets the mask that was */
void heapsnap_block_signals(heapsnap_signals *before);

void heapsnap_restore_signals(const heapsnap_signals *mask);

/** Sleeps while *word is @p value, until woken or @p timeout_ns have passed (0: no limit). */
void heapsnap_futex_wait(volatile uint32_t *word, uint32_t value, uint64_t timeout_ns);

/** Wakes all that sleep on @p word. */
void heapsnap_futex_wake(volatile uint32_t *word);

/** Appends @p value in decimal. @return where to go on */
char *heapsnap_format_number(char *at, const char *end, uint64_t value, unsigned base);

/** Appends text. @return where to go on; always leaves room for a NUL, which it writes */
char *heapsnap_format_text(char *at, const char *end, const char *text);

/** Wakes at most @p count that sleep on @p word. */
void heapsnap_futex_wake_some(volatile uint32_t *word, uint32_t count);

/** True if all of a program's memory there can be read. Makes a system call for each page. */
bool heapsnap_is_readable(const void *memory, size_t bytes);

/** Reads a whole small file, at @p directory. @return bytes read, or -errno */
long heapsnap_read_file_at(int directory, const char *path, char *buffer, size_t size);

/** Reads a whole small file. @return bytes read, or -errno */
long heapsnap_read_file(const char *path, char *buffer, size_t size);

/** The rest of the line in a text that begins with @p name. @return NULL: there is none */
const char *heapsnap_find_line(const char *text, const char *name);

/** The number that a text begins with; 0 if there is none. */
uint64_t heapsnap_parse_decimal(const char *text);

/** Reads the hexadecimal number that a text begins with. @return where it goes on */
const char *heapsnap_read_hex(const char *at, uint64_t *value);

#endif
