// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A database's engine: frames and pages of a buffer pool, tuples with bitmaps of nulls in packed bytes, a catalogue,
 * transactions with undo records whose payload follows them, locks in hash chains, cursors with a table of functions,
 * plans as trees of operators with private state behind a void pointer, and sorts with arrays of keys.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PAGE_SIZE 4096

typedef uint32_t page_id;

typedef struct frame frame;
typedef struct table table;
typedef struct txn txn;

struct frame {
	page_id id;
	uint16_t pins;
	bool dirty;
	frame *hash_next;
	frame *lru_prev, *lru_next;
	uint8_t *page;
	struct waiter *waiters;
};

struct waiter {
	struct waiter *next;
	txn *who;
	int mode;
};

typedef struct {
	uint16_t count, free_from, free_to, flags;
	page_id next;
	uint16_t slots[];
} page_header;

typedef enum {
	T_INT,
	T_TEXT,
	T_REAL
} column_type;

typedef struct column {
	char name[24];
	column_type type;
	bool nullable;
	struct value *fallback;
} column;

typedef struct value {
	column_type type;
	union {
		int64_t i;
		double r;
		struct {
			uint32_t length;
			char *bytes;
		} text;
	};
} value;

typedef struct index_def {
	struct index_def *next;
	char *name;
	uint16_t *columns;
	unsigned count;
	page_id root;
	struct index_stats *stats;
} index_def;

typedef struct index_stats {
	uint64_t distinct;
	double *histogram;
	unsigned buckets;
} index_stats;

struct table {
	char *name;
	column *columns;
	unsigned column_count;
	index_def *indexes;
	page_id first, last;
	uint64_t rows;
	table *next;
	struct lock *locks;
};

typedef struct undo {
	struct undo *previous;
	table *table;
	page_id page;
	uint16_t slot, length;
	uint8_t old[];
} undo;

typedef struct lock {
	struct lock *chain;
	struct lock *of_txn;
	txn *owner;
	uint64_t key;
	int mode;
} lock;

struct txn {
	uint64_t id;
	txn *next;
	undo *undo;
	lock *locks;
	uint64_t *read_set;
	unsigned reads, read_capacity;
	char *label;
};

typedef struct op op;

typedef struct {
	const char *name;
	bool (*open)(op *);
	bool (*next)(op *, value *);
	void (*close)(op *);
} op_class;

struct op {
	const op_class *class;
	op *left, *right;
	void *state;
	double cost;
	unsigned width;
};

typedef struct {
	table *table;
	page_id at;
	uint16_t slot;
	struct predicate *filter;
} scan_state;

typedef struct predicate {
	struct predicate *and;
	uint16_t column, op;
	value constant;
} predicate;

typedef struct bucket {
	struct bucket *next;
	uint64_t hash;
	value key;
} bucket;

typedef struct {
	bucket **buckets;
	unsigned mask, used;
	op *build;
} join_state;

typedef struct {
	int64_t key;
	uint32_t row, run;
} sort_key;

typedef struct {
	sort_key *keys;
	unsigned count, capacity;
	bool descending;
	char *spill;
} sort_state;

static struct {
	frame *buckets[64];
	frame *lru_first, *lru_last;
	uint8_t **chunks;
	unsigned chunk_count;
	table *tables;
	txn *active;
	lock *locks[128];
	op **plans;
	unsigned plan_count;
	page_id next_page;
} db;

static frame *new_page(void)
{
	frame *made = NEW_ZEROED(frame);
	page_header *header;

	made->id = db.next_page++;
	made->page = NEW_ZEROED_ARRAY(uint8_t, PAGE_SIZE);
	header = (page_header *)made->page;
	header->free_from = sizeof(page_header);
	header->free_to = PAGE_SIZE;
	made->hash_next = db.buckets[made->id % 64];
	db.buckets[made->id % 64] = made;
	made->lru_prev = db.lru_last;
	if (db.lru_last)
		db.lru_last->lru_next = made;
	else
		db.lru_first = made;
	db.lru_last = made;
	return made;
}

static frame *find_page(page_id id)
{
	frame *at = db.buckets[id % 64];

	while (at && at->id != id)
		at = at->hash_next;
	return at;
}

