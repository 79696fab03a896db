// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Agents of a simulation: each has a closure that begins with a pointer back to the agent, and a memory of any type, whose
 * functions lie in the agent, too. So the agent looks like the class of its closure, whose functions handle memories of the same size.
 */
#include "t/truth/library.h"

#include <any>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

enum {
	AGENTS = 200,
};

struct Place {
	double x, y;
};

struct Tracked {
	virtual ~Tracked() = default;
	long id = 0;
};

struct Named {
	virtual ~Named() = default;
	std::string name;
};

struct Agent : Tracked, Named {
	Place at{};
	std::function<void(Agent &)> brain;
	std::any memory;
};

struct Grudge {
	Agent *against;
	std::string why;
	int level[4];
};

struct Errand {
	Place to;
	Agent *who;
	Errand *next;
};

static std::vector<Agent *> *agents;
static Errand *errands;

static void errand_add(Agent *agent, int number)
{
	errands = static_cast<Errand *>(truth_log(new Errand{ { 1, number * 1.0 }, agent, errands },
						  TRUTH_ARRAY, "Errand", 1));
}

static void agent_add(int number)
{
	Agent *agent = OF(Agent, new Agent);
	int *counter = OF(int, new int(number));

	agent->id = number;
	agent->at = { number * 1.0, 2 };
	agent->name = "an agent with a rather long name, number " + std::to_string(number);
	log_text(agent->name);
	agent->brain = [agent, counter, name = agent->name](Agent &other) {
		other.id += *counter + agent->id + static_cast<long>(name.size());
	};
	log_held(&agent->brain, 0, "(no name)");
	agents->push_back(agent);
	for (int i = 0; i < 4; i++)
		errand_add(agent, i);
	if (number % 3 != 0)
		return;
	agent->memory =
		Grudge{ agents->front(),
			"because of what was said long ago, number " + std::to_string(number),
			{} };
	log_held(&agent->memory, 8, "Grudge");
	log_text(std::any_cast<Grudge &>(agent->memory).why);
}

int main(void)
{
	agents = new std::vector<Agent *>;
	for (int i = 0; i < AGENTS; i++)
		agent_add(i);
	truth_capture();
	for (Agent *agent : *agents)
		agent->brain(*agent);
	printf("%ld %p\n", agents->front()->id, static_cast<void *>(errands));
	return 0;
}
