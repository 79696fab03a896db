// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A chat server on a library of opaque handles: what it has of its own is reached through
 * user data of callbacks alone, or by void * handles that it gives out itself.
 */
#include "t/truth/handles.h"
#include "t/truth/truth.h"

#include <stdio.h>

struct room {
	char *topic;
	unsigned members;
	struct client *first;
};

struct client {
	struct client *next_in_room;
	ev_stream *stream;
	ev_timer *idle;
	struct room *room;
	char nick[16];
	unsigned lines;
};

struct job { // user data of a task, known to nothing else
	int kind;
	unsigned client;
	double deadline;
	char *argument;
};

struct ping { // user data of a timer
	struct client *client;
	unsigned long sent;
	unsigned attempt;
};

static struct room *rooms[12];
static void *handles[64]; // given to plugins: jobs and clients alike
static unsigned handle_count;

static void client_read(ev_stream *stream, const char *bytes, size_t length, void *user_data)
{
	struct client *client = user_data;

	(void)stream;
	client->lines += length && *bytes != '#';
}

static void client_ping(ev_loop *loop, void *user_data)
{
	struct ping *ping = user_data, *again;

	if (ping->attempt < 3) {
		again = NEW(struct ping);
		again->client = ping->client;
		again->sent = ping->sent + 50;
		again->attempt = ping->attempt + 1;
		ping->client->idle = ev_timer_start(loop, 50, client_ping, again);
	}
	FREE(ping);
}

static void client_connect(ev_loop *loop, unsigned number)
{
	struct client *client = NEW_ZEROED(struct client);
	struct ping *ping = NEW(struct ping);

	snprintf(client->nick, sizeof(client->nick), "guest%u", number);
	client->room = rooms[number % 12];
	client->next_in_room = client->room->first;
	client->room->first = client;
	client->room->members++;
	client->stream = ev_stream_open(loop, (int)number, client_read, client);
	ping->client = client;
	ping->sent = number;
	ping->attempt = 0;
	client->idle = ev_timer_start(loop, 20 + number % 60, client_ping, ping);
	for (unsigned i = 0; i < number % 7; i++)
		ev_stream_feed(client->stream, "hello everybody, here I am");
	if (number % 11 == 0 && handle_count < 64)
		handles[handle_count++] = client;
}

static void run_job(ev_loop *loop, void *user_data)
{
	struct job *job = user_data;

	(void)loop;
	job->kind = 0;
}

static void post_job(ev_loop *loop, unsigned client)
{
	struct job *job = NEW(struct job);
	char text[32];

	snprintf(text, sizeof(text), "/invite guest%u", client);
	job->kind = 1 + (int)client % 4;
	job->client = client;
	job->deadline = client * 1.5;
	job->argument = TEXT(strdup(text));
	ev_post(loop, run_job, job);
	if (client % 13 == 0 && handle_count < 64)
		handles[handle_count++] = job;
}

int main(void)
{
	ev_loop *loop = ev_loop_create();
	unsigned ran;

	for (unsigned i = 0; i < 12; i++) {
		char topic[24];
		snprintf(topic, sizeof(topic), "room number %u", i);
		rooms[i] = NEW_ZEROED(struct room);
		rooms[i]->topic = TEXT(strdup(topic));
	}
	for (unsigned i = 0; i < 900; i++) {
		client_connect(loop, i);
		if (i % 2)
			post_job(loop, i);
	}
	ran = ev_loop_run(loop, 70);
	truth_capture();
	printf("%u timers ran, %u in the first room\n", ran, rooms[0]->members);
	return 0;
}
