// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/container_nodes.h"

#include "dumper/base/header.h"
#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/symbols/library_values.h"
#include "dumper/writer/scan/image/page_cache.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	WORD = 8,
	NODE_WORDS = 4,  // of a node that are read
	HEAD_BEFORE = 2, // words before the pointer to a block
	HEAD_AFTER = 4,  // and behind it
	HEAD_WORDS = HEAD_BEFORE + 1 + HEAD_AFTER,
	MAX_TEXT = 64,    // letters that are read
	INLINE_TEXT = 15, // letters of libstdc++'s strings without a block
	LEAST_TEXT = 4,   // letters that are no chance, where the size of the block is no proof
	MAX_FAILED = 8,   // nodes that walks without success may visit, for each object
};

// A word that leads to the start of a block, and those around it.
struct head {
	uint64_t slot; // its address
	uint64_t words[HEAD_WORDS];
	heap_object_id target;
	uint64_t address, size; // of the target
};

// The words of a tree's nodes (bits/stl_tree.h, libc++'s __tree).
struct tree_layout {
	int left, right, parent;
	int root;     // of the head, as it is behind its start, which the root leads to
	int leftmost; // of the head, relative to the pointer to the root
	int count;
};

static const struct tree_layout stdcxx_tree = { 2, 3, 1, 1, 1, 3 };
static const struct tree_layout libcxx_tree = { 0, 1, 2, 0, -1, 1 };

struct search {
	const struct capture *capture;
	struct pages *pages;
	const bool *is_wanted;
	bool may_have[CONTAINER_PARTS]; // containers with such nodes
	struct container_nodes *nodes;
	struct HEAP_ARRAY(heap_object_id) found; // nodes of the current container
	uint64_t failed; // nodes that were visited for nothing, in lists and hash tables
};

static uint64_t head_word(const struct head *head, int at)
{
	return head->words[HEAD_BEFORE + at];
}

// --- nodes ---------------------------------------------------------------------

// True if sites are known, and sizes are those that the program requested.
static bool is_prepared(const struct search *search)
{
	return search->capture->block_sizes == HEAP_BLOCK_SIZES_EXACT;
}

// True for a block of operator new, with which the libraries allocate. So an intrusive list of C is no container.
static bool is_from_new(const struct search *search, heap_object_id object)
{
	return !is_prepared(search) ||
	       (search->capture->objects.flags[object] & HEAPSNAP_BLOCK_NEW);
}

// True if blocks of two sizes may be nodes of one container.
static bool are_alike(const struct search *search, uint64_t size, uint64_t other)
{
	enum heap_block_sizes sizes = search->capture->block_sizes;

	return size < other ? heap_block_may_hold(sizes, other, size)
			    : heap_block_may_hold(sizes, size, other);
}

