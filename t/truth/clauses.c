// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The predicates of a logic program. References to clauses end in a union, and most are allocated for its smaller
 * member alone. The code of clauses has addresses of functions among its words, as that of a machine with threaded code,
 * so that each clause looks like a table of functions. Predicates point to code in a static table with such words, too.
 * These functions get references to clauses, and no predicates.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef unsigned long word;

struct functor {
	word name;
	size_t arity;
	long flags, index;
};

struct argument {
	unsigned int meta : 4, speed : 12;
};

struct clause {
	struct definition *predicate;
	struct {
		word created, erased;
	} generation;
	unsigned int variables, line, size;
	word codes[];
};

struct clause_ref {
	struct clause_ref *next;
	union {
		word key;
		struct clause_ref *garbage;
	} d;
	union {
		struct clause *clause;
		struct clause_list {
			struct argument *arguments;
			struct clause_ref *first, *last;
			void **indexes;
			unsigned int count, erased;
		} clauses;
	} value;
};

struct module {
	char *name;
	void **procedures; // by hash
	size_t size;
};

struct definition {
	struct functor *functor;
	struct module *module;
	word *codes;
	union {
		struct {
			struct argument *arguments;
			void *defined;
		} any;
		struct clause_list clauses;
		struct {
			struct argument *arguments;
			void (*function)(void);
		} foreign;
	} impl;
	word flags;
	unsigned int shared;
	struct linger *lingering;
	word last_modified, events;
};

struct procedure {
	struct definition *definition;
	unsigned int flags, source;
};

enum {
	MODULES = 3,
	PREDICATES = 500, // in each
};

__attribute__((noinline)) static int next_clause(struct clause_ref *reference)
{
	return reference && reference->next ? (int)reference->d.key : 0;
}

__attribute__((noinline)) static int erase_clause(struct clause_ref *reference)
{
	reference->d.garbage = NULL;
	return 1;
}

// Instructions, and functions that they call.
static struct machine {
	word undefined[2], dynamic[2], spied[2], multifile[2];
	int (*next)(struct clause_ref *reference);
	int (*erase)(struct clause_ref *reference);
} machine = { { 0, 17 }, { 0, 23 }, { 0, 31 }, { 0, 37 }, next_clause, erase_clause };

struct module *modules[MODULES];
struct clause_ref *garbage;

__attribute__((noinline)) static struct clause_ref *make_reference(struct clause *clause, word key)
{
	struct clause_ref *reference =
		malloc(offsetof(struct clause_ref, value.clause) + sizeof(clause));

	reference->next = NULL;
	reference->d.key = key;
	reference->value.clause = clause;
	truth_log(reference, TRUTH_FLEXIBLE, "struct clause_ref", 0);
	return reference;
}

__attribute__((noinline)) static struct clause *make_clause(struct definition *predicate,
							    size_t words)
{
	struct clause *clause =
		NEW_FLEXIBLE(struct clause, sizeof(*clause) + words * sizeof(clause->codes[0]));

	clause->predicate = predicate;
	clause->generation.created = next() % 1000;
	clause->generation.erased = ~(word)0;
	clause->variables = (unsigned int)words / 2;
	clause->line = (unsigned int)(next() % 5000);
	clause->size = (unsigned int)words;
	for (size_t i = 0; i < words; i++)
		clause->codes[i] = i % 3 == 0 ? (word)(next() % 2 ? machine.next : machine.erase)
					      : next() % 200;
	return clause;
}

static void add_clause(struct definition *definition, word key)
{
	struct clause_list *list = &definition->impl.clauses;
	struct clause_ref *reference =
		make_reference(make_clause(definition, 3 + next() % 20), key);

	if (list->last)
		list->last->next = reference;
	else
		list->first = reference;
	list->last = reference;
	list->count++;
}

static struct functor *make_functor(int number)
{
	struct functor *functor = NEW(struct functor);

	functor->name = (word)number << 7 | 5;
	functor->arity = (size_t)(1 + number % 6);
	functor->flags = 0;
	functor->index = number;
	return functor;
}

// References to clauses that are to be erased, and wait in a list for those who may still run them.
static void add_garbage(struct definition *definition)
{
	struct clause_ref *reference = NEW_ZEROED(struct clause_ref);

	reference->value.clause = definition->impl.clauses.last->value.clause;
	reference->next = garbage;
	garbage = reference;
}

__attribute__((noinline)) static struct procedure *make_procedure(struct module *module, int number)
{
	struct procedure *procedure = NEW(struct procedure);
	struct definition *definition = NEW_ZEROED(struct definition);

	procedure->definition = definition;
	procedure->flags = procedure->source = 0;
	definition->functor = make_functor(number);
	definition->module = module;
	definition->shared = 1;
	definition->impl.any.arguments =
		NEW_ZEROED_ARRAY(struct argument, definition->functor->arity);
	definition->codes = number % 4 == 0 ? machine.undefined : machine.dynamic;
	for (int i = 0; i < number % 4; i++)
		add_clause(definition, (word)i << 7 | 1);
	if (number % 4 == 1)
		add_garbage(definition);
	return procedure;
}

int main(void)
{
	for (int i = 0; i < MODULES; i++) {
		struct module *module = modules[i] = NEW(struct module);
		char name[16];
		int length = snprintf(name, sizeof(name), "module%d", i);

		module->name = memcpy(NEW_TEXT((size_t)length + 1), name, (size_t)length + 1);
		module->size = PREDICATES;
		module->procedures = NEW_ARRAY(void *, PREDICATES);
		for (int j = 0; j < PREDICATES; j++)
			module->procedures[j] = make_procedure(module, i * PREDICATES + j);
	}
	if (machine.next(NULL) == 0)
		truth_capture();
	return 0;
}
