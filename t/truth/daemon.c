// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A network daemon: intrusive lists and a heap of timers, sessions with a state per protocol behind a void pointer,
 * callbacks with arguments, buffers in chains, routes in a trie, and settings as a hash of tagged values.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <netinet/in.h>

struct list_head {
	struct list_head *next, *prev;
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

typedef void timer_fn(void *argument);

struct timer {
	uint64_t when;
	timer_fn *fire;
	void *argument;
	int slot;
};

struct timers {
	struct timer **heap;
	int count, capacity;
};

struct buf {
	struct list_head link;
	uint32_t start, end, size;
	unsigned char data[];
};

enum protocol {
	PROTO_HTTP,
	PROTO_DNS,
	PROTO_MAIL
};

struct session;

struct protocol_ops {
	const char *name;
	void *(*open)(struct session *);
	void (*readable)(struct session *);
	void (*close)(struct session *);
};

struct session {
	struct list_head link, idle;
	int fd;
	enum protocol protocol;
	struct sockaddr_in peer;
	const struct protocol_ops *ops;
	void *state;
	struct list_head input, output;
	struct timer timeout;
	struct rate *rate;
	uint64_t bytes_in, bytes_out;
};

struct header {
	struct header *next;
	char *name, *value;
};

struct http_state {
	char *method, *path;
	struct header *headers;
	size_t body_expected;
	unsigned status;
	bool keep_alive;
};

struct question {
	struct question *next;
	uint16_t type, class;
	char name[];
};

struct dns_state {
	uint16_t id, flags;
	struct question *questions;
	uint8_t (*answers)[16];
	unsigned answer_count;
};

struct mail_state {
	char *from;
	char **to;
	unsigned to_count, to_capacity;
	struct list_head body;
	struct retry *retry;
};

struct retry {
	struct timer timer;
	struct session *session;
	unsigned attempts;
	char reason[40];
};

struct rate {
	struct rate *chain;
	struct in_addr address;
	double tokens;
	uint64_t refilled;
	unsigned sessions;
};

struct route {
	struct route *child[2];
	struct next_hop *hop;
};

struct next_hop {
	struct in_addr gateway;
	char interface[16];
	unsigned metric, references;
};

enum setting_kind {
	SETTING_NUMBER,
	SETTING_TEXT,
	SETTING_LIST
};

struct setting {
	struct setting *chain;
	char *name;
	enum setting_kind kind;
	union {
		long number;
		char *text;
		struct setting_list *list;
	} u;
};

struct setting_list {
	unsigned count;
	char *items[];
};

struct task {
	struct task *next;
	void (*run)(void *);
	void *data;
};

struct stats_flush {
	uint64_t since;
	unsigned counters[12];
	char *target;
};

struct log_line {
	char *text;
	unsigned level;
	time_t when;
};

static struct daemon {
	struct list_head sessions, idle;
	struct timers timers;
	struct rate *rates[64];
	struct route *routes;
	struct setting *settings[32];
	struct task *tasks;
	struct log_line *log;
	unsigned log_next;
	uint64_t now;
} server;

static void list_init(struct list_head *list)
{
	list->next = list->prev = list;
}

static void list_append(struct list_head *list, struct list_head *link)
{
	link->prev = list->prev;
	link->next = list;
	list->prev->next = link;
	list->prev = link;
}

static void timer_add(struct timer *timer, uint64_t when, timer_fn *fire, void *argument)
{
	struct timers *timers = &server.timers;
	int i;

	if (timers->count == timers->capacity) {
		timers->capacity = timers->capacity * 2 + 16;
		timers->heap = RENEW_ARRAY(struct timer *, timers->heap, timers->capacity);
	}
	*timer = (struct timer){ when, fire, argument, timers->count };
	for (i = timers->count++; i && timers->heap[(i - 1) / 2]->when > when; i = (i - 1) / 2) {
		timers->heap[i] = timers->heap[(i - 1) / 2];
		timers->heap[i]->slot = i;
	}
	timers->heap[i] = timer;
	timer->slot = i;
}

static void expire(void *argument)
{
	struct session *session = argument;

	session->ops->close(session);
}

static void retry_fire(void *argument)
{
	struct retry *retry = argument;

	retry->attempts++;
	retry->session->ops->readable(retry->session);
}

static struct buf *buf_new(struct list_head *list, size_t size)
{
	struct buf *buf = NEW_FLEXIBLE(struct buf, sizeof(*buf) + size);

