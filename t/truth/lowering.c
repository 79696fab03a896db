// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A compiler that lowers functions to instructions: everything of a function is in a bump arena of blocks, with
 * operands in arrays of pointers, names as texts in the same arena, values with use lists, basic blocks with
 * predecessors, and types that are interned in a hash table of the module.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define ARENA_BLOCK 16384

typedef struct ArenaBlock {
	struct ArenaBlock *previous;
	size_t used, size;
	char data[];
} ArenaBlock;

typedef struct Arena {
	ArenaBlock *current;
	size_t total;
} Arena;

typedef enum {
	TY_VOID,
	TY_INT,
	TY_PTR,
	TY_FUNC,
	TY_STRUCT
} TypeKind;

typedef struct Type {
	TypeKind kind;
	unsigned bits;
	struct Type *pointee;
	struct Type **params;
	unsigned nparams;
	struct Type *chain;
} Type;

typedef enum {
	VAL_CONST,
	VAL_ARG,
	VAL_INST,
	VAL_GLOBAL
} ValueKind;

typedef struct Use {
	struct Inst *user;
	unsigned index;
	struct Use *next;
} Use;

typedef struct Value {
	ValueKind kind;
	Type *type;
	const char *name;
	Use *uses;
} Value;

typedef struct Const {
	Value base;
	int64_t number;
} Const;

typedef struct Arg {
	Value base;
	unsigned position;
	struct Func *parent;
} Arg;

typedef enum {
	OP_ADD,
	OP_MUL,
	OP_LOAD,
	OP_STORE,
	OP_CALL,
	OP_PHI,
	OP_BR,
	OP_RET
} Opcode;

typedef struct Inst {
	Value base;
	Opcode op;
	unsigned nops;
	Value **ops;
	struct Inst *prev, *next;
	struct Block *parent;
	void *extra;
} Inst;

typedef struct PhiInfo {
	struct Block **incoming;
	unsigned count;
} PhiInfo;

typedef struct CallInfo {
	const char *callee;
	unsigned flags;
	struct DebugLoc *loc;
} CallInfo;

typedef struct DebugLoc {
	const char *file;
	unsigned line, column;
	struct DebugLoc *inlined_at;
} DebugLoc;

typedef struct Block {
	const char *label;
	Inst *first, *last;
	struct Block **preds;
	unsigned npreds, cap;
	struct Block *next;
	uint64_t *live_in;
} Block;

typedef struct Func {
	const char *name;
	Arena arena;
	Type *type;
	Arg **args;
	unsigned nargs;
	Block *entry, *last;
	struct Func *next;
	unsigned next_id;
} Func;

typedef struct Module {
	Type *types[64];
	Func *funcs, **tail;
	Arena arena;
	char **files;
	unsigned nfiles;
	struct Symbol **symbols;
	unsigned nsymbols;
} Module;

typedef struct Symbol {
	char *name;
	Func *func;
	uint32_t hash;
	struct Symbol *chain;
} Symbol;

static void *arena_alloc(Arena *arena, size_t size)
{
	ArenaBlock *block = arena->current;
	void *result;

	size = (size + 7) & ~(size_t)7;
	if (!block || block->used + size > block->size) {
		size_t room = size > ARENA_BLOCK / 4 ? size : ARENA_BLOCK - sizeof(ArenaBlock);

		block = malloc(sizeof(ArenaBlock) + room);
		POOL(ArenaBlock, block);
		block->previous = arena->current;
		block->used = 0;
		block->size = room;
		arena->current = block;
	}
	result = block->data + block->used;
	block->used += size;
	arena->total += size;
	return memset(result, 0, size);
}

#define ARENA_NEW(arena, T) PART(T, arena_alloc(arena, sizeof(T)))
#define ARENA_ARRAY(arena, T, n) PART(T, arena_alloc(arena, sizeof(T) * (n)))

static char *arena_printf(Arena *arena, const char *format, ...)
{
	char text[128];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return memcpy(PART(char, arena_alloc(arena, (size_t)length + 1)), text, (size_t)length + 1);
}

static Type *intern(Module *module, TypeKind kind, unsigned bits, Type *pointee)
{
	unsigned slot = (kind * 31 + bits * 7 + (unsigned)((uintptr_t)pointee >> 4)) % 64;
	Type *type = module->types[slot];

	while (type && (type->kind != kind || type->bits != bits || type->pointee != pointee))
		type = type->chain;
	if (!type) {
		type = ARENA_NEW(&module->arena, Type);
		type->kind = kind;
		type->bits = bits;
		type->pointee = pointee;
		type->chain = module->types[slot];
		module->types[slot] = type;
	}
	return type;
}

static Type *intern_function(Module *module, Type *result, unsigned count)
{
	Type *type = ARENA_NEW(&module->arena, Type);

	type->kind = TY_FUNC;
	type->pointee = result;
	type->nparams = count;
	type->params = ARENA_ARRAY(&module->arena, Type *, count ? count : 1);
	for (unsigned i = 0; i < count; i++)
		type->params[i] = intern(module, i % 3 ? TY_INT : TY_PTR, 8u << i % 4, NULL);
	return type;
}

static void use(Func *func, Inst *user, unsigned index, Value *value)
{
	Use *use = ARENA_NEW(&func->arena, Use);

	*use = (Use){ user, index, value->uses };
	value->uses = use;
	user->ops[index] = value;
}

static Value *constant(Module *module, Func *func, int64_t number)
{
	Const *value = ARENA_NEW(&func->arena, Const);

	value->base.kind = VAL_CONST;
	value->base.type = intern(module, TY_INT, 32, NULL);
	value->number = number;
	return &value->base;
}

