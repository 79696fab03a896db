// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_STANDARD_LIBRARY_H
#define HEAPSNAP_STANDARD_LIBRARY_H

/**
 * The standard libraries of C, C++ and Rust, by the names of their modules and functions.
 */

#include <stdbool.h>

/**
 * True if the module of a path holds a standard library and nothing else: glibc's, musl's, GCC's
 * or LLVM's; or this project's, which stands before libc. async-signal-safe.
 */
bool heapsnap_is_standard_library(const char *path);

/** True if a symbol is one of a standard library's functions, wherever it is linked. */
bool heapsnap_is_standard_name(const char *symbol);

#endif
