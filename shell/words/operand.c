// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/words/operand.h"

#include "lib/base/cleanup.h"
#include "lib/base/nearest.h"
#include "shell/base/format.h"
#include "shell/print/describe.h"
#include "shell/print/part.h"
#include "shell/words/member_step.h"
#include "shell/words/member_walk.h"
#include "shell/words/variable.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- where a path begins ---------------------------------------------------------

// Which object an address lies in, if any, and where.
HEAP_MUST_CHECK
static struct heap_error *locate(struct heap_snapshot *snapshot, uint64_t address,
				 struct member_spot *result)
{
	HEAP_TRY(heap_snapshot_locate(snapshot, address, &result->object));
	if (result->object != HEAP_NO_OBJECT)
		result->offset = address - snapshot->address[result->object];
	result->is_located = true;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *parse_number(struct session *session, const char *word,
				       struct member_spot *result)
{
	char *end;
	unsigned long number = strtoul(word + 1, &end, 10);

	if (end == word + 1 || *end)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not a number after $", word);
	if (number == 0 || number > session->answer_count)
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: the last answer had %zu object%s",
					 word, session->answer_count,
					 format_plural(session->answer_count));
	result->object = session->answer[number - 1].object;
	result->offset = session->answer[number - 1].interior;
	result->is_located = true;
	return NULL;
}

static bool parse_hex(const char *text, uint64_t *result)
{
	char *end;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	if (!isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	*result = strtoull(text, &end, 16);
	return errno == 0 && *end == '\0';
}

HEAP_MAKES_ERROR
static struct heap_error *no_variable(const struct heap_snapshot *snapshot, const char *word)
{
	struct heap_nearest nearest;

	if (heap_types_find(&snapshot->types, word, HEAP_NO_TYPE) != HEAP_NO_TYPE)
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s: neither an address nor a variable, but a type: `find "
					 "type %s` has its objects",
					 word, word);
	heap_nearest_init(&nearest, word);
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		if (snapshot->roots[i].kind <= HEAP_ROOT_LOCAL)
			heap_nearest_offer(&nearest,
					   heap_snapshot_string(snapshot, snapshot->roots[i].name));
	}

	CLEANUP_FREE char *hint = heap_nearest_hint(&nearest);

	return heap_error_create(HEAP_ERROR_ABSENT, "%s: neither an address nor a variable%s", word,
				 hint ? hint : "");
}

// An address, $N, or a variable.
HEAP_MUST_CHECK
static struct heap_error *parse_start(struct session *session, const char *word,
				      struct member_spot *result)
{
	uint64_t address;
	bool is_hex = parse_hex(word, &address);
	heap_root_id root = UINT32_MAX;

	if (word[0] == '$')
		return parse_number(session, word, result);
	if (!is_hex || strncmp(word, "0x", 2) != 0)
		HEAP_TRY(variable_find(session, word, &root)); // it may be called "face"
	if (root != UINT32_MAX) {
		result->root = root;
		result->type = session->snapshot->roots[root].type;
		return NULL;
	}
	if (!is_hex)
		return no_variable(session->snapshot, word);
	HEAP_TRY(locate(session->snapshot, address, result));
	return result->object != HEAP_NO_OBJECT
		       ? NULL
		       : heap_error_create(HEAP_ERROR_ABSENT, "%s: no live object at this address",
					   word);
}

// The object that a pointer variable points to; the variable itself if it points to none.
HEAP_MUST_CHECK
static struct heap_error *follow_variable(struct heap_snapshot *snapshot, struct member_spot *spot)
{
	const struct heap_root *variable = &snapshot->roots[spot->root];
	heap_type_id type = heap_types_strip(&snapshot->types, variable->type);
	struct member_spot target = { .object = HEAP_NO_OBJECT, .root = UINT32_MAX };
	uint64_t content;

	if (variable->content_size != 8 ||
	    (type != HEAP_NO_TYPE && snapshot->types.types[type].kind != HEAP_TYPE_POINTER))
		return NULL;
	memcpy(&content, snapshot->root_content + variable->content, 8);
	HEAP_TRY(locate(snapshot, content, &target));
	if (target.object != HEAP_NO_OBJECT)
		*spot = target;
	return NULL;
}

// --- all of an operand ------------------------------------------------------------

static bool is_variable(struct session *session, const char *word)
{
	heap_root_id root = UINT32_MAX;

	heap_error_destroy(variable_find(session, word, &root));
	return root != UINT32_MAX;
}

// How much of a word comes before its first step. Compilers call a static variable of a function
// "count.0", and the parts of a variable that they have split "table.first" and "table[1]".
static size_t start_length(struct session *session, const char *word)
{
	size_t first = strcspn(word, ".["), length = strlen(word);
	const char *arrow = strstr(word, "->");
	char start[MEMBER_WORD_MAX];

	if (arrow && (size_t)(arrow - word) < first)
		return (size_t)(arrow - word);
	if (length >= sizeof(start))
		return first;
	memcpy(start, word, length + 1);
	while (length > first && !is_variable(session, start)) {
		do
			length--;
		while (length > first && start[length] != '.' && start[length] != '[' &&
		       strncmp(start + length, "->", 2) != 0);
		start[length] = '\0';
	}
	return length;
}

HEAP_MUST_CHECK
static struct heap_error *parse(struct session *session, const char *text, struct operand *result)
{
	bool itself = text[0] == '&';
	const char *word = text + itself;
	size_t length = start_length(session, word);
	struct member_spot spot = { .object = HEAP_NO_OBJECT, .root = UINT32_MAX };

