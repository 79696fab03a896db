// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRUTH_CLASSES_H
#define TRUTH_CLASSES_H

/**
 * Classes that are made as a program runs: a class is a block, with the functions that its objects have. Each program
 * makes its objects itself.
 */

#include "t/truth/truth.h"

#include <stdio.h>

struct class
{
	const char *name;
	size_t size;
	void (*clear)(void *object);
	void (*describe)(const void *object);
};

struct object {
	struct class *class;
	unsigned references;
};

static struct class *new_class(const char *name, size_t size, void (*clear)(void *object),
			       void (*describe)(const void *object))
{
	struct class *class = NEW(struct class);

	*class = (struct class){ name, size, clear, describe };
	return class;
}

static char *new_text(const char *word, unsigned number)
{
	char buffer[64];

	snprintf(buffer, sizeof(buffer), "%s number %u", word, number);
	return TEXT(strdup(buffer));
}

/** Describes and clears the first objects, so that these functions are in use. */
static void use_first(void **objects, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct object *object = objects[i];

		object->class->describe(object);
		object->class->clear(object);
	}
}

#endif
