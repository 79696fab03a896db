// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sites/constructors.h"

#include "dumper/code/code_flow.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"
#include "lib/types/templates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096, // some code is relative to pages of this size
	WINDOW = 2 * PAGE,
	MAX_INSTRUCTIONS = 96,  // after a call
	MAX_BODIES = 8192,      // instructions of all constructors of a block
	MAX_BODY = 256,         // of a constructor
	MAX_FUNCTION = 1 << 16, // bytes of one whose calls are visited
	MAX_DEPTH = 3,          // constructors of parts in each other
	MAX_NAME = 4096,
	KEPT = 4 * HEAPSNAP_VALUE_SLOTS, // bytes of the stack frame
	SHORTEST_CALL = 4,               // bytes
	LONGEST_CALL = 6,
	WORD = 8,
};

// A copy of code, at the same place in a page.
struct window {
	uint64_t start; // of the page
	uint8_t *bytes; // [WINDOW]
};

struct constructors {
	const struct capture *capture;
	int left; // instructions that may still be read for the current block
	uint8_t *memory;
	struct window
		windows[MAX_DEPTH + 2]; // of the allocating code; of its call; of each constructor
};

// --- code ---------------------------------------------------------------------

static const uint8_t *open_window(struct constructors *constructors, unsigned number,
				  uint64_t address)
{
	struct window *window = &constructors->windows[number];
	uint64_t start = address / PAGE * PAGE;

	if (window->start != start)
		image_read_padded(&constructors->capture->image, start, window->bytes, WINDOW);
	window->start = start;
	return window->bytes + address % PAGE;
}

// The address in the process of what a window has, or would have.
static uint64_t address_of(const struct window *window, uint64_t at)
{
	return at - (uint64_t)window->bytes + window->start;
}

static const uint8_t *end_of(const struct window *window)
{
	return window->bytes + WINDOW;
}

static uint64_t read_slot(const struct constructors *constructors, uint64_t slot)
{
	uint64_t address = 0;

	return image_read(&constructors->capture->image, slot, &address, sizeof(address)) ? address
											  : 0;
}

// The function that a call leads to, through the procedure linkage table if need be; 0: not known.
static uint64_t find_target(struct constructors *constructors, const struct window *window,
			    const struct heapsnap_flow *flow)
{
	const struct window *linkage = &constructors->windows[1];
	uint64_t target, slot;
	const uint8_t *code;

	if (flow->target == 0)
		return flow->slot ? read_slot(constructors, address_of(window, flow->slot)) : 0;
	target = address_of(window, flow->target);
	code = open_window(constructors, 1, target);
	slot = heapsnap_linkage_slot(code);
	return slot ? read_slot(constructors, address_of(linkage, slot)) : target;
}

static const struct heap_symbol *find_function(const struct constructors *constructors,
					       uint64_t address)
{
	const struct module *module = modules_find(&constructors->capture->modules, address);
	const struct heap_symbol *symbol =
		module && module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_FUNCTION,
							     address - module->bias)
				      : NULL;

	return symbol && symbol->address == address - module->bias ? symbol : NULL;
}

// --- names --------------------------------------------------------------------

// The last "::" of a qualified name's first @p length characters, none inside brackets; NULL: none.
static const char *find_last_scope(const char *name, size_t length)
{
	const char *last = NULL;

	for (size_t i = 0; i + 1 < length;) {
		size_t bracket = strcspn(name + i, "<(");
		size_t skipped;

		for (size_t j = i; j < i + bracket && j + 1 < length; j++)
			last = name[j] == ':' && name[j + 1] == ':' ? name + j : last;
		skipped = heap_template_length(name + i + bracket);
		if (i + bracket >= length || skipped == 0)
			break;
		i += bracket + skipped;
	}
	return last;
}

/*
 * The length of the class's name, if a function is a constructor: "Tree<int>::Node::Node",
 * "List<int>::List<char*>". 0: it is not.
 */
static size_t constructed_class(const char *function)
{
	const char *method = find_last_scope(function, strlen(function));
	size_t length = method ? (size_t)(method - function) : 0, plain;
	const char *scope = find_last_scope(function, length);
	const char *class = scope ? scope + 2 : function;

	if (!method)
		return 0;
	plain = strcspn(class, "<");
	if (plain > (size_t)(method - class))
		plain = (size_t)(method - class);
	return strcspn(method + 2, "<") == plain && strncmp(method + 2, class, plain) == 0 ? length
											   : 0;
}

