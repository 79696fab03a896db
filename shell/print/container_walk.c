// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/container_walk.h"

#include <string.h>

enum {
	MAX_HEIGHT = 128, // of a balanced tree with less than 2^64 nodes
};

static uint64_t size_of(const struct session *session, heap_type_id type)
{
	return heap_types_size(&session->snapshot->types, type);
}

// The first of two paths that exists: libstdc++'s, libc++'s.
static bool find_either(const struct session *session, const struct place *place, const char *first,
			const char *second, struct place *result)
{
	return place_find(session, place, first, result) ||
	       place_find(session, place, second, result);
}

static bool load_pointer(const struct session *session, const struct place *place,
			 const char *first, const char *second, uint64_t *result)
{
	struct place found;

	return find_either(session, place, first, second, &found) &&
	       place_pointer(session, &found, result);
}

static bool load_number(const struct session *session, const struct place *place, const char *first,
			const char *second, uint64_t *result)
{
	struct place found;

	return find_either(session, place, first, second, &found) &&
	       place_number(session, &found, result);
}

static const char GNU_TREE_NODE[] = "std::_Rb_tree_node<";
static const char LLVM_TREE_NODE[] = "std::__1::__tree_node<";

// --- in one piece ------------------------------------------------------------

// An element is there if its beginning is: its pointers are known as edges in any case.
static bool is_there(const struct session *session, const struct place *place)
{
	uint64_t pointer;

	return place->offset < place->value->kept ||
	       value_load_pointer(session, place->value, place->offset, &pointer);
}

static bool next_in_buffer(struct session *session, struct container_walk *walk,
			   struct place *element)
{
	*element = walk->buffer;
	element->offset += walk->index * walk->stride;
	element->type = walk->element;
	return is_there(session, element);
}

static bool begin_buffer(struct session *session, struct container_walk *walk, uint64_t start,
			 uint64_t finish)
{
	walk->stride = size_of(session, walk->element);
	if (walk->stride == 0 || finish < start || (finish - start) % walk->stride)
		return false;
	walk->length = (finish - start) / walk->stride;
	walk->has_length = true;
	walk->next = next_in_buffer;
	return walk->length == 0 ||
	       place_follow(session, &walk->container, start, finish - start, &walk->buffer);
}

// Finds the object, or the array, that a pointer leads to.
static heap_type_id element_of(const struct session *session, const struct place *pointer)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id target = place_pointee(session, pointer);

	return types->types[target].kind == HEAP_TYPE_ARRAY
		       ? heap_types_strip(types, types->types[target].target)
		       : target;
}

static bool begin_vector(struct session *session, struct container_walk *walk)
{
	const struct place *vector = &walk->container;
	struct place first;
	uint64_t start, finish, end;

	if (!find_either(session, vector, "_M_impl._M_start", "__begin_", &first) ||
	    !place_pointer(session, &first, &start) ||
	    !load_pointer(session, vector, "_M_impl._M_finish", "__end_", &finish))
		return false;
	walk->element = element_of(session, &first);
	if (!begin_buffer(session, walk, start, finish))
		return false;
	if (load_pointer(session, vector, "_M_impl._M_end_of_storage", "__end_cap_.__value_",
			 &end) ||
	    load_pointer(session, vector, "__cap_", "__end_cap_", &end))
		walk->has_capacity = end >= finish;
	walk->capacity = walk->has_capacity ? (end - start) / walk->stride : 0;
	return true;
}

static bool begin_array(struct session *session, struct container_walk *walk)
{
	const struct heap_types *types = &session->snapshot->types;

	if (!find_either(session, &walk->container, "_M_elems", "__elems_", &walk->buffer))
		return false;

	const struct heap_type *type = &types->types[heap_types_strip(types, walk->buffer.type)];

	if (type->kind != HEAP_TYPE_ARRAY)
		return false;
	walk->element = heap_types_strip(types, type->target);
	walk->stride = size_of(session, walk->element);
	walk->length = type->count;
	walk->has_length = true;
	walk->next = next_in_buffer;
	return walk->stride > 0;
}

