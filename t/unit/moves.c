// SPDX-License-Identifier: GPL-3.0-or-later
// Instructions that move pointers, as compilers write them.
#include "t/unit/unit.h"

#include "dumper/writer/casts/moves.h"

#include <stdlib.h>
#include <string.h>

enum {
	ADDRESS = 0x401000,
};

static struct code_move decode(const char *bytes, size_t length)
{
	struct code_move result = move_decode((const uint8_t *)bytes, length, ADDRESS);

	assert_int_equal(result.length, length);
	return result;
}

#define DECODE(bytes) decode(bytes, sizeof(bytes) - 1)

static void expect_move(struct code_move found, enum move_kind kind, unsigned value, unsigned base,
			int offset)
{
	assert_int_equal(found.kind, kind);
	assert_int_equal(found.value, value);
	assert_int_equal(found.base, base);
	assert_int_equal(found.offset, offset);
}

#if defined(__x86_64__)

static void decodes_moves(void **state)
{
	(void)state;
	expect_move(DECODE("\x48\x8b\x7b\x10"), MOVE_LOAD, 5, 3, 16);     // mov 0x10(%rbx), %rdi
	expect_move(DECODE("\x4c\x8b\x20"), MOVE_LOAD, 12, 0, 0);         // mov (%rax), %r12
	expect_move(DECODE("\x49\x8b\x44\x24\x08"), MOVE_LOAD, 0, 12, 8); // mov 8(%r12), %rax
	expect_move(DECODE("\x48\x8b\x86\x00\x01\x00\x00"), MOVE_LOAD, 0, 4, 256);
	expect_move(DECODE("\x48\x89\x45\xe8"), MOVE_STORE, 0, 6, -24); // mov %rax, -0x18(%rbp)
	expect_move(DECODE("\x49\x89\x56\x08"), MOVE_STORE, 1, 14, 8);  // mov %rdx, 8(%r14)
	expect_move(DECODE("\x48\x89\xc3"), MOVE_COPY, 3, 0, 0);        // mov %rax, %rbx
	expect_move(DECODE("\x48\x8b\xd8"), MOVE_COPY, 3, 0, 0);        // the same
	expect_move(DECODE("\x66\x48\x0f\x6e\xc5"), MOVE_COPY, MOVE_VECTORS, 6,
		    0); // movq %rbp, %xmm0
	expect_move(DECODE("\x66\x0f\x6c\xc2"), MOVE_COPY, MOVE_HIGHER, MOVE_VECTORS + 2,
		    0); // punpcklqdq %xmm2, %xmm0
	expect_move(DECODE("\x0f\x11\x40\x08"), MOVE_STORE, MOVE_VECTORS, 0,
		    8); // movups %xmm0, 8(%rax)
	assert_int_equal(DECODE("\x0f\x11\x40\x08").second, MOVE_HIGHER);
	// Not of 64 bits, with an index of other steps, of an address, of the thread's storage.
	assert_int_equal(DECODE("\x8b\x7b\x10").kind, MOVE_OTHER);
	assert_int_equal(DECODE("\x48\x8b\x04\x87").kind, MOVE_OTHER);
	assert_int_equal(DECODE("\x64\x48\x8b\x00").kind, MOVE_OTHER);
}

static void decodes_elements(void **state)
{
	(void)state;
	expect_move(DECODE("\x48\x8b\x04\xc7"), MOVE_LOAD, 0, 5, 0); // mov (%rdi,%rax,8), %rax
	assert_true(DECODE("\x48\x8b\x04\xc7").is_indexed);
	expect_move(DECODE("\x4d\x89\x7c\xc8\x10"), MOVE_STORE, 15, 8,
		    16); // mov %r15, 0x10(%r8,%rcx,8)
	assert_false(DECODE("\x48\x8b\x7b\x10").is_indexed);
}

