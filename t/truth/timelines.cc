// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tracks with deques of events, which are of several types, and of jobs. A deque's map of pointers to its chunks is not cleared:
 * where pointers are not in use, it has old words, numbers and texts, and pointers to chunks that have become something else.
 */
#include "t/truth/library.h"

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

enum {
	TRACKS = 120,
	MAP = 8,     // pointers of a deque's first map
	CHUNK = 512, // bytes of a deque's chunk
	JOBS = 200,
	DONE = 40,
};

struct Key {
	int code;
	std::string name;
};

struct Move {
	double x, y;
	uint32_t buttons;
};

struct Paste {
	std::vector<uint16_t> units;
	long at;
};

using Event = std::variant<Key, Move, Paste>;

// Leaves old words where the next deque's map and chunk will be.
static void leave_words(int number)
{
	void *volatile map = ::operator new(MAP * sizeof(void *));
	void *volatile chunk = ::operator new(CHUNK);

	for (int i = 0; i < MAP; i++)
		static_cast<uint64_t *>(map)[i] =
			i % 2 ? number * 0x1000000000000001u + i : 0x7478657420646c6f;
	memset(chunk, 'a' + number % 26, CHUNK);
	::operator delete(chunk);
	::operator delete(map);
}

class Track
{
	struct State {
		std::deque<Event> events;
		long position = 0;
	};
	std::unique_ptr<State> state_;

      public:
	explicit Track(int number)
	{
		leave_words(number);
		state_ = std::unique_ptr<State>(
			static_cast<State *>(truth_log(new State, TRUTH_ARRAY, "Track::State", 1)));
		for (int i = 0; i < number % 30; i++)
			add(number, i);
		for (int i = 0; i < number % 7 && !state_->events.empty(); i++)
			state_->events.pop_front();
	}

	void add(int number, int i)
	{
		switch ((number + i) % 3) {
		case 0:
			state_->events.push_back(
				Key{ i, "the key that was pressed " + std::to_string(i) });
			break;
		case 1:
			state_->events.push_back(Move{ i * 0.5, number * 0.25, 1 });
			break;
		default:
			state_->events.push_back(Paste{ std::vector<uint16_t>(5 + i, i), number });
		}
	}

	void log() const
	{
		struct End {
			Event *current, *first, *last, **node;
		};
		const struct {
			Event **map;
			size_t size;
			End start, finish;
		} &deque = reinterpret_cast<decltype(deque)>(state_->events);

		truth_log(deque.map, TRUTH_ARRAY, "std::variant<Key, Move, Paste> *", deque.size);
		for (Event **chunk = deque.start.node; chunk <= deque.finish.node; chunk++)
			truth_log(*chunk, TRUTH_ARRAY, "std::variant<Key, Move, Paste>",
				  CHUNK / sizeof(Event));
		for (const Event &event : state_->events) {
			if (auto *key = std::get_if<Key>(&event))
				log_text(key->name);
			if (auto *paste = std::get_if<Paste>(&event))
				truth_log(const_cast<uint16_t *>(paste->units.data()), TRUTH_ARRAY,
					  "unsigned short", paste->units.size());
		}
	}
};

struct Job {
	std::shared_ptr<Track> track;
	std::function<void()> run;
};

static std::vector<Track *> tracks;
static std::deque<Job> jobs;

static void log_jobs()
{
	struct End {
		Job *current, *first, *last, **node;
	};
	const struct {
		Job **map;
		size_t size;
		End start, finish;
	} &deque = reinterpret_cast<decltype(deque)>(jobs);

	truth_log(deque.map, TRUTH_ARRAY, "Job *", deque.size);
	for (Job **chunk = deque.start.node; chunk <= deque.finish.node; chunk++)
		truth_log(*chunk, TRUTH_ARRAY, "Job", CHUNK / sizeof(Job));
}

int main()
{
	auto shared = std::make_shared<Track>(29);

	for (int i = 0; i < TRACKS; i++)
		tracks.push_back(
			static_cast<Track *>(truth_log(new Track(i), TRUTH_ARRAY, "Track", 1)));
	for (int i = 0; i < JOBS; i++) {
		std::string why = "the reason of job number " + std::to_string(i);

		jobs.push_back({ shared, [why, i] { printf("%s %d\n", why.c_str(), i); } });
		if (i % 5 == 0)
			leave_words(i);
	}
	for (int i = 0; i < DONE; i++)
		jobs.pop_front();
	for (Track *track : tracks)
		track->log();
	shared->log();
	log_jobs();
	truth_capture();
	return tracks.size() == TRACKS ? 0 : 1;
}
