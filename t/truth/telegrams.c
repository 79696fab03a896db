// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Messages as a compiler of schemas makes them: each begins with its descriptor, whose table of fields tells at which offset a member
 * lies and of what kind it is. One function unpacks them all, through void pointers; the program casts what it returns.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum label {
	REQUIRED,
	OPTIONAL,
	REPEATED
};
enum field_type {
	FIELD_INT32,
	FIELD_UINT64,
	FIELD_DOUBLE,
	FIELD_BOOL,
	FIELD_STRING,
	FIELD_BYTES,
	FIELD_MESSAGE
};

struct message_descriptor;
struct message;

struct field_descriptor {
	const char *name;
	uint32_t id;
	enum label label;
	enum field_type type;
	unsigned quantifier_offset, offset;
	const void *descriptor;
	const void *default_value;
};

struct message_descriptor {
	uint32_t magic;
	const char *name, *c_name;
	size_t sizeof_message;
	unsigned n_fields;
	const struct field_descriptor *fields;
	void (*message_init)(struct message *);
};

struct unknown_field {
	uint32_t tag;
	size_t len;
	uint8_t *data;
};

struct message {
	const struct message_descriptor *descriptor;
	unsigned n_unknown_fields;
	struct unknown_field *unknown_fields;
};

struct binary_data {
	size_t len;
	uint8_t *data;
};

typedef struct message Message;
typedef struct header Header;
typedef struct point Point;
typedef struct track Track;
typedef struct station Station;
typedef struct telegram Telegram;
typedef struct alert Alert;

struct header {
	Message base;
	uint64_t stamp;
	char *sender;
	bool has_hops;
	int32_t hops;
};

struct point {
	Message base;
	double latitude, longitude;
};

struct track {
	Message base;
	size_t n_points;
	Point **points;
	char *label;
};

struct station {
	Message base;
	char *name;
	Point *where;
	size_t n_lines;
	char **lines;
	size_t n_codes;
	int32_t *codes;
};

struct alert {
	Message base;
	int32_t severity;
	char *text;
	struct binary_data signature;
};

struct telegram {
	Message base;
	Header *header;
	size_t n_tracks;
	Track **tracks;
	Station *station;
	Alert *alert;
};

static void init_message(struct message *message);

#define DESCRIPTOR(lower, Type, ...) \
	static const struct field_descriptor lower##_fields[] = { __VA_ARGS__ }; \
	static void lower##_init(Type *it) \
	{ \
		init_message(&it->base); \
	} \
	static const struct message_descriptor lower##_descriptor = { \
		0x28aaeef9, \
		#lower, \
		#Type, \
		sizeof(Type), \
		sizeof(lower##_fields) / sizeof(lower##_fields[0]), \
		lower##_fields, \
		(void (*)(struct message *))lower##_init \
	};
#define F(T, member, label, type, quantifier, descriptor) \
	{ \
#member, 1, label, type, quantifier, offsetof(T, member), descriptor, NULL \
	}

DESCRIPTOR(header, Header, F(Header, stamp, REQUIRED, FIELD_UINT64, 0, NULL),
	   F(Header, sender, REQUIRED, FIELD_STRING, 0, NULL),
	   F(Header, hops, OPTIONAL, FIELD_INT32, offsetof(Header, has_hops), NULL))
DESCRIPTOR(point, Point, F(Point, latitude, REQUIRED, FIELD_DOUBLE, 0, NULL),
	   F(Point, longitude, REQUIRED, FIELD_DOUBLE, 0, NULL))
DESCRIPTOR(track, Track,
	   F(Track, points, REPEATED, FIELD_MESSAGE, offsetof(Track, n_points), &point_descriptor),
	   F(Track, label, OPTIONAL, FIELD_STRING, 0, NULL))
