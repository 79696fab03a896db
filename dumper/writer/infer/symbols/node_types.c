// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/node_types.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/symbols/library_rules.h"
#include "dumper/writer/infer/symbols/library_value_types.h"
#include "dumper/writer/scan/image/page_cache.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"
#include "lib/types/templates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORD = 8,
	MAX_NAME = 4096,
	MAX_SYMBOLS = 20000, // that are demangled
	MAX_WORDS = 64,      // of a node that are read
	MAX_FIELDS = 12,     // of a value whose type has no name
	SAMPLES = 64,        // nodes of each kind
	AGREEMENT = 90,      // per cent of a kind's blocks that are such nodes
	LEAST_ADDRESS = 65536,
};

// The templates of nodes, and how symbols show those of containers.
static const struct {
	const char *stdcxx, *libcxx; // up to the value's type
	const char *symbol, *other;  // mangled, of a container
} templates[CONTAINER_PARTS] = {
	[CONTAINER_TREE_NODE] = { "std::_Rb_tree_node<", "std::__1::__tree_node<", "8_Rb_treeI",
				  "6__treeI" },
	[CONTAINER_LIST_NODE] = { "std::_List_node<", "std::__1::__list_node<", "10_List_baseI",
				  "4listI" },
	[CONTAINER_HASH_NODE] = { "std::__detail::_Hash_node<", "std::__1::__hash_node<",
				  "10_HashtableI", "12__hash_tableI" },
};

// A node of a container whose instance has symbols.
struct instance {
	heap_type_id type;
	uint8_t part;
};

// A node that debug information describes.
struct known_node {
	uint64_t size;
	uint8_t part;
};

struct sample {
	uint64_t address;
	uint64_t words[MAX_WORDS];
};

struct search {
	struct node_types *node_types;
	struct heap_types *types;
	struct pages *pages;
	struct HEAP_ARRAY(struct instance) instances;
	size_t symbols; // that were demangled for these; more than MAX_SYMBOLS: there are others
	struct HEAP_ARRAY(struct sample) samples; // of the current kind
	struct HEAP_ARRAY(heap_type_id) called;   // instances with methods that its code calls
	heap_object_id *first; // [kinds] one of the kind's nodes, HEAP_NO_OBJECT: none
	heap_object_id *next;  // [objects] the next one of its kind
	struct library_values values;
	heap_type_id library[LIBRARY_VALUES]; // their types
	struct HEAP_ARRAY(struct known_node) known;
};

const char *node_types_template(enum container_part part, bool is_libcxx)
{
	return is_libcxx ? templates[part].libcxx : templates[part].stdcxx;
}

// --- instances by symbols ------------------------------------------------------

static enum container_part part_of_symbol(const char *symbol)
{
	for (int part = 0; part < CONTAINER_PARTS; part++) {
		if (templates[part].symbol && (strstr(symbol, templates[part].symbol) ||
					       strstr(symbol, templates[part].other)))
			return (enum container_part)part;
	}
	return CONTAINER_NONE;
}

// The node of the container that a function is a method of; its part is CONTAINER_NONE if there is none.
HEAP_MUST_CHECK
static struct heap_error *read_instance(const struct search *search, const char *symbol,
					struct instance *instance)
{
	CLEANUP_FREE char *function = heap_demangle(symbol);
	struct library_match match;
	char name[MAX_NAME];
	size_t length;

	*instance = (struct instance){ .part = CONTAINER_NONE };
	if (!function || !library_rules_find_node(function, &match))
		return NULL;
	length = library_rules_made(&match, name, sizeof(name));
	for (int part = 0; part < CONTAINER_PARTS; part++) {
		const char *template = node_types_template((enum container_part)part,
							   search->node_types->nodes->is_libcxx);

		if (template && strncmp(name, template, strlen(template)) == 0)
			instance->part = (uint8_t)part;
	}
	return library_types_find(search->node_types->library, name, length, &instance->type);
}

HEAP_MUST_CHECK
static struct heap_error *add_instance(struct search *search, const char *symbol)
{
	struct instance instance;

