// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Vectors whose elements may as well be a larger struct that begins with one, vectors at the start of arenas, and
 * structs that begin with an object of a class of a library without debug information, some of which have leaked.
 */
#include "t/truth/library.h"
#include "t/truth/random.h"

#include <cstdint>
#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

enum {
	LEVELS = 40,
	TILES = 64,
	PATHS = 300,
	ARENA = 4096,
};

struct Vector3 {
	float x, y, z;
};

// As large as two of these, and begins with one.
struct Motion {
	Vector3 linear, angular;
};

struct Path {
	std::vector<Vector3> corners;
	Motion *motion;
	int number;
};

struct Decoration {
	Decoration *next;
	int sprite;
	float angle;
};

struct Tile {
	uint16_t kind;
	uint8_t height, flags;
	Decoration *decoration;
};

// Logs what an arena takes.
class Upstream : public std::pmr::memory_resource
{
      protected:
	void *do_allocate(size_t bytes, size_t alignment) override
	{
		void *block = std::pmr::new_delete_resource()->allocate(bytes, alignment);

		truth_log(block, TRUTH_POOL, "void", 0);
		return block;
	}
	void do_deallocate(void *block, size_t bytes, size_t alignment) override
	{
		truth_forget(block);
		std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
	}
	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}
};

static Upstream upstream;

// Begins with a class that it is not derived from.
struct Level {
	explicit Level(int of)
	    : arena(ARENA, &upstream), tiles(&arena), decorations(&arena), number(of)
	{
		tiles.resize(TILES);
		for (int i = 0; i < TILES; i += 3)
			decorate(i);
	}
	void decorate(int at)
	{
		void *room = arena.allocate(sizeof(Decoration), alignof(Decoration));
		auto *decoration = new (room) Decoration{ nullptr, at, at * 0.25f };

		if (!decorations.empty())
			decorations.back()->next = decoration;
		decorations.push_back(decoration);
		tiles[at].decoration = decoration;
		tiles[at].kind = static_cast<uint16_t>(at);
	}
	std::pmr::monotonic_buffer_resource arena;
	std::pmr::vector<Tile> tiles;
	std::pmr::vector<Decoration *> decorations;
	int number;
};

struct World {
	std::vector<Level *> levels;
	std::vector<Path *> paths;
};

static World *world;

static Path *make_path(int number)
{
	Path *path = OF(Path, new Path);
	int corners = 1 + static_cast<int>(next() % 5);

	path->number = number;
	for (int i = 0; i < corners; i++)
		path->corners.push_back({ i * 0.5f, static_cast<float>(number), 1 });
	if (number % 2)
		path->corners.shrink_to_fit();
	truth_log(path->corners.data(), TRUTH_ARRAY, "Vector3", path->corners.capacity());
	path->motion = nullptr;
	if (number % 5 == 0) {
		path->motion = OF(Motion, new Motion);
		path->motion->linear = { 1, 2, static_cast<float>(number) };
	}
	return path;
}

int main(void)
{
	size_t sum = 0;

	world = OF(World, new World);
	world->paths.reserve(PATHS);
	world->levels.reserve(LEVELS);
	ARRAY_OF(Path *, PATHS, world->paths.data());
	ARRAY_OF(Level *, LEVELS, world->levels.data());
	for (int i = 0; i < PATHS; i++)
		world->paths.push_back(make_path(i));
	for (int i = 0; i < LEVELS; i++) {
		Level *level = OF(Level, new Level(i));

		// One in four leaks.
		if (i % 4 > 0)
			world->levels.push_back(level);
	}
	truth_capture();
	for (const Level *level : world->levels)
		sum += level->tiles.size() + static_cast<size_t>(level->number);
	for (const Path *path : world->paths)
		sum += path->corners.size() + (path->motion ? 1 : 0);
	printf("%zu\n", sum);
	return 0;
}
