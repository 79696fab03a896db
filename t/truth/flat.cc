// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hash tables with open addressing, each in one block of control bytes and slots: slots behind the control bytes, to which
 * a typed or a void pointer leads; slots before the control bytes, to which alone a pointer leads; slots at the start, and
 * control bytes behind them; no control bytes at all, but an address that no memory has in empty slots. What only the slots
 * lead to is known by them alone.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

enum {
	TABLES = 12,
	USERS = 30,
	SLACK = 16, // control bytes behind those of the slots
};

static uint64_t mix(uint64_t number)
{
	number ^= number >> 31;
	number *= UINT64_C(0xd6e8feb86659fd93);
	return number ^ number >> 32;
}

static uint64_t hash_of(const std::string &text)
{
	uint64_t hash = 14695981039346656037u;

	for (char c : text)
		hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
	return mix(hash);
}

static uint64_t hash_of(const void *pointer)
{
	return mix(reinterpret_cast<uint64_t>(pointer) >> 4);
}

static uint64_t hash_of(uint64_t number)
{
	return mix(number);
}

// --- where slots lie ------------------------------------------------------------

// A control byte for each slot: 0 to 127 where it is in use.
static bool is_full(const signed char *control, size_t at)
{
	return control[at] >= 0;
}

// Only a pointer to the control bytes, before which the slots lie, last one first.
struct Downward {
	signed char *control = nullptr;
	size_t mask = 0, left = 0, size = 0;

	void allocate(size_t capacity, size_t bytes)
	{
		size_t before = (capacity * bytes + 15) / 16 * 16;
		char *block = static_cast<char *>(malloc(before + capacity + SLACK));

		POOL(void, block);
		control = reinterpret_cast<signed char *>(block) + before;
		memset(control, -1, capacity + SLACK);
		mask = capacity - 1;
		left = capacity / 8 * 7;
	}
	void release(size_t bytes)
	{
		FREE(reinterpret_cast<char *>(control) - ((mask + 1) * bytes + 15) / 16 * 16);
	}
	void *slot(size_t at, size_t bytes)
	{
		return reinterpret_cast<char *>(control) - (at + 1) * bytes;
	}
};

// A void pointer to slots behind the control bytes, which have a number before them.
struct Upward {
	signed char *control = nullptr;
	void *slots = nullptr;
	size_t mask = 0, left = 0, size = 0;

	void allocate(size_t capacity, size_t bytes)
	{
		size_t before = (sizeof(size_t) + capacity + SLACK + 7) / 8 * 8;
		char *block = static_cast<char *>(malloc(before + capacity * bytes));

		POOL(void, block);
		*reinterpret_cast<size_t *>(block) = capacity / 8 * 7;
		control = reinterpret_cast<signed char *>(block) + sizeof(size_t);
		memset(control, -128, capacity + SLACK);
		slots = block + before;
		mask = capacity - 1;
		left = capacity / 8 * 7;
	}
	void release(size_t)
	{
		FREE(reinterpret_cast<char *>(control) - sizeof(size_t));
	}
	void *slot(size_t at, size_t bytes)
	{
		return static_cast<char *>(slots) + at * bytes;
	}
};

// Likewise with a pointer to slots that has a type.
template <class Slot> struct Typed {
	signed char *control = nullptr;
	Slot *slots = nullptr;
	size_t mask = 0, left = 0, size = 0;

	void allocate(size_t capacity, size_t bytes)
	{
		size_t before = (capacity + SLACK + 7) / 8 * 8;
		char *block = static_cast<char *>(malloc(before + capacity * bytes));

		POOL(void, block);
		control = reinterpret_cast<signed char *>(block);
		memset(control, -128, capacity + SLACK);
		slots = reinterpret_cast<Slot *>(block + before);
		mask = capacity - 1;
		left = capacity / 8 * 7;
	}
	void release(size_t)
	{
		FREE(control);
	}
	void *slot(size_t at, size_t)
	{
		return &slots[at];
	}
};

template <class Key, class Value> struct Policy {
	typedef std::pair<const Key, Value> slot;
	static const Key &key(const slot &of)
	{
		return of.first;
	}
};

template <class Key> struct Only {
	typedef Key slot;
	static const Key &key(const slot &of)
	{
		return of;
	}
};

// --- tables that know only their slots' size -------------------------------------

template <class Policy, class Place, class Allocator = std::allocator<typename Policy::slot>>
class Table : Allocator
{
      public:
	typedef typename Policy::slot slot;

