// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/symbols/links.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_PLACES = 8,     // with pointers to blocks of the same kind
	LEAST_PAIRS = 8,    // of pointers that lead back to each other
	LEAST_EXPECTED = 8, // collisions among as many random pointers
	FEW = 64, // one collision in so many pointers is a link that was just being changed
};

// A word of the blocks that leads to others of them.
struct place {
	uint32_t word;
	uint32_t interior;   // where in these
	uint64_t links;      // pointers to them
	uint64_t others;     // and elsewhere
	uint64_t collisions; // links to one that another leads to
	enum link_role role;
};

struct search {
	const struct capture *capture;
	const heap_object_id *members;
	uint32_t count;
	uint32_t kind;
	struct place places[MAX_PLACES];
	int place_count;
	uint8_t *reached; // [count] the places, as bits, with links to the block
	struct HEAP_ARRAY(uint32_t) stack;
};

#define NOWHERE UINT32_MAX

// --- links ---------------------------------------------------------------------

// True if an edge leads to another block of the kind.
static bool is_inside(const struct search *search, heap_object_id source, uint32_t edge)
{
	heap_object_id target = search->capture->snapshot.edge_target[edge];

	return target != source && objects_kind(&search->capture->objects, target) == search->kind;
}

// The block, as an index of members, that a place of another one leads to.
static uint32_t follow(const struct search *search, uint32_t member, const struct place *place)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;
	heap_object_id source = search->members[member];
	uint32_t edge = heap_edge_at(snapshot, source, place->word * UINT64_C(8));

	if (edge == UINT32_MAX || snapshot->edge_interior[edge] != place->interior ||
	    !is_inside(search, source, edge))
		return NOWHERE;
	return (uint32_t)heap_lower_bound_u32(search->members, search->count,
					      snapshot->edge_target[edge]);
}

static bool is_place(const struct search *search, uint32_t word)
{
	int i = 0;

	while (i < search->place_count && search->places[i].word != word)
		i++;
	return i < search->place_count;
}

// Notes the place of an edge that leads to another block of the kind.
static void note_place(struct search *search, heap_object_id source, uint32_t edge)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;
	uint32_t word = snapshot->edge_slot[edge];

	if (word >= LINK_WORDS || search->place_count == MAX_PLACES || is_place(search, word) ||
	    !is_inside(search, source, edge))
		return;
	search->places[search->place_count++] =
		(struct place){ .word = word, .interior = snapshot->edge_interior[edge] };
}

// Finds the places that may have links: in all blocks, since few nodes of a tree may have two children.
static void find_places(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;

	for (uint32_t i = 0; i < search->count; i++) {
		heap_object_id source = search->members[i];

		progress_step();

		for (uint32_t edge = snapshot->edge_first[source];
		     edge < snapshot->edge_first[source + 1]; edge++)
			note_place(search, source, edge);
	}
}

// Counts the links of a place and their collisions, until these are too many for a list or tree.
static void count_links(struct search *search, int number)
{
	struct place *place = &search->places[number];
	uint8_t bit = (uint8_t)(1 << number);

	for (uint32_t i = 0; i < search->count && place->collisions * FEW <= search->count; i++) {
		uint32_t target = follow(search, i, place);

		progress_step();
		if (target == NOWHERE) {
			place->others +=
				heap_edge_at(&search->capture->snapshot, search->members[i],
					     place->word * UINT64_C(8)) != UINT32_MAX;
			continue;
		}
		place->links++;
		place->collisions += (search->reached[target] & bit) != 0;
		search->reached[target] |= bit;
	}
}

// True if so many pointers would collide far more often if they were random.
static bool is_proof(uint64_t collisions, uint64_t expected, uint64_t links)
{
	return collisions * FEW <= links && (collisions + 1) * LEAST_EXPECTED <= expected;
}

// True if no two links of a place lead to one block.
static bool is_injective(const struct search *search, const struct place *place)
{
	return place->others <= place->links &&
	       is_proof(place->collisions, place->links * place->links / search->count / 2,
			place->links);
}

/*
 * The collisions to be expected of the links of two places, if those of one were random: a share of them in proportion
 * to the blocks that the other reaches. Where that reaches nearly all, each link that hits one of the few others counts
 * as often as the chance for it halves.
 */
static uint64_t expect_shared(const struct search *search, const struct place *a,
			      const struct place *b)
{
	const struct place *most = a->links > b->links ? a : b, *least = most == a ? b : a;
	uint64_t left = search->count - most->links, halvings = 0;

	while (left < search->count / 2) {
		left = left * 2 + 1;
		halvings++;
	}
	return halvings > 0 ? least->links * halvings : most->links * least->links / search->count;
}

// Blocks to which two places lead.
static uint64_t count_shared(const struct search *search, int a, int b)
{
	uint8_t both = (uint8_t)(1 << a | 1 << b);
	uint64_t result = 0;

	for (uint32_t i = 0; i < search->count; i++)
		result += (search->reached[i] & both) == both;
	return result;
}

// True if nearly all links of a place are led back by another's.
static bool leads_back(const struct search *search, const struct place *place,
		       const struct place *back)
{
	uint64_t returned = 0;

	for (uint32_t i = 0; i < search->count; i++) {
		uint32_t target = follow(search, i, place);

		progress_step();
		returned += target != NOWHERE && follow(search, target, back) == i;
	}
	return place->links >= LEAST_PAIRS && (place->links - returned) * FEW <= place->links;
}

