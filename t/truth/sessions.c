// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A connection table in the way of kernels: intrusive rings, reached by container_of from a
 * hash table, a list by recent use, and each session's queues of packets.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_for_each_entry(at, head, member) \
	for (at = list_entry((head)->next, __typeof__(*at), member); &at->member != (head); \
	     at = list_entry(at->member.next, __typeof__(*at), member))

static inline void list_init(struct list_head *list)
{
	list->next = list->prev = list;
}

static inline void list_add_tail(struct list_head *added, struct list_head *head)
{
	added->prev = head->prev;
	added->next = head;
	head->prev->next = added;
	head->prev = added;
}

static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	list_init(entry);
}

static inline void hlist_add_head(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	if (head->first)
		head->first->pprev = &node->next;
	head->first = node;
	node->pprev = &head->first;
}

enum state {
	SYN_SENT,
	ESTABLISHED,
	CLOSE_WAIT
};

struct packet {
	struct list_head queue;
	uint32_t sequence;
	uint16_t length;
	uint16_t flags;
	unsigned char *payload;
};

struct timer {
	struct list_head wheel;
	uint64_t expires;
	void (*fire)(struct timer *timer);
};

struct session {
	uint32_t address;
	uint16_t port;
	uint8_t state;
	struct hlist_node hash;
	struct list_head recent;
	struct list_head unacknowledged;
	struct list_head received;
	struct timer *timer;
	uint64_t bytes_in, bytes_out;
};

struct table {
	unsigned buckets;
	unsigned count;
	struct hlist_head *heads;
	struct list_head recent;
};

struct listener {
	struct list_head all;
	uint16_t port;
	char name[14];
	struct table *table;
};

#define SLOTS_OF_WHEEL 64

static struct list_head wheel[SLOTS_OF_WHEEL];
static struct list_head listeners = { &listeners, &listeners };

static uint32_t hash_of(uint32_t address, uint16_t port)
{
	return (address ^ (uint32_t)port << 16) * 2654435761u;
}

static void session_expire(struct timer *timer)
{
	list_del(&timer->wheel);
}

static struct timer *timer_start(uint64_t expires)
{
	struct timer *timer = NEW(struct timer);

	timer->expires = expires;
	timer->fire = session_expire;
	list_add_tail(&timer->wheel, &wheel[expires % SLOTS_OF_WHEEL]);
	return timer;
}

static void queue_packet(struct list_head *queue, uint32_t sequence, size_t length)
{
	struct packet *packet = NEW(struct packet);

	packet->sequence = sequence;
	packet->length = (uint16_t)length;
	packet->flags = 0x18;
	packet->payload = (unsigned char *)NEW_TEXT(length);
	memset(packet->payload, (int)(sequence & 0xff), length);
	list_add_tail(&packet->queue, queue);
}

static void packet_free(struct packet *packet)
{
	list_del(&packet->queue);
	FREE(packet->payload);
	FREE(packet);
}

static struct table *table_create(unsigned buckets)
{
	struct table *table = NEW(struct table);

	table->buckets = buckets;
	table->count = 0;
	table->heads = NEW_ZEROED_ARRAY(struct hlist_head, buckets);
	list_init(&table->recent);
	return table;
}

static struct session *session_open(struct table *table, uint32_t address, uint16_t port)
{
	struct session *session = NEW_ZEROED(struct session);

	session->address = address;
	session->port = port;
	session->state = ESTABLISHED;
	list_init(&session->unacknowledged);
	list_init(&session->received);
	hlist_add_head(&session->hash, &table->heads[hash_of(address, port) % table->buckets]);
	list_add_tail(&session->recent, &table->recent);
	table->count++;
	return session;
}

static struct session *session_find(struct table *table, uint32_t address, uint16_t port)
{
	struct hlist_node *node = table->heads[hash_of(address, port) % table->buckets].first;

	for (; node; node = node->next) {
		struct session *session = container_of(node, struct session, hash);
		if (session->address == address && session->port == port)
			return session;
	}
	return NULL;
}

static void acknowledge(struct session *session, uint32_t sequence)
{
	while (session->unacknowledged.next != &session->unacknowledged) {
		struct packet *first =
			list_entry(session->unacknowledged.next, struct packet, queue);
		if (first->sequence > sequence)
			return;
		packet_free(first);
	}
}

static void serve(struct table *table, unsigned requests)
{
	for (unsigned i = 0; i < requests; i++) {
		uint32_t address = 0x0a000000 + i * 7919 % 900;
		struct session *session = session_find(table, address, 443);

		if (!session)
			session = session_open(table, address, 443);
		list_del(&session->recent);
		list_add_tail(&session->recent, &table->recent);
		queue_packet(i % 3 ? &session->unacknowledged : &session->received, i,
			     40 + i % 5 * 24);
		session->bytes_out += 100;
		if (i % 4 == 0)
			acknowledge(session, i - 1);
		if (!session->timer && i % 2)
			session->timer = timer_start(i + 30);
	}
}

static void listen_on(uint16_t port, unsigned buckets)
{
	struct listener *listener = NEW(struct listener);

	listener->port = port;
	snprintf(listener->name, sizeof(listener->name), "port %u", port);
	listener->table = table_create(buckets);
	list_add_tail(&listener->all, &listeners);
}

int main(void)
{
	struct listener *listener;

	for (size_t i = 0; i < SLOTS_OF_WHEEL; i++)
		list_init(&wheel[i]);
	listen_on(443, 256);
	listen_on(8080, 64);
	listen_on(8443, 64);
	list_for_each_entry(listener, &listeners, all)
		serve(listener->table, listener->port == 443 ? 4000 : 700);
	truth_capture();
	return 0;
}
