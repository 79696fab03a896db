// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_WRITER_MACHINE_H
#define HEAPSNAP_WRITER_MACHINE_H

/**
 * Machine-dependent parts of the writer: the range of addresses, the place of thread-local storage, and
 * the code of calls.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	/** that machine_call_target() and machine_jump_target() read, at most */
	MACHINE_CALL_BYTES = sizeof(uint32_t) + 1,
	MACHINE_STORE_BYTES = 8, /**< and machine_find_store() */
};

/** A place on the stack. */
struct machine_place {
	unsigned base; /**< the register that it is relative to, by DWARF number */
	int64_t offset;
};

#if defined(__x86_64__)

enum {
	MACHINE_SHORTEST_CALL = 5, /**< bytes of a call that is not through a pointer */
	MACHINE_FRAME_IN_CFA =
		16, /**< bytes from fp to the CFA, in all frames that have one; 0: not */
	MACHINE_STORAGE_IS_BELOW = 1, /**< thread-local storage is below the thread pointer */
	MACHINE_ADDRESS_BITS =
		47, /**< of addresses in user space, unless a program asks for more */
};

/** The DWARF number of a register, by that of the instruction set (System V ABI, AMD64 supplement, figure 3.36). */
static inline unsigned machine_dwarf_register(unsigned number)
{
	static const uint8_t numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	return number < sizeof(numbers) ? numbers[number] : number;
}

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

/**
 * Where a jump leads to.
 *
 * @param address  behind it
 * @param code     the bytes before that
 * @return 0: it is none, or a short one
 */
static inline uint64_t machine_jump_target(uint64_t address, const uint8_t code[MACHINE_CALL_BYTES])
{
	int32_t distance;

	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == 0xe9 ? address + (uint64_t)(int64_t)distance : 0;
}

/** Where the instruction at the code stores the result of a call. @return false if it does not */
static inline bool machine_find_store(const uint8_t code[MACHINE_STORE_BYTES],
				      struct machine_place *place)
{
	int32_t displacement;

	place->base = 6;                        // rbp
	if (code[0] != 0x48 || code[1] != 0x89) // mov %rax, …
		return false;
	if (code[2] == 0x45) { // disp8(%rbp)
		place->offset = (int8_t)code[3];
		return true;
	}
	memcpy(&displacement, code + 3, sizeof(displacement));
	place->offset = displacement;
	return code[2] == 0x85; // disp32(%rbp)
}

#else

enum {
	MACHINE_SHORTEST_CALL = 4,
	MACHINE_FRAME_IN_CFA = 0,
	MACHINE_STORAGE_IS_BELOW = 0,
	MACHINE_ADDRESS_BITS = 48, // the kernel's half has addresses of its own
};

static inline unsigned machine_dwarf_register(unsigned number)
{
	return number;
}

// Variant I: above the thread control block of two words that the thread pointer points to.
static inline uint64_t machine_storage_word(uint64_t thread_pointer, uint64_t number)
{
	return thread_pointer ? thread_pointer + (number + 2) * sizeof(uint64_t) : 0;
}

static inline uint64_t machine_branch_target(uint64_t address,
					     const uint8_t code[MACHINE_CALL_BYTES],
					     uint32_t operation)
{
	uint32_t word;

	memcpy(&word, code + 1, sizeof(word));
	if (word >> 26 != operation)
		return 0;
	return address - sizeof(word) + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4);
}

static inline uint64_t machine_call_target(uint64_t address, const uint8_t code[MACHINE_CALL_BYTES])
{
	return machine_branch_target(address, code, 0x25); // bl
}

static inline uint64_t machine_jump_target(uint64_t address, const uint8_t code[MACHINE_CALL_BYTES])
{
	return machine_branch_target(address, code, 5); // b
}

static inline bool machine_find_store(const uint8_t code[MACHINE_STORE_BYTES],
				      struct machine_place *place)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	place->base = word >> 5 & 31;
	place->offset = (int64_t)(word >> 10 & 0xfff) * 8;
	if ((word & 0xffe00c00) == 0xf8000000) // stur x0, [x29, #-8]
		place->offset = (int32_t)(word << 11) >> 23;
	else if ((word & 0xffc00000) != 0xf9000000) // str x0, [sp, #8]
		return false;
	return (word & 31) == 0 && (place->base == 31 || place->base == 29);
}

#endif

#endif
