// SPDX-License-Identifier: GPL-3.0-or-later
// A shop in modern C++: a cache that evicts nothing, listeners that nobody removes, cycles of shared pointers.
// libc has a variable `cache`, too.
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shop
{
struct Product {
	std::string name;
	double price;
};

class Cache
{
      public:
	std::unordered_map<std::string, std::shared_ptr<Product>> entries;
	void add(int number)
	{
		std::string key = "/products/with/a/long/key/" + std::to_string(number);
		auto product = std::make_shared<Product>();

		product->name = "product " + std::to_string(number);
		product->price = number * 1.5;
		entries.emplace(key, product);
	}
};

struct Node {
	std::string label;
	std::shared_ptr<Node> peer;
};

class Listener
{
      public:
	virtual ~Listener() = default;
	virtual void on(int event) = 0;
};

class Window : public Listener
{
      public:
	explicit Window(int n) : title("the title of window number " + std::to_string(n)), number(n)
	{
	}
	void on(int event) override
	{
		number += event;
	}
	std::string title;
	int number;
};

struct Bus {
	std::vector<std::shared_ptr<Listener>> listeners;
	std::list<std::function<void(int)>> callbacks;
};

struct Order {
	int id;
	std::optional<std::string> note;
	std::variant<int, std::string> value;
};

struct Customer {
	std::string name;
	std::map<int, Order> orders;
	std::set<int> favourites;
	std::deque<std::string> log;
	std::unique_ptr<Product> wish;
};

std::map<int, std::unique_ptr<Customer>> customers;
Cache cache;
Bus bus;
std::shared_ptr<int> counter;
std::deque<long> numbers; // 100 of them: two chunks, neither of which is wasted

__attribute__((noinline)) void make_cycle(int n)
{
	auto a = std::make_shared<Node>(), b = std::make_shared<Node>();

	a->label = "a node with quite a long label, number " + std::to_string(n);
	a->peer = b;
	b->peer = a;
}

__attribute__((noinline)) void open_window(int n)
{
	auto window = std::make_shared<Window>(n);

	bus.listeners.push_back(window);
	bus.callbacks.push_back([window, n](int k) { window->number += n + k; });
}

__attribute__((noinline)) void add_customer(int n)
{
	auto customer = std::make_unique<Customer>();

	customer->name = "the customer with number " + std::to_string(n);
	for (int k = 0; k < 5; k++) {
		Order order{ n * 10 + k, std::nullopt, k };

		if (k == 1)
			order.note = "please ring the bell twice, thanks";
		if (k == 3)
			order.value = std::string("a value that is a long string");
		customer->orders.emplace(order.id, order);
		customer->favourites.insert(k * 2);
		customer->log.push_back("a line of the log of this customer, number " +
					std::to_string(k));
	}
	customer->wish = std::make_unique<Product>();
	customer->wish->price = n;
	customers.emplace(n, std::move(customer));
}
} // namespace shop

namespace left
{
int *twin;
}

namespace right
{
int *twin;
}

int main()
{
	for (int i = 0; i < 40; i++)
		shop::cache.add(i);
	for (int i = 0; i < 20; i++)
		shop::open_window(i);
	for (int i = 0; i < 10; i++)
		shop::make_cycle(i);
	for (int i = 0; i < 30; i++)
		shop::add_customer(i);
	for (long i = 0; i < 100; i++)
		shop::numbers.push_back(i);
	shop::counter = std::make_shared<int>(1234);
	left::twin = new int(1);
	right::twin = new int(2);
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
