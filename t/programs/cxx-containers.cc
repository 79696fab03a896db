// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -std=c++17
// Each of the standard library's containers, as a global, as a member, and in another
// container. t/end-to-end/cxx.t has the numbers, and builds it in several ways.
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

struct item {
	int number;
	double price;
	item *related;
};

struct address {
	std::string street;
	int house;
};

struct customer {
	std::string name;
	std::vector<address> addresses;
	std::map<std::string, int> orders;
	std::optional<int> age;
	std::unique_ptr<item> basket;
	std::shared_ptr<address> home;
	std::array<short, 3> codes;
};

struct folder {
	int id;
	std::vector<folder> children;
};

struct noisy {
	long value = 5;
	~noisy()
	{
		value = 0;
	}
};

static const char text[] = "a text that is far too long for the small buffer";

std::string g_short = "short";
std::string g_long = text;
std::string g_empty;
std::u16string g_wide = u"wide";
std::vector<int> g_numbers;
std::vector<int> g_no_numbers;
std::vector<item> g_items;
std::vector<std::string> g_strings;
std::vector<bool> g_bits;
std::map<int, std::string> g_names;
std::map<std::string, item> g_by_name;
std::set<int> g_set;
std::multimap<int, double> g_multi;
std::unordered_map<int, int> g_hash;
std::unordered_map<std::string, item> g_hash_by_name;
std::unordered_set<long> g_hash_set;
std::list<item> g_list;
std::forward_list<int> g_forward;
std::deque<int> g_deque;
std::pair<int, std::string> g_pair(3, "three");
std::tuple<int, double, std::string> g_tuple(4, 2.5, "four");
std::optional<item> g_some = item{ 8, 1.25, nullptr };
std::optional<item> g_none;
std::variant<int, std::string> g_variant = std::string("variant");
std::shared_ptr<item> g_made;
std::shared_ptr<item> g_adopted;
std::shared_ptr<item> g_made_too;
std::weak_ptr<item> g_weak;
std::unique_ptr<item> g_owned;
std::unique_ptr<int[]> g_owned_array;
std::function<int(int)> g_small_function;
std::function<int(int)> g_large_function;
std::function<int(int)> g_no_function;
std::array<int, 4> g_array = { 1, 2, 3, 4 };
std::atomic<long> g_atomic{ 77 };
std::vector<std::vector<int>> g_rows;
std::map<int, std::vector<std::string>> g_lists;
std::vector<customer> g_customers;
customer *g_customer;
folder *g_folders;
std::vector<int> *g_heap_vector;
noisy *g_noisy;

int twice(int number)
{
	return number * 2;
}

static void fill_sequences()
{
	g_numbers.reserve(64);
	for (int i = 0; i < 40; i++)
		g_numbers.push_back(i * i);
	for (int i = 0; i < 5; i++)
		g_items.push_back(item{ i, i * 0.5, nullptr });
	g_items[2].related = new item{ 22, 4.5, nullptr };
	g_strings = { "one", text, "three" };
	g_bits = { true, false, true, true };
	for (int i = 0; i < 4; i++)
		g_list.push_back(item{ i, 1.5 * i, nullptr });
	g_forward = { 5, 6, 7 };
	for (int i = 0; i < 300; i++)
		g_deque.push_back(i);
	g_deque.pop_front();
	g_rows = { { 1, 2, 3 }, {}, { 4 } };
}

static void fill_maps()
{
	for (int i = 0; i < 25; i++)
		g_names[i] = "name " + std::to_string(i);
	g_by_name["apple"] = item{ 1, 0.5, nullptr };
	g_by_name["pear"] = item{ 2, 0.75, nullptr };
	g_set = { 30, 10, 20 };
	g_multi = { { 1, 1.5 }, { 1, 2.5 }, { 2, 3.5 } };
	for (int i = 0; i < 6; i++)
		g_hash[i] = i * 100;
	g_hash_by_name["plum"] = item{ 3, 0.25, nullptr };
	g_hash_set = { 1234567 };
	g_lists[7] = { "seven", text };
}

static void fill_owners(int captured)
{
	long a = captured, b = 2, c = 3;

	g_made = std::make_shared<item>(item{ 41, 4.5, nullptr });
	g_made_too = g_made;
	g_weak = g_made;
	g_adopted = std::shared_ptr<item>(new item{ 42, 5.5, nullptr });
	g_owned = std::make_unique<item>(item{ 43, 6.5, nullptr });
	g_owned_array = std::make_unique<int[]>(10);
	g_small_function = twice;
	g_large_function = [a, b, c](int number) { return int(number + a + b + c); };
	g_heap_vector = new std::vector<int>{ 9, 8, 7 };
	g_noisy = new noisy[6];
}

static void fill_customers()
{
	g_customers.resize(2);
	g_customer = &g_customers[0];
	g_customer->name = "Ada";
	g_customer->addresses = { { "Main Street", 1 }, { text, 2 } };
	g_customer->orders = { { "bread", 2 }, { "milk", 1 } };
	g_customer->age = 36;
	g_customer->basket = std::make_unique<item>(item{ 51, 7.5, nullptr });
	g_customer->home = std::make_shared<address>(address{ "Home Street", 3 });
	g_customer->codes = { 7, 8, 9 };
	g_folders = new folder{ 1, { folder{ 2, {} }, folder{ 3, { folder{ 4, {} } } } } };
}

int main(int argc, char **)
{
	fill_sequences();
	fill_maps();
	fill_owners(argc);
	fill_customers();
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
	std::printf("done %d\n", g_small_function(4) + g_large_function(1));
	return 0;
}
