// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An interpreter of scripts as the older ones are made: one node type of nested unions, hidden
 * behind macros, for numbers, texts and arrays; nodes and buckets from free lists in chunks of a
 * hundred; hash tables in a member of a union, with as many slots as another member of the node says.
 */
#include "t/truth/truth.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
	Node_illegal,
	Node_val,
	Node_var,
	Node_var_new,
	Node_array,
	Node_array_leaf,
	Node_func
} node_type;

struct array_functions;
union bucket_item;
struct instruction;

typedef struct node_item {
	union {
		struct {
			union {
				struct node_item *lptr;
				struct instruction *li;
				long ll;
				const struct array_functions *lp;
			} l;
			union {
				struct node_item *rptr;
				struct node_item **av;
				union bucket_item **bv;
				void *aq;
			} r;
			union {
				struct node_item *xptr;
				void **places;
				long xl;
			} x;
			char *name;
			size_t reflags;
			union {
				struct node_item *lptr;
				long cnt;
			} rn;
		} nodep;
		struct {
			double fltnum;
			char *sp;
			size_t slen;
			int idx;
			int *wsp;
			size_t wslen;
		} val;
	} sub;
	node_type type;
	unsigned int flags;
	long valref;
} NODE;

#define vname sub.nodep.name
#define lnode sub.nodep.l.lptr
#define buckets sub.nodep.r.bv
#define nodes sub.nodep.r.av
#define parent_array sub.nodep.rn.lptr
#define array_funcs sub.nodep.l.lp
#define array_size sub.nodep.reflags
#define table_size sub.nodep.x.xl
#define var_value sub.nodep.l.lptr
#define numbr sub.val.fltnum
#define stptr sub.val.sp
#define stlen sub.val.slen
#define NUMBER 1u
#define STRING 2u
#define MALLOC 4u

typedef union bucket_item {
	struct {
		union bucket_item *next;
		char *str;
		size_t len;
		size_t code;
		NODE *name;
		NODE *val;
	} hs;
	struct {
		union bucket_item *next;
		long li;
		NODE *val[2];
		size_t cnt;
	} hi;
} BUCKET;

#define ahnext hs.next
#define ahname hs.name
#define ahname_str hs.str
#define ahname_len hs.len
#define ahvalue hs.val
#define ahcode hs.code

struct array_functions {
	const char *name;
	NODE **(*lookup)(NODE *symbol, NODE *subscript);
	NODE *(*clear)(NODE *symbol);
};

typedef struct instruction {
	struct instruction *nexti;
	union {
		NODE *dn;
		struct instruction *di;
		long dl;
	} d;
	short source_line;
	short opcode;
} INSTRUCTION;

// --- memory ------------------------------------------------------------------------

struct block_item {
	struct block_item *freep;
};

struct block_header {
	struct block_item *freep;
	size_t size;
	const char *name;
	long cnt;
};

enum {
	BLOCK_NODE,
	BLOCK_BUCKET,
	BLOCK_MAX,
	CHUNK = 100
};

static struct block_header nextfree[BLOCK_MAX] = {
	{ NULL, sizeof(NODE), "struct node_item", 0 },
	{ NULL, sizeof(BUCKET), "union bucket_item", 0 },
};

static void *emalloc_real(size_t bytes, const char *where)
{
	void *result = malloc(bytes);

	if (!result) {
		fprintf(stderr, "%s: out of memory\n", where);
		exit(2);
	}
	return result;
}

static void *ezalloc_real(size_t bytes, const char *where)
{
	void *result = calloc(1, bytes);

	if (!result) {
		fprintf(stderr, "%s: out of memory\n", where);
		exit(2);
	}
	return result;
}

#define emalloc(var, ty, x, str) (void)((var) = (ty)emalloc_real((size_t)(x), str))
#define ezalloc(var, ty, x, str) (void)((var) = (ty)ezalloc_real((size_t)(x), str))

static void *more_blocks(int id)
{
	struct block_item *freep, *np, *next;
	char *p, *endp;
	size_t size = nextfree[id].size;

	emalloc(freep, struct block_item *, CHUNK * size, "more_blocks");
	truth_log(freep, TRUTH_ARRAY, nextfree[id].name, CHUNK);
	p = (char *)freep;
	endp = p + CHUNK * size;
	for (np = freep;; np = next) {
		next = (struct block_item *)(p += size);
		if (p >= endp) {
			np->freep = NULL;
			break;
		}
		np->freep = next;
	}
	nextfree[id].freep = freep->freep;
	nextfree[id].cnt += CHUNK;
	return freep;
}

static void *take(int id)
{
	struct block_item *item = nextfree[id].freep;

	if (item)
		nextfree[id].freep = item->freep;
	else
		item = more_blocks(id);
	return item;
}

static void give_back(int id, void *item)
{
	struct block_item *freed = item;

	freed->freep = nextfree[id].freep;
	nextfree[id].freep = freed;
}

#define getnode(n) ((n) = take(BLOCK_NODE))
#define getbucket(b) ((b) = take(BLOCK_BUCKET))

