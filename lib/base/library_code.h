// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_LIBRARY_CODE_H
#define HEAP_LIBRARY_CODE_H

/** Code of the standard libraries of C, C++ and Rust, by the names in debug information. */

#include <stdbool.h>

/**
 * True for a function of a standard library: "std::vector<int>::push_back".
 *
 * @param name  demangled. Rust's libraries have the namespaces of their crates.
 */
bool heap_is_library_function(const char *name);

/**
 * True for a header of a standard library whose functions may have no namespace in their names.
 * Debug information has none for instances of templates whose arguments are lambdas, and libc's
 * inline functions have none. Ask this of inlined functions only.
 *
 * @param file  its name, with directories or without: "std_function.h"
 */
bool heap_is_library_header(const char *file);

/**
 * True for a module of the standard libraries of C and C++, and for the dynamic linker.
 *
 * @param file  its name without directories: "libc.so.6"
 */
bool heap_is_library_module(const char *file);

#endif
