// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A game's world: entities of components, arrays by new[] of types with destructors, variants,
 * events in a deque, handlers as lambdas, a curiously recurring base, virtual bases.
 */
#include "t/truth/truth.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#define NEW_OBJECT(T, ...) (static_cast<T *>(truth_log(new T(__VA_ARGS__), TRUTH_ARRAY, #T, 1)))

// The block of new[] begins before the array where its elements must be destroyed.
#define NEW_OBJECTS(T, n) (static_cast<T *>(log_array(new T[n], #T, n)))

static void *log_array(void *array, const char *type, size_t count)
{
	truth_log(static_cast<char *>(array) - sizeof(size_t), TRUTH_ARRAY, type, count);
	return array;
}

struct Vector {
	float x = 0, y = 0, z = 0;
};

struct Component {
	virtual ~Component() = default;
	virtual void update(float seconds) = 0;
	class Entity *owner = nullptr;
};

template <typename Derived> struct Counted : Component {
	static unsigned count;
	Counted()
	{
		count++;
	}
};
template <typename Derived> unsigned Counted<Derived>::count;

struct Body : Counted<Body> {
	Vector position, speed;
	void update(float seconds) override
	{
		position.x += speed.x * seconds;
	}
};

struct Health : Counted<Health> {
	int points = 100;
	std::optional<uint64_t> last_hit;
	void update(float) override
	{
		if (points < 100)
			points++;
	}
};

struct Inventory : Counted<Inventory> {
	std::set<std::string> items;
	void update(float) override
	{
	}
};

class Entity
{
      public:
	Entity(uint32_t id, Entity *parent) : id_(id), parent_(parent)
	{
		if (parent)
			parent->children_.insert(this);
	}
	template <typename T> void add(T *component)
	{
		component->owner = this;
		components_.emplace_back(component);
	}
	void update(float seconds)
	{
		for (auto &component : components_)
			component->update(seconds);
	}
	uint32_t id() const
	{
		return id_;
	}

      private:
	uint32_t id_;
	Entity *parent_;
	std::vector<std::unique_ptr<Component>> components_;
	std::unordered_set<Entity *> children_;
};

struct Tile {
	uint8_t kind = 0;
	std::vector<Entity *> here;
	~Tile() = default;
};

struct Chunk {
	int x, y;
	Tile *tiles; // 64, by new[]
	std::array<Chunk *, 4> neighbours{};
};

struct Moved {
	Entity *who;
	Vector to;
};
struct Said {
	Entity *who;
	std::string what;
};
using Event = std::variant<Moved, Said>;

struct Resource {
	virtual ~Resource() = default;
	std::string path;
};
struct Texture : virtual Resource {
	unsigned width = 64;
};
struct Sound : virtual Resource {
	double seconds = 1.5;
};
struct Film : Texture, Sound {
	int frames = 25;
};

class World
{
      public:
	World()
	{
		for (int i = 0; i < 30; i++) {
			Chunk *chunk = NEW_OBJECT(Chunk, );
			chunk->x = i % 6;
			chunk->y = i / 6;
			chunk->tiles = NEW_OBJECTS(Tile, 64);
			if (i)
				chunk->neighbours[0] = chunks_.back();
			chunks_.push_back(chunk);
		}
	}
	void populate(uint32_t count)
	{
		for (uint32_t id = 0; id < count; id++) {
			Entity *entity = NEW_OBJECT(Entity, id, id ? entities_[id / 3] : nullptr);
			Body *body = NEW_OBJECT(Body, );
			body->speed.x = static_cast<float>(id);
			entity->add(body);
			if (id % 2)
				entity->add(NEW_OBJECT(Health, ));
			if (id % 3 == 0) {
				Inventory *inventory = NEW_OBJECT(Inventory, );
				inventory->items.insert("a sword with the number " +
							std::to_string(id));
				entity->add(inventory);
			}
			chunks_[id % 30]->tiles[id % 64].here.push_back(entity);
			entities_.push_back(entity);
		}
	}
	void load(unsigned count)
	{
		for (unsigned i = 0; i < count; i++) {
			Resource *resource;
			if (i % 3 == 0)
				resource = NEW_OBJECT(Texture, );
			else if (i % 3 == 1)
				resource = NEW_OBJECT(Sound, );
			else
				resource = NEW_OBJECT(Film, );
			resource->path = "/assets/of/the/game/" + std::to_string(i);
			resources_.push_back(resource);
		}
	}
	void listen(std::function<void(const Event &)> handler)
	{
		handlers_.push_back(std::move(handler));
	}
	void run(unsigned ticks)
	{
		for (unsigned i = 0; i < ticks; i++) {
			Entity *entity = entities_[i % entities_.size()];
			entity->update(0.1f);
			if (i % 4)
				events_.emplace_back(Moved{ entity, {} });
			else
				events_.emplace_back(Said{ entity, "a sentence of the entity " +
									   std::to_string(i) });
			if (events_.size() > 300) {
				for (auto &handler : handlers_)
					handler(events_.front());
				events_.pop_front();
			}
		}
	}
	size_t size() const
	{
		return entities_.size() + resources_.size() + Counted<Body>::count;
	}

      private:
	std::vector<Chunk *> chunks_;
	std::vector<Entity *> entities_;
	std::vector<Resource *> resources_;
	std::deque<Event> events_;
	std::vector<std::function<void(const Event &)>> handlers_;
};

int main()
{
	auto world = std::unique_ptr<World>(NEW_OBJECT(World, ));
	size_t heard[3] = { 0, 0, 0 };

	world->populate(600);
	world->load(300);
	for (size_t i = 0; i < 3; i++)
		world->listen([&heard, i, name = std::string("listener")](const Event &event) {
			heard[i] += event.index() + name.size();
		});
	world->run(1000);
	truth_capture();
	printf("%zu %zu\n", world->size(), heard[0]);
	return 0;
}
