// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The variables of an interpreter. Nodes and buckets come from free lists, in chunks of a hundred that are nothing but
 * such values; the first ones of a chunk may have been freed. Tables of buckets and of nodes hang behind the same union of
 * a node, without a number beside it that tells their lengths; which one it is, the table of functions in another
 * union tells. Buckets lie in the middle of chunks, too, so that no pointer of a table leads to where a block begins.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdio.h>
#include <wchar.h>

enum {
	CHUNK = 100,
	WORDS = 6000,
	RECORDS = 300,
	FIELDS = 12,
	FIRST_TABLE = 16,
	CROWDED = 2, // buckets for each slot, before a table grows
	LEAVES = 32,
};

struct node;
struct instruction;

struct functions {
	const char *name;
	struct node **(*lookup)(struct node *array, struct node *index);
};

struct pattern {
	void *program;
	size_t size;
	unsigned char *fast_map;
	unsigned flags, groups;
	struct pattern *other;
	int counts[16];
};

enum kind {
	KIND_NONE,
	KIND_VALUE,
	KIND_VARIABLE,
	KIND_ARRAY,
	KIND_ELEMENT,
	KIND_FUNCTION
};

struct bucket {
	struct bucket *next;
	char *text;
	size_t length, hash;
	struct node *name, *value;
};

struct node {
	union {
		struct {
			union {
				struct node *node;
				struct instruction *code;
				long number;
				const struct functions *functions;
			} left;
			union {
				struct node *node;
				struct pattern *patterns[2];
				struct node **nodes;
				struct bucket **buckets;
				void (*call)(void);
				struct instruction *code;
			} right;
			union {
				struct node *node;
				void (*call)(void);
				long number;
			} extra;
			char *name;
			size_t slots;
			struct node *parent;
			unsigned long count;
		} tree;
		struct {
			double number;
			char *text;
			size_t length;
			int format;
			wchar_t *wide;
			size_t wide_length;
			struct node *pattern;
		} value;
	} as;
	enum kind kind;
	unsigned flags;
	long references;
};

struct instruction {
	struct instruction *next;
	union {
		struct node *node;
		struct instruction *target;
		long number;
	} what;
	union {
		struct node *node;
		struct instruction *target;
		long number;
	} with;
	short line;
	enum {
		PUSH,
		STORE,
		LOOKUP,
		CALL,
		RETURN
	} code;
	void *comment;
};

struct item {
	struct item *next;
};

static struct item *free_nodes, *free_buckets;
static struct node *globals;
static struct instruction *program;

// Puts a new chunk's values but the first into a list.
static void *divide(char *chunk, size_t size, struct item **list)
{
	for (size_t i = CHUNK - 1; i > 0; i--) {
		struct item *item = (struct item *)(chunk + i * size);

		item->next = *list;
		*list = item;
	}
	return chunk;
}

__attribute__((noinline)) static struct node *get_node(void)
{
	struct item *item = free_nodes;

	if (item)
		free_nodes = item->next;
	else
		item = divide((char *)NEW_ARRAY(struct node, CHUNK), sizeof(struct node),
			      &free_nodes);
	memset((void *)item, 0, sizeof(struct node));
	return (struct node *)item;
}

__attribute__((noinline)) static struct bucket *get_bucket(void)
{
	struct item *item = free_buckets;

	if (item)
		free_buckets = item->next;
	else
		item = divide((char *)NEW_ARRAY(struct bucket, CHUNK), sizeof(struct bucket),
			      &free_buckets);
	memset((void *)item, 0, sizeof(struct bucket));
	return (struct bucket *)item;
}

static void release(void *value, struct item **list)
{
	((struct item *)value)->next = *list;
	*list = value;
}

static struct node *make_text(const char *text)
{
	struct node *node = get_node();

	node->kind = KIND_VALUE;
	node->flags = 7;
	node->references = 1;
	node->as.value.length = strlen(text);
	node->as.value.text = NEW_TEXT(node->as.value.length + 2);
	strcpy(node->as.value.text, text);
	return node;
}

static struct node *make_number(double number)
{
	struct node *node = get_node();

	node->kind = KIND_VALUE;
	node->flags = 24;
	node->references = 1;
	node->as.value.number = number;
	return node;
}

static void free_value(struct node *node)
{
	FREE(node->as.value.text);
	release(node, &free_nodes);
}

static size_t hash_of(const char *text)
{
	size_t hash = 5381;

	for (; *text; text++)
		hash = hash * 33 + (unsigned char)*text;
	return hash;
}

