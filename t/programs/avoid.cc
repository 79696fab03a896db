// SPDX-License-Identifier: GPL-3.0-or-later
// Pointers in classes, their bases, unnamed members and templates: one target for each, which
// only that pointer holds. For t/end-to-end/avoid.t.
#include <cstdio>

struct target {
	explicit target(long value) : number(value)
	{
	}
	long number;
};

struct link {
	link *next = nullptr;
	target *linked = new target(1);
};

class node : public link
{
public:
	virtual ~node() = default;
	union {
		target *either = new target(2);
		long other;
	};
	struct {
		target *inside = new target(3);
		int width = 4;
	};

protected:
	target *guarded = new target(4);
};

class leaf : public node
{
public:
	target *own = new target(5);
};

struct shared {
	virtual ~shared() = default;
	target *held = new target(6);
};

struct left : virtual shared {
	long a = 1;
};

struct right : virtual shared {
	target *of_right = new target(7);
};

struct diamond : left, right {
	long b = 2;
};

template <typename T, int N> struct box {
	T *content[N];
};

namespace deep
{
struct inner {
	target *at_end = new target(8);
};
struct outer {
	long pad = 0;
	inner in;
};
}

leaf *the_leaf;
diamond *the_diamond;
box<target, 2> *the_box;
deep::outer *the_outer;

int main()
{
	the_leaf = new leaf;
	the_diamond = new diamond;
	the_box = new box<target, 2>;
	the_box->content[0] = new target(9);
	the_box->content[1] = new target(10);
	the_outer = new deep::outer;
	puts("ready");
	fflush(stdout);
	getchar();
	printf("done %ld\n", the_leaf->own->number + the_diamond->held->number);
}
