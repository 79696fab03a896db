// SPDX-License-Identifier: GPL-3.0-or-later
// One hash table of each of two kinds with open addressing, as libraries have them: slots behind the control bytes,
// unions that delay constructors (absl::flat_hash_map); elements before groups of 16 control bytes, 15 of which are
// of elements (boost::unordered_flat_map).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace
{

enum {
	SLOTS = 127,
	USED_SLOTS = 100,
	GROUPS = 8,
	PER_GROUP = 15,
	USED_ELEMENTS = 90,
};

struct Session {
	int number;
	std::string user;
};

template <class Key, class Value> union Slot {
	std::pair<const Key, Value> value;
	std::pair<Key, Value> mutable_value;
	Key key;
};

template <class Key, class Value> struct SlotMap {
	signed char *control;
	Slot<Key, Value> *slots;
	size_t size, capacity;

	void allocate()
	{
		char *block =
			static_cast<char *>(malloc(SLOTS + 17 + SLOTS * sizeof(Slot<Key, Value>)));

		control = reinterpret_cast<signed char *>(block);
		slots = reinterpret_cast<Slot<Key, Value> *>(block + SLOTS + 17);
		memset(control, -128, SLOTS + 17);
		capacity = SLOTS;
	}
	void add(Key key, Value value)
	{
		size_t at = size++ * 37 % SLOTS;

		control[at] = 1;
		new (&slots[at].mutable_value)
			std::pair<Key, Value>(std::move(key), std::move(value));
	}
};

struct Group {
	unsigned char bytes[16];
};

template <class Element> struct Arrays {
	size_t index, mask;
	Group *groups;
	Element *elements;
};

template <class Key, class Value> struct GroupMap {
	typedef std::pair<const Key, Value> Element;
	Arrays<Element> arrays;
	size_t size;

	void allocate()
	{
		size_t count = GROUPS * PER_GROUP - 1,
		       before = (count * sizeof(Element) + 15) / 16 * 16;
		char *block = static_cast<char *>(malloc(before + GROUPS * sizeof(Group)));

		arrays = { 61, GROUPS - 1, reinterpret_cast<Group *>(block + before),
			   reinterpret_cast<Element *>(block) };
		memset(arrays.groups, 0, GROUPS * sizeof(Group));
	}
	void add(Key key, Value value)
	{
		size_t at = size++ * 37 % (GROUPS * PER_GROUP - 1);

		arrays.groups[at / PER_GROUP].bytes[at % PER_GROUP] = 7;
		new (&arrays.elements[at]) Element(std::move(key), std::move(value));
	}
};

SlotMap<uint64_t, std::unique_ptr<Session>> by_number;
GroupMap<std::string, std::unique_ptr<Session>> by_name;

std::unique_ptr<Session> make_session(int number)
{
	std::string user = "a user whose name is long: " + std::to_string(number);

	return std::make_unique<Session>(Session{ number, user });
}

} // namespace

int main()
{
	by_number.allocate();
	by_name.allocate();
	for (int i = 0; i < USED_SLOTS; i++)
		by_number.add(uint64_t(i) * 1000003, make_session(i));
	for (int i = 0; i < USED_ELEMENTS; i++)
		by_name.add("a key that is too long to be inside " + std::to_string(i),
			    make_session(i));
	std::puts("ready");
	std::fflush(stdout);
	return std::getchar();
}