	if (strlen(word) >= MEMBER_WORD_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%.32s...: too long", word);
	HEAP_TRY(parse_start(session, session_format(session, "%.*s", (int)length, word), &spot));
	if (word[length])
		HEAP_TRY(member_walk(session, word, word + length, &spot));
	if (!itself && word[length])
		HEAP_TRY(member_finish(session, word, &spot));
	else if (!itself && spot.root != UINT32_MAX)
		HEAP_TRY(follow_variable(session->snapshot, &spot));
	*result = (struct operand){
		.object = spot.object,
		.root = spot.object == HEAP_NO_OBJECT ? spot.root : UINT32_MAX,
		.interior = spot.offset,
		.type = word[length] && !itself ? spot.type : HEAP_NO_TYPE,
		.first = spot.first,
		.count = spot.count,
	};
	return NULL;
}

// What is at a pointer that a word stands for: `*table` is the object that `table` stands for, too, unless that is
// a pointer itself, which stands for the next object.
HEAP_MUST_CHECK
static struct heap_error *parse_starred(struct session *session, const char *text,
					struct operand *result)
{
	size_t stars = strspn(text, "*");
	const char *word = text + stars;
	struct operand operand = { 0 };

	HEAP_TRY(parse(session, word, &operand));
	if (stars > 0 && (*word == '&' || operand.count > 0 || operand.type != HEAP_NO_TYPE ||
			  operand.object == HEAP_NO_OBJECT))
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: %s is no pointer to an object",
					 text, word);
	if (stars > 0)
		HEAP_TRY(member_load(session));
	for (size_t i = 0; i < stars; i++) {
		struct member_spot spot = { .object = operand.object,
					    .root = UINT32_MAX,
					    .offset = operand.interior };

		member_find_own_type(session->snapshot, &spot);
		if (member_is_pointer(&session->snapshot->types, spot.type)) {
			HEAP_TRY(member_follow(session, &spot, text));
			operand.object = spot.object;
			operand.interior = spot.offset;
		} else if (i + 1 < stars) {
			return heap_error_create(HEAP_ERROR_ARGUMENT,
						 "%s: %s is no pointer to a pointer", text, word);
		}
	}
	*result = operand;
	return NULL;
}

struct heap_error *operand_locate(struct session *session, const char *text, struct operand *result)
{
	struct operand operand = { 0 };

	HEAP_TRY(parse_starred(session, text, &operand));
	if (operand.count > 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: a range is several places; `show` takes them", text);
	*result = operand;
	return NULL;
}

struct heap_error *operand_parse_range(struct session *session, const char *text,
				       struct operand *result)
{
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE));
	return parse_starred(session, text, result);
}

struct heap_error *operand_parse(struct session *session, const char *text, struct operand *result)
{
	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE);

	return error ? error : operand_locate(session, text, result);
}

struct heap_error *operand_parse_object(struct session *session, const char *text,
					heap_object_id *result)
{
	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE);

	return error ? error : operand_locate_object(session, text, result);
}

bool operand_part(const struct session *session, const struct operand *operand,
		  struct heap_part *result)
{
	return operand->object != HEAP_NO_OBJECT && operand->interior > 0 &&
	       part_find(session, operand->object, operand->interior, result);
}

heap_node_id operand_node(const struct session *session, const struct operand *operand)
{
	if (operand->object == HEAP_NO_OBJECT)
		return heap_divided_root(session->divided, operand->root);
	return heap_divided_node(session->divided, operand->object, operand->interior);
}

bool operand_is_root(const struct session *session, const struct operand *operand)
{
	return operand->object == HEAP_NO_OBJECT && operand->interior == 0 &&
	       variable_holds_object(session->snapshot, operand->root);
}

uint64_t operand_size(const struct session *session, const struct operand *operand)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	if (operand->type != HEAP_NO_TYPE)
		return heap_types_size(&snapshot->types, operand->type) *
		       (operand->count ? operand->count : 1);
	return operand->object != HEAP_NO_OBJECT ? snapshot->size[operand->object]
						 : snapshot->roots[operand->root].size;
}

uint64_t operand_pointers(const struct session *session, const struct operand *operand,
			  uint64_t *first)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t at = heap_snapshot_first_root_edge(snapshot, operand->root);
	uint64_t end = operand->interior + operand_size(session, operand);

	while (at < snapshot->root_edge_count && snapshot->root_edges[at].root == operand->root &&
	       snapshot->root_edges[at].offset < operand->interior)
		at++;
	*first = at;
	while (at < snapshot->root_edge_count && snapshot->root_edges[at].root == operand->root &&
	       snapshot->root_edges[at].offset < end)
		at++;
	return at - *first;
}

bool operand_holds_object(const struct session *session, const struct operand *operand)
{
	uint64_t first;

	return operand->object == HEAP_NO_OBJECT && operand_pointers(session, operand, &first) > 0;
}

struct heap_error *operand_no_object(const struct session *session, const char *text,
				     const struct operand *operand)
{
	if (text[0] == '&')
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s is a variable, not an object of the heap; %s is what "
					 "it points to",
					 text, text + 1);
	if (operand_holds_object(session, operand))
		return heap_error_create(HEAP_ERROR_ABSENT,
					 "%s: a variable, which is no object of the heap; `outrefs "
					 "%s` shows those that it points to",
					 text, text);
	return heap_error_create(HEAP_ERROR_ABSENT, "%s: a variable that points to no live object",
				 text);
}

struct heap_error *operand_locate_object(struct session *session, const char *text,
					 heap_object_id *result)
{
	struct operand operand;
	struct heap_error *error = operand_locate(session, text, &operand);

	if (error)
		return error;
	if (operand.object == HEAP_NO_OBJECT)
		return operand_no_object(session, text, &operand);
	*result = operand.object;
	return NULL;
}