static void decodes_addresses(void **state)
{
	struct code_move found = DECODE("\x48\x8b\x7c\x06\x10"); // mov 0x10(%rsi,%rax,1), %rdi

	(void)state;
	expect_move(found, MOVE_LOAD, 5, 4, 16);
	assert_true(found.is_indexed);
	assert_int_equal(found.index, 0);
	assert_int_equal(DECODE("\x48\x8b\x04\xc7").index, MOVE_NO_REGISTER);
	expect_move(DECODE("\x48\x8d\x54\x24\x08"), MOVE_ADDRESS, 1, 7, 8); // lea 8(%rsp), %rdx
	expect_move(DECODE("\x48\x8d\x3c\xc3"), MOVE_ADDRESS, 5, 3, 0); // lea (%rbx,%rax,8), %rdi
	assert_true(DECODE("\x48\x8d\x3c\xc3").is_indexed);
	expect_move(DECODE("\x48\x83\xc0\x10"), MOVE_ADDRESS, 0, 0, 16); // add $0x10, %rax
	expect_move(DECODE("\x48\x01\xd0"), MOVE_ADD, 0, 1, 0);          // add %rdx, %rax
	expect_move(DECODE("\x48\x03\xc2"), MOVE_ADD, 0, 1, 0);          // the same
	found = DECODE("\x48\x03\x48\x08");                              // add 8(%rax), %rcx
	expect_move(found, MOVE_LOAD, 2, 0, 8);
	assert_true(found.is_sum);
	found = DECODE("\x48\x8b\x05\x10\x00\x00\x00"); // mov 0x10(%rip), %rax
	assert_int_equal(found.kind, MOVE_LOAD_VARIABLE);
	assert_int_equal(found.target, ADDRESS + 0x17);
	found = DECODE("\x48\x8d\x3d\xf0\xff\xff\xff"); // lea -0x10(%rip), %rdi
	assert_int_equal(found.kind, MOVE_VARIABLE);
	assert_int_equal(found.value, 5);
	assert_int_equal(found.target, ADDRESS - 9);
	found = DECODE("\x48\x89\x05\x10\x00\x00\x00"); // mov %rax, 0x10(%rip)
	assert_int_equal(found.kind, MOVE_STORE_VARIABLE);
	assert_int_equal(found.value, 0);
	assert_int_equal(found.target, ADDRESS + 0x17);
	found = DECODE("\x48\x8b\x04\xfd\x60\x40\x40\x00"); // mov 0x404060(,%rdi,8), %rax
	assert_int_equal(found.kind, MOVE_LOAD_VARIABLE);
	assert_int_equal(found.target, 0x404060);
	assert_int_equal(DECODE("\x64\x48\x8b\x04\x25\x28\x00\x00\x00").kind,
			 MOVE_OTHER);           // mov %fs:0x28, %rax
	found = DECODE("\xbf\x60\x40\x40\x00"); // mov $0x404060, %edi
	assert_int_equal(found.kind, MOVE_VARIABLE);
	assert_true(found.is_absolute);
	assert_int_equal(found.value, 5);
	assert_int_equal(found.target, 0x404060);
	assert_int_equal(DECODE("\x31\xff").kind, MOVE_OTHER);             // xor %edi, %edi
	assert_int_equal(DECODE("\xbf\x00\x00\x00\x00").kind, MOVE_OTHER); // mov $0, %edi
	// Into memory, and what is no sum.
	assert_int_equal(DECODE("\x48\x01\x48\x08").kind, MOVE_OTHER);
	assert_int_equal(DECODE("\x48\x29\xd0").kind, MOVE_OTHER);
	assert_int_equal(DECODE("\x48\x83\xe8\x10").kind, MOVE_OTHER);
}

static void knows_what_changes(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x48\x85\xc0").changed, 0);      // test %rax, %rax
	assert_int_equal(DECODE("\x48\x83\xf8\x01").changed, 0);  // cmp $1, %rax
	assert_int_equal(DECODE("\x48\x39\xd8").changed, 0);      // cmp %rbx, %rax
	assert_true(DECODE("\x48\x8d\x7b\x08").changed >> 5 & 1); // lea 8(%rbx), %rdi
	assert_true(DECODE("\x48\x83\xc0\x08").changed & 1);      // add $8, %rax
	assert_true(DECODE("\x8b\x7b\x10").changed >> 5 & 1);     // mov 0x10(%rbx), %edi
	assert_true(DECODE("\x0f\xb6\x47\x01").changed & 1);      // movzbl 1(%rdi), %eax
	assert_int_equal(DECODE("\x0f\x16\x03").changed,
			 UINT64_C(1) << MOVE_HIGHER);            // movhps (%rbx), %xmm0
	assert_int_equal(DECODE("\x90").changed, 0);             // nop
	assert_int_equal(DECODE("\x0f\x1f\x40\x00").changed, 0); // nopl 0(%rax)
	assert_int_equal(DECODE("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00").changed,
			 0);                                     // a longer one
	assert_int_equal(DECODE("\xf3\x0f\x1e\xfa").changed, 0); // endbr64
	// Vector registers alone, as the code between an address and its use may change.
	assert_int_equal(DECODE("\x66\x0f\xef\xc0").changed & 0xffff, 0); // pxor %xmm0, %xmm0
	assert_int_equal(DECODE("\xf2\x48\x0f\x2a\xc0").changed & 0xffff,
			 0);                                     // cvtsi2sd %rax, %xmm0
	assert_true(DECODE("\x66\x0f\x7e\xc0").changed & 1);     // movd %xmm0, %eax
	assert_true(DECODE("\x66\x0f\xd7\xc0").changed & 1);     // pmovmskb %xmm0, %eax
	assert_true(DECODE("\xf2\x48\x0f\x2c\xc0").changed & 1); // cvttsd2si %xmm0, %rax
	assert_true(DECODE("\x48\x0f\x44\xc1").changed & 1);     // cmove %rcx, %rax
}

static void decodes_calls(void **state)
{
	struct code_move found = DECODE("\xe8\xfb\x0f\x00\x00");

	(void)state;
	assert_int_equal(found.kind, MOVE_CALL);
	assert_int_equal(found.target, ADDRESS + 0x1000);
	found = DECODE("\xe9\xfb\xff\xff\xff");
	assert_int_equal(found.kind, MOVE_JUMP);
	assert_int_equal(found.target, ADDRESS);
	found = DECODE("\xff\xd0"); // call *%rax
	assert_int_equal(found.kind, MOVE_CALL);
	assert_int_equal(found.target, 0);
	assert_int_equal(DECODE("\xc3").kind, MOVE_RETURN);
}

