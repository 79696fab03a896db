// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -std=c++17 -fsized-deallocation
/*
 * Replaces new and delete, and expects all the other forms to come to these.
 */
#include <cstdio>
#include <cstdlib>
#include <new>

static char pool[1 << 16];
static std::size_t used;
static int made, deleted, wild;

void *operator new(std::size_t size)
{
	void *block = pool + used;

	used += (size + 15) / 16 * 16;
	made++;
	return block;
}

void operator delete(void *block) noexcept
{
	deleted++;
	wild += static_cast<char *>(block) < pool ||
		static_cast<char *>(block) >= pool + sizeof(pool);
}

struct item {
	int number;
	~item()
	{
	}
};

int main()
{
	item *one = new item, *several = new item[5];

	delete one;
	delete[] several;
	one = new (std::nothrow) item;
	operator delete(one, sizeof(item));
	several = static_cast<item *>(operator new[](100, std::nothrow));
	operator delete[](several, std::nothrow);
	std::printf("%d made, %d deleted, %d wild\n", made, deleted, wild);
	return 0;
}