DESCRIPTOR(station, Station, F(Station, name, REQUIRED, FIELD_STRING, 0, NULL),
	   F(Station, where, OPTIONAL, FIELD_MESSAGE, 0, &point_descriptor),
	   F(Station, lines, REPEATED, FIELD_STRING, offsetof(Station, n_lines), NULL),
	   F(Station, codes, REPEATED, FIELD_INT32, offsetof(Station, n_codes), NULL))
DESCRIPTOR(alert, Alert, F(Alert, severity, REQUIRED, FIELD_INT32, 0, NULL),
	   F(Alert, text, REQUIRED, FIELD_STRING, 0, NULL),
	   F(Alert, signature, OPTIONAL, FIELD_BYTES, 0, NULL))
DESCRIPTOR(telegram, Telegram, F(Telegram, header, REQUIRED, FIELD_MESSAGE, 0, &header_descriptor),
	   F(Telegram, tracks, REPEATED, FIELD_MESSAGE, offsetof(Telegram, n_tracks),
	     &track_descriptor),
	   F(Telegram, station, OPTIONAL, FIELD_MESSAGE, 0, &station_descriptor),
	   F(Telegram, alert, OPTIONAL, FIELD_MESSAGE, 0, &alert_descriptor))

struct allocator {
	void *(*alloc)(void *data, size_t size);
	void (*free)(void *data, void *block);
	void *data;
};

static void *system_alloc(void *data, size_t size)
{
	(void)data;
	return malloc(size);
}

static struct allocator system_allocator = { system_alloc, NULL, NULL };

static void init_message(struct message *message)
{
	message->n_unknown_fields = 0;
	message->unknown_fields = NULL;
}

static char *random_string(struct allocator *allocator)
{
	size_t length = 3 + next() % 40;
	char *text = truth_log(allocator->alloc(allocator->data, length + 1), TRUTH_TEXT, "char",
			       length + 1);

	for (size_t i = 0; i < length; i++)
		text[i] = (char)('a' + next() % 26);
	text[length] = '\0';
	return text;
}

static struct message *unpack(const struct message_descriptor *descriptor,
			      struct allocator *allocator);

static void unpack_value(const struct field_descriptor *field, void *member,
			 struct allocator *allocator)
{
	switch (field->type) {
	case FIELD_INT32:
		*(int32_t *)member = (int32_t)(next() % 2000) - 1000;
		break;
	case FIELD_UINT64:
		*(uint64_t *)member = next();
		break;
	case FIELD_DOUBLE:
		*(double *)member = (double)(next() % 180000) / 1000.0;
		break;
	case FIELD_BOOL:
		*(bool *)member = next() & 1;
		break;
	case FIELD_STRING:
		*(char **)member = random_string(allocator);
		break;
	case FIELD_BYTES: {
		struct binary_data *bytes = member;

		bytes->len = 8 + next() % 56;
		bytes->data = truth_log(allocator->alloc(allocator->data, bytes->len), TRUTH_ARRAY,
					"unsigned char", bytes->len);
		for (size_t i = 0; i < bytes->len; i++)
			bytes->data[i] = (uint8_t)next();
		break;
	}
	case FIELD_MESSAGE:
		*(struct message **)member = unpack(field->descriptor, allocator);
		break;
	}
}

static const char *array_type(const struct field_descriptor *field)
{
	static char names[4][32];
	static unsigned used;
	char *name;

	if (field->type == FIELD_STRING)
		return "char *";
	if (field->type == FIELD_INT32)
		return "int";
	for (unsigned i = 0; i < used; i++) {
		if (!strncmp(names[i],
			     ((const struct message_descriptor *)field->descriptor)->c_name, 5))
			return names[i];
	}
	name = names[used++];
	snprintf(name, 32, "%s *", ((const struct message_descriptor *)field->descriptor)->c_name);
	return name;
}

