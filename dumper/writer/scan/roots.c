// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/roots.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <string.h>

// Room for one more in an array that doubles.
HEAP_MUST_CHECK
static struct heap_error *reserve(void *array, size_t element, uint64_t count, uint64_t *capacity)
{
	void **pointer = array;

	if (count < *capacity)
		return NULL;

	uint64_t larger = *capacity ? *capacity * 2 : 256;
	void *grown = realloc(*pointer, larger * element);

	if (!grown)
		return heap_error_out_of_memory();
	*pointer = grown;
	*capacity = larger;
	return NULL;
}

void roots_deinit(struct roots *roots)
{
	free(roots->roots);
	free(roots->edges);
	free(roots->content);
	free(roots->claims);
}

struct heap_error *roots_add(struct roots *roots, const struct heap_root *root,
			     heap_root_id *result)
{
	uint64_t capacity = roots->capacity;
	struct heap_error *error =
		reserve(&roots->roots, sizeof(*roots->roots), roots->count, &capacity);

	if (error)
		return error;
	if (capacity > UINT32_MAX / 2)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many roots");
	roots->capacity = (uint32_t)capacity;
	roots->roots[roots->count] = *root;
	*result = roots->count++;
	return NULL;
}

struct heap_error *roots_add_word(struct roots *roots, heap_root_id root, uint64_t offset,
				  uint64_t word, const struct objects *objects)
{
	heap_object_id target = objects_find(objects, word);

	if (target == HEAP_NO_OBJECT)
		return NULL;

	struct heap_error *error = reserve(&roots->edges, sizeof(*roots->edges), roots->edge_count,
					   &roots->edge_capacity);

	if (error)
		return error;

	uint64_t interior = word - objects->address[target];

	roots->edges[roots->edge_count++] = (struct heap_root_edge){
		.root = root,
		.target = target,
		.offset = offset,
		.interior = interior < UINT32_MAX ? (uint32_t)interior : UINT32_MAX,
	};
	return NULL;
}

struct heap_error *roots_set_content(struct roots *roots, heap_root_id root, const void *bytes,
				     size_t size)
{
	while (roots->content_capacity - roots->content_size < size) {
		struct heap_error *error = reserve(&roots->content, 1, roots->content_capacity,
						   &roots->content_capacity);

		if (error)
			return error;
	}
	memcpy(roots->content + roots->content_size, bytes, size);
	roots->roots[root].content = roots->content_size;
	roots->roots[root].content_size = size;
	roots->content_size += size;
	return NULL;
}

struct heap_error *roots_claim(struct roots *roots, uint64_t start, uint64_t size)
{
	uint64_t capacity = roots->claim_capacity;
	struct heap_error *error =
		reserve(&roots->claims, sizeof(*roots->claims), roots->claim_count, &capacity);

	if (error)
		return error;
	roots->claim_capacity = capacity;
	roots->claims[roots->claim_count++] = (struct root_claim){ start, start + size };
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *visit_words(const struct image *image, const struct heap_root *root,
				      image_visitor *visit, void *context)
{
	uint64_t start = (root->address + 7) & ~UINT64_C(7);
	uint64_t end = (root->address + root->size) & ~UINT64_C(7);

	return start < end ? image_visit(image, start, end, visit, context) : NULL;
}

struct variable {
	struct roots *roots;
	const struct objects *objects;
	heap_root_id id;
};

HEAP_MUST_CHECK
static struct heap_error *add_words(void *context, uint64_t address, const uint64_t *words,
				    size_t count)
{
	const struct variable *variable = context;
	struct roots *roots = variable->roots;
	uint64_t offset = address - roots->roots[variable->id].address;
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < count; i++)
		error = roots_add_word(roots, variable->id, offset + i * 8, words[i],
				       variable->objects);
	return error;
}

struct heap_error *roots_add_variable(struct roots *roots, const struct heap_root *root,
				      const struct image *image, const struct objects *objects,
				      uint64_t limit)
{
	heap_root_id id;
	size_t kept = root->size < limit ? root->size : limit;
	CLEANUP_FREE uint8_t *value = malloc(kept + 1);

	if (!value)
		return heap_error_out_of_memory();

	struct heap_error *error = roots_add(roots, root, &id);

	if (!error)
		error = roots_claim(roots, root->address, root->size);
	if (!error) {
		struct variable variable = { roots, objects, id };

		// Packed variables begin anywhere; the pointers that matter are aligned.
		error = visit_words(image, root, add_words, &variable);
	}
	if (error || !image_read(image, root->address, value, kept))
		return error;
	return roots_set_content(roots, id, value, kept);
}

static int compare_claims(const void *left, const void *right)
{
	const struct root_claim *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

void roots_sort_claims(struct roots *roots)
{
	if (roots->claim_count == 0)
		return;
	qsort(roots->claims, roots->claim_count, sizeof(*roots->claims), compare_claims);

	// Joined where they overlap or touch, so that the last one to start before an address
	// is the only one that can hold it.
	size_t last = 0;

	for (size_t i = 1; i < roots->claim_count; i++) {
		if (roots->claims[i].start > roots->claims[last].end)
			roots->claims[++last] = roots->claims[i];
		else if (roots->claims[i].end > roots->claims[last].end)
			roots->claims[last].end = roots->claims[i].end;
	}
	roots->claim_count = last + 1;
}

bool roots_is_claimed(const struct roots *roots, uint64_t address)
{
	size_t at = heap_partition_point(i, 0, roots->claim_count, roots->claims[i].end <= address);

	return at < roots->claim_count && roots->claims[at].start <= address;
}

struct gathering {
	struct roots *roots;
	const struct heap_root *root;
	const struct objects *objects;
	enum roots_words which;
	heap_root_id id; // HEAP_NO_OBJECT until the first pointer is found
};

HEAP_MUST_CHECK
static struct heap_error *gather_words(void *context, uint64_t address, const uint64_t *words,
				       size_t count)
{
	struct gathering *gathering = context;
	struct roots *roots = gathering->roots;

	for (size_t i = 0; i < count; i++) {
		heap_object_id target = objects_find(gathering->objects, words[i]);
		struct heap_error *error = NULL;

		if (target == HEAP_NO_OBJECT ||
		    (gathering->which == ROOTS_STARTS_ONLY &&
		     gathering->objects->address[target] != words[i]) ||
		    roots_is_claimed(roots, address + i * 8))
			continue;
		if (gathering->id == HEAP_NO_OBJECT)
			error = roots_add(roots, gathering->root, &gathering->id);
		if (!error)
			error = roots_add_word(roots, gathering->id,
					       address + i * 8 - gathering->root->address, words[i],
					       gathering->objects);
		if (error)
			return error;
	}
	return NULL;
}

struct heap_error *roots_gather(struct roots *roots, const struct heap_root *root,
				const struct image *image, const struct objects *objects,
				enum roots_words which)
{
	struct gathering gathering = { roots, root, objects, which, HEAP_NO_OBJECT };

	return visit_words(image, root, gather_words, &gathering);
}

static int compare_edges(const void *left, const void *right)
{
	const struct heap_root_edge *a = left, *b = right;

	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

void roots_sort_edges(struct roots *roots)
{
	if (roots->edge_count > 0)
		qsort(roots->edges, roots->edge_count, sizeof(*roots->edges), compare_edges);
}
