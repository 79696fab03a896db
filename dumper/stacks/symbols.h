// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SYMBOLS_H
#define HEAPSNAP_SYMBOLS_H

/**
 * The addresses of functions, by their names in the symbol tables of the modules' files. Unlike
 * dlsym(), this finds functions that a program does not export.
 */

#include <stdbool.h>
#include <stdint.h>

typedef void heapsnap_symbol_found(void *context, uint64_t address);

/** True if the function of a name, or the module of a path, is wanted; the program's is "". */
typedef bool heapsnap_symbol_test(const char *name);

/**
 * Looks in all modules that are loaded now. Reads their files; not async-signal-safe.
 *
 * @param names  separated by commas, spaces around them
 * @param found  is called for each function that has one of the names
 */
void heapsnap_symbols_find(const char *names, heapsnap_symbol_found *found, void *context);

/** The same for the functions whose names pass a test, in the modules whose paths pass one. */
void heapsnap_symbols_visit(heapsnap_symbol_test *module, heapsnap_symbol_test *function,
			    heapsnap_symbol_found *found, void *context);

#endif
