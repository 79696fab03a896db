// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The objects of a small interpreter: a common header first, with a tag, and all of them on
 * one list for the collector; strings in a flexible array, tables of tagged values.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
	OBJ_CLASS,
	OBJ_CLOSURE,
	OBJ_FUNCTION,
	OBJ_INSTANCE,
	OBJ_NATIVE,
	OBJ_STRING,
	OBJ_UPVALUE,
} ObjType;

typedef struct Obj {
	ObjType type;
	bool is_marked;
	struct Obj *next;
} Obj;

typedef enum {
	VAL_NIL,
	VAL_BOOL,
	VAL_NUMBER,
	VAL_OBJ
} ValueType;

typedef struct {
	ValueType type;
	union {
		bool boolean;
		double number;
		Obj *obj;
	} as;
} Value;

typedef struct ObjString {
	Obj obj;
	int length;
	uint32_t hash;
	char chars[];
} ObjString;

typedef struct {
	ObjString *key;
	Value value;
} Entry;

typedef struct {
	int count, capacity;
	Entry *entries;
} Table;

typedef struct {
	int count, capacity;
	uint8_t *code;
	int *lines;
	int constant_count, constant_capacity;
	Value *constants;
} Chunk;

typedef struct {
	Obj obj;
	int arity;
	int upvalue_count;
	Chunk chunk;
	ObjString *name;
} ObjFunction;

typedef struct ObjUpvalue {
	Obj obj;
	Value *location;
	Value closed;
	struct ObjUpvalue *next;
} ObjUpvalue;

typedef struct {
	Obj obj;
	ObjFunction *function;
	ObjUpvalue **upvalues;
	int upvalue_count;
} ObjClosure;

typedef Value (*NativeFn)(int count, Value *arguments);

typedef struct {
	Obj obj;
	NativeFn function;
} ObjNative;

typedef struct {
	Obj obj;
	ObjString *name;
	Table methods;
} ObjClass;

typedef struct {
	Obj obj;
	ObjClass *klass;
	Table fields;
} ObjInstance;

static struct {
	Value stack[256];
	Value *top;
	Table globals;
	Table strings;
	Obj *objects;
	ObjUpvalue *open;
	size_t allocated;
} vm;

static Obj *link_object(Obj *object, ObjType type, size_t size)
{
	object->type = type;
	object->is_marked = false;
	object->next = vm.objects;
	vm.objects = object;
	vm.allocated += size;
	return object;
}

#define ALLOCATE_OBJ(T, tag) ((T *)link_object((Obj *)NEW_ZEROED(T), tag, sizeof(T)))
#define OBJ_VAL(object) ((Value){ VAL_OBJ, { .obj = (Obj *)(object) } })
#define NUMBER_VAL(n) ((Value){ VAL_NUMBER, { .number = n } })

static Entry *find_entry(Entry *entries, int capacity, ObjString *key)
{
	uint32_t index = key->hash & (uint32_t)(capacity - 1);

	while (entries[index].key && entries[index].key != key)
		index = (index + 1) & (uint32_t)(capacity - 1);
	return &entries[index];
}

static void table_grow(Table *table)
{
	int capacity = table->capacity < 8 ? 8 : table->capacity * 2;
	Entry *entries = NEW_ZEROED_ARRAY(Entry, (size_t)capacity);

	for (int i = 0; i < table->capacity; i++)
		if (table->entries[i].key)
			*find_entry(entries, capacity, table->entries[i].key) = table->entries[i];
	FREE(table->entries);
	table->entries = entries;
	table->capacity = capacity;
}

static bool table_set(Table *table, ObjString *key, Value value)
{
	Entry *entry;
	bool is_new;

	if ((table->count + 1) * 4 > table->capacity * 3)
		table_grow(table);
	entry = find_entry(table->entries, table->capacity, key);
	is_new = !entry->key;
	table->count += is_new;
	entry->key = key;
	entry->value = value;
	return is_new;
}

static uint32_t hash_string(const char *key, int length)
{
	uint32_t hash = 2166136261u;

	for (int i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)key[i]) * 16777619;
	return hash;
}

static ObjString *table_find_string(Table *table, const char *chars, int length, uint32_t hash)
{
	for (uint32_t i = hash; table->count; i++) {
		Entry *entry = &table->entries[i & (uint32_t)(table->capacity - 1)];
		if (!entry->key)
			return NULL;
		if (entry->key->length == length && entry->key->hash == hash &&
		    !memcmp(entry->key->chars, chars, (size_t)length))
			return entry->key;
	}
	return NULL;
}

static ObjString *copy_string(const char *chars)
{
	int length = (int)strlen(chars);
	uint32_t hash = hash_string(chars, length);
	ObjString *string = table_find_string(&vm.strings, chars, length, hash);
	size_t size = sizeof(ObjString) + (size_t)length + 1;

	if (string)
		return string;
	string = (ObjString *)link_object((Obj *)NEW_FLEXIBLE(ObjString, size), OBJ_STRING, size);
	string->length = length;
	string->hash = hash;
	memcpy(string->chars, chars, (size_t)length + 1);
	table_set(&vm.strings, string, (Value){ VAL_NIL, { .number = 0 } });
	return string;
}

