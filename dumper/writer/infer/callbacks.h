// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALLBACKS_H
#define CALLBACKS_H

/**
 * Pointers to functions in structs. A callback and the void * that it is called with lie side by side, so the
 * callback tells what the void * leads to:
 *
 *	struct job { void (*run)(void *); void *argument; }	resize ──▶ struct image
 *								search ──▶ struct query
 */

#include "dumper/writer/infer/layout.h"

#define NO_CALLBACK UINT64_MAX

/**
 * The offset of the first pointer to a function in a type, outside its unions and arrays; or else of the first
 * pointer to a struct with such pointers, as a table of operations; or NO_CALLBACK.
 */
uint64_t callbacks_find(const struct layouts *layouts, heap_type_id type);

#endif
