// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Records without virtual functions in the containers of the standard library, and in
 * templates of the program's own: an index, a graph of counted references, a free list.
 */
#include "t/truth/truth.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#define NEW_OBJECT(T, ...) (static_cast<T *>(truth_log(new T(__VA_ARGS__), TRUTH_ARRAY, #T, 1)))

struct Address {
	std::string street;
	std::string city;
	unsigned number;
};

struct Order;

struct Person {
	Person(uint64_t identity, std::string full_name) : id(identity), name(std::move(full_name))
	{
	}
	uint64_t id;
	std::string name;
	std::unique_ptr<Address> home;
	std::vector<Order *> orders;
	Person *manager = nullptr;
};

struct Item {
	std::string title;
	unsigned cents;
	std::weak_ptr<Item> successor;
};

struct Order {
	Person *buyer;
	std::vector<std::shared_ptr<Item>> items;
	std::function<void(Order &)> on_paid;
	enum class State : uint8_t {
		open,
		paid,
		sent
	} state = State::open;
};

// A skip-less sorted list, and a tree, of the program's own.
template <typename Key, typename Value> class Tree
{
	struct Node {
		Key key;
		Value value;
		Node *left = nullptr, *right = nullptr;
		Node(const Key &k, const Value &v) : key(k), value(v)
		{
		}
	};

      public:
	void insert(const Key &key, const Value &value, const char *name)
	{
		Node **at = &root_;
		while (*at)
			at = key < (*at)->key ? &(*at)->left : &(*at)->right;
		*at = static_cast<Node *>(truth_log(new Node(key, value), TRUTH_ARRAY, name, 1));
		count_++;
	}
	size_t size() const
	{
		return count_;
	}

      private:
	Node *root_ = nullptr;
	size_t count_ = 0;
};

template <typename T> class Queue
{
	struct Cell {
		T item;
		Cell *next;
	};

      public:
	void push(const T &item, const char *name)
	{
		*last_ = static_cast<Cell *>(
			truth_log(new Cell{ item, nullptr }, TRUTH_ARRAY, name, 1));
		last_ = &(*last_)->next;
	}
	bool empty() const
	{
		return !first_;
	}

      private:
	Cell *first_ = nullptr, **last_ = &first_;
};

class Store
{
      public:
	Person *hire(uint64_t id)
	{
		auto *person = NEW_OBJECT(Person, id, "employee " + std::to_string(id));
		person->home.reset(NEW_OBJECT(Address, ));
		person->home->street = "A rather long street name, number " + std::to_string(id);
		person->home->city = "Town";
		person->home->number = static_cast<unsigned>(id % 100);
		person->manager = id ? by_id_[id / 2] : nullptr;
		people_.push_back(person);
		by_id_[id] = person;
		by_name_[person->name] = person;
		ages_.insert(static_cast<int>(id * 7919 % 1000), person,
			     "Tree<int, Person *>::Node");
		return person;
	}
	void stock(unsigned count)
	{
		for (unsigned i = 0; i < count; i++) {
			auto item = std::shared_ptr<Item>(NEW_OBJECT(Item, ));
			item->title = "item number " + std::to_string(i) + " of the catalogue";
			item->cents = i * 10;
			if (!items_.empty())
				items_.back()->successor = item;
			items_.push_back(item);
			prices_.insert(item->title, item->cents,
				       "Tree<std::string, unsigned int>::Node");
		}
	}
	void order(uint64_t id)
	{
		auto *order = NEW_OBJECT(Order, );
		order->buyer = by_id_[id];
		for (unsigned i = 0; i < 1 + id % 4; i++)
			order->items.push_back(items_[(id * 31 + i) % items_.size()]);
		order->on_paid = [this](Order &paid) {
			paid.state = Order::State::paid;
			paid_++;
		};
		order->buyer->orders.push_back(order);
		waiting_.push_back(order);
		if (id % 3 == 0)
			urgent_.push(order, "Queue<Order *>::Cell");
	}
	void pay(unsigned count)
	{
		while (count-- && !waiting_.empty()) {
			waiting_.front()->on_paid(*waiting_.front());
			waiting_.pop_front();
		}
	}
	size_t paid() const
	{
		return paid_ + (urgent_.empty() ? 0 : ages_.size() + prices_.size());
	}

      private:
	std::vector<Person *> people_;
	std::unordered_map<uint64_t, Person *> by_id_;
	std::map<std::string, Person *> by_name_;
	std::vector<std::shared_ptr<Item>> items_;
	std::list<Order *> waiting_;
	Tree<int, Person *> ages_;
	Tree<std::string, unsigned> prices_;
	Queue<Order *> urgent_;
	size_t paid_ = 0;
};

static Store store;

int main()
{
	for (uint64_t id = 0; id < 800; id++)
		store.hire(id);
	store.stock(500);
	for (uint64_t i = 0; i < 1500; i++)
		store.order(i * 17 % 800);
	store.pay(400);
	truth_capture();
	printf("%zu\n", store.paid());
	return 0;
}
