// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -std=c++17
// Locks, durations and paths: values of the libraries that a person reads as one word.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>

struct Worker {
	std::mutex idle, held;
	std::recursive_mutex twice;
	std::shared_mutex table;
	std::condition_variable wake;
	std::chrono::milliseconds delay{ 250 };
	std::chrono::minutes age{ 3 };
	std::chrono::duration<int, std::ratio<2, 7>> odd{ 5 };
	std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds> since{
		std::chrono::seconds(77)
	};
	std::filesystem::path directory = "/var/spool/worker/of/some/length";
	pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
	pthread_cond_t signal = PTHREAD_COND_INITIALIZER;
	union {
		int number;
		float real;
	} ours{ 7 };
	bool stop = false;
	char padding[600];
	struct {
		int first, second;
	} last;
};

Worker *worker;

static void wait_for_end()
{
	std::unique_lock<std::mutex> lock(worker->idle);

	while (!worker->stop)
		worker->wake.wait(lock);
}

static bool somebody_waits()
{
	std::unique_lock<std::mutex> lock(worker->idle);
	const auto *condition = reinterpret_cast<pthread_cond_t *>(worker->wake.native_handle());

	return condition->__data.__wrefs != 0;
}

int main()
{
	worker = new Worker;

	std::thread waiting(wait_for_end);

	while (!somebody_waits())
		std::this_thread::yield();
	worker->held.lock();
	worker->twice.lock();
	worker->twice.lock();
	worker->table.lock();
	pthread_mutex_lock(&worker->plain);
	pthread_rwlock_rdlock(&worker->readers);
	pthread_rwlock_rdlock(&worker->readers);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	worker->idle.lock();
	worker->stop = true;
	worker->idle.unlock();
	worker->wake.notify_all();
	waiting.join();
	return 0;
}
