// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_AMOUNT_H
#define HEAPSNAP_AMOUNT_H

/** Numbers with units as users write them: "30s", "1.5h", "64M". */

#include <stdbool.h>
#include <stdint.h>

struct heapsnap_unit {
	const char *name; /**< "": of a number alone */
	uint64_t factor;
};

/** Each ends with one whose name is NULL. Times are in ns; a number alone is seconds. */
extern const struct heapsnap_unit heapsnap_times[] __attribute__((visibility("hidden")));
extern const struct heapsnap_unit heapsnap_sizes[] __attribute__((visibility("hidden")));

/** @return false, and *result as it was, unless that is all of the text */
bool heapsnap_parse_amount(const char *text, const struct heapsnap_unit *units, uint64_t *result);

#endif
