// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Containers whose work is done by a part that is no template: hash tables whose nodes are made and linked by code that knows
 * nothing but their size, a tree of nodes behind their base, and lists whose nodes are a struct inside of them. Nodes of
 * different containers have the same sizes, so that only the container tells what they hold.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>

enum {
	BUCKETS = 512,
	PRICES = 400,
	CITIES = 300,
	WORDS = 500,
	RANGES = 250,
	JOBS = 200,
};

struct Price {
	double amount;
	char currency[8];
};

struct City {
	char *name;
	long inhabitants;
};

// --- a hash table ---------------------------------------------------------------

struct HashLink {
	HashLink *next;
	unsigned hash;
};

// Passes for a link itself, as the end of all chains, and in empty buckets.
struct HashCore {
	HashLink *none;
	HashLink **buckets;
	int size, bucket_count;
	int node_size;

	static HashCore *make(int node_size, const char *links);
	HashLink *make_node(const char *type) const;
	void insert(HashLink *node);
};

__attribute__((noinline)) HashCore *HashCore::make(int node_size, const char *links)
{
	auto *core = OF(HashCore, malloc(sizeof(HashCore)));

	core->none = nullptr;
	core->buckets = static_cast<HashLink **>(
		truth_log(malloc(BUCKETS * sizeof(HashLink *)), TRUTH_ARRAY, links, BUCKETS));
	for (int i = 0; i < BUCKETS; i++)
		core->buckets[i] = reinterpret_cast<HashLink *>(core);
	core->size = 0;
	core->bucket_count = BUCKETS;
	core->node_size = node_size;
	return core;
}

__attribute__((noinline)) HashLink *HashCore::make_node(const char *type) const
{
	return static_cast<HashLink *>(
		truth_log(malloc(static_cast<size_t>(node_size)), TRUTH_ARRAY, type, 1));
}

__attribute__((noinline)) void HashCore::insert(HashLink *node)
{
	HashLink **bucket = &buckets[node->hash % static_cast<unsigned>(bucket_count)];

	node->next = *bucket;
	*bucket = node;
	size++;
}

// Repeats the members of a link.
template <class Key, class Value> struct HashNode {
	HashNode *next;
	const unsigned hash;
	const Key key;
	Value value;

	HashNode(unsigned hash, const Key &key, const Value &value)
	    : next(nullptr), hash(hash), key(key), value(value)
	{
	}
};

template <class Key, class Value> class Hash
{
      public:
	using Node = HashNode<Key, Value>;

	// Buckets hold pointers to nodes, whatever they are declared as.
	void insert(const char *type, const char *links, const Key &key, const Value &value)
	{
		if (!core)
			core = HashCore::make(sizeof(Node), links);
		auto *node = new (core->make_node(type))
			Node(static_cast<unsigned>(key) * 2654435761U, key, value);

		core->insert(reinterpret_cast<HashLink *>(node));
	}

      private:
	union {
		HashCore *core = nullptr;
		Node *end;
	};
};

// --- a tree ----------------------------------------------------------------------

struct TreeLink {
	TreeLink *left, *right;
	uintptr_t parent; // and a colour
};

template <class Key, class Value> struct TreeNode : TreeLink {
	Key key;
	Value value;
};

struct TreeCore {
	long size;
	TreeLink root;
	TreeLink *least;

	void link(TreeLink *node, TreeLink *parent, bool left);
};

__attribute__((noinline)) void TreeCore::link(TreeLink *node, TreeLink *parent, bool left)
{
	(left ? parent->left : parent->right) = node;
	node->left = node->right = nullptr;
	node->parent = reinterpret_cast<uintptr_t>(parent) | (size & 1);
	if (!least || (left && parent == least))
		least = node;
	size++;
}

__attribute__((noinline)) static void *take(size_t size, const char *type)
{
	return truth_log(malloc(size), TRUTH_ARRAY, type, 1);
}

template <class Key, class Value> class Tree
{
      public:
	using Node = TreeNode<Key, Value>;

	void insert(const char *type, const Key &key, const Value &value)
	{
		if (!core)
			core = OF(TreeCore, new TreeCore());
		TreeLink *parent = &core->root;
		bool left = true;

		for (TreeLink *at = core->root.left; at; at = left ? at->left : at->right) {
			parent = at;
			left = key < static_cast<Node *>(at)->key;
		}
		auto *node = static_cast<Node *>(take(sizeof(Node), type));

		node->key = key;
		node->value = value;
		core->link(node, parent, left);
	}

      private:
	TreeCore *core = nullptr;
};

