// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -std=c++17 -fsized-deallocation
/*
 * All forms of operator new and delete. t/capture/allocator.t runs it with the library and
 * without, and compares.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>

static const std::size_t TOO_MUCH = std::size_t(1) << 60;
static const std::align_val_t FAR{ 256 };
static int calls;

static void show(const char *what, const void *block, std::uintptr_t alignment = 16)
{
	std::printf("%s: %s\n", what,
		    !block                                                ? "NULL"
		    : reinterpret_cast<std::uintptr_t>(block) % alignment ? "unfit"
									  : "fit");
}

static void give_up()
{
	if (++calls == 3)
		throw 7;
}

template <typename Allocate> static void expect_throw(const char *what, Allocate allocate)
{
	calls = 0;
	try {
		show(what, allocate());
	} catch (const std::bad_alloc &error) {
		std::printf("%s: %s\n", what, error.what());
	} catch (int number) {
		std::printf("%s: the handler threw %d at its call %d\n", what, number, calls);
	}
}

static void check_failures()
{
	expect_throw("new", [] { return operator new(TOO_MUCH); });
	expect_throw("new[]", [] { return operator new[](TOO_MUCH); });
	expect_throw("aligned new", [] { return operator new(TOO_MUCH, FAR); });
	expect_throw("aligned new[]", [] { return operator new[](TOO_MUCH, FAR); });
	expect_throw("nothrow new", [] { return operator new(TOO_MUCH, std::nothrow); });
	expect_throw("nothrow new[]", [] { return operator new[](TOO_MUCH, std::nothrow); });
	expect_throw("aligned nothrow new",
		     [] { return operator new(TOO_MUCH, FAR, std::nothrow); });
	expect_throw("aligned nothrow new[]",
		     [] { return operator new[](TOO_MUCH, FAR, std::nothrow); });
}

int main()
{
	void *block;

	show("new", block = operator new(100));
	operator delete(block);
	show("new", block = operator new(100));
	operator delete(block, std::size_t(100));
	show("new", block = operator new(0));
	operator delete(block, std::nothrow);
	show("new[]", block = operator new[](100));
	operator delete[](block);
	show("new[]", block = operator new[](100));
	operator delete[](block, std::size_t(100));
	show("nothrow new", block = operator new(100, std::nothrow));
	operator delete(block, std::nothrow);
	show("nothrow new[]", block = operator new[](100, std::nothrow));
	operator delete[](block, std::nothrow);
	show("aligned new", block = operator new(100, FAR), 256);
	operator delete(block, FAR);
	show("aligned new", block = operator new(100, FAR), 256);
	operator delete(block, std::size_t(100), FAR);
	show("aligned new[]", block = operator new[](100, FAR), 256);
	operator delete[](block, FAR);
	show("aligned new[]", block = operator new[](100, FAR), 256);
	operator delete[](block, std::size_t(100), FAR);
	show("aligned nothrow new", block = operator new(100, FAR, std::nothrow), 256);
	operator delete(block, FAR, std::nothrow);
	show("aligned nothrow new[]", block = operator new[](100, FAR, std::nothrow), 256);
	operator delete[](block, FAR, std::nothrow);
	operator delete(nullptr);
	check_failures();
	std::set_new_handler(give_up);
	check_failures();

	std::map<int, std::string> numbers;

	for (int i = 0; i < 10000; i++)
		numbers[i % 1000] += std::to_string(i);
	std::printf("%zu %s\n", numbers.size(), numbers[999].c_str());
	return 0;
}