	HEAP_TRY(read_instance(search, symbol, &instance));
	for (size_t i = 0; i < search->instances.count; i++) {
		if (search->instances.items[i].type == instance.type)
			return NULL;
	}
	return instance.part != CONTAINER_NONE ? heap_array_append(&search->instances, instance)
					       : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *visit_call(void *context, const char *symbol)
{
	struct search *search = context;
	struct instance instance;

	if (part_of_symbol(symbol) == CONTAINER_NONE)
		return NULL;
	HEAP_TRY(read_instance(search, symbol, &instance));
	return instance.part != CONTAINER_NONE ? heap_array_append(&search->called, instance.type)
					       : NULL;
}

// Finds the instances that the code which allocates a kind of blocks calls methods of.
HEAP_MUST_CHECK
static struct heap_error *find_called(struct search *search, uint32_t kind)
{
	const struct capture *capture = search->node_types->capture;

	search->called.count = 0;
	return constructors_visit_calls(
		search->node_types->constructors,
		capture->snapshot.sites[capture->site_of_kind[kind]].address, visit_call, search);
}

static bool is_called(const struct search *search, heap_type_id type)
{
	size_t at = 0;

	while (at < search->called.count && search->called.items[at] != type)
		at++;
	return at < search->called.count;
}

HEAP_MUST_CHECK
static struct heap_error *find_instances(struct search *search)
{
	const struct modules *modules = &search->node_types->capture->modules;

	for (size_t i = 0; i < modules->count; i++) {
		const struct heap_elf_file *elf = modules->modules[i].elf;

		for (size_t j = 0; elf && j < elf->symbol_count; j++) {
			const struct heap_symbol *symbol = &elf->symbols[j];

			if (symbol->kind == HEAP_SYMBOL_FUNCTION &&
			    part_of_symbol(symbol->name) != CONTAINER_NONE &&
			    ++search->symbols <= MAX_SYMBOLS)
				HEAP_TRY(add_instance(search, symbol->name));
		}
	}
	return library_types_complete(search->node_types->library);
}

// --- contents ------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_samples(struct search *search, uint32_t kind)
{
	const struct objects *objects = &search->node_types->capture->objects;
	uint64_t size = objects->kinds.list[kind].size;
	heap_object_id node = search->first[kind];

	search->samples.count = 0;
	for (int i = 0; i < SAMPLES && node != HEAP_NO_OBJECT; i++, node = search->next[node]) {
		struct sample sample = { .address = objects_address(objects, node) };

		pages_read(search->pages, sample.address, sample.words,
			   size < sizeof(sample.words) ? size : sizeof(sample.words));
		HEAP_TRY(heap_array_append(&search->samples, sample));
	}
	return NULL;
}

// The type of the block that begins at an address, if that is known to be one value.
static heap_type_id single_at(const struct search *search, uint64_t address)
{
	const struct node_types *node_types = search->node_types;
	const struct objects *objects = &node_types->capture->objects;
	heap_object_id object = objects_find(objects, address);

	if (object == HEAP_NO_OBJECT || objects_address(objects, object) != address)
		return HEAP_NO_TYPE;
	return node_types->classes[object] != HEAP_NO_TYPE
		       ? node_types->classes[object]
		       : node_types->singles[objects_kind(objects, object)];
}

static bool is_address(const struct search *search, uint64_t word)
{
	return word >= LEAST_ADDRESS && image_find(&search->node_types->capture->image, word);
}

// The contents of nodes against the pointers of a type.
struct agreement {
	const struct search *search;
	const struct sample *sample;
	uint64_t value;   // where it begins
	bool contradicts; // a pointer leads elsewhere
	bool confirms;    // to a block that is known to be its target
};

static bool visit_pointer(void *context, uint64_t offset, heap_type_id pointer)
{
	struct agreement *agreement = context;
	const struct search *search = agreement->search;
	heap_type_id target = search->types->types[pointer].target;
	heap_type_id single;
	uint64_t word;

	if (offset < agreement->value || offset / WORD >= MAX_WORDS)
		return true;
	word = agreement->sample->words[offset / WORD];
	if (word == 0 || target == HEAP_NO_TYPE)
		return true;
	single = single_at(search, word);
	if (!is_address(search, word))
		agreement->contradicts = true;
	else if (single != HEAP_NO_TYPE && single == target)
		agreement->confirms = true;
	// A pointer to a base class leads to others.
	else if (single != HEAP_NO_TYPE &&
		 !(search->types->types[single].flags & HEAP_TYPE_POLYMORPHIC))
		agreement->contradicts = true;
	return !agreement->contradicts;
}

static struct agreement compare(const struct search *search, const struct instance *instance)
{
	struct agreement agreement = {
		.search = search,
		.value = container_nodes_value(search->node_types->nodes,
					       (enum container_part)instance->part),
	};

