// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ARRAY_H
#define HEAP_ARRAY_H

/**
 * Growing arrays of any type.
 *
 *	struct HEAP_ARRAY(uint32_t) queue = { 0 };           an anonymous type
 *	struct spans HEAP_ARRAY(struct span);                 a type with a tag, for parameters
 *
 *	HEAP_TRY(heap_array_append(&queue, 42));
 *	for (size_t i = 0; i < queue.count; i++)
 *		use(queue.items[i]);
 *	heap_array_deinit(&queue);
 *
 * Zeros are an empty array. An array that is declared with CLEANUP_ARRAY frees itself. Elements
 * move when the array grows, so refer to them by index. If it cannot grow, it keeps its elements.
 * Memory comes from malloc(), so free() releases the items, too.
 *
 * heap_reserve() grows an array whose pointer, count and capacity are separate fields, which may
 * have 32 bits.
 */

#include "lib/base/cleanup.h"

#include <stddef.h>

/** The members of a struct that is an array of @p type. */
#define HEAP_ARRAY(type) \
	{ \
		type *items; \
		size_t count, capacity; \
	}

/**
 * Makes room for @p wanted elements in all.
 *
 * @param array     a pointer to elements, or NULL; an lvalue, evaluated twice
 * @param capacity  elements it has room for, of any unsigned type; an lvalue, too
 * @return NULL, HEAP_ERROR_MEMORY: also if the type of @p capacity cannot count that many
 */
#define heap_reserve(array, capacity, wanted) \
	heap_error_checked(({ \
		size_t wanted_ = (wanted); \
		struct heap_error *failed_ = NULL; \
		if (wanted_ > (capacity)) { \
			size_t capacity_ = (capacity); \
			void *items_ = (array); \
			failed_ = heap_array_grow(&items_, &capacity_, wanted_, sizeof(*(array)), \
						  (typeof(capacity))-1); \
			(array) = items_; \
			(capacity) = (typeof(capacity))capacity_; \
		} \
		failed_; \
	}))

/** Makes room for @p more elements behind those that are there. @return as heap_reserve() */
#define heap_array_reserve(array, more) \
	heap_error_checked(({ \
		__auto_type reserved_ = (array); \
		size_t sum_; \
		__builtin_add_overflow(reserved_->count, (size_t)(more), &sum_) \
			? heap_error_out_of_memory() \
			: heap_reserve(reserved_->items, reserved_->capacity, sum_); \
	}))

/** Appends an element. @return as heap_reserve() */
#define heap_array_append(array, ...) \
	heap_error_checked(({ \
		__auto_type appended_ = (array); \
		struct heap_error *unable_ = heap_array_reserve(appended_, 1); \
		if (!unable_) \
			appended_->items[appended_->count++] = (__VA_ARGS__); \
		unable_; \
	}))

/** Frees the elements; the array is empty then. */
#define heap_array_deinit(array) \
	({ \
		__auto_type ended_ = (array); \
		free(ended_->items); \
		ended_->items = NULL; \
		ended_->count = ended_->capacity = 0; \
	})

/** For arrays that free themselves when their block is left. */
#define CLEANUP_ARRAY CLEANUP(heap_array_cleanup)

static inline void heap_array_cleanup(void *array)
{
	free(*(void **)array); // items is the first member
}

/**
 * The capacity to grow to: half as much again, at least @p wanted and some, as git's ALLOC_GROW.
 *
 * @param max  what the counter of the capacity can hold
 * @return 0 if there can be no array of that many elements of @p width bytes
 */
size_t heap_array_next_capacity(size_t capacity, size_t wanted, size_t width, size_t max);

/** The function behind heap_reserve(); to be called when @p wanted > @p *capacity. */
HEAP_MUST_CHECK
struct heap_error *heap_array_grow(void **items, size_t *capacity, size_t wanted, size_t width,
				   size_t max);

#endif
