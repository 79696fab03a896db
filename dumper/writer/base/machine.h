// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_WRITER_MACHINE_H
#define HEAPSNAP_WRITER_MACHINE_H

/** What the writer knows of the machine: where thread-local storage lies, and the code of calls. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	MACHINE_CALL_BYTES = sizeof(uint32_t) + 1, /**< that machine_call_target() reads, at most */
};

#if defined(__x86_64__)

enum {
	MACHINE_SHORTEST_CALL = 5, /**< bytes of a call that is not through a pointer */
};

/**
 * The address of a word of a thread's storage, by number: below the thread pointer.
 * (Drepper, ELF Handling For Thread-Local Storage, variant II.) 0: there is none
 */
static inline uint64_t machine_storage_word(uint64_t thread_pointer, uint64_t number)
{
	uint64_t below = (number + 1) * sizeof(uint64_t);

	return thread_pointer > below ? thread_pointer - below : 0;
}

/**
 * Where a call leads to.
 *
 * @param address  that it returns to
 * @param code     the bytes before that
 * @return 0: it is through a pointer, or none
 */
static inline uint64_t machine_call_target(uint64_t address, const uint8_t code[MACHINE_CALL_BYTES])
{
	int32_t distance;

	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == 0xe8 ? address + (uint64_t)(int64_t)distance : 0;
}

#else

enum {
	MACHINE_SHORTEST_CALL = 4,
};

// Variant I: above the thread control block of two words that the thread pointer points to.
static inline uint64_t machine_storage_word(uint64_t thread_pointer, uint64_t number)
{
	return thread_pointer ? thread_pointer + (number + 2) * sizeof(uint64_t) : 0;
}

static inline uint64_t machine_call_target(uint64_t address, const uint8_t code[MACHINE_CALL_BYTES])
{
	uint32_t word;

	memcpy(&word, code + 1, sizeof(word));
	if (word >> 26 != 0x25) // bl
		return 0;
	return address - sizeof(word) + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
}

#endif

#endif