	for (size_t i = 0; i < search->samples.count && !agreement.contradicts; i++) {
		agreement.sample = &search->samples.items[i];
		heap_types_visit_pointers(search->types, instance->type, visit_pointer, &agreement);
	}
	return agreement;
}

// The only instance that the nodes can be of. One that is known need not be theirs.
static heap_type_id find_instance(const struct search *search, enum container_part part,
				  uint64_t size)
{
	heap_type_id result = HEAP_NO_TYPE;
	bool has_unknown = false;

	for (size_t i = 0; i < search->instances.count; i++) {
		const struct instance *instance = &search->instances.items[i];
		uint64_t own = heap_types_size(search->types, instance->type);
		struct agreement agreement;

		if (instance->part != part || (own != 0 && own != size))
			continue;
		has_unknown = has_unknown || own == 0;
		agreement = compare(search, instance);
		if (own == 0 || agreement.contradicts ||
		    (!agreement.confirms && !is_called(search, instance->type)))
			continue;
		if (result != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		result = instance->type;
	}
	return has_unknown || search->symbols > MAX_SYMBOLS ? HEAP_NO_TYPE : result;
}

// --- values without a name -----------------------------------------------------

// True if all nodes have a value of the library there.
static bool are_values(const struct search *search, enum library_value value, uint64_t word)
{
	bool is_proven = false;

	for (size_t i = 0; i < search->samples.count; i++) {
		const struct sample *sample = &search->samples.items[i];
		enum library_proof proof =
			library_values_check(&search->values, value, &sample->words[word],
					     sample->address + word * WORD);

		if (proof == LIBRARY_REFUTED)
			return false;
		is_proven = is_proven || proof == LIBRARY_PROVEN;
	}
	return is_proven;
}

// The value of the library that begins at a word; LIBRARY_VALUES: none. The classes of control blocks are not known yet.
static enum library_value find_value(const struct search *search, uint64_t at, uint64_t end)
{
	for (int value = 0; value < LIBRARY_VALUES; value++) {
		if (value != LIBRARY_SHARED &&
		    at + library_values_words(&search->values, (enum library_value)value) <= end &&
		    are_values(search, (enum library_value)value, at))
			return (enum library_value)value;
	}
	return LIBRARY_VALUES;
}

static bool are_pointers(const struct search *search, uint64_t word)
{
	size_t pointers = 0, zeros = 0;

	for (size_t i = 0; i < search->samples.count; i++) {
		zeros += search->samples.items[i].words[word] == 0;
		pointers += is_address(search, search->samples.items[i].words[word]);
	}
	return pointers > 0 && pointers + zeros == search->samples.count;
}

// Finds the type of the value's next field, and appends that to the value's name.
HEAP_MUST_CHECK
static struct heap_error *find_field(struct search *search, uint64_t at, uint64_t end, char *name,
				     size_t size, heap_type_id *type)
{
	const char *field = "long", *label = "long";
	enum library_value value = find_value(search, at, end);
	size_t length = strlen(name);

	if (value != LIBRARY_VALUES) {
		label = library_value_name(value);
	} else if (are_pointers(search, at)) {
		field = "void*";
		label = "ptr";
	}
	snprintf(name + length, size - length, "%s%s", length > 1 ? ", " : "", label);
	if (value != LIBRARY_VALUES) {
		*type = search->library[value];
		return NULL;
	}
	HEAP_TRY(library_types_find(search->node_types->library, field, strlen(field), type));
	return library_types_complete(search->node_types->library);
}

// Adds the type of a value by its contents, as "{std::string, ptr}".
HEAP_MUST_CHECK
static struct heap_error *add_value(struct search *search, uint64_t start, uint64_t size,
				    heap_type_id *result)
{
	struct heap_type type = { .kind = HEAP_TYPE_STRUCT, .size = size - start };
	struct heap_member members[MAX_FIELDS];
	char name[MAX_NAME] = "{", label[32];

	for (uint64_t at = start; at + WORD <= size && type.members < MAX_FIELDS;) {
		struct heap_member member = { .offset = at - start };

		HEAP_TRY(find_field(search, at / WORD, size / WORD, name, sizeof(name),
				    &member.type));
		snprintf(label, sizeof(label), "at_%" PRIu64, member.offset);
		HEAP_TRY(heap_types_add_string(search->types, label, &member.name));
		members[type.members++] = member;
		at += heap_types_size(search->types, member.type);
	}
	strcat(name, "}");
	HEAP_TRY(heap_types_add_string(search->types, name, &type.name));
	type.first_member = search->types->member_count;
	for (uint32_t i = 0; i < type.members; i++)
		HEAP_TRY(heap_types_add_member(search->types, &members[i]));
	return library_types_add(search->node_types->library, &type, result);
}

HEAP_MUST_CHECK
static struct heap_error *add_node(struct search *search, enum container_part part, uint64_t size,
				   heap_type_id *result)
{
	bool is_libcxx = search->node_types->nodes->is_libcxx;
	uint64_t start = container_nodes_value(search->node_types->nodes, part);
	heap_type_id value;
	char name[2 * MAX_NAME];

	if (size <= start || size > MAX_WORDS * WORD)
		return NULL;
	HEAP_TRY(add_value(search, start, size, &value));
	snprintf(name, sizeof(name), "%s%s%s>", node_types_template(part, is_libcxx),
		 heap_types_string(search->types, search->types->types[value].name),
		 is_libcxx ? ", void*" : "");
	HEAP_TRY(library_types_find(search->node_types->library, name, strlen(name), result));
	return library_types_complete(search->node_types->library);
}

// A list's value of one word, if that leads to one class alone: List_node<Order*>.
HEAP_MUST_CHECK
static struct heap_error *add_list_of_pointers(struct search *search, uint64_t size,
					       heap_type_id *result)
{
	uint64_t at = container_nodes_value(search->node_types->nodes, CONTAINER_LIST_NODE) / WORD;
	heap_type_id target = HEAP_NO_TYPE;
	char name[MAX_NAME];

	for (size_t i = 0; i < search->samples.count && size == (at + 1) * WORD; i++) {
		heap_type_id single = single_at(search, search->samples.items[i].words[at]);

		if (single == HEAP_NO_TYPE || (i > 0 && single != target) ||
		    (search->types->types[single].flags & HEAP_TYPE_POLYMORPHIC))
			return NULL;
		target = single;
	}
	if (target == HEAP_NO_TYPE)
		return NULL;
	snprintf(name, sizeof(name), "%s%s*%s>",
		 node_types_template(CONTAINER_LIST_NODE, search->node_types->nodes->is_libcxx),
		 heap_types_string(search->types, search->types->types[target].name),
		 search->node_types->nodes->is_libcxx ? ", void*" : "");
	HEAP_TRY(library_types_find(search->node_types->library, name, strlen(name), result));
	return library_types_complete(search->node_types->library);
}

// --- nodes that debug information describes ------------------------------------

// True for an instance of the template of a part's nodes.
static bool is_node_of(const char *name, int part)
{
	return templates[part].symbol &&
	       (heap_template_is_standard(name, templates[part].stdcxx + strlen("std::")) ||
		heap_template_is_standard(name, templates[part].libcxx + strlen("std::__1::")));
}

HEAP_MUST_CHECK
static struct heap_error *find_known(struct search *search)
{
	const struct heap_types *types = search->types;

	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		const char *name = heap_types_name(types, id);

		progress_step();
		if (!heap_types_has_members(type) || type->size == 0 ||
		    strncmp(name, "std::", strlen("std::")) != 0)
			continue;
		for (uint8_t part = 0; part < CONTAINER_PARTS; part++) {
			if (is_node_of(name, part))
				HEAP_TRY(heap_array_append(
					&search->known, ((struct known_node){ type->size, part })));
		}
	}
	return NULL;
}

// True if a block of a size may be a node that debug information describes.
static bool may_be_known(const struct search *search, enum container_part part, uint64_t size)
{
	uint64_t slack = heap_block_slack(search->node_types->capture->block_sizes, size);

	for (size_t i = 0; i < search->known.count; i++) {
		const struct known_node *known = &search->known.items[i];

		if (known->part == part && known->size <= size && size - known->size <= slack)
			return true;
	}
	return false;
}

// --- all kinds -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *find_type(struct search *search, uint32_t kind)
{
	struct node_types *node_types = search->node_types;
	enum container_part part = (enum container_part)node_types->part[kind];
	uint64_t size = node_types->capture->objects.kinds.list[kind].size;
	heap_type_id *result = &node_types->result[kind];
	static const char buckets[] = "std::__detail::_Hash_node_base*";

	if (part == CONTAINER_TEXT)
		return library_types_find(node_types->library, "char", strlen("char"), result);
	if (part == CONTAINER_BUCKETS)
		return library_types_find(
			node_types->library, node_types->nodes->is_libcxx ? "void*" : buckets,
			node_types->nodes->is_libcxx ? strlen("void*") : strlen(buckets), result);
	HEAP_TRY(read_samples(search, kind));
	HEAP_TRY(find_called(search, kind));
	*result = find_instance(search, part, size);
	if (*result == HEAP_NO_TYPE && part == CONTAINER_LIST_NODE)
		HEAP_TRY(add_list_of_pointers(search, size, result));
	if (*result != HEAP_NO_TYPE)
		return NULL;
	node_types->is_doubtful[kind] = may_be_known(search, part, size);
	return add_node(search, part, size, result);
}

// Finds the part that nearly all blocks of each kind are.
HEAP_MUST_CHECK
static struct heap_error *find_parts(const struct node_types *node_types)
{
	const struct objects *objects = &node_types->capture->objects;
	CLEANUP_FREE uint32_t *counts =
		calloc(((size_t)objects->kinds.count + 1) * CONTAINER_PARTS, sizeof(*counts));

