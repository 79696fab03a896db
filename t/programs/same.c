// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A small key-value server that ends in the same logical heap however its threads are scheduled
 * and wherever its memory lies. Each thread loads a database of its own; all of them share a
 * dictionary and a list under a lock. Everything that makes types hard to infer is here: wrappers
 * in wrappers, text behind a header, void * values with a kind beside them, unions, headers with
 * elements, structs of one size from one site, blocks that a common beginning tells apart.
 *
 * Each block is logged as "address name" into the file same.log; names are the same in each run.
 * t/end-to-end/same.t compares what the snapshots of many runs say of them.
 */
// CFLAGS: -O2
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 8,
	KEYS = 600,         // of each thread
	SHARED_SLOTS = 256, // of the dictionary that all share
};

#define NOINLINE __attribute__((noinline))

// --- the log -----------------------------------------------------------------------

static FILE *log_file;
static char log_buffer[1 << 16];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

NOINLINE static void note(const void *block, int thread, const char *name, int number)
{
	pthread_mutex_lock(&log_lock);
	fprintf(log_file, "%lx t%d.%s.%d\n", (unsigned long)block, thread, name, number);
	pthread_mutex_unlock(&log_lock);
}

// Lets threads overtake each other, differently in each run.
static void dawdle(unsigned *state)
{
	*state = *state * 1103515245 + 12345;
	if (*state >> 16 & 7)
		return;
	if (*state >> 20 & 1)
		sched_yield();
	else
		usleep(*state >> 24);
}

// --- wrappers in wrappers -----------------------------------------------------------

static unsigned long used_memory;

NOINLINE static void *try_allocate(size_t size)
{
	void *block = malloc(size + (size == 0));

	if (block)
		__atomic_add_fetch(&used_memory, size, __ATOMIC_RELAXED);
	return block;
}

NOINLINE void *zmalloc(size_t size)
{
	void *block = try_allocate(size);

	if (!block)
		abort();
	return block;
}

NOINLINE void *zcalloc(size_t count, size_t size)
{
	void *block = calloc(count, size);

	if (!block)
		abort();
	__atomic_add_fetch(&used_memory, count * size, __ATOMIC_RELAXED);
	return block;
}

NOINLINE void *zrealloc(void *old, size_t size)
{
	void *block = realloc(old, size);

	if (!block)
		abort();
	return block;
}

// --- text behind a header -------------------------------------------------------------

typedef char *sds;

struct __attribute__((packed)) sds8 {
	uint8_t length, allocated;
	unsigned char flags;
	char text[];
};

struct __attribute__((packed)) sds16 {
	uint16_t length, allocated;
	unsigned char flags;
	char text[];
};

NOINLINE static sds sds_new_length(const char *text, size_t length)
{
	size_t head = length < 250 ? sizeof(struct sds8) : sizeof(struct sds16);
	char *block = zmalloc(head + length + 1);
	sds string = block + head;

	if (head == sizeof(struct sds8)) {
		struct sds8 *header = (struct sds8 *)block;
		*header = (struct sds8){ (uint8_t)length, (uint8_t)length, 1 };
	} else {
		struct sds16 *header = (struct sds16 *)block;
		*header = (struct sds16){ (uint16_t)length, (uint16_t)length, 2 };
	}
	memcpy(string, text, length);
	string[length] = '\0';
	return string;
}

static void *sds_block(sds string)
{
	return string - (string[-1] == 1 ? sizeof(struct sds8) : sizeof(struct sds16));
}

NOINLINE static sds sds_format(const char *format, ...)
{
	char text[600];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return sds_new_length(text, strlen(text));
}

// --- dictionary ---------------------------------------------------------------------------

typedef struct entry {
	void *key;
	union {
		void *value;
		uint64_t unsigned_number;
		int64_t number;
		double real;
	} v;
	struct entry *next;
} entry;

typedef struct dict {
	uint64_t (*hash)(const void *key);
	entry **table;
	unsigned long size, used;
	long rehash;
} dict;

