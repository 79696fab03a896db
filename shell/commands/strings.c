// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * strings: the strings of the heap, and duplicates among them.
 */
#include "lib/base/array.h"
#include "lib/base/escape.h"
#include "lib/base/hash_table.h"
#include "lib/base/memory_left.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/series/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHORT_LIST = 25,       // texts that are shown without --limit
	MAX_SHOWN = 72,        // bytes of each, on a line of text
	LEAST_UNTYPED = 4,     // characters that make a block without a type a text
	FIRST_READ = 16 << 20, // bytes of an object; the rest if they are all text
	TOLERATED = 8,         // characters of a text for each that is none
};

enum order {
	BY_LENGTH,
	BY_COUNT,
	BY_WASTE,
};

static const char *const orders[] = { "length", "count", "waste" };

/*
 * A text and its copies. Its contents are read again when it is shown: two texts are equal if
 * 64 bits of hash and their lengths agree.
 */
struct text {
	uint64_t hash;
	uint64_t length;  // as far as it was kept
	uint64_t count;   // of the copies
	uint64_t bytes;   // of the blocks
	uint64_t largest; // of them
	heap_object_id example;
	bool cut; // there is more of it than was kept: it is equal to no other
};

struct texts {
	struct HEAP_ARRAY(struct text) list;
	struct heap_hash_table by_text;
	char *buffer; // [capacity] an object's bytes
	size_t capacity;
};

// --- which objects are texts -------------------------------------------------

// Counts bytes that no text has: control characters, and invalid UTF-8.
static size_t count_binary(const char *bytes, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length;) {
		uint8_t byte = (uint8_t)bytes[i];
		size_t size = byte < 0x80 ? 1 : heap_utf8_length(bytes + i, length - i);

		count += size == 0 || byte == 0x7f || (byte < 0x20 && !strchr("\t\n\r\x1b", byte));
		i += size ? size : 1;
	}
	return count;
}

/*
 * A block of characters may hold a few bytes that are no UTF-8, as in an older encoding. A block
 * without a type may hold none.
 */
static bool reads_as_text(const char *bytes, size_t length, bool typed)
{
	return count_binary(bytes, length) <= (typed ? length / TOLERATED : 0);
}

static bool may_be_text(const struct heap_snapshot *snapshot, heap_object_id object)
{
	heap_type_id type = snapshot->type[object];
	const struct heap_type *description = &snapshot->types.types[type];

	if (type == HEAP_NO_TYPE)
		return snapshot->evidence[object] == HEAP_EVIDENCE_NONE;
	return (description->flags & HEAP_TYPE_CHARACTER) && description->size == 1;
}

// Reads an object's bytes into the buffer. @param kept  gets how many there are
HEAP_MUST_CHECK
static struct heap_error *read_object(struct session *session, struct texts *texts,
				      heap_object_id object, size_t *kept)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t size = snapshot->size[object], first;

	if (size > snapshot->info.content_limit)
		size = snapshot->info.content_limit;
	first = size < FIRST_READ ? size : FIRST_READ;
	HEAP_TRY(heap_reserve(texts->buffer, texts->capacity, first));
	HEAP_TRY(heap_snapshot_read_content(session->snapshot, object, texts->buffer, first, kept));
	if (*kept < FIRST_READ || *kept == size || memchr(texts->buffer, '\0', *kept) ||
	    !reads_as_text(texts->buffer, *kept, snapshot->type[object] != HEAP_NO_TYPE))
		return NULL;
	// A file may say that there is more than memory has room for: then its beginning must do.
	if (size > heap_memory_budget())
		return NULL;
	HEAP_TRY(heap_reserve(texts->buffer, texts->capacity, size));
	return heap_snapshot_read_content(session->snapshot, object, texts->buffer, size, kept);
}

