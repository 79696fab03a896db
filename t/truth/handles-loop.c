// SPDX-License-Identifier: GPL-3.0-or-later
// The library behind handles.h.
#include "t/truth/handles.h"
#include "t/truth/truth.h"

#include <stdint.h>

struct ev_timer {
	ev_loop *loop;
	struct ev_timer *next;
	struct ev_timer **link;
	unsigned due;
	ev_callback *callback;
	void *user_data;
};

struct chunk {
	struct chunk *next;
	size_t length;
	char bytes[48];
};

struct ev_stream {
	ev_loop *loop;
	int descriptor;
	uint32_t events;
	struct chunk *first, **last;
	ev_reader *reader;
	void *user_data;
};

struct task {
	ev_callback *callback;
	void *user_data;
};

struct ev_loop {
	unsigned now;
	struct ev_timer *timers;
	ev_stream **streams;
	size_t stream_count, streams_allocated;
	struct task **tasks;
	size_t task_count, tasks_allocated;
	void *backend;
};

struct backend {
	int descriptor;
	uint64_t *ready;
	void *scratch;
};

ev_loop *ev_loop_create(void)
{
	ev_loop *loop = NEW_ZEROED(struct ev_loop);
	struct backend *backend = NEW_ZEROED(struct backend);

	backend->ready = NEW_ZEROED_ARRAY(uint64_t, 32);
	backend->scratch = NEW_TEXT(512);
	loop->backend = backend;
	return loop;
}

ev_timer *ev_timer_start(ev_loop *loop, unsigned delay, ev_callback *callback, void *user_data)
{
	struct ev_timer *timer = NEW(struct ev_timer);
	struct ev_timer **at = &loop->timers;

	timer->loop = loop;
	timer->due = loop->now + delay;
	timer->callback = callback;
	timer->user_data = user_data;
	while (*at && (*at)->due <= timer->due)
		at = &(*at)->next;
	timer->next = *at;
	timer->link = at;
	if (timer->next)
		timer->next->link = &timer->next;
	*at = timer;
	return timer;
}

void ev_timer_stop(ev_timer *timer)
{
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	FREE(timer);
}

ev_stream *ev_stream_open(ev_loop *loop, int descriptor, ev_reader *reader, void *user_data)
{
	ev_stream *stream = NEW_ZEROED(struct ev_stream);

	stream->loop = loop;
	stream->descriptor = descriptor;
	stream->last = &stream->first;
	stream->reader = reader;
	stream->user_data = user_data;
	if (loop->stream_count == loop->streams_allocated) {
		loop->streams_allocated = loop->streams_allocated * 2 + 8;
		loop->streams =
			RENEW_ARRAY(struct ev_stream *, loop->streams, loop->streams_allocated);
	}
	loop->streams[loop->stream_count++] = stream;
	return stream;
}

void ev_stream_feed(ev_stream *stream, const char *text)
{
	struct chunk *chunk = NEW(struct chunk);

	chunk->next = NULL;
	chunk->length = strlen(text);
	if (chunk->length > sizeof(chunk->bytes))
		chunk->length = sizeof(chunk->bytes);
	memcpy(chunk->bytes, text, chunk->length);
	*stream->last = chunk;
	stream->last = &chunk->next;
}

ev_token ev_post(ev_loop *loop, ev_callback *callback, void *user_data)
{
	struct task *task = NEW(struct task);

	task->callback = callback;
	task->user_data = user_data;
	if (loop->task_count == loop->tasks_allocated) {
		loop->tasks_allocated = loop->tasks_allocated * 2 + 8;
		loop->tasks = RENEW_ARRAY(struct task *, loop->tasks, loop->tasks_allocated);
	}
	loop->tasks[loop->task_count++] = task;
	return task;
}

static void run_stream(ev_stream *stream)
{
	struct chunk *chunk = stream->first;

	// One of each ten chunks is read: the others wait.
	if (!chunk || stream->descriptor % 10 != (int)(stream->loop->now % 10))
		return;
	stream->reader(stream, chunk->bytes, chunk->length, stream->user_data);
	stream->first = chunk->next;
	if (!stream->first)
		stream->last = &stream->first;
	FREE(chunk);
}

unsigned ev_loop_run(ev_loop *loop, unsigned until)
{
	unsigned ran = 0;

	for (; loop->now < until; loop->now++) {
		while (loop->timers && loop->timers->due <= loop->now) {
			ev_timer *timer = loop->timers;
			timer->callback(loop, timer->user_data);
			ev_timer_stop(timer);
			ran++;
		}
		for (size_t i = 0; i < loop->stream_count; i++)
			run_stream(loop->streams[i]);
	}
	return ran;
}
