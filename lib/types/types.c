// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/types.h"

#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

enum {
	// How many typedefs and qualifiers one may stand behind another; more is damage.
	CHAIN_MAX = 256,
};

// --- growth --------------------------------------------------------------------------------

struct heap_error *heap_types_grow(void *array, uint32_t count, uint32_t more, uint32_t *capacity,
				   size_t size)
{
	if (more <= *capacity - count)
		return NULL;
	if (more > UINT32_MAX / 2 - count)
		return heap_error_create(HEAP_ERROR_FORMAT, "more types than a table holds");

	uint32_t wanted = *capacity < 32 ? 32 : *capacity / 2 * 3;
	void *bigger;

	if (wanted < count + more)
		wanted = count + more;
	bigger = reallocarray(*(void **)array, wanted, size);
	if (!bigger)
		return heap_error_out_of_memory();
	*(void **)array = bigger;
	*capacity = wanted;
	return NULL;
}

struct heap_error *heap_types_init(struct heap_types *result)
{
	struct heap_types types = { 0 };
	struct heap_error *error =
		heap_types_grow(&types.types, 0, 1, &types.type_capacity, sizeof(*types.types));

	if (!error)
		error = heap_types_grow(&types.strings, 0, 1, &types.string_capacity, 1);
	if (error) {
		free(types.types);
		return error;
	}
	types.types[0] = (struct heap_type){ .kind = HEAP_TYPE_UNKNOWN };
	types.count = 1;
	types.strings[0] = '\0';
	types.string_size = 1;
	*result = types;
	return NULL;
}

void heap_types_deinit(struct heap_types *types)
{
	heap_types_drop_index(types);
	free(types->types);
	free(types->members);
	free(types->enumerators);
	free(types->strings);
	free(types->aliases);
	*types = (struct heap_types){ 0 };
}

struct heap_error *heap_types_add(struct heap_types *types, const struct heap_type *type,
				  heap_type_id *result)
{
	struct heap_type copy = *type;
	struct heap_error *error = heap_types_grow(&types->types, types->count, 1,
						   &types->type_capacity, sizeof(*types->types));

	if (error)
		return error;
	types->types[types->count] = copy;
	*result = types->count++;
	return NULL;
}

struct heap_error *heap_types_add_member(struct heap_types *types, const struct heap_member *member)
{
	struct heap_member copy = *member;
	struct heap_error *error =
		heap_types_grow(&types->members, types->member_count, 1, &types->member_capacity,
				sizeof(*types->members));

	if (error)
		return error;
	types->members[types->member_count++] = copy;
	return NULL;
}

struct heap_error *heap_types_add_enumerator(struct heap_types *types,
					     const struct heap_enumerator *enumerator)
{
	struct heap_enumerator copy = *enumerator;
	struct heap_error *error =
		heap_types_grow(&types->enumerators, types->enumerator_count, 1,
				&types->enumerator_capacity, sizeof(*types->enumerators));

	if (error)
		return error;
	types->enumerators[types->enumerator_count++] = copy;
	return NULL;
}

// --- index and strings ---------------------------------------------------------------------

struct heap_error *heap_types_make_index(struct heap_types *types)
{
	if (types->index)
		return NULL;
	types->index = calloc(1, sizeof(*types->index));
	if (!types->index)
		return heap_error_out_of_memory();
	types->index->strings_end = types->index->types_end = 1;
	return NULL;
}

void heap_types_drop_index(struct heap_types *types)
{
	struct heap_types_index *index = types->index;

	if (!index)
		return;
	free(index->strings.slots);
	free(index->layouts.slots);
	free(index->names.slots);
	free(index->entries);
	free(index);
	types->index = NULL;
}

// Puts a number where its hash says; there is room.
static void put(struct heap_types_slots *slots, uint64_t hash, uint32_t number)
{
	uint32_t at = hash & slots->mask;

	while (slots->slots[at])
		at = (at + 1) & slots->mask;
	slots->slots[at] = number;
}

struct heap_error *heap_types_slots_reserve(struct heap_types_slots *slots,
					    uint64_t (*hash)(const struct heap_types *types,
							     uint32_t number),
					    const struct heap_types *types)
{
	uint32_t size = slots->slots ? slots->mask + 1 : 0;

	if (slots->used < size / 4 * 3)
		return NULL;
	if (size > UINT32_MAX / 2)
		return heap_error_out_of_memory();

	struct heap_types_slots bigger = { .mask = (size ? size * 2 : 64) - 1,
					   .used = slots->used };

	bigger.slots = calloc((size_t)bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < size; i++)
		if (slots->slots[i])
			put(&bigger, hash(types, slots->slots[i]), slots->slots[i]);
	free(slots->slots);
	*slots = bigger;
	return NULL;
}

static uint64_t hash_text(const char *text, size_t size)
{
	uint64_t hash = size, word;

	for (; size >= sizeof(word); text += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = heap_types_mix(hash, word);
	}
	word = 0;
	memcpy(&word, text, size);
	return heap_types_mix(hash, word);
}

static uint64_t hash_string(const struct heap_types *types, uint32_t offset)
{
	const char *text = heap_types_string(types, offset);

	return hash_text(text, strlen(text));
}

// The slot where the text is, or should be.
static uint32_t *string_slot(const struct heap_types *types, uint64_t hash, const char *text)
{
	const struct heap_types_slots *slots = &types->index->strings;

	for (uint32_t at = hash & slots->mask;; at = (at + 1) & slots->mask) {
		uint32_t offset = slots->slots[at];

		if (!offset || strcmp(heap_types_string(types, offset), text) == 0)
			return &slots->slots[at];
	}
}