	template <class Key, class... Rest> void put(const Key &key, Rest &&...rest)
	{
		if (place.left == 0)
			grow();
		new (reserve(hash_of(key))) slot{ key, std::forward<Rest>(rest)... };
	}
	slot *first()
	{
		for (size_t i = 0; place.control && i <= place.mask; i++) {
			if (is_full(place.control, i))
				return static_cast<slot *>(place.slot(i, sizeof(slot)));
		}
		return nullptr;
	}
	template <class Visit> void each(Visit visit)
	{
		for (size_t i = 0; place.control && i <= place.mask; i++) {
			if (is_full(place.control, i))
				visit(*static_cast<slot *>(place.slot(i, sizeof(slot))));
		}
	}

      private:
	void *reserve(uint64_t hash)
	{
		size_t at = hash >> 7 & place.mask;

		while (is_full(place.control, at))
			at = (at + 1) & place.mask;
		place.control[at] = static_cast<signed char>(hash & 127);
		place.size++;
		place.left--;
		return place.slot(at, sizeof(slot));
	}
	void grow();

	Place place;
};

template <class Policy, class Place, class Allocator> void Table<Policy, Place, Allocator>::grow()
{
	Place old = place;

	place = Place();
	place.allocate(old.control ? (old.mask + 1) * 2 : 8, sizeof(slot));
	for (size_t i = 0; old.control && i <= old.mask; i++) {
		if (!is_full(old.control, i))
			continue;
		slot *from = static_cast<slot *>(old.slot(i, sizeof(slot)));

		new (reserve(hash_of(Policy::key(*from)))) slot(std::move(*from));
		from->~slot();
	}

	if (old.control)
		old.release(sizeof(slot));
}

// --- slots at the start, to which a typed pointer leads --------------------------

struct Group {
	unsigned char of[16]; // 0: free
};

template <class Value> class Flat
{
      public:
	explicit Flat(size_t groups);
	void put(uint64_t hash, Value &&value);
	template <class Visit> void each(Visit visit)
	{
		for (size_t i = 0; i <= mask; i++) {
			for (size_t j = 0; j < 15; j++) {
				if (groups[i].of[j] != 0)
					visit(elements[i * 15 + j]);
			}
		}
	}

      private:
	size_t shift = 0, mask;
	Group *groups;
	Value *elements;
};

template <class Value> Flat<Value>::Flat(size_t count) : mask(count - 1)
{
	size_t before = ((count * 15 - 1) * sizeof(Value) + 15) / 16 * 16;
	char *block = static_cast<char *>(::operator new(before + count * sizeof(Group)));

	POOL(void, block);
	elements = reinterpret_cast<Value *>(block);
	groups = reinterpret_cast<Group *>(block + before);
	memset(groups, 0, count * sizeof(Group));
}

template <class Value> void Flat<Value>::put(uint64_t hash, Value &&value)
{
	for (size_t i = hash >> 8 & mask;; i = (i + 1) & mask) {
		for (size_t j = 0; j < (i == mask ? 14 : 15); j++) {
			if (groups[i].of[j] != 0)
				continue;
			groups[i].of[j] = static_cast<unsigned char>(hash | 2);
			new (&elements[i * 15 + j]) Value(std::move(value));
			return;
		}
	}
}

// --- slots alone -------------------------------------------------------------------

// An empty slot has the address of one of the last pages.
template <class Key> class Marked
{
	struct Slot {
		Key *key;
		long count;
	};

      public:
	explicit Marked(const char *type)
	{
		slots = static_cast<Slot *>(
			truth_log(malloc(SLOTS * sizeof(Slot)), TRUTH_ARRAY, type, SLOTS));
		for (size_t i = 0; i < SLOTS; i++)
			slots[i].key = mark();
	}
	void put(Key *key, long count)
	{
		size_t at = hash_of(key) % SLOTS;

		while (slots[at].key != mark())
			at = (at + 1) % SLOTS;
		slots[at] = { key, count };
	}

      private:
	enum {
		SLOTS = 256,
	};

	static Key *mark()
	{
		return reinterpret_cast<Key *>(~static_cast<uintptr_t>(0) << 12);
	}

	Slot *slots;
};

// --- what they hold --------------------------------------------------------------

// Nothing but slots leads to these.
struct Account {
	std::string owner;
	long balance;
	double interest = 0.5;
};

struct Point {
	double x, y, z = 1;
};

struct Message {
	uint64_t sent;
	std::string text;
	Point *where;
};

struct Ticket {
	long number, price;
};

