// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/standard.h"

#include "dumper/base/standard_library.h"

#include <string.h>

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

// By its demangled name; Rust's libraries have the namespaces of their crates.
static bool is_name(const char *name)
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

/*
 * Debug information has no namespaces for the instances of templates whose arguments are lambdas,
 * and libc's inline functions have none; line tables have the names of their headers. Only inlined
 * code can be in these.
 */
static bool is_header(const char *file)
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

	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
		if (strcmp(file, headers[i]) == 0)
			return true;
	}
	return false;
}

bool standard_has(const struct module *module, const struct strings *strings, uint64_t lookup,
		  const struct code_place *outermost)
{
	const struct heap_symbol *symbol =
		module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_FUNCTION,
						   lookup - module->bias)
			    : NULL;

	return heapsnap_is_standard_library(module->path) ||
	       (symbol && heapsnap_is_standard_name(symbol->name)) ||
	       is_name(strings->bytes + outermost->function);
}

size_t standard_skip(const struct module *module, const struct strings *strings, uint64_t lookup,
		     const struct code_place *places, size_t count)
{
	if (heapsnap_is_standard_library(module->path))
		return count;
	for (size_t i = 0; i + 1 < count; i++) {
		if (!is_name(strings->bytes + places[i].function) &&
		    !is_header(strings->bytes + places[i].file))
			return i;
	}
	return count > 0 && standard_has(module, strings, lookup, &places[count - 1]) ? count
										      : count - 1;
}
