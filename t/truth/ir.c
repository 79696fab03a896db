// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A compiler's middle: values as a base of constants, arguments and instructions, use lists that
 * are threaded through the operands at an instruction's end, blocks, dominators, bit sets.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum value_kind {
	VALUE_CONSTANT,
	VALUE_ARGUMENT,
	VALUE_INSTRUCTION
};

struct use;

struct value {
	enum value_kind kind;
	unsigned number;
	struct use *uses;
	const char *name;
};

struct use { // an operand
	struct value *value;
	struct instruction *user;
	struct use *next, **previous;
};

struct constant {
	struct value value;
	int64_t number;
	struct constant *chain;
};

struct argument {
	struct value value;
	struct function *function;
	unsigned index;
};

enum operation {
	OP_ADD,
	OP_MULTIPLY,
	OP_LOAD,
	OP_STORE,
	OP_PHI,
	OP_BRANCH,
	OP_CALL
};

struct instruction {
	struct value value;
	struct instruction *next, *previous;
	struct block *block;
	uint8_t operation;
	uint8_t operand_count;
	struct use operands[];
};

struct bits {
	size_t count;
	uint64_t words[1];
};

struct block {
	struct block *next;
	struct function *function;
	struct instruction *first, *last;
	struct block **successors, **predecessors;
	unsigned successor_count, predecessor_count;
	struct block *dominator;
	struct bits *live_in, *live_out;
	unsigned number;
};

struct range {
	struct range *next;
	unsigned from, to;
};

struct interval {
	struct value *value;
	struct range *ranges;
	int8_t reg;
	float weight;
};

struct function {
	struct function *next;
	char *name;
	struct argument **arguments;
	unsigned argument_count;
	struct block *entry, **last;
	unsigned block_count, value_count;
	struct interval **intervals;
	void *pass_data; // of whichever pass ran last
};

struct loop_info {
	unsigned depth;
	struct block *header;
	struct loop_info *parent;
};

struct module {
	struct function *functions;
	struct constant *constants[64];
	unsigned constant_count;
};

static void value_init(struct value *value, enum value_kind kind, unsigned number)
{
	value->kind = kind;
	value->number = number;
	value->uses = NULL;
	value->name = NULL;
}

static void use_set(struct use *use, struct instruction *user, struct value *value)
{
	use->user = user;
	use->value = value;
	use->next = value->uses;
	use->previous = &value->uses;
	if (use->next)
		use->next->previous = &use->next;
	value->uses = use;
}

static struct value *constant_get(struct module *module, int64_t number)
{
	struct constant **chain = &module->constants[number % 64], *constant;

	for (constant = *chain; constant; constant = constant->chain)
		if (constant->number == number)
			return &constant->value;
	constant = NEW(struct constant);
	value_init(&constant->value, VALUE_CONSTANT, module->constant_count++);
	constant->number = number;
	constant->chain = *chain;
	*chain = constant;
	return &constant->value;
}

static struct instruction *emit(struct block *block, enum operation operation, unsigned count,
				struct value *const *operands)
{
	struct instruction *instruction =
		NEW_FLEXIBLE(struct instruction, sizeof(*instruction) + count * sizeof(struct use));

	value_init(&instruction->value, VALUE_INSTRUCTION, block->function->value_count++);
	instruction->operation = (uint8_t)operation;
	instruction->operand_count = (uint8_t)count;
	instruction->block = block;
	for (unsigned i = 0; i < count; i++)
		use_set(&instruction->operands[i], instruction, operands[i]);
	instruction->next = NULL;
	instruction->previous = block->last;
	*(block->last ? &block->last->next : &block->first) = instruction;
	block->last = instruction;
	return instruction;
}

static struct block *block_create(struct function *function)
{
	struct block *block = NEW_ZEROED(struct block);

	block->function = function;
	block->number = function->block_count++;
	*function->last = block;
	function->last = &block->next;
	return block;
}

static void add_block(struct block ***list, unsigned *count, struct block *block)
{
	if ((*count & (*count - 1)) == 0)
		*list = RENEW_ARRAY(struct block *, *list, *count ? *count * 2 : 1);
	(*list)[(*count)++] = block;
}

