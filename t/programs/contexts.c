// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Requests with a callback and a context for it, a void pointer to one of three structs of one size. Another
 * struct of that size has void pointers, with which any pointers agree.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REQUESTS = 120,
};

struct request {
	struct request *next;
	void (*done)(void *context, int status);
	void *context;
};

struct login {
	char *user;
	double since;
	char *password;
	long tries;
};

struct upload {
	size_t got;
	double since;
	FILE *file; // not open yet
	char *chunk;
};

struct query {
	char *text;
	double since;
	long rows;
	int *columns;
};

struct event {
	void *source;
	double time;
	void *sink, *data;
};

static struct request *requests;
static struct event *last;

static void end_login(void *context, int status)
{
	((struct login *)context)->since += status;
}

static void end_upload(void *context, int status)
{
	((struct upload *)context)->since += status;
}

static void end_query(void *context, int status)
{
	((struct query *)context)->since += status;
}

static void add(void (*done)(void *, int), void *context)
{
	struct request *request = calloc(1, sizeof(*request));

	request->next = requests;
	request->done = done;
	request->context = context;
	requests = request;
}

static void add_login(void)
{
	struct login *login = calloc(1, sizeof(*login));

	login->user = strdup("user");
	login->since = 2.5;
	login->password = strdup("secret");
	add(end_login, login);
}

static void add_upload(void)
{
	struct upload *upload = calloc(1, sizeof(*upload));

	upload->got = 3000;
	upload->since = 0.5;
	upload->chunk = strdup("the first chunk");
	add(end_upload, upload);
}

static void add_query(void)
{
	struct query *query = calloc(1, sizeof(*query));

	query->text = strdup("select 1");
	query->since = 1.5;
	query->rows = 7;
	query->columns = calloc(4, sizeof(*query->columns));
	add(end_query, query);
}

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0); // no block of libc's
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < REQUESTS; i++) {
		if (i % 3 == 0)
			add_login();
		else if (i % 3 == 1)
			add_upload();
		else
			add_query();
	}
	last = calloc(1, sizeof(*last));
	puts("ready");
	while (getchar() != EOF)
		;
	requests->done(requests->context, 1);
	return requests == last->data;
}
