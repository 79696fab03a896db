// SPDX-License-Identifier: GPL-3.0-or-later
/* Shared by app.c, other.c and library.c; see t/lib/Forms.pm. */
#ifndef SHARED_H
#define SHARED_H

#include <stdlib.h>

// The pointer is still needed here, and what it points to may have changed.
#define KEEP(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

struct engine; // defined in library.c alone
struct part;   // defined in other.c alone

struct node { // each source has this one
	struct node *next;
	long value;
};

struct session { // type: session
	struct session *next;
	struct engine *engine;
	struct part *part;
	char name[24];
};

extern struct session *sessions;
extern struct node *other_list;

struct session *session_new(const char *name);
struct engine *engine_new(int cylinders);
void other_fill(void);
void other_wait(struct session *held);

// Each unit has a copy, inlined.
static inline __attribute__((always_inline)) struct node *node_push(struct node *list, long value)
{
	struct node *node = malloc(sizeof(*node)); // site: node_push

	node->next = list;
	node->value = value;
	return node;
}

#endif
