// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "dumper/command/names.h"
#include "lib/base/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct name_words words = { "app", "host", 42 };

static void matches_each_letter(void **state)
{
	(void)state;
	assert_true(name_fits("%e-%h.%p", &words, "app-host.42"));
	assert_true(name_fits("%N", &words, "00"));
	assert_true(name_fits("%t", &words, "1764000000"));
	assert_true(name_fits("50%% %x%", &words, "50% %x%"));
	assert_false(name_fits("%N", &words, ""));
	assert_false(name_fits("%N", &words, "0x"));
	assert_false(name_fits("%e", &words, "ap"));
	assert_false(name_fits("%e", &words, "appp"));
	assert_true(name_fits("", &words, ""));
	assert_false(name_fits("", &words, "a"));
}

static void matches_digits_in_all_ways(void **state)
{
	(void)state;
	assert_true(name_fits("%N0%t", &words, "101"));
	assert_true(name_fits("%N0%t", &words, "10001"));
	assert_true(name_fits("%N%t%N", &words, "123"));
	assert_false(name_fits("%N%t%N", &words, "12"));
	assert_false(name_fits("%N0%t", &words, "1101x"));
	assert_false(name_fits("%N-%t", &words, "1-2-3"));
	assert_true(name_fits("1%N1a%t1b", &words, "1111a11b"));
	assert_false(name_fits("1%N1a%t1b", &words, "111b1a1b"));
}

// Where a set of parts goes over from one word to the next, and at the longest name.
static void matches_at_every_length(void **state)
{
	char pattern[NAME_MAX + 4], name[NAME_MAX + 2];

	(void)state;
	for (size_t length = 2; length <= NAME_MAX; length++) {
		memset(pattern, 'a', length);
		memset(name, 'a', length);
		strcpy(pattern + length - 1, "%N");
		strcpy(name + length - 1, "7");
		assert_true(name_fits(pattern, &words, name));
		name[length - 1] = 'a';
		assert_false(name_fits(pattern, &words, name));
		name[length - 1] = '\0';
		assert_false(name_fits(pattern, &words, name));
	}
	memset(name, '7', NAME_MAX);
	name[NAME_MAX] = '\0';
	assert_true(name_fits("%N7%t", &words, name));
	memset(pattern, '7', NAME_MAX + 1);
	pattern[NAME_MAX + 1] = '\0';
	assert_false(name_fits(pattern, &words, name));
}

// A directory with root/snaps/app-00, as /proc/PID has it.
struct place {
	char path[32];
	int root;
};

static void touch(const struct place *place, const char *name)
{
	CLEANUP_CLOSE int file = openat(place->root, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(file >= 0);
}

static void make_place(struct place *place)
{
	strcpy(place->path, "/tmp/names-XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->root = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(place->root, "root", 0700), 0);
	assert_int_equal(mkdirat(place->root, "root/snaps", 0700), 0);
	touch(place, "root/snaps/app-00");
}

static void remove_place(struct place *place)
{
	unlinkat(place->root, "root/snaps/app-00", 0);
	unlinkat(place->root, "root/snaps/app-01", 0);
	unlinkat(place->root, "root/snaps", AT_REMOVEDIR);
	unlinkat(place->root, "root", AT_REMOVEDIR);
	close(place->root);
	rmdir(place->path);
}

static void finds_what_is_new(void **state)
{
	struct place place;
	struct names names;
	char *path;

	(void)state;
	make_place(&place);
	assert_null(names_init(&names, place.root, "/snaps/%e-%N", &words, 0));
	assert_null(names_find_new(&names, &path));
	assert_null(path);
	touch(&place, "root/snaps/app-01");
	assert_null(names_find_new(&names, &path));
	assert_string_equal(path, "/snaps/app-01");
	free(path);
	names.until_ms = 1; // since when the machine has started
	assert_null(names_find_new(&names, &path));
	assert_null(path);
	names_deinit(&names);
	remove_place(&place);
}

static void gives_up_in_time(void **state)
{
	struct place place;
	struct names names;

	(void)state;
	make_place(&place);

	struct heap_error *error = names_init(&names, place.root, "/snaps/%e-%N", &words, 1);

	assert_error(error, HEAP_ERROR_INTERRUPTED, "could be read in time");
	names_deinit(&names);
	remove_place(&place);
}

UNIT_TESTS("names", cmocka_unit_test(matches_each_letter),
	   cmocka_unit_test(matches_digits_in_all_ways), cmocka_unit_test(matches_at_every_length),
	   cmocka_unit_test(finds_what_is_new), cmocka_unit_test(gives_up_in_time))
