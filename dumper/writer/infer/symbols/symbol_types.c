// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/symbol_types.h"

#include "dumper/writer/infer/sites/constructors.h"
#include "dumper/writer/infer/symbols/library_rules.h"
#include "dumper/writer/infer/symbols/library_types.h"
#include "dumper/writer/infer/symbols/node_types.h"
#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/sites.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/types/templates.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_NAME = 4096,
	MAX_FRAMES = 64,        // of the library, above the program's
	DEQUE_BYTES = 512,      // of a node of a deque, whatever is in it
	LEAST_DEQUE_NODE = 257, // one element for each; two would fit into less
	LOOKED_AT = 64,         // blocks of each kind
	AGREEMENT = 90,         // per cent of pointers to a class that lead to blocks of one size
};

// --- what each kind is --------------------------------------------------------

struct finding {
	struct capture *capture;
	struct library_types *library;
	struct constructors *constructors;
	struct made *made; // [kinds of objects]
	uint32_t *count;   // [kinds of objects] how many objects there are of each
	const heap_type_id *classes;
	heap_type_id
		*pointed; // [kinds of objects] the class that pointers lead to; NO_CLASS: several
};

#define NO_CLASS UINT32_MAX

// The type of the blocks of a kind, or of their elements.
struct made {
	heap_type_id type;
	enum library_form form;
	bool is_found;       // by the containers that they are parts of, not by symbols
	bool is_constructed; // by a constructor's symbol
	bool is_doubtful;    // debug information may describe them better
};

// The evidence of the code on the way to the blocks of a kind.
struct telling {
	struct library_match match; // a function of the standard library; rule is NULL: none
	char class[MAX_NAME];       // whose constructor is called; "": none
};

/*
 * Visits a function on the way to a kind's blocks.
 *
 * @param use  gets what it does with the block; once that is not known, no code tells more
 * @return true if it tells what they are
 */
static bool visit_call(const struct finding *finding, uint32_t kind, uint32_t function,
		       uint64_t address, enum constructor_use *use, struct telling *telling)
{
	if (library_rules_find(finding->capture->strings.bytes + function, &telling->match))
		return true;
	if (*use == CONSTRUCTOR_RETURNED)
		*use = constructors_follow(finding->constructors, address,
					   finding->capture->objects.kinds.list[kind].size,
					   telling->class, sizeof(telling->class), NULL);
	return *use == CONSTRUCTOR_CALLED;
}

// Finds the innermost function on the way to a kind's blocks that tells what it makes. Those of the
// standard library count, and the first of the program.
static bool find_telling(const struct finding *finding, uint32_t kind, struct telling *telling)
{
	const struct capture *capture = finding->capture;
	const uint32_t *of_kind = capture->backtraces.of_kind;
	const struct heap_site *site = &capture->snapshot.sites[capture->site_of_kind[kind]];
	uint32_t step = of_kind ? of_kind[kind] / 2 : 0;
	enum constructor_use use = CONSTRUCTOR_RETURNED;

	telling->match.rule = NULL;
	if (step == 0)
		return visit_call(finding, kind, site->function, site->address, &use, telling);
	for (int i = 0; i < MAX_FRAMES && step > 0; i++) {
		const struct heap_call *call =
			&capture->snapshot.calls[capture->snapshot.steps[step].call];

		if (visit_call(finding, kind, call->function, call->address, &use, telling))
			return true;
		if (call->address == site->address)
			return false;
		step = capture->snapshot.steps[step].caller;
	}
	return false;
}

// Takes what an instance of a template of the standard library makes.
HEAP_MUST_CHECK
static struct heap_error *apply_match(struct finding *finding, const struct library_match *match,
				      struct made *made)
{
	char name[MAX_NAME];
	size_t length = library_rules_made(match, name, sizeof(name));

	made->form = match->rule->form;
	// std::make_unique<T []>
	if (length > 2 && strcmp(name + length - 2, "[]") == 0) {
		made->form = LIBRARY_ARRAY;
		length -= 2;
	}
	return library_types_find(finding->library, name, length, &made->type);
}

HEAP_MUST_CHECK
static struct heap_error *find_made(struct finding *finding, uint32_t kind)
{
	struct telling telling;
	struct made *made = &finding->made[kind];

	if (!find_telling(finding, kind, &telling))
		return NULL;
	if (telling.match.rule)
		return apply_match(finding, &telling.match, made);
	made->form = LIBRARY_ONE;
	made->is_constructed = true;
	return library_types_find(finding->library, telling.class, strlen(telling.class),
				  &made->type);
}

HEAP_MUST_CHECK
static struct heap_error *find_all_made(struct finding *finding)
{
	const struct capture *capture = finding->capture;

