// SPDX-License-Identifier: GPL-3.0-or-later
// Makes a snapshot of invented objects, writes it, opens it, loads it, and says how long each
// took: the snapshot file alone, without a program, its pages or its debug information.
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
#include "lib/snapshot/snapshot.h"

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
	REPLACED = 50, // one in so many, from one snapshot to the next
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

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t below(uint64_t limit)
{
	return next_random() % limit;
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

// Goes through all pointers, by target; the same ones each time.
static void each_pointer(void (*visit)(struct heap_snapshot *snapshot, heap_object_id source,
				       heap_object_id target),
			 struct heap_snapshot *snapshot)
{
	uint64_t before = state;

	state = 0x2545f4914f6cdd1d;
	for (heap_object_id i = 0; i < options.objects; i++) {
		heap_object_id holder = holder_of(i);
		double others = options.edges - 0.97;

		if (holder != HEAP_NO_OBJECT)
			visit(snapshot, holder, i);
		while (others > 0 && (others >= 1 || below(1000) < (uint64_t)(others * 1000))) {
			visit(snapshot, i, other_target(i, holder));
			others--;
		}
	}
	state = before;
}

static void count_pointer(struct heap_snapshot *snapshot, heap_object_id source,
			  heap_object_id target)
{
	(void)target;
	snapshot->edge_first[source + 1]++;
}

static void write_pointer(struct heap_snapshot *snapshot, heap_object_id source,
			  heap_object_id target)
{
	uint32_t edge = snapshot->edge_first[source]++;

	snapshot->edge_target[edge] = target;
	snapshot->edge_flags[edge] = snapshot->type[source] ? HEAP_EDGE_TYPED : 0;
	snapshot->edge_interior[edge] = edge % 50 == 0 ? 16 : 0;
}

static void count_pointers(struct heap_snapshot *snapshot)
{
	snapshot->edge_first = need(calloc((size_t)options.objects + 2, 4));
	each_pointer(count_pointer, snapshot);
	for (heap_object_id i = 0; i < options.objects; i++)
		snapshot->edge_first[i + 1] += snapshot->edge_first[i];
	snapshot->edge_count = snapshot->edge_first[options.objects];
}

static void write_pointers(struct heap_snapshot *snapshot)
{
	uint32_t *first = snapshot->edge_first;

	snapshot->edge_target = need(malloc((size_t)snapshot->edge_count * 4 + 1));
	snapshot->edge_slot = need(malloc((size_t)snapshot->edge_count * 4 + 1));
	snapshot->edge_interior = need(malloc((size_t)snapshot->edge_count * 4 + 1));
	snapshot->edge_flags = need(malloc((size_t)snapshot->edge_count + 1));
	each_pointer(write_pointer, snapshot);
	memmove(first + 1, first, (size_t)options.objects * sizeof(*first));
	first[0] = 0;
	for (heap_object_id i = 0; i < options.objects; i++) {
		for (uint32_t j = first[i]; j < first[i + 1]; j++)
			snapshot->edge_slot[j] = j - first[i];
	}
	// Objects outside containers are held by roots through one of the first objects.
	for (uint32_t i = 0; i < snapshot->root_edge_count; i++)
		snapshot->root_edges[i].target = i % options.objects;
}

// How many elements an object must have for its pointers to lie in it.
static uint64_t enough_elements(const struct heap_snapshot *snapshot, heap_object_id object,
				uint64_t element)
{
	uint64_t pointers =
		options.program ? snapshot->edge_first[object + 1] - snapshot->edge_first[object]
				: 0;

	return element ? (pointers * 8 + element - 1) / element : 1;
}

// --- objects -----------------------------------------------------------------

static void make_objects(struct heap_snapshot *snapshot)
{
	uint32_t count = options.objects;
	uint64_t address = 0x555555560010;
	uint32_t site = 0, left = 0;

	snapshot->object_count = count;
	snapshot->address = need(malloc(((size_t)count + 1) * sizeof(*snapshot->address)));
	snapshot->size = need(malloc(((size_t)count + 1) * sizeof(*snapshot->size)));
	snapshot->type = need(malloc(((size_t)count + 1) * sizeof(*snapshot->type)));
	snapshot->elements = need(malloc(((size_t)count + 1) * sizeof(*snapshot->elements)));
	snapshot->evidence = need(malloc((size_t)count + 1));
	snapshot->site = need(malloc(((size_t)count + 1) * sizeof(*snapshot->site)));
	snapshot->birth = need(malloc(((size_t)count + 1) * sizeof(*snapshot->birth)));
	for (uint32_t i = 0; i < count; i++) {
		if (options.random || left-- == 0) {
			site = (uint32_t)(below(SITES) * below(SITES) / SITES);
			left = (uint32_t)below(40);
		}

		heap_type_id type = site % 10 == 0 ? HEAP_NO_TYPE : 3 + site % (TYPES - 3);
		uint64_t element = type ? snapshot->types.types[type].size : 0;
		uint64_t elements = site % 7 == 0 && type ? 1 + below(20) : 1;
		uint64_t enough = enough_elements(snapshot, i, element);

		elements = elements < enough ? enough : elements;

		snapshot->address[i] = address;
		snapshot->size[i] = type && !options.random ? elements * element : 16 + below(512);
		if (options.program && !type)
			snapshot->size[i] += enough_elements(snapshot, i, 8) * 8;
		snapshot->type[i] = type;
		snapshot->elements[i] = elements;
		snapshot->evidence[i] = type ? (uint8_t)(1 + site % 6) : HEAP_EVIDENCE_NONE;
		snapshot->site[i] = site;
		snapshot->birth[i] =
			(uint32_t)(options.random ? below(EPOCHS) : (i / 5000 + below(4)) % EPOCHS);
		if (i % REPLACED < options.number)
			snapshot->birth[i] = EPOCHS + i % REPLACED;
		// Header and chunk: as libheapsnap.so and glibc lay blocks out.
		address += (snapshot->size[i] + 8 + 16 + 15) / 16 * 16;
		if (below(10) == 0)
			address += 16 * below(40);
	}
}

// Edges of one object: at ascending slots, to near or far objects.
static void make_edges_of(struct heap_snapshot *snapshot, heap_object_id object, uint32_t wanted)
{
	uint32_t slots = (uint32_t)(snapshot->size[object] / 8);
	uint32_t slot = 0;

	for (uint32_t i = 0; i < wanted && slot < slots; i++) {
		uint32_t edge = snapshot->edge_count++;
		uint64_t target = below(options.objects);

		if (!options.random && below(2) && object > 100)
			target = object - below(100);
		snapshot->edge_slot[edge] = slot;
		snapshot->edge_target[edge] = (heap_object_id)target;
		snapshot->edge_interior[edge] = below(20) == 0 ? 16 : 0;
		snapshot->edge_flags[edge] = snapshot->type[object] ? HEAP_EDGE_TYPED : 0;
		slot += 1 + (uint32_t)below(3);
	}
}

static void make_edges(struct heap_snapshot *snapshot)
{
	size_t capacity = (size_t)((double)options.objects * (options.edges + 1)) + 100;
	double owed = 0;

	snapshot->edge_first = need(malloc(((size_t)options.objects + 1) * 4));
	snapshot->edge_target = need(malloc(capacity * 4));
	snapshot->edge_slot = need(malloc(capacity * 4));
	snapshot->edge_interior = need(malloc(capacity * 4));
	snapshot->edge_flags = need(malloc(capacity));
	for (uint32_t i = 0; i < options.objects; i++) {
		// From 0 to twice the mean, and the mean all in all.
		double wanted = (double)below(1000) / 1000 * 2 * options.edges + owed;

		snapshot->edge_first[i] = snapshot->edge_count;
		wanted = wanted > (double)(capacity - 100 - snapshot->edge_count) ? 0 : wanted;
		make_edges_of(snapshot, i, (uint32_t)wanted);
		owed = wanted - (double)(snapshot->edge_count - snapshot->edge_first[i]);
		owed = owed > 4 ? 4 : owed;
	}
	snapshot->edge_first[options.objects] = snapshot->edge_count;
}

// Half of it like numbers and pointers, half like text.
static struct heap_error *read_content(void *context, heap_object_id object, uint64_t address,
				       uint8_t *buffer, size_t size)
{
	(void)context;
	(void)address;
	for (size_t i = 0; i < size; i++)
		buffer[i] = object % 2  ? (uint8_t)("etaoin shrdlu"[below(13)])
			    : i % 8 < 3 ? (uint8_t)next_random()
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
	double start, seconds;
	int descriptor;

	parse_options(argc, argv);
	make_tables(snapshot);
	if (options.program)
		count_pointers(snapshot);
	make_objects(snapshot);
	if (options.program)
		write_pointers(snapshot);
	else
		make_edges(snapshot);
	descriptor = options.file ? open(options.file, O_RDWR | O_CREAT | O_TRUNC, 0600)
				  : mkstemp(temporary);
	if (descriptor < 0) {
		perror(options.file ? options.file : temporary);
		return 1;
	}
	start = now();
	check(heap_snapshot_write(snapshot, descriptor,
				  &(struct heap_snapshot_source){
					  .content = options.content ? read_content : NULL }));
	seconds = now() - start;
	printf("objects %u\n", snapshot->object_count);
	printf("edges_per_object %.2f\n", (double)snapshot->edge_count / snapshot->object_count);
	printf("write %.3f\n", seconds);
	printf("bytes_per_object %.2f\n",
	       (double)lseek(descriptor, 0, SEEK_END) / snapshot->object_count);
	heap_snapshot_close(snapshot);
	if (!options.write_only)
		reread(options.file ? options.file : temporary);
	close(descriptor);
	if (!options.file)
		unlink(temporary);
	return 0;
}
