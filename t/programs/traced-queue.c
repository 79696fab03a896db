// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O1 -fno-builtin-malloc
/*
 * A queue of orders and a table of users, of which some are gone again, traced and captured:
 * 300 orders made in the first phase, of which every third is served; 50 users in the second;
 * 20 orders that nothing holds; 10 orders before the trace begins. Usage: traced-queue SNAPSHOT TRACE
 */
#include "dumper/heapsnap.h"

#include <stdlib.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct order {
	struct order *next;
	long amount;
	char note[80];
};

struct user {
	char name[200];
	long id;
};

struct queue {
	struct order *first;
};

struct queue queue;
struct user *users[50];

APART struct order *order_new(long amount)
{
	struct order *order = malloc(sizeof(*order));

	order->next = NULL;
	order->amount = amount;
	return order;
}

APART struct user *user_new(long id)
{
	struct user *user = malloc(sizeof(*user));

	user->id = id;
	return user;
}

APART void enqueue(long amount)
{
	struct order *order = order_new(amount);

	order->next = queue.first;
	queue.first = order;
}

static void serve_every_third(void)
{
	struct order **at = &queue.first;

	for (int i = 0; *at; i++) {
		struct order *order = *at;

		if (i % 3 == 0) {
			*at = order->next;
			free(order);
		} else {
			at = &order->next;
		}
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	for (int i = 0; i < 10; i++)
		enqueue(i);
	HEAPSNAP_CALL(heapsnap_set, "HEAPSNAP_TRACE", argv[2]);
	for (int i = 0; i < 300; i++)
		enqueue(i);
	serve_every_third();
	usleep(400000);
	for (int i = 0; i < 50; i++)
		users[i] = user_new(i);
	for (int i = 0; i < 20; i++)
		order_new(i)->next = NULL;
	HEAPSNAP_CALL(heapsnap_dump, argv[1]);
	HEAPSNAP_CALL(heapsnap_wait);
	while (queue.first) {
		struct order *order = queue.first;

		queue.first = order->next;
		free(order);
	}
	HEAPSNAP_CALL(heapsnap_set, "HEAPSNAP_TRACE", "");
	return 0;
}