// --- Rust's ------------------------------------------------------------------

// A VecDeque begins anywhere in its buffer, and goes on at the buffer's start.
static bool next_in_ring(struct session *session, struct container_walk *walk,
			 struct place *element)
{
	uint64_t rest = walk->capacity - walk->first;
	uint64_t index = walk->index < rest ? walk->first + walk->index : walk->index - rest;

	*element = walk->buffer;
	element->offset += index * walk->stride;
	element->type = walk->element;
	return is_there(session, element);
}

bool container_walk_vec(struct session *session, const struct place *vec, struct place *pointer,
			uint64_t *length, uint64_t *capacity)
{
	static const char *const pointers[] = { "buf.inner.ptr.pointer.pointer",
						"buf.ptr.pointer.pointer" };
	static const char *const capacities[] = { "buf.inner.cap.__0", "buf.inner.cap",
						  "buf.cap.__0", "buf.cap" };
	bool found = false;

	for (size_t i = 0; !found && i < 2; i++)
		found = place_find(session, vec, pointers[i], pointer);
	*capacity = 0;
	for (size_t i = 0; i < 4; i++) {
		if (place_find_number(session, vec, capacities[i], capacity))
			break;
	}
	return found && place_find_number(session, vec, "len", length);
}

static bool begin_vec(struct session *session, struct container_walk *walk)
{
	struct place pointer;
	uint64_t address;

	if (!container_walk_vec(session, &walk->container, &pointer, &walk->length,
				&walk->capacity) ||
	    !place_pointer(session, &pointer, &address))
		return false;
	walk->has_length = walk->has_capacity = true;
	walk->element = element_of(session, &pointer);
	walk->stride = size_of(session, walk->element);
	walk->next = next_in_ring;
	if (!place_find_number(session, &walk->container, "head", &walk->first))
		walk->first = 0;
	if (walk->stride == 0 || walk->length > walk->capacity ||
	    walk->capacity > UINT64_MAX / walk->stride ||
	    (walk->length > 0 && walk->first >= walk->capacity))
		return false;
	return walk->length == 0 || place_follow(session, &walk->container, address,
						 walk->capacity * walk->stride, &walk->buffer);
}

// --- deque -------------------------------------------------------------------

// libstdc++ has chunks of 512 bytes, or one element; libc++ of 4096, or 16 elements.
static bool next_in_chunks(struct session *session, struct container_walk *walk,
			   struct place *element)
{
	struct place pointer;
	uint64_t start;

	if (walk->at >= walk->end) {
		walk->chunk += 8;
		if (!place_follow(session, &walk->container, walk->chunk, 8, &pointer) ||
		    !value_load_pointer(session, pointer.value, pointer.offset, &start))
			return false;
		walk->end = start + (walk->end - walk->start);
		walk->start = walk->at = start;
	}
	if (!place_follow(session, &walk->container, walk->at, walk->stride, element))
		return false;
	element->type = walk->element;
	walk->at += walk->stride;
	return is_there(session, element);
}

static uint64_t count_in_chunks(const struct container_walk *walk, uint64_t finish_first,
				uint64_t finish_cur, uint64_t finish_chunk)
{
	uint64_t chunk = (walk->end - walk->start) / walk->stride;
	uint64_t chunks = (finish_chunk - walk->chunk) / 8;

	if (chunks == 0)
		return (finish_cur - walk->at) / walk->stride;
	return (chunks - 1) * chunk + (walk->end - walk->at) / walk->stride +
	       (finish_cur - finish_first) / walk->stride;
}

