// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DEMANGLE_H
#define HEAP_DEMANGLE_H

/** Demangles C++ and Rust names with libiberty. */

/**
 * The readable form of a linker symbol ("_ZN5cache6insertEi" → "cache::insert"), without
 * parameters; a copy of the name if it is not mangled. malloc'd, NULL if memory is short.
 */
char *heap_demangle(const char *symbol);

/**
 * The class whose vtable that symbol is ("_ZTV5Shape" → "Shape"); malloc'd, NULL if the
 * symbol is no vtable.
 */
char *heap_demangle_vtable(const char *symbol);

#endif
