// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/passing.h"

#include "dumper/code/code_flow.h"
#include "dumper/stacks/code_hash.h"
#include "dumper/stacks/effort.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/stacks/standard.h"
#include "dumper/stacks/workspace.h"
#include "dumper/code/values.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum {
	MAX_BYTES = 512,        // of a function, from its beginning
	MAX_INSTRUCTIONS = 128, // of these
	PER_STEP = 4,           // of which cost a step
	MAX_HEIGHT = 3,         // a wrapper of a wrapper of a wrapper
	MAX_CALLS = 2,          // of a function, that may pass a size on to another wrapper
	MAX_RETURNING = 4,      // of its calls with a block, that may return it
	MAX_SHORT_BYTES = 64,   // of a function that only returns its first argument
	MAX_WAYS = 4,           // jumps that have not been reached yet
	CACHED = 1 << 10,
};

// Which of its parameters an allocator takes for the size.
struct passing {
	uint8_t parameters; // a bit for each; 0: it is no allocator
	bool is_guess;      // it may be any of them: the allocator is called through a pointer
	bool is_stored; // the block goes to where its first argument points, as of posix_memalign()
	uint8_t height; // 1: it calls an allocator itself; 0: it is one, or none
};

struct way {
	const uint8_t *to; // NULL: free
	struct heapsnap_values state;
};

// One function on its way through.
struct analysis {
	const uint8_t *start, *end;
	const uint8_t *site; // the only call that counts; NULL: any
	struct heapsnap_values now;
	bool is_reached; // now is what is known here; else no way leads here
	struct way ways[MAX_WAYS];
	struct way back;        // the first jump backwards with a block
	const uint8_t *nearest; // no way leads to a place before it
	struct passing passing; // what has been found
	int height;             // that it may have
	int calls;              // that may still be followed
	int returning;          // calls with a block, that may still be followed
	bool returns_first;     // it has returned its first argument
	bool failed;
};

static struct allocator {
	uint64_t address; // 0: the program has none
	uint8_t parameters;
	bool is_stored; // as in struct passing
} allocators[24];

// --- the code that a call leads to -------------------------------------------------

// True if a module's memory has @p size bytes at an address.
static bool is_within_module(uint64_t of, uint64_t address, uint64_t size)
{
	struct heapsnap_code code;

	return heapsnap_code_find(of, &code) && address >= code.start && address < code.end &&
	       code.end - address >= size;
}

// The address in a word of a module's linkage table; 0 if the word is in none.
static uint64_t read_linkage(uint64_t code, uint64_t slot)
{
	uint64_t address;

	if (!is_within_module(code, slot, sizeof(address)))
		return 0;
	memcpy(&address, (const void *)slot, sizeof(address));
	return address;
}

// If there is an entry of a procedure linkage table, where that leads to; else the address itself.
static uint64_t skip_linkage(uint64_t address)
{
	uint64_t slot, linked;

	if (!is_within_module(address, address, HEAPSNAP_LINKAGE_BYTES))
		return address;
	slot = heapsnap_linkage_slot((const uint8_t *)address);
	linked = slot ? read_linkage(address, slot) : 0;
	return linked ? linked : address;
}

// --- calls -----------------------------------------------------------------------------

/*
 * Known answers about functions, by hash of their addresses, which are in the lower 48 bits. The
 * height that was allowed belongs to the answer: for another height nothing is known.
 */
static uint64_t cache[CACHED];

enum {
	CACHE_PARAMETERS = 48, // shifts
	CACHE_GUESS = 54,
	CACHE_HEIGHT = 55,
	CACHE_ALLOWED = 58,
};

static uint64_t *cache_slot(uint64_t function)
{
	return &cache[heapsnap_code_hash(function) >> 54];
}

_Static_assert(CACHED == 1 << (64 - 54), "bits of the hash");

