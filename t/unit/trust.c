// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/base/trust.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SOMEBODY = 65534, // nobody's id
};

static char base[] = "/tmp/trust-XXXXXX";
static char path[3][128];

static const char *at(int slot, const char *name)
{
	snprintf(path[slot], sizeof(path[slot]), "%s/%s", base, name);
	return path[slot];
}

static int begin(void **state)
{
	(void)state;
	umask(022);
	return mkdtemp(base) ? 0 : -1;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

static void make_file(const char *name, mode_t mode)
{
	int descriptor = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(descriptor >= 0);
	assert_int_equal(fchmod(descriptor, mode), 0);
	close(descriptor);
}

static void assert_trusted(struct heap_error *error)
{
	if (error)
		fail_msg("%s", heap_error_message(error));
}

#define assert_refused(error) assert_error(error, HEAP_ERROR_ABSENT, "not trusted")

static void ours_is_trusted(void **state)
{
	(void)state;
	assert_trusted(heap_trust_make_directory(at(0, "ours/a/b")));
	assert_trusted(heap_trust_make_directory(at(0, "ours/a/b")));
	assert_trusted(heap_trust_directory(at(0, "ours/a/b")));
	make_file(at(1, "ours/a/file"), 0644);
	assert_trusted(heap_trust_file(at(1, "ours/a/file")));
	// Links of our own, as those who keep their settings elsewhere have them.
	assert_int_equal(symlink(at(0, "ours/a/file"), at(1, "ours/link")), 0);
	assert_trusted(heap_trust_file(at(1, "ours/link")));
	assert_int_equal(symlink(at(0, "ours/a"), at(1, "ours/directory")), 0);
	assert_trusted(heap_trust_directory(at(1, "ours/directory")));
	assert_trusted(heap_trust_make_directory(at(1, "ours/directory/c")));
}

static void what_others_can_write_is_not(void **state)
{
	(void)state;
	assert_trusted(heap_trust_make_directory(at(0, "open/inside/b")));
	assert_int_equal(chmod(at(0, "open/inside"), 0775), 0);
	assert_refused(heap_trust_directory(at(0, "open/inside")));
	assert_refused(heap_trust_directory(at(0, "open/inside/b")));
	assert_refused(heap_trust_make_directory(at(0, "open/inside/b")));
	assert_refused(heap_trust_make_directory(at(0, "open/inside/new")));
	assert_int_equal(access(at(0, "open/inside/new"), F_OK), -1);
	// As /tmp is.
	assert_int_equal(chmod(at(0, "open/inside"), 01777), 0);
	assert_trusted(heap_trust_directory(at(0, "open/inside/b")));
	assert_refused(heap_trust_directory(at(0, "open/inside")));
	make_file(at(0, "open/file"), 0664);
	assert_refused(heap_trust_file(at(0, "open/file")));
	assert_int_equal(chmod(at(0, "open/file"), 0602), 0);
	assert_refused(heap_trust_file(at(0, "open/file")));
}

static void other_kinds_are_not(void **state)
{
	(void)state;
	make_file(at(0, "plain"), 0600);
	assert_refused(heap_trust_directory(at(0, "plain")));
	assert_refused(heap_trust_file(base));
	assert_int_equal(mkfifo(at(0, "pipe"), 0600), 0);
	assert_refused(heap_trust_file(at(0, "pipe")));
	assert_error(heap_trust_file(at(0, "nothing")), HEAP_ERROR_SYSTEM, "No such file");
	assert_error(heap_trust_directory(at(0, "nothing")), HEAP_ERROR_SYSTEM, "No such file");
}

static void what_is_somebody_elses_is_not(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("# skipped: only root can give files away\n");
		return;
	}
	// The home directory of a user, which root has by sudo.
	assert_int_equal(mkdir(at(0, "home"), 0755), 0);
	assert_trusted(heap_trust_make_directory(at(1, "home/.cache/heapsh")));
	assert_int_equal(chown(at(0, "home"), SOMEBODY, SOMEBODY), 0);
	assert_refused(heap_trust_directory(at(1, "home/.cache/heapsh")));
	assert_refused(heap_trust_make_directory(at(1, "home/.local/heapsh")));
	assert_int_equal(access(at(1, "home/.local"), F_OK), -1);
	make_file(at(0, "given"), 0600);
	assert_int_equal(chown(at(0, "given"), SOMEBODY, SOMEBODY), 0);
	assert_refused(heap_trust_file(at(0, "given")));
	// A link that somebody made in a sticky directory to a file of ours.
	make_file(at(0, "own"), 0600);
	assert_int_equal(symlink(at(0, "own"), at(1, "somebody's")), 0);
	assert_int_equal(lchown(at(1, "somebody's"), SOMEBODY, SOMEBODY), 0);
	assert_refused(heap_trust_file(at(1, "somebody's")));
}

static void a_user_trusts_root(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("# skipped: only root can become somebody\n");
		return;
	}
	make_file(at(0, "of-root"), 0644);
	assert_int_equal(chmod(base, 0755), 0);
	assert_int_equal(mkdir(at(1, "of-user"), 0755), 0);
	assert_int_equal(chown(at(1, "of-user"), SOMEBODY, SOMEBODY), 0);
	assert_int_equal(seteuid(SOMEBODY), 0);

	struct heap_error *of_root = heap_trust_file(at(0, "of-root"));
	struct heap_error *made = heap_trust_make_directory(at(1, "of-user/cache"));
	struct heap_error *elsewhere = heap_trust_make_directory(at(2, "ours/somebody"));

	assert_int_equal(seteuid(0), 0);
	assert_trusted(of_root);
	assert_trusted(made);
	assert_error(elsewhere, HEAP_ERROR_SYSTEM, "Permission denied");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_is_trusted),
		cmocka_unit_test(what_others_can_write_is_not),
		cmocka_unit_test(other_kinds_are_not),
		cmocka_unit_test(what_is_somebody_elses_is_not),
		cmocka_unit_test(a_user_trusts_root),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("trust", tests, begin, end);
}
