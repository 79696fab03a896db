// SPDX-License-Identifier: GPL-3.0-or-later
// The memory that is left to a process, from directories of files that look like control groups.
#include "t/unit/unit.h"

#include "dumper/base/headroom.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define SECOND UINT64_C(1000000000)

static char root[64];
static char places[6][128];
static struct heapsnap_headroom room;

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_number(const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu\n", number);
	put(name, text);
}

static int set_up(void **state)
{
	static const char *const names[] = {
		"one", "two", "cgroup", "meminfo", "pressure", "online"
	};

	(void)state;
	strcpy(root, "/tmp/headroom-XXXXXX");
	assert_non_null(mkdtemp(root));
	for (int i = 0; i < 6; i++)
		snprintf(places[i], sizeof(places[i]), "%s/%s", root, names[i]);
	put("cgroup", "");
	put("meminfo", "MemTotal:       16777216 kB\nMemFree:  1 kB\nMemAvailable:   8388608 kB\n"
		       "SwapTotal:             0 kB\nSwapFree:              0 kB\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static uint64_t look(uint32_t percent, uint64_t now_ns)
{
	if (now_ns == 0) {
		heapsnap_headroom_init(&room, "", percent);
		room.places = (struct heapsnap_headroom_places){ places[0], places[1], places[2],
								 places[3], places[4], places[5] };
	}
	return heapsnap_headroom_look(&room, now_ns);
}

static void is_left(uint64_t left, uint64_t limit, const char *name)
{
	assert_int_equal(room.left, left);
	assert_int_equal(room.limit, limit);
	assert_string_equal(*room.name ? room.name + strlen(root) : "", name);
}

static void machine(void **state)
{
	(void)state;
	look(0, 0);
	is_left(8192 * MIB, 16384 * MIB, "");
	assert_false(room.is_near);
	look(50, 0);
	assert_true(room.is_near);
	put("meminfo", "MemTotal: 16777216 kB\nMemAvailable: 1048576 kB\nSwapTotal: 8388608 kB\n"
		       "SwapFree: 4194304 kB\n");
	look(0, 0);
	is_left(5120 * MIB, 24576 * MIB, "");
	assert_false(room.is_near);
}

static void version_2(void **state)
{
	(void)state;
	put("cgroup", "0::/a/b\n");
	put("two/a/b/memory.max", "max\n");
	put_number("two/a/b/memory.current", 100 * MIB);
	put_number("two/a/memory.max", 1000 * MIB);
	put_number("two/a/memory.current", 800 * MIB);
	assert_in_range(look(0, 0), 90000000, 110000000); // at 1 GiB/s
	put("online", "0-1\n");
	assert_in_range(look(0, 0), 45000000, 55000000); // on each processor
	put("online", "0,2-3,8\n");
	assert_in_range(look(0, 0), 22000000, 28000000);
	is_left(200 * MIB, 1000 * MIB, "/two/a");
	assert_false(room.is_near);
	assert_int_equal(room.beyond, 100 * MIB);
	assert_string_equal(room.own + strlen(root), "/two/a/b");
	put_number("two/a/memory.current", 960 * MIB);
	assert_int_equal(look(0, 0), 10000000);
	assert_true(room.is_near);
	put("two/a/memory.stat", "anon 1\ninactive_file 104857600\nactive_file 104857600\n");
	look(0, 0);
	is_left(240 * MIB, 1000 * MIB, "/two/a");
	assert_false(room.is_near);
}

static void version_1(void **state)
{
	(void)state;
	put("cgroup", "9:name=systemd:/s\n4:cpu,memory:/docker/x\n0::/\n");
	// In a container the group is mounted as the root.
	put_number("one/memory.limit_in_bytes", 100 * MIB);
	put_number("one/memory.usage_in_bytes", 40 * MIB);
	look(0, 0);
	is_left(60 * MIB, 100 * MIB, "/one");
	assert_false(room.is_near); // half of it must be left, to a small group
	put_number("one/memory.usage_in_bytes", 51 * MIB);
	look(0, 0);
	assert_true(room.is_near);
	look(90, 0);
	assert_false(room.is_near); // what the user says goes
	put_number("one/docker/x/memory.limit_in_bytes", INT64_MAX & ~4095);
	put_number("one/docker/x/memory.usage_in_bytes", 51 * MIB);
	look(0, 0);
	is_left(49 * MIB, 100 * MIB, "/one");
}

static void swap(void **state)
{
	(void)state;
	put("cgroup", "0::/a\n");
	put("meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapTotal: 1048576 kB\n"
		       "SwapFree: 1048576 kB\n");
	put_number("two/a/memory.max", 1000 * MIB);
	put_number("two/a/memory.current", 1000 * MIB);
	put_number("two/a/memory.swap.max", 300 * MIB);
	put_number("two/a/memory.swap.current", 100 * MIB);
	look(0, 0);
	is_left(200 * MIB, 1000 * MIB, "/two/a");
	put("two/a/memory.swap.max", "0\n");
	look(0, 0);
	is_left(0, 1000 * MIB, "/two/a");
	put("cgroup", "4:memory:/v\n");
	put_number("one/v/memory.limit_in_bytes", 1000 * MIB);
	put_number("one/v/memory.usage_in_bytes", 990 * MIB);
	put_number("one/v/memory.memsw.limit_in_bytes", 1200 * MIB);
	put_number("one/v/memory.memsw.usage_in_bytes", 1150 * MIB);
	look(0, 0);
	is_left(50 * MIB, 1000 * MIB, "/one/v");
}

static void pressure(void **state)
{
	(void)state;
	put("cgroup", "0::/a\n");
	put_number("two/a/memory.current", 1);
	put("pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=900\n"
			"full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n");
	put("two/a/memory.pressure", "some total=5\nfull avg10=0.00 total=0\n");
	look(0, 0);
	look(0, SECOND);
	put("pressure", "some total=0\nfull avg10=0.00 total=1400000\n");
	look(0, 2 * SECOND);
	assert_false(room.is_near);
	put("two/a/memory.pressure", "some total=5\nfull avg10=0.00 total=600000\n");
	look(0, 2 * SECOND + SECOND / 2);
	assert_false(room.is_near); // it is too early to say
	look(0, 3 * SECOND);
	assert_true(room.is_near);
	assert_true(room.stalls_now);
	look(0, 4 * SECOND);
	assert_false(room.is_near);
}

static void lock(void **state)
{
	int first, second;

	(void)state;
	put("cgroup", "0::/a\n");
	put_number("two/a/memory.current", 1);
	look(0, 0);
	first = heapsnap_headroom_lock(&room);
	assert_true(first >= 0);
	assert_int_equal(heapsnap_headroom_lock(&room), -1);
	close(first);
	second = heapsnap_headroom_lock(&room);
	assert_true(second >= 0);
	close(second);
}

static void odd(void **state)
{
	char text[6000];

	(void)state;
	memset(text, '/', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "0::", 3);
	put("cgroup", text);
	look(0, 0);
	is_left(8192 * MIB, 16384 * MIB, "");
	put("cgroup", "no colons\n0::\n:\n::\n4:memory\n\n");
	put("meminfo", "");
	assert_int_equal(look(0, 0), SECOND / 2);
	assert_false(room.is_near);
	put("cgroup", "0::/a\n");
	put("two/a/memory.max", "\n");
	put("two/a/memory.current", "x\n");
	look(0, 0);
	assert_int_equal(room.limit, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

UNIT_TESTS("headroom", TEST(machine), TEST(version_2), TEST(version_1), TEST(swap), TEST(pressure),
	   TEST(lock), TEST(odd))