// Looks a function up in the cache. @return false if it is not there
static bool recall(uint64_t function, int height, struct passing *passing)
{
	uint64_t word = __atomic_load_n(cache_slot(function), __ATOMIC_RELAXED);
	int found = word >> CACHE_HEIGHT & 7, allowed = (int)(word >> CACHE_ALLOWED);

	if (word == 0 || (word ^ function) << 16 != 0 || (found == 0 && allowed < height))
		return false;
	*passing = (struct passing){ 0 };
	if (found > 0 && found <= height)
		*passing = (struct passing){ .parameters = word >> CACHE_PARAMETERS & 0x3f,
					     .is_guess = word >> CACHE_GUESS & 1,
					     .height = (uint8_t)found };
	return true;
}

static void remember(uint64_t function, int height, struct passing passing)
{
	uint64_t word = (function & ((UINT64_C(1) << CACHE_PARAMETERS) - 1)) |
			(uint64_t)passing.parameters << CACHE_PARAMETERS |
			(uint64_t)passing.is_guess << CACHE_GUESS |
			(uint64_t)passing.height << CACHE_HEIGHT |
			(uint64_t)height << CACHE_ALLOWED;

	__atomic_store_n(cache_slot(function), word, __ATOMIC_RELAXED);
}

void heapsnap_passing_forget(void)
{
	for (int i = 0; i < CACHED; i++)
		__atomic_store_n(&cache[i], 0, __ATOMIC_RELAXED);
}

static struct passing analyze_function(uint64_t function, int height);

// Which parameters of the function at an address are a size that it passes on to an allocator.
//
// @param calls  that may still be followed
static struct passing find_passing(uint64_t function, int height, int *calls)
{
	struct passing passing = { 0 };

	function = skip_linkage(function);
	for (size_t i = 0; i < sizeof(allocators) / sizeof(*allocators); i++) {
		if (function != 0 && allocators[i].address == function)
			return (struct passing){ .parameters = allocators[i].parameters,
						 .is_stored = allocators[i].is_stored };
	}
	if (function == 0 || height <= 0 || (*calls)-- <= 0 || recall(function, height, &passing))
		return passing;
	if (!heapsnap_standard_has(function, function))
		passing = analyze_function(function, height);
	remember(function, height, passing);
	return passing;
}

/*
 * The parameters of the function that make up the size in a call; 0 if that is not passed on. Of a
 * product, one part may be 1.
 */
static uint8_t passed_to(const struct heapsnap_values *values, struct passing passing)
{
	uint8_t result = 0;

	for (int i = 0; i < HEAPSNAP_VALUE_PARAMETERS; i++) {
		struct heapsnap_value value = values->registers[heapsnap_parameters[i]];

		if (!(passing.parameters & 1 << i))
			continue;
		if (value.kind == HEAPSNAP_VALUE_PARAMETER)
			result |= value.parameters;
		else if (value.kind == HEAPSNAP_VALUE_CONSTANT
				 ? passing.is_guess || (value.number != 0 && value.number != 1)
				 : !passing.is_guess)
			return 0;
	}
	return result;
}

// A function that is called through a pointer has its size first, or behind a context.
static const struct passing guess = { .parameters = 1 << 0 | 1 << 1, .is_guess = true };

// True if one of the first arguments of a call may be a size that the function has got.
static bool may_pass(const struct heapsnap_values *values)
{
	for (int i = 0; i < HEAPSNAP_VALUE_PARAMETERS; i++) {
		if (values->registers[heapsnap_parameters[i]].kind == HEAPSNAP_VALUE_PARAMETER)
			return true;
	}
	return false;
}

static bool returns_first(uint64_t function);

/*
 * True if a call returns the block that it gets: memset() does, and functions that only hide the
 * block from the compiler, or check it.
 */
static bool returns_block(struct analysis *analysis, uint64_t function, bool is_direct)
{
	return is_direct &&
	       analysis->now.registers[heapsnap_parameters[0]].kind == HEAPSNAP_VALUE_BLOCK &&
	       analysis->returning-- > 0 && returns_first(skip_linkage(function));
}

