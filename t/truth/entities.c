// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The entities of a game: archetypes with a column for each component, whose elements are behind a void pointer
 * beside the component's number and size. Systems iterate over columns, a spatial grid lists entities, commands
 * that change archetypes wait in a queue, and prefabs are blobs of several components.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum component {
	COMPONENT_TRANSFORM,
	COMPONENT_VELOCITY,
	COMPONENT_SPRITE,
	COMPONENT_HEALTH,
	COMPONENT_BRAIN,
	COMPONENT_INVENTORY,
	COMPONENTS
};

typedef uint32_t entity;

struct transform {
	float position[3], rotation[4], scale;
};

struct velocity {
	float linear[3], angular;
};

struct texture {
	char *path;
	uint16_t width, height;
	unsigned users;
	uint8_t *pixels;
};

struct sprite {
	struct texture *texture;
	uint16_t frame, frames;
	float elapsed;
};

struct health {
	int32_t points, most;
	entity last_attacker;
};

struct behaviour {
	const char *name;
	struct behaviour *children[4];
	unsigned count;
	bool (*run)(struct behaviour *, entity);
};

struct brain {
	struct behaviour *tree;
	entity target;
	float *path;
	unsigned path_length;
	double next_decision;
};

struct item {
	const char *name;
	struct item *next;
	unsigned amount, durability;
};

struct inventory {
	struct item *items;
	uint32_t weight, gold;
};

struct column {
	enum component kind;
	uint32_t stride;
	void *data;
};

struct archetype {
	uint64_t mask;
	uint32_t count, capacity;
	unsigned column_count;
	struct column *columns;
	entity *entities;
	struct archetype *with[COMPONENTS], *without[COMPONENTS];
};

struct place {
	struct archetype *archetype;
	uint32_t row, generation;
};

struct cell {
	entity *members;
	unsigned count, capacity;
};

enum command_kind {
	COMMAND_ADD,
	COMMAND_REMOVE,
	COMMAND_DESTROY
};

struct command {
	struct command *next;
	enum command_kind kind;
	entity entity;
	enum component component;
	void *value;
};

struct world {
	struct archetype **archetypes;
	unsigned archetype_count, archetype_capacity;
	struct place *places;
	uint32_t entity_count, entity_capacity;
	struct cell *grid;
	unsigned grid_width;
	struct texture *textures[16];
	struct behaviour *behaviours;
	struct command *commands, **commands_end;
};

static const size_t sizes[COMPONENTS] = {
	[COMPONENT_TRANSFORM] = sizeof(struct transform),
	[COMPONENT_VELOCITY] = sizeof(struct velocity),
	[COMPONENT_SPRITE] = sizeof(struct sprite),
	[COMPONENT_HEALTH] = sizeof(struct health),
	[COMPONENT_BRAIN] = sizeof(struct brain),
	[COMPONENT_INVENTORY] = sizeof(struct inventory),
};

static const char *const names[COMPONENTS] = {
	"struct transform", "struct velocity", "struct sprite",
	"struct health",    "struct brain",    "struct inventory",
};

static struct archetype *find_archetype(struct world *world, uint64_t mask)
{
	struct archetype *archetype;
	unsigned filled = 0;

	for (unsigned i = 0; i < world->archetype_count; i++) {
		if (world->archetypes[i]->mask == mask)
			return world->archetypes[i];
	}
	if (world->archetype_count == world->archetype_capacity) {
		world->archetype_capacity = world->archetype_capacity * 2 + 4;
		world->archetypes = RENEW_ARRAY(struct archetype *, world->archetypes,
						world->archetype_capacity);
	}
	archetype = NEW_ZEROED(struct archetype);
	archetype->mask = mask;
	archetype->column_count = (unsigned)__builtin_popcountll(mask);
	archetype->columns = NEW_ZEROED_ARRAY(struct column, archetype->column_count);
	for (unsigned kind = 0; kind < COMPONENTS; kind++) {
		if (mask & 1u << kind)
			archetype->columns[filled++] =
				(struct column){ kind, (uint32_t)sizes[kind], NULL };
	}
	world->archetypes[world->archetype_count++] = archetype;
	return archetype;
}

