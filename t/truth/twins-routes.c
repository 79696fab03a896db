// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/truth/truth.h"

#include <stdint.h>

struct entry {
	struct entry *zero, *one;
	uint32_t prefix;
	uint8_t bits;
	struct hop *hop;
};

struct hop {
	uint32_t address;
	char interface[12];
	unsigned uses;
};

struct table {
	struct entry *root;
	struct hop *hops[16];
	unsigned count;
};

static struct table *table;

static void add(uint32_t prefix, uint8_t bits, struct hop *hop)
{
	struct entry **at = &table->root;

	for (uint8_t i = 0; i <= bits; i++) {
		if (!*at) {
			*at = (struct entry *)truth_log(calloc(1, sizeof(struct entry)),
							TRUTH_ARRAY,
							"struct entry (twins-routes.c)", 1);
			(*at)->bits = i;
			(*at)->prefix = prefix;
			table->count++;
		}
		if (i == bits)
			break;
		at = prefix >> (31 - i) & 1 ? &(*at)->one : &(*at)->zero;
	}
	(*at)->hop = hop;
	hop->uses++;
}

void routes_fill(unsigned count)
{
	table = (struct table *)truth_log(calloc(1, sizeof(struct table)), TRUTH_ARRAY,
					  "struct table (twins-routes.c)", 1);
	for (unsigned i = 0; i < 16; i++) {
		table->hops[i] = NEW_ZEROED(struct hop);
		table->hops[i]->address = 0x0a000001 + i;
		memcpy(table->hops[i]->interface, "eth0", 5);
	}
	for (unsigned i = 0; i < count; i++)
		add(i * 2654435761u, (uint8_t)(8 + i % 5), table->hops[i % 16]);
}

unsigned routes_count(void)
{
	return table->count;
}
