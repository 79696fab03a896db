// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The event loop of a mail server: links in rings, timers in a wheel, callbacks that find their struct around a member.
 * The addresses of a mail are as large as a ring's link is, and so is the array of pointers to two of them.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stddef.h>

#define CONTAINER_OF(member, T, name) ((T *)((char *)(member)-offsetof(T, name)))

enum {
	CLIENTS = 150,
	SLOTS = 64,
	SLICES = 4,
};

struct ring {
	struct ring *next, *before;
};

struct timer {
	struct timer *next, **link;
	unsigned long expires;
	void (*call)(struct timer *timer);
};

struct work {
	struct ring ring;
	void (*call)(struct work *work);
};

struct watcher {
	int fd;
	unsigned events;
	void *data;
};

struct buffer {
	struct ring ring;
	unsigned start, end;
	char data[];
};

struct slice {
	void *start;
	size_t length;
};

struct request {
	char *method, *path;
	struct header {
		char *key, *value;
	} * headers;
	int count;
};

struct mail {
	char *from;
	char **to;
	int count;
	long size;
};

struct client {
	struct client *next;
	struct watcher watcher;
	struct timer idle;
	struct ring output;
	struct slice *slices;
	union {
		struct request *request;
		struct mail *mail;
	} of;
	enum {
		CLIENT_REQUEST,
		CLIENT_MAIL
	} kind;
};

struct job {
	int priority;
	struct work work;
	char *what;
	struct client *client;
};

struct loop {
	struct ring works;
	struct timer *wheel[SLOTS];
	struct watcher *watchers[CLIENTS];
	struct client *clients;
};

static struct loop *loop;

static void ring_init(struct ring *ring)
{
	ring->next = ring->before = ring;
}

static void ring_add(struct ring *ring, struct ring *added)
{
	added->next = ring;
	added->before = ring->before;
	ring->before->next = added;
	ring->before = added;
}

static void on_idle(struct timer *timer)
{
	CONTAINER_OF(timer, struct client, idle)->watcher.events = 0;
}

static void on_job(struct work *work)
{
	CONTAINER_OF(work, struct job, work)->priority--;
}

static void timer_start(struct timer *timer, unsigned long expires)
{
	struct timer **slot = &loop->wheel[expires % SLOTS];

	timer->expires = expires;
	timer->call = on_idle;
	timer->next = *slot;
	timer->link = slot;
	if (*slot)
		(*slot)->link = &timer->next;
	*slot = timer;
}

static void add_output(struct client *client, int count)
{
	client->slices = NEW_ZEROED_ARRAY(struct slice, SLICES);
	for (int i = 0; i < count; i++) {
		unsigned length = 64 + next() % 512;
		struct buffer *buffer = NEW_FLEXIBLE(struct buffer, sizeof(struct buffer) + length);

		buffer->start = 0;
		buffer->end = length;
		memset(buffer->data, 'x', length);
		ring_add(&client->output, &buffer->ring);
		client->slices[i].start = buffer->data;
		client->slices[i].length = length;
	}
}

// All in one function, as compilers make of small ones: each has pointers to all of these.
int main(void)
{
	loop = NEW_ZEROED(struct loop);
	ring_init(&loop->works);
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = NEW_ZEROED(struct client);

		client->next = loop->clients;
		loop->clients = client;
		client->watcher.fd = i;
		client->watcher.data = client;
		loop->watchers[i] = &client->watcher;
		ring_init(&client->output);
		timer_start(&client->idle, next() % 256);
		add_output(client, i % SLICES);
		client->kind = i % 2;
		if (client->kind == CLIENT_REQUEST) {
			struct request *request = client->of.request = NEW(struct request);

			request->method = TEXT(strdup("GET"));
			request->path = TEXT(strdup("/index.html?x=1"));
			request->count = 3;
			request->headers = NEW_ARRAY(struct header, 3);
			for (int j = 0; j < 3; j++) {
				request->headers[j].key = TEXT(strdup("Accept"));
				request->headers[j].value = TEXT(strdup("*/*; q=0.3"));
			}
		} else {
			struct mail *mail = client->of.mail = NEW(struct mail);

			mail->from = TEXT(strdup("me@example.org"));
			mail->count = 2;
			mail->size = 3333;
			mail->to = NEW_ARRAY(char *, 2);
			mail->to[0] = TEXT(strdup("you@example.org"));
			mail->to[1] = TEXT(strdup("her@example.org"));
		}
		if (i % 2 == 0) {
			struct job *job = NEW(struct job);

			job->priority = i;
			job->what = TEXT(strdup("flush the log"));
			job->client = client;
			job->work.call = on_job;
			ring_add(&loop->works, &job->work.ring);
		}
	}
	truth_capture();
	for (struct ring *ring = loop->works.next; ring != &loop->works; ring = ring->next) {
		struct work *work = CONTAINER_OF(ring, struct work, ring);

		work->call(work);
	}
	return 0;
}
