// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Weak pointers hold nothing; those that have expired lead to memory that others have now.
 *
 *	owners ─▶ 20 observed ◀┄┄ watchers      the same, by weak pointers
 *	          others ─▶ 20 other ◀┄┄ expired  which led to objects at these addresses
 *	tree ─▶ node ─▶ 5 node ┄┄▶ the first    parents, by weak pointers
 *	one in made ◀┄┄ made_watcher            from make_shared(): one block for both
 *	spent                                   a std::variant without a value, after one with a pointer
 *	waiting                                 a deque of 10, from which 90 were taken, and lost
 */

#include <cstdio>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

struct observed {
	long id, rest[5];
};

struct other {
	long values[6];
};

struct node {
	std::vector<std::shared_ptr<node>> children;
	std::weak_ptr<node> parent;
	long values[3];
};

struct in_one_block : std::enable_shared_from_this<in_one_block> {
	long values[8];
};

struct spent_value {
	long values[9];
};

struct job {
	long number, rest[10];
};

std::vector<std::shared_ptr<observed>> owners;
std::vector<std::weak_ptr<observed>> watchers, expired;
std::vector<std::unique_ptr<other>> others;
std::shared_ptr<node> tree;
std::weak_ptr<node> cursor;
std::shared_ptr<in_one_block> made;
std::weak_ptr<in_one_block> made_watcher;
std::vector<std::unique_ptr<spent_value>> values;
std::vector<std::variant<std::monostate, spent_value *, char>> spent;
std::deque<job *> waiting;

static void fill_weak()
{
	owners.reserve(20);
	watchers.reserve(20);
	expired.reserve(20);
	others.reserve(20);
	for (long i = 0; i < 20; i++) {
		owners.push_back(std::shared_ptr<observed>(new observed{ i, {} }));
		watchers.push_back(owners.back());
	}
	{
		std::vector<std::shared_ptr<observed>> gone;

		gone.reserve(20);
		for (long i = 0; i < 20; i++) {
			gone.push_back(std::shared_ptr<observed>(new observed{ i, {} }));
			expired.push_back(gone.back());
		}
	}
	for (int i = 0; i < 20; i++)
		others.push_back(std::make_unique<other>());
	tree.reset(new node);
	for (int i = 0; i < 5; i++) {
		std::shared_ptr<node> child(new node);

		child->parent = tree;
		tree->children.push_back(child);
	}
	cursor = tree->children[3];
	made = std::make_shared<in_one_block>();
	made_watcher = made;
}

// What a variant held is no more than memory that was not cleared, where it holds nothing now.
static void fill_spent()
{
	values.reserve(10);
	spent.reserve(10);
	for (int i = 0; i < 10; i++) {
		values.push_back(std::make_unique<spent_value>());
		spent.emplace_back(values.back().get());
		if (i % 2)
			spent.back().emplace<std::monostate>();
		else
			spent.back().emplace<char>('x');
	}
}

static void fill_waiting()
{
	for (long i = 0; i < 100; i++)
		waiting.push_back(new job{ i, {} });
	for (int i = 0; i < 90; i++)
		waiting.pop_front();
}

int main()
{
	fill_weak();
	fill_spent();
	fill_waiting();
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
	return 0;
}
