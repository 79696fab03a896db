// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/held_parts.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/types/member_path.h"
#include "lib/types/templates.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 24,   // of members in members
	MAX_STEPS = 4096, // for a question: unions in unions have more members than there is time
	MAX_ALTERNATIVES = 64, // of a variant
	WORD = 8,
	STRING_SIZE = 32,
	STRING_BUFFER = 16, // offset
	DEQUE_SIZE = 80,
	SPLIT_DEQUE_SIZE = 48,
	WEAK_SIZE = 16,
	TREE_SIZE = 48,
	KNOWN = 256, // entries of a cache, a power of two
};

// Whose counts of pointers they are.
enum library {
	STDCXX,
	LIBCXX,
	QT,
};

enum container {
	NO_CONTAINER,
	STRING,
	CHOICE, // of alternatives, one of which is held, or none: an optional has one
	VECTOR,
	DEQUE,
	SPLIT_DEQUE, // libc++'s
	WEAK,        // a pointer that does not hold its object
	COUNTS,      // of pointers to an object, which may be a part of them
	FILLED,      // a header whose array is used up to a count
	FRAME,       // of a coroutine, whose variables are gone once it has come to its end
	TREE,        // libstdc++'s, of a map or set, which begins with what compares
};

enum concern {
	NOT_ASKED = 0,
	ASKED = 1,
	HAS_STRINGS = 2,
	HAS_CHOICES = 4,
	HAS_OWNERS = 8,  // of blocks with room to spare
	HAS_SPARES = 16, // elements behind its last one
	HAS_WEAK = 32,   // pointers that do not hold anything
	HAS_GONE = 64,   // pointers to objects that may be gone
	HAS_HOLES = 128, // words in which nothing lies
};

struct choice {
	heap_type_id type;
	struct heap_member_place number;
	uint32_t first, count; // alternatives
	bool is_optional;
};

// A cache of concern_at(). Many objects have one type.
struct known {
	heap_type_id type;
	uint64_t offset;
	uint8_t concern; // NOT_ASKED: the entry is free
};

struct held_parts {
	const struct capture *capture;
	const struct heap_types *types;
	struct pages *pages;
	heap_type_id type_count;
	struct known known[KNOWN];
	int depth;          // of the type that is being asked
	uint32_t steps;     // left for the question that is being answered
	uint8_t *concern;   // [type_count] enum concern
	uint8_t *container; // [type_count] enum container, of those that were asked
	uint8_t *library;   // [type_count] enum library of WEAK and COUNTS
	struct HEAP_ARRAY(struct choice) choices;
	struct HEAP_ARRAY(struct heap_member_place) alternatives;
	struct HEAP_ARRAY(struct held_range) ranges;
	struct heap_hash_table choice_of; // by type
	struct heap_hash_table range_of;  // by object
};

struct held_parts *held_parts_create(const struct capture *capture, struct pages *pages)
{
	struct held_parts *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	held->capture = capture;
	held->types = &capture->snapshot.types;
	held->pages = pages;
	held->type_count = held->types->count;
	held->concern = calloc((size_t)held->type_count + 1, sizeof(*held->concern));
	held->container = calloc((size_t)held->type_count + 1, sizeof(*held->container));
	held->library = calloc((size_t)held->type_count + 1, sizeof(*held->library));
	if (held->concern && held->container && held->library)
		return held;
	held_parts_destroy(held);
	return NULL;
}

void held_parts_destroy(struct held_parts *held)
{
	if (!held)
		return;
	heap_array_deinit(&held->choices);
	heap_array_deinit(&held->alternatives);
	heap_array_deinit(&held->ranges);
	heap_hash_table_deinit(&held->choice_of);
	heap_hash_table_deinit(&held->range_of);
	free(held->concern);
	free(held->container);
	free(held->library);
	free(held);
}

// --- containers by name --------------------------------------------------------

// A header of glibc's, whose array is never cleared: it has spare elements for what dlopen() will load.
static const struct {
	const char *type, *count, *array;
} filled = { "dlfo_mappings_segment", "size", "objects" };

// GCC's frames: the variables are behind the last member that it adds itself, and what the coroutine was called with before.
// Those of clang are in any order.
static const char *const last_of_frame = "_Coro_initial_await_resume_called";

static bool is_frame(const struct heap_types *types, heap_type_id type, const char *name)
{
	size_t length = strlen(name), end = strlen(".Frame");
	struct heap_member_place found;

	return length > end && strcmp(name + length - end, ".Frame") == 0 &&
	       heap_member_find(types, type, last_of_frame, &found);
}

static bool is_weak(const char *name)
{
	return heap_template_is_standard(name, "weak_ptr<") ||
	       strncmp(name, "boost::weak_ptr<", strlen("boost::weak_ptr<")) == 0 ||
	       strncmp(name, "QWeakPointer<", strlen("QWeakPointer<")) == 0;
}