HEAP_MUST_CHECK
static struct heap_error *reserve_string_slot(struct heap_types *types)
{
	return heap_types_slots_reserve(&types->index->strings, hash_string, types);
}

// Brings in strings that came with the table, as from a file.
HEAP_MUST_CHECK
static struct heap_error *index_strings(struct heap_types *types)
{
	struct heap_error *error = heap_types_make_index(types);

	while (!error && types->index->strings_end < types->string_size) {
		uint32_t offset = types->index->strings_end;
		const char *text = heap_types_string(types, offset);
		size_t length = strlen(text);

		error = reserve_string_slot(types);
		if (error)
			break;

		uint32_t *slot = string_slot(types, hash_text(text, length), text);

		if (length && !*slot) {
			*slot = offset;
			types->index->strings.used++;
		}
		types->index->strings_end += length + 1;
	}
	return error;
}

struct heap_error *heap_types_add_string(struct heap_types *types, const char *text,
					 uint32_t *result)
{
	size_t length = strlen(text);
	struct heap_error *error = index_strings(types);

	if (!length && !error)
		*result = 0;
	if (!length || error)
		return error;
	error = reserve_string_slot(types);
	if (error)
		return error;

	uint32_t *slot = string_slot(types, hash_text(text, length), text);

	if (!*slot) {
		if (length > UINT32_MAX / 2)
			return heap_error_out_of_memory();
		error = heap_types_grow(&types->strings, types->string_size, length + 1,
					&types->string_capacity, 1);
		if (error)
			return error;
		memcpy(types->strings + types->string_size, text, length + 1);
		*slot = types->string_size;
		types->string_size += length + 1;
		types->index->strings_end = types->string_size;
		types->index->strings.used++;
	}
	*result = *slot;
	return NULL;
}

// --- looking through -----------------------------------------------------------------------

heap_type_id heap_types_strip(const struct heap_types *types, heap_type_id type)
{
	for (int i = 0; i < CHAIN_MAX && type < types->count; i++) {
		switch (types->types[type].kind) {
		case HEAP_TYPE_TYPEDEF:
		case HEAP_TYPE_CONST:
		case HEAP_TYPE_VOLATILE:
		case HEAP_TYPE_ATOMIC:
			type = types->types[type].target;
			break;
		default:
			return type;
		}
	}
	return HEAP_NO_TYPE;
}

uint64_t heap_types_size(const struct heap_types *types, heap_type_id type)
{
	uint64_t count = 1, size;

	for (int i = 0; i < CHAIN_MAX; i++) {
		const struct heap_type *stripped = &types->types[heap_types_strip(types, type)];

		if (stripped->kind != HEAP_TYPE_ARRAY || stripped->size)
			return __builtin_mul_overflow(count, stripped->size, &size) ? 0 : size;
		if (__builtin_mul_overflow(count, stripped->count, &count))
			return 0;
		type = stripped->target;
	}
	return 0;
}

// --- declarations --------------------------------------------------------------------------

static int kind_for_name(uint8_t kind)
{
	return kind == HEAP_TYPE_CLASS ? HEAP_TYPE_STRUCT : kind;
}

// What each declaration stands for, by its id; 0 for others and those without a definition.
HEAP_MUST_CHECK
static struct heap_error *find_definitions(const struct heap_types *types, heap_type_id *result)
{
	uint32_t mask = 63;

	while (mask / 2 < types->count)
		mask = mask * 2 + 1;

	// By name and kind: the first definition, then whether there are others.
	heap_type_id *slots = calloc((size_t)mask + 1, sizeof(*slots));
	bool *several = calloc((size_t)mask + 1, sizeof(*several));

	for (int pass = 0; slots && several && pass < 2; pass++) {
		for (heap_type_id id = 1; id < types->count; id++) {
			const struct heap_type *type = &types->types[id], *other;
			bool declared = type->flags & HEAP_TYPE_DECLARATION;

			if (!heap_types_is_named(type) || declared != (pass == 1))
				continue;

			uint32_t at = heap_types_mix(kind_for_name(type->kind), type->name) & mask;

			for (; slots[at]; at = (at + 1) & mask) {
				other = &types->types[slots[at]];
				if (other->name == type->name &&
				    kind_for_name(other->kind) == kind_for_name(type->kind))
					break;
			}
			if (declared)
				result[id] = several[at] ? 0 : slots[at];
			else if (slots[at])
				several[at] = true;
			else
				slots[at] = id;
		}
	}

	struct heap_error *error = slots && several ? NULL : heap_error_out_of_memory();

	free(slots);
	free(several);
	return error;
}

void heap_types_resolve(struct heap_types *types)
{
	heap_type_id *definitions = calloc(types->count, sizeof(*definitions));
	struct heap_error *error =
		definitions ? find_definitions(types, definitions) : heap_error_out_of_memory();

	// Without memory for it declarations stay what they are, which is no lie.
	if (!error) {
		for (uint32_t i = 1; i < types->count; i++)
			if (definitions[types->types[i].target])
				types->types[i].target = definitions[types->types[i].target];
		for (uint32_t i = 0; i < types->member_count; i++)
			if (definitions[types->members[i].type])
				types->members[i].type = definitions[types->members[i].type];
		if (types->index) {
			// What is hashed by its target may have another one now.
			free(types->index->layouts.slots);
			free(types->index->names.slots);
			types->index->layouts = types->index->names =
				(struct heap_types_slots){ 0 };
			types->index->types_end = 1;
		}
	}
	heap_error_destroy(error);
	free(definitions);
}