// --- values ------------------------------------------------------------------------

static NODE *make_number(double number)
{
	NODE *n;

	getnode(n);
	n->type = Node_val;
	n->numbr = number;
	n->flags = NUMBER | MALLOC;
	n->valref = 1;
	n->stptr = NULL;
	n->stlen = 0;
	n->sub.val.idx = -1;
	n->sub.val.wsp = NULL;
	n->sub.val.wslen = 0;
	return n;
}

static NODE *make_string(const char *s, size_t len)
{
	NODE *n = make_number(0);

	n->flags = STRING | MALLOC;
	emalloc(n->stptr, char *, len + 1, "make_string");
	truth_log(n->stptr, TRUTH_TEXT, "char", len + 1);
	memcpy(n->stptr, s, len);
	n->stptr[len] = '\0';
	n->stlen = len;
	return n;
}

static void unref(NODE *n)
{
	if (!n || --n->valref > 0)
		return;
	if (n->flags & STRING) {
		truth_forget(n->stptr);
		free(n->stptr);
	}
	give_back(BLOCK_NODE, n);
}

// --- arrays ------------------------------------------------------------------------

static NODE **str_lookup(NODE *symbol, NODE *subscript);
static NODE *str_clear(NODE *symbol);
static const struct array_functions str_array = { "str_array", str_lookup, str_clear };

static size_t hash(const char *s, size_t len)
{
	size_t h = 0;

	while (len-- > 0)
		h = h * 31 + (unsigned char)*s++;
	return h;
}

static void grow_table(NODE *symbol)
{
	static const long sizes[] = { 13, 127, 1021, 8191, 16381, 32749 };
	BUCKET **old, **new, *chain, *next;
	long oldsize, newsize, i;
	size_t hash1;

	newsize = oldsize = symbol->table_size;
	for (i = 0; i < (long)(sizeof(sizes) / sizeof(sizes[0])); i++) {
		if (oldsize < sizes[i]) {
			newsize = sizes[i];
			break;
		}
	}
	ezalloc(new, BUCKET **, newsize * (long)sizeof(BUCKET *), "grow_table");
	truth_log(new, TRUTH_ARRAY, "BUCKET *", (size_t)newsize);
	old = symbol->buckets;
	symbol->buckets = new;
	symbol->table_size = newsize;
	if (!old)
		return;
	for (i = 0; i < oldsize; i++) {
		for (chain = old[i]; chain; chain = next) {
			next = chain->ahnext;
			hash1 = chain->ahcode % (size_t)newsize;
			chain->ahnext = new[hash1];
			new[hash1] = chain;
		}
	}
	truth_forget(old);
	free(old);
}

static NODE **str_lookup(NODE *symbol, NODE *subscript)
{
	size_t code = hash(subscript->stptr, subscript->stlen), at;
	BUCKET *b;

	if (symbol->buckets) {
		at = code % (size_t)symbol->table_size;
		for (b = symbol->buckets[at]; b; b = b->ahnext) {
			if (b->ahcode == code && b->ahname_len == subscript->stlen &&
			    memcmp(b->ahname_str, subscript->stptr, subscript->stlen) == 0)
				return &b->ahvalue;
		}
	}
	if (!symbol->buckets || symbol->array_size / (size_t)symbol->table_size > 2)
		grow_table(symbol);
	at = code % (size_t)symbol->table_size;
	symbol->array_size++;
	subscript->valref++;
	getbucket(b);
	b->ahname = subscript;
	b->ahname_str = subscript->stptr;
	b->ahname_len = subscript->stlen;
	b->ahcode = code;
	b->ahvalue = make_number(0);
	b->ahnext = symbol->buckets[at];
	symbol->buckets[at] = b;
	return &b->ahvalue;
}

static NODE *make_array(const char *name, NODE *parent, const struct array_functions *functions)
{
	NODE *array;

	getnode(array);
	memset(array, '\0', sizeof(NODE));
	array->type = Node_array;
	array->array_funcs = functions;
	array->buckets = NULL;
	array->table_size = 0;
	array->array_size = 0;
	array->parent_array = parent;
	array->vname = TEXT(strdup(name));
	array->valref = 1;
	return array;
}

// Arrays of small integers: a table of leaves by the number's upper bits, each with a table of values.
static NODE **int_lookup(NODE *symbol, NODE *subscript);
static const struct array_functions int_array = { "int_array", int_lookup, NULL };

static NODE **leaf_lookup(NODE *leaf, size_t at, size_t size)
{
	if (!leaf->nodes) {
		ezalloc(leaf->nodes, NODE **, size * sizeof(NODE *), "leaf_lookup");
		truth_log(leaf->nodes, TRUTH_ARRAY, "struct node_item *", size);
	}
	leaf->array_size++;
	return &leaf->nodes[at];
}

