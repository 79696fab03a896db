// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BYTE_STORAGE_H
#define BYTE_STORAGE_H

/**
 * Members of class templates that are raw bytes, in which a value of an argument is constructed.
 *
 *	template <class T> struct node : link { aligned_storage<sizeof(T)> space; }     one T
 *	template <class T, unsigned N> struct inline_vector { char data[N * sizeof(T)]; }     N of T
 *	template <class T> struct stable_node { … char data[sizeof(T)] … }   for stable_node<T *>
 *
 * The size tells which argument: the only one of which that many fit. If the class may hold a value of another argument
 * instead, as a variant does, nothing is known. Here such members get the values' type, so that neither inference nor heapsh
 * need to know the library.
 */

#include "lib/base/error.h"
#include "lib/types/types.h"

/** Completes a table before inference. Types are changed and added, never removed. */
HEAP_MUST_CHECK
struct heap_error *byte_storage_complete(struct heap_types *types);

#endif