// --- a list whose nodes are a struct inside of it ----------------------------------

struct Ring {
	Ring *next, *previous;
};

template <class T> class Queue
{
      public:
	struct Node : Ring {
		T value;
	};

	Queue()
	{
		ends.next = ends.previous = &ends;
	}

	void append(const char *type, const T &value)
	{
		auto *node = static_cast<Node *>(take(sizeof(Node), type));

		node->value = value;
		node->next = &ends;
		node->previous = ends.previous;
		ends.previous->next = node;
		ends.previous = node;
	}

      private:
	Ring ends;
};

// --- a list of anything that is derived from its items: a shelf does not tell what stands on it ---

struct Item {
	Item *next;
	int shelf;
};

template <class T> struct ItemOf : Item {
	T value;
};

struct Mark : Item {
	const char *page;
};

template <class T> class Shelf
{
      public:
	void put(Item *item, int shelf)
	{
		item->next = first;
		item->shelf = shelf;
		first = item;
	}

      private:
	Item *first = nullptr;
};

// --- intrusive lists, whose hooks are instances of a template ------------------------

template <class Pointer> struct Hook {
	Hook *next, *previous;
};

template <class Tag> struct Traits {
};

template <class Tag = void> struct ListHook : Traits<Tag>, Hook<void *> {
};

// The ends of a list, which are no node.
template <class Traits> struct Ends : Hook<void *> {
};

template <class T, class NodeTraits = Traits<void>> class Chain
{
      public:
	Chain()
	{
		ends.next = ends.previous = &ends;
	}

	void append(Hook<void *> *hook)
	{
		hook->next = &ends;
		hook->previous = ends.previous;
		ends.previous->next = hook;
		ends.previous = hook;
	}

      private:
	Ends<NodeTraits> ends;
};

struct Parcel : ListHook<> {
	double weight;
	uint64_t number;
};

struct Letter : ListHook<> {
	char *address;
	uint64_t number;
};

template <class T> struct Boxed : ListHook<> {
	T value;
};

// The pointers of its list lead to the hook behind its start.
template <class T> struct Inside {
	T value;
	ListHook<> hook;
};

// --- a hash table that names its nodes' contents in the arguments of an argument ----------

struct ChainLink {
	ChainLink *next;
};

template <class Content> struct ChainNode : ChainLink {
	size_t hash;
	Content content;
};

template <class One, class Other> struct Couple {
	One one;
	Other other;
};

template <class T> struct Source {
};

template <class Key, class Memory> class Chained
{
      public:
	void insert(const char *links, ChainLink *node, size_t hash)
	{
		if (!buckets)
			buckets = static_cast<ChainLink **>(truth_log(
				calloc(BUCKETS, sizeof(ChainLink *)), TRUTH_ARRAY, links, BUCKETS));
		node->next = buckets[hash % BUCKETS];
		buckets[hash % BUCKETS] = node;
	}

      private:
	ChainLink **buckets = nullptr;
};

// --- a table of locked buckets, whose nodes begin with a class without data, as what must not be copied does ----------

class NoAssignment
{
};

class NoCopy : NoAssignment
{
};

template <class Lock> struct LockedLink : NoCopy {
	LockedLink *next;
	Lock lock;
};

template <class Lock> class LockedBase
{
      protected:
	struct Bucket : NoCopy {
		Lock lock = 0;
		LockedLink<Lock> *first = nullptr;
	};

	Bucket buckets[BUCKETS];
};

template <class Key, class Value> class Locked : LockedBase<long>
{
	struct Node : LockedLink<long> {
		Key key;
		Value value;
	};

      public:
	void insert(const char *type, Key key, const Value &value)
	{
		auto *node = static_cast<Node *>(take(sizeof(Node), type));
		Bucket &bucket = buckets[static_cast<size_t>(key) % BUCKETS];

		node->key = key;
		node->value = value;
		node->next = bucket.first;
		bucket.first = node;
	}
};

struct Job {
	long number;
	char *command;
};

struct Range {
	uint32_t from, to;
	double share;
};

// --- what is kept -------------------------------------------------------------------

struct Office {
	Hash<int, Price *> prices;
	Hash<int, City *> cities;
	Hash<double, char *> words;
	Tree<int, Range *> ranges;
	Tree<int, City *> by_size;
	Chained<int, Source<Couple<int, Price *>>> chained_prices;
	Chained<int, Source<Couple<int, City *>>> chained_cities;
	Locked<double, Price *> locked_prices;
	Locked<double, City *> locked_cities;
};

