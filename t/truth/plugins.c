// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A web server with plugins, each of which has a number, and at that index of each connection's array a context of its
 * own. Beside it, a table of entities whose columns are behind void pointers: one for each component.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	PLUGINS = 5,
	CONNECTIONS = 300,
	TABLES = 60,
};

struct buffer {
	char *text;
	uint32_t used, size;
};

struct connection {
	struct connection *next;
	int fd, state;
	struct buffer *url;
	uint64_t received, sent;
	void **contexts;
};

struct plugin {
	int id;
	const char *name;
	int (*handle)(struct connection *connection, void *data);
	void (*report)(struct connection *connection, void *data);
};

// The contexts of plugins: several are of one size.
struct rewrite_context {
	int loops, state;
	struct buffer *original;
	struct buffer *target;
};

struct gateway_context {
	struct connection *remote;
	uint32_t requests, retries;
	struct buffer *response;
};

struct compress_context {
	unsigned char *window;
	struct buffer *output;
	uint64_t position;
};

struct login_context {
	uint64_t expires;
	struct buffer *user;
	struct connection *remote;
};

struct meter_context {
	double rate, burst;
	uint64_t bytes;
};

static unsigned random_below(unsigned limit)
{
	return (unsigned)(next() % limit);
}

static struct buffer *make_buffer(const char *prefix)
{
	struct buffer *buffer = NEW(struct buffer);
	char text[64];

	snprintf(text, sizeof(text), "%s/%u/%u", prefix, random_below(100), random_below(100000));
	buffer->text = TEXT(strdup(text));
	buffer->used = (uint32_t)strlen(text);
	buffer->size = buffer->used + 1;
	return buffer;
}

static int rewrite(struct connection *connection, void *data)
{
	struct plugin *plugin = data;
	struct rewrite_context *context = connection->contexts[plugin->id];

	if (!context) {
		context = NEW_ZEROED(struct rewrite_context);
		connection->contexts[plugin->id] = context;
		context->original = make_buffer("/old");
	}
	context->loops++;
	if (!context->target)
		context->target = make_buffer("/new");
	return context->loops > 10;
}

static int forward(struct connection *connection, void *data)
{
	struct plugin *plugin = data;
	struct gateway_context *context = connection->contexts[plugin->id];

	if (!context) {
		context = NEW_ZEROED(struct gateway_context);
		connection->contexts[plugin->id] = context;
		context->remote = connection;
		context->response = make_buffer("HTTP");
	}
	context->requests++;
	return context->retries > 3;
}

static int compress(struct connection *connection, void *data)
{
	struct plugin *plugin = data;
	struct compress_context *context = connection->contexts[plugin->id];

	if (!context) {
		context = NEW_ZEROED(struct compress_context);
		connection->contexts[plugin->id] = context;
		context->window = NEW_ZEROED_ARRAY(unsigned char, 64 + random_below(100));
		memset(context->window, 0x90, 64);
		context->output = make_buffer("zip");
	}
	context->position += 17;
	return 0;
}

static int authenticate(struct connection *connection, void *data)
{
	struct plugin *plugin = data;
	struct login_context *context = connection->contexts[plugin->id];

	if (!context) {
		context = NEW_ZEROED(struct login_context);
		connection->contexts[plugin->id] = context;
		context->user = make_buffer("user");
		context->remote = connection;
	}
	context->expires += 300;
	return context->expires == 0;
}

static int measure(struct connection *connection, void *data)
{
	struct plugin *plugin = data;
	struct meter_context *context = connection->contexts[plugin->id];

	if (!context) {
		context = NEW_ZEROED(struct meter_context);
		connection->contexts[plugin->id] = context;
		context->rate = 1.5 * random_below(100);
	}
	context->burst += 0.25;
	context->bytes += connection->sent;
	return context->burst > context->rate;
}

static struct plugin plugins[PLUGINS] = {
	{ 0, "rewrite", rewrite, NULL },   { 1, "gateway", forward, NULL },
	{ 2, "compress", compress, NULL }, { 3, "login", authenticate, NULL },
	{ 4, "meter", measure, NULL },
};

static struct connection *connections;

static void accept_connection(int fd)
{
	struct connection *connection = NEW_ZEROED(struct connection);

	connection->fd = fd;
	connection->url = make_buffer("/index");
	connection->contexts = NEW_ZEROED_ARRAY(void *, PLUGINS);
	connection->next = connections;
	connections = connection;
}

static int handle_all(void)
{
	int handled = 0;

	for (struct connection *connection = connections; connection;
	     connection = connection->next) {
		for (int i = 0; i < PLUGINS; i++) {
			if (random_below(3) > 0)
				handled += plugins[i].handle(connection, &plugins[i]);
		}
	}
	return handled;
}

// --- entities -----------------------------------------------------------------

enum component {
	POSITION,
	SPRITE,
	OWNER,
	HEALTH,
	COMPONENTS
};

struct position {
	float x, y, z;
};

struct sprite {
	struct buffer *image;
	uint32_t frame, frames;
	double elapsed;
};

struct owner {
	struct connection *connection;
	struct buffer *name;
};

struct health {
	int32_t points, most;
};

struct table {
	struct table *next;
	uint32_t rows, capacity;
	void *columns[COMPONENTS];
};

static struct table *tables;

static struct table *make_table(uint32_t capacity)
{
	struct table *table = NEW_ZEROED(struct table);

	table->capacity = capacity;
	table->columns[POSITION] = NEW_ZEROED_ARRAY(struct position, capacity);
	table->columns[SPRITE] = NEW_ZEROED_ARRAY(struct sprite, capacity);
	table->columns[OWNER] = NEW_ZEROED_ARRAY(struct owner, capacity);
	table->columns[HEALTH] = NEW_ZEROED_ARRAY(struct health, capacity);
	table->next = tables;
	tables = table;
	return table;
}

static void add_row(struct table *table)
{
	struct position *positions = table->columns[POSITION];
	struct sprite *sprites = table->columns[SPRITE];
	struct owner *owners = table->columns[OWNER];
	struct health *health = table->columns[HEALTH];
	uint32_t row = table->rows++;

	positions[row] =
		(struct position){ random_below(100) * 0.5f, random_below(100) * 0.25f, 1.0f };
	sprites[row] = (struct sprite){ make_buffer("sprite"), random_below(8), 8, 0.5 };
	owners[row] = (struct owner){ connections, make_buffer("owner") };
	health[row] = (struct health){ (int32_t)random_below(100), 100 };
}

static void move_all(void)
{
	for (struct table *table = tables; table; table = table->next) {
		struct position *positions = table->columns[POSITION];
		struct sprite *sprites = table->columns[SPRITE];

		for (uint32_t row = 0; row < table->rows; row++) {
			positions[row].x += 0.5f;
			sprites[row].elapsed += positions[row].y;
		}
	}
}

int main(void)
{
	for (int i = 0; i < CONNECTIONS; i++)
		accept_connection(i + 3);
	for (int i = 0; i < 2; i++)
		handle_all();
	for (int i = 0; i < TABLES; i++) {
		struct table *table = make_table(4 + random_below(40));

		while (table->rows < table->capacity)
			add_row(table);
	}
	move_all();
	truth_capture();
	return handle_all() > 100000;
}
