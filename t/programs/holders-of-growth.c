// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Structures that grow: a search tree, a list to whose end entries are added, and one topic in a tree of topics, each
 * of which has few children but that one. Each line of input adds 200 entries to each, but of jobs as many as the first
 * argument says.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	ENTRIES = 200,
	ROOM = 2000, // for children
};

struct branch {
	struct branch *left, *right;
	unsigned key;
};

struct job {
	struct job *next;
	int number;
};

struct topic {
	struct topic *children[ROOM];
	int count;
};

static struct branch *index_of_all;
static struct job *queue, **end_of_queue = &queue;
static struct topic *topics;

static void add_branch(unsigned key)
{
	struct branch **place = &index_of_all;

	while (*place)
		place = key < (*place)->key ? &(*place)->left : &(*place)->right;
	*place = calloc(1, sizeof(**place));
	(*place)->key = key;
}

static void add_job(int number)
{
	struct job *job = calloc(1, sizeof(*job));

	job->number = number;
	*end_of_queue = job;
	end_of_queue = &job->next;
}

static struct topic *add_topic(struct topic *above)
{
	struct topic *topic = calloc(1, sizeof(*topic));

	if (above)
		above->children[above->count++] = topic;
	return topic;
}

static void add_all(unsigned *random, struct topic *crowded, int jobs)
{
	for (int i = 0; i < jobs; i++)
		add_job(i);
	for (int i = 0; i < ENTRIES; i++) {
		*random = *random * 1103515245 + 12345;
		add_branch(*random >> 8);
		add_topic(crowded);
	}
}

int main(int argc, char **argv)
{
	const int jobs = argc > 1 ? atoi(argv[1]) : ENTRIES;
	unsigned random = 42;
	struct topic *crowded = NULL;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	topics = add_topic(NULL);
	for (int i = 0; i < 5; i++)
		crowded = add_topic(add_topic(topics));
	add_all(&random, crowded, jobs);
	puts("ready");
	for (int c; (c = getchar()) != EOF;) {
		add_all(&random, crowded, jobs);
		puts("grown");
	}
	return 0;
}
