// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Requests that were parsed where they lie: their headers are slices of the buffers of bytes that
 * they came in. And small arrays that are as large as a struct which begins with such an element: of two slices, four
 * numbers, three pointers.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	CONNECTIONS = 1000,
	SHAPES = 4
};

struct buffer {
	struct buffer *next;
	uint16_t start, end;
	char data[500];
};

struct slice {
	const char *at;
	uint32_t length;
};

struct header {
	struct slice name, value;
};

struct numbers {
	int count, room;
	int *items;
};

struct shape {
	struct shape **smaller;
	uint32_t count, id;
};

struct object {
	struct shape *shape;
	long *slots;
	uint32_t mark, room;
};

struct request {
	struct connection *connection;
	struct slice method, path;
	struct header *headers;
	uint32_t count, room;
	struct request *next;
};

struct response {
	int status;
	unsigned extras;
	struct slice *extra;
};

struct connection {
	int file;
	struct buffer *buffers;
	struct request *requests;
	struct response *response;
	struct object *object;
	struct numbers ports;
	struct connection *next;
};

static struct connection *connections;
static struct shape *shapes[SHAPES];

static struct slice slice(char **at, char end)
{
	struct slice result = { *at, (uint32_t)(strchr(*at, end) - *at) };

	*at += result.length + 1;
	return result;
}

static void parse(struct connection *connection, struct buffer *buffer)
{
	char *at = buffer->data + buffer->start;
	struct request *request = NEW_ZEROED(struct request);

	request->connection = connection;
	request->method = slice(&at, ' ');
	request->path = slice(&at, '\n');
	while (*at) {
		if (request->count == request->room) {
			request->room = request->room ? request->room * 2 : 4;
			request->headers =
				RENEW_ARRAY(struct header, request->headers, request->room);
		}
		request->headers[request->count].name = slice(&at, ':');
		request->headers[request->count++].value = slice(&at, '\n');
	}
	request->next = connection->requests;
	connection->requests = request;
}

static void receive(struct connection *connection, int number)
{
	struct buffer *buffer = NEW(struct buffer);

	buffer->start = 0;
	buffer->end = (uint16_t)snprintf(
		buffer->data, sizeof(buffer->data),
		"GET /page/%d\nHost:example.org\nUser-Agent:trial\nAccept:*/*\nX-Id:%d\nDate:now\n",
		number, number * 3);
	buffer->next = connection->buffers;
	connection->buffers = buffer;
	parse(connection, buffer);
}

static void respond(struct connection *connection)
{
	struct response *response = NEW(struct response);

	response->status = 200;
	response->extras = 2;
	response->extra = NEW_ARRAY(struct slice, 2);
	response->extra[0] = (struct slice){ "ETag", 4 };
	response->extra[1] = (struct slice){ "Vary", 4 };
	connection->response = response;
}

static void append(struct numbers *numbers, int number)
{
	if (numbers->count == numbers->room) {
		numbers->room = numbers->room ? numbers->room * 2 : 4;
		numbers->items = RENEW_ARRAY(int, numbers->items, numbers->room);
	}
	numbers->items[numbers->count++] = number;
}

static struct shape *make_shape(uint32_t number)
{
	struct shape *shape = NEW(struct shape);

	shape->id = number;
	shape->count = 3;
	shape->smaller = NEW_ARRAY(struct shape *, 3);
	for (uint32_t i = 0; i < 3; i++)
		shape->smaller[i] = number ? shapes[i % number] : shape;
	return shape;
}

static struct object *make_object(int number)
{
	struct object *object = NEW(struct object);

	object->shape = shapes[number % SHAPES];
	object->mark = 0;
	object->room = 5;
	object->slots = NEW_ARRAY(long, 5);
	for (long i = 0; i < 5; i++)
		object->slots[i] = i * number;
	return object;
}

int main(void)
{
	for (uint32_t i = 0; i < SHAPES; i++)
		shapes[i] = make_shape(i);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = NEW_ZEROED(struct connection);

		connection->file = i;
		connection->next = connections;
		connections = connection;
		for (int j = 0; j <= i % 3; j++)
			receive(connection, i);
		respond(connection);
		connection->object = make_object(i);
		for (int j = 0; j < 1 + i % 4; j++)
			append(&connection->ports, j + 1);
	}
	truth_capture();
	return connections->file == 0;
}
