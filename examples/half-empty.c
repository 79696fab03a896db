// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays in which less than half of the elements have a pointer in them: buckets, slots, lists.
//
//	cc -o half-empty half-empty.c $(pkg-config --cflags --libs heapgraph)
#include <err.h>
#include <heapgraph.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	LEAST = 8, // elements
};

// How many elements of an array have a pointer in them.
static uint64_t count_used(const struct heapgraph *graph, heapgraph_object_id object, uint64_t size)
{
	struct heapgraph_edge edge;
	uint64_t used = 0, next = 0; // the first element that has not been counted

	for (uint32_t i = 0; heapgraph_out(graph, object, i, &edge); i++) {
		if (edge.offset / size >= next) {
			next = edge.offset / size + 1;
			used++;
		}
	}
	return used;
}

int main(int argc, char **argv)
{
	struct heapgraph *graph;
	struct heapgraph_error *error;
	struct heapgraph_edge holder;
	char name[256], by[256];

	if (argc != 2)
		errx(2, "usage: half-empty FILE");
	error = heapgraph_open(argv[1], HEAPGRAPH_OBJECTS | HEAPGRAPH_HOLDERS, &graph);
	if (error)
		errx(2, "%s", heapgraph_error_message(error));
	for (heapgraph_object_id i = 0; i < heapgraph_object_count(graph); i++) {
		heapgraph_type_id type = heapgraph_object_type(graph, i);
		uint64_t size = heapgraph_type_size(graph, type);
		uint64_t elements = heapgraph_object_elements(graph, i);

		if (elements < LEAST || size < 8 || heapgraph_out_count(graph, i) == 0)
			continue;

		uint64_t used = count_used(graph, i, size);

		if (used >= elements - used || !heapgraph_in(graph, i, 0, &holder))
			continue;
		heapgraph_type_name(graph, type, name, sizeof(name));
		heapgraph_type_name(graph, heapgraph_object_type(graph, holder.source), by,
				    sizeof(by));
		printf("%s[%" PRIu64 "] of %s: %" PRIu64 " used, %" PRIu64 " bytes wasted\n", name,
		       elements, by, used, (elements - used) * size);
	}
	heapgraph_close(graph);
}
