// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Structures with more members than a screen has lines, and blocks of bytes: for show.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	POINTERS = 300
};

#define TEN(name) \
	int name##0, name##1, name##2, name##3, name##4, name##5, name##6, name##7, name##8, name##9

struct inner {
	TEN(a);
	TEN(b);
	TEN(c);
};

struct small {
	int x, y;
};

struct server {
	int port;
	struct inner first;
	struct small point;
	struct inner rest[40];
	const char *name;
	int last;
};

struct many {
	TEN(a);
	TEN(b);
	TEN(c);
	TEN(d);
	TEN(e);
	TEN(f);
	TEN(g);
	TEN(h);
	TEN(i);
	TEN(j);
};

static struct server *server;
static struct many *many;
static unsigned char *image;
static char *text;
static void *table; // of pointers, though nothing says so

int main(void)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	server = calloc(1, sizeof(*server));
	server->port = 8080;
	server->name = "main";
	server->last = 7;
	server->rest[0].c9 = 99;
	many = calloc(1, sizeof(*many));
	many->j9 = 1234;
	table = calloc(POINTERS, sizeof(many));
	for (int i = 0; i < POINTERS; i++)
		memcpy((char *)table + (size_t)i * sizeof(many), &many, sizeof(many));
	image = malloc(1000);
	for (int i = 0; i < 1000; i++)
		image[i] = (unsigned char)(i * 7 + 128);
	text = calloc(1, 1000);
	memset(text, 'x', 999);
	puts("ready");
	getchar();
	return 0;
}