static const char *struct_type(const struct message_descriptor *descriptor)
{
	static char names[8][32];
	static const struct message_descriptor *of[8];
	unsigned i = 0;

	while (of[i] && of[i] != descriptor)
		i++;
	of[i] = descriptor;
	snprintf(names[i], 32, "struct %s", descriptor->name);
	return names[i];
}

static struct message *unpack(const struct message_descriptor *descriptor,
			      struct allocator *allocator)
{
	struct message *message =
		truth_log(allocator->alloc(allocator->data, descriptor->sizeof_message),
			  TRUTH_ARRAY, struct_type(descriptor), 1);

	memset(message, 0, descriptor->sizeof_message);
	message->descriptor = descriptor;
	descriptor->message_init(message);
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const struct field_descriptor *field = &descriptor->fields[i];
		char *member = (char *)message + field->offset;

		if (field->label == REPEATED) {
			static const size_t sizes[] = { 4, 8, 8, 1, 8, 16, 8 };
			size_t count = next() % 6;
			char *array;

			if (!count)
				continue;
			*(size_t *)((char *)message + field->quantifier_offset) = count;
			array = truth_log(
				allocator->alloc(allocator->data, count * sizes[field->type]),
				TRUTH_ARRAY, array_type(field), count);
			*(void **)member = array;
			for (size_t j = 0; j < count; j++)
				unpack_value(field, array + j * sizes[field->type], allocator);
		} else if (field->label == REQUIRED || next() % 3) {
			if (field->quantifier_offset)
				*(bool *)((char *)message + field->quantifier_offset) = true;
			unpack_value(field, member, allocator);
		}
	}
	if (next() % 10 == 0) {
		message->n_unknown_fields = 1;
		message->unknown_fields =
			truth_log(allocator->alloc(allocator->data, sizeof(struct unknown_field)),
				  TRUTH_ARRAY, "struct unknown_field", 1);
		message->unknown_fields->tag = 99;
		message->unknown_fields->len = 24;
		message->unknown_fields->data = truth_log(allocator->alloc(allocator->data, 24),
							  TRUTH_ARRAY, "unsigned char", 24);
		for (size_t i = 0; i < 24; i++)
			message->unknown_fields->data[i] = (uint8_t)next();
	}
	return message;
}

static Telegram *telegram_unpack(struct allocator *allocator)
{
	return (Telegram *)unpack(&telegram_descriptor, allocator);
}

static Station *station_unpack(struct allocator *allocator)
{
	return (Station *)unpack(&station_descriptor, allocator);
}

struct inbox {
	Telegram **telegrams;
	unsigned count, capacity;
	Message *pending[64]; // of any kind
	unsigned pending_count;
};

static struct inbox inbox;
static Station *stations[40];

int main(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 150; i++) {
		if (inbox.count == inbox.capacity) {
			inbox.capacity = inbox.capacity ? inbox.capacity * 2 : 16;
			inbox.telegrams = RENEW_ARRAY(Telegram *, inbox.telegrams, inbox.capacity);
			memset(inbox.telegrams + inbox.count, 0,
			       (inbox.capacity - inbox.count) * sizeof(*inbox.telegrams));
		}
		inbox.telegrams[inbox.count++] = telegram_unpack(&system_allocator);
	}
	for (unsigned i = 0; i < 40; i++)
		stations[i] = station_unpack(&system_allocator);
	for (unsigned i = 0; i < 64; i++) {
		static const struct message_descriptor *const kinds[] = { &alert_descriptor,
									  &track_descriptor,
									  &header_descriptor };

		inbox.pending[inbox.pending_count++] = unpack(kinds[i % 3], &system_allocator);
	}
	for (unsigned i = 0; i < inbox.count; i++)
		sum += inbox.telegrams[i]->header->stamp + inbox.telegrams[i]->n_tracks;
	for (unsigned i = 0; i < 40; i++)
		sum += stations[i]->n_codes;
	truth_capture();
	printf("%u\n", (unsigned)(sum & 1));
	return 0;
}
