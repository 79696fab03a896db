// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A compiler of shaders: a tree of nodes whose unions depend on their operators, in arenas of the program and of
 * scratch; types that are interned; scopes as hash tables in arrays; constants as a union of vectors; an instruction
 * list whose operands are small structs; and a cache of compiled variants, keyed by blobs.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct chunk {
	struct chunk *next;
	char *at, *end;
} chunk;

typedef struct {
	chunk *chunks;
	size_t allocated;
	unsigned count;
} arena;

typedef enum {
	BASE_FLOAT,
	BASE_INT,
	BASE_BOOL,
	BASE_SAMPLER,
	BASE_STRUCT
} base;

typedef struct type {
	base base;
	uint8_t rows, columns;
	uint16_t array_size;
	const char *name;
	struct field *fields;
	uint32_t field_count;
	uint32_t id;
} type;

typedef struct field {
	const char *name;
	const type *type;
	uint32_t offset;
	int location;
} field;

typedef enum {
	NODE_LITERAL,
	NODE_VARIABLE,
	NODE_UNARY,
	NODE_BINARY,
	NODE_CALL,
	NODE_SWIZZLE,
	NODE_ASSIGN,
	NODE_IF,
	NODE_BLOCK,
	NODE_RETURN
} node_kind;

typedef struct node node;
typedef struct symbol symbol;

typedef union {
	float f[4];
	int32_t i[4];
	uint32_t u[4];
} constant;

struct node {
	node_kind kind;
	uint32_t line;
	const type *type;
	node *next;
	union {
		constant literal;
		symbol *variable;
		struct {
			int op;
			node *operand;
		} unary;
		struct {
			int op;
			node *left, *right;
		} binary;
		struct {
			struct function *callee;
			node **arguments;
			unsigned count;
		} call;
		struct {
			node *of;
			uint8_t lanes[4];
		} swizzle;
		struct {
			node *target, *value;
		} assign;
		struct {
			node *condition, *then, *otherwise;
		} branch;
		struct {
			node *first;
			struct scope *scope;
		} block;
		node *result;
	};
};

struct symbol {
	const char *name;
	const type *type;
	uint32_t flags, slot;
	symbol *shadowed;
};

typedef struct scope {
	struct scope *parent;
	symbol **table;
	unsigned used, size;
} scope;

typedef struct function {
	char *name;
	const type *result;
	symbol **parameters;
	unsigned parameter_count;
	node *body;
	struct function *next;
	struct code *code;
} function;

typedef struct {
	uint16_t file, index;
	uint8_t swizzle[4];
} operand;

typedef struct instruction {
	struct instruction *next;
	uint16_t opcode, flags;
	operand to, from[3];
	node *origin;
} instruction;

typedef struct code {
	instruction *first, **last;
	unsigned count, registers;
	constant *constants;
	unsigned constant_count, constant_capacity;
} code;

typedef struct variant {
	struct variant *next;
	uint8_t *key;
	size_t key_size;
	uint32_t *binary;
	unsigned words;
	struct program *program;
} variant;

typedef struct diagnostic {
	struct diagnostic *next;
	char *text;
	uint32_t line, severity;
} diagnostic;

typedef struct program {
	arena memory;
	const char *source;
	type **types;
	unsigned type_count, type_capacity;
	function *functions;
	scope *globals;
	diagnostic *diagnostics;
	struct program *next;
} program;

static struct {
	program *programs;
	variant *cache[64];
	arena scratch;
	unsigned compiled;
} compiler;

static void *take(arena *arena, size_t size)
{
	chunk *head = arena->chunks;
	void *result;

	size = (size + 15) & ~(size_t)15;
	if (!head || head->at + size > head->end) {
		size_t room = size > 8000 ? size + sizeof(chunk) + 16 : 8192;
		char *block = POOL(chunk, malloc(room));

		head = (chunk *)block;
		head->next = arena->chunks;
		head->at = block + ((sizeof(chunk) + 15) & ~(size_t)15);
		head->end = block + room;
		arena->chunks = head;
	}
	result = head->at;
	head->at += size;
	arena->allocated += size;
	arena->count++;
	return memset(result, 0, size);
}

#define TAKE(arena, T) PART(T, take(arena, sizeof(T)))
#define TAKE_ARRAY(arena, T, n) PART(T, take(arena, sizeof(T) * (n)))

static const char *copy(arena *arena, const char *text)
{
	size_t bytes = strlen(text) + 1;

	return memcpy(PART(char, take(arena, bytes)), text, bytes);
}