// Reads a node, if a block of that size begins there.
static bool read_node(const struct search *search, uint64_t address, uint64_t size,
		      uint64_t words[NODE_WORDS], heap_object_id *object)
{
	const struct objects *objects = &search->capture->objects;

	*object = objects_find(objects, address);
	if (*object == HEAP_NO_OBJECT || objects_address(objects, *object) != address ||
	    !are_alike(search, objects_size(objects, *object), size) ||
	    !is_from_new(search, *object))
		return false;
	memset(words, 0, NODE_WORDS * WORD);
	pages_read(search->pages, address, words,
		   size < NODE_WORDS * WORD ? size : NODE_WORDS * WORD);
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *mark(const struct search *search, enum container_part part)
{
	struct container_nodes *nodes = search->nodes;
	struct container container = { .part = (uint8_t)part,
				       .first = nodes->members.count,
				       .count = (uint32_t)search->found.count };

	for (size_t i = 0; i < search->found.count; i++)
		nodes->part[search->found.items[i]] = (uint8_t)part;
	if (is_prepared(search))
		return NULL;
	for (size_t i = 0; i < search->found.count; i++)
		HEAP_TRY(heap_array_append(&nodes->members, search->found.items[i]));
	return heap_array_append(&nodes->containers, container);
}

/*
 * True if walks without success have visited so many nodes that no more of them may be tried. Each node of a list may
 * look like a head, with a number for the length: of a long list that would take quadratic time.
 */
static bool is_exhausted(const struct search *search)
{
	return search->failed / MAX_FAILED > search->capture->objects.count;
}

// --- trees ---------------------------------------------------------------------

struct tree_walk {
	struct search *search;
	const struct head *head;
	const struct tree_layout *layout;
	uint64_t start; // of the head, which the root has for its parent
	uint64_t at;
	uint64_t words[NODE_WORDS]; // of the node there
	uint64_t steps;             // that may still be taken
};

static bool step_to(struct tree_walk *walk, uint64_t address)
{
	heap_object_id object;

	progress_step();
	walk->at = address;
	return walk->steps-- > 0 &&
	       read_node(walk->search, address, walk->head->size, walk->words, &object);
}

// Goes to a child, which must know its parent.
static bool step_down(struct tree_walk *walk, int child)
{
	uint64_t parent = walk->at;

	return step_to(walk, walk->words[child]) && walk->words[walk->layout->parent] == parent;
}

static bool step_leftmost(struct tree_walk *walk)
{
	while (walk->words[walk->layout->left] != 0) {
		if (!step_down(walk, walk->layout->left))
			return false;
	}
	return true;
}

// Goes to the next node in order. At the end that is the head.
static bool step_next(struct tree_walk *walk)
{
	uint64_t from;

	if (walk->words[walk->layout->right] != 0)
		return step_down(walk, walk->layout->right) && step_leftmost(walk);
	do {
		from = walk->at;
		if (walk->words[walk->layout->parent] == walk->start) {
			walk->at = walk->start;
			return true;
		}
		if (!step_to(walk, walk->words[walk->layout->parent]))
			return false;
	} while (walk->words[walk->layout->right] == from);
	return walk->words[walk->layout->left] == from;
}

HEAP_MUST_CHECK
static struct heap_error *walk_tree(struct tree_walk *walk, uint64_t count)
{
	struct search *search = walk->search;

	if (!step_to(walk, walk->head->address) || !step_leftmost(walk) ||
	    walk->at != head_word(walk->head, walk->layout->leftmost))
		return NULL;
	for (uint64_t i = 0; i < count && walk->at != walk->start; i++) {
		HEAP_TRY(heap_array_append(&search->found,
					   objects_find(&search->capture->objects, walk->at)));
		if (!step_next(walk))
			return NULL;
	}
	return walk->at == walk->start && search->found.count == count
		       ? mark(search, CONTAINER_TREE_NODE)
		       : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *try_tree(struct search *search, const struct head *head)
{
	bool is_libcxx = search->nodes->is_libcxx;
	const struct tree_layout *layout = is_libcxx ? &libcxx_tree : &stdcxx_tree;
	uint64_t count = head_word(head, layout->count);
	struct tree_walk walk = { .search = search,
				  .head = head,
				  .layout = layout,
				  .start = head->slot - (uint64_t)layout->root * WORD,
				  .steps = count * 4 + 1 };
	uint64_t words[NODE_WORDS];
	heap_object_id object;

	// The root is black, and libstdc++'s head red.
	if (head->size <= NODE_WORDS * WORD || count == 0 ||
	    count > search->capture->objects.count ||
	    !read_node(search, head->address, head->size, words, &object) ||
	    words[layout->parent] != walk.start || (uint8_t)words[is_libcxx ? 3 : 0] != 1 ||
	    (!is_libcxx && (uint32_t)head_word(head, -1) != 0))
		return NULL;
	return walk_tree(&walk, count);
}

// --- lists ---------------------------------------------------------------------

// True if a head may as well be a node of the list.
static bool may_be_node(const struct search *search, const struct head *head)
{
	uint64_t words[NODE_WORDS];
	heap_object_id object;

	return read_node(search, head->slot, head->size, words, &object);
}

// Gathers the nodes. The two libraries' lists have their pointers the other way round, which makes no difference.
HEAP_MUST_CHECK
static struct heap_error *walk_list(struct search *search, const struct head *head, uint64_t count)
{
	uint64_t before = head->slot, at = head->address;
	uint64_t words[NODE_WORDS];
	heap_object_id object;

	for (uint64_t i = 0; i < count; i++) {
		progress_step();
		if (!read_node(search, at, head->size, words, &object) || words[1] != before)
			return NULL;
		HEAP_TRY(heap_array_append(&search->found, object));
		before = at;
		at = words[0];
	}
	return at == head->slot && before == head_word(head, 1) ? mark(search, CONTAINER_LIST_NODE)
								: NULL;
}

HEAP_MUST_CHECK
static struct heap_error *try_list(struct search *search, const struct head *head)
{
	uint64_t count = head_word(head, 2);

	if (head->size <= (uint64_t)2 * WORD || count == 0 ||
	    count > search->capture->objects.count ||
	    (is_exhausted(search) && may_be_node(search, head)))
		return NULL;
	HEAP_TRY(walk_list(search, head, count));
	if (search->nodes->part[head->target] == CONTAINER_NONE)
		search->failed += search->found.count;
	return NULL;
}

// --- hash tables ---------------------------------------------------------------

static bool is_load_factor(uint64_t word)
{
	float factor;

	memcpy(&factor, &word, sizeof(factor));
	return factor >= 0.01F && factor <= 1000;
}

// Gathers the nodes. @param all  gets true if there are as many as the table says
HEAP_MUST_CHECK
static struct heap_error *walk_hash_table(struct search *search, uint64_t first, uint64_t count,
					  bool *all)
{
	heap_object_id object = objects_find(&search->capture->objects, first);
	uint64_t size, at = first;
	uint64_t words[NODE_WORDS];

	*all = false;
	if (object == HEAP_NO_OBJECT)
		return NULL;
	size = objects_size(&search->capture->objects, object);
	for (uint64_t i = 0; i < count; i++) {
		progress_step();
		if (!read_node(search, at, size, words, &object))
			return NULL;
		HEAP_TRY(heap_array_append(&search->found, object));
		at = words[0];
	}
	*all = at == 0;
	return NULL;
}

// Both libraries have: buckets, their number, the first node, the number of nodes, the greatest load.
HEAP_MUST_CHECK
static struct heap_error *try_hash_table(struct search *search, const struct head *head)
{
	uint64_t count = head_word(head, 3);
	bool all;

	if (head_word(head, 1) > head->size ||
	    !heap_block_may_hold(search->capture->block_sizes, head->size,
				 head_word(head, 1) * WORD) ||
	    !is_load_factor(head_word(head, 4)) || count == 0 ||
	    count > search->capture->objects.count || is_exhausted(search))
		return NULL;
	HEAP_TRY(walk_hash_table(search, head_word(head, 2), count, &all));
	if (!all) {
		search->failed += search->found.count;
		return NULL;
	}
	HEAP_TRY(mark(search, CONTAINER_HASH_NODE));
	search->nodes->part[head->target] = CONTAINER_BUCKETS;
	return NULL;
}

// --- strings -------------------------------------------------------------------

// The size of the block that a string says it has, and its length.
static bool read_string(bool is_libcxx, const struct head *head, uint64_t *size, uint64_t *length)
{
	uint64_t capacity = head_word(head, is_libcxx ? -2 : 2);

	*length = head_word(head, is_libcxx ? -1 : 1);
	*size = is_libcxx ? capacity & ~UINT64_C(1) : capacity + 1;
	return !is_libcxx || (capacity & 1);
}

// True if letters may be those of a string. Where sizes are rounded, only those of a text tell it from other blocks.
static bool are_letters(const struct search *search, const unsigned char *letters, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++) {
		if (letters[i] == '\0' ||
		    (!is_prepared(search) && letters[i] < ' ' && !strchr("\t\n\r", letters[i])))
			return false;
	}
	return is_prepared(search) || length >= LEAST_TEXT;
}

static void try_text(struct search *search, const struct head *head)
{
	unsigned char letters[MAX_TEXT];
	uint64_t size, length;
	char end;

	if (!read_string(search->nodes->is_libcxx, head, &size, &length) ||
	    !heap_block_may_hold(search->capture->block_sizes, head->size, size) ||
	    length >= size || size <= INLINE_TEXT + 1)
		return;
	pages_read(search->pages, head->address + length, &end, 1);
	pages_read(search->pages, head->address, letters, length < MAX_TEXT ? length : MAX_TEXT);
	if (end == '\0' && are_letters(search, letters, length < MAX_TEXT ? length : MAX_TEXT))
		search->nodes->part[head->target] = CONTAINER_TEXT;
}

// --- all heads -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *try_all(struct search *search, uint64_t slot, heap_object_id target)
{
	const struct objects *objects = &search->capture->objects;
	struct head head = { .slot = slot,
			     .target = target,
			     .address = objects_address(objects, target),
			     .size = objects_size(objects, target) };

	if (search->nodes->part[target] != CONTAINER_NONE || !is_from_new(search, target))
		return NULL;
	pages_read(search->pages, slot - HEAD_BEFORE * WORD, head.words, sizeof(head.words));
	try_text(search, &head);
	search->found.count = 0;
	if (search->may_have[CONTAINER_TREE_NODE])
		HEAP_TRY(try_tree(search, &head));
	search->found.count = 0;
	if (search->may_have[CONTAINER_LIST_NODE])
		HEAP_TRY(try_list(search, &head));
	search->found.count = 0;
	return search->may_have[CONTAINER_HASH_NODE] ? try_hash_table(search, &head) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *try_objects(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;
	const struct objects *objects = &search->capture->objects;

	for (heap_object_id i = 0; i < objects->count && !progress_is_late(); i++) {
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			heap_object_id target = snapshot->edge_target[j];

			progress_step();
			// The first word of a node is no word of a head.
			if (snapshot->edge_interior[j] == 0 &&
			    search->is_wanted[objects_kind(objects, target)] &&
			    (snapshot->edge_slot[j] > 0 ||
			     objects_kind(objects, i) != objects_kind(objects, target)))
				HEAP_TRY(try_all(search,
						 objects_address(objects, i) +
							 snapshot->edge_slot[j] * UINT64_C(8),
						 target));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *try_roots(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count && !progress_is_late(); i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		uint64_t address = snapshot->roots[edge->root].address;

		if (edge->interior == 0 && address != 0 &&
		    search->is_wanted[objects_kind(&search->capture->objects, edge->target)])
			HEAP_TRY(try_all(search, address + edge->offset, edge->target));
	}
	return NULL;
}

static void release_search(struct search *search)
{
	pages_destroy(search->pages);
	heap_array_deinit(&search->found);
}

// The functions of libstdc++ that containers call to link nodes, which are never inlined.
static const char *const link_functions[CONTAINER_PARTS] = {
	[CONTAINER_TREE_NODE] = "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
	[CONTAINER_LIST_NODE] = "_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
	[CONTAINER_HASH_NODE] = "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm",
};

// Finds out what containers there may be. A list of the program's own may look like one of the library's.
static void find_library(struct search *search)
{
	const struct modules *modules = &search->capture->modules;
	struct cxx_libraries libraries = library_values_libraries(modules);

	search->nodes->is_libcxx = libraries.has_libcxx && !libraries.has_stdcxx;
	for (int part = 0; part < CONTAINER_PARTS; part++) {
		search->may_have[part] = !libraries.has_stdcxx;
		for (size_t i = 0; link_functions[part] && i < modules->count; i++) {
			const struct heap_elf_file *elf = modules->modules[i].elf;

			if (!search->may_have[part] && elf)
				search->may_have[part] =
					heap_elf_imports(elf, link_functions[part]);
		}
	}
}

struct heap_error *container_nodes_find(struct container_nodes *nodes,
					const struct capture *capture, const bool *is_wanted)
{
	CLEANUP(release_search)
	struct search search = { .capture = capture,
				 .pages = pages_create(&capture->image, PAGES_FOR_ALL),
				 .is_wanted = is_wanted,
				 .nodes = nodes };

	*nodes = (struct container_nodes){ .part = calloc((size_t)capture->objects.count + 1, 1) };
	if (!nodes->part || !search.pages)
		return heap_error_out_of_memory();
	find_library(&search);
	HEAP_TRY(try_roots(&search));
	return try_objects(&search);
}

void container_nodes_deinit(struct container_nodes *nodes)
{
	free(nodes->part);
	nodes->part = NULL;
	heap_array_deinit(&nodes->containers);
	heap_array_deinit(&nodes->members);
}

uint64_t container_nodes_value(const struct container_nodes *nodes, enum container_part part)
{
	switch (part) {
	case CONTAINER_TREE_NODE:
		return (uint64_t)4 * WORD;
	case CONTAINER_LIST_NODE:
		return (uint64_t)2 * WORD;
	default:
		return nodes->is_libcxx ? 2 * WORD : WORD;
	}
}
