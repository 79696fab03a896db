// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/passing.h"

#include "dumper/stacks/effort.h"
#include "dumper/stacks/frame_rules.h"
#include "dumper/stacks/machine_code.h"
#include "dumper/stacks/standard.h"
#include "dumper/stacks/values.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)

enum {
	MAX_BYTES = 1024,       // of a function, from its beginning
	MAX_INSTRUCTIONS = 320, // that are decoded for one answer
	PER_STEP = 4,           // of which cost a step
	MAX_NESTED = 2,         // wrappers in wrappers
	MAX_WAYS = 4,           // jumps that have not been reached yet
};

// Which of its parameters an allocator takes for the size.
struct passing {
	uint8_t parameters; // a bit for each; 0: it is no allocator
	bool is_guess;      // it may be any of them: the allocator is called through a pointer
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
	struct passing passing; // what has been found
	int *left;              // instructions that may still be decoded
	int depth;
	bool failed;
};

static struct allocator {
	uint64_t address; // 0: the program has none
	uint8_t parameters;
} allocators[24];

// --- the code that a call leads to -------------------------------------------------

// True if a module's memory has @p size bytes at an address.
static bool is_within_module(uint64_t of, uint64_t address, uint64_t size)
{
	struct heapsnap_code code;

	return heapsnap_code_find(of, &code) && address >= code.start && address < code.end &&
	       code.end - address >= size;
}

// The address that a word of a module's linkage table holds; 0 if it is none.
static uint64_t read_linkage(uint64_t code, uint64_t slot)
{
	uint64_t address;

	if (!is_within_module(code, slot, sizeof(address)))
		return 0;
	memcpy(&address, (const void *)slot, sizeof(address));
	return address;
}

// Where a jump or call through the linkage table leads to; 0 if it is through another pointer.
static uint64_t find_linked(const struct heapsnap_instruction *instruction)
{
	uint64_t next = (uint64_t)instruction->next;

	return instruction->is_relative && !instruction->is_based
		       ? read_linkage(next, next + (uint64_t)(int64_t)instruction->displacement)
		       : 0;
}

// If there is an entry of a procedure linkage table, where that leads to; else the address itself.
static uint64_t skip_linkage(uint64_t address)
{
	enum {
		LENGTH = 16
	};
	const uint8_t *at = (const uint8_t *)address;
	struct heapsnap_instruction instruction;
	uint64_t linked = 0;

	if (!is_within_module(address, address, LENGTH))
		return address;
	for (int i = 0; i < 2 && linked == 0; i++) {
		if (!heapsnap_decode(at, (const uint8_t *)address + LENGTH, &instruction))
			return address;
		// endbr64 may come first.
		if (instruction.map == HEAPSNAP_MAP_ONE && instruction.opcode == 0xff &&
		    (instruction.reg & 7) == 4)
			linked = find_linked(&instruction);
		else if (instruction.map != HEAPSNAP_MAP_0F || instruction.opcode != 0x1e)
			return address;
		at = instruction.next;
	}
	return linked ? linked : address;
}

// --- calls -----------------------------------------------------------------------------

static struct passing find_passing_within(uint64_t function, int *left, int depth);

// Which parameters of the function at an address are a size that it passes on to an allocator.
static struct passing find_passing(const struct analysis *analysis, uint64_t function)
{
	struct passing none = { 0 };