// Finds the text of an object. @param kept  bytes in the buffer
static bool find_text(const struct heap_snapshot *snapshot, const char *buffer, size_t kept,
		      heap_object_id object, struct text *result)
{
	bool typed = snapshot->type[object] != HEAP_NO_TYPE;
	// Without bytes there may be no buffer, which strnlen() does not allow.
	size_t length = kept > 0 ? strnlen(buffer, kept) : 0;
	bool ends = length < kept || kept == snapshot->size[object];

	if (length == 0 || (!typed && (length < LEAST_UNTYPED || length == kept)) ||
	    !reads_as_text(buffer, length, typed))
		return false;
	*result = (struct text){
		.hash = heap_hash_bytes(HEAP_HASH_START, buffer, length),
		.length = length,
		.count = 1,
		.bytes = snapshot->size[object],
		.largest = snapshot->size[object],
		.example = object,
		.cut = !ends,
	};
	if (!ends) // or all that begin alike would stand in each other's way
		result->hash = heap_hash_bytes(result->hash, &object, sizeof(object));
	return true;
}

// --- the table of them -------------------------------------------------------

// A text that was cut is equal to no other.
static bool is_same(const struct text *one, const struct text *other)
{
	return one->hash == other->hash && one->length == other->length && !one->cut && !other->cut;
}

HEAP_MUST_CHECK
static struct heap_error *add(struct texts *texts, const struct text *text)
{
	uint32_t found = heap_hash_find(&texts->by_text, text->hash, i,
					is_same(&texts->list.items[i], text));

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)texts->list.count;
		HEAP_TRY(heap_array_append(&texts->list, *text));
		return heap_hash_add(&texts->by_text, text->hash, found);
	}

	struct text *known = &texts->list.items[found];

	known->count += text->count;
	known->bytes += text->bytes;
	if (text->largest > known->largest)
		known->largest = text->largest;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *collect(struct session *session, struct heap_filter *filter,
				  struct texts *texts)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct text text;
	size_t kept;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		HEAP_TRY(heap_progress_step(&session->progress.progress, "strings", i,
					    snapshot->object_count));
		if (!may_be_text(snapshot, i) || !heap_filter_matches(filter, i))
			continue;
		HEAP_TRY(read_object(session, texts, i, &kept));
		if (find_text(snapshot, texts->buffer, kept, i, &text))
			HEAP_TRY(add(texts, &text));
	}
	return session_filter_finish(session, filter);
}

// --- the answer --------------------------------------------------------------

static uint64_t wasted(const struct text *text)
{
	return text->bytes - text->largest;
}

static uint64_t rank(const struct text *text, enum order order)
{
	return order == BY_LENGTH ? text->length : order == BY_COUNT ? text->count : wasted(text);
}