static bool begin_gnu_deque(struct session *session, struct container_walk *walk)
{
	const struct place *deque = &walk->container;
	struct place current;
	uint64_t first, finish_first, finish_current, finish_chunk;

	if (!place_find(session, deque, "_M_impl._M_start._M_cur", &current) ||
	    !place_pointer(session, &current, &walk->at) ||
	    !place_find_pointer(session, deque, "_M_impl._M_start._M_first", &first) ||
	    !place_find_pointer(session, deque, "_M_impl._M_start._M_last", &walk->end) ||
	    !place_find_pointer(session, deque, "_M_impl._M_start._M_node", &walk->chunk) ||
	    !place_find_pointer(session, deque, "_M_impl._M_finish._M_first", &finish_first) ||
	    !place_find_pointer(session, deque, "_M_impl._M_finish._M_cur", &finish_current) ||
	    !place_find_pointer(session, deque, "_M_impl._M_finish._M_node", &finish_chunk))
		return false;
	walk->start = first;
	walk->element = place_pointee(session, &current);
	walk->stride = size_of(session, walk->element);
	if (walk->stride == 0 || walk->at < first || walk->end <= walk->at ||
	    walk->end - first > UINT32_MAX || finish_current < finish_first ||
	    finish_current - finish_first > walk->end - first || finish_chunk < walk->chunk)
		return false;
	walk->length = count_in_chunks(walk, finish_first, finish_current, finish_chunk);
	return true;
}

static bool begin_llvm_deque(struct session *session, struct container_walk *walk)
{
	const struct place *deque = &walk->container;
	const struct heap_types *types = &session->snapshot->types;
	struct place map, pointer;
	uint64_t begin, start, first;

	if (!place_find(session, deque, "__map_.__begin_", &map) ||
	    !place_pointer(session, &map, &begin) ||
	    !place_find_number(session, deque, "__start_", &start) ||
	    !load_number(session, deque, "__size_.__value_", "__size_", &walk->length))
		return false;

	heap_type_id target = place_pointee(session, &map);

	if (types->types[target].kind != HEAP_TYPE_POINTER)
		return false;
	walk->element = heap_types_strip(types, types->types[target].target);
	walk->stride = size_of(session, walk->element);
	if (walk->stride == 0)
		return false;
	if (walk->length == 0)
		return true;

	uint64_t chunk = walk->stride < 256 ? 4096 / walk->stride : 16;

	walk->chunk = begin + start / chunk * 8;
	if (!place_follow(session, deque, walk->chunk, 8, &pointer) ||
	    !value_load_pointer(session, pointer.value, pointer.offset, &first))
		return false;
	walk->start = first;
	walk->at = first + start % chunk * walk->stride;
	walk->end = first + chunk * walk->stride;
	return true;
}

static bool begin_deque(struct session *session, struct container_walk *walk)
{
	walk->next = next_in_chunks;
	walk->has_length = true;
	return begin_gnu_deque(session, walk) || begin_llvm_deque(session, walk);
}

// --- nodes -------------------------------------------------------------------

// Where an element is in a node: the type of nodes is mentioned by the container's own.
static void find_stored(struct session *session, struct container_walk *walk, const char *gnu,
			const char *llvm)
{
	static const struct value nothing;
	heap_type_id type = place_mentioned_type(session, walk->container.type, gnu);
	struct place node = { &nothing, 0, type }, stored;

	if (type == HEAP_NO_TYPE)
		node.type = type = place_mentioned_type(session, walk->container.type, llvm);
	walk->unknown = true;
	if (type == HEAP_NO_TYPE ||
	    !find_either(session, &node, "_M_storage._M_storage", "__value_", &stored))
		return;
	walk->stored = stored.offset;
	walk->element = stored.type;
	walk->stride = size_of(session, stored.type);
	walk->unknown = walk->stride == 0;
}

static bool follow_node(struct session *session, struct container_walk *walk, uint64_t node,
			struct place *element)
{
	if (!place_follow(session, &walk->container, node, walk->stored + walk->stride, element))
		return false;
	element->offset += walk->stored;
	element->type = walk->element;
	return true;
}

static bool load_link(struct session *session, const struct container_walk *walk, uint64_t node,
		      uint64_t offset, uint64_t *result)
{
	const void *mark = session_mark(session);
	struct place place;
	bool loaded = place_follow(session, &walk->container, node + offset, 8, &place) &&
		      value_load_pointer(session, place.value, place.offset, result);

	session_release(session, mark);
	return loaded;
}