static Account *new_account(int number)
{
	auto *account = OF(Account, new Account);

	account->owner = "the owner of the account " + std::to_string(number);
	account->balance = number;
	log_text(account->owner);
	return account;
}

static Point *new_point(int number)
{
	Point *point = OF(Point, new Point);

	point->x = number * 0.5;
	point->y = number;
	return point;
}

static std::string name_of(const char *what, int number)
{
	return "the name of a " + std::string(what) + ", " + std::to_string(number);
}

typedef std::pair<const long, Point *> Place;

struct User {
	long id;
	Table<Only<Account *>, Typed<Account *>> watched;
	Table<Policy<long, Point *>, Typed<Place>> places;
	Table<Policy<std::string, Account *>, Downward> accounts;
	Table<Policy<uint64_t, Message>, Upward> messages;
	Table<Policy<uint64_t, double>, Downward> numbers;
};

struct World {
	std::vector<User *> users;
	Table<Policy<std::string, Account *>, Downward> accounts;
	Table<Policy<std::string, Point *>, Upward> points;
	Table<Only<std::string>, Downward> words;
	Table<Policy<uint64_t, Message>, Downward> messages;
	// The only tables of these places.
	Table<Only<Point *>, Typed<Point *>> marked;
	Table<Policy<long, Account *>, Typed<std::pair<const long, Account *>>> numbered;
	std::vector<Flat<std::pair<std::string, Account *>> *> flat;
	Marked<Ticket> tickets{ "Marked<Ticket>::Slot" };
};

static World *world;

static Message message(int number)
{
	return Message{ static_cast<uint64_t>(number), name_of("message", number),
			new_point(number) };
}

static void fill_user(User &user)
{
	int count = static_cast<int>(user.id % 23) + 1;

	for (int i = 0; i < count; i++) {
		user.accounts.put(name_of("user's account", i), new_account(i));
		user.messages.put(static_cast<uint64_t>(i), message(i));
		user.watched.put(new_account(i + 1000));
		user.places.put(static_cast<long>(i), new_point(i));
		user.numbers.put(static_cast<uint64_t>(i), i * 0.25);
	}
	user.accounts.each([](auto &slot) { log_text(slot.first); });
	user.messages.each([](auto &slot) { log_text(slot.second.text); });
}

static void fill_flat(int number)
{
	typedef Flat<std::pair<std::string, Account *>> Accounts;
	auto *flat = static_cast<Accounts *>(truth_log(
		new Accounts(static_cast<size_t>(1) << number % 3), TRUTH_ARRAY,
		"Flat<std::pair<std::string, Account *>>|Flat<std::pair<std::string, Account*> >",
		1));

	for (int i = 0; i < number % 9 + 3; i++) {
		std::string name = name_of("flat account", i);
		uint64_t hash = hash_of(name);

		flat->put(hash, { std::move(name), new_account(i) });
	}
	flat->each([](auto &slot) { log_text(slot.first); });
	world->flat.push_back(flat);
}

static void fill_world()
{
	for (int i = 0; i < 500; i++) {
		world->accounts.put(name_of("account", i), new_account(i));
		world->points.put(name_of("point", i), new_point(i));
		world->words.put(name_of("word", i));
		world->messages.put(static_cast<uint64_t>(i), message(i));
		world->marked.put(new_point(i));
		world->numbered.put(static_cast<long>(i), new_account(i));
	}
	for (int i = 0; i < 24; i++) {
		auto *ticket = OF(Ticket, new Ticket);

		*ticket = Ticket{ i, 2L * i };
		world->tickets.put(ticket, i);
	}
	world->accounts.each([](auto &slot) { log_text(slot.first); });
	world->points.each([](auto &slot) { log_text(slot.first); });
	world->words.each([](auto &slot) { log_text(slot); });
	world->messages.each([](auto &slot) { log_text(slot.second.text); });
}

int main(void)
{
	world = OF(World, new World);
	for (int i = 0; i < USERS; i++) {
		world->users.push_back(OF(User, new User));
		world->users.back()->id = i;
		fill_user(*world->users.back());
	}
	for (int i = 0; i < TABLES; i++)
		fill_flat(i);
	fill_world();
	log_at(world->users.data(), 0, "User *", world->users.capacity());
	log_at(world->flat.data(), 0,
	       "Flat<std::pair<std::string, Account *>> *|Flat<std::pair<std::string, Account*> > "
	       "*",
	       world->flat.capacity());
	truth_capture();
	printf("%zu\n", world->users.size());
	return world->accounts.first() == nullptr;
}
