// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SHORT_NAME_H
#define HEAP_SHORT_NAME_H

/**
 * The names of C++ as programmers write them.
 *
 *	std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >
 *	    std::string
 *	std::map<int, double, std::less<int>, std::allocator<std::pair<int const, double> > >
 *	    std::map<int, double>
 *	std::__1::vector<int*, std::__1::allocator<int*> >::iterator
 *	    std::vector<int*>::iterator
 *
 * Inline namespaces that only tell the library's version are left out, and so are template arguments
 * that are the default of a class of the standard library. What is left has the same spaces
 * whatever compiler made it.
 */

#include <stddef.h>

/**
 * Writes the short form of a name, as snprintf() does. A name whose brackets do not match, or that
 * nests too deeply, is written unchanged. The short form of a short form is the same.
 *
 * @return the length of the whole short form
 */
size_t heap_short_name(const char *name, char *buffer, size_t size);

/**
 * A name without its outermost namespace or class: "Cache::get" of "shop::Cache::get". Colons of template
 * arguments and parameters do not count.
 *
 * @return a part of @p name; NULL: it is not qualified
 */
const char *heap_name_inside(const char *name);

#endif