// --- the extent of a constructor -----------------------------------------------

static bool is_block(struct heapsnap_value value)
{
	return value.kind == HEAPSNAP_VALUE_BLOCK && value.number != INT16_MAX && value.number >= 0;
}

static uint32_t larger(uint32_t one, uint32_t other)
{
	return one > other ? one : other;
}

// Notes a store into the block. @return where it ends; 0: elsewhere
static uint32_t stored_until(const uint8_t *at, const uint8_t *end,
			     const struct heapsnap_values *values)
{
	struct heapsnap_store store;

	return heapsnap_flow_store(at, end, values, &store) && is_block(store.address)
		       ? (uint32_t)store.address.number + store.bytes
		       : 0;
}

// How far into its object a constructor stores, at least: its class is that large.
static uint32_t find_extent(struct constructors *constructors, uint64_t function, int depth)
{
	const struct heap_symbol *symbol = find_function(constructors, function);
	const struct window *window = &constructors->windows[2 + depth];
	const uint8_t *at = open_window(constructors, 2 + (unsigned)depth, function),
		      *end = end_of(window);
	struct heapsnap_values values;
	struct heapsnap_flow flow;
	uint32_t extent = 0;

	heapsnap_values_init(&values);
	values.registers[heapsnap_parameters[0]] = heapsnap_value_make(HEAPSNAP_VALUE_BLOCK, 0, 0);
	if (symbol && symbol->size > 0 && symbol->size < (uint64_t)(end - at))
		end = at + symbol->size;
	for (int i = 0; i < MAX_BODY && at < end && constructors->left-- > 0; i++, at = flow.next) {
		struct heapsnap_value self;

		progress_step();
		extent = larger(extent, stored_until(at, end, &values));
		if (!heapsnap_flow_step(at, end, &values, &flow))
			break;
		if (flow.kind != HEAPSNAP_FLOW_CALL)
			continue;
		self = values.registers[heapsnap_parameters[0]];
		if (is_block(self)) {
			uint64_t target = find_target(constructors, window, &flow);
			uint32_t part = target && depth + 1 < MAX_DEPTH
						? find_extent(constructors, target, depth + 1)
						: 0;

			extent = larger(extent, (uint32_t)self.number + larger(part, 1));
		}
		heapsnap_values_call(&values, 0);
	}
	return extent;
}

// --- the allocating code --------------------------------------------------------

struct walk {
	struct constructors *constructors;
	const struct window *window;
	struct heapsnap_values values;
	uint64_t block_size;
	bool may_be_array;
	bool is_kept;         // the slots of the stack that are kept have been chosen
	uint32_t before;      // the end of what was stored before the constructor
	bool is_cleared;      // the block's start, too: that was "new T()"
	bool is_found;        // the constructor has been called
	uint32_t extent;      // of that
	uint64_t constructor; // its address
	char *name;           // [size] the result
	size_t size;
};

// True if a register or a slot of the stack still has the block's address.
static bool is_tracked(const struct heapsnap_values *values)
{
	for (int i = 0; i < HEAPSNAP_VALUE_REGISTERS; i++) {
		if (is_block(values->registers[i]))
			return true;
	}
	for (int i = 0; i < HEAPSNAP_VALUE_SLOTS; i++) {
		if (is_block(values->slots[i]))
			return true;
	}
	return false;
}

// A call on the block, before its constructor. @return false: this one tells nothing
static bool take_first_call(struct walk *walk, uint64_t target)
{
	const struct heap_symbol *symbol = find_function(walk->constructors, target);
	CLEANUP_FREE char *name = symbol ? heap_demangle(symbol->name) : NULL;
	size_t length = name ? constructed_class(name) : 0;

	if (name && strcmp(name, "memset") == 0) {
		walk->is_cleared = true;
		return true;
	}
	if (length == 0 || length >= walk->size)
		return false;
	walk->extent = find_extent(walk->constructors, target, 0);
	walk->constructor = target;
	memcpy(walk->name, name, length);
	walk->name[length] = '\0';
	walk->is_found = true;
	return walk->is_cleared || walk->before <= walk->extent;
}

enum step {
	STEP_ON,
	STEP_END,      // nothing more can be said
	STEP_REJECTED, // the constructor is that of a part
};