static const type *intern(program *program, base base, unsigned rows, unsigned columns)
{
	type *made;
	char name[32];

	for (unsigned i = 0; i < program->type_count; i++) {
		const type *known = program->types[i];

		if (known->base == base && known->rows == rows && known->columns == columns)
			return known;
	}
	if (program->type_count == program->type_capacity) {
		program->type_capacity = program->type_capacity * 2 + 8;
		program->types = RENEW_ARRAY(type *, program->types, program->type_capacity);
	}
	made = TAKE(&program->memory, type);
	made->base = base;
	made->rows = (uint8_t)rows;
	made->columns = (uint8_t)columns;
	made->id = program->type_count;
	snprintf(name, sizeof(name), "type%u_%ux%u", base, rows, columns);
	made->name = copy(&program->memory, name);
	if (base == BASE_STRUCT) {
		made->field_count = rows;
		made->fields = TAKE_ARRAY(&program->memory, field, rows);
		for (unsigned i = 0; i < rows; i++) {
			made->fields[i].name = copy(&program->memory, "member_of_struct");
			made->fields[i].type = intern(program, BASE_FLOAT, 1 + i % 4, 1);
			made->fields[i].offset = i * 16;
		}
	}
	program->types[program->type_count++] = made;
	return made;
}

static scope *open_scope(program *program, scope *parent)
{
	scope *made = TAKE(&program->memory, scope);

	made->parent = parent;
	made->size = 8;
	made->table = TAKE_ARRAY(&program->memory, symbol *, made->size);
	return made;
}

static symbol *declare(program *program, scope *scope, const char *name, const type *type)
{
	symbol *made = TAKE(&program->memory, symbol);

	made->name = copy(&program->memory, name);
	made->type = type;
	made->slot = scope->used;
	if (scope->used < scope->size)
		scope->table[scope->used++] = made;
	else
		made->shadowed = scope->table[scope->size - 1],
		scope->table[scope->size - 1] = made;
	return made;
}

static node *make(program *program, node_kind kind)
{
	static uint32_t line;
	node *made = TAKE(&program->memory, node);

	made->kind = kind;
	made->line = ++line;
	made->type = intern(program, next() % 2 ? BASE_FLOAT : BASE_INT, 1 + next() % 4, 1);
	return made;
}

static node *expression(program *program, function *function, scope *scope, unsigned depth)
{
	node *made;

	if (depth == 0 || next() % 5 == 0) {
		if (scope->used && next() % 2) {
			made = make(program, NODE_VARIABLE);
			made->variable = scope->table[next() % scope->used];
			return made;
		}
		made = make(program, NODE_LITERAL);
		for (int i = 0; i < 4; i++)
			made->literal.f[i] = (float)(next() % 1000) / 7;
		return made;
	}
	switch (next() % 4) {
	case 0:
		made = make(program, NODE_UNARY);
		made->unary.op = (int)(next() % 6);
		made->unary.operand = expression(program, function, scope, depth - 1);
		break;
	case 1:
		made = make(program, NODE_CALL);
		made->call.callee = program->functions ? program->functions : function;
		made->call.count = 1 + next() % 3;
		made->call.arguments = TAKE_ARRAY(&program->memory, node *, made->call.count);
		for (unsigned i = 0; i < made->call.count; i++)
			made->call.arguments[i] = expression(program, function, scope, depth - 1);
		break;
	case 2:
		made = make(program, NODE_SWIZZLE);
		made->swizzle.of = expression(program, function, scope, depth - 1);
		made->swizzle.lanes[0] = next() % 4;
		break;
	default:
		made = make(program, NODE_BINARY);
		made->binary.op = (int)(next() % 12);
		made->binary.left = expression(program, function, scope, depth - 1);
		made->binary.right = expression(program, function, scope, depth - 1);
	}
	return made;
}

static node *block(program *program, function *function, scope *parent, unsigned depth)
{
	node *made = make(program, NODE_BLOCK), **tail = &made->block.first;
	scope *scope = open_scope(program, parent);

	made->block.scope = scope;
	for (unsigned i = 0; i < 2 + next() % 4; i++) {
		char name[24];
		node *statement;

		snprintf(name, sizeof(name), "local_%u_%u", depth, i);
		if (depth && next() % 3 == 0) {
			statement = make(program, NODE_IF);
			statement->branch.condition = expression(program, function, scope, 2);
			statement->branch.then = block(program, function, scope, depth - 1);
		} else {
			statement = make(program, NODE_ASSIGN);
			statement->assign.target = make(program, NODE_VARIABLE);
			statement->assign.target->variable =
				declare(program, scope, name, intern(program, BASE_FLOAT, 4, 1));
			statement->assign.value = expression(program, function, scope, 3);
		}
		*tail = statement;
		tail = &statement->next;
	}
	*tail = make(program, NODE_RETURN);
	(*tail)->result = expression(program, function, scope, 1);
	return made;
}

