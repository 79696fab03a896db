// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SANITIZERS_H
#define HEAPSNAP_SANITIZERS_H

/** The sanitizers that bring a malloc along, and how to recognize them in files. */

enum {
	SANITIZER_COUNT = 5
};

struct sanitizer {
	const char *library, *other_library; /**< how their names begin, by gcc and by clang */
	const char *symbol;                  /**< that the library, or the program, defines */
	const char *name;
};

extern const struct sanitizer sanitizers[SANITIZER_COUNT];

#endif
