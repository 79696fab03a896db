// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A planner of routes: a graph of places and roads that own each other by unique_ptr, tables of
 * distances, caches by pairs, results by threads, plain structs beside classes with interfaces.
 */
#include "t/truth/library.h"
#include "t/truth/truth.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#define LOGGED(T, ...) (truth_made<T>(new T(__VA_ARGS__), #T))
#ifdef _LIBCPP_VERSION
enum {
	HASH_VALUE = 16
};
#else
enum {
	HASH_VALUE = 8
};
#endif

template <typename T> static T *truth_made(T *object, const char *type)
{
	truth_log(object, TRUTH_ARRAY, type, 1);
	return object;
}

struct Position {
	double latitude, longitude;
};

struct Road;

struct Place {
	Place(uint32_t id, std::string name, Position position);
	~Place();
	uint32_t id;
	std::string name;
	Position position;
	std::vector<std::unique_ptr<Road>> roads;
};

struct Road {
	Road(Place *from, Place *to, double length);
	Place *from, *to;
	double length;
	uint8_t lanes = 2;
};

__attribute__((noinline)) Place::Place(uint32_t number, std::string label, Position where)
    : id(number), name(std::move(label)), position(where)
{
}
__attribute__((noinline)) Place::~Place() = default;
__attribute__((noinline)) Road::Road(Place *a, Place *b, double l) : from(a), to(b), length(l)
{
}

// Interfaces, and what implements two of them.
struct Cost {
	virtual ~Cost() = default;
	virtual double of(const Road &road) const = 0;
};
struct Printable {
	virtual ~Printable() = default;
	virtual std::string print() const = 0;
};
struct Fastest : Cost, Printable {
	double of(const Road &road) const override
	{
		return road.length / road.lanes;
	}
	std::string print() const override
	{
		return "fastest";
	}
	double speed = 50;
};
struct Shortest final : Cost {
	double of(const Road &road) const override
	{
		return road.length;
	}
};

template <typename T> class Matrix
{
      public:
	Matrix(size_t rows, size_t columns)
	    : rows_(rows), columns_(columns), cells_(new T[rows * columns]())
	{
		truth_log(cells_, TRUTH_ARRAY, "double", rows * columns);
	}
	~Matrix()
	{
		truth_forget(cells_);
		delete[] cells_;
	}
	T &at(size_t row, size_t column)
	{
		return cells_[row * columns_ + column];
	}

      private:
	size_t rows_, columns_;
	T *cells_;
};

struct Query {
	Place *from, *to;
	const Cost *cost;
	std::vector<Road *> path;
	std::array<float, 6> timings{};
};

struct Hop {
	Hop *before;
	Place *place;
	double cost;
};

class Planner
{
      public:
	Planner()
	{
		for (int i = 0; i < 10; i++)
			costs_.push_back(i % 2 ? static_cast<Cost *>(LOGGED(Fastest, ))
					       : LOGGED(Shortest, ));
	}
	void build(uint32_t count)
	{
		for (uint32_t id = 0; id < count; id++) {
			auto place = std::unique_ptr<Place>(LOGGED(
				Place, id, "The town with the long name " + std::to_string(id),
				Position{ 50 + sin(id), 10 + cos(id) }));
			log_text(place->name);
			by_name_.insert({ place->name, place.get() });
			places_.emplace(id, std::move(place));
		}
		for (uint32_t id = 0; id < count; id++) {
			Place *from = places_[id].get();
			for (uint32_t j = 1; j <= 1 + id % 3; j++)
				from->roads.emplace_back(LOGGED(
					Road, from, places_[(id * 7 + j) % count].get(), id + j));
			log_at(from->roads.data(), 0, "std::unique_ptr<Road>|Road *",
			       from->roads.size());
		}
		distances_ = LOGGED(Matrix<double>, 50, 50);
	}
	void ask(uint32_t number)
	{
		auto *query = LOGGED(Query, );
		Hop *hop = nullptr;

		query->from = places_[number % places_.size()].get();
		query->to = places_[number * 13 % places_.size()].get();
		query->cost = costs_[number % costs_.size()];
		for (Place *at = query->from; query->path.size() < 1 + number % 5;) {
			Road *road = at->roads[number % at->roads.size()].get();
			query->path.push_back(road);
			Hop *next = LOGGED(Hop, );
			next->before = hop;
			next->place = at;
			next->cost = query->cost->of(*road);
			hop = next;
			at = road->to;
		}
		distances_->at(number % 50, number % 49) = hop->cost;
		cache_[{ query->from->id, query->to->id }] = hop;
		log_at(query->path.data(), 0, "Road *", query->path.size());
		queries_.push_back(std::unique_ptr<Query>(query));
		asked_.insert(query->from->name);
		if (number % 2)
			waiting_.push(query);
	}
	void log() const
	{
		for (auto &entry : places_)
			log_at(&entry, HASH_VALUE,
			       "std::__detail::_Hash_node<std::pair<unsigned int const, "
			       "std::unique_ptr<Place>>, false>|"
			       "std::__hash_node<std::__hash_value_type<unsigned int, "
			       "std::unique_ptr<Place>>, void *>");
		for (auto &entry : by_name_) {
			log_at(&entry, 32,
			       "std::_Rb_tree_node<std::pair<std::string const, Place *>>|"
			       "std::__tree_node<std::__value_type<std::string, Place *>, void *>");
			log_text(entry.first);
		}
		for (auto &entry : cache_)
			log_at(&entry, 32,
			       "std::_Rb_tree_node<std::pair<std::pair<unsigned int, unsigned int> "
			       "const, Hop *>>|"
			       "std::__tree_node<std::__value_type<std::pair<unsigned int, "
			       "unsigned int>, Hop *>, void *>");
		for (auto &name : asked_) {
			log_at(&name, HASH_VALUE,
			       "std::__detail::_Hash_node<std::string, "
			       "true>|std::__hash_node<std::string, void *>");
			log_text(name);
		}
		log_at(queries_.data(), 0, "std::unique_ptr<Query>|Query *", queries_.size());
		log_at(costs_.data(), 0, "Cost *", costs_.size());
	}
	size_t size() const
	{
		return places_.size() + waiting_.size();
	}

      private:
	std::unordered_map<uint32_t, std::unique_ptr<Place>> places_;
	std::map<std::string, Place *> by_name_;
	std::map<std::pair<uint32_t, uint32_t>, Hop *> cache_;
	std::unordered_set<std::string> asked_;
	std::vector<std::unique_ptr<Query>> queries_;
	std::vector<Cost *> costs_;
	std::queue<Query *> waiting_;
	Matrix<double> *distances_ = nullptr;
};

static Planner planner;

int main()
{
	planner.build(400);
	for (uint32_t i = 0; i < 500; i++)
		planner.ask(i);
	planner.log();
	truth_capture();
	printf("%zu\n", planner.size());
	return 0;
}
