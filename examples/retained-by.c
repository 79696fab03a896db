// SPDX-License-Identifier: GPL-3.0-or-later
// Prints what one request retains, or a session, or whatever a filter finds: all that would be free
// without it, by type.
//
//	cc -o retained-by retained-by.c $(pkg-config --cflags --libs heapgraph)
//	retained-by app-00.snap 'type "struct request" field path=/login'
#include <err.h>
#include <heapgraph.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void check(struct heapgraph_error *error)
{
	if (error)
		errx(2, "%s", heapgraph_error_message(error));
}

int main(int argc, char **argv)
{
	struct heapgraph *graph;
	struct heapgraph_set *found, *retained;
	char name[256];

	if (argc != 3)
		errx(2, "usage: retained-by FILE FILTER");
	check(heapgraph_open(argv[1], HEAPGRAPH_OBJECTS, &graph));
	check(heapgraph_find(graph, argv[2], &found));
	check(heapgraph_set_retained(found, &retained));
	printf("%" PRIu64 " found, retaining %" PRIu64 " objects, %" PRIu64 " bytes\n",
	       heapgraph_set_count(found), heapgraph_set_count(retained),
	       heapgraph_set_bytes(retained));

	// Objects and bytes by type; type 0 is unknown.
	uint64_t(*sums)[2] = calloc(heapgraph_type_count(graph) + 1, sizeof(*sums));

	for (heapgraph_object_id i = heapgraph_set_next(retained, 0); i != HEAPGRAPH_NO_OBJECT;
	     i = heapgraph_set_next(retained, i + 1)) {
		heapgraph_type_id type = heapgraph_object_type(graph, i);

		sums[type][0]++;
		sums[type][1] += heapgraph_object_size(graph, i);
	}
	for (heapgraph_type_id i = 0; i <= heapgraph_type_count(graph); i++) {
		if (sums[i][0] == 0)
			continue;
		heapgraph_type_name(graph, i, name, sizeof(name));
		printf("%" PRIu64 " %s, %" PRIu64 " bytes\n", sums[i][0], i ? name : "(untyped)",
		       sums[i][1]);
	}
	free(sums);
	heapgraph_set_free(retained);
	heapgraph_set_free(found);
	heapgraph_close(graph);
}