#else

static void decodes_moves(void **state)
{
	(void)state;
	expect_move(DECODE("\x60\x0a\x40\xf9"), MOVE_LOAD, 0, 19, 16); // ldr x0, [x19, #16]
	expect_move(DECODE("\x33\x04\x00\xf9"), MOVE_STORE, 19, 1, 8); // str x19, [x1, #8]
	expect_move(DECODE("\xe0\x03\x13\xaa"), MOVE_COPY, 0, 19, 0);  // mov x0, x19
	expect_move(DECODE("\x01\x08\x01\xa9"), MOVE_STORE, 1, 0, 16); // stp x1, x2, [x0, #16]
	assert_int_equal(DECODE("\x01\x08\x01\xa9").second, 2);
	expect_move(DECODE("\x01\x88\x7f\xa9"), MOVE_LOAD, 1, 0, -8);  // ldp x1, x2, [x0, #-8]
	assert_int_equal(DECODE("\x60\x0a\x40\xb9").kind, MOVE_OTHER); // ldr w0, [x19, #8]
}

static void decodes_elements(void **state)
{
	(void)state;
	expect_move(DECODE("\x60\x7a\x61\xf8"), MOVE_LOAD, 0, 19, 0); // ldr x0, [x19, x1, lsl #3]
	assert_true(DECODE("\x60\x7a\x61\xf8").is_indexed);
	expect_move(DECODE("\x60\xda\x21\xf8"), MOVE_STORE, 0, 19, 0); // str x0, [x19, w1, sxtw #3]
	assert_int_equal(DECODE("\x60\x6a\x61\xf8").kind, MOVE_OTHER); // ldr x0, [x19, x1]
}

static void decodes_addresses(void **state)
{
	struct code_move found = DECODE("\x60\x02\x01\x8b"); // add x0, x19, x1

	(void)state;
	expect_move(found, MOVE_ADDRESS, 0, 19, 0);
	assert_int_equal(found.index, 1);
	found = DECODE("\x60\x12\x01\x8b"); // add x0, x19, x1, lsl #4
	expect_move(found, MOVE_ADDRESS, 0, 19, 0);
	assert_true(found.is_indexed);
	assert_int_equal(found.index, MOVE_NO_REGISTER);
	expect_move(DECODE("\xe1\x23\x00\x91"), MOVE_ADDRESS, 1, 31, 8); // add x1, sp, #8
	assert_int_equal(DECODE("\x60\x02\x01\xcb").kind, MOVE_OTHER);   // sub x0, x19, x1
	found = DECODE("\x00\x00\x00\xb0"); // adrp x0, to the next page
	assert_int_equal(found.kind, MOVE_VARIABLE);
	assert_int_equal(found.value, 0);
	assert_int_equal(found.target, (ADDRESS & ~0xfffULL) + 0x1000);
	found = DECODE("\xe1\xff\xff\xf0"); // adrp x1, to the one before
	assert_int_equal(found.value, 1);
	assert_int_equal(found.target, (ADDRESS & ~0xfffULL) - 0x1000);
}

static void knows_what_changes(void **state)
{
	(void)state;
	assert_int_equal(DECODE("\x60\x22\x00\x91").changed, 1); // add x0, x19, #8
	assert_int_equal(DECODE("\x7f\x02\x00\xf1").changed, 0); // cmp x19, #0
}

static void decodes_calls(void **state)
{
	struct code_move found = DECODE("\x00\x04\x00\x94"); // bl

	(void)state;
	assert_int_equal(found.kind, MOVE_CALL);
	assert_int_equal(found.target, ADDRESS + 0x1000);
	found = DECODE("\x00\x00\x00\x14");
	assert_int_equal(found.kind, MOVE_JUMP);
	assert_int_equal(found.target, ADDRESS);
	assert_int_equal(DECODE("\xc0\x03\x5f\xd6").kind, MOVE_RETURN);
}

#endif

// Whatever the bytes are, some of them are passed over, and no others are read.
static void survives_nonsense(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint8_t *bytes = malloc(16);
		size_t size = 1 + (size_t)i % 16;
		struct code_move found;

		for (size_t j = 0; j < 16; j++)
			bytes[j] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
		bytes = realloc(bytes, size);
		assert_non_null(bytes);
		found = move_decode(bytes, size, ADDRESS);
		assert_true(found.length > 0 && found.kind <= MOVE_RETURN);
		free(bytes);
	}
}

UNIT_TESTS("moves", cmocka_unit_test(decodes_moves), cmocka_unit_test(decodes_elements),
	   cmocka_unit_test(decodes_addresses), cmocka_unit_test(knows_what_changes),
	   cmocka_unit_test(decodes_calls), cmocka_unit_test(survives_nonsense))
