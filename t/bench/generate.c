// SPDX-License-Identifier: GPL-3.0-or-later
// Makes a snapshot of invented objects, writes it, opens it, loads it, and says how long each
// took: the snapshot file alone, without a program, its pages or its debug information.
//
// Columns are computed while they are written, from random numbers that begin anew at each piece of
// objects. So a thousand million objects take 4 bytes each, and 4 GiB for pointers at most, besides
// the compressed pointers.
//
//	generate [-n OBJECTS] [-e EDGES PER OBJECT] [-c CONTENT BYTES] [-p | -r] [-s NUMBER]
//	         [-o FILE [-w]]
//
// -s: of a series, in which from one snapshot to the next every fiftieth object is replaced.
// -r: what compresses worst, sizes of 16..527 bytes and targets all at random; else programs'
// habits: objects of one site stand together, and half of all pointers lead nearby.
// -p: a program's data structures. Each object has one that holds it: mostly one that was made
// shortly before, or a container with thousands of elements, or any; other pointers lead back
// up, to neighbours, and to things that many share. 3 % are leaked.
// -w: only writes FILE, and does not open it again.
#include "lib/base/search.h"
#include "lib/snapshot/snapshot.h"
#include "lib/snapshot/stored_edges.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	TYPES = 120,
	SITES = 400,
	EPOCHS = 60,
	ROOTS = 500,
	REPLACED = 50,   // one in so many, from one snapshot to the next
	PIECE = 1024,    // objects
	RANGE = 1 << 30, // pointers that are sorted in memory
};

static const uint64_t FIRST_TIME = 1700000000000000000, SECOND = 1000000000;

static struct options {
	uint32_t objects;
	double edges;
	uint64_t content;
	bool random;
	bool program;
	bool write_only;
	const char *file;
	uint32_t number; // of a series
} options = { 1000000, 2.5, 0, false, false, false, NULL, 0 };

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next_random(uint64_t *from)
{
	*from ^= *from << 13;
	*from ^= *from >> 7;
	*from ^= *from << 17;
	return *from;
}

