// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A graph of nodes that have arrays of ports. Of some arrays, pointers to the second port are known before any other: what is
 * before it is a port as well, and no header.
 */
#include "t/truth/truth.h"

#include <stdio.h>

enum {
	GROUPS = 10,
	INPUTS = 4,
	FRAMES = 64
};

struct port {
	char name[16];
	float *samples;
	struct node *owner;
	struct port **links;
	int link_count;
};

struct class
{
	const char *name;
	void (*process)(struct node *node);
};

struct node {
	const struct class *class;
	struct port *inputs, *outputs;
	int input_count, output_count;
	struct node *next;
};

struct filter {
	struct node node;
	float history[8], a1, a2;
};

struct delay {
	struct node node;
	int *positions;
	int count;
};

struct mixer {
	struct node node;
	float *gains;
};

static struct node *nodes;

static void process_filter(struct node *node)
{
	struct filter *filter = (struct filter *)node;

	filter->history[0] += filter->a1;
}

static void process_delay(struct node *node)
{
	struct delay *delay = (struct delay *)node;

	delay->positions[0]++;
}

static void process_mixer(struct node *node)
{
	struct mixer *mixer = (struct mixer *)node;

	mixer->gains[0] *= 0.5f;
}

static const struct class filters = { "filter", process_filter },
			  delays = { "delay", process_delay }, mixers = { "mixer", process_mixer };

static struct port *ports_new(struct node *node, int count, const char *kind)
{
	struct port *ports = NEW_ZEROED_ARRAY(struct port, count);

	for (int i = 0; i < count; i++) {
		snprintf(ports[i].name, sizeof(ports[i].name), "%s%d", kind, i);
		ports[i].owner = node;
	}
	return ports;
}

static void node_init(struct node *node, const struct class *class, int inputs, int outputs)
{
	node->class = class;
	node->input_count = inputs;
	node->output_count = outputs;
	node->inputs = ports_new(node, inputs, "in");
	node->outputs = ports_new(node, outputs, "out");
	for (int i = 0; i < outputs; i++) {
		node->outputs[i].samples = NEW_ARRAY(float, FRAMES);
		for (int j = 0; j < FRAMES; j++)
			node->outputs[i].samples[j] = (float)j * 0.1f;
	}
	node->next = nodes;
	nodes = node;
}

static void link_ports(struct port *from, struct port *to)
{
	to->samples = from->samples;
	from->links = RENEW_ARRAY(struct port *, from->links, from->link_count + 1);
	from->links[from->link_count++] = to;
}

static struct mixer *mixer_new(void)
{
	struct mixer *mixer = NEW_ZEROED(struct mixer);

	node_init(&mixer->node, &mixers, INPUTS, 2);
	mixer->gains = NEW_ARRAY(float, INPUTS);
	for (int i = 0; i < INPUTS; i++)
		mixer->gains[i] = 0.7f;
	return mixer;
}

static void add_group(int number)
{
	struct mixer *mixer = mixer_new();
	struct delay *delay = NEW_ZEROED(struct delay);
	struct filter *filter = NEW_ZEROED(struct filter);

	node_init(&delay->node, &delays, 2, 2);
	delay->count = 2 + number % 3;
	delay->positions = NEW_ZEROED_ARRAY(int, delay->count);
	node_init(&filter->node, &filters, 1, 1);
	filter->a1 = 0.5f;
	link_ports(mixer->node.outputs, filter->node.inputs);
	link_ports(mixer->node.outputs, delay->node.inputs);
	link_ports(filter->node.outputs, delay->node.inputs + 1);
}

int main(void)
{
	for (int i = 0; i < GROUPS; i++)
		add_group(i);
	truth_capture();
	for (struct node *node = nodes; node; node = node->next)
		node->class->process(node);
	printf("%s\n", nodes->class->name);
	return 0;
}