	for (uint32_t i = 0; i < capture->objects.kinds.count; i++) {
		if (sites_has_types(capture, capture->site_of_kind[i]))
			continue;
		HEAP_TRY(find_made(finding, i));
	}
	return NULL;
}

// --- sizes of the program's classes -------------------------------------------

// The size of nearly all blocks that are one of a type; 0 if they do not agree.
static uint64_t find_common_size(const struct finding *finding, heap_type_id type)
{
	const struct object_kinds *kinds = &finding->capture->objects.kinds;
	uint64_t size = 0, all = 0, best = 0;

	for (uint32_t i = 0; i < kinds->count; i++) {
		if (finding->made[i].type != type || finding->made[i].form != LIBRARY_ONE)
			continue;
		all += finding->count[i];
		if (finding->count[i] > best) {
			best = finding->count[i];
			size = kinds->list[i].size;
		}
	}
	return best * 100 >= all * AGREEMENT ? size : 0;
}

// A node that holds a class of unknown size tells it.
HEAP_MUST_CHECK
static struct heap_error *learn_from_nodes(struct finding *finding)
{
	for (uint32_t i = 0; i < finding->capture->objects.kinds.count; i++) {
		const struct made *made = &finding->made[i];

		if (made->type == HEAP_NO_TYPE || made->form != LIBRARY_ONE ||
		    heap_types_size(&finding->capture->snapshot.types, made->type) > 0)
			continue;
		HEAP_TRY(library_types_set_size(finding->library, made->type,
						find_common_size(finding, made->type)));
		HEAP_TRY(library_types_complete(finding->library));
	}
	return NULL;
}

// The targets of pointers to one class.
struct pointee {
	heap_type_id type;
	uint64_t size;         // of the first block
	uint32_t agree, other; // blocks of that size, and others
};

struct pointees HEAP_ARRAY(struct pointee);

struct learning {
	const struct finding *finding;
	struct pointees pointees;
	heap_object_id object;
	struct heap_error *error;
	uint64_t start; // of the current element
};

// Notes the class that a pointer says the blocks of a kind are.
static void note_pointed(const struct finding *finding, heap_object_id target, heap_type_id class)
{
	heap_type_id *known = &finding->pointed[objects_kind(&finding->capture->objects, target)];

	*known = *known == HEAP_NO_TYPE || *known == class ? class : NO_CLASS;
}

HEAP_MUST_CHECK
static struct heap_error *note_pointee(struct learning *learning, heap_type_id type,
				       heap_object_id target, bool is_start)
{
	const struct finding *finding = learning->finding;
	const struct made *made = &finding->made[objects_kind(&finding->capture->objects, target)];
	uint64_t size = objects_size(&finding->capture->objects, target);
	struct pointee *pointee = NULL;

	// It leads to an array of them.
	if (made->type == type && made->form != LIBRARY_ONE)
		return NULL;
	for (size_t i = 0; i < learning->pointees.count && !pointee; i++) {
		if (learning->pointees.items[i].type == type)
			pointee = &learning->pointees.items[i];
	}
	if (!pointee) {
		HEAP_TRY(heap_array_append(&learning->pointees,
					   (struct pointee){ .type = type, .size = size }));
		pointee = &learning->pointees.items[learning->pointees.count - 1];
	}
	if (is_start && size == pointee->size && finding->classes[target] == HEAP_NO_TYPE)
		pointee->agree++;
	else
		pointee->other++;
	note_pointed(finding, target, is_start ? type : NO_CLASS);
	return NULL;
}

static bool visit_pointer(void *context, uint64_t offset, heap_type_id pointer)
{
	struct learning *learning = context;
	const struct finding *finding = learning->finding;
	const struct capture *capture = finding->capture;
	heap_type_id target = capture->snapshot.types.types[pointer].target;
	uint32_t edge =
		heap_edge_at(&capture->snapshot, learning->object, learning->start + offset);

	if (!library_types_is_opaque(finding->library, target) || edge == UINT32_MAX)
		return true;
	learning->error = note_pointee(learning, target, capture->snapshot.edge_target[edge],
				       capture->snapshot.edge_interior[edge] == 0);
	return !learning->error;
}

// The known type of an object. Its vtable is better evidence than the function that allocated it.
static heap_type_id type_of(const struct finding *finding, heap_object_id object)
{
	heap_type_id type = finding->classes[object];

	return type != HEAP_NO_TYPE
		       ? type
		       : finding->made[objects_kind(&finding->capture->objects, object)].type;
}

HEAP_MUST_CHECK
static struct heap_error *look_at(struct learning *learning, heap_object_id object)
{
	const struct capture *capture = learning->finding->capture;
	heap_type_id type = type_of(learning->finding, object);
	uint64_t stride = heap_types_size(&capture->snapshot.types, type);
	uint64_t size = objects_size(&capture->objects, object);