static bool is_counts(const char *name)
{
	return heap_template_is_standard(name, "_Sp_counted_ptr<") ||
	       heap_template_is_standard(name, "_Sp_counted_deleter<") ||
	       heap_template_is_standard(name, "_Sp_counted_ptr_inplace<") ||
	       heap_template_is_standard(name, "__shared_ptr_pointer<") ||
	       heap_template_is_standard(name, "__shared_ptr_emplace<") ||
	       strncmp(name, "boost::detail::sp_counted_impl_",
		       strlen("boost::detail::sp_counted_impl_")) == 0;
}

// By names alone: clang leaves the members of libc++'s counts to the library's own debug information.
static enum library library_of(const struct heap_types *types, heap_type_id id)
{
	const char *name = heap_types_string(types, types->types[id].name);
	struct heap_member_place found;

	if (name[0] == 'Q')
		return QT;
	return heap_template_is_standard(name, "__shared_ptr_pointer<") ||
			       heap_template_is_standard(name, "__shared_ptr_emplace<") ||
			       heap_member_find(types, id, "__cntrl_", &found)
		       ? LIBCXX
		       : STDCXX;
}

static enum container container_of_type(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	const char *name = heap_types_string(types, type->name);

	if (heap_types_has_members(type) && strcmp(name, filled.type) == 0)
		return FILLED;
	if (!heap_types_has_members(type))
		return NO_CONTAINER;
	if (type->size == WEAK_SIZE && is_weak(name))
		return WEAK;
	if (is_counts(name))
		return COUNTS;
	if (is_frame(types, id, name))
		return FRAME;
	if (strncmp(name, "std::", strlen("std::")) != 0)
		return NO_CONTAINER;
	if (type->size == STRING_SIZE && heap_template_is_standard(name, "basic_string<char,"))
		return STRING;
	if (heap_template_is_standard(name, "optional<") ||
	    heap_template_is_standard(name, "variant<"))
		return CHOICE;
	if (heap_template_is_standard(name, "vector<") &&
	    !heap_template_is_standard(name, "vector<bool,"))
		return VECTOR;
	if (type->size == TREE_SIZE && heap_template_is_standard(name, "_Rb_tree<"))
		return heap_types_begins_with_hole(types, id) ? TREE : NO_CONTAINER;
	if (!heap_template_is_standard(name, "deque<"))
		return NO_CONTAINER;
	return type->size == DEQUE_SIZE         ? DEQUE
	       : type->size == SPLIT_DEQUE_SIZE ? SPLIT_DEQUE
						: NO_CONTAINER;
}

static uint8_t concern_of(struct held_parts *held, heap_type_id id);

static uint8_t ask_concern(struct held_parts *held, heap_type_id id)
{
	static const uint8_t concerns[] = {
		[NO_CONTAINER] = ASKED,
		[STRING] = ASKED | HAS_STRINGS,
		[CHOICE] = ASKED | HAS_CHOICES,
		[VECTOR] = ASKED | HAS_OWNERS,
		[DEQUE] = ASKED | HAS_OWNERS,
		[FILLED] = ASKED | HAS_SPARES,
		[FRAME] = ASKED | HAS_SPARES,
		[SPLIT_DEQUE] = ASKED | HAS_OWNERS,
		[WEAK] = ASKED | HAS_WEAK | HAS_GONE,
		[COUNTS] = ASKED | HAS_GONE,
		[TREE] = ASKED | HAS_HOLES,
	};
	const struct heap_types *types = held->types;
	heap_type_id stripped = heap_types_strip(types, id);
	const struct heap_type *type = &types->types[stripped];
	uint8_t found;

	if (stripped >= held->type_count || id >= held->type_count || held->depth == MAX_DEPTH)
		return ASKED;
	held->depth++;
	held->concern[id] = ASKED; // a type cannot have itself as a part
	held->container[stripped] = (uint8_t)container_of_type(types, stripped);
	if (held->container[stripped] == WEAK || held->container[stripped] == COUNTS)
		held->library[stripped] = (uint8_t)library_of(types, stripped);
	found = concerns[held->container[stripped]];
	if (type->kind == HEAP_TYPE_ARRAY)
		found |= concern_of(held, type->target);
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
		found |= concern_of(held, types->members[type->first_member + i].type);
	held->depth--;
	held->concern[id] = held->concern[stripped] = found;
	return found;
}

// The set of enum concern of a value of a type.
static inline uint8_t concern_of(struct held_parts *held, heap_type_id id)
{
	return id < held->type_count && held->concern[id] != NOT_ASKED ? held->concern[id]
								       : ask_concern(held, id);
}

// @return false if a question takes too long
static bool take_step(struct held_parts *held)
{
	progress_step();
	if (held->steps == 0)
		return false;
	held->steps--;
	return true;
}

// The set of enum concern of those parts of a value that an offset lies in.
static uint8_t ask_concern_at(struct held_parts *held, heap_type_id id, uint64_t offset, int depth)
{
	const struct heap_types *types = held->types;
	uint8_t found = ASKED;

	id = heap_types_strip(types, id);
	if (depth == MAX_DEPTH || concern_of(held, id) == ASKED || !take_step(held))
		return ASKED;

	const struct heap_type *type = &types->types[id];
	uint64_t size = heap_types_size(types, type->target);

	if (held->container[id] != NO_CONTAINER)
		return held->concern[id];
	if (type->kind == HEAP_TYPE_ARRAY)
		return ask_concern_at(held, type->target, size ? offset % size : offset, depth + 1);
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		size = heap_types_size(types, member->type);
		if (offset >= member->offset && (size == 0 || offset - member->offset < size))
			found |= ask_concern_at(held, member->type, offset - member->offset,
						depth + 1);
	}
	return found;
}