	buf->start = 0;
	buf->size = (uint32_t)size;
	buf->end = (uint32_t)(next() % size);
	for (uint32_t i = 0; i < buf->end; i++)
		buf->data[i] = (unsigned char)(next() % 7 ? 'a' + next() % 26 : next());
	list_append(list, &buf->link);
	return buf;
}

static char *format(const char *pattern, unsigned a, unsigned b)
{
	char line[96];

	snprintf(line, sizeof(line), pattern, a, b);
	return TEXT(strdup(line));
}

static void *http_open(struct session *session)
{
	static const char *const names[] = { "Host", "User-Agent", "Accept", "Cookie" };
	struct http_state *state = NEW_ZEROED(struct http_state);

	state->method = TEXT(strdup(session->fd % 5 ? "GET" : "POST"));
	state->path = format("/articles/%u/comments?page=%u", (unsigned)session->fd, next() % 9);
	for (unsigned i = 0; i < 1 + next() % 4; i++) {
		struct header *header = NEW(struct header);

		*header = (struct header){ state->headers, TEXT(strdup(names[i])),
					   format("value-%u-of-%u", i, next() % 100000) };
		state->headers = header;
	}
	state->status = 200;
	return state;
}

static void http_readable(struct session *session)
{
	struct http_state *state = session->state;

	state->body_expected += session->bytes_in;
}

static void http_close(struct session *session)
{
	struct http_state *state = session->state;

	FREE(state->path);
	FREE(state);
}

static void *dns_open(struct session *session)
{
	struct dns_state *state = NEW_ZEROED(struct dns_state);

	state->id = (uint16_t)next();
	for (unsigned i = 0; i < 1 + next() % 3; i++) {
		char name[64];
		int length = snprintf(name, sizeof(name), "host-%u.example.org",
				      (unsigned)next() % 99999);
		struct question *question =
			NEW_FLEXIBLE(struct question, sizeof(*question) + length + 1);

		question->next = state->questions;
		question->type = 1;
		question->class = 1;
		memcpy(question->name, name, length + 1);
		state->questions = question;
	}
	state->answer_count = 1 + session->fd % 4;
	state->answers = (uint8_t(*)[16])truth_log(malloc(state->answer_count * 16), TRUTH_ARRAY,
						   "uint8_t", state->answer_count * 16);
	for (unsigned i = 0; i < state->answer_count * 16; i++)
		((uint8_t *)state->answers)[i] = (uint8_t)next();
	return state;
}

static void dns_readable(struct session *session)
{
	struct dns_state *state = session->state;

	state->flags |= 0x8000;
}

static void dns_close(struct session *session)
{
	struct dns_state *state = session->state;

	FREE(state->answers);
	FREE(state);
}

static void *mail_open(struct session *session)
{
	struct mail_state *state = NEW_ZEROED(struct mail_state);

	list_init(&state->body);
	state->from = format("user%u@mail%u.example.net", next() % 1000, next() % 10);
	for (unsigned i = 0; i < 1 + next() % 5; i++) {
		if (state->to_count == state->to_capacity) {
			state->to_capacity = state->to_capacity * 2 + 2;
			state->to = RENEW_ARRAY(char *, state->to, state->to_capacity);
		}
		state->to[state->to_count++] =
			format("someone%u@host%u.example", next() % 1000, next() % 10);
	}
	for (unsigned i = 0; i < next() % 4; i++)
		buf_new(&state->body, 256);
	if (next() % 3 == 0) {
		state->retry = NEW_ZEROED(struct retry);
		state->retry->session = session;
		snprintf(state->retry->reason, sizeof(state->retry->reason), "450 try again later");
		timer_add(&state->retry->timer, server.now + next() % 600, retry_fire,
			  state->retry);
	}
	return state;
}

static void mail_readable(struct session *session)
{
	struct mail_state *state = session->state;

	if (state->retry)
		state->retry->attempts = 0;
}

static void mail_close(struct session *session)
{
	struct mail_state *state = session->state;

	FREE(state->from);
	FREE(state);
}

static const struct protocol_ops protocols[] = {
	[PROTO_HTTP] = { "http", http_open, http_readable, http_close },
	[PROTO_DNS] = { "dns", dns_open, dns_readable, dns_close },
	[PROTO_MAIL] = { "mail", mail_open, mail_readable, mail_close },
};

static struct rate *rate_of(struct in_addr address)
{
	struct rate **slot = &server.rates[address.s_addr % 64], *rate;

