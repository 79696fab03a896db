// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A mail server that forgets: messages and parts of types that are alive elsewhere too, error
 * records and caches' keys of types that only ever leak, whole lists that nothing leads to.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct header {
	struct header *next;
	char *name, *value;
};

struct part {
	struct part *sibling, *child;
	char *content_type;
	unsigned char *body;
	size_t body_size;
	uint32_t flags;
};

struct message {
	struct message *next;
	struct header *headers;
	struct part *root;
	char from[32], to[32];
	uint64_t received;
};

struct mailbox {
	char *user;
	struct message *first, **last;
	unsigned count;
};

struct failure { // only ever leaks
	int code;
	uint32_t line;
	char *detail;
	void *context;
	double at;
};

struct probe { // only ever leaks, and nothing is in it
	uint16_t port, tries;
	float delays[5];
};

enum {
	BOXES = 40
};

static struct mailbox boxes[BOXES];
static unsigned failures;

static struct header *header_create(const char *name, const char *format, unsigned number)
{
	struct header *header = NEW(struct header);
	char value[64];

	snprintf(value, sizeof(value), format, number);
	header->next = NULL;
	header->name = TEXT(strdup(name));
	header->value = TEXT(strdup(value));
	return header;
}

static struct part *part_create(const char *type, size_t size)
{
	struct part *part = NEW_ZEROED(struct part);

	part->content_type = TEXT(strdup(type));
	part->body_size = size;
	part->body = (unsigned char *)NEW_TEXT(size);
	memset(part->body, 'x', size);
	return part;
}

static struct message *message_create(unsigned number)
{
	struct message *message = NEW_ZEROED(struct message);

	message->headers = header_create("Subject", "number %u", number);
	message->headers->next = header_create("Message-Id", "<%u@example.org>", number);
	message->root = part_create("multipart/mixed", 16);
	message->root->child = part_create("text/plain", 100 + number % 300);
	if (number % 4 == 0)
		message->root->child->sibling = part_create("image/png", 600);
	snprintf(message->from, sizeof(message->from), "user%u@example.org", number % 97);
	message->received = number;
	return message;
}

static void headers_free(struct header *header)
{
	while (header) {
		struct header *next = header->next;
		FREE(header->name);
		FREE(header->value);
		FREE(header);
		header = next;
	}
}

// The leak: parts are dropped with their message.
static void message_free(struct message *message)
{
	headers_free(message->headers);
	FREE(message);
}

static bool fail(int code, unsigned line, const char *detail)
{
	struct failure *failure = NEW(struct failure);

	failure->code = code;
	failure->line = line;
	failure->detail = TEXT(strdup(detail));
	failure->context = NULL;
	failure->at = line / 2.0;
	failures++;
	return false;
}

static bool is_reachable(uint16_t port)
{
	struct probe *probe = NEW_ZEROED(struct probe);

	probe->port = port;
	for (int i = 0; i < 5; i++)
		probe->delays[i] = (float)(port * i) / 7;
	return probe->delays[1] < 100;
}

static bool deliver(struct message *message, unsigned box)
{
	if (box >= BOXES) // and here the whole message
		return fail(550, box, "no such mailbox");
	if (!is_reachable((uint16_t)(25 + box)))
		return fail(451, box, "try later");
	*boxes[box].last = message;
	boxes[box].last = &message->next;
	boxes[box].count++;
	return true;
}

static void expire(struct mailbox *box)
{
	struct message *message = box->first;

	if (!message || !message->next)
		return;
	box->first = message->next;
	box->count--;
	message_free(message);
}

int main(void)
{
	char name[16];
	unsigned kept = 0;

	for (unsigned i = 0; i < BOXES; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		boxes[i].user = TEXT(strdup(name));
		boxes[i].last = &boxes[i].first;
	}
	for (unsigned i = 0; i < 1500; i++) {
		kept += deliver(message_create(i), i * 13 % (BOXES + 4));
		if (i % 3 == 0)
			expire(&boxes[i % BOXES]);
	}
	truth_capture();
	printf("%u kept, %u failures\n", kept, failures);
	return 0;
}
