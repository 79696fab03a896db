// SPDX-License-Identifier: GPL-3.0-or-later
// Asks for blocks at alignments that make no sense: prints what libc and the C++ runtime answer.
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>

static const std::size_t alignments[] = { 0,
					  3,
					  24,
					  std::size_t(1) << 62,
					  std::size_t(1) << 63,
					  (std::size_t(1) << 63) + 1,
					  ~std::size_t(0) };

static void say(const char *name, std::size_t alignment, void *block)
{
	std::printf("%s(%zu): %s %d\n", name, alignment, block ? "a block" : "none",
		    block ? 0 : errno);
}

template <class F> static void try_new(const char *name, std::size_t alignment, F make)
{
	try {
		std::printf("%s(%zu): %s\n", name, alignment, make() ? "a block" : "none");
	} catch (const std::bad_alloc &) {
		std::printf("%s(%zu): thrown\n", name, alignment);
	}
}

int main()
{
	for (std::size_t alignment : alignments) {
		std::align_val_t value{ alignment };

		errno = 0;
		say("memalign", alignment, memalign(alignment, 100));
		errno = 0;
		say("aligned_alloc", alignment, aligned_alloc(alignment, 100));
		try_new("new", alignment, [&] { return ::operator new(100, value); });
		try_new("new[]", alignment, [&] { return ::operator new[](100, value); });
		try_new("new nothrow", alignment,
			[&] { return ::operator new(100, value, std::nothrow); });
	}
	return 0;
}