static void grow(struct archetype *archetype)
{
	archetype->capacity = archetype->capacity ? archetype->capacity * 2 : 8;
	archetype->entities = RENEW_ARRAY(entity, archetype->entities, archetype->capacity);
	for (unsigned i = 0; i < archetype->column_count; i++) {
		struct column *column = &archetype->columns[i];
		int forgotten = truth_forget(column->data);

		column->data = truth_moved(
			forgotten,
			realloc(column->data, (size_t)archetype->capacity * column->stride),
			TRUTH_ARRAY, names[column->kind], archetype->capacity);
	}
}

static void *get(struct world *world, entity entity, enum component kind)
{
	struct place *place = &world->places[entity];

	for (unsigned i = 0; i < place->archetype->column_count; i++) {
		struct column *column = &place->archetype->columns[i];

		if (column->kind == kind)
			return (char *)column->data + (size_t)place->row * column->stride;
	}
	return NULL;
}

static entity create(struct world *world, uint64_t mask)
{
	struct archetype *archetype = find_archetype(world, mask);
	entity made = world->entity_count++;

	if (made == world->entity_capacity) {
		world->entity_capacity = world->entity_capacity * 2 + 64;
		world->places = RENEW_ARRAY(struct place, world->places, world->entity_capacity);
	}
	if (archetype->count == archetype->capacity)
		grow(archetype);
	for (unsigned i = 0; i < archetype->column_count; i++) {
		struct column *column = &archetype->columns[i];

		memset((char *)column->data + (size_t)archetype->count * column->stride, 0,
		       column->stride);
	}
	archetype->entities[archetype->count] = made;
	world->places[made] = (struct place){ archetype, archetype->count++, 1 };
	return made;
}

static struct texture *load(struct world *world, unsigned number)
{
	char path[64];
	struct texture *texture = world->textures[number];

	if (!texture) {
		texture = NEW(struct texture);
		snprintf(path, sizeof(path), "assets/sprites/character-%u.png", number);
		*texture = (struct texture){ TEXT(strdup(path)), 32, (uint16_t)(16 + number), 0,
					     NULL };
		texture->pixels = NEW_ARRAY(uint8_t, 32u * texture->height * 4);
		for (unsigned i = 0; i < 32u * texture->height * 4; i++)
			texture->pixels[i] = (uint8_t)next();
		world->textures[number] = texture;
	}
	texture->users++;
	return texture;
}

static bool wander(struct behaviour *self, entity entity)
{
	return entity % 7 == self->count;
}

static bool sequence(struct behaviour *self, entity entity)
{
	for (unsigned i = 0; i < self->count; i++) {
		if (!self->children[i]->run(self->children[i], entity))
			return false;
	}
	return true;
}

static struct behaviour *plan(unsigned depth)
{
	struct behaviour *behaviour = NEW_ZEROED(struct behaviour);

	behaviour->name = depth ? "sequence" : "wander";
	behaviour->run = depth ? sequence : wander;
	for (; depth && behaviour->count < 3; behaviour->count++)
		behaviour->children[behaviour->count] = plan(depth - 1);
	return behaviour;
}

static void give(struct inventory *inventory, const char *name)
{
	struct item *item = NEW(struct item);

	*item = (struct item){ name, inventory->items, 1 + next() % 9, 100 };
	inventory->items = item;
	inventory->weight += item->amount;
}