// --- lists and trees --------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *push_targets(struct search *search, uint32_t member, uint8_t places)
{
	for (int i = 0; i < search->place_count; i++) {
		uint32_t target =
			(places & 1 << i) ? follow(search, member, &search->places[i]) : NOWHERE;

		if (target != NOWHERE)
			HEAP_TRY(heap_array_append(&search->stack, target));
	}
	return NULL;
}

// Finds out if the links of some places form no cycle: then all blocks are reached from those that no link leads to.
HEAP_MUST_CHECK
static struct heap_error *is_acyclic(struct search *search, uint8_t places, bool *result)
{
	uint64_t left = search->count, steps = search->count * UINT64_C(2);

	for (uint32_t i = 0; i < search->count; i++) {
		if (search->reached[i] & places)
			continue;
		search->stack.count = 0;
		HEAP_TRY(heap_array_append(&search->stack, i));
		while (search->stack.count > 0 && steps > 0) {
			uint32_t member = search->stack.items[--search->stack.count];

			progress_step();
			steps--;
			left -= left > 0;
			HEAP_TRY(push_targets(search, member, places));
		}
	}
	*result = left * FEW <= search->count;
	return NULL;
}

// Two places whose links lead back to each other.
static void find_pairs(struct search *search)
{
	for (int i = 0; i < search->place_count; i++) {
		struct place *place = &search->places[i];

		for (int j = i + 1; j < search->place_count && place->role == LINK_NONE; j++) {
			struct place *other = &search->places[j];

			if (other->role != LINK_NONE || !is_injective(search, place) ||
			    !is_injective(search, other) || !leads_back(search, place, other) ||
			    !leads_back(search, other, place))
				continue;
			place->role = LINK_NEXT;
			other->role = LINK_PREVIOUS;
		}
	}
}

// The places that lead to different blocks than the given one, and than each other.
static uint8_t find_siblings(const struct search *search, int first)
{
	uint8_t result = (uint8_t)(1 << first);

	for (int i = 0; i < search->place_count; i++) {
		const struct place *place = &search->places[i];
		bool is_apart = place->role == LINK_NONE && place->others <= place->links &&
				place->collisions * FEW <= place->links;

		for (int j = 0; j < search->place_count && is_apart; j++) {
			const struct place *other = &search->places[j];

			if (result & 1 << j && i != j)
				is_apart = is_proof(count_shared(search, i, j),
						    expect_shared(search, place, other),
						    place->links + other->links);
		}
		if (is_apart)
			result |= (uint8_t)(1 << i);
	}
	return result;
}

static void set_roles(struct search *search, uint8_t places, enum link_role role)
{
	for (int i = 0; i < search->place_count; i++) {
		if (places & 1 << i)
			search->places[i].role = role;
	}
}

// A place whose pointers lead back to the node above, from all children.
static void find_parent(struct search *search, uint8_t children)
{
	for (int i = 0; i < search->place_count; i++) {
		struct place *place = &search->places[i];
		bool is_parent = place->role == LINK_NONE && !(children & 1 << i);

		for (int j = 0; j < search->place_count && is_parent; j++) {
			if (children & 1 << j)
				is_parent = leads_back(search, &search->places[j], place);
		}
		if (is_parent)
			place->role = LINK_PARENT;
	}
}

// Trees, and lists with links in one direction.
HEAP_MUST_CHECK
static struct heap_error *find_forests(struct search *search)
{
	for (int i = 0; i < search->place_count; i++) {
		uint8_t places;
		bool acyclic;

		if (search->places[i].role != LINK_NONE ||
		    !is_injective(search, &search->places[i]))
			continue;
		places = find_siblings(search, i);
		HEAP_TRY(is_acyclic(search, places, &acyclic));
		if (!acyclic)
			continue;
		if ((places & (places - 1)) == 0) {
			search->places[i].role = LINK_NEXT;
			continue;
		}
		set_roles(search, places, LINK_CHILD);
		find_parent(search, places);
	}
	return NULL;
}

static void release_search(struct search *search)
{
	free(search->reached);
	heap_array_deinit(&search->stack);
}

struct heap_error *links_find(struct links *links, const struct capture *capture,
			      const heap_object_id *members, uint32_t count)
{
	CLEANUP(release_search)
	struct search search = { .capture = capture,
				 .members = members,
				 .count = count,
				 .kind = objects_kind(&capture->objects, members[0]) };

	*links = (struct links){ 0 };
	find_places(&search);
	if (search.place_count == 0)
		return NULL;
	search.reached = calloc(count, sizeof(*search.reached));
	if (!search.reached)
		return heap_error_out_of_memory();
	for (int i = 0; i < search.place_count; i++)
		count_links(&search, i);
	find_pairs(&search);
	HEAP_TRY(find_forests(&search));
	for (int i = 0; i < search.place_count; i++) {
		const struct place *place = &search.places[i];

		links->role[place->word] = place->interior == 0 ? (uint8_t)place->role : LINK_NONE;
		links->is_list = links->is_list || links->role[place->word] == LINK_NEXT;
		links->is_tree = links->is_tree || links->role[place->word] == LINK_CHILD;
	}
	return NULL;
}
