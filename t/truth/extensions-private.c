// SPDX-License-Identifier: GPL-3.0-or-later
#define CACHE_PRIVATE unsigned long hits, misses;
#include "t/truth/extensions.h"

#include "t/truth/truth.h"

struct cache *cache_create(const char *name)
{
	struct cache *cache = NEW_ZEROED(struct cache);

	cache->name = TEXT(strdup(name));
	cache->misses = 1;
	return cache;
}

void cache_add(struct cache *cache, const char *text)
{
	struct cached *cached = NEW_ZEROED(struct cached);

	cached->text = TEXT(strdup(text));
	cached->next = cache->newest;
	cache->newest = cached;
	cache->hits += ++cache->count;
}