	if (!counts)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects->count; i++)
		counts[objects_kind(objects, i) * (size_t)CONTAINER_PARTS +
		       node_types->nodes->part[i]]++;
	for (uint32_t i = 0; i < objects->kinds.count; i++) {
		const uint32_t *own = &counts[i * (size_t)CONTAINER_PARTS];

		node_types->part[i] = CONTAINER_NONE;
		for (uint8_t part = 0; part < CONTAINER_PARTS; part++) {
			if (part != CONTAINER_NONE && own[part] > 0 &&
			    own[part] * UINT64_C(100) >= node_types->count[i] * (uint64_t)AGREEMENT)
				node_types->part[i] = part;
		}
	}
	return NULL;
}

// Finds out what nearly all blocks of each kind are, and links these.
HEAP_MUST_CHECK
static struct heap_error *sort_nodes(struct search *search)
{
	const struct node_types *node_types = search->node_types;
	const struct objects *objects = &node_types->capture->objects;
	uint32_t kinds = objects->kinds.count;

	search->first = malloc(((size_t)kinds + 1) * sizeof(*search->first));
	search->next = malloc(((size_t)objects->count + 1) * sizeof(*search->next));
	if (!search->first || !search->next)
		return heap_error_out_of_memory();
	HEAP_TRY(find_parts(node_types));
	for (uint32_t i = 0; i < kinds; i++)
		search->first[i] = HEAP_NO_OBJECT;
	for (heap_object_id i = objects->count; i-- > 0;) {
		uint32_t kind = objects_kind(objects, i);
		uint8_t part = node_types->nodes->part[i];

		if (part == CONTAINER_NONE || part != node_types->part[kind])
			continue;
		search->next[i] = search->first[kind];
		search->first[kind] = i;
	}
	return NULL;
}