	learning->object = object;
	for (uint64_t i = 0; i < LOOKED_AT && stride > 0 && (i + 1) * stride <= size; i++) {
		learning->start = i * stride;
		heap_types_visit_pointers(&capture->snapshot.types, type, visit_pointer, learning);
		HEAP_TRY(learning->error);
	}
	return NULL;
}

static void learning_deinit(struct learning *learning)
{
	heap_array_deinit(&learning->pointees);
}

// The blocks that pointers to a class lead to tell its size, if they agree.
HEAP_MUST_CHECK
static struct heap_error *learn_from_pointers(struct finding *finding)
{
	const struct objects *objects = &finding->capture->objects;
	CLEANUP_FREE uint32_t *seen = calloc((size_t)objects->kinds.count + 1, sizeof(*seen));
	CLEANUP(learning_deinit) struct learning learning = { .finding = finding };

	if (!seen)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects->count; i++) {
		if (type_of(finding, i) != HEAP_NO_TYPE &&
		    seen[objects_kind(objects, i)]++ < LOOKED_AT)
			HEAP_TRY(look_at(&learning, i));
	}
	for (size_t i = 0; i < learning.pointees.count; i++) {
		const struct pointee *pointee = &learning.pointees.items[i];

		if (pointee->agree * 100 >= (pointee->agree + pointee->other) * AGREEMENT)
			HEAP_TRY(library_types_set_size(finding->library, pointee->type,
							pointee->size));
	}
	return library_types_complete(finding->library);
}

// --- parts of containers ------------------------------------------------------

// The types of single blocks, by kind.
HEAP_MUST_CHECK
static struct heap_error *find_singles(const struct finding *finding, heap_type_id **result)
{
	size_t kinds = finding->capture->objects.kinds.count;
	heap_type_id *singles = *result = calloc(kinds + 1, sizeof(*singles));

	for (size_t i = 0; singles && i < kinds; i++) {
		if (finding->made[i].type == HEAP_NO_TYPE)
			singles[i] = finding->pointed[i] == NO_CLASS ? HEAP_NO_TYPE
								     : finding->pointed[i];
		else if (finding->made[i].form == LIBRARY_ONE)
			singles[i] = finding->made[i].type;
	}
	return singles ? NULL : heap_error_out_of_memory();
}

// Takes the types of parts of containers for kinds that have none by symbols.
static void take_parts(struct finding *finding, const struct node_types *found)
{
	for (uint32_t i = 0; i < finding->capture->objects.kinds.count; i++) {
		struct made *made = &finding->made[i];
		uint8_t part = found->part[i];

		if (made->type != HEAP_NO_TYPE || found->result[i] == HEAP_NO_TYPE)
			continue;
		made->type = found->result[i];
		made->form = part == CONTAINER_TEXT || part == CONTAINER_BUCKETS ? LIBRARY_ARRAY
										 : LIBRARY_ONE;
		made->is_found = true;
		made->is_doubtful = found->is_doubtful[i];
	}
}

static void nodes_deinit(struct container_nodes *nodes)
{
	container_nodes_deinit(nodes);
}

HEAP_MUST_CHECK
static struct heap_error *find_parts(struct finding *finding)
{
	struct capture *capture = finding->capture;
	size_t kinds = (size_t)capture->objects.kinds.count + 1;
	CLEANUP_FREE bool *is_wanted = calloc(kinds, sizeof(*is_wanted));
	CLEANUP_FREE bool *is_doubtful = calloc(kinds, sizeof(*is_doubtful));
	CLEANUP_FREE uint8_t *part = calloc(kinds, sizeof(*part));
	CLEANUP_FREE heap_type_id *result = calloc(kinds, sizeof(*result)), *singles = NULL;
	CLEANUP(nodes_deinit) struct container_nodes nodes = { 0 };

	if (!is_wanted || !is_doubtful || !part || !result)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < capture->objects.kinds.count; i++)
		is_wanted[i] = !sites_has_types(capture, capture->site_of_kind[i]);
	HEAP_TRY(find_singles(finding, &singles));
	HEAP_TRY(container_nodes_find(&nodes, capture, is_wanted));

	struct node_types found = { .capture = capture,
				    .library = finding->library,
				    .constructors = finding->constructors,
				    .nodes = &nodes,
				    .classes = finding->classes,
				    .singles = singles,
				    .count = finding->count,
				    .part = part,
				    .result = result,
				    .is_doubtful = is_doubtful };

	HEAP_TRY(node_types_find(&found));
	take_parts(finding, &found);
	return NULL;
}

// --- all kinds ----------------------------------------------------------------

