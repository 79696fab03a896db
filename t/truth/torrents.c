// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values of a file format, which are a union with a tag: the members have single letters for names, with which those of the
 * enumerators begin. Keys and texts are behind their length. But for the tag, nothing tells arrays of values from dictionaries.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	TORRENTS = 15,
	LONGEST = 2000
};

enum kind {
	VALUE_STRING,
	VALUE_INTEGER,
	VALUE_LIST,
	VALUE_DICTIONARY
};

struct value {
	enum kind kind;
	union {
		char *s;
		long long i;
		struct value **l;
		struct entry *d;
	} as;
};

struct entry {
	char *key;
	struct value *value;
};

struct torrent {
	struct torrent *next;
	struct value *meta;
	char *name;
	uint8_t hash[20];
};

static struct torrent *torrents;

static struct value *value_new(enum kind kind)
{
	struct value *value = NEW_ZEROED(struct value);

	value->kind = kind;
	return value;
}

static char *read_text(const char **at)
{
	long long length = strtoll(*at, (char **)at, 10), *raw;
	char *text;

	raw = malloc(sizeof(length) + (size_t)length + 1);
	truth_log(raw, TRUTH_BEHIND, "char", sizeof(length));
	*raw = length;
	text = (char *)(raw + 1);
	memcpy(text, *at + 1, (size_t)length);
	text[length] = '\0';
	*at += length + 1;
	return text;
}

static struct value *read_value(const char **at)
{
	struct value *value;
	unsigned count = 0;

	switch (**at) {
	case 'l':
		value = value_new(VALUE_LIST);
		for (++*at; **at != 'e'; count++) {
			value->as.l = RENEW_ARRAY(struct value *, value->as.l, count + 2);
			value->as.l[count] = read_value(at);
			value->as.l[count + 1] = NULL;
		}
		++*at;
		return value;
	case 'd':
		value = value_new(VALUE_DICTIONARY);
		for (++*at; **at != 'e'; count++) {
			value->as.d = RENEW_ARRAY(struct entry, value->as.d, count + 2);
			value->as.d[count].key = read_text(at);
			value->as.d[count].value = read_value(at);
			value->as.d[count + 1] = (struct entry){ NULL, NULL };
		}
		++*at;
		return value;
	case 'i':
		value = value_new(VALUE_INTEGER);
		++*at;
		value->as.i = strtoll(*at, (char **)at, 10);
		++*at;
		return value;
	default:
		value = value_new(VALUE_STRING);
		value->as.s = read_text(at);
		return value;
	}
}

static void add_torrent(int number)
{
	struct torrent *torrent = NEW_ZEROED(struct torrent);
	char text[LONGEST];
	const char *at = text;
	int length =
		snprintf(text, sizeof(text),
			 "d8:announce21:http://tracker%02d.test7:comment%d:%.*s4:infod5:filesl",
			 number, number % 9 + 1, number % 9 + 1, "abcdefghi");

	for (int i = 0; i < 3 + number % 4; i++)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "d6:lengthi%de4:pathl3:dir6:file%02dee", 1000 * i, i);
	snprintf(text + length, sizeof(text) - (size_t)length,
		 "e4:name5:thing12:piece lengthi256eee");
	torrent->meta = read_value(&at);
	torrent->name = TEXT(strdup("a torrent"));
	for (int i = 0; i < 20; i++)
		torrent->hash[i] = (uint8_t)(number * 37 + i * 11);
	torrent->next = torrents;
	torrents = torrent;
}

int main(void)
{
	for (int i = 0; i < TORRENTS; i++)
		add_torrent(i);
	truth_capture();
	printf("%s\n", torrents->name);
	return 0;
}