// The effect of a call on the values. Not a part of call(), which stands on the stack once for each wrapper: malloc
// has to do with little of it.
static __attribute__((noinline)) void take_effect(struct analysis *analysis, uint64_t function,
						  bool is_direct, struct passing passing,
						  bool is_site)
{
	struct heapsnap_value first = analysis->now.registers[heapsnap_parameters[0]],
			      *stored = NULL;
	uint8_t passed = passed_to(&analysis->now, passing);
	bool is_returned;

	if (passed && passing.is_stored) {
		stored = heapsnap_values_slot(&analysis->now, first, 0);
		passed = stored ? passed : 0; // the block leaves by another way than the result
	}
	if (passed) {
		analysis->passing.is_guess |= passing.is_guess;
		if (analysis->passing.height <= passing.height)
			analysis->passing.height = passing.height + 1;
	}
	analysis->failed = analysis->failed || (is_site && !passed); // the rest does not matter
	is_returned = !passed && returns_block(analysis, function, is_direct);
	heapsnap_values_call(&analysis->now, stored ? 0 : passed);
	if (stored)
		*stored = heapsnap_value_make(HEAPSNAP_VALUE_BLOCK, passed, 0);
	if (is_returned)
		analysis->now.registers[HEAPSNAP_VALUE_RESULT] = first;
}

// @param next  where it returns to; NULL: to the caller
static void call(struct analysis *analysis, const uint8_t *next, uint64_t function, bool is_direct)
{
	bool is_site = analysis->site && analysis->site == next;
	struct passing passing = { 0 };

	// One that calls itself does more than pass sizes on.
	analysis->failed = is_direct && function == (uint64_t)analysis->start;
	if (is_site || (!analysis->site && may_pass(&analysis->now)))
		passing = is_direct ? find_passing(function, analysis->height - 1, &analysis->calls)
				    : guess;
	take_effect(analysis, function, is_direct, passing, is_site);
}

// Notes what the function returns.
static void leave(struct analysis *analysis)
{
	struct heapsnap_value result = analysis->now.registers[HEAPSNAP_VALUE_RESULT];

	if (result.kind == HEAPSNAP_VALUE_BLOCK)
		analysis->passing.parameters |= result.parameters;
	else if (result.kind == HEAPSNAP_VALUE_PARAMETER && result.parameters == 1 << 0)
		analysis->returns_first = true;
	analysis->is_reached = false;
}

// A jump out of the function, which another one returns from.
static void tail_call(struct analysis *analysis, uint64_t function, bool is_direct)
{
	struct heapsnap_value stack = analysis->now.registers[HEAPSNAP_VALUE_SP];

	if (stack.kind == HEAPSNAP_VALUE_STACK && stack.number == 0) {
		call(analysis, NULL, function, is_direct);
		leave(analysis);
	}
	analysis->is_reached = false;
}

// --- ways through the function ------------------------------------------------------------

// Notes that a jump forward leads to a place in the function.
static void add_way(struct analysis *analysis, const uint8_t *to)
{
	struct way *room = NULL;

	analysis->nearest = to < analysis->nearest ? to : analysis->nearest;
	for (int i = 0; i < MAX_WAYS; i++) {
		struct way *way = &analysis->ways[i];

		if (way->to == to) {
			heapsnap_values_join(&way->state, &analysis->now);
			return;
		}
		room = way->to ? room : way;
	}
	if (!room)
		return;
	room->to = to;
	room->state = analysis->now;
}

static void arrive(struct analysis *analysis, const uint8_t *at)
{
	if (at < analysis->nearest)
		return;
	analysis->nearest = analysis->end;
	for (int i = 0; i < MAX_WAYS; i++) {
		struct way *way = &analysis->ways[i];

		if (way->to > at && way->to < analysis->nearest)
			analysis->nearest = way->to;
		if (way->to != at)
			continue;
		if (analysis->is_reached)
			heapsnap_values_join(&analysis->now, &way->state);
		else
			analysis->now = way->state;
		analysis->is_reached = true;
		way->to = NULL;
	}
}

static bool has_block(const struct heapsnap_values *values)
{
	for (int i = 0; i < HEAPSNAP_VALUE_REGISTERS; i++) {
		if (values->registers[i].kind == HEAPSNAP_VALUE_BLOCK)
			return true;
	}
	return false;
}

