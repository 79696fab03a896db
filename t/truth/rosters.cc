// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Arrays by new[] of classes with destructors: their number is in front of them, and pointers lead behind it. Few
 * have one element, whose number could as well count references to it.
 */
#include "t/truth/library.h"
#include "t/truth/random.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

enum {
	TEAMS = 400,
	MOST = 23,
	SINGLE = 40, // one team in so many has a single player
};

struct Medal {
	int year, rank;
	~Medal()
	{
		year = 0;
	}
};

struct Player {
	std::string name = "a player whose name is long";
	std::unique_ptr<Medal[]> medals;
	int number = 0;
	~Player()
	{
		truth_forget(name.data());
	}
};

class Coach
{
      public:
	virtual ~Coach() = default;
	virtual int salary() const
	{
		return 10 + years;
	}
	int years = 3;
};

struct Team {
	Team *next;
	Player *players;
	Coach *coaches;
	std::string *songs;
	size_t player_count;
};

Team *teams;

template <typename T> static T *new_array(const char *type, size_t count)
{
	T *array = new T[count];

	truth_log(reinterpret_cast<char *>(array) - sizeof(size_t), TRUTH_ARRAY, type, count);
	return array;
}

static size_t choose()
{
	size_t count = 2 + next() % (MOST - 1);

	return next() % SINGLE == 0 ? 1 : count;
}

static Team *make_team()
{
	Team *team = OF(Team, new Team{});

	team->player_count = choose();
	team->players = new_array<Player>("Player", team->player_count);
	for (size_t i = 0; i < team->player_count; i++) {
		Player &player = team->players[i];

		player.number = static_cast<int>(i);
		log_text(player.name);
		if (i % 3 == 0)
			player.medals.reset(new_array<Medal>("Medal", choose()));
	}
	team->coaches = new_array<Coach>("Coach", choose());
	team->songs = new_array<std::string>("std::string", choose());
	return team;
}

int main()
{
	int sum = 0;

	for (int i = 0; i < TEAMS; i++) {
		Team *team = make_team();

		team->next = teams;
		teams = team;
	}
	truth_capture();
	for (const Team *team = teams; team; team = team->next)
		sum += team->players[0].number + team->coaches[0].salary() +
		       static_cast<int>(team->songs[0].size());
	printf("%d\n", sum);
	return 0;
}
