// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What a series of snapshots has to tell apart: a leak, a cache that fills and then replaces
 * its oldest entry, a steady state, a vector that grows, and a block that is freed and
 * allocated again at the same address. All go by the clock, in steps of 10 ms, for as many
 * milliseconds as the argument says; each step is the same.
 *
 * The cache is the one of the story in heapsh-tutorial(7): 300 entries, so for the first
 * snapshots nothing tells it from a leak.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	STEP_MS = 10,
	CACHED = 300,
	CACHED_PER_STEP = 2, // so it is full after a second and a half
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

struct slot {
	struct slot *self;
	char text[8];
};

static struct session *sessions;        // never freed
static struct utility *newest, *oldest; // of the cache
static int cached;
static struct request *requests[REQUESTS];
static struct sample *samples;
static size_t sample_count;
static struct slot *slot;

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
	free(slot);
	slot = malloc(sizeof(*slot));
	*slot = (struct slot){ .self = slot, .text = "again" };
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

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? atol(argv[1]) / STEP_MS : 0, done = 0;
	long start = now_ms();

	setvbuf(stdout, NULL, _IONBF, 0);
	while (done < steps) {
		for (long due = (now_ms() - start) / STEP_MS; done < due && done < steps; done++)
			step(done);
		usleep(STEP_MS * 500);
	}
	printf("%ld steps, %d cached\n", done, cached);
	return 0;
}