// The other parameters' registers may have the block by chance.
static enum step take_call(struct walk *walk, const struct heapsnap_flow *flow)
{
	struct heapsnap_value self = walk->values.registers[heapsnap_parameters[0]];

	if (self.kind != HEAPSNAP_VALUE_BLOCK) {
		heapsnap_values_call(&walk->values, 0);
		return STEP_ON;
	}
	if (walk->is_found)
		return self.number > 0 && (uint32_t)self.number >= walk->extent ? STEP_REJECTED
										: STEP_END;
	if (self.number != 0 ||
	    !take_first_call(walk, find_target(walk->constructors, walk->window, flow)))
		return STEP_REJECTED;
	heapsnap_values_call(&walk->values, 0);
	// Where the address is lost, the code that fills the rest would not be seen.
	return walk->extent + WORD > walk->block_size ? STEP_END
	       : is_tracked(&walk->values)            ? STEP_ON
						      : STEP_REJECTED;
}

// Keeps the slots around the first one that is stored to: compilers put the block there.
static void keep_slots(struct walk *walk, const uint8_t *at)
{
	struct heapsnap_value *registers = walk->values.registers;
	struct heapsnap_store store;
	int16_t by;

	if (walk->is_kept ||
	    !heapsnap_flow_store(at, end_of(walk->window), &walk->values, &store) ||
	    store.address.kind != HEAPSNAP_VALUE_STACK || store.bytes < WORD)
		return;
	by = (int16_t)(-KEPT / 2 - store.address.number);
	registers[HEAPSNAP_VALUE_SP].number = (int16_t)(registers[HEAPSNAP_VALUE_SP].number + by);
	if (registers[HEAPSNAP_VALUE_FP].kind == HEAPSNAP_VALUE_STACK)
		registers[HEAPSNAP_VALUE_FP].number =
			(int16_t)(registers[HEAPSNAP_VALUE_FP].number + by);
	walk->is_kept = true;
}

static void take_store(struct walk *walk, const uint8_t *at, uint32_t *behind)
{
	struct heapsnap_store store;
	uint32_t end = stored_until(at, end_of(walk->window), &walk->values);

	if (end == 0 || !heapsnap_flow_store(at, end_of(walk->window), &walk->values, &store))
		return;
	if (walk->is_found) {
		*behind = larger(*behind, (uint32_t)store.address.number + 1);
		return;
	}
	walk->before = larger(walk->before, end);
	walk->is_cleared = walk->is_cleared || store.address.number == 0;
}

static enum constructor_use end_walk(const struct walk *walk)
{
	return walk->is_found ? CONSTRUCTOR_CALLED : CONSTRUCTOR_NONE;
}

// Follows one path: on where a jump depends on something.
static enum constructor_use go_on(struct walk *walk, const uint8_t *at)
{
	const struct window *window = walk->window;
	struct heapsnap_flow flow;

	for (int i = 0; i < MAX_INSTRUCTIONS; i++) {
		uint32_t behind = 0;
		struct heapsnap_value result = walk->values.registers[HEAPSNAP_VALUE_RESULT];

		progress_step();
		keep_slots(walk, at);
		take_store(walk, at, &behind);
		if (behind > walk->extent)
			return CONSTRUCTOR_NONE;
		if (!heapsnap_flow_step(at, end_of(window), &walk->values, &flow) ||
		    flow.kind == HEAPSNAP_FLOW_STOP)
			return end_walk(walk);
		at = flow.next;
		if (flow.kind == HEAPSNAP_FLOW_RETURN)
			return !walk->is_found && is_block(result) && result.number == 0
				       ? CONSTRUCTOR_RETURNED
				       : end_walk(walk);
		if (flow.kind == HEAPSNAP_FLOW_CALL) {
			enum step step = take_call(walk, &flow);

			if (step != STEP_ON)
				return step == STEP_END ? end_walk(walk) : CONSTRUCTOR_NONE;
		}
		if (flow.kind == HEAPSNAP_FLOW_JUMP) {
			at = (const uint8_t *)flow.target;
			if (at < window->bytes || at >= end_of(window))
				return end_walk(walk);
		}
	}
	return end_walk(walk);
}

// The function that the call before a return address leads to; 0: not known.
static uint64_t find_allocator(struct constructors *constructors, const uint8_t *site)
{
	const struct window *window = &constructors->windows[0];

	for (int length = LONGEST_CALL; length >= SHORTEST_CALL; length--) {
		struct heapsnap_flow flow;

		if (site - window->bytes >= length &&
		    heapsnap_flow_step(site - length, site, NULL, &flow) && flow.next == site &&
		    flow.kind == HEAPSNAP_FLOW_CALL && (flow.target != 0 || flow.slot != 0))
			return find_target(constructors, window, &flow);
	}
	return 0;
}

