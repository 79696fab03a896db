// SPDX-License-Identifier: GPL-3.0-or-later
// The decoder of machine code: instructions that are known to the last byte, and nonsense.
#include "t/unit/unit.h"

#include "dumper/code/machine_code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	NONSENSE = 200000,
};

static struct heapsnap_instruction decode(const char *bytes, size_t length)
{
	const uint8_t *at = (const uint8_t *)bytes;
	struct heapsnap_instruction result;

	assert_true(heapsnap_decode(at, at + length, &result));
	assert_ptr_equal(result.next, at + length);
	// Without its last byte it is none.
	if (length > 1)
		assert_false(
			heapsnap_decode(at, at + length - 1, &(struct heapsnap_instruction){ 0 }));
	return result;
}

#define DECODE(bytes) decode(bytes, sizeof(bytes) - 1)

static void decodes_operands(void **state)
{
	struct heapsnap_instruction found;

	(void)state;
	found = DECODE("\x48\x89\x7d\xe8"); // mov %rdi, -0x18(%rbp)
	assert_int_equal(found.opcode, 0x89);
	assert_true(found.is_wide && found.is_memory);
	assert_int_equal(found.reg, 7);
	assert_int_equal(found.base, 5);
	assert_int_equal(found.displacement, -0x18);
	found = DECODE("\x4c\x8d\x64\x3e\x08"); // lea 8(%rsi,%rdi), %r12
	assert_int_equal(found.reg, 12);
	assert_int_equal(found.base, 6);
	assert_int_equal(found.index, 7);
	assert_int_equal(found.scale, 0);
	assert_int_equal(found.displacement, 8);
	found = DECODE("\x48\x8d\x04\xfd\x10\x00\x00\x00"); // lea 0x10(,%rdi,8), %rax
	assert_int_equal(found.base, HEAPSNAP_NO_REGISTER);
	assert_int_equal(found.scale, 3);
	assert_int_equal(found.displacement, 0x10);
	found = DECODE("\x4d\x89\xc1"); // mov %r8, %r9
	assert_false(found.is_memory);
	assert_int_equal(found.reg, 8);
	assert_int_equal(found.rm, 9);
	found = DECODE("\xff\x25\x10\x00\x00\x00"); // jmp *0x10(%rip)
	assert_true(found.is_relative);
	assert_int_equal(found.reg & 7, 4);
	found = DECODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"); // mov %fs:0x28, %rax
	assert_true(found.is_based);
}

static void decodes_immediates(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x48\x83\xec\x08").immediate, 8); // sub $8, %rsp
	assert_int_equal(DECODE("\x48\x81\xec\x00\x01\x00\x00").immediate, 0x100);
	assert_int_equal(DECODE("\x66\x81\xf9\xff\xff").immediate, -1); // cmp $-1, %cx
	assert_int_equal(DECODE("\xe8\xfb\xff\xff\xff").immediate, -5); // call
	assert_int_equal(DECODE("\x48\xb8\x01\x00\x00\x00\x00\x00\x00\x80").immediate,
			 INT64_MIN + 1);                                   // movabs
	assert_int_equal(DECODE("\xbf\x18\x00\x00\x00").immediate, 0x18);  // mov $0x18, %edi
	assert_int_equal(DECODE("\xf6\xc3\x01").immediate, 1);             // test $1, %bl
	assert_int_equal(DECODE("\xf7\xdb").immediate, 0);                 // neg %ebx
	assert_int_equal(DECODE("\x0f\x84\x05\x00\x00\x00").immediate, 5); // je
	assert_int_equal(DECODE("\xc4\xe3\xfb\xf0\xc7\x08").immediate, 8); // rorx $8, %rdi, %rax
	DECODE("\xf3\x0f\x1e\xfa");                                        // endbr64
	DECODE("\xc5\xfe\x7f\x04\x24");                                    // vmovdqu %ymm0, (%rsp)
}

// No byte beyond the end is read, whatever there is before it.
static void survives_nonsense(void **state)
{
	uint8_t *page =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct heapsnap_instruction found;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(page + PAGE, PAGE, PROT_NONE), 0);
	srand(1);
	for (int i = 0; i < NONSENSE; i++) {
		uint8_t *at = page + PAGE - 1 - rand() % 20;

		for (uint8_t *byte = at; byte < page + PAGE; byte++)
			*byte = (uint8_t)(rand() >> 8);
		if (heapsnap_decode(at, page + PAGE, &found))
			assert_true(found.next > at && found.next <= page + PAGE &&
				    found.next <= at + 15);
	}
	munmap(page, 2 * PAGE);
}

UNIT_TESTS("machine code", cmocka_unit_test(decodes_operands), cmocka_unit_test(decodes_immediates),
	   cmocka_unit_test(survives_nonsense))