// The same of a value or of several, from the cache.
static uint8_t concern_at(struct held_parts *held, heap_type_id type, uint64_t offset)
{
	struct known *known = &held->known[(heap_hash_u64(type) + offset / WORD) & (KNOWN - 1)];

	if (known->concern == NOT_ASKED || known->type != type || known->offset != offset) {
		uint64_t size = heap_types_size(held->types, type);

		held->steps = MAX_STEPS;
		*known = (struct known){ type, offset, ask_concern_at(held, type, offset, 0) };
		if (size > 0 && offset >= size)
			known->concern |= ask_concern_at(held, type, offset % size, 0);
	}
	return known->concern;
}

bool held_parts_concern(struct held_parts *held, heap_type_id type)
{
	return type != HEAP_NO_TYPE && concern_of(held, type) != ASKED;
}

// --- choices -------------------------------------------------------------------

static bool find_first(const struct heap_types *types, heap_type_id type, const char *const *paths,
		       struct heap_member_place *result)
{
	for (; *paths; paths++) {
		if (heap_member_find(types, type, *paths, result) && result->bit_size == 0)
			return true;
	}
	return false;
}

// Goes on from a member to one of its own.
static bool go_on(const struct heap_types *types, const char *const *paths,
		  struct heap_member_place *place)
{
	struct heap_member_place found;

	if (!find_first(types, place->type, paths, &found))
		return false;
	place->type = found.type;
	place->offset += found.offset;
	return true;
}

// A union of the first alternative and of the union of the others, and so on.
HEAP_MUST_CHECK
static struct heap_error *add_alternatives(struct held_parts *held, heap_type_id type)
{
	static const char *const all[] = { "_M_u", "__impl.__data", "__impl_.__data", NULL };
	static const char *const rest[] = { "_M_rest", "__tail", NULL };
	static const char *const first[] = { "_M_first._M_storage._M_storage",
					     "_M_first._M_storage", "__head.__value", NULL };
	struct heap_member_place at = { .type = type };

	if (!go_on(held->types, all, &at))
		return NULL;
	for (int i = 0; i < MAX_ALTERNATIVES; i++) {
		struct heap_member_place found = at;

		if (!go_on(held->types, first, &found))
			break;
		HEAP_TRY(heap_array_append(&held->alternatives, found));
		if (!go_on(held->types, rest, &at))
			break;
	}
	return NULL;
}

// Reads the layout of an optional or a variant, once for each type. A type that is not as it should be
// has no alternatives.
HEAP_MUST_CHECK
static struct heap_error *add_choice(struct held_parts *held, heap_type_id id)
{
	static const char *const engaged[] = { "_M_payload._M_engaged", "__engaged_", NULL };
	static const char *const value[] = { "_M_payload._M_payload._M_value", "__val_", NULL };
	static const char *const index[] = { "_M_index", "__impl.__index", "__impl_.__index",
					     NULL };
	const struct heap_types *types = held->types;
	struct choice choice = { .type = id, .first = (uint32_t)held->alternatives.count };
	struct heap_member_place only;

	choice.is_optional = find_first(types, id, engaged, &choice.number);
	if (choice.is_optional && find_first(types, id, value, &only))
		HEAP_TRY(heap_array_append(&held->alternatives, only));
	else if (!choice.is_optional && find_first(types, id, index, &choice.number))
		HEAP_TRY(add_alternatives(held, id));
	choice.count = (uint32_t)held->alternatives.count - choice.first;
	HEAP_TRY(heap_array_append(&held->choices, choice));
	return heap_hash_add(&held->choice_of, heap_hash_u64(id),
			     (uint32_t)held->choices.count - 1);
}

static const struct choice *find_choice(struct held_parts *held, heap_type_id id)
{
	uint64_t hash = heap_hash_u64(id);
	uint32_t found =
		heap_hash_find(&held->choice_of, hash, i, held->choices.items[i].type == id);

	if (found == HEAP_HASH_NONE) {
		struct heap_error *error = add_choice(held, id);

		// Without memory for it nothing of that type counts as dead.
		heap_error_destroy(error);
		if (error)
			return NULL;
		found = (uint32_t)held->choices.count - 1;
	}
	return &held->choices.items[found];
}

// True if there is a string at an address: what its words say agrees.
static bool is_string(const struct held_parts *held, uint64_t address)
{
	const struct objects *objects = &held->capture->objects;
	uint64_t words[STRING_SIZE / WORD] = { 0 };
	heap_object_id text;

	pages_read(held->pages, address, words, sizeof(words));
	if (words[0] == address + STRING_BUFFER)
		return words[1] < STRING_SIZE - STRING_BUFFER;
	text = objects_find(objects, words[0]);
	return text != HEAP_NO_OBJECT && objects_address(objects, text) == words[0] &&
	       words[1] <= words[2] && words[2] < objects_size(objects, text);
}

