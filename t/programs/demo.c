// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A small server, for the tour of README and heapsh-tutorial(7). It answers requests for
 * the popularity of a utility on a day: answers are cached (in a table that grows until it
 * has seen all utilities, which is no leak), and each request belongs to a session.
 *
 * A session that ends is taken off the list and freed, but for one path: when the client
 * hangs up in the middle of a request, the session stays on the list for ever.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	UTILITIES = 300,
	REQUESTS_PER_ROUND = 1000
};

struct date {
	uint16_t year;
	uint8_t month, day;
	uint32_t hits;
};

struct utility {
	struct utility *chain;
	char *name;
	struct date *month;
};

struct table {
	struct utility *slots[64];
	size_t used;
	const char *title;
};

enum state {
	CONNECTED,
	ASKING,
	ANSWERED,
	HUNG_UP
};

struct session {
	struct session *next, *previous;
	enum state state;
	int descriptor;
	char *peer;
	struct utility *asked;
};

static struct table *popular;
static struct session *sessions; // all that are open
static unsigned long served;

static char *copy(const char *text)
{
	char *result = malloc(strlen(text) + 1);

	return strcpy(result, text);
}

static struct utility *look_up(int number)
{
	char name[32];

	snprintf(name, sizeof(name), "utility-%03d", number);

	struct utility **slot = &popular->slots[number % 64];

	for (struct utility *utility = *slot; utility; utility = utility->chain) {
		if (strcmp(utility->name, name) == 0)
			return utility;
	}

	struct utility *utility = malloc(sizeof(*utility));

	utility->name = copy(name);
	utility->month = malloc(sizeof(*utility->month));
	*utility->month = (struct date){ .year = 2026, .month = 1 + number % 12, .day = 20 };
	utility->chain = *slot;
	*slot = utility;
	popular->used++;
	return utility;
}

static struct session *session_open(int descriptor)
{
	struct session *session = calloc(1, sizeof(*session));
	char peer[32];

	snprintf(peer, sizeof(peer), "10.0.%d.%d", descriptor / 256, descriptor % 256);
	session->peer = copy(peer);
	session->descriptor = descriptor;
	session->next = sessions;
	if (sessions)
		sessions->previous = session;
	sessions = session;
	return session;
}

static void session_close(struct session *session)
{
	if (session->previous)
		session->previous->next = session->next;
	else
		sessions = session->next;
	if (session->next)
		session->next->previous = session->previous;
	free(session->peer);
	free(session);
}

static void serve(int request)
{
	char answer[1024]; // which also keeps calls below it away from what main() calls later
	struct session *session = session_open(request % 65536);

	session->state = ASKING;
	session->asked = look_up(request % UTILITIES);
	session->asked->month->hits++;
	snprintf(answer, sizeof(answer), "%s\n", session->asked->name);
	if (request % 100 == 99) {
		// The client is gone, and the session is forgotten here.
		session->state = HUNG_UP;
		return;
	}
	session->state = ANSWERED;
	served++;
	session_close(session);
}

int main(void)
{
	// No buffers of stdio on the heap: what the tour shows is ours alone.
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	popular = calloc(1, sizeof(*popular));
	popular->title = "popular utilities";
	puts("ready");
	// A round for each line of input; the end of the input ends the server.
	for (int request = 0; getchar() != EOF;) {
		for (int i = 0; i < REQUESTS_PER_ROUND; i++)
			serve(request++);
		puts("served");
	}
	printf("%lu requests served\n", served);
	return 0;
}
