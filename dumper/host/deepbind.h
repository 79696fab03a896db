// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_DEEPBIND_H
#define HEAPSNAP_DEEPBIND_H

/**
 * dlopen() without RTLD_DEEPBIND.
 *
 * A module that is loaded with that flag finds libc's free() before ours, and hands it blocks that
 * begin 16 bytes before where it looks: libc ends the program. PHP loads its extensions so. The
 * flag is taken off, as other tools that stand for malloc do. Traces alone would miss what such a
 * module frees.
 */

/** Finds libc's dlopen(). When the library is loaded. */
void heapsnap_deepbind_init(void);

#endif