// True if there is a tree at an address: its header and its root lead to each other, or it is empty.
static bool is_tree(const struct held_parts *held, uint64_t address)
{
	const uint64_t header = address + WORD;
	uint64_t words[TREE_SIZE / WORD] = { 0 }, back = 0;

	pages_read(held->pages, address, words, sizeof(words));
	if (words[2] == 0)
		return words[3] == header && words[4] == header && words[5] == 0;
	pages_read(held->pages, words[2] + WORD, &back, sizeof(back));
	return back == header;
}

static bool is_dead_in(struct held_parts *held, uint8_t concern, heap_type_id id, uint64_t address,
		       uint64_t offset, int depth);

// Reads which alternative of a choice holds. @return its number; choice->count: none; UINT64_MAX: unknown
static uint64_t read_number(const struct held_parts *held, const struct choice *choice,
			    uint64_t address)
{
	uint64_t size = heap_types_size(held->types, choice->number.type), number = 0;
	uint64_t none = size < WORD ? (UINT64_C(1) << size * 8) - 1 : UINT64_MAX;

	if (choice->count == 0 || size == 0 || size > WORD)
		return UINT64_MAX;
	pages_read(held->pages, address + choice->number.offset, &number, size);
	if (choice->is_optional && number <= 1)
		number = number == 1 ? 0 : none;
	if (number == none)
		return choice->count;
	return number < choice->count ? number : UINT64_MAX;
}

static bool is_number_at(const struct held_parts *held, const struct choice *choice,
			 uint64_t offset)
{
	uint64_t size = heap_types_size(held->types, choice->number.type);

	return offset >= choice->number.offset && offset - choice->number.offset < size;
}

static bool is_dead_in_choice(struct held_parts *held, uint8_t concern, heap_type_id id,
			      uint64_t address, uint64_t offset, int depth)
{
	const struct choice *choice = find_choice(held, id);
	uint64_t number = choice ? read_number(held, choice, address) : UINT64_MAX;
	const struct heap_member_place *alternative;

	if (number == UINT64_MAX)
		return false;
	// Behind a short number is padding, and the word may be what an old pointer became.
	if (is_number_at(held, choice, offset))
		return heap_types_size(held->types, choice->number.type) < WORD;
	if (number == choice->count)
		return true;
	alternative = &held->alternatives.items[choice->first + number];
	// Smaller ones have no pointer: std::monostate.
	if (offset < alternative->offset ||
	    offset - alternative->offset + WORD > heap_types_size(held->types, alternative->type))
		return true;
	return is_dead_in(held, concern, alternative->type, address + alternative->offset,
			  offset - alternative->offset, depth + 1);
}

// --- counted pointers ------------------------------------------------------------

/*
 * Where a library has the words of a weak pointer, and, in what one of these leads to, the number of pointers
 * that hold the object: <bits/shared_ptr_base.h>, <__memory/shared_count.h>, boost/smart_ptr/detail, and
 * qsharedpointer_impl.h. A counter is behind a pointer to virtual functions, except Qt's.
 */
struct counted_layout {
	uint8_t counts;       // offset in a weak pointer; the other word leads to the object
	uint8_t count, size;  // of the counter
	uint8_t object;       // behind the counters
	bool counts_from_one; // -1: none
};

static const struct counted_layout stdcxx_layout = {
	.counts = 8, .count = 8, .size = 4, .object = 16
};
static const struct counted_layout libcxx_layout = {
	.counts = 8, .count = 8, .size = 8, .object = 24, .counts_from_one = true
};
static const struct counted_layout qt_layout = { .counts = 0, .count = 4, .size = 4 };

static const struct counted_layout *layout_of(const struct held_parts *held, heap_type_id id)
{
	switch (held->library[id]) {
	case LIBCXX:
		return &libcxx_layout;
	case QT:
		return &qt_layout;
	default:
		return &stdcxx_layout;
	}
}

enum counted {
	UNKNOWN, // the words are not as they should be
	GONE,
	COUNTED,
};

// Reads if there still is a pointer that holds an object. @param address  of its counts
static enum counted read_counts(const struct held_parts *held, const struct counted_layout *layout,
				uint64_t address)
{
	uint64_t first = 0, count = 0;
	int64_t holders;

	if (address == 0 || address % WORD != 0)
		return UNKNOWN;
	pages_read(held->pages, address, &first, sizeof(first));
	pages_read(held->pages, address + layout->count, &count, layout->size);
	holders = layout->size == sizeof(int32_t) ? (int32_t)count : (int64_t)count;
	holders += layout->counts_from_one;
	// Qt counts objects that it does not delete as -1.
	if (first == 0 || holders < (layout == &qt_layout ? -1 : 0) || holders > INT32_MAX)
		return UNKNOWN;
	return holders == 0 ? GONE : COUNTED;
}