static void populate(struct world *world, unsigned count)
{
	static const uint64_t masks[] = { 0x03, 0x07, 0x0f, 0x1f, 0x2d, 0x3f, 0x05, 0x0d };

	for (unsigned i = 0; i < count; i++) {
		entity made = create(world, masks[next() % 8]);
		struct transform *transform = get(world, made, COMPONENT_TRANSFORM);
		struct sprite *sprite = get(world, made, COMPONENT_SPRITE);
		struct health *health = get(world, made, COMPONENT_HEALTH);
		struct brain *brain = get(world, made, COMPONENT_BRAIN);
		struct velocity *velocity = get(world, made, COMPONENT_VELOCITY);
		struct inventory *inventory = get(world, made, COMPONENT_INVENTORY);

		*transform = (struct transform){
			{ (float)(next() % 640), (float)(next() % 480), 0 }, { 0, 0, 0, 1 }, 1
		};
		if (velocity)
			velocity->linear[0] = (float)(next() % 100) / 10;
		if (sprite)
			*sprite = (struct sprite){ load(world, next() % 16), 0, 8, 0 };
		if (health)
			*health = (struct health){ 100, 100, made / 2 };
		if (brain) {
			brain->tree = world->behaviours->children[next() % 3];
			brain->path_length = 2 + next() % 12;
			brain->path = NEW_ZEROED_ARRAY(float, brain->path_length * 2);
			brain->next_decision = (double)next() / 1e19;
		}
		for (unsigned j = 0; inventory && j < next() % 5; j++)
			give(inventory, j ? "a rusty sword" : "a lamp");
	}
}

static void move(struct archetype *archetype, float seconds)
{
	struct transform *transforms = NULL;
	struct velocity *velocities = NULL;

	for (unsigned i = 0; i < archetype->column_count; i++) {
		if (archetype->columns[i].kind == COMPONENT_TRANSFORM)
			transforms = archetype->columns[i].data;
		else if (archetype->columns[i].kind == COMPONENT_VELOCITY)
			velocities = archetype->columns[i].data;
	}
	for (uint32_t row = 0; transforms && velocities && row < archetype->count; row++) {
		for (int axis = 0; axis < 3; axis++)
			transforms[row].position[axis] += velocities[row].linear[axis] * seconds;
		transforms[row].rotation[2] = sinf(velocities[row].angular);
	}
}

static void index_entities(struct world *world)
{
	world->grid_width = 16;
	world->grid = NEW_ZEROED_ARRAY(struct cell, 16 * 16);
	for (entity i = 0; i < world->entity_count; i++) {
		struct transform *transform = get(world, i, COMPONENT_TRANSFORM);
		unsigned x = (unsigned)transform->position[0] / 40 % 16;
		unsigned y = (unsigned)transform->position[1] / 30 % 16;
		struct cell *cell = &world->grid[y * 16 + x];

		if (cell->count == cell->capacity) {
			cell->capacity = cell->capacity * 2 + 2;
			cell->members = RENEW_ARRAY(entity, cell->members, cell->capacity);
		}
		cell->members[cell->count++] = i;
	}
}

static void command(struct world *world, entity entity, enum component component)
{
	struct command *command = NEW_ZEROED(struct command);

	command->kind = COMMAND_ADD;
	command->entity = entity;
	command->component = component;
	command->value = truth_log(calloc(1, sizes[component]), TRUTH_ARRAY, names[component], 1);
	if (component == COMPONENT_SPRITE)
		((struct sprite *)command->value)->texture = load(world, entity % 16);
	if (component == COMPONENT_HEALTH)
		((struct health *)command->value)->points = 50;
	*world->commands_end = command;
	world->commands_end = &command->next;
}

static struct world *create_world(void)
{
	struct world *world = NEW_ZEROED(struct world);

	world->commands_end = &world->commands;
	world->behaviours = plan(3);
	return world;
}

int main(void)
{
	struct world *world = create_world();

	populate(world, 6000);
	for (unsigned i = 0; i < world->archetype_count; i++)
		move(world->archetypes[i], 0.016f);
	index_entities(world);
	for (unsigned i = 0; i < 500; i++)
		command(world, (entity)(next() % 6000), next() % COMPONENTS);
	truth_capture();
	printf("%d\n", world->behaviours->run(world->behaviours, world->entity_count));
	return 0;
}
