// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIBRARY_VALUE_H
#define LIBRARY_VALUE_H

/**
 * Structures of the C and C++ libraries that are one value for a person: locks, condition variables,
 * durations, paths, complex numbers.
 *
 *	lock = locked by thread 4242
 *	wake = condition variable, 2 threads wait
 *	delay = 250 ms
 *	directory = "/usr/lib"
 *
 * The locks are those of glibc (struct __pthread_mutex_s, __pthread_rwlock_arch_t, __pthread_cond_s in
 * its bits/ headers), alone or inside a class of libstdc++ or libc++.
 */

#include "shell/print/place.h"

/** A value of @p type at @p offset in some words; "" if it is none of these, or was not kept. */
const char *library_value_describe(struct session *session, const struct value *value,
				   heap_type_id type, uint64_t offset);

/** The same without the quotes of a text; NULL if it is none of these, or was not kept. */
const char *library_value_text(struct session *session, const struct place *place, size_t *length);

#endif
