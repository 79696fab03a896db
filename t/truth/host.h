// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HOST_H
#define HOST_H

// The interface of a host and its plugins: memory comes from the host, by a pointer to a function.

#include <stddef.h>

struct instance;

struct host {
	void *(*allocate)(size_t size);
	void (*emit)(struct instance *source, int kind, void *payload);
};

struct plugin {
	const char *name;
	void *(*create)(const struct host *host, struct instance *owner, int number);
	void (*run)(const struct host *host, struct instance *owner, void *state);
};

extern const struct plugin meter_plugin, store_plugin;

#endif
