// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/standard_library.h"

#include <stddef.h>
#include <string.h>

static bool has_prefix(const char *text, const char *prefix)
{
	// Most texts differ in their first letter: that is faster than strncmp().
	while (*prefix != '\0' && *text == *prefix) {
		text++;
		prefix++;
	}
	return *prefix == '\0';
}

// Rust's older mangling ends with a hash: 17h0123456789abcdefE. Namespaces of C++ do not.
static bool has_rust_hash(const char *name)
{
	enum {
		LENGTH = 20,
	};
	size_t length = strlen(name);

	return length > LENGTH && memcmp(name + length - LENGTH, "17h", 3) == 0 &&
	       name[length - 1] == 'E';
}

/*
 * Itanium C++ ABI, 5.1: _Z, then Z for what is local to a function; N with qualifiers for nested
 * names. St is std::, Sa to Ss are well-known members of it (5.1.8).
 */
bool heapsnap_is_standard_name(const char *name)
{
	static const char *const rust[] = { "5alloc", "4core", "3std", "9hashbrown" };
	bool is_nested;

	// Most symbols are ruled out by one letter or another: a large program has many.
	if (name[0] != '_')
		return false;
	if (name[1] == '_')
		return (name[2] == 'c' && has_prefix(name, "__cxa_")) ||
		       (name[2] == 'r' &&
			(has_prefix(name, "__rust_") || has_prefix(name, "__rdl_")));
	if (name[1] != 'Z')
		return false;
	if (name[2] == 'n' && (name[3] == 'w' || name[3] == 'a'))
		return true; // operator new, operator new[]
	for (name += 2; *name == 'Z';)
		name++;
	is_nested = *name == 'N';
	if (is_nested) {
		name++;
		while (*name == 'K' || *name == 'V' || *name == 'r' || *name == 'R' || *name == 'O')
			name++;
	}
	if (name[0] == 'S')
		return name[1] != '\0' && strchr("tabsiod", name[1]);
	if (!is_nested || name[0] < '1' || name[0] > '9')
		return false;
	if (has_prefix(name, "9__gnu_cxx") || has_prefix(name, "10__cxxabiv1"))
		return true;
	for (size_t i = 0; i < sizeof(rust) / sizeof(*rust); i++) {
		if (has_prefix(name, rust[i]))
			return has_rust_hash(name);
	}
	return false;
}

bool heapsnap_is_standard_library(const char *path)
{
	// Ours comes last: the functions of libc that it wraps call libc's.
	static const char *const names[] = {
		"libc.so",    "libc-2.",    "libc.musl-",     "ld-linux",
		"ld-musl-",   "ld-2.",      "libgcc_s.",      "libstdc++.",
		"libc++.so.", "libc++abi.", "libresolv.",     "libnss_",
		"libpthread", "libanl.",    "libheapsnap.so", "libheapsnap-trace.so",
	};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (has_prefix(name, names[i]))
			return true;
	}
	return false;
}