static Block *add_block(Func *func)
{
	Block *block = ARENA_NEW(&func->arena, Block);

	block->label = arena_printf(&func->arena, "bb.%u", func->next_id++);
	block->live_in = ARENA_ARRAY(&func->arena, uint64_t, 4);
	if (func->last)
		func->last->next = block;
	else
		func->entry = block;
	func->last = block;
	return block;
}

static Inst *emit(Module *module, Func *func, Block *block, Opcode op, unsigned nops)
{
	Inst *inst = ARENA_NEW(&func->arena, Inst);

	inst->base.kind = VAL_INST;
	inst->base.type = intern(module, op == OP_LOAD ? TY_PTR : TY_INT, 32, NULL);
	if (op != OP_STORE && op != OP_BR)
		inst->base.name = arena_printf(&func->arena, "%%t%u", func->next_id++);
	inst->op = op;
	inst->nops = nops;
	if (nops)
		inst->ops = ARENA_ARRAY(&func->arena, Value *, nops);
	inst->parent = block;
	inst->prev = block->last;
	if (block->last)
		block->last->next = inst;
	else
		block->first = inst;
	block->last = inst;
	return inst;
}

static DebugLoc *locate(Module *module, Func *func, DebugLoc *outer)
{
	DebugLoc *loc = ARENA_NEW(&func->arena, DebugLoc);

	loc->file = module->files[next() % module->nfiles];
	loc->line = 1 + next() % 900;
	loc->column = 1 + next() % 80;
	loc->inlined_at = outer;
	return loc;
}

static void add_pred(Func *func, Block *block, Block *pred)
{
	if (block->npreds == block->cap) {
		unsigned cap = block->cap ? block->cap * 2 : 2;
		Block **preds = ARENA_ARRAY(&func->arena, Block *, cap);

		PART_FREE(block->preds);
		if (block->npreds)
			memcpy(preds, block->preds, block->npreds * sizeof(*preds));
		block->preds = preds;
		block->cap = cap;
	}
	block->preds[block->npreds++] = pred;
}

static void fill(Module *module, Func *func, Block *block, Block *previous)
{
	Value *last = func->nargs ? &func->args[0]->base : constant(module, func, 1);
	DebugLoc *loc = locate(module, func, NULL);

	if (previous && next() % 2) {
		Inst *phi = emit(module, func, block, OP_PHI, 2);
		PhiInfo *info = ARENA_NEW(&func->arena, PhiInfo);

		use(func, phi, 0, last);
		use(func, phi, 1, constant(module, func, 0));
		info->count = 2;
		info->incoming = ARENA_ARRAY(&func->arena, Block *, 2);
		info->incoming[0] = previous;
		info->incoming[1] = func->entry;
		phi->extra = info;
		last = &phi->base;
	}
	for (unsigned i = 0, count = 2 + next() % 8; i < count; i++) {
		Opcode op = (Opcode)(next() % OP_PHI);
		unsigned nops = op == OP_LOAD ? 1 : op == OP_CALL ? next() % 5 : 2;
		Inst *inst = emit(module, func, block, op, nops);

		for (unsigned j = 0; j < nops; j++)
			use(func, inst, j,
			    j ? constant(module, func, (int64_t)(next() % 1000)) : last);
		if (op == OP_CALL) {
			CallInfo *info = ARENA_NEW(&func->arena, CallInfo);

			info->callee = func->name;
			info->flags = next() % 4;
			info->loc = loc = locate(module, func, loc);
			inst->extra = info;
		}
		last = &inst->base;
	}
	emit(module, func, block, OP_BR, 0);
	if (previous)
		add_pred(func, block, previous);
	add_pred(func, func->entry, block);
}

static void add_symbol(Module *module, Func *func)
{
	Symbol *symbol = NEW(Symbol);
	uint32_t hash = 5381;

	for (const char *c = func->name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	*symbol = (Symbol){ TEXT(strdup(func->name)), func, hash,
			    module->symbols[hash % module->nsymbols] };
	module->symbols[hash % module->nsymbols] = symbol;
}

static void lower(Module *module, unsigned number)
{
	Func *func = NEW_ZEROED(Func);
	Block *previous = NULL;

	func->name = arena_printf(&func->arena, "lowered_function_%u", number);
	func->nargs = next() % 5;
	func->type = intern_function(module, intern(module, TY_VOID, 0, NULL), func->nargs);
	if (func->nargs)
		func->args = ARENA_ARRAY(&func->arena, Arg *, func->nargs);
	for (unsigned i = 0; i < func->nargs; i++) {
		Arg *arg = func->args[i] = ARENA_NEW(&func->arena, Arg);

		arg->base.kind = VAL_ARG;
		arg->base.type = func->type->params[i];
		arg->base.name = arena_printf(&func->arena, "%%arg%u", i);
		arg->position = i;
		arg->parent = func;
	}
	for (unsigned i = 0, count = 1 + next() % 12; i < count; i++) {
		Block *block = add_block(func);

		fill(module, func, block, previous);
		previous = block;
	}
	*module->tail = func;
	module->tail = &func->next;
	add_symbol(module, func);
}

int main(void)
{
	Module *module = NEW_ZEROED(Module);

	module->tail = &module->funcs;
	module->nfiles = 12;
	module->files = NEW_ARRAY(char *, module->nfiles);
	for (unsigned i = 0; i < module->nfiles; i++) {
		module->files[i] = NEW_TEXT(32);
		snprintf(module->files[i], 32, "src/unit-%u.c", i);
	}
	module->nsymbols = 128;
	module->symbols = NEW_ZEROED_ARRAY(Symbol *, module->nsymbols);
	for (unsigned i = 0; i < 150; i++)
		lower(module, i);
	truth_capture();
	printf("%s\n", module->funcs->name);
	return 0;
}
