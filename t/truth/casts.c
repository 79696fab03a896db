// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What only code says of its void pointers: it loads them into variables, stores variables into them, hands them to
 * functions and gets them back, in containers that know nothing of what they hold.
 *
 * Two structs alike in size and content are in one list, so that nothing tells them apart.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

#ifdef __clang__
#define OUTLINE __attribute__((noinline))
#else
#define OUTLINE __attribute__((noipa))
#endif

// --- containers

struct node {
	void *data;
	struct node *next;
};

struct queue {
	struct node *first;
	size_t length;
};

struct entry { // the beginning of a key
	struct entry *next;
	void *data;
	uint32_t hash;
};

struct index {
	struct entry *slots[64];
};

static OUTLINE void queue_push(struct queue *queue, void *data)
{
	struct node *node = NEW(struct node);

	node->data = data;
	node->next = queue->first;
	queue->first = node;
	queue->length++;
}

// Through another function.
static OUTLINE void queue_push_twice(struct queue *queue, void *data, void *more)
{
	queue_push(queue, data);
	queue_push(queue, more);
}

static OUTLINE void *node_data(const struct node *node)
{
	return node->data;
}

static OUTLINE void index_add(struct index *index, struct entry *entry, uint32_t hash)
{
	struct entry **slot = &index->slots[hash % 64];

	entry->hash = hash;
	entry->next = *slot;
	*slot = entry;
}

// --- what is in them

struct job { // pushed by its own type
	uint64_t due;
	double cost;
	char name[40];
};

struct note { // pushed, and nothing else
	uint64_t number;
	char text[152];
};

struct result { // only read by its own type
	uint32_t status, tries;
	char *text;
	uint64_t bytes, parts[8];
};

struct event { // only ever destroyed by its own type
	long when;
	struct result *result;
	char source[96];
};

struct host_key { // an index of their own
	struct entry entry;
	char name[60];
};

struct host {
	uint64_t seen, lost;
	struct job *last;
	unsigned char address[128];
};

struct zone_key { // and another
	struct entry entry;
	char name[124];
};

struct zone { // in one block with its records
	uint64_t serial, *records;
	size_t count;
	struct host *primary;
};

struct width { // alike
	long value;
};

struct height {
	long value;
};

static struct queue jobs, notes, results, events, sizes;
static struct index hosts, zones;

static OUTLINE void job_push(unsigned number)
{
	struct job *job = NEW_ZEROED(struct job);

	job->due = number;
	job->cost = number * 0.25;
	snprintf(job->name, sizeof(job->name), "job %u", number);
	queue_push(&jobs, job);
}

static OUTLINE void note_push(unsigned number)
{
	struct note *note = NEW_ZEROED(struct note);

	note->number = number;
	snprintf(note->text, sizeof(note->text), "note %u", number);
	queue_push(&notes, note);
}

static OUTLINE void *result_make(unsigned number)
{
	struct result *result = NEW_ZEROED(struct result);

	result->status = number % 3;
	result->text = TEXT(strdup("a result"));
	result->bytes = number * 1000;
	return result;
}

static OUTLINE void *event_make(unsigned number, struct result *result)
{
	struct event *event = NEW_ZEROED(struct event);

	event->when = number;
	event->result = result;
	snprintf(event->source, sizeof(event->source), "source %u", number);
	return event;
}

static OUTLINE long event_destroy(void *data)
{
	struct event *event = data;
	long when = event->when;

	FREE(event);
	return when;
}

static OUTLINE long sum_results(const struct queue *queue)
{
	long sum = 0;

	for (const struct node *node = queue->first; node; node = node->next) {
		const struct result *result = node_data(node);

		sum += result->status + (long)result->bytes;
	}
	return sum;
}

static OUTLINE void host_add(unsigned number, struct job *last)
{
	struct host_key *key = NEW_ZEROED(struct host_key);
	struct host *host = NEW_ZEROED(struct host);

	snprintf(key->name, sizeof(key->name), "host %u", number);
	host->seen = number;
	host->last = last;
	key->entry.data = host;
	index_add(&hosts, &key->entry, number);
}

static OUTLINE struct host *host_find(uint32_t number)
{
	for (struct entry *entry = hosts.slots[number % 64]; entry; entry = entry->next) {
		struct host *host = entry->data;

		if (host->seen == number)
			return host;
	}
	return NULL;
}

static OUTLINE void zone_add(unsigned number)
{
	size_t count = 3 + number % 9;
	struct zone_key *key = NEW_ZEROED(struct zone_key);
	struct zone *zone = truth_log(calloc(1, sizeof(*zone) + count * sizeof(uint64_t)),
				      TRUTH_FLEXIBLE, "struct zone", 1);

	snprintf(key->name, sizeof(key->name), "zone %u", number);
	zone->serial = number;
	zone->records = (uint64_t *)(zone + 1);
	zone->count = count;
	zone->primary = host_find(number % 300);
	for (size_t i = 0; i < count; i++)
		zone->records[i] = 1 + i + number;
	key->entry.data = zone;
	index_add(&zones, &key->entry, number);
}

static OUTLINE void size_push(long value)
{
	struct width *width = NEW(struct width);
	struct height *height = NEW(struct height);

	width->value = value;
	height->value = value * 2;
	queue_push_twice(&sizes, width, height);
}

int main(void)
{
	long sum = 0;

	for (unsigned i = 0; i < 400; i++) {
		void *result = result_make(i);

		job_push(i);
		note_push(i);
		queue_push(&results, result);
		queue_push(&events, event_make(i, result));
		host_add(i, jobs.first->data);
		size_push((long)i);
	}
	for (unsigned i = 0; i < 200; i++)
		zone_add(i);
	for (int i = 0; i < 10; i++) {
		struct node *node = events.first;

		events.first = node->next;
		sum += event_destroy(node->data);
		FREE(node);
	}
	sum += sum_results(&results);
	truth_capture();
	printf("%ld\n", sum);
	return 0;
}