// A weak pointer holds neither its object nor, as long as others hold that, the counts.
static bool is_dead_in_weak(const struct held_parts *held, uint8_t concern, heap_type_id id,
			    uint64_t address, uint64_t offset)
{
	const struct counted_layout *layout = layout_of(held, id);
	uint64_t words[WEAK_SIZE / WORD] = { 0 };

	pages_read(held->pages, address, words, sizeof(words));
	switch (read_counts(held, layout, words[layout->counts / WORD])) {
	case GONE:
		return offset != layout->counts;
	case COUNTED:
		return concern & HAS_WEAK;
	default:
		return false;
	}
}

// True if a word of a value lies in a part of it that holds nothing.
static bool is_dead_in(struct held_parts *held, uint8_t concern, heap_type_id id, uint64_t address,
		       uint64_t offset, int depth)
{
	const struct heap_types *types = held->types;

	id = heap_types_strip(types, id);
	if (depth == MAX_DEPTH || !(concern_of(held, id) & concern) || !take_step(held))
		return false;

	const struct heap_type *type = &types->types[id];
	enum container container = held->container[id];

	if (container == STRING)
		return offset >= STRING_BUFFER && offset < STRING_SIZE && is_string(held, address);
	if (container == TREE)
		return offset < WORD && is_tree(held, address);
	if (container == CHOICE) // what lies behind it belongs to the next one of an array
		return offset < type->size &&
		       is_dead_in_choice(held, concern, id, address, offset, depth);
	if (container == WEAK)
		return offset < type->size && is_dead_in_weak(held, concern, id, address, offset);
	if (container == COUNTS) {
		const struct counted_layout *layout = layout_of(held, id);

		// The object that lies in the same block has parts of its own.
		if (offset >= layout->object && read_counts(held, layout, address) == GONE)
			return true;
	}
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t size = heap_types_size(types, type->target);
		uint64_t rest = size ? offset % size : offset;

		return is_dead_in(held, concern, type->target, address + offset - rest, rest,
				  depth + 1);
	}
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (offset < member->offset || !(concern_of(held, member->type) & concern))
			continue;

		uint64_t size = heap_types_size(types, member->type);

		if ((size == 0 || offset - member->offset < size) &&
		    is_dead_in(held, concern, member->type, address + member->offset,
			       offset - member->offset, depth + 1))
			return true;
	}
	return false;
}

static bool is_dead(struct held_parts *held, uint8_t concern, heap_type_id type, uint64_t address,
		    uint64_t offset)
{
	uint64_t size;

	if (!(concern_at(held, type, offset) & concern))
		return false;
	size = heap_types_size(held->types, type);
	held->steps = MAX_STEPS;

	// An object may be several of its type.
	return is_dead_in(held, concern, type, address, offset, 0) ||
	       (size > 0 && offset >= size &&
		is_dead_in(held, concern, type, address + offset - offset % size, offset % size,
			   0));
}

bool held_parts_is_dead(struct held_parts *held, heap_type_id type, uint64_t address,
			uint64_t offset)
{
	const uint8_t concern = HAS_STRINGS | HAS_CHOICES | HAS_WEAK | HAS_GONE | HAS_HOLES;

	return address != 0 && type != HEAP_NO_TYPE && (concern_of(held, type) & concern) &&
	       is_dead(held, concern, type, address, offset);
}

// An alternative that holds, and an offset in it.
struct held_alternative {
	heap_type_id type;
	uint64_t offset;
};

static void find_alternative(struct held_parts *held, heap_type_id id, uint64_t address,
			     uint64_t offset, int depth, struct held_alternative *result);

static void find_in_choice(struct held_parts *held, heap_type_id id, uint64_t address,
			   uint64_t offset, int depth, struct held_alternative *result)
{
	const struct choice *choice = find_choice(held, id);
	uint64_t number = choice ? read_number(held, choice, address) : UINT64_MAX;
	const struct heap_member_place *alternative;

	if (number == UINT64_MAX || number == choice->count || is_number_at(held, choice, offset))
		return;
	alternative = &held->alternatives.items[choice->first + number];
	if (offset < alternative->offset ||
	    offset - alternative->offset >= heap_types_size(held->types, alternative->type))
		return;
	offset -= alternative->offset;
	*result = (struct held_alternative){ alternative->type, offset };
	find_alternative(held, alternative->type, address + alternative->offset, offset, depth + 1,
			 result);
}

// Goes down to the value that an offset of another one lies in.
static void find_alternative(struct held_parts *held, heap_type_id id, uint64_t address,
			     uint64_t offset, int depth, struct held_alternative *result)
{
	const struct heap_types *types = held->types;

	id = heap_types_strip(types, id);
	if (depth == MAX_DEPTH || !(concern_of(held, id) & HAS_CHOICES) || !take_step(held))
		return;

	const struct heap_type *type = &types->types[id];

	if (held->container[id] == CHOICE) {
		find_in_choice(held, id, address, offset, depth, result);
		return;
	}
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t size = heap_types_size(types, type->target);
		uint64_t rest = size ? offset % size : offset;

		find_alternative(held, type->target, address + offset - rest, rest, depth + 1,
				 result);
		return;
	}
	// Nothing tells which member of a union holds, unless it is a variant's.
	if (type->kind == HEAP_TYPE_UNION)
		return;
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t size = heap_types_size(types, member->type);

		if (offset >= member->offset && offset - member->offset < size)
			find_alternative(held, member->type, address + member->offset,
					 offset - member->offset, depth + 1, result);
	}
}

