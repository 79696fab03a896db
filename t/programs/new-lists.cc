// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of the standard library in blocks of their own: the first and the last node of each lead back to it.
#include <cstdio>
#include <list>
#include <string>
#include <vector>

struct range {
	long first, last;
};

static std::vector<std::list<range> *> ranges;
static std::list<std::string> *names;

int main()
{
	setvbuf(stdin, nullptr, _IONBF, 0); // no block of libc's
	setvbuf(stdout, nullptr, _IONBF, 0);
	ranges.reserve(40);
	for (long i = 0; i < 40; i++) {
		ranges.push_back(new std::list<range>);
		for (long j = 0; j < 1 + i % 3; j++)
			ranges.back()->push_back({ j, i });
	}
	names = new std::list<std::string>;
	for (int i = 0; i < 12; i++)
		names->push_back("short");
	puts("ready");
	while (getchar() != EOF)
		;
	return ranges.empty() || names->empty();
}