static uint64_t hash_text(const void *key)
{
	uint64_t hash = 14695981039346656037u;

	for (const char *at = key; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	return hash ^ hash >> 29;
}

NOINLINE static dict *dict_create(unsigned long size)
{
	dict *created = zmalloc(sizeof(*created));

	*created = (dict){ hash_text, zcalloc(size, sizeof(entry *)), size, 0, -1 };
	return created;
}

NOINLINE static entry *dict_add(dict *in, void *key, void *value)
{
	uint64_t slot = in->hash(key) % in->size;
	entry *added = zmalloc(sizeof(*added));

	added->key = key;
	added->v.value = value;
	added->next = in->table[slot];
	in->table[slot] = added;
	in->used++;
	return added;
}

// --- values -----------------------------------------------------------------------------------

enum {
	KIND_STRING,
	KIND_LIST,
	KIND_SET,
	KIND_SORTED,
	KIND_STREAM,
	KINDS
};
enum {
	ENCODING_RAW,
	ENCODING_NUMBER,
	ENCODING_EMBEDDED,
	ENCODING_LIST,
	ENCODING_DICT
};

typedef struct value {
	unsigned kind : 4;
	unsigned encoding : 4;
	unsigned age : 24;
	int references;
	void *data;
} value;

NOINLINE static value *value_create(int kind, int encoding, void *data)
{
	value *created = zmalloc(sizeof(*created));

	*created = (value){ kind, encoding, 7, 1, data };
	return created;
}

// The string lies behind the value itself.
NOINLINE static value *value_create_embedded(const char *text, size_t length)
{
	value *created = zmalloc(sizeof(*created) + sizeof(struct sds8) + length + 1);
	struct sds8 *header = (struct sds8 *)(created + 1);

	*created = (value){ KIND_STRING, ENCODING_EMBEDDED, 7, 1, header->text };
	*header = (struct sds8){ (uint8_t)length, (uint8_t)length, 1 };
	memcpy(header->text, text, length);
	header->text[length] = '\0';
	return created;
}

typedef struct list_node {
	struct list_node *previous, *next;
	unsigned char *packed;
	size_t bytes;
	unsigned count : 16, encoding : 2, container : 2;
} list_node;

typedef struct list {
	list_node *head, *tail;
	unsigned long count, length;
} list;

NOINLINE static list *list_create(void)
{
	return memset(zmalloc(sizeof(list)), 0, sizeof(list));
}

NOINLINE static list_node *list_add(list *to, size_t bytes)
{
	list_node *added = zmalloc(sizeof(*added));

	*added = (list_node){ to->tail, NULL, zmalloc(bytes), bytes, 1, 1, 2 };
	memset(added->packed, 0x81, bytes);
	if (to->tail)
		to->tail->next = added;
	else
		to->head = added;
	to->tail = added;
	to->length++;
	return added;
}

typedef struct level {
	struct skip_node *forward;
	unsigned long span;
} level;

typedef struct skip_node {
	sds element;
	double score;
	struct skip_node *backward;
	level levels[];
} skip_node;

typedef struct skip_list {
	skip_node *header, *tail;
	unsigned long length;
	int level;
} skip_list;

NOINLINE static skip_node *skip_node_create(int levels, double score, sds element)
{
	skip_node *created = zmalloc(sizeof(*created) + levels * sizeof(level));

	created->element = element;
	created->score = score;
	created->backward = NULL;
	for (int i = 0; i < levels; i++)
		created->levels[i] = (level){ NULL, 1 };
	return created;
}

typedef struct stream_node {
	uint32_t is_key : 1, is_null : 1, is_compressed : 1, size : 29;
	unsigned char data[];
} stream_node;

// --- a common beginning ---------------------------------------------------------------------------

struct shape {
	int tag;
	unsigned flags;
};

struct circle {
	struct shape base;
	double radius;
	struct shape *peer;
};

struct square {
	struct shape base;
	long side;
	const char *label;
};

struct shape_group {
	struct shape base;
	long count;
	struct shape **members;
};

NOINLINE static void *shape_create(int tag, size_t size)
{
	struct shape *created = zcalloc(1, size);

	created->tag = tag;
	return created;
}

// --- what a connection has -----------------------------------------------------------------------

struct reply {
	size_t size, used;
	char text[];
};

struct ticket {
	long number;
	struct connection *owner;
};

struct quota {
	long limit;
	const char *reason;
};

typedef struct connection {
	int descriptor;
	sds name;
	void *query;
	void **arguments;
	int argument_count;
	struct reply *reply;
	void *either[2]; // a ticket or a quota, which are of one size and from one site
	struct connection *next;
} connection;

NOINLINE static void *any_create(size_t size)
{
	return memset(zmalloc(size), 0, size);
}

struct server {
	dict *shared;
	list *events;
	connection *connections; // of all threads, in whatever order they came
	struct vector *log;
};

struct vector {
	size_t count, room;
	void **items;
};

struct record {
	int thread, number;
	union {
		struct record *parent;
		sds text;
		double real;
		long number;
	} u;
};

static struct server server;
static pthread_mutex_t server_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t start, end;

typedef struct database {
	int id;
	dict *keys, *expires;
	struct shape_group *shapes;
	struct record *records;
	unsigned seed;
} database;

static database *databases[THREADS];

// --- loading ----------------------------------------------------------------------------------------

static void *load_string(database *to, int i)
{
	char text[500];
	int length = i % 5 == 0 ? 100 + i % 300 : 5 + i % 30;
	value *made;

	memset(text, 'a' + i % 26, sizeof(text));
	if (i % 7 == 0) {
		made = value_create(KIND_STRING, ENCODING_NUMBER, (void *)(long)(i * 1000));
	} else if (length < 44) {
		made = value_create_embedded(text, length);
	} else {
		sds raw = sds_new_length(text, length);
		note(sds_block(raw), to->id, "raw", i);
		made = value_create(KIND_STRING, ENCODING_RAW, raw);
	}
	note(made, to->id, "string", i);
	return made;
}

static void *load_list(database *to, int i)
{
	list *made = list_create();
	value *wrapped;

	note(made, to->id, "list", i);
	for (int j = 0; j < 1 + i % 4; j++) {
		list_node *node = list_add(made, 16 + (i * 7 + j) % 200);
		note(node, to->id, "list_node", i * 10 + j);
		note(node->packed, to->id, "packed", i * 10 + j);
	}
	wrapped = value_create(KIND_LIST, ENCODING_LIST, made);
	note(wrapped, to->id, "list_value", i);
	return wrapped;
}

static void *load_set(database *to, int i)
{
	dict *made = dict_create(8);
	value *wrapped;

	note(made, to->id, "set", i);
	note(made->table, to->id, "set_table", i);
	for (int j = 0; j < 1 + i % 6; j++) {
		sds member = sds_format("member:%d:%d", i, j);
		note(sds_block(member), to->id, "member", i * 10 + j);
		note(dict_add(made, member, NULL), to->id, "set_entry", i * 10 + j);
	}
	wrapped = value_create(KIND_SET, ENCODING_DICT, made);
	note(wrapped, to->id, "set_value", i);
	return wrapped;
}

static void *load_sorted(database *to, int i)
{
	skip_list *made = zmalloc(sizeof(*made));
	value *wrapped;

	note(made, to->id, "skip_list", i);
	*made = (skip_list){ skip_node_create(8, 0, NULL), NULL, 0, 1 };
	note(made->header, to->id, "skip_header", i);
	for (int j = 0; j < 1 + i % 5; j++) {
		sds element = sds_format("element %d", i + j);
		skip_node *node = skip_node_create(1 + (i + j) % 4, i * 1.5 + j, element);
		note(sds_block(element), to->id, "element", i * 10 + j);
		note(node, to->id, "skip_node", i * 10 + j);
		node->levels[0].forward = made->header->levels[0].forward;
		node->backward = made->header;
		made->header->levels[0].forward = node;
		made->length++;
	}
	wrapped = value_create(KIND_SORTED, ENCODING_LIST, made);
	note(wrapped, to->id, "sorted_value", i);
	return wrapped;
}

static void *load_stream(database *to, int i)
{
	int bytes = 2 + i % 20;
	stream_node *made = zmalloc(sizeof(*made) + bytes + sizeof(void *));
	value *wrapped;

	note(made, to->id, "stream_node", i);
	*made = (stream_node){ i % 2, 0, 1, (unsigned)bytes };
	memset(made->data, 'x', bytes + sizeof(void *));
	wrapped = value_create(KIND_STREAM, ENCODING_RAW, made);
	note(wrapped, to->id, "stream_value", i);
	return wrapped;
}

static void load_keys(database *to)
{
	static void *(*const load[KINDS])(database *, int) = { load_string, load_list, load_set,
							       load_sorted, load_stream };

	for (int i = 0; i < KEYS; i++) {
		sds key = sds_format("key:%d:%d", to->id, i);
		void *made = load[(i * 7 + to->id) % KINDS](to, i);

		note(sds_block(key), to->id, "key", i);
		note(dict_add(to->keys, key, made), to->id, "entry", i);
		if (i % 3 == 0) {
			entry *expiry = dict_add(to->expires, key, NULL);
			expiry->v.number = 1700000000000 + i;
			note(expiry, to->id, "expiry", i);
		}
		dawdle(&to->seed);
	}
}

static void load_shapes(database *to)
{
	struct shape_group *group = shape_create(9, sizeof(*group));

	to->shapes = group;
	group->count = 90;
	group->members = zmalloc(90 * sizeof(*group->members));
	note(group, to->id, "shape_group", 0);
	note(group->members, to->id, "shape_members", 0);
	for (int i = 0; i < 90; i++) {
		if (i % 3 == 0) {
			struct circle *made = shape_create(1, sizeof(*made));
			made->radius = i;
			made->peer = i > 0 ? group->members[i - 1] : NULL;
			group->members[i] = &made->base;
		} else {
			struct square *made = shape_create(2, sizeof(*made));
			made->side = i;
			made->label = "side";
			group->members[i] = &made->base;
		}
		note(group->members[i], to->id, i % 3 == 0 ? "circle" : "square", i);
		dawdle(&to->seed);
	}
}

static void load_records(database *to)
{
	for (int i = 0; i < 120; i++) {
		struct record *made = any_create(sizeof(*made));

		made->thread = to->id;
		made->number = i;
		if (i % 4 == 1) {
			made->u.text = sds_format("record %d of %d", i, to->id);
			note(sds_block(made->u.text), to->id, "record_text", i);
		} else if (i % 4 == 2) {
			made->u.real = i * 0.25;
		} else {
			made->u.parent = to->records;
			to->records = made;
		}
		note(made, to->id, "record", i);
		pthread_mutex_lock(&server_lock);
		server.log->items[server.log->count++] = made;
		pthread_mutex_unlock(&server_lock);
	}
}

static void connect_one(database *to, int i)
{
	connection *made = zcalloc(1, sizeof(*made));

	made->descriptor = 100 + i;
	made->name = sds_format("connection %d/%d", to->id, i);
	made->query = sds_new_length("GET something", 13);
	made->argument_count = 1 + i % 6;
	made->arguments = zmalloc(made->argument_count * sizeof(*made->arguments));
	made->reply = zmalloc(sizeof(*made->reply) + 64);
	*made->reply = (struct reply){ 64, 3 };
	memcpy(made->reply->text, "+OK", 4);
	for (int j = 0; j < made->argument_count; j++) {
		made->arguments[j] = value_create_embedded("argument", 8);
		note(made->arguments[j], to->id, "argument", i * 10 + j);
	}

	struct ticket *ticket = any_create(sizeof(*ticket));
	struct quota *quota = any_create(sizeof(*quota));

	*ticket = (struct ticket){ i, made };
	*quota = (struct quota){ i * 100, "too many" };
	made->either[i % 2] = ticket;
	made->either[!(i % 2)] = quota;
	note(made, to->id, "connection", i);
	note(sds_block(made->name), to->id, "connection_name", i);
	note(sds_block(made->query), to->id, "query", i);
	note(made->arguments, to->id, "arguments", i);
	note(made->reply, to->id, "reply", i);
	note(ticket, to->id, "ticket", i);
	note(quota, to->id, "quota", i);

	sds key = sds_format("shared:%d:%d", to->id, i);

	note(sds_block(key), to->id, "shared_key", i);
	pthread_mutex_lock(&server_lock);
	made->next = server.connections;
	server.connections = made;
	note(dict_add(server.shared, key, made), to->id, "shared_entry", i);
	list_node *event = list_add(server.events, 24);
	note(event, to->id, "event", i);
	note(event->packed, to->id, "event_packed", i);
	pthread_mutex_unlock(&server_lock);
}

// Fifty sites that make fifty types.
#define SESSION(n) \
	struct session_##n { \
		struct session_##n *next; \
		long values[1 + (n) % 5]; \
		void *owner; \
	}; \
	static struct session_##n *sessions_##n[THREADS]; \
	static void load_sessions_##n(database *to) \
	{ \
		for (int i = 0; i < 12; i++) { \
			struct session_##n *made = zmalloc(sizeof(*made)); \
			*made = (struct session_##n){ sessions_##n[to->id], { i }, to }; \
			sessions_##n[to->id] = made; \
			note(made, to->id, "session_" #n, i); \
			dawdle(&to->seed); \
		} \
	}
#define TEN(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7) f(n##8) f(n##9)
#define FIFTY(f) TEN(f, 1) TEN(f, 2) TEN(f, 3) TEN(f, 4) TEN(f, 5)
FIFTY(SESSION)
#define LOADER(n) load_sessions_##n,
static void (*const load_sessions[])(database *) = { FIFTY(LOADER) };

static void load_all_sessions(database *to)
{
	int count = sizeof(load_sessions) / sizeof(load_sessions[0]);

	for (int i = 0; i < count; i++)
		load_sessions[(i + to->id * 6) % count](to);
}

static void load_connections(database *to)
{
	for (int i = 0; i < 40; i++) {
		connect_one(to, i);
		dawdle(&to->seed);
	}
}

// Blocks that come and go: they move all others.
static void churn(database *to)
{
	void *blocks[32];

	for (int i = 0; i < 32; i++) {
		dawdle(&to->seed);
		blocks[i] = zmalloc(1000 + (to->seed >> 16 & 7));
	}
	for (int i = 0; i < 32; i++)
		free(blocks[i]);
}

static void *load(void *argument)
{
	static void (*const parts[])(database *) = { load_keys, load_shapes, load_records,
						     load_all_sessions, load_connections };
	database *to = argument;

	pthread_barrier_wait(&start);
	for (int i = 0; i < 5; i++) {
		churn(to);
		parts[(i + to->id) % 5](to);
	}
	// All of them stay, so that their stacks and registers do not hold less in one run.
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&end);
	return NULL;
}

// Settings that a server reads when it starts, by one thread. It uses the wrappers as all others do later, so
// that they are known for what they are before threads come to them in whatever order.
#define SETTING(n) \
	struct setting_##n { \
		struct setting_##n *next; \
		char text[(n)*8]; \
	}; \
	static struct setting_##n *settings_##n; \
	NOINLINE static void load_setting_##n(int i) \
	{ \
		struct setting_##n *made = \
			i % 2 ? zcalloc(1, sizeof(*made)) : zmalloc(sizeof(*made)); \
\
		memset(made->text, 0, sizeof(made->text)); \
		made->next = settings_##n; \
		settings_##n = made; \
		note(made, 0, "setting_" #n, i); \
	}
#define EIGHT(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8)
EIGHT(SETTING)
#define LOAD_SETTING(n) load_setting_##n(i);

static void load_settings(void)
{
	for (int i = 0; i < 8; i++) {
		EIGHT(LOAD_SETTING)
	}
}

static void server_create(void)
{
	server.shared = dict_create(SHARED_SLOTS);
	server.events = list_create();
	server.log = zmalloc(sizeof(*server.log));
	*server.log = (struct vector){ 0, 120 * THREADS, zmalloc(120 * THREADS * sizeof(void *)) };
	note(server.shared, 0, "shared", 0);
	note(server.shared->table, 0, "shared_table", 0);
	note(server.events, 0, "events", 0);
	note(server.log, 0, "log", 0);
	note(server.log->items, 0, "log_items", 0);
}

static database *database_create(int id, unsigned seed)
{
	database *created = zcalloc(1, sizeof(*created));

	created->id = id;
	created->seed = seed * 2654435761u + (unsigned)id;
	created->keys = dict_create(512);
	created->expires = dict_create(128);
	note(created, id, "database", 0);
	note(created->keys, id, "keys", 0);
	note(created->expires, id, "expires", 0);
	note(created->keys->table, id, "keys_table", 0);
	note(created->expires->table, id, "expires_table", 0);
	return created;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	log_file = fopen("same.log", "w");
	if (!log_file)
		return 1;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	setvbuf(log_file, log_buffer, _IOFBF, sizeof(log_buffer));
	pthread_barrier_init(&start, NULL, THREADS);
	pthread_barrier_init(&end, NULL, THREADS + 1);
	load_settings();
	server_create();
	for (int i = 0; i < THREADS; i++)
		databases[i] = database_create(i, (unsigned)now.tv_nsec);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, load, databases[i]);
	pthread_barrier_wait(&end);
	fflush(log_file);
	puts("ready");
	fflush(stdout);
	getchar();
	pthread_barrier_wait(&end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}
