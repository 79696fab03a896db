// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/sanitizers.h"

const struct sanitizer sanitizers[SANITIZER_COUNT] = {
	{ "libasan.so", "libclang_rt.asan", "__asan_init", "AddressSanitizer" },
	{ "libhwasan.so", "libclang_rt.hwasan", "__hwasan_init", "HWAddressSanitizer" },
	{ "libtsan.so", "libclang_rt.tsan", "__tsan_init", "ThreadSanitizer" },
	{ "liblsan.so", "libclang_rt.lsan", "__lsan_init", "LeakSanitizer" },
	{ "libmsan.so", "libclang_rt.msan", "__msan_init", "MemorySanitizer" },
};
