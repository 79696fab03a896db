// SPDX-License-Identifier: GPL-3.0-or-later
// Names of functions and modules of the standard libraries (dumper/base/standard_library.h).
#include "t/unit/unit.h"

#include "dumper/base/standard_library.h"

static void test_names(void **state)
{
	static const char *const standard[] = {
		"_ZNSt15__new_allocatorIlE8allocateEmPKv",
		"_ZNKSt6vectorIiSaIiEE12_M_check_lenEmPKc",
		"_ZSt11make_uniqueI4nodeJEENSt9_MakeUniqIT_E15__single_objectEDpOT0_",
		"_ZNSs4_Rep9_S_createEmmRKSaIcE",
		"_ZN9__gnu_cxx13new_allocatorIcE8allocateEmPKv",
		"_ZNSt3__19allocatorIlE8allocateEm",
		"_ZZNSt8functionIFvvEEC1EvENKUlvE_clEv",
		"_Znwm",
		"_ZnamRKSt9nothrow_t",
		"__cxa_allocate_exception",
		"_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$7reserve17h0123456789abcdefE",
	};
	static const char *const others[] = {
		"main",
		"_Z4makev",
		"_ZN5order5linesEv",
		"_ZN5alloc5chunkEv", // a namespace of the program's
		"_ZZ4mainENKUlvE_clEv",
		"_ZN3FoonwEm", // Foo::operator new
		"_Z5applyISt6vectorIiSaIiEEEvT_",
		"",
		"_",
		"_Z",
		"_ZN",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(standard) / sizeof(*standard); i++) {
		if (!heapsnap_is_standard_name(standard[i]))
			fail_msg("%s", standard[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (heapsnap_is_standard_name(others[i]))
			fail_msg("%s", others[i]);
	}
}

static void test_libraries(void **state)
{
	(void)state;
	assert_true(heapsnap_is_standard_library("/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(heapsnap_is_standard_library("/lib/ld-musl-x86_64.so.1"));
	assert_true(heapsnap_is_standard_library("libstdc++.so.6.0.30"));
	assert_true(heapsnap_is_standard_library("/usr/lib/libheapsnap.so.0"));
	assert_true(heapsnap_is_standard_library("/usr/lib/heapsnap/libheapsnap-trace.so"));
	assert_false(heapsnap_is_standard_library(""));
	assert_false(heapsnap_is_standard_library("/usr/lib/libcurl.so.4"));
	assert_false(heapsnap_is_standard_library("/opt/libc.so.d/program"));
}

UNIT_TESTS("standard_library", cmocka_unit_test(test_names), cmocka_unit_test(test_libraries))