// True if a kind of nodes may be one of the instances that symbols name.
static bool has_nodes(const struct node_types *node_types)
{
	bool result = false;

	for (uint32_t i = 0; i < node_types->capture->objects.kinds.count && !result; i++)
		result = templates[node_types->part[i]].symbol != NULL;
	return result;
}

static void release_search(struct search *search)
{
	pages_destroy(search->pages);
	heap_array_deinit(&search->instances);
	heap_array_deinit(&search->samples);
	heap_array_deinit(&search->called);
	heap_array_deinit(&search->known);
	free(search->first);
	free(search->next);
}

struct heap_error *node_types_find(struct node_types *node_types)
{
	CLEANUP(release_search)
	struct search search = { .node_types = node_types,
				 .types = &node_types->capture->snapshot.types,
				 .pages = pages_create(&node_types->capture->image,
						       PAGES_IN_ORDER) };

	if (!search.pages)
		return heap_error_out_of_memory();
	HEAP_TRY(sort_nodes(&search));
	if (has_nodes(node_types)) {
		library_values_init(&search.values, node_types->capture, search.pages);
		HEAP_TRY(library_value_types_find(&search.values, search.types, search.library));
		HEAP_TRY(find_known(&search));
		HEAP_TRY(find_instances(&search));
	}
	for (uint32_t i = 0; i < node_types->capture->objects.kinds.count; i++) {
		if (node_types->part[i] != CONTAINER_NONE)
			HEAP_TRY(find_type(&search, i));
	}
	return NULL;
}
