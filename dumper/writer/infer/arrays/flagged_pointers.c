// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/holders.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	SHARED_SHARE = 4, // one in so many targets that plain pointers lead to, too, is no chance
};

struct flagged_pointer {
	heap_type_id pointee;
	uint32_t group;
	struct pointer pointer;
};

void flagged_pointers_deinit(struct flagged_pointers *pointers)
{
	heap_array_deinit(&pointers->groups);
	heap_hash_table_deinit(&pointers->by_member);
	heap_array_deinit(&pointers->waiting);
}

bool flagged_pointers_concern(const struct inference *inference, heap_type_id pointee,
			      heap_object_id target, uint64_t interior)
{
	return interior > 0 && layouts_is_start(interior) && pointee != HEAP_NO_TYPE &&
	       inference_prefix(inference, target) == 0 &&
	       layouts_is_compound(&inference->layouts,
				   layouts_strip(&inference->layouts, pointee));
}

static uint64_t hash_member(heap_type_id holder, heap_type_id pointee)
{
	return heap_hash_u64((uint64_t)holder << 32 | pointee);
}

static uint32_t lookup(const struct flagged_pointers *pointers, heap_type_id holder,
		       heap_type_id pointee, uint64_t flags)
{
	return heap_hash_find(&pointers->by_member, hash_member(holder, pointee), i,
			      pointers->groups.items[i].holder == holder &&
				      pointers->groups.items[i].pointee == pointee &&
				      pointers->groups.items[i].flags == flags);
}

// The group of a pointer, which is added if there is none.
HEAP_MUST_CHECK
static struct heap_error *find_group(struct flagged_pointers *pointers, heap_type_id pointee,
				     const struct pointer *pointer, uint32_t *result)
{
	*result = lookup(pointers, pointer->holder_type, pointee, pointer->interior);
	if (*result != HEAP_HASH_NONE)
		return NULL;
	*result = (uint32_t)pointers->groups.count;
	HEAP_TRY(heap_array_append(&pointers->groups,
				   (struct flag_group){ .holder = pointer->holder_type,
							.pointee = pointee,
							.flags = (uint32_t)pointer->interior }));
	return heap_hash_add(&pointers->by_member, hash_member(pointer->holder_type, pointee),
			     *result);
}

struct heap_error *flagged_pointers_add(struct inference *inference, heap_type_id pointee,
					const struct pointer *pointer)
{
	struct flagged_pointers *pointers = &inference->flagged_pointers;
	struct flag_group *group;
	uint32_t number;

	HEAP_TRY(find_group(pointers, pointee, pointer, &number));
	group = &pointers->groups.items[number];
	group->pointers++;
	if (group->decided > 0 && group->pointers < 2 * group->decided)
		return group->tells_type ? NULL
					 : inference_apply_pointer(inference, pointee, pointer);
	return heap_array_append(&pointers->waiting,
				 (struct flagged_pointer){ pointee, number, *pointer });
}

// Notes a pointer without flags, if it is in a member of a group.
static void note_plain(struct flagged_pointers *pointers, heap_type_id holder, heap_type_id pointee,
		       heap_object_id target, uint8_t *plain)
{
	for (uint64_t flags = 1; layouts_is_start(flags); flags++) {
		uint32_t group = lookup(pointers, holder, pointee, flags);

		if (group == HEAP_HASH_NONE)
			continue;
		pointers->groups.items[group].plain++;
		heap_bit_set(plain, target);
	}
}

HEAP_MUST_CHECK
static struct heap_error *note_object(struct inference *inference, heap_object_id object,
				      uint8_t *plain)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_type_id type = inference_type(inference, object);
	uint64_t prefix = inference_prefix(inference, object);
	const struct heap_repetition *repetition;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
	if (!heap_repetition_has_slots(repetition))
		return NULL;
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint64_t place = snapshot->edge_slot[i] * UINT64_C(8);
		const struct heap_slots *slots;
		uint32_t first, end;

		if (snapshot->edge_interior[i] != 0 || place < prefix)
			continue;
		slots = heap_repetition_slots_at(repetition, place - prefix, &first, &end);
		if (slots && end - first == 1)
			note_plain(&inference->flagged_pointers, type, slots->list[first].pointee,
				   snapshot->edge_target[i], plain);
	}
	return NULL;
}

// Finds the targets of pointers without flags in the groups' members.
HEAP_MUST_CHECK
static struct heap_error *note_all(struct inference *inference, uint8_t *plain)
{
	struct flagged_pointers *pointers = &inference->flagged_pointers;
	CLEANUP(holders_deinit) struct holders holders = { 0 };

	HEAP_TRY(holders_init(&holders, inference));
	for (size_t i = 0; i < pointers->groups.count; i++) {
		holders.are_types[pointers->groups.items[i].holder] = true;
		pointers->groups.items[i].plain = 0;
		pointers->groups.items[i].kept = pointers->groups.items[i].shared = 0;
	}
	holders_begin(&holders);
	for (heap_object_id i = holders_next(&holders, 0); i < holders.objects;
	     i = holders_next(&holders, i + 1))
		HEAP_TRY(note_object(inference, i, plain));
	return NULL;
}

