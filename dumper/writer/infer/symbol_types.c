// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbol_types.h"

#include "dumper/writer/infer/constructors.h"
#include "dumper/writer/infer/library_types.h"
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

// --- rules --------------------------------------------------------------------

enum form {
	FORM_ONE,
	FORM_ARRAY,
	FORM_DEQUE, // of a deque: elements, or the map of pointers to them
};

struct rule {
	const char *template; // name up to its "<"
	const char *method;   // beginning of the function's name in it; "": any
	const char *made;     // see library_types_substitute()
	enum form form;
};

#define HASH_NODE "std::__detail::_Hash_node<$1, $C>"
#define BUCKET "std::__detail::_Hash_node_base*"

// The first one that agrees counts. libstdc++, libc++, Rust's alloc.
static const struct rule rules[] = {
	{ "std::__new_allocator<", "allocate", "$0", FORM_ARRAY },
	{ "__gnu_cxx::new_allocator<", "allocate", "$0", FORM_ARRAY },
	{ "std::allocator<", "allocate", "$0", FORM_ARRAY },
	{ "std::__cxx11::basic_string<", "", "$0", FORM_ARRAY },
	{ "std::vector<bool", "", "unsigned long", FORM_ARRAY },
	{ "std::vector<", "", "$0", FORM_ARRAY },
	{ "std::_Vector_base<", "", "$0", FORM_ARRAY },
	{ "std::_Rb_tree<", "", "std::_Rb_tree_node<$1>", FORM_ONE },
	{ "std::_Hashtable<", "_M_rehash", BUCKET, FORM_ARRAY },
	{ "std::_Hashtable<", "_M_allocate_buckets", BUCKET, FORM_ARRAY },
	{ "std::_Hashtable<", "_M_insert_unique_node", BUCKET, FORM_ARRAY },
	{ "std::_Hashtable<", "_M_insert_multi_node", BUCKET, FORM_ARRAY },
	{ "std::_Hashtable<", "_Hashtable", BUCKET, FORM_ARRAY },
	{ "std::_Hashtable<", "", HASH_NODE, FORM_ONE },
	{ "std::__detail::_Map_base<", "", HASH_NODE, FORM_ONE },
	{ "std::__detail::_Insert_base<", "", HASH_NODE, FORM_ONE },
	{ "std::__detail::_Insert<", "", HASH_NODE, FORM_ONE },
	{ "std::__detail::_Hashtable_alloc<", "_M_allocate_buckets", BUCKET, FORM_ARRAY },
	{ "std::__detail::_Hashtable_alloc<", "", "$A", FORM_ONE },
	{ "std::__cxx11::list<", "", "std::_List_node<$0>", FORM_ONE },
	{ "std::__cxx11::_List_base<", "", "std::_List_node<$0>", FORM_ONE },
	{ "std::forward_list<", "", "std::_Fwd_list_node<$0>", FORM_ONE },
	{ "std::_Fwd_list_base<", "", "std::_Fwd_list_node<$0>", FORM_ONE },
	{ "std::deque<", "_M_reallocate_map", "$0*", FORM_ARRAY },
	{ "std::_Deque_base<", "_M_allocate_map", "$0*", FORM_ARRAY },
	{ "std::deque<", "", "$0", FORM_DEQUE },
	{ "std::_Deque_base<", "", "$0", FORM_DEQUE },
	{ "std::make_unique<", "", "$0", FORM_ONE },
	{ "std::_Function_base::_Base_manager<", "", "$0", FORM_ONE },
	{ "std::__1::allocator<", "allocate", "$0", FORM_ARRAY },
	{ "std::__1::basic_string<", "", "$0", FORM_ARRAY },
	{ "std::__1::vector<", "", "$0", FORM_ARRAY },
	{ "std::__1::__split_buffer<", "", "$0", FORM_ARRAY },
	{ "std::__1::__tree<", "", "std::__1::__tree_node<$0, void*>", FORM_ONE },
	{ "std::__1::list<", "", "std::__1::__list_node<$0, void*>", FORM_ONE },
	{ "std::__1::__hash_table<", "__rehash", "void*", FORM_ARRAY },
	{ "std::__1::__hash_table<", "__do_rehash", "void*", FORM_ARRAY },
	{ "std::__1::__hash_table<", "", "std::__1::__hash_node<$0, void*>", FORM_ONE },
	{ "alloc::raw_vec::RawVec<", "", "$0", FORM_ARRAY },
	{ "alloc::vec::Vec<", "", "$0", FORM_ARRAY },
	{ "alloc::boxed::Box<", "new", "$0", FORM_ONE },
};

// A function of the standard library, and what it makes.
struct match {
	const struct rule *rule;
	const char *instance; // of the rule's template
	size_t length;
};

// The name of a method of a template's instance; "" if the function is an instance itself.
static const char *method_of(const char *name, size_t length)
{
	return strncmp(name + length, "::", 2) == 0 ? name + length + 2 : "";
}

