// SPDX-License-Identifier: GPL-3.0-or-later
// Exceptions that are kept, each with a list of parts to which nothing else leads.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

struct part {
	long number;
	part *next;
};

struct fault : std::runtime_error {
	part *parts;
	explicit fault(part *parts) : std::runtime_error("a fault that has parts"), parts(parts)
	{
	}
};

struct refusal {
	virtual ~refusal()
	{
	}
	part *parts = nullptr;
	int code = 0;
};

static std::vector<std::exception_ptr> kept;
static refusal model;

int main()
{
	for (int i = 0; i < 100; i++) {
		try {
			throw fault(new part{ i, new part{ i + 1, nullptr } });
		} catch (...) {
			kept.push_back(std::current_exception());
		}
		try {
			model.parts = new part{ i, nullptr };
			model.code = i;
			throw model;
		} catch (...) {
			kept.push_back(std::current_exception());
		}
	}
	model.parts = nullptr;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
