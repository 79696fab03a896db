// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/base/thread_call.h"

#include "dumper/base/system.h"

enum phase {
	NONE,
	WRITING, // by the thread that asks
	ASKED,
};

static const uint64_t LOOK_NS = 1000000; // whether the thread is there still

static uint32_t phase_of(const struct heapsnap_thread_call *call)
{
	return __atomic_load_n(&call->phase, __ATOMIC_SEQ_CST);
}

void heapsnap_thread_call_ask(struct heapsnap_thread_call *call, long number, const long *arguments,
			      uint32_t (*tid)(void), void (*wake)(void))
{
	uint32_t none = NONE;

	// Two threads may ask at once.
	while (!__atomic_compare_exchange_n(&call->phase, &none, WRITING, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST)) {
		if (tid() == 0)
			return;
		heapsnap_futex_wait(&call->phase, none, LOOK_NS);
		none = NONE;
	}
	call->number = number;
	for (int i = 0; i < HEAPSNAP_CALL_ARGUMENTS; i++)
		call->arguments[i] = arguments[i];
	__atomic_store_n(&call->phase, ASKED, __ATOMIC_SEQ_CST);
	wake();
	while (phase_of(call) == ASKED && tid() != 0)
		heapsnap_futex_wait(&call->phase, ASKED, LOOK_NS);
	__atomic_store_n(&call->phase, NONE, __ATOMIC_SEQ_CST);
}

bool heapsnap_thread_call_is_asked(const struct heapsnap_thread_call *call)
{
	return phase_of(call) == ASKED;
}

void heapsnap_thread_call_make(struct heapsnap_thread_call *call)
{
	const long *a = call->arguments;

	if (!heapsnap_thread_call_is_asked(call))
		return;
	heapsnap_system(call->number, a[0], a[1], a[2], a[3], a[4], 0);
	__atomic_store_n(&call->phase, WRITING, __ATOMIC_SEQ_CST);
	heapsnap_futex_wake(&call->phase);
}
