// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Expressions of a compiler as a std::variant, one of whose alternatives has a vector of others. Other alternatives have pointers
 * where the vector's are.
 */
#include "t/truth/library.h"
#include "t/truth/random.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

struct Expression;
using Owner = std::unique_ptr<Expression>;

struct Number {
	int64_t value;
};

struct Name {
	std::string_view text;
	Expression *definition;
};

struct Sum {
	char sign;
	Owner left, right;
};

struct Call {
	Owner function;
	std::vector<Owner> arguments;
};

struct Expression {
	std::variant<Number, Name, Sum, Call> form;
	uint32_t line;
};

static std::vector<Owner> program;

static Owner make(unsigned depth)
{
	Owner result = std::make_unique<Expression>();
	Call call;

	log_at(result.get(), 0, "Expression");
	result->line = depth;
	switch (depth ? next() % 4 : next() % 2) {
	case 0:
		result->form = Number{ static_cast<int64_t>(next()) };
		break;
	case 1:
		result->form = Name{ "name", nullptr };
		break;
	case 2:
		result->form = Sum{ '+', make(depth - 1), make(depth - 1) };
		break;
	default:
		call.function = make(0);
		for (unsigned i = 0; i < 3; i++)
			call.arguments.push_back(make(depth - 1));
		log_at(call.arguments.data(), 0, "std::unique_ptr<Expression>",
		       call.arguments.capacity());
		result->form = std::move(call);
	}
	return result;
}

int main()
{
	program.reserve(6);
	for (unsigned i = 0; i < 6; i++)
		program.push_back(make(4));
	log_at(program.data(), 0, "std::unique_ptr<Expression>", 6);
	truth_capture();
	printf("%u\n", program[1]->line);
	return 0;
}
