// SPDX-License-Identifier: GPL-3.0-or-later
// Classes that symbols and debug information name differently: templates whose arguments are lambdas.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace work
{

struct Handler {
	virtual ~Handler() = default;
	virtual void handle(int) = 0;
};

template <class F> struct HandlerOf : Handler {
	F function;
	explicit HandlerOf(F f) : function(std::move(f))
	{
	}
	void handle(int number) override
	{
		function(number);
	}
};

template <class F> std::unique_ptr<Handler> make_handler(F f)
{
	return std::make_unique<HandlerOf<F>>(std::move(f));
}

struct Ticket {
	int number;
};

std::vector<std::unique_ptr<Handler>> handlers;
std::vector<std::function<void(int)>> callbacks;

void fill()
{
	handlers.reserve(12);
	callbacks.reserve(9);
	for (int i = 0; i < 5; i++)
		handlers.push_back(make_handler(
			[weights = std::vector<double>(5, i)](int) { (void)weights; }));
	for (int i = 0; i < 7; i++)
		handlers.push_back(make_handler([ticket = std::make_shared<Ticket *>(
							 new Ticket{ i })](int) { (void)ticket; }));
	for (int i = 0; i < 9; i++)
		callbacks.push_back([numbers = std::vector<long>(3, i), more = i](int n) {
			std::printf("%ld %d", numbers[0], n + more);
		});
}

} // namespace work

int main()
{
	work::fill();
	std::puts("ready");
	std::fflush(stdout);
	return std::getchar();
}
