// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIBRARY_VALUES_H
#define LIBRARY_VALUES_H

/**
 * Strings, vectors and other containers of C++ inside of blocks whose type is not known, by their words.
 *
 *	std::string of libstdc++    text, length, capacity + 1 is the size of the text's block; or the text follows
 *	std::string of libc++       the same, with the capacity first; or the length in one byte before the text
 *	std::vector of both         begin, end, begin + the size of its block
 *	std::shared_ptr of both     a pointer, and its control block, whose class is known by its vtable
 *	std::map, set               the root's parent is this one; or an empty one leads to itself
 *	std::list                   the first node leads back to this one; likewise
 *	std::unordered_map, set     buckets in a block of their size; or an empty one, with its load factor
 *
 * Other code may have buffers with three such pointers, and lists of this kind; they are vectors and lists of its own.
 */

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/image/page_cache.h"

/** Those that are tried first come first. */
enum library_value {
	LIBRARY_HASH,
	LIBRARY_TREE,
	LIBRARY_STRING,
	LIBRARY_LIST,
	LIBRARY_VECTOR,
	LIBRARY_SHARED,
	LIBRARY_VALUES,
};

enum library_proof {
	LIBRARY_REFUTED,
	LIBRARY_POSSIBLE, /**< an empty one looks like nothing else than zeros */
	LIBRARY_PROVEN,
};

struct library_values {
	const struct capture *capture;
	struct pages *pages;
	bool is_libcxx;
};

enum {
	VECTOR_WORDS = 3,
};

/** The C++ libraries that are loaded. */
struct cxx_libraries {
	bool has_stdcxx, has_libcxx;
};

struct cxx_libraries library_values_libraries(const struct modules *modules);

/** Finds out what library the process has. @param pages  must outlive it */
void library_values_init(struct library_values *values, const struct capture *capture,
			 struct pages *pages);

/** The names of a value's words, with a "*" before those of pointers; NULL behind the last. */
const char *const *library_values_members(const struct library_values *values,
					  enum library_value value);

/** The words of a value. */
size_t library_values_words(const struct library_values *values, enum library_value value);

/**
 * Decides if a value is in @p words, whose address is @p address. For LIBRARY_SHARED the types of control
 * blocks must be known.
 */
enum library_proof library_values_check(const struct library_values *values,
					enum library_value value, const uint64_t *words,
					uint64_t address);

/** Decides if a vector is in @p words. @param buffer  gets the block of its elements, if it is proven */
enum library_proof library_values_is_vector(const struct library_values *values,
					    const uint64_t words[VECTOR_WORDS],
					    heap_object_id *buffer);

#endif
