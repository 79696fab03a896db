// SPDX-License-Identifier: GPL-3.0-or-later
// A server whose memory is wasted in ways that are known to the byte: texts that are there many
// times, a hash table and arrays with room to spare, requests that hold more than they need.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
	char *name;
	char *value;
	struct header *next;
};

struct configuration {
	char *host;
	int port;
};

struct request {
	char *path;
	struct header *headers;
	char *body;
	struct configuration *configuration;
	struct request *next;
};

struct record {
	int key;
	struct request *request;
};

struct table {
	struct record **buckets;
	size_t bucket_count;
	size_t count;
};

struct sample {
	double time;
	double value;
};

struct samples {
	struct sample *items;
	unsigned count;
	unsigned capacity;
};

enum {
	REQUESTS = 5,
	BUCKETS = 64,
	CAPACITY = 100,
	RECORDED = 10,
	BODY = 1000,
};

struct request *requests;
struct table *table;
struct samples *samples;
struct configuration *configuration;

static struct header *make_header(const char *name, const char *value, struct header *next)
{
	struct header *header = malloc(sizeof(*header));

	*header = (struct header){ strdup(name), strdup(value), next };
	return header;
}

static void make_request(int number)
{
	struct request *request = calloc(1, sizeof(*request));
	char path[32];

	snprintf(path, sizeof(path), "/item/%d", number);
	request->path = strdup(path);
	request->headers = make_header("Content-Type", "application/json",
				       make_header("Connection", "keep-alive", NULL));
	request->body = malloc(BODY);
	memset(request->body, 'a' + number, BODY - 1);
	request->body[BODY - 1] = '\0';
	request->configuration = configuration;
	request->next = requests;
	requests = request;
}

static void make_table(void)
{
	table = malloc(sizeof(*table));
	*table = (struct table){ calloc(BUCKETS, sizeof(*table->buckets)), BUCKETS, REQUESTS };
	for (struct request *request = requests; request; request = request->next) {
		struct record *record = malloc(sizeof(*record));
		size_t number = (size_t)atoi(request->path + strlen("/item/"));

		*record = (struct record){ (int)number, request };
		table->buckets[number * 7 % BUCKETS] = record;
	}
}

// Unused bytes are not zero either.
static void make_samples(void)
{
	samples = malloc(sizeof(*samples));
	*samples =
		(struct samples){ malloc(CAPACITY * sizeof(*samples->items)), RECORDED, CAPACITY };
	for (int i = 0; i < CAPACITY; i++)
		samples->items[i] = (struct sample){ i + 0.5, 1 };
}

int main(void)
{
	configuration = malloc(sizeof(*configuration));
	*configuration = (struct configuration){ strdup("localhost"), 80 };
	for (int i = 0; i < REQUESTS; i++)
		make_request(i);
	make_table();
	make_samples();
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	getchar();
	return 0;
}
