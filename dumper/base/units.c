// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/units.h"

#include <stddef.h>
#include <string.h>

#define SECOND UINT64_C(1000000000) /* ns */

const struct heapsnap_unit heapsnap_times[] = {
	{ "", SECOND },         { "ms", SECOND / 1000 }, { "s", SECOND }, { "m", 60 * SECOND },
	{ "h", 3600 * SECOND }, { "d", 86400 * SECOND }, { NULL, 0 },
};

const struct heapsnap_unit heapsnap_sizes[] = {
	{ "", 1 },          { "K", 1 << 10 },   { "M", 1 << 20 },   { "G", 1 << 30 },
	{ "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { NULL, 0 },
};

bool heapsnap_parse_amount(const char *text, const struct heapsnap_unit *units, uint64_t *result)
{
	uint64_t value = 0, product;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (value > UINT32_MAX)
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	for (; units->name; units++) {
		if (strcmp(text, units->name) != 0)
			continue;
		if (__builtin_mul_overflow(value, units->factor, &product) || product > INT64_MAX)
			return false;
		*result = product;
		return true;
	}
	return false;
}
