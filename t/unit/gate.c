// SPDX-License-Identifier: GPL-3.0-or-later
// Threads that wait at the gate of a snapshot go on when it opens, whoever was counted.
#include "t/unit/unit.h"

#include "dumper/capture/gate.h"
#include "dumper/base/process.h"
#include "dumper/capture/room.h"
#include "dumper/base/settings.h"
#include "dumper/host/sandbox.h"
#include "dumper/host/signals.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	WAIT_US = 1000,
	PATIENCE = 5000, // times that
};

// --- what the gate needs of the library ----------------------------------------------

struct heapsnap_process heapsnap_process;
struct heapsnap_settings heapsnap_settings;

bool heapsnap_signals_claim(int number, heapsnap_signal_handler *handler, bool over_ignored)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };

	(void)over_ignored;
	return sigaction(number, &action, NULL) == 0;
}

void heapsnap_signals_open(int number)
{
	(void)number;
}

bool heapsnap_signals_take_default(int number, const siginfo_t *info)
{
	(void)number;
	(void)info;
	return false;
}

bool heapsnap_sandbox_enter(uint32_t needs)
{
	return needs == 0;
}

void heapsnap_sandbox_leave(void)
{
}

// --- a thread that has the signal blocked when it is asked ------------------------------

static uint32_t thread_id, may_unblock, goes_on;

static bool becomes(const uint32_t *word)
{
	for (int i = 0; i < PATIENCE && !__atomic_load_n(word, __ATOMIC_ACQUIRE); i++)
		usleep(WAIT_US);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void *run(void *number)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, *(int *)number);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	__atomic_store_n(&thread_id, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	becomes(&may_unblock);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	__atomic_store_n(&goes_on, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void excused_thread_goes_on(void **state)
{
	int number = heapsnap_gate_install();
	pthread_t thread;
	int stands = 0;

	(void)state;
	assert_true(heapsnap_room_make());
	heapsnap_process.pid = (uint32_t)getpid();
	assert_int_equal(pthread_create(&thread, NULL, run, &number), 0);
	assert_true(becomes(&thread_id));
	heapsnap_room->threads[0].tid = thread_id;

	heapsnap_gate_shut();
	assert_true(heapsnap_gate_ask(0));
	heapsnap_gate_send();
	heapsnap_gate_excuse(0);
	assert_true(heapsnap_gate_wait(0));
	__atomic_store_n(&may_unblock, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < PATIENCE && stands == 0; i++) {
		usleep(WAIT_US);
		stands = __atomic_load_n(&heapsnap_room->threads[0].state, __ATOMIC_ACQUIRE) ==
			 HEAPSNAP_THREAD_STOPPED;
	}
	assert_true(stands);
	usleep(100 * WAIT_US); // it is in futex() by then
	assert_false(__atomic_load_n(&goes_on, __ATOMIC_ACQUIRE));
	heapsnap_gate_open();
	assert_true(becomes(&goes_on));
	pthread_join(thread, NULL);
}

// The slot of a thread that has ended can be another one's, unless its answer is still expected.
static void slot_is_used_again(void **state)
{
	(void)state;
	assert_true(heapsnap_room_make());
	heapsnap_gate_shut();
	assert_true(heapsnap_gate_ask(1));
	assert_false(heapsnap_gate_forget(1));
	assert_false(heapsnap_gate_may_ask(1));
	heapsnap_gate_excuse(1);
	assert_false(heapsnap_gate_may_ask(1));
	assert_true(heapsnap_gate_forget(1));
	assert_true(heapsnap_gate_may_ask(1));
	heapsnap_gate_open();
}

UNIT_TESTS("gate", cmocka_unit_test(excused_thread_goes_on), cmocka_unit_test(slot_is_used_again))
