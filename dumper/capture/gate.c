// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/capture/gate.h"

#include "dumper/base/process.h"
#include "dumper/capture/room.h"
#include "dumper/base/settings.h"
#include "dumper/host/sandbox.h"
#include "dumper/host/signals.h"
#include "dumper/base/system.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

enum {
	HIGHEST_SIGNAL = 63, // one below the last: that one is popular
	LOWEST_SIGNAL = 40,
	CROWD = 64, // from this many threads on they ask and wake each other
	CHUNK = 16, // how many the thread that opens the gate wakes at once
	SPREAD = 2, // how many each of them asks and wakes
};

enum answer {
	NOT_ASKED,
	EXPECTED,
	EXCUSED,
	ANSWERED,
};

// State that the handler shares with the thread that stops the others.
static struct {
	uint32_t generation; // of the stop that is under way; a late signal of another is void
	uint32_t gate;       // futex: threads wait while it is the generation
	uint32_t answered;   // futex: threads that wait
	uint32_t expected;   // answers
	bool crowded;
	bool refused;
	int signal;
	uint32_t count;    // of slots in the list that may be asked
	uint32_t prepared; // of slots in the list
	uint64_t next;     // generation << 32 | place in the list of who is asked next
} stop;

uint64_t heapsnap_gate_calls;

static struct heapsnap_thread *thread_at(uint32_t slot)
{
	return (struct heapsnap_thread *)heapsnap_process.threads + slot % heapsnap_room->capacity;
}

// --- in the threads that are stopped -------------------------------------------

// Not by way of the thread's storage: threads that libc did not make may have none.
static uint64_t thread_pointer(void)
{
	uint64_t pointer = 0;
#if defined(__x86_64__)
	enum {
		GET_FS = 0x1003, // ARCH_GET_FS of asm/prctl.h
	};

	HEAPSNAP_SYSTEM_2(SYS_arch_prctl, GET_FS, &pointer);
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	return pointer;
}

// By DWARF number: System V ABI, AMD64 supplement, figure 3.36; DWARF for the Arm 64-bit
// Architecture, 4.1.
void heapsnap_gate_note(struct heapsnap_thread *thread, const ucontext_t *context)
{
#if defined(__x86_64__)
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		thread->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
#else
	for (unsigned i = 0; i < 31; i++)
		thread->registers[i] = context->uc_mcontext.regs[i];
	thread->registers[31] = context->uc_mcontext.sp;
	thread->registers[32] = context->uc_mcontext.pc;
#endif
	thread->known = HEAPSNAP_ALL_REGISTERS;
	thread->thread_pointer = thread_pointer();
}

