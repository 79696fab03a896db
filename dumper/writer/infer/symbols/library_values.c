// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/library_values.h"

#include "dumper/base/header.h"

#include <string.h>

enum {
	WORD = 8,
	STDCXX_INLINE = 15, // letters of a string without a block
	LIBCXX_INLINE = 22,
	LEAST_TEXT = 4, // letters that are no chance
};

enum {
	MAX_MEMBERS = 7,
};

// [libstdc++, libc++]
static const char *const members[2][LIBRARY_VALUES][MAX_MEMBERS + 1] = {
	{
		[LIBRARY_HASH] = { "*buckets", "bucket_count", "*first", "count", "max_load",
				   "next_resize", "*bucket" },
		[LIBRARY_TREE] = { "compare", "color", "*root", "*first", "*last", "count" },
		[LIBRARY_STRING] = { "*text", "length", "capacity", "more" },
		[LIBRARY_LIST] = { "*next", "*previous", "count" },
		[LIBRARY_VECTOR] = { "*begin", "*end", "*capacity" },
		[LIBRARY_SHARED] = { "*pointer", "*control" },
	},
	{
		[LIBRARY_HASH] = { "*buckets", "bucket_count", "*first", "count", "max_load" },
		[LIBRARY_TREE] = { "*first", "*root", "count" },
		[LIBRARY_STRING] = { "capacity", "length", "*text" },
		[LIBRARY_LIST] = { "*previous", "*next", "count" },
		[LIBRARY_VECTOR] = { "*begin", "*end", "*capacity" },
		[LIBRARY_SHARED] = { "*pointer", "*control" },
	},
};

struct cxx_libraries library_values_libraries(const struct modules *modules)
{
	struct cxx_libraries result = { 0 };

	for (size_t i = 0; i < modules->count; i++) {
		const char *path = modules->modules[i].path;

		result.has_stdcxx = result.has_stdcxx || strstr(path, "/libstdc++.so");
		result.has_libcxx = result.has_libcxx || strstr(path, "/libc++.so");
	}
	return result;
}

void library_values_init(struct library_values *values, const struct capture *capture,
			 struct pages *pages)
{
	struct cxx_libraries libraries = library_values_libraries(&capture->modules);

	*values = (struct library_values){ .capture = capture,
					   .pages = pages,
					   .is_libcxx =
						   libraries.has_libcxx && !libraries.has_stdcxx };
}

const char *const *library_values_members(const struct library_values *values,
					  enum library_value value)
{
	return members[values->is_libcxx][value];
}

size_t library_values_words(const struct library_values *values, enum library_value value)
{
	size_t count = 0;

	while (members[values->is_libcxx][value][count])
		count++;
	return count;
}

// --- strings and vectors -------------------------------------------------------

// True for a block of operator new. In a process that nobody prepared, any may be one.
static bool is_from_new(const struct library_values *values, heap_object_id object)
{
	return values->capture->block_sizes != HEAP_BLOCK_SIZES_EXACT ||
	       (values->capture->objects.flags[object] & HEAPSNAP_BLOCK_NEW);
}

// The block of operator new that begins at an address and was requested with a size, or HEAP_NO_OBJECT.
static heap_object_id find_block(const struct library_values *values, uint64_t address,
				 uint64_t size)
{
	const struct objects *objects = &values->capture->objects;
	heap_object_id object = objects_find(objects, address);

	if (object == HEAP_NO_OBJECT || objects_address(objects, object) != address ||
	    !heap_block_may_hold(values->capture->block_sizes, objects_size(objects, object),
				 size) ||
	    !is_from_new(values, object))
		return HEAP_NO_OBJECT;
	return object;
}

// True if a text has a length, up to its NUL, in a block of a size.
static bool is_text(const struct library_values *values, uint64_t address, uint64_t length,
		    uint64_t size)
{
	char end;

	if (length >= size || find_block(values, address, size) == HEAP_NO_OBJECT)
		return false;
	pages_read(values->pages, address + length, &end, 1);
	return end == '\0';
}

static enum library_proof is_stdcxx_string(const struct library_values *values,
					   const uint64_t *words, uint64_t address)
{
	bool is_inline = words[0] == address + (uint64_t)2 * WORD;

	if (is_inline)
		return words[1] <= STDCXX_INLINE && ((const char *)&words[2])[words[1]] == '\0'
			       ? LIBRARY_PROVEN
			       : LIBRARY_REFUTED;
	return words[2] > STDCXX_INLINE && is_text(values, words[0], words[1], words[2] + 1)
		       ? LIBRARY_PROVEN
		       : LIBRARY_REFUTED;
}

static enum library_proof is_libcxx_string(const struct library_values *values,
					   const uint64_t *words)
{
	const unsigned char *bytes = (const unsigned char *)words;
	size_t length = bytes[0] / 2;

	if (bytes[0] & 1)
		return is_text(values, words[2], words[1], words[0] & ~UINT64_C(1))
			       ? LIBRARY_PROVEN
			       : LIBRARY_REFUTED;
	if (length > LIBCXX_INLINE || bytes[1 + length] != '\0')
		return LIBRARY_REFUTED;
	for (size_t i = 1; i <= length; i++) {
		if (bytes[i] < ' ' || bytes[i] == 0x7f)
			return LIBRARY_REFUTED;
	}
	return length >= LEAST_TEXT ? LIBRARY_PROVEN : LIBRARY_POSSIBLE;
}

