// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A host of plugins. All that they have comes from one function of the host's, which knows nothing of
 * their types; the host keeps their state by a void *.
 */
#include "t/truth/host.h"
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	INSTANCES = 200,
	CHANNELS = 64,
};

struct instance {
	const struct plugin *plugin;
	long id;
	void *state;
	struct instance *next;
};

struct event {
	int kind;
	struct instance *source;
	void *payload;
	struct event *next;
};

static struct instance *instances;
static struct event *channels[CHANNELS], **queue;
static unsigned queued;

static void *allocate(size_t size)
{
	return calloc(1, size);
}

static void emit(struct instance *source, int kind, void *payload)
{
	struct event *event = NEW(struct event);

	*event = (struct event){ kind, source, payload, channels[kind % CHANNELS] };
	channels[kind % CHANNELS] = event;
	queue = RENEW_ARRAY(struct event *, queue, queued + 1);
	queue[queued++] = event;
}

static const struct host host = { allocate, emit };

static void start(const struct plugin *plugin)
{
	for (int i = 0; i < INSTANCES; i++) {
		struct instance *instance = NEW(struct instance);

		*instance = (struct instance){ plugin, i, NULL, instances };
		instances = instance;
		instance->state = plugin->create(&host, instance, i);
		plugin->run(&host, instance, instance->state);
	}
}

int main(void)
{
	start(&meter_plugin);
	start(&store_plugin);
	truth_capture();
	printf("%u\n", queued);
	return 0;
}
