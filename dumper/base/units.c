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

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

// @return false unless there are digits, for a number that is not too large
static bool parse_whole(const char **text, uint64_t *value)
{
	if (!is_digit(**text))
		return false;
	for (*value = 0; is_digit(**text); ++*text) {
		if (*value > UINT32_MAX)
			return false;
		*value = *value * 10 + (uint64_t)(**text - '0');
	}
	return true;
}

// Digits behind a point, if there is one. @return false if there are none behind it
static bool parse_fraction(const char **text, double *value)
{
	double place = 1;

	*value = 0;
	if (**text != '.')
		return true;
	while (is_digit(*++*text)) {
		place /= 10;
		*value += (**text - '0') * place;
	}
	return place < 1;
}

bool heapsnap_parse_amount(const char *text, const struct heapsnap_unit *units, uint64_t *result)
{
	uint64_t value, product;
	double fraction;

	if (!parse_whole(&text, &value) || !parse_fraction(&text, &fraction))
		return false;
	for (; units->name; units++) {
		if (strcmp(text, units->name) != 0)
			continue;
		// There is no half a byte.
		if ((fraction > 0 && units->factor == 1) ||
		    __builtin_mul_overflow(value, units->factor, &product) ||
		    __builtin_add_overflow(product,
					   (uint64_t)(fraction * (double)units->factor + 0.5),
					   &product) ||
		    product > INT64_MAX)
			return false;
		*result = product;
		return true;
	}
	return false;
}
