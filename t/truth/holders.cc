// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects that are full of containers, which the constructors that are inlined into each other begin with. No variable has
 * them as the program goes on: pointers of the containers' nodes lead to their ends in these objects.
 */
#include "t/truth/library.h"

#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

struct Archive {
	std::map<std::string, std::vector<int>> names;
	std::unordered_map<std::string, double> amounts;
	std::set<int> days;
	std::multiset<std::string> words;
	std::list<std::string> notes;
	std::map<int, std::set<long>> groups;
	int used = 0;
};

template <typename K, typename V> struct Recent {
	std::list<std::pair<K, V>> items;
	std::unordered_map<K, typename std::list<std::pair<K, V>>::iterator> index;
	size_t capacity;
	explicit Recent(size_t most) : capacity(most)
	{
	}
	void put(const K &key, V value)
	{
		items.emplace_front(key, std::move(value));
		index[key] = items.begin();
	}
};

struct State {
	Recent<std::string, std::shared_ptr<int>> counters{ 100 };
	Recent<int, std::string> names{ 50 };
	std::vector<std::string> texts;
};

static State *state;

static void fill(Archive *archive)
{
	for (int i = 0; i < 60; i++) {
		std::string name = "a name that is not short " + std::to_string(i);

		archive->names[name].push_back(i);
		archive->amounts[name] = i;
		archive->days.insert(i);
		archive->words.insert(name);
		archive->notes.push_back(name);
		archive->groups[i].insert(i);
	}
}

int main()
{
	auto *old = new Archive;
	auto *archive = new Archive;

	truth_log(old, TRUTH_ARRAY, "Archive", 1);
	truth_log(archive, TRUTH_ARRAY, "Archive", 1);
	state = new State;
	truth_log(state, TRUTH_ARRAY, "State", 1);
	fill(old);
	fill(archive);
	for (int i = 0; i < 100; i++) {
		state->counters.put("counter number " + std::to_string(i),
				    std::make_shared<int>(i));
		state->names.put(i, "the name of a counter");
		state->texts.push_back("a text of no short length");
	}
	truth_capture();
	printf("%zu %p\n", state->texts.size(), static_cast<void *>(archive));
	return 0;
}
