// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Rules of a packet filter. What each has of its own is behind a void pointer, beside one to a table of a single function:
 * an element of an array of such tables. All of it is made by one function, in a branch for each kind.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	CHAINS = 20,
	RULES = 12,
	MATCHES = 5,
	PORTS = 15,
	SKIPS = 8
};

struct packet {
	uint32_t source, target;
	uint16_t port;
	uint8_t protocol;
};

struct operations {
	const char *name;
	int (*match)(const void *own, const struct packet *packet);
	size_t size;
};

struct network {
	uint32_t address, mask;
	int is_inverted;
};

struct ports {
	uint16_t ports[PORTS];
	uint8_t count;
};

struct limit {
	double rate, burst;
	long last;
	struct limit *shared;
};

struct members {
	struct set *set;
	int dimension;
};

struct pattern {
	char *text;
	int *skips;
	int length;
};

struct set {
	struct set *next;
	char *name;
	uint32_t from, to;
};

struct match {
	const struct operations *operations;
	void *own;
	struct match *next;
};

struct rule {
	struct rule *next;
	struct match *matches;
	uint64_t handle;
};

static struct rule *chains[CHAINS];
static struct set *sets;

static int match_network(const void *own, const struct packet *packet)
{
	const struct network *network = own;

	return ((packet->source & network->mask) == network->address) ^ network->is_inverted;
}

static int match_ports(const void *own, const struct packet *packet)
{
	const struct ports *ports = own;

	for (int i = 0; i < ports->count; i++) {
		if (ports->ports[i] == packet->port)
			return 1;
	}
	return 0;
}

static int match_limit(const void *own, const struct packet *packet)
{
	const struct limit *limit = own;

	return limit->rate < limit->burst + packet->protocol;
}

static int match_members(const void *own, const struct packet *packet)
{
	const struct members *members = own;

	return packet->source >= members->set->from && packet->source <= members->set->to;
}

static int match_pattern(const void *own, const struct packet *packet)
{
	const struct pattern *pattern = own;

	return pattern->skips[packet->protocol % SKIPS] + pattern->text[0];
}

static const struct operations operations[MATCHES] = {
	{ "network", match_network, sizeof(struct network) },
	{ "ports", match_ports, sizeof(struct ports) },
	{ "limit", match_limit, sizeof(struct limit) },
	{ "members", match_members, sizeof(struct members) },
	{ "pattern", match_pattern, sizeof(struct pattern) },
};

static const char *const names[MATCHES] = { "struct network", "struct ports", "struct limit",
					    "struct members", "struct pattern" };

static struct match *match_new(int kind, int number)
{
	struct match *match = NEW_ZEROED(struct match);

	match->operations = &operations[kind];
	match->own = truth_log(calloc(1, operations[kind].size), TRUTH_ARRAY, names[kind], 1);
	switch (kind) {
	case 0: {
		struct network *network = match->own;

		network->address = 0x0a000000u + (uint32_t)number * 256;
		network->mask = 0xffffff00u;
		break;
	}
	case 1: {
		struct ports *ports = match->own;

		ports->count = (uint8_t)(number % PORTS + 1);
		for (int i = 0; i < ports->count; i++)
			ports->ports[i] = (uint16_t)(8000 + i);
		break;
	}
	case 2: {
		struct limit *limit = match->own;

		limit->rate = 10.5;
		limit->burst = number;
		limit->shared = limit;
		break;
	}
	case 3: {
		struct members *members = match->own;

		members->set = sets;
		members->dimension = 1;
		break;
	}
	default: {
		struct pattern *pattern = match->own;

		pattern->text = TEXT(strdup("GET /something"));
		pattern->length = 14;
		pattern->skips = NEW_ARRAY(int, SKIPS);
		for (int i = 0; i < SKIPS; i++)
			pattern->skips[i] = 14 - i;
	}
	}
	return match;
}

static void add_rule(struct rule **chain, int number)
{
	struct rule *rule = NEW_ZEROED(struct rule);

	for (int i = 0; i <= number % 3; i++) {
		struct match *match = match_new((number + i * 2) % MATCHES, number);

		match->next = rule->matches;
		rule->matches = match;
	}
	rule->handle = (uint64_t)number;
	rule->next = *chain;
	*chain = rule;
}

int main(void)
{
	const struct packet packet = { 1, 2, 8000, 6 };

	for (int i = 0; i < 6; i++) {
		struct set *set = NEW_ZEROED(struct set);

		set->name = TEXT(strdup("addresses"));
		set->from = (uint32_t)i * 1000;
		set->to = set->from + 500;
		set->next = sets;
		sets = set;
	}
	for (int i = 0; i < CHAINS * RULES; i++)
		add_rule(&chains[i % CHAINS], i);
	truth_capture();
	printf("%d\n", chains[0]->matches->operations->match(chains[0]->matches->own, &packet));
	return 0;
}
