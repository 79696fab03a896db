// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Functions that allocate by way of the standard libraries of C++ and C: the sites of their blocks
 * are these functions, each of which says how many blocks it makes.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

enum { TIMES = 100 };

struct order {
	long number;
	std::string name;
	std::vector<int> lines;
};

struct node {
	std::unique_ptr<node> next;
	long value;
};

static std::vector<std::vector<long>> vectors;
static std::vector<std::string> strings;
static std::map<long, long> tree;
static std::unordered_map<long, std::string> table;
static std::list<order> orders;
static std::vector<std::shared_ptr<order>> shared;
static std::unique_ptr<node> chain;
static std::vector<std::function<long()>> functions;
static std::vector<char *> texts;
static std::vector<FILE *> files;
static std::set<std::string> *names;
static std::deque<long> queue;

// Nothing below is to be inlined into main(), which would be the site of all blocks then.
#define OWN __attribute__((noinline)) static

OWN void fill_vectors()
{
	vectors.resize(TIMES);
	for (int i = 0; i < TIMES; i++)
		for (int j = 0; j < 4; j++)
			vectors[(size_t)i].push_back(j);
}

OWN void fill_strings()
{
	for (int i = 0; i < TIMES; i++)
		strings.push_back(std::string(40, 'x') + std::to_string(i));
}

OWN void fill_tree()
{
	for (long i = 0; i < TIMES; i++)
		tree[i * 7919 % 1000] = i;
}

OWN void fill_table()
{
	for (long i = 0; i < TIMES; i++)
		table.emplace(i, "a value that does not fit into the string itself");
}

OWN void fill_orders()
{
	for (long i = 0; i < TIMES; i++)
		orders.push_back(order{ i, "an order with a name of many letters", { 1, 2, 3 } });
}

OWN void fill_shared()
{
	for (long i = 0; i < TIMES; i++)
		shared.push_back(std::make_shared<order>());
}

OWN void fill_chain()
{
	for (long i = 0; i < TIMES; i++) {
		auto made = std::make_unique<node>();

		made->value = i;
		made->next = std::move(chain);
		chain = std::move(made);
	}
}

OWN void fill_functions()
{
	for (long i = 0; i < TIMES; i++)
		functions.push_back([i, j = i, k = i, l = i, m = i] { return i + j + k + l + m; });
}

OWN void fill_names()
{
	names = new std::set<std::string>;
	for (int i = 0; i < TIMES; i++) {
		std::ostringstream stream;

		stream << "a name that is written to a stream: " << i;
		names->insert(stream.str());
	}
}

OWN void fill_queue()
{
	for (long i = 0; i < 64 * TIMES; i++)
		queue.push_back(i);
}

OWN void fill_texts()
{
	for (int i = 0; i < TIMES; i++) {
		char *text;

		texts.push_back(strdup("a text of libc's"));
		if (asprintf(&text, "a printed text: %d", i) > 0)
			texts.push_back(text);
		texts.push_back(realpath("/", NULL));
	}
}

OWN void fill_files()
{
	for (int i = 0; i < 10; i++) {
		files.push_back(fopen("/dev/null", "w"));
		fputs("buffered", files.back());
	}
}

int main()
{
	fill_vectors();
	fill_strings();
	fill_tree();
	fill_table();
	fill_orders();
	fill_shared();
	fill_chain();
	fill_functions();
	fill_names();
	fill_queue();
	fill_texts();
	fill_files();
	printf("ready\n");
	fflush(stdout);
	return getchar() == EOF;
}
