// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/base/library_code.h"

#include "lib/base/path.h"

#include <stddef.h>
#include <string.h>

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool heap_is_library_function(const char *name)
{
	static const char *const prefixes[] = {
		"std::",   "__gnu_cxx::", "__cxxabiv1::", "__cxa_",   "operator new",
		"alloc::", "core::",      "hashbrown::",  "<alloc::", "<core::",
		"<std::",  "__rust_",     "__rdl_",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (has_prefix(name, prefixes[i]))
			return true;
	}
	return false;
}

bool heap_is_library_header(const char *file)
{
	static const char *const headers[] = {
		// libc: getchar(), and with _FORTIFY_SOURCE asprintf(), getcwd(), realpath(), ...
		"stdio.h",
		"stdio2.h",
		"stdlib.h",
		"unistd.h",
		"string_fortified.h",
		"wchar2.h",
		// libstdc++
		"alloc_traits.h",
		"allocated_ptr.h",
		"allocator.h",
		"deque.tcc",
		"hashtable.h",
		"hashtable_policy.h",
		"new_allocator.h",
		"shared_ptr.h",
		"shared_ptr_base.h",
		"std_function.h",
		"std_thread.h",
		"stl_construct.h",
		"stl_deque.h",
		"stl_list.h",
		"stl_map.h",
		"stl_tree.h",
		"stl_uninitialized.h",
		"stl_vector.h",
		"unique_ptr.h",
		"unordered_map.h",
		"vector.tcc",
	};
	const char *name = heap_base_name(file);

	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		if (strcmp(name, headers[i]) == 0)
			return true;
	}
	return false;
}

bool heap_is_library_module(const char *file)
{
	static const char *const names[] = { "libc.so",   "libc-2",  "ld-linux",
					     "ld-musl",   "libm.so", "libpthread",
					     "libstdc++", "libc++",  "libgcc_s" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (has_prefix(file, names[i]))
			return true;
	}
	return false;
}