static void grow(struct node *array)
{
	size_t old = array->as.tree.slots, slots = old ? old * 4 : FIRST_TABLE;
	struct bucket **buckets = NEW_ZEROED_ARRAY(struct bucket *, slots);

	for (size_t i = 0; i < old; i++) {
		struct bucket *next;

		for (struct bucket *at = array->as.tree.right.buckets[i]; at; at = next) {
			next = at->next;
			at->next = buckets[at->hash % slots];
			buckets[at->hash % slots] = at;
		}
	}
	if (old)
		FREE(array->as.tree.right.buckets);
	array->as.tree.right.buckets = buckets;
	array->as.tree.slots = slots;
}

static struct node **text_lookup(struct node *array, struct node *index)
{
	size_t hash = hash_of(index->as.value.text);
	struct bucket *bucket;

	if (!array->as.tree.right.buckets || array->as.tree.count > CROWDED * array->as.tree.slots)
		grow(array);
	for (bucket = array->as.tree.right.buckets[hash % array->as.tree.slots]; bucket;
	     bucket = bucket->next) {
		if (bucket->hash == hash && strcmp(bucket->text, index->as.value.text) == 0)
			return &bucket->value;
	}
	bucket = get_bucket();
	index->references++;
	*bucket = (struct bucket){ array->as.tree.right.buckets[hash % array->as.tree.slots],
				   index->as.value.text,
				   index->as.value.length,
				   hash,
				   index,
				   NULL };
	array->as.tree.right.buckets[hash % array->as.tree.slots] = bucket;
	array->as.tree.count++;
	return &bucket->value;
}

static struct node **number_lookup(struct node *array, struct node *index)
{
	size_t at = (size_t)index->as.value.number % LEAVES;

	if (!array->as.tree.right.nodes)
		array->as.tree.right.nodes = NEW_ZEROED_ARRAY(struct node *, LEAVES);
	array->as.tree.count++;
	return &array->as.tree.right.nodes[at];
}

static const struct functions text_functions = { "text", text_lookup };
static const struct functions number_functions = { "number", number_lookup };

static struct node *make_array(const struct functions *functions, const char *name)
{
	struct node *node = get_node();

	node->kind = KIND_ARRAY;
	node->as.tree.left.functions = functions;
	node->as.tree.name = TEXT(strdup(name));
	return node;
}

static struct node **find(struct node *array, struct node *index)
{
	return array->as.tree.left.functions->lookup(array, index);
}

// Removes the first element of each slot.
static void thin(struct node *array)
{
	for (size_t i = 0; i < array->as.tree.slots; i++) {
		struct bucket *bucket = array->as.tree.right.buckets[i];

		if (!bucket)
			continue;
		array->as.tree.right.buckets[i] = bucket->next;
		free_value(bucket->name);
		free_value(bucket->value);
		release(bucket, &free_buckets);
		array->as.tree.count--;
	}
}

static struct node *add_array(struct node *parent, const struct functions *functions,
			      const char *format, int number)
{
	char name[32];
	struct node *array, **place;

	snprintf(name, sizeof(name), format, number);
	array = make_array(functions, name);
	place = find(parent, make_text(name));
	*place = array;
	array->as.tree.parent = parent;
	return array;
}

static void fill(struct node *array, const char *format, int count)
{
	char text[48];

	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), format, i);
		*find(array, make_text(text)) = next() % 3 ? make_text(text) : make_number(i * 0.5);
	}
}

static void emit(struct node *node)
{
	static struct instruction *last;
	struct instruction *instruction = NEW_ZEROED(struct instruction);

	instruction->code = LOOKUP;
	instruction->line = (short)(next() % 200);
	instruction->what.node = node;
	if (last)
		last->next = instruction;
	else
		program = instruction;
	last = instruction;
}

int main(void)
{
	struct node *array;
	char text[32];

	globals = make_array(&text_functions, "SYMTAB");
	array = add_array(globals, &text_functions, "words%d", 0);
	fill(array, "word %d", WORDS);
	emit(array);
	array = add_array(globals, &text_functions, "old%d", 0);
	fill(array, "a word that was used before, %d", WORDS);
	emit(array);
	thin(array);
	array = add_array(globals, &text_functions, "records%d", 0);
	emit(array);
	for (int i = 0; i < RECORDS; i++)
		fill(add_array(array, &text_functions, "record%d", i), "field %d",
		     (int)(next() % 30) + 20);
	array = add_array(globals, &text_functions, "rows%d", 0);
	emit(array);
	for (int i = 0; i < RECORDS; i++) {
		struct node *row = add_array(array, &number_functions, "row%d", i);

		for (int j = 0; j < FIELDS; j++) {
			struct node *index = make_number(j);

			snprintf(text, sizeof(text), "%d of %d", j, i);
			*find(row, index) = make_text(text);
			release(index, &free_nodes);
		}
	}
	truth_capture();
	return 0;
}