// Takes an answer that is expected for another. @return false: it was not expected
static bool change_answer(uint32_t slot, enum answer to)
{
	uint8_t expected = EXPECTED;

	return __atomic_compare_exchange_n(&heapsnap_room->answer[slot % heapsnap_room->capacity],
					   &expected, (uint8_t)to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

// Small: it also runs in the handler, on a stack that may be tiny.
static void send_to(uint32_t slot, uint32_t generation)
{
	struct heapsnap_thread *thread = thread_at(slot);
	siginfo_t info;
	long result;

	memset(&info, 0, sizeof(info));
	info.si_signo = stop.signal;
	info.si_code = SI_QUEUE;
	info.si_pid = (int)heapsnap_process.pid;
	info.si_value.sival_ptr = (void *)((uint64_t)generation << 32 | slot);
	result = HEAPSNAP_SYSTEM_4(SYS_rt_tgsigqueueinfo, heapsnap_process.pid, thread->tid,
				   stop.signal, &info);
	if (result >= 0)
		return;
	if (result == -ESRCH) // it has ended meanwhile
		__atomic_store_n(&thread->state, HEAPSNAP_THREAD_EMPTY, __ATOMIC_RELEASE);
	else // -EAGAIN
		__atomic_store_n(&stop.refused, true, __ATOMIC_RELEASE);
	if (change_answer(slot, NOT_ASKED))
		__atomic_sub_fetch(&stop.expected, 1, __ATOMIC_ACQ_REL);
}

// @return false: all have been asked, or this stop is over
static bool send_next(uint32_t generation)
{
	uint64_t next = __atomic_load_n(&stop.next, __ATOMIC_ACQUIRE);

	do {
		if (next >> 32 != generation ||
		    (uint32_t)next >= __atomic_load_n(&stop.count, __ATOMIC_ACQUIRE))
			return false;
	} while (!__atomic_compare_exchange_n(&stop.next, &next, next + 1, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	// The next stop may have begun: then the signal is of the one before, and void.
	send_to(__atomic_load_n(&heapsnap_room->asked[(uint32_t)next], __ATOMIC_RELAXED),
		generation);
	return true;
}

static bool is_crowded(void)
{
	return __atomic_load_n(&stop.crowded, __ATOMIC_RELAXED);
}

static void wait_for_opening(uint64_t value, const ucontext_t *context)
{
	uint32_t generation = (uint32_t)(value >> 32), slot = (uint32_t)value;
	struct heapsnap_thread *thread = thread_at(slot);

	// One that comes late is of a stop that is over.
	if (generation != __atomic_load_n(&stop.gate, __ATOMIC_ACQUIRE) || generation == 0)
		return;
	heapsnap_gate_note(thread, context);
	__atomic_store_n(&thread->state, HEAPSNAP_THREAD_STOPPED, __ATOMIC_RELEASE);
	for (int i = 0; is_crowded() && i < SPREAD && send_next(generation); i++)
		;
	if (change_answer(slot, ANSWERED) &&
	    __atomic_add_fetch(&stop.answered, 1, __ATOMIC_ACQ_REL) >=
		    __atomic_load_n(&stop.expected, __ATOMIC_ACQUIRE))
		heapsnap_futex_wake(&stop.answered);
	while (__atomic_load_n(&stop.gate, __ATOMIC_ACQUIRE) == generation)
		heapsnap_futex_wait(&stop.gate, generation, 0);
	if (is_crowded())
		heapsnap_futex_wake_some(&stop.gate, SPREAD);
}

static void wait_at_gate(int number, siginfo_t *info, void *context)
{
	if (info->si_code != SI_QUEUE) {
		heapsnap_signals_take_default(number, info);
		return;
	}
	heapsnap_sandbox_enter(0);
	wait_for_opening((uint64_t)info->si_value.sival_ptr, context);
	heapsnap_sandbox_leave();
}

// --- in the thread that stops them -----------------------------------------------

int heapsnap_gate_install(void)
{
	stop.signal = 0;
	for (int number = HIGHEST_SIGNAL; number >= LOWEST_SIGNAL && !stop.signal; number--) {
		if (number != heapsnap_settings.signal &&
		    heapsnap_signals_claim(number, wait_at_gate, false))
			stop.signal = number;
	}
	if (stop.signal)
		heapsnap_signals_open(stop.signal);
	return stop.signal;
}

void heapsnap_gate_shut(void)
{
	__atomic_store_n(&stop.answered, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&stop.expected, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&stop.count, 0, __ATOMIC_RELAXED);
	stop.prepared = 0;
	__atomic_store_n(&stop.crowded, false, __ATOMIC_RELAXED);
	memset(heapsnap_room->answer, NOT_ASKED, heapsnap_room->capacity);
	if (++stop.generation == 0)
		stop.generation = 1;
	__atomic_store_n(&stop.next, (uint64_t)stop.generation << 32, __ATOMIC_RELEASE);
	__atomic_store_n(&stop.gate, stop.generation, __ATOMIC_RELEASE);
}

bool heapsnap_gate_ask(uint32_t slot)
{
	uint8_t none = NOT_ASKED;

	if (stop.prepared == heapsnap_room->capacity * HEAPSNAP_ASKED ||
	    !__atomic_compare_exchange_n(&heapsnap_room->answer[slot], &none, EXPECTED, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	__atomic_store_n(&heapsnap_room->asked[stop.prepared++], slot, __ATOMIC_RELAXED);
	return true;
}

bool heapsnap_gate_may_ask(uint32_t slot)
{
	return __atomic_load_n(&heapsnap_room->answer[slot], __ATOMIC_ACQUIRE) == NOT_ASKED;
}

bool heapsnap_gate_was_refused(void)
{
	return __atomic_exchange_n(&stop.refused, false, __ATOMIC_ACQ_REL);
}

bool heapsnap_gate_is_expected(uint32_t slot)
{
	return __atomic_load_n(&heapsnap_room->answer[slot], __ATOMIC_ACQUIRE) == EXPECTED;
}

uint32_t heapsnap_gate_send(void)
{
	uint32_t added = stop.prepared - stop.count;

	__atomic_store_n(&stop.crowded, stop.prepared > CROWD, __ATOMIC_RELAXED);
	// All of them before the first: whoever answers last wakes who waits.
	__atomic_add_fetch(&stop.expected, added, __ATOMIC_ACQ_REL);
	__atomic_store_n(&stop.count, stop.prepared, __ATOMIC_RELEASE);
	while (send_next(stop.generation))
		heapsnap_gate_calls++;
	return added;
}

void heapsnap_gate_excuse(uint32_t slot)
{
	if (change_answer(slot, EXCUSED))
		__atomic_sub_fetch(&stop.expected, 1, __ATOMIC_ACQ_REL);
}

bool heapsnap_gate_forget(uint32_t slot)
{
	if (heapsnap_gate_is_expected(slot))
		return false;
	__atomic_store_n(&heapsnap_room->answer[slot], NOT_ASKED, __ATOMIC_RELEASE);
	return true;
}

bool heapsnap_gate_wait(uint64_t wait_ns)
{
	uint32_t answered = __atomic_load_n(&stop.answered, __ATOMIC_ACQUIRE);

	if (answered < __atomic_load_n(&stop.expected, __ATOMIC_ACQUIRE)) {
		heapsnap_gate_calls++;
		heapsnap_futex_wait(&stop.answered, answered, wait_ns);
	}
	return __atomic_load_n(&stop.answered, __ATOMIC_ACQUIRE) >=
	       __atomic_load_n(&stop.expected, __ATOMIC_ACQUIRE);
}

uint64_t heapsnap_gate_open(void)
{
	uint32_t left = __atomic_load_n(&stop.answered, __ATOMIC_ACQUIRE);
	uint64_t now = heapsnap_monotonic_ns();

	__atomic_store_n(&stop.gate, 0, __ATOMIC_RELEASE);
	// Not all in one call: the kernel would set all of them aside for this thread to wake,
	// which may have to wait for its own turn meanwhile.
	for (uint32_t woken = 0; woken < left; woken += CHUNK) {
		heapsnap_gate_calls++;
		heapsnap_futex_wake_some(&stop.gate, CHUNK);
	}
	// Also those that are not among the counted: excused, or stopped just now.
	heapsnap_gate_calls++;
	heapsnap_futex_wake(&stop.gate);
	return now;
}