// The verdict of all groups of one pointee with one flag that have plain pointers, too.
struct flag_verdict {
	heap_type_id pointee;
	uint32_t flags;
	bool is_confirmed,
		is_denied; // the flag tells a type in one of them, and does not in another one
};

struct flag_verdicts {
	struct HEAP_ARRAY(struct flag_verdict) list;
	struct heap_hash_table by_pointee;
};

static void release(struct flag_verdicts *verdicts)
{
	heap_array_deinit(&verdicts->list);
	heap_hash_table_deinit(&verdicts->by_pointee);
}

static uint32_t find_verdict(const struct flag_verdicts *verdicts, const struct flag_group *group)
{
	return heap_hash_find(&verdicts->by_pointee, hash_member(group->flags, group->pointee), i,
			      verdicts->list.items[i].pointee == group->pointee &&
				      verdicts->list.items[i].flags == group->flags);
}

HEAP_MUST_CHECK
static struct heap_error *note_verdicts(const struct flagged_pointers *pointers,
					struct flag_verdicts *verdicts)
{
	for (size_t i = 0; i < pointers->groups.count; i++) {
		const struct flag_group *group = &pointers->groups.items[i];
		uint32_t found = find_verdict(verdicts, group);

		progress_step();
		if (group->plain == 0 || group->decided == 0)
			continue;
		if (found == HEAP_HASH_NONE) {
			found = (uint32_t)verdicts->list.count;
			HEAP_TRY(heap_array_append(
				&verdicts->list,
				((struct flag_verdict){ group->pointee, group->flags, false,
							false })));
			HEAP_TRY(heap_hash_add(&verdicts->by_pointee,
					       hash_member(group->flags, group->pointee), found));
		}
		verdicts->list.items[found].is_confirmed |= group->tells_type;
		verdicts->list.items[found].is_denied |= !group->tells_type;
	}
	return NULL;
}

// True if the flag tells the type where other structs have such pointers, in all of those that have some without it, too.
static bool do_others_tell_type(const struct flag_verdicts *verdicts,
				const struct flag_group *group)
{
	uint32_t found = find_verdict(verdicts, group);

	return found != HEAP_HASH_NONE && verdicts->list.items[found].is_confirmed &&
	       !verdicts->list.items[found].is_denied;
}

HEAP_MUST_CHECK
static struct heap_error *decide(struct flagged_pointers *pointers, const uint8_t *plain)
{
	CLEANUP(release) struct flag_verdicts verdicts = { 0 };

	for (size_t i = 0; i < pointers->waiting.count; i++) {
		const struct flagged_pointer *flagged = &pointers->waiting.items[i];
		struct flag_group *group = &pointers->groups.items[flagged->group];

		group->kept++;
		group->shared += heap_bit_get(plain, flagged->pointer.target);
	}
	for (size_t i = 0; i < pointers->groups.count; i++) {
		struct flag_group *group = &pointers->groups.items[i];

		if (group->kept == 0)
			continue;
		if (group->plain > 0)
			group->tells_type = group->shared * SHARED_SHARE < group->kept;
		group->decided = group->pointers;
	}
	HEAP_TRY(note_verdicts(pointers, &verdicts));
	for (size_t i = 0; i < pointers->groups.count; i++) {
		struct flag_group *group = &pointers->groups.items[i];

		if (group->kept > 0 && group->plain == 0)
			group->tells_type = group->shared * SHARED_SHARE < group->kept &&
					    do_others_tell_type(&verdicts, group);
	}
	return NULL;
}

struct heap_error *flagged_pointers_decide(struct inference *inference, uint64_t *applied)
{
	struct flagged_pointers *pointers = &inference->flagged_pointers;
	CLEANUP_FREE uint8_t *plain = NULL;

	if (pointers->waiting.count == 0)
		return NULL;
	plain = calloc(inference->capture->objects.count / 8 + 1, sizeof(*plain));
	if (!plain)
		return heap_error_out_of_memory();
	HEAP_TRY(note_all(inference, plain));
	HEAP_TRY(decide(pointers, plain));
	for (size_t i = 0; i < pointers->waiting.count; i++) {
		const struct flagged_pointer *flagged = &pointers->waiting.items[i];

		if (pointers->groups.items[flagged->group].tells_type)
			continue;
		++*applied;
		HEAP_TRY(inference_apply_pointer(inference, flagged->pointee, &flagged->pointer));
	}
	pointers->waiting.count = 0;
	return NULL;
}

bool flagged_pointers_tell_type(const struct inference *inference, heap_type_id holder,
				uint64_t interior)
{
	const struct flagged_pointers *pointers = &inference->flagged_pointers;

	if (interior == 0 || !layouts_is_start(interior))
		return false;
	for (size_t i = 0; i < pointers->groups.count; i++) {
		const struct flag_group *group = &pointers->groups.items[i];

		if (group->holder == holder && group->flags == interior)
			return group->tells_type;
	}
	return false;
}
