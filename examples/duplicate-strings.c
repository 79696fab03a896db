// SPDX-License-Identifier: GPL-3.0-or-later
// Strings that are there more than once, and the bytes that they waste: all but the largest copy.
//
//	cc -o duplicate-strings duplicate-strings.c $(pkg-config --cflags --libs heapgraph)
#include <err.h>
#include <heapgraph.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
	char *bytes;
	uint64_t size; // of its block
};

static int compare(const void *left, const void *right)
{
	return strcmp(((const struct text *)left)->bytes, ((const struct text *)right)->bytes);
}

static void check(struct heapgraph_error *error)
{
	if (error)
		errx(2, "%s", heapgraph_error_message(error));
}

int main(int argc, char **argv)
{
	struct heapgraph *graph;
	struct heapgraph_set *found;
	char buffer[4096];
	size_t count = 0;

	if (argc != 2)
		errx(2, "usage: duplicate-strings FILE");
	check(heapgraph_open(argv[1], HEAPGRAPH_OBJECTS, &graph));
	check(heapgraph_find(graph, "type char", &found));

	struct text *texts = malloc((heapgraph_set_count(found) + 1) * sizeof(*texts));

	for (heapgraph_object_id i = heapgraph_set_next(found, 0); i != HEAPGRAPH_NO_OBJECT;
	     i = heapgraph_set_next(found, i + 1)) {
		check(heapgraph_field_text(graph, i, "", buffer, sizeof(buffer), NULL));
		texts[count++] = (struct text){ strdup(buffer), heapgraph_object_size(graph, i) };
	}
	qsort(texts, count, sizeof(*texts), compare);
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t bytes = 0, largest = 0;

		for (end = i; end < count && compare(&texts[i], &texts[end]) == 0; end++) {
			bytes += texts[end].size;
			largest = texts[end].size > largest ? texts[end].size : largest;
		}
		if (end - i > 1)
			printf("%zu times, %zu bytes wasted: %s\n", end - i, bytes - largest,
			       texts[i].bytes);
	}
	heapgraph_set_free(found);
	heapgraph_close(graph);
}