heap_type_id held_parts_alternative(struct held_parts *held, heap_type_id type, uint64_t address,
				    uint64_t *offset)
{
	struct held_alternative found = { .type = HEAP_NO_TYPE };
	uint64_t size, rest;

	if (address == 0 || type == HEAP_NO_TYPE || !(concern_of(held, type) & HAS_CHOICES))
		return HEAP_NO_TYPE;
	// An object may be several of its type.
	size = heap_types_size(held->types, type);
	rest = size > 0 ? *offset % size : *offset;
	held->steps = MAX_STEPS;
	find_alternative(held, type, address + *offset - rest, rest, 0, &found);
	if (found.type != HEAP_NO_TYPE)
		*offset = found.offset;
	return found.type;
}

// --- blocks with room to spare ---------------------------------------------------

// The type of the vector, deque or string that an offset in a value lies in; HEAP_NO_TYPE: in none.
static heap_type_id find_owner(struct held_parts *held, heap_type_id id, uint64_t *offset,
			       int depth)
{
	const struct heap_types *types = held->types;

	id = heap_types_strip(types, id);
	if (depth == MAX_DEPTH || !(concern_of(held, id) & (HAS_OWNERS | HAS_STRINGS)) ||
	    !take_step(held))
		return HEAP_NO_TYPE;

	const struct heap_type *type = &types->types[id];
	enum container container = held->container[id];

	if (container == VECTOR || container == DEQUE || container == SPLIT_DEQUE ||
	    container == STRING)
		return *offset < type->size ? id : HEAP_NO_TYPE;
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t size = heap_types_size(types, type->target);

		*offset = size ? *offset % size : *offset;
		return find_owner(held, type->target, offset, depth + 1);
	}
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (*offset < member->offset ||
		    !(concern_of(held, member->type) & (HAS_OWNERS | HAS_STRINGS)))
			continue;

		uint64_t size = heap_types_size(types, member->type);
		uint64_t inside = *offset - member->offset;

		if (size > 0 && inside >= size)
			continue;
		heap_type_id owner = find_owner(held, member->type, &inside, depth + 1);

		if (owner != HEAP_NO_TYPE) {
			*offset = inside;
			return owner;
		}
	}
	return HEAP_NO_TYPE;
}

/*
 * Notes that only some bytes of a block are in use: those that all that is known of it agrees on. An allocator of the
 * program's own may have other objects behind the array, which nothing is known of.
 *
 * @param room  bytes of the array
 */
HEAP_MUST_CHECK
static struct heap_error *add_range(struct held_parts *held, heap_object_id object, uint64_t room,
				    uint64_t begin, uint64_t end)
{
	uint64_t hash = heap_hash_u64(object);
	uint32_t found =
		heap_hash_find(&held->range_of, hash, i, held->ranges.items[i].object == object);

	if (!heap_block_may_hold(held->capture->block_sizes,
				 objects_size(&held->capture->objects, object), room))
		return NULL;
	if (found != HEAP_HASH_NONE) {
		struct held_range *range = &held->ranges.items[found];

		range->begin = range->begin > begin ? range->begin : begin;
		range->end = range->end < end ? range->end : end;
		return NULL;
	}
	HEAP_TRY(heap_array_append(&held->ranges, (struct held_range){ object, begin, end }));
	return heap_hash_add(&held->range_of, hash, (uint32_t)held->ranges.count - 1);
}

// A vector's words: the first element, the end of the last one, the end of its block.
HEAP_MUST_CHECK
static struct heap_error *note_vector(struct held_parts *held, uint64_t address,
				      heap_object_id target)
{
	const struct objects *objects = &held->capture->objects;
	uint64_t words[3], start = objects_address(objects, target);
	uint64_t size = objects_size(objects, target);

	pages_read(held->pages, address, words, sizeof(words));
	if (words[0] != start || words[1] < start || words[1] > words[2] ||
	    words[2] - start > size || size - (words[1] - start) < WORD)
		return NULL;
	return add_range(held, target, words[2] - start, 0, words[1] - start);
}

// Nothing is behind the letters of a string, whatever its capacity. Few blocks have pointers there.
HEAP_MUST_CHECK
static struct heap_error *note_string(struct held_parts *held, uint64_t address,
				      heap_object_id target)
{
	const struct heap_snapshot *snapshot = &held->capture->snapshot;
	const struct objects *objects = &held->capture->objects;
	uint32_t last = snapshot->edge_first[target + 1];
	uint64_t words[3];

	if (last == snapshot->edge_first[target])
		return NULL;
	pages_read(held->pages, address, words, sizeof(words));
	if (words[0] != objects_address(objects, target) || words[1] > words[2] ||
	    words[2] >= objects_size(objects, target) ||
	    snapshot->edge_slot[last - 1] * (uint64_t)WORD <= words[1])
		return NULL;
	return add_range(held, target, words[2] + 1, 0, words[1] + 1);
}