/*
 * Compilers put a path that they think rare behind the others, and it may be the one that
 * allocates. So the first way back with a block is taken afterwards, if nothing is known by then.
 */
static void note_way_back(struct analysis *analysis, const uint8_t *to)
{
	if (analysis->back.to || !has_block(&analysis->now))
		return;
	analysis->back.to = to;
	analysis->back.state = analysis->now;
}

static void jump(struct analysis *analysis, const struct heapsnap_flow *flow, bool always)
{
	const uint8_t *to = (const uint8_t *)flow->target;

	if (to >= flow->next && to < analysis->end)
		add_way(analysis, to);
	else if (to >= analysis->start && to < flow->next)
		note_way_back(analysis, to);
	else if (always)
		tail_call(analysis, (uint64_t)to, true);
	if (always)
		analysis->is_reached = false;
}

// Takes an instruction that does not lead to the next one, or not only.
static void follow(struct analysis *analysis, const struct heapsnap_flow *flow)
{
	bool is_pointer = flow->target == 0;
	uint64_t linked = flow->slot ? read_linkage((uint64_t)flow->next, flow->slot) : 0;
	uint64_t target = is_pointer ? linked : flow->target;

	switch (flow->kind) {
	case HEAPSNAP_FLOW_JUMP:
		if (is_pointer)
			tail_call(analysis, target, target != 0);
		else
			jump(analysis, flow, true);
		break;
	case HEAPSNAP_FLOW_JUMP_IF:
		jump(analysis, flow, false);
		break;
	case HEAPSNAP_FLOW_CALL:
		call(analysis, flow->next, target, target != 0);
		break;
	case HEAPSNAP_FLOW_RETURN:
		leave(analysis);
		break;
	default:
		analysis->is_reached = false;
		break;
	}
}

// --- functions ------------------------------------------------------------------------------

static void go_through(struct analysis *analysis, const uint8_t *at)
{
	struct heapsnap_flow flow;

	analysis->nearest = analysis->end;
	analysis->is_reached = true;
	for (int i = 1; at < analysis->end && !analysis->failed && i <= MAX_INSTRUCTIONS;
	     i++, at = flow.next) {
		if (i % PER_STEP == 0)
			heapsnap_spend(1);
		arrive(analysis, at);
		if (!heapsnap_flow_step(at, analysis->end,
					analysis->is_reached ? &analysis->now : NULL, &flow)) {
			analysis->failed = flow.next != NULL;
			break;
		}
		if (analysis->is_reached && flow.kind != HEAPSNAP_FLOW_ON)
			follow(analysis, &flow);
	}
}

// What is to be found out of a function.
struct question {
	uint64_t start, end;
	const uint8_t *site;
	int height, calls, returning; // as in struct analysis
};

struct answer {
	struct passing passing;
	bool returns_first;
};

static struct answer analyze(struct analysis *analysis, const struct question *question)
{
	uint64_t start = question->start, end = question->end;

	memset(analysis, 0, sizeof(*analysis));
	analysis->site = question->site;
	analysis->height = question->height;
	analysis->calls = question->calls;
	analysis->returning = question->returning;
	analysis->start = (const uint8_t *)start;
	analysis->end = (const uint8_t *)(end - start > MAX_BYTES ? start + MAX_BYTES : end);
	heapsnap_values_init(&analysis->now);
	go_through(analysis, analysis->start);
	if (!analysis->failed && analysis->passing.parameters == 0 && analysis->back.to) {
		memset(analysis->ways, 0, sizeof(analysis->ways));
		analysis->now = analysis->back.state;
		go_through(analysis, analysis->back.to);
	}
	if (analysis->failed || analysis->passing.parameters == 0)
		analysis->passing = (struct passing){ 0 };
	return (struct answer){ .passing = analysis->passing,
				.returns_first = !analysis->failed && analysis->returns_first };
}

static __attribute__((noinline)) struct answer analyze_on_stack(const struct question *question)
{
	struct analysis analysis;

	return analyze(&analysis, question);
}