static uint16_t insert(table *table, const uint8_t *row, uint16_t length)
{
	frame *frame = find_page(table->last);
	page_header *header = (page_header *)frame->page;

	if (header->free_from + 2 + length > header->free_to) {
		frame->dirty = true;
		frame = new_page();
		header->next = frame->id;
		table->last = frame->id;
		header = (page_header *)frame->page;
	}
	header->free_to -= length;
	header->free_from += 2;
	header->slots[header->count] = header->free_to;
	memcpy(frame->page + header->free_to, row, length);
	table->rows++;
	return header->count++;
}

static value *constant(column_type type, unsigned number)
{
	value *made = NEW_ZEROED(value);

	made->type = type;
	if (type == T_INT)
		made->i = number;
	else if (type == T_REAL)
		made->r = number / 3.0;
	else {
		made->text.bytes = NEW_TEXT(20);
		made->text.length = (uint32_t)snprintf(made->text.bytes, 20, "default %u", number);
	}
	return made;
}

static void add_index(table *table, unsigned number)
{
	index_def *made = NEW_ZEROED(index_def);

	made->name = NEW_TEXT(32);
	snprintf(made->name, 32, "%.20s_by_%u", table->name, number);
	made->count = 1 + number % 3;
	made->columns = NEW_ZEROED_ARRAY(uint16_t, made->count);
	made->root = new_page()->id;
	made->stats = NEW_ZEROED(index_stats);
	made->stats->buckets = 16 + number;
	made->stats->histogram = NEW_ARRAY(double, made->stats->buckets);
	for (unsigned i = 0; i < made->stats->buckets; i++)
		made->stats->histogram[i] = i * 0.75;
	made->next = table->indexes;
	table->indexes = made;
}

static table *create(unsigned number)
{
	table *made = NEW_ZEROED(table);
	char name[32];

	snprintf(name, sizeof(name), "table_of_numbers_%u", number);
	made->name = TEXT(strdup(name));
	made->column_count = 3 + number % 6;
	made->columns = NEW_ZEROED_ARRAY(column, made->column_count);
	for (unsigned i = 0; i < made->column_count; i++) {
		snprintf(made->columns[i].name, sizeof(made->columns[i].name), "column_%u", i);
		made->columns[i].type = (column_type)(i % 3);
		if (i % 2)
			made->columns[i].fallback = constant(made->columns[i].type, i);
	}
	made->first = made->last = new_page()->id;
	for (unsigned i = 0; i < 1 + number % 3; i++)
		add_index(made, i);
	made->next = db.tables;
	return db.tables = made;
}

static void take_lock(txn *txn, uint64_t key, int mode)
{
	lock *made = NEW(lock);

	*made = (lock){ db.locks[key % 128], txn->locks, txn, key, mode };
	db.locks[key % 128] = made;
	txn->locks = made;
}

static void run(uint64_t id)
{
	txn *made = NEW_ZEROED(txn);
	table *table = db.tables;

	made->id = id;
	for (uint64_t i = next() % 8; i && table->next; i--)
		table = table->next;
	for (unsigned i = 0; i < 4 + next() % 12; i++) {
		uint8_t row[96];
		uint16_t length = (uint16_t)(20 + next() % 70);
		undo *record = NEW_FLEXIBLE(undo, sizeof(undo) + length);

		for (unsigned j = 0; j < length; j++)
			row[j] = (uint8_t)next();
		record->slot = insert(table, row, length);
		record->previous = made->undo;
		record->table = table;
		record->page = table->last;
		record->length = length;
		memcpy(record->old, row, length);
		made->undo = record;
		take_lock(made, next(), (int)(next() % 3));
		if (made->reads == made->read_capacity) {
			made->read_capacity = made->read_capacity * 2 + 4;
			made->read_set = RENEW_ARRAY(uint64_t, made->read_set, made->read_capacity);
		}
		made->read_set[made->reads++] = next() % 5000;
	}
	if (id % 3 == 0) {
		made->label = NEW_TEXT(24);
		snprintf(made->label, 24, "batch %u", (unsigned)id);
	}
	if (id % 5 == 0) {
		struct waiter *waiter = NEW(struct waiter);
		frame *frame = find_page(table->last);

		*waiter = (struct waiter){ frame->waiters, made, 1 };
		frame->waiters = waiter;
	}
	made->next = db.active;
	db.active = made;
}