static bool next_in_chain(struct session *session, struct container_walk *walk,
			  struct place *element)
{
	uint64_t node = walk->at;

	walk->at = 0;
	if (!follow_node(session, walk, node, element))
		return false;
	if (!load_link(session, walk, node, walk->link, &walk->at))
		walk->at = 0;
	return true;
}

static bool begin_list(struct session *session, struct container_walk *walk)
{
	struct place header, next;

	walk->next = next_in_chain;
	if (!find_either(session, &walk->container, "_M_impl._M_node", "__end_", &header) ||
	    !find_either(session, &header, "_M_next", "__next_", &next) ||
	    !place_pointer(session, &next, &walk->at))
		return false;
	walk->link = next.offset - header.offset;
	walk->has_length =
		load_number(session, &walk->container, "_M_impl._M_node._M_size",
			    "__size_alloc_.__value_", &walk->length) ||
		load_number(session, &walk->container, "__size_", "_M_size", &walk->length);
	find_stored(session, walk, "std::_List_node<", "std::__1::__list_node<");
	return walk->has_length;
}

static bool begin_forward_list(struct session *session, struct container_walk *walk)
{
	walk->next = next_in_chain;
	if (!load_pointer(session, &walk->container, "_M_impl._M_head._M_next",
			  "__before_begin_.__value_.__next_", &walk->at) &&
	    !place_find_pointer(session, &walk->container, "__before_begin_.__next_", &walk->at))
		return false;
	find_stored(session, walk, "std::_Fwd_list_node<", "std::__1::__forward_list_node<");
	// Each node is an object. A cycle of nodes ends the walk, too.
	walk->has_length = walk->at == 0;
	walk->length = walk->has_length ? 0 : session->snapshot->object_count;
	return true;
}

static bool begin_hash(struct session *session, struct container_walk *walk)
{
	struct place table;

	walk->next = next_in_chain;
	walk->has_length = true;
	if (!find_either(session, &walk->container, "_M_h", "__table_", &table))
		return false;
	if (!load_pointer(session, &table, "_M_before_begin._M_nxt", "__p1_.__value_.__next_",
			  &walk->at) &&
	    !place_find_pointer(session, &table, "__first_node_.__next_", &walk->at))
		return false;
	if (!load_number(session, &table, "_M_element_count", "__p2_.__value_", &walk->length) &&
	    !place_find_number(session, &table, "__size_", &walk->length))
		return false;
	find_stored(session, walk, "std::__detail::_Hash_node<", "std::__1::__hash_node<");
	return true;
}

// --- trees -------------------------------------------------------------------

// The node that follows in order: the leftmost on the right, else the first ancestor that
// this one is on the left of.
static uint64_t find_successor(struct session *session, const struct container_walk *walk,
			       uint64_t node)
{
	uint64_t next, below;

	if (!load_link(session, walk, node, walk->right, &next))
		return 0;
	for (int i = 0; next != 0 && i < MAX_HEIGHT; i++) {
		if (!load_link(session, walk, next, walk->left, &below) || below == 0)
			return next;
		next = below;
	}
	for (int i = 0; i < MAX_HEIGHT; i++) {
		if (!load_link(session, walk, node, walk->parent, &next) ||
		    !load_link(session, walk, next, walk->right, &below))
			// The root's parent is in the container itself, which may be a variable.
			return next;
		if (below != node)
			return next;
		node = next;
	}
	return 0;
}

static bool next_in_tree(struct session *session, struct container_walk *walk,
			 struct place *element)
{
	uint64_t node = walk->at;

	walk->at = 0;
	if (!follow_node(session, walk, node, element))
		return false;
	if (walk->index + 1 < walk->length)
		walk->at = find_successor(session, walk, node);
	return true;
}

