// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A store of revisions, most of them as differences to others: what it has unpacked is bytes of any values, behind void
 * pointers. The function that allocates them knows no type, nor does the one that it is called by, which puts a NUL
 * behind the bytes; only the callers of that one have pointers to bytes, which optimised code saves on the stack first.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	REVISIONS = 4000,
	CACHED = 1500,
	LONGEST = 900,
};

struct revision {
	uint32_t number, flags;
	struct revision *parent;
	void *tree;
	size_t tree_size;
};

struct cached {
	struct cached *next;
	size_t size;
	void *data;
	int kind;
};

struct packed {
	uint32_t size;
	unsigned char bytes[28];
};

struct stream {
	const unsigned char *in;
	unsigned char *out;
	size_t in_left, out_left, total;
};

static struct revision **revisions;
static struct cached *cache;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(next() % limit);
}

__attribute__((noinline, noreturn)) static void fail(const char *why)
{
	fprintf(stderr, "deltas: %s\n", why);
	exit(3);
}

__attribute__((noinline)) static void *allocate(size_t size, int gently)
{
	void *block = malloc(size);

	if (!block && !gently)
		fail("out of memory");
	return block;
}

__attribute__((noinline)) static void *allocate_with_end(size_t size)
{
	void *block;

	if (size + 1 == 0)
		fail("too much");
	block = allocate(size + 1, 0);
	if (block)
		((char *)block)[size] = 0;
	return block;
}

__attribute__((noinline)) static int inflate(struct stream *stream)
{
	size_t length = stream->out_left < 64 ? stream->out_left : 64;

	for (size_t i = 0; i < length; i++)
		stream->out[i] = (unsigned char)(below(256) ^ stream->in[i % stream->in_left]);
	stream->out += length;
	stream->out_left -= length;
	stream->total += length;
	return stream->out_left > 0;
}

__attribute__((noinline)) static void *unpack(const struct packed *packed)
{
	size_t size = packed->size;
	unsigned char *buffer = allocate_with_end(size);
	struct stream stream;

	if (!buffer)
		return NULL;
	truth_log(buffer, TRUTH_TEXT, "char", size + 1);
	memset(&stream, 0, sizeof(stream));
	stream.out = buffer;
	stream.out_left = size;
	do {
		stream.in = packed->bytes;
		stream.in_left = sizeof(packed->bytes);
	} while (inflate(&stream));
	if (stream.total != size) {
		FREE(buffer);
		return NULL;
	}
	buffer[size] = '\0';
	return buffer;
}

__attribute__((noinline)) static void *patch(const void *source, size_t source_size,
					     const void *delta, size_t delta_size,
					     size_t *result_size)
{
	const unsigned char *data = delta, *end = data + delta_size;
	size_t size = source_size + delta_size;
	unsigned char *result, *out;

	result = allocate_with_end(size);
	out = result;
	truth_log(result, TRUTH_TEXT, "char", size + 1);
	while (data < end) {
		size_t length = *data++ % 8;

		if (length > source_size || out + length > result + size)
			break;
		memcpy(out, (const unsigned char *)source + source_size - length, length);
		out += length;
	}
	while (out < result + size)
		*out++ = (unsigned char)below(256);
	*result_size = size;
	return result;
}

static void keep(void *data, size_t size, int kind)
{
	struct cached *cached = NEW(struct cached);

	*cached = (struct cached){ cache, size, data, kind };
	cache = cached;
}

int main(void)
{
	struct packed packed = { 0, "what a file would have in i" };

	revisions = NEW_ZEROED_ARRAY(struct revision *, REVISIONS);
	for (uint32_t i = 0; i < REVISIONS; i++) {
		struct revision *revision = NEW_ZEROED(struct revision);

		revision->number = i;
		revision->parent = i > 0 ? revisions[below(i)] : NULL;
		revision->tree_size = 20 + below(LONGEST);
		packed.size = (uint32_t)revision->tree_size;
		revision->tree = unpack(&packed);
		revisions[i] = revision;
	}
	for (uint32_t i = 0; i < CACHED; i++) {
		const struct revision *one = revisions[below(REVISIONS)];
		const struct revision *other = revisions[below(REVISIONS)];
		size_t size;
		void *data = patch(one->tree, one->tree_size, other->tree, other->tree_size, &size);

		keep(data, size, (int)(i % 3));
	}
	truth_capture();
	printf("%u revisions\n", revisions[REVISIONS - 1]->number + 1);
	return 0;
}
