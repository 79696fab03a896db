// SPDX-License-Identifier: GPL-3.0-or-later
// "Did you mean": which names are near a misspelt word, and in which order.
#include "t/unit/unit.h"

#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"

#include <string.h>

static const char *const names[] = { "count",   "struct session", "state",  "site",
				     "size",    "struct slot",    "HANGUP", "HUNG_UP",
				     "session", "sessions",       "",       "a" };

static void hints(const char *word, const char *expected)
{
	struct heap_nearest nearest;

	heap_nearest_init(&nearest, word);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		heap_nearest_offer(&nearest, names[i]);

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	assert_string_equal(hint, expected);
}

static void nearest_names(void **state)
{
	(void)state;
	hints("cuont", "; did you mean count?");
	hints("HUNGUP", "; did you mean HANGUP or HUNG_UP?");
	hints("hungup", "; did you mean HANGUP or HUNG_UP?");
	hints("sesion", "; did you mean session?");
	hints("sessio", "; did you mean session?");
	hints("sess", "; did you mean session, sessions or struct session?");
	hints("slot", "; did you mean struct slot?");
	hints("sit", "; did you mean site?");
}

static void nothing_near(void **state)
{
	char longest[300];

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	hints("", "");
	hints("xy", "");
	hints("frobnicate", "");
	hints(longest, "");
}

UNIT_TESTS("nearest", cmocka_unit_test(nearest_names), cmocka_unit_test(nothing_near))
