// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory managed by the program: slabs of equal objects with a free list, an arena of
 * chunks for everything that lives as long as a request, an obstack-like string pool.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct slab {
	struct slab *next;
	unsigned used, total;
	void *free;
	_Alignas(16) char data[];
};

struct cache {
	const char *name;
	size_t size;
	struct slab *slabs;
};

struct chunk {
	struct chunk *previous;
	char *at, *end;
};

struct arena {
	struct chunk *current;
	size_t total;
};

struct rule {
	struct rule *next;
	const char *pattern;
	int priority;
	struct action *actions;
};

struct action {
	struct action *next;
	uint32_t opcode;
	uint32_t argument;
};

struct flow {
	struct flow *next;
	struct rule *rule;
	uint64_t packets, bytes;
	uint32_t key[5];
};

struct particle { // in a bare malloc'ed region, by index and by pointer
	float position[3], speed[3];
	struct particle *nearest;
	struct flow *flow;
};

static struct cache flows = { "flows", sizeof(struct flow), NULL };
static struct arena arena;
static struct rule *rules;
static struct flow *table[128];
static struct particle *particles;

static void *cache_get(struct cache *cache)
{
	struct slab *slab = cache->slabs;
	void *object;

	if (!slab || (!slab->free && slab->used == slab->total)) {
		slab = POOL(struct slab, malloc(sizeof(struct slab) + 64 * cache->size));
		slab->next = cache->slabs;
		slab->used = 0;
		slab->total = 64;
		slab->free = NULL;
		cache->slabs = slab;
	}
	if (slab->free) {
		object = slab->free;
		slab->free = *(void **)object;
		return object;
	}
	return slab->data + cache->size * slab->used++;
}

static void cache_put(struct cache *cache, void *object)
{
	*(void **)object = cache->slabs->free;
	cache->slabs->free = object;
}

static void *arena_get(struct arena *from, size_t size)
{
	struct chunk *chunk = from->current;
	void *block;

	size = (size + 15) & ~(size_t)15;
	if (!chunk || (size_t)(chunk->end - chunk->at) < size) {
		size_t room = size > 8000 ? size : 8000;
		chunk = (struct chunk *)POOL(struct chunk, malloc(sizeof(struct chunk) + room));
		chunk->previous = from->current;
		chunk->at = (char *)(chunk + 1);
		chunk->end = chunk->at + room;
		from->current = chunk;
		from->total += room;
	}
	block = chunk->at;
	chunk->at += size;
	return block;
}

static const char *arena_text(struct arena *from, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(PART(char, arena_get(from, size)), text, size);
}

static struct rule *rule_add(int number)
{
	struct rule *rule = PART(struct rule, arena_get(&arena, sizeof(*rule)));
	char pattern[40];

	snprintf(pattern, sizeof(pattern), "10.%d.0.0/16 -> any", number);
	rule->pattern = arena_text(&arena, pattern);
	rule->priority = number;
	rule->actions = NULL;
	for (int i = 0; i < number % 4; i++) {
		struct action *action = PART(struct action, arena_get(&arena, sizeof(*action)));
		action->next = rule->actions;
		action->opcode = (uint32_t)i;
		action->argument = 7;
		rule->actions = action;
	}
	rule->next = rules;
	rules = rule;
	return rule;
}

static struct flow *flow_get(uint32_t source, uint32_t target)
{
	struct flow **bucket = &table[(source ^ target) % 128];
	struct flow *flow;

	for (flow = *bucket; flow; flow = flow->next)
		if (flow->key[0] == source && flow->key[1] == target)
			return flow;
	flow = PART(struct flow, cache_get(&flows));
	memset(flow, 0, sizeof(*flow));
	flow->key[0] = source;
	flow->key[1] = target;
	flow->next = *bucket;
	*bucket = flow;
	return flow;
}

static void flow_drop(unsigned bucket)
{
	struct flow *flow = table[bucket];

	if (!flow)
		return;
	table[bucket] = flow->next;
	PART_FREE(flow);
	cache_put(&flows, flow);
}

int main(void)
{
	struct rule *rule;

	for (int i = 0; i < 900; i++)
		rule_add(i);
	rule = rules;
	for (uint32_t i = 0; i < 3000; i++) {
		struct flow *flow = flow_get(i % 700, i * 17 % 1100);
		flow->rule = rule;
		flow->packets++;
		flow->bytes += i;
		rule = rule->next ? rule->next : rules;
		if (i % 50 == 0)
			flow_drop(i % 128);
	}
	particles = NEW_ARRAY(struct particle, 2000);
	for (int i = 0; i < 2000; i++) {
		memset(&particles[i], 0, sizeof(particles[i]));
		particles[i].position[0] = (float)i;
		particles[i].nearest = &particles[i * 7 % 2000];
		particles[i].flow = table[i % 128];
	}
	truth_capture();
	printf("%zu bytes, %g\n", arena.total, particles[arena.total % 2000].position[0]);
	return 0;
}