static int compare(const void *left, const void *right, void *context)
{
	const struct text *a = left, *b = right;
	uint64_t first = rank(a, *(enum order *)context), second = rank(b, *(enum order *)context);

	if (first != second)
		return first > second ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

// Moves the texts to be shown to the front. @return their number
static size_t select_texts(struct texts *texts, bool duplicates)
{
	size_t count = 0;

	for (size_t i = 0; i < texts->list.count; i++) {
		if (!duplicates || texts->list.items[i].count > 1)
			texts->list.items[count++] = texts->list.items[i];
	}
	return count;
}

static void print_text(struct session *session, struct texts *texts, const struct text *text)
{
	struct output *output = session->output;
	const void *mark = session_mark(session);
	size_t kept = 0;

	heap_error_destroy(read_object(session, texts, text->example, &kept));

	size_t length = kept < text->length ? kept : text->length;
	size_t shown = length < MAX_SHOWN ? length : MAX_SHOWN;
	const char *escaped = session_keep(session, format_escaped(texts->buffer, shown));

	table_row(output, "%10" PRIu64 "\t%7" PRIu64 "%s\t%10s\t%10s\t\"%s\"%s at %s%#" PRIx64 "%s",
		  text->count, text->length, text->cut ? "+" : " ",
		  describe_bytes(session, text->bytes), describe_bytes(session, wasted(text)),
		  escaped, shown < length || text->cut ? "…" : "",
		  output_colour(output, COLOUR_ADDRESS), session->snapshot->address[text->example],
		  output_colour(output, COLOUR_PLAIN));
	session_remember(session, text->example);
	output_open_object(output, NULL);
	output_string(output, "text", session_keep(session, strndup(texts->buffer, length)));
	output_number(output, "count", text->count);
	output_number(output, "length", text->length);
	output_boolean(output, "cut", text->cut);
	output_number(output, "bytes", text->bytes);
	output_number(output, "wasted", wasted(text));
	describe_object_json(session, "example", text->example);
	output_close(output);
	session_release(session, mark);
}

static void print_texts(struct session *session, struct texts *texts, size_t count, uint64_t limit,
			bool duplicates)
{
	struct output *output = session->output;
	uint64_t objects = 0, bytes = 0, waste = 0;

	output_open_object(output, NULL);
	if (count == 0)
		output_text(output, "no %s\n",
			    duplicates ? "string is there more than once" : "strings");
	else
		table_header(output, "1230", "%10s\t%7s \t%10s\t%10s\ttext", "count", "length",
			     "bytes", "wasted");
	output_open_array(output, "strings");
	for (size_t i = 0; i < count && i < limit && !session_must_stop(session); i++)
		print_text(session, texts, &texts->list.items[i]);
	output_close(output);
	for (size_t i = 0; i < count; i++) {
		objects += texts->list.items[i].count;
		bytes += texts->list.items[i].bytes;
		waste += wasted(&texts->list.items[i]);
	}
	if (!session->quiet && count > 0)
		output_text(output,
			    "Total: %zu text%s in %" PRIu64 " object%s, %s, of which copies %s\n",
			    count, format_plural(count), objects, format_plural(objects),
			    describe_bytes(session, bytes), describe_bytes(session, waste));
	output_number(output, "texts", count);
	output_number(output, "objects", objects);
	output_number(output, "bytes", bytes);
	output_number(output, "wasted", waste);
	output_close(output);
}

static void texts_deinit(struct texts *texts)
{
	heap_array_deinit(&texts->list);
	heap_hash_table_deinit(&texts->by_text);
	free(texts->buffer);
}

static enum command_status list_texts(struct session *session, struct heap_filter *filter,
				      bool duplicates, enum order order, uint64_t limit)
{
	CLEANUP(texts_deinit) struct texts texts = { 0 };
	struct heap_error *error = collect(session, filter, &texts);
	size_t count;

	if (error)
		return command_fail(session, error);
	count = select_texts(&texts, duplicates);
	if (count > 0)
		qsort_r(texts.list.items, count, sizeof(*texts.list.items), compare, &order);
	print_texts(session, &texts, count, limit, duplicates);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

static bool parse_order(const char *word, enum order *result)
{
	for (int i = BY_LENGTH; i <= BY_WASTE; i++) {
		if (strcmp(orders[i], word) == 0) {
			*result = i;
			return true;
		}
	}
	return false;
}

static enum command_status strings_run(struct session *session, int argc, char **argv)
{
	bool duplicates = command_option(&argc, argv, "--duplicates", NULL);
	enum order order = duplicates ? BY_WASTE : BY_LENGTH;
	uint64_t limit = output_is_json(session->output) ? UINT64_MAX : SHORT_LIST;
	const char *by = orders[order];
	struct heap_filter *filter;

	if (command_option(&argc, argv, "--by", &by) < 0 || !command_limit(&argc, argv, &limit))
		return COMMAND_USAGE;
	if (!parse_order(by, &order))
		return command_fail(session,
				    heap_error_create(HEAP_ERROR_ARGUMENT,
						      "--by %s: not length, count or waste", by));

	struct heap_error *error = describe_load(session);

	if (!error)
		error = session_filter(session, argc - 1, argv + 1, &filter);
	if (error)
		return command_fail(session, error);

	enum command_status status = list_texts(session, filter, duplicates, order, limit);

	heap_filter_destroy(filter);
	return status;
}

const struct command strings_command = {
	.name = "strings",
	.synopsis = "[--duplicates] [--by length|count|waste] [--all | --limit N] [FILTER...]",
	.summary = "the texts of the heap, the longest or the most frequent first",
	.details = "Blocks of characters, and untyped blocks that contain nothing but text. Equal\n"
		   "strings share a line. --duplicates shows the strings that exist more than\n"
		   "once, ordered by the bytes that all copies but the largest waste. A string\n"
		   "that was not kept to its end (+ behind its length) equals no other. Shows 25,\n"
		   "unless --limit or --all says otherwise.\n"
		   "\n"
		   "  strings --duplicates\n"
		   "  strings --by count --limit 10\n"
		   "  strings site read_header",
	.run = strings_run,
	.nothing = "There are no such texts.",
	.words = WORDS_FILTER,
};