// True if a deque's block of a size is a node, not the map of these. @param each  bytes of an element; 0: not known
static bool is_deque_node(uint64_t size, uint64_t each)
{
	if (size < LEAST_DEQUE_NODE)
		return false;
	return each == 0 ? size <= DEQUE_BYTES
			 : size == (each < DEQUE_BYTES ? DEQUE_BYTES / each * each : each);
}

// Decides the type of a kind, by its size.
HEAP_MUST_CHECK
static struct heap_error *decide(struct finding *finding, uint32_t kind, struct symbol_type *result)
{
	const struct made *made = &finding->made[kind];
	const struct heap_types *types = &finding->capture->snapshot.types;
	uint64_t size = finding->capture->objects.kinds.list[kind].size;
	uint64_t each = heap_types_size(types, made->type);

	if (made->type == HEAP_NO_TYPE)
		return NULL;
	result->evidence = made->is_found ? HEAP_EVIDENCE_POINTER : HEAP_EVIDENCE_SITE;
	result->rank = RANK_EXACT;
	result->elements = 1;
	if (made->form == LIBRARY_ONE) {
		if (size == (each ? each : find_common_size(finding, made->type)))
			result->type = made->type;
		// A stale pointer is worse evidence than what made the node.
		if (each > 0 && !made->is_constructed)
			result->rank = made->is_doubtful ? RANK_EMBEDDED : RANK_TAG;
		return NULL;
	}
	if (made->form == LIBRARY_DEQUE && !is_deque_node(size, each)) {
		result->elements = size / 8;
		return library_types_add_pointer(finding->library, made->type, &result->type);
	}
	if (each == 0)
		return library_types_add_array(finding->library, made->type, &result->type);
	result->elements = size / each;
	if (size % each == 0)
		result->type = made->type;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *decide_all(struct finding *finding, struct symbol_types *symbols)
{
	const struct objects *objects = &finding->capture->objects;

	symbols->of = calloc((size_t)objects->kinds.count + 1, sizeof(*symbols->of));
	if (!symbols->of)
		return heap_error_out_of_memory();
	HEAP_TRY(library_types_complete(finding->library));
	for (heap_object_id i = 0; i < objects->count; i++)
		finding->count[objects_kind(objects, i)]++;
	HEAP_TRY(learn_from_nodes(finding));
	HEAP_TRY(learn_from_pointers(finding));
	HEAP_TRY(find_parts(finding));
	HEAP_TRY(learn_from_nodes(finding));
	HEAP_TRY(learn_from_pointers(finding));
	for (uint32_t i = 0; i < objects->kinds.count; i++)
		HEAP_TRY(decide(finding, i, &symbols->of[i]));
	return NULL;
}

static bool has_unknown_code(const struct capture *capture)
{
	for (uint32_t i = 0; i < capture->objects.kinds.count; i++) {
		if (!sites_has_types(capture, capture->site_of_kind[i]))
			return true;
	}
	return false;
}

static void finding_deinit(struct finding *finding)
{
	library_types_destroy(finding->library);
	constructors_destroy(finding->constructors);
}

struct heap_error *symbol_types_init(struct symbol_types *symbols, struct capture *capture,
				     const heap_type_id *classes)
{
	size_t kinds = (size_t)capture->objects.kinds.count + 1;
	CLEANUP_FREE struct made *made = NULL;
	CLEANUP_FREE uint32_t *count = NULL;
	CLEANUP_FREE heap_type_id *pointed = NULL;
	CLEANUP(finding_deinit) struct finding finding = { .capture = capture, .classes = classes };

	if (!has_unknown_code(capture))
		return NULL;
	finding.made = made = calloc(kinds, sizeof(*made));
	finding.count = count = calloc(kinds, sizeof(*count));
	finding.pointed = pointed = calloc(kinds, sizeof(*pointed));
	if (!made || !count || !pointed)
		return heap_error_out_of_memory();
	HEAP_TRY(library_types_create(&capture->snapshot.types, &finding.library));
	HEAP_TRY(constructors_create(capture, &finding.constructors));
	HEAP_TRY(find_all_made(&finding));
	return decide_all(&finding, symbols);
}

void symbol_types_deinit(struct symbol_types *symbols)
{
	free(symbols->of);
	symbols->of = NULL;
}

struct heap_error *symbol_types_claim(const struct symbol_types *symbols,
				      const struct objects *objects, struct claims *claims)
{
	for (heap_object_id i = 0; symbols->of && i < objects->count; i++) {
		const struct symbol_type *made = &symbols->of[objects_kind(objects, i)];

		if (made->type != HEAP_NO_TYPE)
			HEAP_TRY(claims_add(claims, (enum rank)made->rank,
					    &(struct claim){ i, made->type, made->elements,
							     made->evidence, true }));
	}
	return NULL;
}
