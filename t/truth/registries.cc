// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A registry of components: one set for each class of them, with the components in one array, and pages of numbers that tell the
 * place in it. Pages are as large as an array whose elements begin with a number, too. The program counts what it frees.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <memory>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

static size_t freed;

void operator delete(void *block) noexcept
{
	freed++;
	free(block);
}

void operator delete[](void *block) noexcept
{
	freed++;
	free(block);
}

void operator delete(void *block, size_t) noexcept
{
	freed++;
	free(block);
}

void operator delete[](void *block, size_t) noexcept
{
	freed++;
	free(block);
}

struct Sparse {
	virtual ~Sparse() = default;
	virtual void log() = 0;
	std::vector<uint32_t> dense;
	std::vector<uint32_t *> pages;
};

template <class T> const char *name();

template <class T> struct SparseOf : Sparse {
	std::vector<T> data;
	static constexpr size_t PAGE = 256;

	void put(uint32_t entity, T component)
	{
		size_t page = entity / PAGE;

		while (pages.size() <= page)
			pages.push_back(nullptr);
		if (!pages[page])
			pages[page] = new uint32_t[PAGE]();
		pages[page][entity % PAGE] = dense.size();
		dense.push_back(entity);
		data.push_back(std::move(component));
	}

	void log() override
	{
		truth_log(dense.data(), TRUTH_ARRAY, "unsigned int", dense.capacity());
		truth_log(pages.data(), TRUTH_ARRAY, "unsigned int *", pages.capacity());
		truth_log(data.data(), TRUTH_ARRAY, name<T>(), data.capacity());
		for (uint32_t *page : pages)
			truth_log(page, TRUTH_ARRAY, "unsigned int", PAGE);
	}
};

struct Position {
	float x, y;
};

struct Velocity {
	float dx, dy;
};

struct Name {
	std::string text;
};

struct Inventory {
	std::vector<uint16_t> items;
	int gold;
};

struct Target {
	uint32_t who;
	int *count;
};

template <> const char *name<Position>()
{
	return "Position";
}

template <> const char *name<Velocity>()
{
	return "Velocity";
}

template <> const char *name<Name>()
{
	return "Name";
}

template <> const char *name<Inventory>()
{
	return "Inventory";
}

template <> const char *name<Target>()
{
	return "Target";
}

struct Registry {
	std::unordered_map<std::type_index, std::unique_ptr<Sparse>> sets;

	template <class T> void add(uint32_t entity, T component)
	{
		auto &set = sets[typeid(T)];

		if (!set)
			set.reset(new SparseOf<T>());
		static_cast<SparseOf<T> &>(*set).put(entity, std::move(component));
	}
};

int main()
{
	Registry registry;

	for (uint32_t i = 0; i < 600; i++) {
		registry.add(i, Position{ i * 1.f, 2 });
		if (i % 2)
			registry.add(i, Velocity{ 1, 2 });
		if (i % 5 == 0)
			registry.add(i, Name{ "entity with a long name " + std::to_string(i) });
		if (i % 9 == 0)
			registry.add(i, Inventory{ std::vector<uint16_t>(i % 20, 7), int(i) });
		if (i % 11 == 0)
			registry.add(i, Target{ i / 2, new int(3) });
	}
	for (auto &set : registry.sets)
		set.second->log();
	truth_capture();
	return registry.sets.size() == 5 && freed > 0 ? 0 : 1;
}
