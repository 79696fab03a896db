// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The models of a scene, in arrays that grow by macros. Their length stands before them, in as many bytes as two of some
 * elements, and as a number of others. A scene points to many elements of one array.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	MODELS = 60,
	TREES = 5,
	DEPTH = 3,
	CHILDREN = 3,
};

struct head {
	size_t length, room;
	void *table;
	ptrdiff_t found;
};

#define HEAD(array) ((struct head *)(array)-1)

#define PUSH(array, T, value) \
	((array) = array_grow(array, sizeof(T), #T), (array)[HEAD(array)->length++] = (value))

struct place {
	float x, y, z;
};

struct face {
	int32_t corners[3];
	uint16_t material, flags;
};

struct model {
	const char *name;
	struct place *places;
	struct face *faces;
	float *weights;
	int *levels;
};

struct node {
	struct model *model;
	struct node **children;
	float matrix[16];
	char label[20];
};

struct node **scene;
struct model *models;

static void *array_grow(void *array, size_t size, const char *type)
{
	struct head *head = array ? HEAD(array) : NULL, *grown;
	size_t room = head ? head->room : 0;

	if (head && head->length < room)
		return array;
	room = room ? room * 2 : 4;
	truth_forget(head);
	grown = truth_log(realloc(head, sizeof(*grown) + room * size), TRUTH_BEHIND, type,
			  sizeof(*grown));
	if (!head)
		*grown = (struct head){ .length = 0 };
	grown->room = room;
	return grown + 1;
}

static float random_number(void)
{
	return (float)(next() % 1000) / 7;
}

static void add_model(int number)
{
	struct model model = { .name = NULL };
	char name[32];
	int places = 5 + (int)(next() % 40), faces = 5 + (int)(next() % 20);

	snprintf(name, sizeof(name), "model number %d", number);
	model.name = TEXT(strdup(name));
	for (int i = 0; i < places; i++) {
		struct place place = { (float)i, random_number(), random_number() };

		PUSH(model.places, struct place, place);
		if (i % 3 == 0)
			PUSH(model.weights, float, random_number());
	}
	for (int i = 0; i < faces; i++) {
		struct face face = { { i, i + 1, i + 2 }, (uint16_t)(i % 3), 1 };

		PUSH(model.faces, struct face, face);
	}
	PUSH(model.levels, int, number);
	PUSH(models, struct model, model);
}

static struct node *node_new(int depth)
{
	struct node *node = NEW_ZEROED(struct node);

	node->model = &models[next() % HEAD(models)->length];
	snprintf(node->label, sizeof(node->label), "node %d", depth);
	for (int i = 0; i < 16; i++)
		node->matrix[i] = i % 5 == 0 ? 1 : random_number();
	for (int i = 0; depth > 0 && i < CHILDREN; i++)
		PUSH(node->children, struct node *, node_new(depth - 1));
	return node;
}

int main(void)
{
	for (int i = 0; i < MODELS; i++)
		add_model(i);
	for (int i = 0; i < TREES; i++)
		PUSH(scene, struct node *, node_new(DEPTH));
	truth_capture();
	return 0;
}