static NODE **int_lookup(NODE *symbol, NODE *subscript)
{
	size_t number = (size_t)subscript->numbr, power = 3;
	NODE *leaf, **place;

	while (number >> (power + 1))
		power++;
	if (!symbol->nodes) {
		ezalloc(symbol->nodes, NODE **, 32 * sizeof(NODE *), "int_lookup");
		truth_log(symbol->nodes, TRUTH_ARRAY, "struct node_item *", 32);
	}
	leaf = symbol->nodes[power];
	if (!leaf) {
		getnode(leaf);
		memset(leaf, '\0', sizeof(NODE));
		leaf->type = Node_array_leaf;
		symbol->nodes[power] = leaf;
	}
	symbol->array_size++;
	place = leaf_lookup(leaf, number & (((size_t)1 << power) - 1), (size_t)1 << power);
	if (!*place)
		*place = make_number(0);
	return place;
}

static NODE *str_clear(NODE *symbol)
{
	for (long i = 0; i < symbol->table_size; i++) {
		BUCKET *next;

		for (BUCKET *b = symbol->buckets[i]; b; b = next) {
			next = b->ahnext;
			unref(b->ahname);
			if (b->ahvalue->type == Node_array)
				str_clear(b->ahvalue);
			unref(b->ahvalue);
			give_back(BLOCK_BUCKET, b);
		}
	}
	if (symbol->buckets) {
		truth_forget(symbol->buckets);
		free(symbol->buckets);
	}
	if (symbol->vname) {
		truth_forget(symbol->vname);
		free(symbol->vname);
	}
	symbol->buckets = NULL;
	symbol->vname = NULL;
	symbol->table_size = 0;
	symbol->array_size = 0;
	return NULL;
}

// --- the script ------------------------------------------------------------------------

static NODE *symbol_table;
static INSTRUCTION *code_block;

static NODE *variable(const char *name, NODE *value)
{
	NODE *key = make_string(name, strlen(name)), **place = str_lookup(symbol_table, key), *var;

	unref(key);
	getnode(var);
	memset(var, '\0', sizeof(NODE));
	var->type = Node_var;
	var->vname = TEXT(strdup(name));
	var->var_value = value;
	var->valref = 1;
	unref(*place);
	*place = var;
	return var;
}

static INSTRUCTION *instruction(short opcode, NODE *operand)
{
	static short line;
	INSTRUCTION *i;

	emalloc(i, INSTRUCTION *, sizeof(INSTRUCTION), "instruction");
	truth_log(i, TRUTH_ARRAY, "struct instruction", 1);
	i->nexti = code_block;
	i->d.dn = operand;
	i->source_line = ++line;
	i->opcode = opcode;
	code_block = i;
	return i;
}

static NODE *element(NODE *array, const char *text)
{
	NODE *key = make_string(text, strlen(text)), **place = str_lookup(array, key);

	unref(key);
	return *place;
}

static void set_element(NODE *array, const char *text, NODE *value)
{
	NODE *key = make_string(text, strlen(text)), **place = str_lookup(array, key);

	unref(key);
	unref(*place);
	*place = value;
}

static void run(void)
{
	NODE *counts = make_array("counts", NULL, &str_array),
	     *matrix = make_array("matrix", NULL, &str_array),
	     *squares = make_array("squares", NULL, &int_array);
	char text[64];

	variable("NR", make_number(17));
	variable("FS", make_string(" ", 1));
	variable("counts", counts);
	variable("matrix", matrix);
	for (short i = 0; i < 500; i++)
		instruction(i % 40, i % 3 ? make_number(i) : make_string("literal", 7));
	for (int i = 0; i < 9000; i++) {
		snprintf(text, sizeof(text), "key%d", i * 7919 % 6007);
		element(counts, text)->numbr += 1;
		if (i % 4 == 0) {
			char value[64];

			snprintf(value, sizeof(value), "the value of number %d", i);
			set_element(counts, text, make_string(value, strlen(value)));
		}
	}
	variable("squares", squares);
	for (int i = 0; i < 3000; i++) {
		NODE *key = make_number(i);

		(*int_lookup(squares, key))->numbr = (double)i * i;
		unref(key);
	}
	for (int i = 0; i < 40; i++) {
		NODE *row = make_array("row", matrix, &str_array);

		snprintf(text, sizeof(text), "%d", i);
		set_element(matrix, text, row);
		if (i % 3 == 0) {
			NODE *numbers = make_array("numbers", matrix, &int_array);

			for (int k = 0; k < 20 * i; k++) {
				NODE *key = make_number(k);

				(*int_lookup(numbers, key))->numbr = k;
				unref(key);
			}
			snprintf(text, sizeof(text), "numbers %d", i);
			set_element(matrix, text, numbers);
		}
		for (int k = 0; k < 60 + i; k++) {
			snprintf(text, sizeof(text), "%d,%d", i, k);
			set_element(row, text, make_number(i * k));
		}
	}
	for (int i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "%d", i * 4);
		str_clear(element(matrix, text));
	}
}

int main(void)
{
	symbol_table = make_array("SYMTAB", NULL, &str_array);
	run();
	truth_capture();
	return 0;
}
