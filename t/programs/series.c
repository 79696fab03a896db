// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Growth that a series of snapshots has to tell apart: a leak, a cache that fills and then replaces
 * its oldest entry, a steady state, a vector that grows, and a block that is freed and
 * allocated again at the same address. From one snapshot to the next, which are taken without
 * being asked for, each grows by the same, however long that takes; the argument says how many
 * there will be.
 *
 * The cache is the one of the story in heapsh-tutorial(7): 300 entries, so for the first
 * snapshots nothing tells it from a leak.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STEPS = 25, // for each snapshot
	CACHED = 300,
	CACHED_PER_STEP = 2, // so it is full in the sixth
	REQUESTS = 50,
	SAMPLES_PER_STEP = 64,
};

struct session {
	struct session *next;
	int descriptor;
};

struct utility {
	struct utility *older, *newer;
	long number;
};

struct request {
	struct request *link;
	char *answer;
	long number;
};

struct sample {
	double value;
	long time;
};

struct renewed {
	struct renewed *self;
	char text[8];
};

static struct session *sessions;        // never freed
static struct utility *newest, *oldest; // of the cache
static int cached;
static struct request *requests[REQUESTS];
static struct sample *samples;
static size_t sample_count;
static struct renewed *renewed;

static void leak(int descriptor)
{
	struct session *session = malloc(sizeof(*session));

	session->descriptor = descriptor;
	session->next = sessions;
	sessions = session;
}

static void forget_oldest(void)
{
	struct utility *utility = oldest;

	oldest = utility->newer;
	oldest->older = NULL;
	cached--;
	free(utility);
}

static void look_up(long number)
{
	struct utility *utility = malloc(sizeof(*utility));

	*utility = (struct utility){ .older = newest, .number = number };
	if (newest)
		newest->newer = utility;
	else
		oldest = utility;
	newest = utility;
	if (++cached > CACHED)
		forget_oldest();
}

static void serve(long number)
{
	struct request **place = &requests[number % REQUESTS];

	free(*place);
	*place = malloc(sizeof(**place));
	**place = (struct request){ .link = requests[0], .number = number };
}

static void measure(long time)
{
	samples = realloc(samples, (sample_count + SAMPLES_PER_STEP) * sizeof(*samples));
	for (int i = 0; i < SAMPLES_PER_STEP; i++)
		samples[sample_count++] = (struct sample){ .value = i, .time = time };
}

static void replace(void)
{
	free(renewed);
	renewed = malloc(sizeof(*renewed));
	*renewed = (struct renewed){ .self = renewed, .text = "again" };
}

static void step(long number)
{
	leak((int)number);
	for (int i = 0; i < CACHED_PER_STEP; i++)
		look_up(number);
	serve(number);
	measure(number);
	replace();
}

// Waits until the snapshot of that number is there.
static void wait_for(int number)
{
	char name[32];

	snprintf(name, sizeof(name), "series-%02d.snap", number);
	while (access(name, F_OK) != 0)
		usleep(2000);
}

int main(int argc, char **argv)
{
	int snapshots = argc > 1 ? atoi(argv[1]) : 0;
	long done = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < snapshots; i++) {
		for (int j = 0; j < STEPS; j++)
			step(done++);
		wait_for(i);
	}
	printf("%ld steps, %d cached\n", done, cached);
	return 0;
}