	for (rate = *slot; rate; rate = rate->chain) {
		if (rate->address.s_addr == address.s_addr)
			return rate;
	}
	rate = NEW(struct rate);
	*rate = (struct rate){ *slot, address, 10.0, server.now, 0 };
	return *slot = rate;
}

static void accept_session(int fd)
{
	struct session *session = NEW_ZEROED(struct session);

	session->fd = fd;
	session->protocol = (enum protocol)(next() % 3);
	session->ops = &protocols[session->protocol];
	session->peer.sin_family = AF_INET;
	session->peer.sin_addr.s_addr = 0x0a000000u | (uint32_t)(next() % 300);
	session->rate = rate_of(session->peer.sin_addr);
	session->rate->sessions++;
	list_init(&session->input);
	list_init(&session->output);
	list_init(&session->idle);
	for (unsigned i = 0; i < next() % 3; i++)
		buf_new(&session->input, 512);
	if (next() % 2)
		buf_new(&session->output, 1024);
	else
		list_append(&server.idle, &session->idle);
	list_append(&server.sessions, &session->link);
	timer_add(&session->timeout, server.now + 30 + next() % 60, expire, session);
	session->state = session->ops->open(session);
}

static void route_add(uint32_t address, unsigned bits, struct next_hop *hop)
{
	struct route **slot = &server.routes;

	for (unsigned i = 0;; i++) {
		if (!*slot)
			*slot = NEW_ZEROED(struct route);
		if (i == bits)
			break;
		slot = &(*slot)->child[address >> (31 - i) & 1];
	}
	(*slot)->hop = hop;
	hop->references++;
}

static void set(const char *name, enum setting_kind kind, unsigned number)
{
	struct setting *setting = NEW_ZEROED(struct setting);
	unsigned hash = 0;

	for (const char *c = name; *c; c++)
		hash = hash * 31 + (unsigned char)*c;
	setting->name = format("%.0u", 0, 0);
	FREE(setting->name);
	setting->name = TEXT(strdup(name));
	setting->kind = kind;
	if (kind == SETTING_NUMBER)
		setting->u.number = number;
	else if (kind == SETTING_TEXT)
		setting->u.text = format("/etc/daemon/%u-%u.conf", number, 1);
	else {
		struct setting_list *list = NEW_FLEXIBLE(
			struct setting_list, sizeof(*list) + (1 + number % 4) * sizeof(char *));

		list->count = 1 + number % 4;
		for (unsigned i = 0; i < list->count; i++)
			list->items[i] = format("item %u of %u", i, number);
		setting->u.list = list;
	}
	setting->chain = server.settings[hash % 32];
	server.settings[hash % 32] = setting;
}

static void flush_stats(void *data)
{
	struct stats_flush *flush = data;

	flush->since = server.now;
}

static void write_log_line(void *data)
{
	struct log_line *line = data;

	puts(line->text);
}

static void add_task(void (*run)(void *), void *data)
{
	struct task *task = NEW(struct task);

	*task = (struct task){ server.tasks, run, data };
	server.tasks = task;
}

static void schedule(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (i % 3) {
			struct log_line *line = NEW(struct log_line);

			*line = (struct log_line){ format("session %u closed after %u s", i,
							  i % 50),
						   i % 5, 1700000000 + i };
			add_task(write_log_line, line);
		} else {
			struct stats_flush *flush = NEW_ZEROED(struct stats_flush);

			flush->target = format("udp://stats-%u:%u", i % 3, 8125);
			add_task(flush_stats, flush);
		}
	}
}

int main(void)
{
	char name[32];

	list_init(&server.sessions);
	list_init(&server.idle);
	server.now = 1000;
	server.log = NEW_ZEROED_ARRAY(struct log_line, 64);
	for (unsigned i = 0; i < 64; i++)
		server.log[i] =
			(struct log_line){ format("started %u of %u", i, 64), 1, 1700000000 };
	for (unsigned i = 0; i < 40; i++) {
		struct next_hop *hop = NEW_ZEROED(struct next_hop);

		snprintf(hop->interface, sizeof(hop->interface), "eth%u", i % 4);
		for (unsigned j = 0; j < 10; j++)
			route_add((uint32_t)next(), 8 + next() % 17, hop);
	}
	for (unsigned i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "option.%u", i);
		set(name, (enum setting_kind)(i % 3), i);
	}
	for (int fd = 5; fd < 1505; fd++)
		accept_session(fd);
	schedule(300);
	truth_capture();
	return server.timers.count == 0;
}