static bool find_rule(const char *name, struct match *match)
{
	name += *name == '<'; // Rust: <alloc::vec::Vec<T>>::push
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *rule = &rules[i];
		size_t length;

		if (strncmp(name, rule->template, strlen(rule->template)) != 0)
			continue;
		length = heap_template_length(name);
		if (length == 0 ||
		    strncmp(method_of(name, length), rule->method, strlen(rule->method)) != 0)
			continue;
		*match = (struct match){ rule, name, length };
		return true;
	}
	return false;
}

// --- what each kind is --------------------------------------------------------

struct finding {
	struct capture *capture;
	struct library_types *library;
	struct constructors *constructors;
	struct made *made; // [kinds of objects]
	uint32_t *count;   // [kinds of objects] how many objects there are of each
	const heap_type_id *classes;
};

// The type of the blocks of a kind, or of their elements.
struct made {
	heap_type_id type;
	enum form form;
};

// What the code on the way to a kind's blocks tells.
struct telling {
	struct match match;   // a function of the standard library; rule is NULL: none
	char class[MAX_NAME]; // whose constructor is called; "": none
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
	if (find_rule(finding->capture->strings.bytes + function, &telling->match))
		return true;
	if (*use == CONSTRUCTOR_RETURNED)
		*use = constructors_follow(finding->constructors, address,
					   finding->capture->objects.kinds.list[kind].size,
					   telling->class, sizeof(telling->class));
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
static struct heap_error *apply_match(struct finding *finding, const struct match *match,
				      struct made *made)
{
	char name[MAX_NAME], instance[MAX_NAME];

	if (match->length >= sizeof(instance))
		return NULL;
	memcpy(instance, match->instance, match->length);
	instance[match->length] = '\0';

	size_t length = library_types_substitute(match->rule->made, instance, match->length, name,
						 sizeof(name));

	made->form = match->rule->form;
	// std::make_unique<T []>
	if (length > 2 && strcmp(name + length - 2, "[]") == 0) {
		made->form = FORM_ARRAY;
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
	made->form = FORM_ONE;
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
		if (finding->made[i].type != type || finding->made[i].form != FORM_ONE)
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

		if (made->type == HEAP_NO_TYPE || made->form != FORM_ONE ||
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

HEAP_MUST_CHECK
static struct heap_error *note_pointee(struct learning *learning, heap_type_id type,
				       heap_object_id target, bool is_start)
{
	const struct finding *finding = learning->finding;
	const struct made *made = &finding->made[finding->capture->objects.kind[target]];
	uint64_t size = objects_size(&finding->capture->objects, target);
	struct pointee *pointee = NULL;

	// It leads to an array of them.
	if (made->type == type && made->form != FORM_ONE)
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

	return type != HEAP_NO_TYPE ? type
				    : finding->made[finding->capture->objects.kind[object]].type;
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
		if (type_of(finding, i) != HEAP_NO_TYPE && seen[objects->kind[i]]++ < LOOKED_AT)
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

// --- all kinds ----------------------------------------------------------------

// Decides the type of a kind, by its size.
HEAP_MUST_CHECK
static struct heap_error *decide(struct finding *finding, uint32_t kind, struct symbol_type *result)
{
	const struct made *made = &finding->made[kind];
	const struct heap_types *types = &finding->capture->snapshot.types;
	uint64_t size = finding->capture->objects.kinds.list[kind].size;
	uint64_t each = heap_types_size(types, made->type);
	bool is_node =
		made->form == FORM_DEQUE && size >= LEAST_DEQUE_NODE &&
		(each == 0 ? size <= DEQUE_BYTES
			   : size == (each < DEQUE_BYTES ? DEQUE_BYTES / each * each : each));

	if (made->type == HEAP_NO_TYPE)
		return NULL;
	if (made->form == FORM_ONE) {
		if (size == (each ? each : find_common_size(finding, made->type)))
			*result = (struct symbol_type){ made->type, 1 };
		return NULL;
	}
	if (made->form == FORM_DEQUE && !is_node) {
		result->elements = size / 8;
		return heap_types_add(&finding->capture->snapshot.types,
				      &(struct heap_type){ .kind = HEAP_TYPE_POINTER,
							   .size = 8,
							   .target = made->type },
				      &result->type);
	}
	if (each == 0) {
		result->elements = 1;
		return library_types_add_array(finding->library, made->type, &result->type);
	}
	if (size % each == 0)
		*result = (struct symbol_type){ made->type, size / each };
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
		finding->count[objects->kind[i]]++;
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
	CLEANUP(finding_deinit) struct finding finding = { .capture = capture, .classes = classes };

	if (!has_unknown_code(capture))
		return NULL;
	finding.made = made = calloc(kinds, sizeof(*made));
	finding.count = count = calloc(kinds, sizeof(*count));
	if (!made || !count)
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
		const struct symbol_type *made = &symbols->of[objects->kind[i]];

		if (made->type != HEAP_NO_TYPE)
			HEAP_TRY(claims_add(claims, RANK_EXACT,
					    &(struct claim){ i, made->type, made->elements,
							     HEAP_EVIDENCE_SITE, true }));
	}
	return NULL;
}