struct Depot {
	Chain<Parcel> parcels;
	Chain<Letter> letters;
	Chain<Boxed<double>> scales;
	Chain<Inside<double>> inside;
	Inside<double> *by_number[JOBS];
};

static Depot depot;

static Office office;
static Queue<Job> jobs;
static Queue<Range> limits;
static Shelf<double> shelf;

static char *text(const char *kind, int number)
{
	char buffer[32];

	snprintf(buffer, sizeof(buffer), "%s %d", kind, number);
	return TEXT(strdup(buffer));
}

static Price *make_price(int i)
{
	auto *price = OF(Price, new Price());

	price->amount = i * 1.25;
	memcpy(price->currency, "EUR", 4);
	return price;
}

static City *make_city(int i)
{
	auto *city = OF(City, new City());

	city->name = text("city", i);
	city->inhabitants = 1000L * i;
	return city;
}

static Range *make_range(int i)
{
	auto *range = OF(Range, new Range());

	range->from = static_cast<uint32_t>(i);
	range->to = static_cast<uint32_t>(2 * i);
	range->share = i / 7.0;
	return range;
}

template <class T> static T *make(const char *type)
{
	return static_cast<T *>(take(sizeof(T), type));
}

static void fill_depot(int i)
{
	auto *parcel = make<Parcel>("Parcel");
	auto *letter = make<Letter>("Letter");
	auto *boxed = make<Boxed<double>>("Boxed<double>");
	auto *inside = make<Inside<double>>("Inside<double>");

	parcel->weight = i / 3.0;
	letter->address = text("address", i);
	parcel->number = letter->number = static_cast<uint64_t>(i) << 40;
	boxed->value = inside->value = i / 9.0;
	depot.parcels.append(parcel);
	depot.letters.append(letter);
	depot.scales.append(boxed);
	depot.inside.append(&inside->hook);
	depot.by_number[i] = inside;
}

static void chain(int i)
{
	auto *price = make<ChainNode<Couple<int, Price *>>>("ChainNode<Couple<int, Price *> >");
	auto *city = make<ChainNode<Couple<int, City *>>>("ChainNode<Couple<int, City *> >");

	price->hash = city->hash = static_cast<size_t>(i);
	price->content = { i, make_price(i) };
	city->content = { i, make_city(i) };
	office.chained_prices.insert("ChainNode<Couple<int, Price *> > *", price, price->hash);
	office.chained_cities.insert("ChainNode<Couple<int, City *> > *", city, city->hash);
}

static void lock(int i)
{
	office.locked_prices.insert("Locked<double, Price *>::Node", i, make_price(i));
	office.locked_cities.insert("Locked<double, City *>::Node", 3L * i, make_city(i));
}

int main()
{
	for (int i = 0; i < PRICES; i++)
		office.prices.insert("HashNode<int, Price *>", "HashNode<int, Price *> *", i,
				     make_price(i));
	for (int i = 0; i < CITIES; i++) {
		City *city = make_city(i);

		office.cities.insert("HashNode<int, City *>", "HashNode<int, City *> *", 7 * i,
				     city);
		if (i % 2)
			office.by_size.insert("TreeNode<int, City *>", i * 7919 % 1009, city);
	}
	for (int i = 0; i < WORDS; i++)
		office.words.insert("HashNode<double, char *>", "HashNode<double, char *> *",
				    3.5 * i, text("a word", i));
	for (int i = 0; i < RANGES; i++)
		office.ranges.insert("TreeNode<int, Range *>", i * 4729 % 1013, make_range(i));
	for (int i = 0; i < JOBS; i++) {
		jobs.append("Queue<Job>::Node", Job{ i, text("command", i) });
		limits.append("Queue<Range>::Node",
			      Range{ static_cast<uint32_t>(i), static_cast<uint32_t>(i + 9), 0.5 });
	}
	for (int i = 0; i < JOBS; i++) {
		fill_depot(i);
		chain(i);
		lock(i);
	}
	for (int i = 0; i < JOBS; i++) {
		auto *item = OF(ItemOf<double>, new ItemOf<double>());

		item->value = i + 0.5;
		shelf.put(item, i);
		if (i % 2)
			continue;
		auto *mark = OF(Mark, new Mark());

		mark->page = text("page", i);
		shelf.put(mark, i);
	}
	truth_capture();
	return 0;
}