// An end of a deque: an element, the chunk that it is in, and where the map leads to the chunk.
struct deque_end {
	uint64_t current, first, last, node;
};

// libstdc++'s deque has pointers to chunks of elements in a map. Chunks between its ends are full.
HEAP_MUST_CHECK
static struct heap_error *note_deque(struct held_parts *held, uint64_t address, uint64_t offset,
				     heap_object_id target)
{
	const struct objects *objects = &held->capture->objects;
	struct {
		uint64_t map, size;
		struct deque_end start, finish;
	} deque;
	uint64_t begin = objects_address(objects, target), size = objects_size(objects, target);

	_Static_assert(sizeof(deque) == DEQUE_SIZE, "libstdc++'s layout");
	pages_read(held->pages, address, &deque, sizeof(deque));
	if (deque.start.node < deque.map || deque.finish.node < deque.start.node ||
	    (deque.finish.node - deque.map) / WORD >= deque.size ||
	    deque.start.current < deque.start.first || deque.start.current > deque.start.last ||
	    deque.finish.current < deque.finish.first || deque.finish.current > deque.finish.last)
		return NULL;
	if (offset == 0 && deque.map == begin && deque.size * WORD <= size)
		return add_range(held, target, deque.size * WORD, deque.start.node - begin,
				 deque.finish.node + WORD - begin);
	if (deque.start.first == begin && deque.start.last - begin <= size)
		HEAP_TRY(add_range(held, target, deque.start.last - begin,
				   deque.start.current - begin, size));
	if (deque.finish.first == begin && deque.finish.last - begin <= size)
		HEAP_TRY(add_range(held, target, deque.finish.last - begin, 0,
				   deque.finish.current - begin));
	return NULL;
}

// The elements of a chunk that are in use. @param room  bytes of the chunk @param begin, end  of these, in use
HEAP_MUST_CHECK
static struct heap_error *note_chunk(struct held_parts *held, uint64_t map_word, uint64_t room,
				     uint64_t begin, uint64_t end)
{
	uint64_t chunk = 0;
	heap_object_id object;

	pages_read(held->pages, map_word, &chunk, sizeof(chunk));
	object = objects_find(&held->capture->objects, chunk);
	if (object == HEAP_NO_OBJECT || objects_address(&held->capture->objects, object) != chunk)
		return NULL;
	return add_range(held, object, room, begin, end);
}

// libc++'s deque: a map of pointers to chunks, the number of the first element, and how many there are.
HEAP_MUST_CHECK
static struct heap_error *note_split_deque(struct held_parts *held, uint64_t address,
					   uint64_t element, heap_object_id target)
{
	enum {
		CHUNK_BYTES = 4096,
		LEAST_ELEMENTS = 16,
		SMALL = 256, // bytes of an element
	};
	const struct objects *objects = &held->capture->objects;
	struct {
		uint64_t map, begin, end, map_end, start, size;
	} deque;
	uint64_t each = element < SMALL ? CHUNK_BYTES / (element ? element : 1) : LEAST_ELEMENTS;
	uint64_t map = objects_address(objects, target), last;

	_Static_assert(sizeof(deque) == SPLIT_DEQUE_SIZE, "libc++'s layout");
	pages_read(held->pages, address, &deque, sizeof(deque));
	if (element == 0 || deque.map != map || deque.begin < map || deque.end < deque.begin ||
	    deque.map_end < deque.end || deque.map_end - map > objects_size(objects, target) ||
	    deque.size == 0 || deque.start >= each ||
	    deque.size > (deque.end - deque.begin) / WORD * each - deque.start)
		return NULL;
	last = deque.start + deque.size - 1;
	HEAP_TRY(add_range(held, target, deque.map_end - map, deque.begin - map, deque.end - map));
	HEAP_TRY(note_chunk(held, deque.begin, each * element, deque.start * element, UINT64_MAX));
	return note_chunk(held, deque.begin + last / each * WORD, each * element, 0,
			  (last % each + 1) * element);
}

// The size of the elements of libc++'s deque, whose map is its first word.
static uint64_t element_of_deque(const struct heap_types *types, heap_type_id type)
{
	static const char *const map[] = { "__map_.__first_", "__map_.__begin_", NULL };
	struct heap_member_place place;

	if (!find_first(types, type, map, &place))
		return 0;
	for (int i = 0; i < 2; i++) {
		place.type = heap_types_strip(types, place.type);
		if (types->types[place.type].kind != HEAP_TYPE_POINTER)
			return 0;
		place.type = types->types[place.type].target;
	}
	return heap_types_size(types, place.type);
}

// True if a vector has the pointer to its first element at an offset: behind its allocator, if that has data.
static bool is_start_of_vector(const struct heap_types *types, heap_type_id type, uint64_t offset)
{
	static const char *const start[] = { "_M_impl._M_start", "__begin_", NULL };
	struct heap_member_place place;

	return find_first(types, type, start, &place) ? offset == place.offset : offset == 0;
}