enum library_proof library_values_is_vector(const struct library_values *values,
					    const uint64_t words[VECTOR_WORDS],
					    heap_object_id *buffer)
{
	uint64_t begin = words[0], end = words[1], limit = words[2];

	if (begin == 0 && end == 0 && limit == 0)
		return LIBRARY_POSSIBLE;
	if (begin == 0 || begin > end || end > limit)
		return LIBRARY_REFUTED;
	*buffer = find_block(values, begin, limit - begin);
	if (*buffer == HEAP_NO_OBJECT)
		return LIBRARY_REFUTED;
	return begin < end ? LIBRARY_PROVEN : LIBRARY_POSSIBLE; // as in a deque's iterator
}

static bool is_control_block(const struct library_values *values, uint64_t address)
{
	static const char *const names[] = { "std::_Sp_counted_", "std::__1::__shared_ptr_" };
	const struct capture *capture = values->capture;
	heap_object_id object = objects_find(&capture->objects, address);
	const char *name;

	if (object == HEAP_NO_OBJECT || objects_address(&capture->objects, object) != address ||
	    names_of(&capture->names, object)->evidence != HEAP_EVIDENCE_VTABLE)
		return false;
	name = heap_types_string(
		&capture->snapshot.types,
		capture->snapshot.types.types[names_type(&capture->names, object)].name);
	return strncmp(name, names[0], strlen(names[0])) == 0 ||
	       strncmp(name, names[1], strlen(names[1])) == 0;
}

static enum library_proof is_shared(const struct library_values *values, const uint64_t *words)
{
	if (words[1] == 0)
		return words[0] == 0 ? LIBRARY_POSSIBLE : LIBRARY_REFUTED;
	return is_control_block(values, words[1]) ? LIBRARY_PROVEN : LIBRARY_REFUTED;
}

// --- containers with nodes -----------------------------------------------------

// True if a node of operator new has an address at one of its words.
static bool leads_back(const struct library_values *values, uint64_t node, uint64_t word,
		       uint64_t address)
{
	const struct objects *objects = &values->capture->objects;
	heap_object_id object = objects_find(objects, node);
	uint64_t back;

	if (object == HEAP_NO_OBJECT || objects_address(objects, object) != node ||
	    objects_size(objects, object) <= (word + 1) * WORD || !is_from_new(values, object))
		return false;
	pages_read(values->pages, node + word * WORD, &back, sizeof(back));
	return back == address;
}

static bool is_count(const struct library_values *values, uint64_t word)
{
	return word > 0 && word <= values->capture->objects.count;
}

static enum library_proof is_tree(const struct library_values *values, const uint64_t *words,
				  uint64_t address)
{
	uint64_t head = address + WORD;
	bool is_known;

	if (values->is_libcxx)
		is_known = words[1] == 0 ? words[0] == head && words[2] == 0
					 : is_count(values, words[2]) &&
						   leads_back(values, words[1], 2, head);
	else
		is_known = (uint32_t)words[1] == 0 &&
			   (words[2] == 0 ? words[3] == head && words[4] == head && words[5] == 0
					  : is_count(values, words[5]) &&
						    leads_back(values, words[2], 1, head));
	return is_known ? LIBRARY_PROVEN : LIBRARY_REFUTED;
}

static enum library_proof is_list(const struct library_values *values, const uint64_t *words,
				  uint64_t address)
{
	bool is_known = words[0] == address ? words[1] == address && words[2] == 0
					    : is_count(values, words[2]) &&
						      leads_back(values, words[0], 1, address) &&
						      leads_back(values, words[1], 0, address);

	return is_known ? LIBRARY_PROVEN : LIBRARY_REFUTED;
}

static enum library_proof is_hash(const struct library_values *values, const uint64_t *words,
				  uint64_t address)
{
	static const float usual = 1;
	bool is_empty = words[2] == 0 && words[3] == 0, has_buckets;

	if (memcmp(&words[4], &usual, sizeof(usual)) != 0 || (!is_empty && words[2] == 0) ||
	    (!is_empty && !is_count(values, words[3])))
		return LIBRARY_REFUTED;
	if (values->is_libcxx)
		has_buckets = is_empty && words[0] == 0 && words[1] == 0;
	else
		has_buckets = words[0] == address + (uint64_t)6 * WORD && words[1] == 1;
	return has_buckets || (words[1] < UINT32_MAX &&
			       find_block(values, words[0], words[1] * WORD) != HEAP_NO_OBJECT)
		       ? LIBRARY_PROVEN
		       : LIBRARY_REFUTED;
}

enum library_proof library_values_check(const struct library_values *values,
					enum library_value value, const uint64_t *words,
					uint64_t address)
{
	heap_object_id buffer;

	switch (value) {
	case LIBRARY_HASH:
		return is_hash(values, words, address);
	case LIBRARY_TREE:
		return is_tree(values, words, address);
	case LIBRARY_STRING:
		return values->is_libcxx ? is_libcxx_string(values, words)
					 : is_stdcxx_string(values, words, address);
	case LIBRARY_LIST:
		return is_list(values, words, address);
	case LIBRARY_VECTOR:
		return library_values_is_vector(values, words, &buffer);
	case LIBRARY_SHARED:
		return is_shared(values, words);
	default:
		return LIBRARY_REFUTED;
	}
}