bool constructors_are_called(struct constructors *constructors, uint64_t site)
{
	const uint8_t *at = open_window(constructors, 0, site);
	const struct heap_symbol *symbol =
		find_function(constructors, find_allocator(constructors, at));

	progress_step();
	return symbol && strncmp(symbol->name, "_Znw", strlen("_Znw")) == 0;
}

// True if the call may be one of operator new[], of which each element is constructed.
static bool may_make_array(struct constructors *constructors, const uint8_t *site)
{
	const struct heap_symbol *symbol =
		find_function(constructors, find_allocator(constructors, site));
	CLEANUP_FREE char *name = symbol ? heap_demangle(symbol->name) : NULL;

	return !name || strstr(name, "operator new[]");
}

enum constructor_use constructors_follow(struct constructors *constructors, uint64_t site,
					 uint64_t block_size, char *name, size_t size,
					 uint64_t *constructor)
{
	const uint8_t *at = open_window(constructors, 0, site);
	struct walk walk = { .constructors = constructors,
			     .window = &constructors->windows[0],
			     .block_size = block_size,
			     .name = name,
			     .size = size };
	struct heapsnap_value *registers = walk.values.registers;
	enum constructor_use use;

	constructors->left = MAX_BODIES;
	walk.may_be_array = may_make_array(constructors, at);
	registers[HEAPSNAP_VALUE_FP] = heapsnap_value_make(HEAPSNAP_VALUE_STACK, 0, 0);
	registers[HEAPSNAP_VALUE_SP] = heapsnap_value_make(HEAPSNAP_VALUE_STACK, 0, -KEPT);
	registers[HEAPSNAP_VALUE_RESULT] = heapsnap_value_make(HEAPSNAP_VALUE_BLOCK, 0, 0);
	use = go_on(&walk, at);
	if (constructor)
		*constructor = walk.constructor;
	return use;
}

struct heap_error *constructors_visit_calls(struct constructors *constructors, uint64_t address,
					    constructors_visitor *visit, void *context)
{
	const struct module *module = modules_find(&constructors->capture->modules, address);
	const struct heap_symbol *function =
		module && module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_FUNCTION,
							     address - module->bias)
				      : NULL;
	const struct window *window = &constructors->windows[0];
	struct heapsnap_flow flow;
	uint64_t at, end;

	if (!function)
		return NULL;
	at = function->address + module->bias;
	end = at + (function->size < MAX_FUNCTION ? function->size : MAX_FUNCTION);
	while (at < end) {
		const uint8_t *code = open_window(constructors, 0, at);
		const struct heap_symbol *called;

		progress_step();
		// Behind an instruction that is not known, the next ones are soon found again.
		if (!heapsnap_flow_step(code, end_of(window), NULL, &flow)) {
			at++;
			continue;
		}
		at = address_of(window, (uint64_t)flow.next);
		if (flow.kind != HEAPSNAP_FLOW_CALL && flow.kind != HEAPSNAP_FLOW_JUMP)
			continue;
		called = find_function(constructors, find_target(constructors, window, &flow));
		if (called)
			HEAP_TRY(visit(context, called->name));
	}
	return NULL;
}

// --- all ----------------------------------------------------------------------

struct heap_error *constructors_create(const struct capture *capture, struct constructors **result)
{
	struct constructors *constructors = *result = calloc(1, sizeof(*constructors));
	size_t count = sizeof(constructors->windows) / sizeof(*constructors->windows);

	if (!constructors)
		return heap_error_out_of_memory();
	constructors->capture = capture;
	constructors->memory = calloc(count + 1, WINDOW);
	if (!constructors->memory) {
		constructors_destroy(constructors);
		*result = NULL;
		return heap_error_out_of_memory();
	}

	uint8_t *page = constructors->memory + PAGE - (uint64_t)constructors->memory % PAGE;

	for (size_t i = 0; i < count; i++)
		constructors->windows[i].bytes = page + i * WINDOW;
	return NULL;
}

void constructors_destroy(struct constructors *constructors)
{
	if (!constructors)
		return;
	free(constructors->memory);
	free(constructors);
}
