// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_DEEPBIND_H
#define HEAPSNAP_DEEPBIND_H

/**
 * dlopen() without RTLD_DEEPBIND.
 *
 * A module that is loaded with that flag finds libc's free() before ours. It would pass libc blocks
 * that begin 16 bytes before the given address, and libc would abort the program. PHP loads its
 * extensions this way. The flag is removed, as other tools that replace malloc do. In trace-only
 * mode the frees of such a module would be missed.
 */

/** Finds libc's dlopen(). To be called when the library is loaded. */
void heapsnap_deepbind_init(void);

#endif
