// SPDX-License-Identifier: GPL-3.0-or-later
// A library as its users see it: handles that are never defined, callbacks with user data.
#ifndef HANDLES_H
#define HANDLES_H

#include <stddef.h>

typedef struct ev_loop ev_loop;
typedef struct ev_timer ev_timer;
typedef struct ev_stream ev_stream;
typedef void *ev_token;

typedef void ev_callback(ev_loop *loop, void *user_data);
typedef void ev_reader(ev_stream *stream, const char *bytes, size_t length, void *user_data);

ev_loop *ev_loop_create(void);
ev_timer *ev_timer_start(ev_loop *loop, unsigned delay, ev_callback *callback, void *user_data);
void ev_timer_stop(ev_timer *timer);
ev_stream *ev_stream_open(ev_loop *loop, int descriptor, ev_reader *reader, void *user_data);
void ev_stream_feed(ev_stream *stream, const char *text);
ev_token ev_post(ev_loop *loop, ev_callback *callback, void *user_data);
unsigned ev_loop_run(ev_loop *loop, unsigned until);

#endif
