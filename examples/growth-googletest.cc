// SPDX-License-Identifier: GPL-3.0-or-later
// A unit test with GoogleTest that fails if a registry keeps names of sessions that are gone.
//
//	c++ -g -o growth-googletest growth-googletest.cc -lgtest -lgtest_main -pthread
//	heapsnap run -- ./growth-googletest
//
// With -DLEAK the registry does.
#include <gtest/gtest.h>

#define HEAPSNAP_FAIL(message) ADD_FAILURE() << message
#include <heapsnap.h>

#include <map>
#include <memory>
#include <string>

struct session {
	std::string name;
};

class registry {
      public:
	void open(int number)
	{
		sessions_[number] = std::make_unique<session>();
		sessions_[number]->name = "a name that is too long for the object " + std::to_string(number);
	}

	void close([[maybe_unused]] int number)
	{
#ifndef LEAK
		sessions_.erase(number);
#endif
	}

      private:
	std::map<int, std::unique_ptr<session>> sessions_;
};

static registry sessions;

TEST(Registry, ForgetsSessionsThatAreClosed)
{
	int number = 0;

	HEAPSNAP_EXPECT_NO_GROWTH {
		sessions.open(number);
		sessions.close(number);
		number++;
	}
}
