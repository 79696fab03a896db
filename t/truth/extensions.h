// SPDX-License-Identifier: GPL-3.0-or-later
// A cache as its users see it: the last member is left out where it is not defined.
#ifndef EXTENSIONS_H
#define EXTENSIONS_H

#ifndef CACHE_PRIVATE
#define CACHE_PRIVATE
#endif

struct cached {
	struct cached *next;
	char *text;
	unsigned uses;
};

struct cache {
	char *name;
	unsigned count, limit;
	struct cached *newest;
	unsigned long numbers[10];
	CACHE_PRIVATE
};

struct cache *cache_create(const char *name);
void cache_add(struct cache *cache, const char *text);

#endif