static bool begin_gnu_tree(struct session *session, struct container_walk *walk)
{
	struct place header, left, right, parent;

	if (!place_find(session, &walk->container, "_M_t._M_impl._M_header", &header) ||
	    !place_find(session, &header, "_M_left", &left) ||
	    !place_find(session, &header, "_M_right", &right) ||
	    !place_find(session, &header, "_M_parent", &parent) ||
	    !place_find_number(session, &walk->container, "_M_t._M_impl._M_node_count",
			       &walk->length))
		return false;
	walk->left = left.offset - header.offset;
	walk->right = right.offset - header.offset;
	walk->parent = parent.offset - header.offset;
	find_stored(session, walk, GNU_TREE_NODE, LLVM_TREE_NODE);
	return walk->length == 0 || place_pointer(session, &left, &walk->at);
}

static bool begin_llvm_tree(struct session *session, struct container_walk *walk)
{
	struct place tree;

	if (!place_find(session, &walk->container, "__tree_", &tree) ||
	    !load_number(session, &tree, "__pair3_.__value_", "__size_", &walk->length))
		return false;
	// __tree_end_node: left; __tree_node_base: right, parent.
	walk->left = 0;
	walk->right = 8;
	walk->parent = 16;
	find_stored(session, walk, GNU_TREE_NODE, LLVM_TREE_NODE);
	return walk->length == 0 || place_find_pointer(session, &tree, "__begin_node_", &walk->at);
}

static bool begin_tree(struct session *session, struct container_walk *walk)
{
	walk->next = next_in_tree;
	walk->has_length = true;
	return begin_gnu_tree(session, walk) || begin_llvm_tree(session, walk);
}

// --- all of them -------------------------------------------------------------

static const struct {
	const char *class;
	const char *name;
	bool keyed;
	bool (*begin)(struct session *session, struct container_walk *walk);
} kinds[] = {
	{ "vector", "std::vector", false, begin_vector },
	{ "array", "std::array", false, begin_array },
	{ "deque", "std::deque", false, begin_deque },
	{ "list", "std::list", false, begin_list },
	{ "forward_list", "std::forward_list", false, begin_forward_list },
	{ "map", "std::map", true, begin_tree },
	{ "multimap", "std::multimap", true, begin_tree },
	{ "set", "std::set", false, begin_tree },
	{ "multiset", "std::multiset", false, begin_tree },
	{ "unordered_map", "std::unordered_map", true, begin_hash },
	{ "unordered_multimap", "std::unordered_multimap", true, begin_hash },
	{ "unordered_set", "std::unordered_set", false, begin_hash },
	{ "unordered_multiset", "std::unordered_multiset", false, begin_hash },
	{ "Vec", "Vec", false, begin_vec },
	{ "VecDeque", "VecDeque", false, begin_vec },
};

// No container has more elements than there are bytes in the heap's address range.
static bool is_plausible(const struct session *session, const struct container_walk *walk)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t last = snapshot->object_count;
	uint64_t range = last == 0 ? 0
				   : snapshot->address[last - 1] - snapshot->address[0] +
					     snapshot->size[last - 1];

	return !walk->has_length || walk->length <= range || walk->next == next_in_buffer;
}

// Its number in kinds; or how many there are.
static size_t find_kind(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strncmp(kinds[i].class, name, length) == 0 && kinds[i].class[length] == '\0')
			return i;
	}
	return sizeof(kinds) / sizeof(*kinds);
}

bool container_walk_is_known(const char *name, size_t length)
{
	return find_kind(name, length) < sizeof(kinds) / sizeof(*kinds);
}

bool container_walk_begin(struct session *session, const struct place *container, const char *name,
			  size_t length, struct container_walk *walk)
{
	size_t kind = find_kind(name, length);

	if (kind == sizeof(kinds) / sizeof(*kinds))
		return false;
	*walk = (struct container_walk){
		.name = kinds[kind].name,
		.keyed = kinds[kind].keyed,
		.container = *container,
	};
	return kinds[kind].begin(session, walk) && is_plausible(session, walk);
}

bool container_walk_next(struct session *session, struct container_walk *walk,
			 struct place *element)
{
	if (walk->unknown || walk->index >= walk->length || !walk->next(session, walk, element))
		return false;
	walk->index++;
	return true;
}