static uint64_t below(uint64_t limit)
{
	return next_random(&state) % limit;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *need(void *memory)
{
	if (!memory) {
		fprintf(stderr, "generate: out of memory\n");
		exit(1);
	}
	return memory;
}

static void check(struct heap_error *error)
{
	if (error) {
		fprintf(stderr, "generate: %s\n", heap_error_message(error));
		exit(1);
	}
}

// Structs of 2 to 9 pointers and integers.
static void make_types(struct heap_types *types)
{
	heap_type_id id, integer, pointer;
	uint32_t name;

	check(heap_types_init(types));
	check(heap_types_add_string(types, "long", &name));
	check(heap_types_add(types,
			     &(struct heap_type){ .kind = HEAP_TYPE_BASE, .name = name, .size = 8 },
			     &integer));
	check(heap_types_add(types, &(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = 8 },
			     &pointer));
	for (uint32_t i = 3; i < TYPES; i++) {
		uint32_t members = 2 + i % 8;
		char text[32];

		snprintf(text, sizeof(text), "record_%u", i);
		check(heap_types_add_string(types, text, &name));
		check(heap_types_add(types,
				     &(struct heap_type){ .kind = HEAP_TYPE_STRUCT,
							  .name = name,
							  .size = members * 8,
							  .first_member = types->member_count,
							  .members = members },
				     &id));
		for (uint32_t j = 0; j < members; j++) {
			snprintf(text, sizeof(text), "field_%u", j);
			check(heap_types_add_string(types, text, &name));
			check(heap_types_add_member(
				types, &(struct heap_member){ .name = name,
							      .type = j % 2 ? integer : pointer,
							      .offset = j * 8 }));
		}
	}
}

static void make_tables(struct heap_snapshot *snapshot)
{
	static char id[33];

	snprintf(id, sizeof(id), "%08x%024x", options.objects, options.program);
	snapshot->info = (struct heap_info){
		.program = "generate",
		.command = "generate",
		.host = "nowhere",
		.maker = "generate",
		.id = id,
		.content_limit = options.content,
		.serial = options.number,
		.time_ns = FIRST_TIME + (EPOCHS + options.number) * SECOND,
	};
	snapshot->strings = need(calloc(1, 1));
	snapshot->string_size = 1;
	make_types(&snapshot->types);
	snapshot->sites = need(calloc(SITES, sizeof(*snapshot->sites)));
	snapshot->site_count = SITES;
	for (uint32_t i = 0; i < SITES; i++)
		snapshot->sites[i] =
			(struct heap_site){ .address = 0x400000 + i * 64, .module = HEAP_NO_INDEX };
	snapshot->epoch_count = EPOCHS + options.number + 1;
	snapshot->epochs = need(calloc(snapshot->epoch_count, sizeof(*snapshot->epochs)));
	for (uint32_t i = 0; i < snapshot->epoch_count; i++)
		snapshot->epochs[i] = FIRST_TIME + i * SECOND;
	snapshot->roots = need(calloc(ROOTS, sizeof(*snapshot->roots)));
	snapshot->root_edges = need(calloc(ROOTS, sizeof(*snapshot->root_edges)));
	snapshot->root_count = ROOTS;
	snapshot->root_edge_count = options.objects ? ROOTS : 0;
	for (uint32_t i = 0; i < ROOTS; i++) {
		snapshot->roots[i] = (struct heap_root){ .address = 0x600000 + i * 8,
							 .size = 8,
							 .module = HEAP_NO_INDEX,
							 .thread = HEAP_NO_INDEX,
							 .frame = HEAP_NO_INDEX };
		if (options.objects)
			snapshot->root_edges[i] = (struct heap_root_edge){
				.root = i, .target = (heap_object_id)below(options.objects)
			};
		// Objects outside containers are held by roots through one of the first objects.
		if (options.objects && options.program)
			snapshot->root_edges[i].target = i % options.objects;
	}
}

// --- a program's structures --------------------------------------------------

enum {
	CONTAINER = 5000, // objects to each container
	POPULAR = 1000,   // objects that everybody shares
};

// Where an object's holder is; HEAP_NO_OBJECT: leaked. Containers are every CONTAINERth.
static heap_object_id holder_of(heap_object_id object)
{
	uint64_t chance = below(100);

	if (object < POPULAR || object % CONTAINER == 0)
		return object == 0 ? HEAP_NO_OBJECT : (heap_object_id)below(object);
	if (chance < 3)
		return HEAP_NO_OBJECT;
	if (chance < 23)
		return object / CONTAINER * CONTAINER;
	if (chance < 85)
		return object - 1 - (heap_object_id)below(object < 64 ? object : 64);
	if (chance < 95)
		return object - 1 - (heap_object_id)below(object < 4096 ? object : 4096);
	return (heap_object_id)below(object);
}

// Another pointer of an object.
static heap_object_id other_target(heap_object_id object, heap_object_id holder)
{
	uint64_t chance = below(100);

	if (chance < 45 && holder != HEAP_NO_OBJECT)
		return holder;
	if (chance < 80)
		return object - (heap_object_id)below(object < 64 ? object + 1 : 64);
	if (chance < 95)
		return (heap_object_id)below(options.objects < POPULAR ? options.objects : POPULAR);
	return (heap_object_id)below(options.objects);
}

// Visits all pointers, by target; the same ones each time.
static void each_pointer(void (*visit)(void *context, heap_object_id source, heap_object_id target),
			 void *context)
{
	uint64_t before = state;

	state = 0x2545f4914f6cdd1d;
	for (heap_object_id i = 0; i < options.objects; i++) {
		heap_object_id holder = holder_of(i);
		double others = options.edges - 0.97;

		if (holder != HEAP_NO_OBJECT)
			visit(context, holder, i);
		while (others > 0 && (others >= 1 || below(1000) < (uint64_t)(others * 1000))) {
			visit(context, i, other_target(i, holder));
			others--;
		}
	}
	state = before;
}

static uint32_t *edge_first; // [objects + 1]

static void count_pointer(void *context, heap_object_id source, heap_object_id target)
{
	(void)context;
	(void)target;
	edge_first[source + 1]++;
}

static void count_pointers(void)
{
	uint64_t sum = 0;

	each_pointer(count_pointer, NULL);
	for (heap_object_id i = 0; i < options.objects; i++) {
		sum += edge_first[i + 1];
		edge_first[i + 1] = (uint32_t)sum;
	}
	if (sum > UINT32_MAX) {
		fprintf(stderr, "generate: %lu pointers are too many for 32 bits\n", sum);
		exit(1);
	}
}

// The pointers of objects [start, end).
struct range {
	heap_object_id start, end;
	uint32_t first; // its first pointer
	uint32_t *targets;
};

static void sort_pointer(void *context, heap_object_id source, heap_object_id target)
{
	struct range *range = context;

	if (source >= range->start && source < range->end)
		range->targets[edge_first[source]++ - range->first] = target;
}

static void store_range(const struct range *range, struct heap_stored_edges *edges)
{
	// Each object's first pointer has moved on to that of the next one.
	for (heap_object_id i = range->end - 1; i > range->start; i--)
		edge_first[i] = edge_first[i - 1];
	edge_first[range->start] = range->first;
	for (heap_object_id i = range->start; i < range->end; i++) {
		for (uint32_t j = edge_first[i]; j < edge_first[i + 1]; j++)
			heap_stored_edges_add(edges, i, j - edge_first[i],
					      range->targets[j - range->first],
					      j % 50 == 0 ? 16 : 0);
	}
}

// Sorts the pointers by source, as many at a time as fit into memory.
static void store_pointers(struct heap_stored_edges *edges)
{
	uint32_t all = edge_first[options.objects];
	struct range range = { .targets = need(malloc((all < RANGE ? all : RANGE) * 4ul + 1)) };

	for (; range.start < options.objects; range.start = range.end) {
		range.first = edge_first[range.start];
		range.end = heap_partition_point(i, range.start + 1, options.objects,
						 edge_first[i + 1] - range.first <= RANGE);
		each_pointer(sort_pointer, &range);
		store_range(&range, edges);
	}
	free(range.targets);
}

// How many elements an object must have for its pointers to lie in it.
static uint64_t enough_elements(heap_object_id object, uint64_t element)
{
	uint64_t pointers = options.program ? edge_first[object + 1] - edge_first[object] : 0;

	return element ? (pointers * 8 + element - 1) / element : 1;
}

// --- objects -----------------------------------------------------------------

struct object {
	uint64_t address, size, elements;
	heap_type_id type;
	uint32_t site, birth;
	uint8_t evidence;
};

// The state that the next object is made from.
struct maker {
	uint64_t state, address;
	uint32_t site, left;
};

static const struct heap_types *all_types;
static struct maker *makers; // [objects / PIECE + 1] before each piece

static struct object make_object(struct maker *maker, heap_object_id i)
{
	uint64_t *from = &maker->state;
	struct object object = { .address = maker->address };

	if (options.random || maker->left-- == 0) {
		maker->site =
			(uint32_t)(next_random(from) % SITES * (next_random(from) % SITES) / SITES);
		maker->left = (uint32_t)(next_random(from) % 40);
	}

	uint32_t site = maker->site;
	heap_type_id type = site % 10 == 0 ? HEAP_NO_TYPE : 3 + site % (TYPES - 3);
	uint64_t element = type ? all_types->types[type].size : 0;
	uint64_t elements = site % 7 == 0 && type ? 1 + next_random(from) % 20 : 1;
	uint64_t enough = enough_elements(i, element);

	object.elements = elements < enough ? enough : elements;
	object.size =
		type && !options.random ? object.elements * element : 16 + next_random(from) % 512;
	if (options.program && !type)
		object.size += enough_elements(i, 8) * 8;
	object.type = type;
	object.evidence = type ? (uint8_t)(1 + site % 6) : HEAP_EVIDENCE_NONE;
	object.site = site;
	object.birth = (uint32_t)(options.random ? next_random(from) % EPOCHS
						 : (i / 5000 + next_random(from) % 4) % EPOCHS);
	if (i % REPLACED < options.number)
		object.birth = EPOCHS + i % REPLACED;
	// Header and chunk: as libheapsnap.so and glibc lay blocks out.
	maker->address += (object.size + 8 + 16 + 15) / 16 * 16;
	if (next_random(from) % 10 == 0)
		maker->address += 16 * (next_random(from) % 40);
	return object;
}

// Goes through all objects once, and notes where each piece begins.
static void find_pieces(const struct heap_types *types)
{
	struct maker maker = { .state = state, .address = 0x555555560010 };

	all_types = types;
	makers = need(calloc((size_t)options.objects / PIECE + 1, sizeof(*makers)));
	for (heap_object_id i = 0; i < options.objects; i++) {
		if (i % PIECE == 0)
			makers[i / PIECE] = maker;
		make_object(&maker, i);
	}
	state = maker.state;
}

// A maker that makes object @p first next.
static struct maker maker_at(heap_object_id first)
{
	struct maker maker = makers[first / PIECE];

	for (heap_object_id i = first / PIECE * PIECE; i < first; i++)
		make_object(&maker, i);
	return maker;
}

static uint64_t value_of(const struct object *object, enum heap_columns column)
{
	switch (column) {
	case HEAP_COLUMN_ADDRESS:
		return object->address;
	case HEAP_COLUMN_SIZE:
		return object->size;
	case HEAP_COLUMN_TYPE:
		return object->type;
	case HEAP_COLUMN_ELEMENTS:
		return object->elements;
	case HEAP_COLUMN_EVIDENCE:
		return object->evidence;
	case HEAP_COLUMN_SITE:
		return object->site;
	case HEAP_COLUMN_BIRTH:
		return object->birth;
	default:
		return 0;
	}
}

static void make_column(void *context, enum heap_columns column, heap_object_id first,
			uint32_t count, uint64_t *values)
{
	struct maker maker = maker_at(first);

	(void)context;
	for (uint32_t i = 0; i < count; i++) {
		struct object object = make_object(&maker, first + i);

		values[i] = value_of(&object, column);
	}
}

// The flags of pointers tell if their object has a type.
static void make_flags(void *context, uint64_t first, size_t count, uint64_t *values)
{
	heap_object_id source =
		heap_partition_point(i, 0, options.objects, edge_first[i + 1] <= first);
	struct maker maker = maker_at(source);

	(void)context;
	for (uint64_t i = first; i < first + count; source++) {
		uint8_t flags = make_object(&maker, source).type ? HEAP_EDGE_TYPED : 0;

		for (; i < first + count && i < edge_first[source + 1]; i++)
			*values++ = flags;
	}
}

// Edges of one object: at ascending slots, to near or far objects.
static void make_edges_of(struct heap_stored_edges *edges, heap_object_id object, uint64_t size,
			  uint32_t wanted)
{
	uint32_t slots = (uint32_t)(size / 8);
	uint32_t slot = 0;

	for (uint32_t i = 0; i < wanted && slot < slots; i++) {
		uint64_t target = below(options.objects);

		if (!options.random && below(2) && object > 100)
			target = object - below(100);
		heap_stored_edges_add(edges, object, slot, (heap_object_id)target,
				      below(20) == 0 ? 16 : 0);
		edge_first[object + 1]++;
		slot += 1 + (uint32_t)below(3);
	}
}

static void make_edges(struct heap_stored_edges *edges)
{
	size_t capacity = (size_t)((double)options.objects * (options.edges + 1)) + 100;
	struct maker maker = makers[0];
	double owed = 0;

	for (uint32_t i = 0; i < options.objects; i++) {
		// From 0 to twice the mean, and the mean all in all.
		double wanted = (double)below(1000) / 1000 * 2 * options.edges + owed;

		wanted = wanted > (double)(capacity - 100 - edge_first[i]) ? 0 : wanted;
		edge_first[i + 1] = edge_first[i];
		make_edges_of(edges, i, make_object(&maker, i).size, (uint32_t)wanted);
		owed = wanted - (double)(edge_first[i + 1] - edge_first[i]);
		owed = owed > 4 ? 4 : owed;
	}
}

// Half of it like numbers and pointers, half like text.
static struct heap_error *read_content(void *context, heap_object_id object, uint64_t address,
				       uint8_t *buffer, size_t size)
{
	(void)context;
	(void)address;
	for (size_t i = 0; i < size; i++)
		buffer[i] = object % 2  ? (uint8_t)("etaoin shrdlu"[below(13)])
			    : i % 8 < 3 ? (uint8_t)next_random(&state)
					: 0;
	return NULL;
}

static double loading(struct heap_snapshot *snapshot, unsigned columns)
{
	double start = now();

	check(heap_snapshot_load(snapshot, columns));
	return now() - start;
}

static void reread(const char *path)
{
	struct heap_snapshot *snapshot;
	double start = now();

	check(heap_snapshot_open(path, &snapshot));
	printf("open %.3f\n", now() - start);
	printf("type+size %.3f\n", loading(snapshot, HEAP_COLUMN_TYPE | HEAP_COLUMN_SIZE));
	printf("address %.3f\n", loading(snapshot, HEAP_COLUMN_ADDRESS));
	printf("edges %.3f\n", loading(snapshot, HEAP_COLUMN_EDGES));
	printf("rest %.3f\n", loading(snapshot, HEAP_COLUMN_ALL));
	start = now();
	for (heap_object_id i = 0; options.content && i < snapshot->object_count; i++) {
		uint8_t buffer[256];
		size_t kept;

		check(heap_snapshot_read_content(snapshot, i, buffer, sizeof(buffer), &kept));
	}
	printf("contents %.3f\n", now() - start);
	heap_snapshot_close(snapshot);
}

static void parse_options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "n:e:c:prws:o:")) != -1) {
		switch (option) {
		case 'n':
			options.objects = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'e':
			options.edges = strtod(optarg, NULL);
			break;
		case 'c':
			options.content = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			options.random = true;
			break;
		case 'p':
			options.program = true;
			break;
		case 's':
			options.number = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'w':
			options.write_only = true;
			break;
		case 'o':
			options.file = optarg;
			break;
		default:
			fprintf(stderr, "usage: generate [-n OBJECTS] [-e EDGES PER OBJECT] "
					"[-c CONTENT BYTES] [-p | -r]\n"
					"                [-s NUMBER] [-o FILE [-w]]\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct heap_snapshot *snapshot = need(calloc(1, sizeof(*snapshot)));
	char temporary[] = "/tmp/generate-XXXXXX";
	struct heap_stored_edges *edges;
	double start, seconds;
	int descriptor;

	parse_options(argc, argv);
	make_tables(snapshot);
	snapshot->object_count = options.objects;
	edge_first = need(calloc((size_t)options.objects + 2, sizeof(*edge_first)));
	if (options.program)
		count_pointers();
	find_pieces(&snapshot->types);
	descriptor = options.file ? open(options.file, O_RDWR | O_CREAT | O_TRUNC, 0600)
				  : mkstemp(temporary);
	if (descriptor < 0) {
		perror(options.file ? options.file : temporary);
		return 1;
	}
	check(heap_stored_edges_create(&edges));
	if (options.program)
		store_pointers(edges);
	else
		make_edges(edges);
	start = now();
	check(heap_snapshot_write(snapshot, descriptor,
				  &(struct heap_snapshot_source){
					  .content = options.content ? read_content : NULL,
					  .column = make_column,
					  .edges = edges,
					  .edge_flags = make_flags,
				  }));
	seconds = now() - start;
	printf("objects %u\n", snapshot->object_count);
	printf("edges_per_object %.2f\n",
	       (double)heap_stored_edges_count(edges) / snapshot->object_count);
	printf("write %.3f\n", seconds);
	printf("bytes_per_object %.2f\n",
	       (double)lseek(descriptor, 0, SEEK_END) / snapshot->object_count);
	heap_stored_edges_destroy(edges);
	heap_snapshot_close(snapshot);
	if (!options.write_only)
		reread(options.file ? options.file : temporary);
	close(descriptor);
	if (!options.file)
		unlink(temporary);
	return 0;
}
