// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_STANDARD_H
#define HEAPSNAP_STANDARD_H

/**
 * The code of the standard libraries of C, C++ and Rust. Its allocations are made on behalf of its
 * callers: strdup(), std::vector<T>::push_back().
 *
 *	libc.so.6, libstdc++.so.6, …   all of their code
 *	other modules                  instances of the standard library's templates, which the
 *	                               symbol tables of the modules' files name
 *
 * In modules that dlopen() adds later, only those libraries are recognized.
 */

#include <stdbool.h>
#include <stdint.h>

/** Reads the symbol tables of the modules that are loaded. To be called at load time. */
void heapsnap_standard_init(void);

/**
 * True if a function belongs to a standard library. async-signal-safe.
 *
 * @param start    where the function begins; 0: not known
 * @param address  in the function
 */
bool heapsnap_standard_has(uint64_t start, uint64_t address);

#endif
