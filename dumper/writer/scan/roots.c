// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/roots.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <string.h>

enum {
	NEAR = 64, // bytes between pointers of one variable, at most
	MAX_GROUPS =
		4096, // of pointers that get roots of their own; the others have one without a place
};

void roots_deinit(struct roots *roots)
{
	heap_array_deinit(&roots->claims);
}

struct heap_error *roots_add(struct roots *roots, const struct heap_root *root,
			     heap_root_id *result)
{
	struct heap_snapshot *snapshot = roots->snapshot;

	if (snapshot->root_count == UINT32_MAX / 2)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many roots");
	HEAP_TRY(heap_reserve(snapshot->roots, roots->capacity, (size_t)snapshot->root_count + 1));
	snapshot->roots[snapshot->root_count] = *root;
	*result = snapshot->root_count++;
	return NULL;
}

struct heap_error *roots_add_word(struct roots *roots, heap_root_id root, uint64_t offset,
				  uint64_t word, const struct objects *objects)
{
	struct heap_snapshot *snapshot = roots->snapshot;
	uint64_t interior;
	heap_object_id target = objects_resolve(objects, word, &interior);

	if (target == HEAP_NO_OBJECT)
		return NULL;
	HEAP_TRY(heap_reserve(snapshot->root_edges, roots->edge_capacity,
			      snapshot->root_edge_count + 1));

	snapshot->root_edges[snapshot->root_edge_count++] = (struct heap_root_edge){
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
	struct heap_snapshot *snapshot = roots->snapshot;
	uint64_t start = snapshot->root_content_size;

	HEAP_TRY(heap_reserve(snapshot->root_content, roots->content_capacity, start + size));
	memcpy(snapshot->root_content + start, bytes, size);
	snapshot->roots[root].content = start;
	snapshot->roots[root].content_size = size;
	snapshot->root_content_size += size;
	return NULL;
}

struct heap_error *roots_claim(struct roots *roots, uint64_t start, uint64_t size)
{
	return heap_array_append(&roots->claims, (struct root_claim){ start, start + size });
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
	uint64_t offset = address - roots->snapshot->roots[variable->id].address;

	for (size_t i = 0; i < count; i++)
		HEAP_TRY(roots_add_word(roots, variable->id, offset + i * 8, words[i],
					variable->objects));
	return NULL;
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
	if (image_is_lost(image, root->address)) // its value is not 0
		return NULL;
	HEAP_TRY(roots_add(roots, root, &id));
	HEAP_TRY(roots_claim(roots, root->address, root->size));
	// Packed variables begin anywhere; the pointers that matter are aligned.
	HEAP_TRY(visit_words(image, root, add_words, &(struct variable){ roots, objects, id }));
	if (!image_read(image, root->address, value, kept))
		return NULL;
	return roots_set_content(roots, id, value, kept);
}

static int compare_claims(const void *left, const void *right)
{
	const struct root_claim *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

void roots_sort_claims(struct roots *roots)
{
	struct root_claim *claims = roots->claims.items;

	if (roots->claims.count == 0)
		return;
	qsort(claims, roots->claims.count, sizeof(*claims), compare_claims);

	// Joined where they overlap or touch, so that the last one to start before an address
	// is the only one that can hold it.
	size_t last = 0;

	for (size_t i = 1; i < roots->claims.count; i++) {
		if (claims[i].start > claims[last].end)
			claims[++last] = claims[i];
		else if (claims[i].end > claims[last].end)
			claims[last].end = claims[i].end;
	}
	roots->claims.count = last + 1;
}

bool roots_is_claimed(const struct roots *roots, uint64_t address)
{
	const struct root_claim *claims = roots->claims.items;
	size_t at = heap_partition_point(i, 0, roots->claims.count, claims[i].end <= address);

	return at < roots->claims.count && claims[at].start <= address;
}

struct gathering {
	struct roots *roots;
	const struct heap_root *root;
	const struct objects *objects;
	enum roots_words which;
	heap_root_id id;    // HEAP_NO_OBJECT until the first pointer is found
	uint64_t start;     // of that root
	roots_place *place; // NULL: there is one root for all
	void *context;      // of that
	int groups;
};

// Starts a root for a pointer, if it is none of the last one's.
HEAP_MUST_CHECK
static struct heap_error *start_root(struct gathering *gathering, uint64_t address)
{
	struct heap_root root = *gathering->root;
	const struct heap_root *last = gathering->id == HEAP_NO_OBJECT
					       ? NULL
					       : &gathering->roots->snapshot->roots[gathering->id];

	if (last && (!gathering->place || gathering->groups > MAX_GROUPS ||
		     address - (last->address + last->size) <= NEAR))
		return NULL;
	if (gathering->place) {
		root.address = address;
		root.size = 0;
		if (++gathering->groups <= MAX_GROUPS)
			gathering->place(gathering->context, &root);
	}
	gathering->start = root.address;
	return roots_add(gathering->roots, &root, &gathering->id);
}

HEAP_MUST_CHECK
static struct heap_error *gather_words(void *context, uint64_t address, const uint64_t *words,
				       size_t count)
{
	struct gathering *gathering = context;
	struct roots *roots = gathering->roots;

	for (size_t i = 0; i < count; i++) {
		uint64_t interior;

		if (objects_resolve(gathering->objects, words[i], &interior) == HEAP_NO_OBJECT ||
		    (gathering->which == ROOTS_STARTS_ONLY && interior != 0) ||
		    roots_is_claimed(roots, address + i * 8))
			continue;
		HEAP_TRY(start_root(gathering, address + i * 8));
		HEAP_TRY(roots_add_word(roots, gathering->id, address + i * 8 - gathering->start,
					words[i], gathering->objects));
		if (gathering->place)
			roots->snapshot->roots[gathering->id].size =
				address + (i + 1) * 8 - gathering->start;
	}
	return NULL;
}

struct heap_error *roots_gather(struct roots *roots, const struct heap_root *root,
				const struct image *image, const struct objects *objects,
				enum roots_words which)
{
	return roots_gather_groups(roots, root, image, objects, which, NULL, NULL);
}

struct heap_error *roots_gather_groups(struct roots *roots, const struct heap_root *root,
				       const struct image *image, const struct objects *objects,
				       enum roots_words which, roots_place *place, void *context)
{
	struct gathering gathering = { .roots = roots,
				       .root = root,
				       .objects = objects,
				       .which = which,
				       .id = HEAP_NO_OBJECT,
				       .place = place,
				       .context = context };

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
	struct heap_snapshot *snapshot = roots->snapshot;

	if (snapshot->root_edge_count > 0)
		qsort(snapshot->root_edges, snapshot->root_edge_count,
		      sizeof(*snapshot->root_edges), compare_edges);
}