static void connect(struct block *from, struct block *to)
{
	add_block(&from->successors, &from->successor_count, to);
	add_block(&to->predecessors, &to->predecessor_count, from);
	if (!to->dominator)
		to->dominator = from;
}

static void fill_block(struct module *module, struct block *block, unsigned seed)
{
	struct function *function = block->function;
	struct value *operands[4] = { constant_get(module, seed % 50),
				      &function->arguments[seed % function->argument_count]->value,
				      constant_get(module, seed), NULL };

	for (unsigned i = 0; i < 3 + seed % 5; i++) {
		struct instruction *made =
			emit(block, (enum operation)(i % 4), 2 + i % 2, operands);
		operands[i % 3] = &made->value;
	}
	emit(block, OP_CALL, 1 + seed % 3, operands);
}

static struct bits *bits_create(size_t count)
{
	size_t words = (count + 63) / 64;
	struct bits *bits =
		NEW_FLEXIBLE(struct bits, offsetof(struct bits, words) + words * sizeof(uint64_t));

	bits->count = count;
	memset(bits->words, 0, words * sizeof(uint64_t));
	return bits;
}

static void analyse_liveness(struct function *function)
{
	for (struct block *block = function->entry; block; block = block->next) {
		block->live_in = bits_create(function->value_count);
		block->live_out = bits_create(function->value_count);
		for (struct instruction *at = block->first; at; at = at->next)
			block->live_out->words[at->value.number / 64] |= (uint64_t)1
									 << at->value.number % 64;
	}
}

static void build_intervals(struct function *function)
{
	function->intervals = NEW_ZEROED_ARRAY(struct interval *, function->value_count);
	for (struct block *block = function->entry; block; block = block->next)
		for (struct instruction *at = block->first; at; at = at->next) {
			struct interval *interval = NEW(struct interval);
			interval->value = &at->value;
			interval->reg = (int8_t)(at->value.number % 14);
			interval->weight = 1;
			interval->ranges = NULL;
			for (unsigned i = 0; i < 1 + at->value.number % 2; i++) {
				struct range *range = NEW(struct range);
				range->from = at->value.number + i * 10;
				range->to = range->from + 4;
				range->next = interval->ranges;
				interval->ranges = range;
			}
			function->intervals[at->value.number] = interval;
		}
}

static void find_loops(struct function *function)
{
	struct loop_info *loops = NULL, *loop;

	for (struct block *block = function->entry; block; block = block->next) {
		if (block->predecessor_count < 2)
			continue;
		loop = NEW(struct loop_info);
		loop->header = block;
		loop->depth = loops ? loops->depth + 1 : 1;
		loop->parent = loops;
		loops = loop;
	}
	function->pass_data = loops;
}

static struct function *function_create(struct module *module, unsigned number)
{
	struct function *function = NEW_ZEROED(struct function);
	struct block *blocks[12];
	char name[24];

	snprintf(name, sizeof(name), "function_%u", number);
	function->name = TEXT(strdup(name));
	function->last = &function->entry;
	function->argument_count = 1 + number % 4;
	function->arguments = NEW_ARRAY(struct argument *, function->argument_count);
	for (unsigned i = 0; i < function->argument_count; i++) {
		struct argument *argument = NEW(struct argument);
		value_init(&argument->value, VALUE_ARGUMENT, function->value_count++);
		argument->function = function;
		argument->index = i;
		function->arguments[i] = argument;
	}
	for (unsigned i = 0; i < 4 + number % 8; i++) {
		blocks[i] = block_create(function);
		fill_block(module, blocks[i], number * 13 + i * 7);
		if (i)
			connect(blocks[i - 1], blocks[i]);
		if (i % 3 == 2)
			connect(blocks[i], blocks[i - 1]);
		if (i > 3)
			connect(blocks[i - 3], blocks[i]);
	}
	analyse_liveness(function);
	build_intervals(function);
	find_loops(function);
	return function;
}

int main(void)
{
	struct module *module = NEW_ZEROED(struct module);
	unsigned values = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct function *function = function_create(module, i);
		function->next = module->functions;
		module->functions = function;
	}
	truth_capture();
	for (struct function *function = module->functions; function; function = function->next)
		values += function->value_count + ((struct loop_info *)function->pass_data)->depth;
	printf("%u\n", values);
	return 0;
}
