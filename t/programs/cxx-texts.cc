// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Texts of std::string that have the size of a std::string. Functions of the library allocate them
 * and return the string. No typed pointer leads to them.
 */
#include <cstdio>
#include <new>
#include <string>

enum {
	TIMES = 100,
	FIRST = 10000, // of five digits, so that all texts have 31 characters
};

alignas(std::string) unsigned char storage[TIMES][sizeof(std::string)];

__attribute__((noinline)) static void fill(int i)
{
	new (storage[i]) std::string("the result of task number " + std::to_string(FIRST + i));
}

int main()
{
	for (int i = 0; i < TIMES; i++)
		fill(i);
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