static void write_chunk(Chunk *chunk, uint8_t byte, int line)
{
	if (chunk->count == chunk->capacity) {
		chunk->capacity = chunk->capacity < 8 ? 8 : chunk->capacity * 2;
		chunk->code = RENEW_ARRAY(uint8_t, chunk->code, (size_t)chunk->capacity);
		chunk->lines = RENEW_ARRAY(int, chunk->lines, (size_t)chunk->capacity);
	}
	chunk->code[chunk->count] = byte;
	chunk->lines[chunk->count++] = line;
}

static int add_constant(Chunk *chunk, Value value)
{
	if (chunk->constant_count == chunk->constant_capacity) {
		chunk->constant_capacity =
			chunk->constant_capacity < 4 ? 4 : chunk->constant_capacity * 2;
		chunk->constants =
			RENEW_ARRAY(Value, chunk->constants, (size_t)chunk->constant_capacity);
	}
	chunk->constants[chunk->constant_count] = value;
	return chunk->constant_count++;
}

static ObjFunction *compile(const char *name, int length)
{
	ObjFunction *function = ALLOCATE_OBJ(ObjFunction, OBJ_FUNCTION);
	char text[32];

	function->name = copy_string(name);
	function->arity = length % 4;
	function->upvalue_count = length % 3;
	for (int i = 0; i < length; i++) {
		write_chunk(&function->chunk, (uint8_t)(i * 7), i / 3);
		if (i % 5 == 0) {
			snprintf(text, sizeof(text), "constant %d", i);
			add_constant(&function->chunk,
				     i % 2 ? NUMBER_VAL(i / 3.0) : OBJ_VAL(copy_string(text)));
		}
	}
	return function;
}

static ObjUpvalue *capture_upvalue(double value)
{
	ObjUpvalue *upvalue = ALLOCATE_OBJ(ObjUpvalue, OBJ_UPVALUE);

	upvalue->closed = NUMBER_VAL(value);
	upvalue->location = &upvalue->closed;
	return upvalue;
}

static ObjClosure *new_closure(ObjFunction *function)
{
	ObjClosure *closure = ALLOCATE_OBJ(ObjClosure, OBJ_CLOSURE);

	closure->function = function;
	closure->upvalue_count = function->upvalue_count;
	if (!closure->upvalue_count)
		return closure;
	closure->upvalues = NEW_ARRAY(ObjUpvalue *, (size_t)closure->upvalue_count);
	for (int i = 0; i < closure->upvalue_count; i++)
		closure->upvalues[i] = capture_upvalue(i);
	return closure;
}

static Value native_clock(int count, Value *arguments)
{
	(void)arguments;
	return NUMBER_VAL(count);
}

static void define_native(const char *name, NativeFn function)
{
	ObjNative *native = ALLOCATE_OBJ(ObjNative, OBJ_NATIVE);

	native->function = function;
	table_set(&vm.globals, copy_string(name), OBJ_VAL(native));
}

static void define_class(int number)
{
	ObjClass *klass = ALLOCATE_OBJ(ObjClass, OBJ_CLASS);
	char name[32];

	snprintf(name, sizeof(name), "Class%d", number);
	klass->name = copy_string(name);
	*vm.top++ = OBJ_VAL(klass);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "method%d", i);
		table_set(&klass->methods, copy_string(name),
			  OBJ_VAL(new_closure(compile(name, 10 + number % 20 + i))));
	}
	table_set(&vm.globals, klass->name, *--vm.top);
}

static void instantiate(ObjClass *klass, int number)
{
	ObjInstance *instance = ALLOCATE_OBJ(ObjInstance, OBJ_INSTANCE);
	char name[32];

	instance->klass = klass;
	for (int i = 0; i < number % 9; i++) {
		snprintf(name, sizeof(name), "field%d", i);
		table_set(&instance->fields, copy_string(name), NUMBER_VAL(number));
	}
	snprintf(name, sizeof(name), "instance%d", number);
	table_set(&vm.globals, copy_string(name), OBJ_VAL(instance));
}

int main(void)
{
	vm.top = vm.stack;
	define_native("clock", native_clock);
	define_native("print", native_clock);
	for (int i = 0; i < 60; i++)
		define_class(i);
	for (int i = 0; i < 1200; i++) {
		char name[32];
		ObjString *key;

		snprintf(name, sizeof(name), "Class%d", i % 60);
		key = copy_string(name);
		instantiate((ObjClass *)find_entry(vm.globals.entries, vm.globals.capacity, key)
				    ->value.as.obj,
			    i);
	}
	truth_capture();
	return vm.objects ? 0 : 1;
}