struct heap_error *held_parts_note(struct held_parts *held, heap_type_id type, uint64_t address,
				   uint64_t offset, heap_object_id target)
{
	uint64_t inside = offset, size;
	heap_type_id owner;

	if (address == 0 || type == HEAP_NO_TYPE ||
	    !(concern_of(held, type) & (HAS_OWNERS | HAS_STRINGS)) ||
	    !(concern_at(held, type, offset) & (HAS_OWNERS | HAS_STRINGS)))
		return NULL;
	size = heap_types_size(held->types, type);
	held->steps = MAX_STEPS;
	owner = find_owner(held, type, &inside, 0);
	if (owner == HEAP_NO_TYPE && size > 0 && offset >= size) {
		inside = offset % size;
		owner = find_owner(held, type, &inside, 0);
	}
	switch (owner == HEAP_NO_TYPE ? NO_CONTAINER : held->container[owner]) {
	case VECTOR:
		return is_start_of_vector(held->types, owner, inside)
			       ? note_vector(held, address + offset, target)
			       : NULL;
	case STRING:
		return inside == 0 ? note_string(held, address + offset, target) : NULL;
	case DEQUE:
		return note_deque(held, address + offset - inside, inside, target);
	case SPLIT_DEQUE:
		return inside == 0 ? note_split_deque(held, address + offset,
						      element_of_deque(held->types, owner), target)
				   : NULL;
	default:
		return NULL;
	}
}

// The part of a header and its array up to the last element; all if the count does not agree with the block.
static struct held_range filled_range(struct held_parts *held, heap_type_id type, uint64_t address,
				      heap_object_id object)
{
	const struct objects *objects = &held->capture->objects;
	const struct heap_types *types = held->types;
	struct held_range all = { object, 0, UINT64_MAX };
	struct heap_member_place number, array;
	uint64_t count = 0, room, stride;
	heap_type_id element;

	type = heap_types_strip(types, type);
	if (object == HEAP_NO_OBJECT || held->container[type] != FILLED ||
	    !heap_member_find(types, type, filled.count, &number) ||
	    heap_types_size(types, number.type) != sizeof(count) ||
	    !heap_member_find(types, type, filled.array, &array) ||
	    !heap_types_flexible(types, type, &array.offset, &element))
		return all;
	stride = heap_types_size(types, element);
	room = objects_address(objects, object) + objects_size(objects, object) - address;
	if (stride == 0 || room < array.offset)
		return all;
	pages_read(held->pages, address + number.offset, &count, sizeof(count));
	if (count <= (room - array.offset) / stride)
		all.end = array.offset + count * stride;
	return all;
}

// The part of a frame in front of its variables, if it has come to its end: it has no function to resume it any more.
static struct held_range frame_range(struct held_parts *held, heap_type_id type, uint64_t address,
				     heap_object_id object)
{
	struct held_range all = { object, 0, UINT64_MAX };
	struct heap_member_place last;
	uint64_t resume = 0;

	pages_read(held->pages, address, &resume, sizeof(resume));
	if (resume == 0 && heap_member_find(held->types, type, last_of_frame, &last))
		all.end = last.offset + heap_types_size(held->types, last.type);
	return all;
}

// The elements of a block that its container has in use; all if nothing was noted of it.
static struct held_range noted_range(const struct held_parts *held, heap_object_id object)
{
	uint32_t found = HEAP_HASH_NONE;

	if (held->ranges.count > 0)
		found = heap_hash_find(&held->range_of, heap_hash_u64(object), i,
				       held->ranges.items[i].object == object);
	return found == HEAP_HASH_NONE ? (struct held_range){ object, 0, UINT64_MAX }
				       : held->ranges.items[found];
}

struct held_range held_parts_range(struct held_parts *held, heap_type_id type, uint64_t address,
				   heap_object_id object)
{
	if (type == HEAP_NO_TYPE || !(concern_of(held, type) & HAS_SPARES))
		return noted_range(held, object);
	return held->container[heap_types_strip(held->types, type)] == FRAME
		       ? frame_range(held, type, address, object)
		       : filled_range(held, type, address, object);
}

bool held_parts_has_ranges(const struct held_parts *held)
{
	return held->ranges.count > 0;
}

struct held_value held_parts_value(struct held_parts *held, heap_type_id type, uint64_t address,
				   heap_object_id object)
{
	return (struct held_value){
		.type = type,
		.address = address,
		.range = held_parts_range(held, type, address, object),
		.has_choices = address != 0 && type != HEAP_NO_TYPE &&
			       (concern_of(held, type) & (HAS_CHOICES | HAS_GONE)),
		.has_owners = type != HEAP_NO_TYPE && (concern_of(held, type) & HAS_OWNERS),
	};
}

bool held_parts_has(struct held_parts *held, const struct held_value *value, uint64_t offset)
{
	return held_range_has(&value->range, offset) &&
	       !(value->has_choices &&
		 is_dead(held, HAS_CHOICES | HAS_GONE, value->type, value->address, offset));
}
