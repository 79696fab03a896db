// SPDX-License-Identifier: GPL-3.0-or-later
// A JSON document: a tagged union of kinds, arrays that grow, text, parsed and held.
#include "t/truth/truth.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>

enum kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json;

struct member {
	char *name;
	struct json *value;
};

struct json {
	enum kind kind;
	union {
		bool boolean;
		double number;
		char *string;
		struct {
			struct json **items;
			size_t count, allocated;
		} array;
		struct {
			struct member *members;
			size_t count, allocated;
		} object;
	} u;
};

struct parser {
	const char *at;
	unsigned depth;
	const char *error;
};

static struct json *parse_value(struct parser *parser);

static void skip_space(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

static struct json *json_create(enum kind kind)
{
	struct json *json = NEW_ZEROED(struct json);

	json->kind = kind;
	return json;
}

static char *parse_text(struct parser *parser)
{
	const char *start = ++parser->at;
	char *text;
	size_t length;

	while (*parser->at && *parser->at != '"')
		parser->at++;
	length = (size_t)(parser->at++ - start);
	text = NEW_TEXT(length + 1);
	memcpy(text, start, length);
	text[length] = '\0';
	return text;
}

static struct json *parse_array(struct parser *parser)
{
	struct json *json = json_create(JSON_ARRAY);

	parser->at++;
	for (skip_space(parser); *parser->at != ']'; skip_space(parser)) {
		if (json->u.array.count == json->u.array.allocated) {
			json->u.array.allocated = json->u.array.allocated * 2 + 4;
			json->u.array.items = RENEW_ARRAY(struct json *, json->u.array.items,
							  json->u.array.allocated);
		}
		json->u.array.items[json->u.array.count++] = parse_value(parser);
		skip_space(parser);
		if (*parser->at == ',')
			parser->at++;
	}
	parser->at++;
	return json;
}

static struct json *parse_object(struct parser *parser)
{
	struct json *json = json_create(JSON_OBJECT);

	parser->at++;
	for (skip_space(parser); *parser->at != '}'; skip_space(parser)) {
		struct member *member;

		if (json->u.object.count == json->u.object.allocated) {
			json->u.object.allocated = json->u.object.allocated * 2 + 4;
			json->u.object.members = RENEW_ARRAY(struct member, json->u.object.members,
							     json->u.object.allocated);
		}
		member = &json->u.object.members[json->u.object.count++];
		member->name = parse_text(parser);
		skip_space(parser);
		parser->at++;
		member->value = parse_value(parser);
		skip_space(parser);
		if (*parser->at == ',')
			parser->at++;
	}
	parser->at++;
	return json;
}

static struct json *parse_number(struct parser *parser)
{
	struct json *json = json_create(JSON_NUMBER);
	char *end;

	json->u.number = strtod(parser->at, &end);
	if (end == parser->at)
		parser->error = "a value was expected";
	parser->at = end;
	return json;
}

static struct json *parse_value(struct parser *parser)
{
	struct json *json;

	skip_space(parser);
	switch (*parser->at) {
	case '{':
		return parse_object(parser);
	case '[':
		return parse_array(parser);
	case '"':
		json = json_create(JSON_STRING);
		json->u.string = parse_text(parser);
		return json;
	case 't':
	case 'f':
		json = json_create(JSON_BOOL);
		json->u.boolean = *parser->at == 't';
		parser->at += json->u.boolean ? 4 : 5;
		return json;
	case 'n':
		parser->at += 4;
		return json_create(JSON_NULL);
	default:
		return parse_number(parser);
	}
}

static struct json *member_of(struct json *object, const char *name)
{
	for (size_t i = 0; object->kind == JSON_OBJECT && i < object->u.object.count; i++)
		if (!strcmp(object->u.object.members[i].name, name))
			return object->u.object.members[i].value;
	return NULL;
}

// One page of a list of people, as a server sends it.
static char *make_document(unsigned people)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, "{ \"count\": %u, \"next\": null, \"people\": [", people);
	for (unsigned i = 0; i < people; i++)
		fprintf(out,
			"%s{ \"id\": %u, \"name\": \"person %u\", \"active\": %s, \"score\": %g,\n"
			" \"tags\": [\"t%u\", \"u%u\", %u], \"home\": { \"x\": %u.5, \"y\": -%u },"
			" \"email\": null }",
			i ? "," : "", i, i, i % 3 ? "true" : "false", i / 7.0, i % 10, i % 11,
			i % 4, i, i);
	fprintf(out, "] }\n");
	fclose(out);
	return TEXT(text);
}

int main(void)
{
	char *text = make_document(600);
	struct parser parser = { .at = text };
	struct json *document = parse_value(&parser);
	struct json *people = member_of(document, "people");
	double sum = 0;

	for (size_t i = 0; i < people->u.array.count; i++)
		sum += member_of(people->u.array.items[i], "score")->u.number;
	truth_capture();
	printf("%s, %g\n", parser.error ? parser.error : "parsed", sum);
	printf("%g\n", member_of(document, "count")->u.number);
	return 0;
}