static void emit(code *code, node *origin, unsigned opcode)
{
	instruction *made = NEW_ZEROED(instruction);

	made->opcode = (uint16_t)opcode;
	made->to.index = (uint16_t)code->registers++;
	made->from[0].index = (uint16_t)(next() % 16);
	made->origin = origin;
	*code->last = made;
	code->last = &made->next;
	code->count++;
}

static void generate(code *code, node *node)
{
	for (; node; node = node->next) {
		switch (node->kind) {
		case NODE_BLOCK:
			generate(code, node->block.first);
			break;
		case NODE_IF:
			emit(code, node->branch.condition, 1);
			generate(code, node->branch.then);
			break;
		case NODE_ASSIGN:
			emit(code, node, 2);
			generate(code, node->assign.value);
			break;
		case NODE_LITERAL:
			if (code->constant_count == code->constant_capacity) {
				code->constant_capacity = code->constant_capacity * 2 + 4;
				code->constants = RENEW_ARRAY(constant, code->constants,
							      code->constant_capacity);
			}
			code->constants[code->constant_count++] = node->literal;
			break;
		case NODE_BINARY:
			generate(code, node->binary.left);
			generate(code, node->binary.right);
			emit(code, node, 3);
			break;
		case NODE_RETURN:
			emit(code, node, 4);
			break;
		default:
			emit(code, node, 5);
		}
	}
}

static void compile_function(program *program, unsigned number)
{
	function *made = NEW_ZEROED(function);
	char name[40];

	snprintf(name, sizeof(name), "function_of_shader_%u", number);
	made->name = TEXT(strdup(name));
	made->result = intern(program, BASE_FLOAT, 4, 4);
	made->parameter_count = 1 + next() % 4;
	made->parameters = TAKE_ARRAY(&program->memory, symbol *, made->parameter_count);
	for (unsigned i = 0; i < made->parameter_count; i++)
		made->parameters[i] = declare(program, program->globals, "parameter",
					      intern(program, BASE_SAMPLER, 1, 1 + i));
	made->body = block(program, made, program->globals, 3);
	made->code = NEW_ZEROED(code);
	made->code->last = &made->code->first;
	generate(made->code, made->body);
	made->next = program->functions;
	program->functions = made;
}

static void report(program *program, uint32_t line)
{
	diagnostic *made = NEW(diagnostic);

	made->text = NEW_TEXT(48);
	snprintf(made->text, 48, "line %u: implicit conversion", line);
	made->line = line;
	made->severity = line % 3;
	made->next = program->diagnostics;
	program->diagnostics = made;
}

static void cache(program *program)
{
	variant *made = NEW(variant);
	unsigned slot = (unsigned)(next() % 64);

	made->key_size = 12 + next() % 40;
	made->key = NEW_ARRAY(uint8_t, made->key_size);
	for (size_t i = 0; i < made->key_size; i++)
		made->key[i] = (uint8_t)next();
	made->words = 20 + next() % 200;
	made->binary = NEW_ARRAY(uint32_t, made->words);
	for (unsigned i = 0; i < made->words; i++)
		made->binary[i] = (uint32_t)next();
	made->program = program;
	made->next = compiler.cache[slot];
	compiler.cache[slot] = made;
}

static void compile(const char *source)
{
	program *made = NEW_ZEROED(program);

	made->source = copy(&compiler.scratch, source);
	made->globals = open_scope(made, NULL);
	intern(made, BASE_STRUCT, 3 + next() % 5, 1);
	for (unsigned i = 0; i < 2 + next() % 4; i++)
		compile_function(made, i);
	for (unsigned i = 0; i < next() % 5; i++)
		report(made, i * 7 + 1);
	for (unsigned i = 0; i < 1 + next() % 4; i++)
		cache(made);
	made->next = compiler.programs;
	compiler.programs = made;
	compiler.compiled++;
}

int main(void)
{
	for (unsigned i = 0; i < 60; i++)
		compile(i % 2 ? "void main() { color = texture(image, at); }"
			      : "void main() { position = matrix * vertex; }");
	truth_capture();
	printf("%u\n", compiler.compiled);
	return 0;
}
