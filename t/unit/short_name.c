// SPDX-License-Identifier: GPL-3.0-or-later
// Names of C++ in their short form, and by their namespaces.
#include "t/unit/unit.h"

#include "lib/types/short_name.h"

#include <stdio.h>
#include <string.h>

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define PAIR "std::pair<" STRING " const, int>"

static void is(const char *name, const char *expected)
{
	char text[8192];

	assert_int_equal(heap_short_name(name, text, sizeof(text)), strlen(expected));
	assert_string_equal(text, expected);
	heap_short_name(expected, text, sizeof(text));
	assert_string_equal(text, expected);
}

static void short_names(void **state)
{
	(void)state;
	is("", "");
	is("session", "session");
	is("shop::Cache::get", "shop::Cache::get");
	is(STRING, "std::string");
	is("std::basic_string_view<wchar_t, std::char_traits<wchar_t> >", "std::wstring_view");
	is("std::vector<int, std::allocator<int> >", "std::vector<int>");
	is("std::vector<int,std::allocator<int>>::iterator", "std::vector<int>::iterator");
	is("std::__1::vector<int *, std::__1::allocator<int *>>", "std::vector<int *>");
	is("std::map<" STRING ", int, std::less<" STRING " >, std::allocator<" PAIR " > >",
	   "std::map<std::string, int>");
	is("std::unordered_map<int, " STRING ", std::hash<int>, std::equal_to<int>, "
	   "std::allocator<std::pair<int const, " STRING " > > >",
	   "std::unordered_map<int, std::string>");
	is("std::unique_ptr<shop::Image, std::default_delete<shop::Image> >",
	   "std::unique_ptr<shop::Image>");
	is("std::_Sp_counted_ptr_inplace<shop::Node, std::allocator<void>, "
	   "(__gnu_cxx::_Lock_policy)2>",
	   "std::_Sp_counted_ptr_inplace<shop::Node>");
	is("std::queue<int, std::deque<int, std::allocator<int> > >", "std::queue<int>");
}

static void kept_names(void **state)
{
	(void)state;
	is("std::map<int, int, std::less<void>, std::allocator<std::pair<int const, int> > >",
	   "std::map<int, int, std::less<void>>");
	is("std::unique_ptr<FILE, int (*)(FILE*)>", "std::unique_ptr<FILE, int (*)(FILE*)>");
	is("std::pair<int, std::allocator<int> >", "std::pair<int, std::allocator<int>>");
	is("std::allocator<int>", "std::allocator<int>");
	is("my::vector<int, std::allocator<int> >", "my::vector<int, std::allocator<int>>");
	is("std::vector<int, arena<int> >", "std::vector<int, arena<int>>");
	is("std::function<void (int)>", "std::function<void (int)>");
	is("bit<(1 > 0)>", "bit<(1 > 0)>");
	is("is<'<', '>'>", "is<'<', '>'>");
	is("shop::operator<< <int>", "shop::operator<< <int>");
	is("it::operator->", "it::operator->");
	is("std::operator<=>", "std::operator<=>");
	is("main::{lambda()#1}", "main::{lambda()#1}");
	is("std::a<b", "std::a<b");
	is("std::a>b<", "std::a>b<");
}

static void hostile_names(void **state)
{
	char deep[600] = "std::";
	static char longest[20000];
	char cut[6];

	(void)state;
	for (size_t i = 0; i < 100; i++)
		strcat(deep, "a<");
	is(deep, deep);
	memset(longest, '<', sizeof(longest) - 1);
	assert_int_equal(heap_short_name(longest, cut, sizeof(cut)), sizeof(longest) - 1);
	memset(longest, 'a', sizeof(longest) - 1);
	memcpy(longest, "std::", 5);
	assert_int_equal(heap_short_name(longest, cut, sizeof(cut)), sizeof(longest) - 1);
	assert_int_equal(heap_short_name(STRING, cut, sizeof(cut)), strlen("std::string"));
	assert_string_equal(cut, "std::");
	assert_int_equal(heap_short_name(STRING, NULL, 0), strlen("std::string"));
}

static void namespaces(void **state)
{
	(void)state;
	assert_string_equal(heap_name_inside("shop::Cache::get"), "Cache::get");
	assert_string_equal(heap_name_inside("Cache<a::b>::get(c::d)"), "get(c::d)");
	assert_null(heap_name_inside("get(c::d)"));
	assert_null(heap_name_inside("main"));
	assert_null(heap_name_inside("a::"));
	assert_string_equal(heap_name_inside("(anonymous namespace)::x"), "x");
}

UNIT_TESTS("short_name", cmocka_unit_test(short_names), cmocka_unit_test(kept_names),
	   cmocka_unit_test(hostile_names), cmocka_unit_test(namespaces))
