// SPDX-License-Identifier: GPL-3.0-or-later
// Contexts that unique_ptr holds; a wrapper has one as its only part, and is as large as that.
#include <cstdio>
#include <memory>
#include <vector>

namespace
{

struct context {
	long number;
	double weights[3];
	context *next;
};

struct wrapper {
	context only;
};

struct longer {
	context first;
	long more[2];
};

std::vector<std::unique_ptr<context>> contexts;
wrapper spare;
longer other;

} // namespace

int main()
{
	for (long i = 0; i < 50; i++) {
		contexts.push_back(std::make_unique<context>());
		contexts.back()->number = i;
		contexts.back()->next =
			i > 0 ? contexts[static_cast<size_t>(i) - 1].get() : &spare.only;
	}
	other.first.next = contexts[7].get();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