_Static_assert(sizeof(struct analysis) <= HEAPSNAP_WORKSPACE_BYTES, "room for it");

static struct answer answer(const struct question *question)
{
	struct analysis *analysis = heapsnap_workspace_take();
	struct answer result;

	if (!analysis)
		return analyze_on_stack(question);
	result = analyze(analysis, question);
	heapsnap_workspace_give(analysis);
	return result;
}

static bool returns_first(uint64_t function)
{
	struct question question = { 0 };

	heapsnap_spend(HEAPSNAP_EFFORT_LOOKUP);
	question.start = heapsnap_function_find(function, &question.end);
	if (question.start == 0 || question.start != function ||
	    question.end - question.start > MAX_SHORT_BYTES)
		return false;
	return answer(&question).returns_first;
}

static struct passing analyze_function(uint64_t function, int height)
{
	struct question question = { .height = height,
				     .calls = MAX_CALLS,
				     .returning = MAX_RETURNING };

	question.start = heapsnap_function_find(function, &question.end);
	heapsnap_spend(HEAPSNAP_EFFORT_LOOKUP);
	if (question.start == 0 || question.start != function)
		return (struct passing){ 0 };
	return answer(&question).passing;
}

/*
 * True if the call before a return address passes no size on, as far as its own bytes tell: most
 * calls ask no wrapper for a block, or for one of a constant size.
 */
static bool passes_nothing(const uint8_t *site, uint64_t before)
{
	uint64_t target = heapsnap_call_target(site, before);
	struct passing passing;
	int calls = 1;

	if (target == 0)
		return false;
	passing = find_passing(target, MAX_HEIGHT - 1, &calls);
	return passing.parameters == 0 ||
	       (passing.parameters == 1 && heapsnap_call_has_constant(site, before));
}

bool heapsnap_passes_size(uint64_t start, uint64_t end, uint64_t site)
{
	struct question question = { .start = start,
				     .end = end,
				     .site = (const uint8_t *)site,
				     .height = MAX_HEIGHT,
				     .calls = 1,
				     .returning = MAX_RETURNING };

	if (site <= start || site > end || end - start > MAX_BYTES ||
	    passes_nothing(question.site, site - start))
		return false;
	return answer(&question).passing.parameters != 0;
}

void heapsnap_passing_init(void)
{
	static const struct {
		const char *name;
		uint8_t parameters;
		bool is_stored;
	} known[] = {
		{ "malloc", 1 << 0, false },
		{ "calloc", 1 << 0 | 1 << 1, false },
		{ "realloc", 1 << 1, false },
		{ "reallocarray", 1 << 1 | 1 << 2, false },
		{ "aligned_alloc", 1 << 1, false },
		{ "memalign", 1 << 1, false },
		{ "posix_memalign", 1 << 2, true },
		{ "valloc", 1 << 0, false },
		{ "pvalloc", 1 << 0, false },
		{ "_Znwm", 1 << 0, false },
		{ "_Znam", 1 << 0, false },
		{ "_ZnwmRKSt9nothrow_t", 1 << 0, false },
		{ "_ZnamRKSt9nothrow_t", 1 << 0, false },
		{ "_ZnwmSt11align_val_t", 1 << 0, false },
		{ "_ZnamSt11align_val_t", 1 << 0, false },
		{ "_ZnwmSt11align_val_tRKSt9nothrow_t", 1 << 0, false },
		{ "_ZnamSt11align_val_tRKSt9nothrow_t", 1 << 0, false },
	};

	_Static_assert(sizeof(known) / sizeof(*known) <= sizeof(allocators) / sizeof(*allocators),
		       "room for all");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint64_t address = (uint64_t)dlsym(RTLD_DEFAULT, known[i].name);

		// It may be an entry in the linkage table of a program that lies at a fixed place.
		allocators[i].address = address ? skip_linkage(address) : 0;
		allocators[i].parameters = known[i].parameters;
		allocators[i].is_stored = known[i].is_stored;
	}
}