static bool scan_open(op *op)
{
	scan_state *state = NEW_ZEROED(scan_state);

	state->table = db.tables;
	state->at = state->table->first;
	for (unsigned i = 0; i < next() % 3; i++) {
		predicate *made = NEW_ZEROED(predicate);

		made->and = state->filter;
		made->op = (uint16_t)(next() % 6);
		made->constant.type = T_INT;
		made->constant.i = (int64_t)(next() % 90);
		state->filter = made;
	}
	op->state = state;
	return true;
}

static bool scan_next(op *op, value *result)
{
	scan_state *state = op->state;

	result->type = T_INT;
	result->i = state->slot++;
	return state->slot < 10 + state->at % 40;
}

static void scan_close(op *op)
{
	FREE(op->state);
}

static bool join_open(op *op)
{
	join_state *state = NEW_ZEROED(join_state);
	value row;

	op->left->class->open(op->left);
	op->right->class->open(op->right);
	state->mask = 31;
	state->buckets = NEW_ZEROED_ARRAY(bucket *, state->mask + 1);
	state->build = op->left;
	while (op->left->class->next(op->left, &row)) {
		bucket *made = NEW(bucket);

		made->hash = next();
		made->key = row;
		made->next = state->buckets[made->hash & state->mask];
		state->buckets[made->hash & state->mask] = made;
		state->used++;
	}
	op->state = state;
	return true;
}

static bool join_next(op *op, value *result)
{
	join_state *state = op->state;

	*result = (value){ .type = T_INT };
	return state->used-- > 0;
}

static void join_close(op *op)
{
	join_state *state = op->state;

	FREE(state->buckets);
	FREE(state);
}

static bool sort_open(op *op)
{
	sort_state *state = NEW_ZEROED(sort_state);
	value row;

	op->left->class->open(op->left);
	op->state = state;
	while (op->left->class->next(op->left, &row) && state->count < 500) {
		if (state->count == state->capacity) {
			state->capacity = state->capacity * 2 + 16;
			state->keys = RENEW_ARRAY(sort_key, state->keys, state->capacity);
		}
		state->keys[state->count] = (sort_key){ row.i, state->count, 0 };
		state->count++;
	}
	if (next() % 2)
		state->spill = TEXT(strdup("/var/tmp/sort-run-000017"));
	return true;
}

static bool sort_next(op *op, value *result)
{
	sort_state *state = op->state;

	*result = (value){ .type = T_INT, .i = state->keys[0].key };
	return state->count-- > 0;
}

static void sort_close(op *op)
{
	sort_state *state = op->state;

	FREE(state->keys);
	FREE(state);
}

static const op_class scan_class = { "scan", scan_open, scan_next, scan_close };
static const op_class join_class = { "join", join_open, join_next, join_close };
static const op_class sort_class = { "sort", sort_open, sort_next, sort_close };

static op *make_op(const op_class *class, op *left, op *right)
{
	op *made = NEW_ZEROED(op);

	made->class = class;
	made->left = left;
	made->right = right;
	made->cost = (left ? left->cost : 1.0) * 1.5;
	made->width = left ? left->width : 8;
	return made;
}

static op *plan(unsigned number)
{
	op *made = make_op(&scan_class, NULL, NULL);

	for (unsigned i = 0; i < number % 3; i++)
		made = make_op(&join_class, made, make_op(&scan_class, NULL, NULL));
	return number % 2 ? make_op(&sort_class, made, NULL) : made;
}

int main(void)
{
	for (unsigned i = 0; i < 25; i++)
		create(i);
	for (uint64_t i = 1; i < 700; i++)
		run(i);
	db.plan_count = 300;
	db.plans = NEW_ARRAY(op *, db.plan_count);
	for (unsigned i = 0; i < db.plan_count; i++) {
		db.plans[i] = plan(i);
		db.plans[i]->class->open(db.plans[i]);
	}
	truth_capture();
	for (unsigned i = 0; i < db.plan_count; i++)
		db.plans[i]->class->close(db.plans[i]);
	return 0;
}