	function = skip_linkage(function);
	for (size_t i = 0; i < sizeof(allocators) / sizeof(*allocators); i++) {
		if (function != 0 && allocators[i].address == function)
			return (struct passing){ allocators[i].parameters, false };
	}
	if (function == 0 || analysis->depth == MAX_NESTED ||
	    heapsnap_standard_has(function, function))
		return none;
	return find_passing_within(function, analysis->left, analysis->depth + 1);
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
static const struct passing guess = { 1 << 0 | 1 << 1, true };

// @param next  where it returns to; NULL: to the caller
static void call(struct analysis *analysis, const uint8_t *next, uint64_t function, bool is_direct)
{
	struct passing passing = { 0 };

	if (!analysis->site || analysis->site == next)
		passing = is_direct ? find_passing(analysis, function) : guess;

	uint8_t passed = passed_to(&analysis->now, passing);

	// Without that the rest is of no interest. One that calls itself does more than pass sizes on.
	analysis->failed = (analysis->site && analysis->site == next && passed == 0) ||
			   (is_direct && function == (uint64_t)analysis->start);
	analysis->passing.is_guess |= passed && passing.is_guess;
	heapsnap_values_call(&analysis->now, passed);
}

// Notes what the function returns.
static void leave(struct analysis *analysis)
{
	struct heapsnap_value result = analysis->now.registers[HEAPSNAP_RAX];

	if (result.kind == HEAPSNAP_VALUE_BLOCK)
		analysis->passing.parameters |= result.parameters;
	analysis->is_reached = false;
}

// A jump out of the function, which another one returns from.
static void tail_call(struct analysis *analysis, uint64_t function, bool is_direct)
{
	struct heapsnap_value stack = analysis->now.registers[HEAPSNAP_RSP];

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
	for (int i = 0; i < MAX_WAYS; i++) {
		struct way *way = &analysis->ways[i];

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

static void jump(struct analysis *analysis, const struct heapsnap_instruction *instruction,
		 bool always)
{
	const uint8_t *to = instruction->next + instruction->immediate;

	if (to >= instruction->next && to < analysis->end)
		add_way(analysis, to);
	else if (always && (to < analysis->start || to >= analysis->end))
		tail_call(analysis, (uint64_t)to, true);
	if (always)
		analysis->is_reached = false;
}

// --- instructions ---------------------------------------------------------------------------

// A jump or call through a pointer. @return false if it is neither
static bool follow_pointer(struct analysis *analysis,
			   const struct heapsnap_instruction *instruction)
{
	uint64_t linked = find_linked(instruction);

	switch (instruction->reg & 7) {
	case 2:
		call(analysis, instruction->next, linked, linked != 0);
		return true;
	case 4:
		// With an index it is a switch.
		if (instruction->index == HEAPSNAP_NO_REGISTER)
			tail_call(analysis, linked, linked != 0);
		analysis->is_reached = false;
		return true;
	default:
		return false;
	}
}

// Takes an instruction that does not lead to the next one, or not only. @return false if it does
static bool follow(struct analysis *analysis, const struct heapsnap_instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (instruction->map == HEAPSNAP_MAP_0F && !instruction->is_vector) {
		if ((opcode & 0xf0) == 0x80)
			jump(analysis, instruction, false);
		else if (opcode == 0x0b)
			analysis->is_reached = false;
		return (opcode & 0xf0) == 0x80 || opcode == 0x0b;
	}
	if (instruction->map != HEAPSNAP_MAP_ONE)
		return false;
	if (opcode == 0xff)
		return follow_pointer(analysis, instruction);
	if ((opcode & 0xf0) == 0x70)
		jump(analysis, instruction, false);
	else if (opcode == 0xe8)
		call(analysis, instruction->next,
		     (uint64_t)(instruction->next + instruction->immediate), true);
	else if (opcode == 0xe9 || opcode == 0xeb)
		jump(analysis, instruction, true);
	else if (opcode == 0xc3)
		leave(analysis);
	else if (opcode == 0xcc || opcode == 0xf4) // int3, hlt
		analysis->is_reached = false;
	else
		return false;
	return true;
}

// --- functions ------------------------------------------------------------------------------

static void go_through(struct analysis *analysis)
{
	struct heapsnap_instruction instruction;
	const uint8_t *at = analysis->start;
	int decoded = 0;

	for (; at < analysis->end && !analysis->failed && *analysis->left > 0;
	     at = instruction.next) {
		(*analysis->left)--;
		if (++decoded % PER_STEP == 0)
			heapsnap_spend(1);
		arrive(analysis, at);
		if (!heapsnap_decode(at, analysis->end, &instruction))
			break;
		if (analysis->is_reached && !follow(analysis, &instruction) &&
		    !heapsnap_values_step(&analysis->now, &instruction))
			analysis->failed = true;
	}
}

static struct passing analyze(struct analysis *analysis, uint64_t start, uint64_t end)
{
	analysis->start = (const uint8_t *)start;
	analysis->end = (const uint8_t *)(end - start > MAX_BYTES ? start + MAX_BYTES : end);
	analysis->is_reached = true;
	heapsnap_values_init(&analysis->now);
	go_through(analysis);
	return analysis->failed ? (struct passing){ 0 } : analysis->passing;
}

static struct passing find_passing_within(uint64_t function, int *left, int depth)
{
	struct analysis analysis = { .left = left, .depth = depth };
	uint64_t end, start = heapsnap_function_find(function, &end);

	heapsnap_spend(HEAPSNAP_EFFORT_LOOKUP);
	if (start == 0 || start != function)
		return (struct passing){ 0 };
	return analyze(&analysis, start, end);
}

bool heapsnap_passes_size(uint64_t start, uint64_t end, uint64_t site)
{
	int left = MAX_INSTRUCTIONS;
	struct analysis analysis = { .site = (const uint8_t *)site, .left = &left };

	if (site <= start || site > end || site - start > MAX_BYTES)
		return false;
	return analyze(&analysis, start, end).parameters != 0;
}

void heapsnap_passing_init(void)
{
	static const struct {
		const char *name;
		uint8_t parameters;
	} known[] = {
		{ "malloc", 1 << 0 },
		{ "calloc", 1 << 0 | 1 << 1 },
		{ "realloc", 1 << 1 },
		{ "reallocarray", 1 << 1 | 1 << 2 },
		{ "aligned_alloc", 1 << 1 },
		{ "memalign", 1 << 1 },
		{ "valloc", 1 << 0 },
		{ "pvalloc", 1 << 0 },
		{ "_Znwm", 1 << 0 },
		{ "_Znam", 1 << 0 },
		{ "_ZnwmRKSt9nothrow_t", 1 << 0 },
		{ "_ZnamRKSt9nothrow_t", 1 << 0 },
		{ "_ZnwmSt11align_val_t", 1 << 0 },
		{ "_ZnamSt11align_val_t", 1 << 0 },
		{ "_ZnwmSt11align_val_tRKSt9nothrow_t", 1 << 0 },
		{ "_ZnamSt11align_val_tRKSt9nothrow_t", 1 << 0 },
	};

	_Static_assert(sizeof(known) / sizeof(*known) <= sizeof(allocators) / sizeof(*allocators),
		       "room for all");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint64_t address = (uint64_t)dlsym(RTLD_DEFAULT, known[i].name);

		// It may be an entry in the linkage table of a program that lies at a fixed place.
		allocators[i].address = address ? skip_linkage(address) : 0;
		allocators[i].parameters = known[i].parameters;
	}
}

#else

void heapsnap_passing_init(void)
{
}

bool heapsnap_passes_size(uint64_t start, uint64_t end, uint64_t site)
{
	(void)start;
	(void)end;
	(void)site;
	return false;
}

#endif
