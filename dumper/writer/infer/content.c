// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Evidence by content: it chooses among candidates, and never names a type by itself.
 *
 * Each word at which the candidate has a member may confirm, weaken or contradict it. Strict rules
 * hold for pointer members, which are null or a pointer that can be one of that type, and for
 * bools, enums and small numbers, which are no halves of pointers into the heap and have valid
 * values. Lenient rules hold for unions, for integers as wide as a pointer (many programs keep
 * pointers there) and for padding, which may contain old bytes of the heap. Such bytes may also lie
 * in members that the program has not set yet, so a single contradiction proves nothing.
 */
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/sizes/smaller_structs.h"

#include "dumper/writer/base/machine.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/escape.h"

#include <string.h>
#include <strings.h>

enum {
	MAX_DEPTH = 16,
	MAX_VISITS = 1 << 16, // members; several may be at one place, and nested in each other
	CHECKED_ELEMENTS = 8, // of an array
	MARKED_PAGES = 16,    // at the end of all addresses
	BACK_SLOTS = 16,      // of a struct, one of which may lead back
	PAGE = 4096,          // no pointer points below
	LEAST_TEXT = 3,       // letters in front of older contents
	SMALL_TEXT = 256,     // bytes of a block with such
	FEW_OTHERS = 4,       // of so many letters one may be no UTF-8, as in ISO 8859

	// The verdict of one word on a candidate.
	CONFIRMED = 1,
	MUTUAL = 2, // and what it leads to leads back
	DOUBTED = -1,
	CONTRADICTED = -2,
	UNSET_AGREEING = 2, // pointers, at least, where enums may have any value
};

struct check {
	const struct inference *inference;
	const struct content *content;
	uint32_t *left; // members that may still be visited
	uint32_t *contradictions;
	uint32_t *agreeing; // pointers; NULL: enums count, too, and pointers are not counted
	heap_type_id whole; // that the content is compared with, or its elements
};

void content_read(const struct inference *inference, heap_object_id object, uint64_t *words,
		  struct content *result)
{
	content_read_from(inference, inference->pages, object, words, result);
}

void content_read_from(const struct inference *inference, struct pages *pages,
		       heap_object_id object, uint64_t *words, struct content *result)
{
	uint64_t count = (inference_size(inference, object) + 7) / 8; // texts end within a word

	if (count > CONTENT_WORDS)
		count = CONTENT_WORDS;
	pages_read(pages, inference_address(inference, object), words, count * 8);
	*result = (struct content){ object, words, count, 0 };
}

void content_read_part(const struct inference *inference, heap_object_id object, uint64_t start,
		       uint64_t size, uint64_t *words, struct content *result)
{
	uint64_t count = size / 8 < CONTENT_WORDS ? size / 8 : CONTENT_WORDS;

	pages_read(inference->pages, inference_address(inference, object) + start, words,
		   count * 8);
	*result = (struct content){ object, words, count, start };
}

bool content_read_value(const struct inference *inference, heap_object_id object, uint64_t offset,
			heap_type_id type, uint64_t *words, struct content *result)
{
	uint64_t size = layouts_size(&inference->layouts, type);
	uint64_t all = objects_size(&inference->capture->objects, object);

	if (offset > all || size > all - offset)
		return false;
	content_read_part(inference, object, offset, size, words, result);
	return true;
}

// True for values that programs keep in a void * besides pointers: numbers, and other addresses.
static bool is_number(uint64_t word)
{
	return word < UINT64_C(1) << MACHINE_ADDRESS_BITS || word >= UINT64_MAX - UINT32_MAX;
}

// The object into which a word of a block points, from the edges.
static heap_object_id find_target(const struct inference *inference, heap_object_id object,
				  uint64_t offset)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge =
		heap_edge_at(snapshot, object, offset + inference_prefix(inference, object));

	return edge == UINT32_MAX ? HEAP_NO_OBJECT : snapshot->edge_target[edge];
}

static bool points_into_heap(const struct check *check, uint64_t offset)
{
	const struct content *content = check->content;

	return find_target(check->inference, content->object, content->start + offset) !=
	       HEAP_NO_OBJECT;
}

// True if there may be a value of some kind at an address outside the heap. Code that is compiled as the
// program runs lies in no file; and constants may lie beside code.
static bool may_point_to(const struct image *image, uint64_t address, enum heap_type_kind pointee)
{
	const struct image_mapping *mapping = address >= PAGE ? image_find(image, address) : NULL;

	return mapping && (pointee != HEAP_TYPE_FUNCTION || mapping->kind != IMAGE_FILE ||
			   (mapping->protection & PROT_EXEC));
}

// The bytes that a value of a type has at least: of a flexible struct, those before its elements.
static uint64_t least_size(const struct layouts *layouts, heap_type_id type)
{
	const struct layout_facts *facts = &layouts->facts[type];

	return facts->is_flexible ? facts->start : layouts_size(layouts, type);
}

// True if a block without a name may be one value of a type, or several, or of a type that begins with it, as
// far as its size tells.
static bool has_size_of(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;
	const uint64_t size = inference_size(inference, object);
	const uint64_t slack = inference_slack(inference, object);
	uint64_t stride = layouts_size(layouts, type);

	return stride == 0 || layouts_is_flexible(layouts, type) || size % stride <= slack ||
	       layouts_is_begun_by(layouts, type, size, slack);
}

// Scores a pointer to a number, a character or a pointer. It seldom leads to a known structure, but for arrays of
// bytes, as slices of a buffer do, and members behind the first.
static int simple_score(const struct inference *inference, heap_object_id target, uint64_t interior,
			heap_type_id pointee)
{
	if (inference->claims.name_rank[target] > RANK_VOTE ||
	    !layouts_is_compound(&inference->layouts, inference_type(inference, target)) ||
	    inference_is_raw(inference, target, interior))
		return CONFIRMED;
	return interior > 0 && inference_has(inference, target, pointee, interior) ? 0
										   : CONTRADICTED;
}

// True if a block may be a struct whose end is cut off, where no code says whether it is.
static bool may_be_cut(const struct inference *inference, heap_object_id target, uint64_t interior,
		       heap_type_id pointee)
{
	return interior == 0 && !inference_has_sites(inference) &&
	       smaller_structs_may_be_cut(&inference->layouts, pointee,
					  inference_size(inference, target));
}

// True if a pointer may lead to the end of an array that it is to bound, and where the block goes on: the allocator has
// given it more bytes than it was asked for, or it would end there, and nothing would begin.
static bool may_be_end(const struct inference *inference, heap_object_id target, uint64_t interior,
		       heap_type_id pointee)
{
	const uint64_t stride = layouts_size(&inference->layouts, pointee);

	return interior > 0 && stride > 0 && interior % stride == 0 &&
	       !layouts_is_flexible(&inference->layouts, pointee) &&
	       inference_size(inference, target) - interior <=
		       inference_slack(inference, target) + inference_rest(inference, target);
}

// True for an address that no memory has, by which tables mark places that are empty or whose value was removed: one of
// the last pages, as in LLVM.
static bool is_marker(uint64_t word)
{
	return word >= -(uint64_t)(MARKED_PAGES * PAGE) && word % PAGE == 0;
}

// True if the target of a pointer, taken for what this leads to, has such a pointer back to the start of the block that is asked
// about, as a node of a tree has to its parent.
static bool leads_back(const struct check *check, heap_object_id target, heap_type_id pointee)
{
	const struct inference *inference = check->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, pointee);
	uint64_t prefix = inference_prefix(inference, target);

	for (uint32_t i = 0; slots && i < slots->count && i < BACK_SLOTS; i++) {
		uint32_t edge = heap_edge_at(snapshot, target, prefix + slots->list[i].offset);

		progress_step();
		if (edge != UINT32_MAX && slots->list[i].pointee == pointee &&
		    snapshot->edge_target[edge] == check->content->object &&
		    snapshot->edge_interior[edge] ==
			    inference_prefix(inference, check->content->object))
			return true;
	}
	return false;
}

// True for a pointer to the base with which the very type begins, as of a node to others of any kind. The link of a list proves
// no struct that begins with it.
static bool is_to_kin(const struct check *check, heap_type_id pointee)
{
	return check->whole != pointee && !layouts_is_link(&check->inference->layouts, pointee) &&
	       layouts_has(&check->inference->layouts, check->whole, pointee, 0);
}

// True if a block is as large as a base, or what begins with it. No array is made of bases.
static bool may_be_kin(const struct inference *inference, heap_object_id object, heap_type_id base)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t size = inference_size(inference, object);
	uint64_t slack = inference_slack(inference, object);

	return (size >= layouts_size(layouts, base) &&
		size - layouts_size(layouts, base) <= slack) ||
	       layouts_is_begun_by(layouts, base, size, slack);
}

// Scores a pointer: positive for a word that may point to something of that type.
static int pointer_score(const struct check *check, uint64_t offset, heap_type_id pointee)
{
	const struct inference *inference = check->inference;
	const struct capture *capture = inference->capture;
	const struct heap_types *types = inference->layouts.types;
	uint64_t word = check->content->words[offset / 8];
	heap_object_id target;

	if (word == 0 || is_marker(word))
		return 0;
	target = find_target(inference, check->content->object, check->content->start + offset);
	if (target == HEAP_NO_OBJECT) {
		if (pointee == HEAP_NO_TYPE)
			return is_number(word) ? 0 : DOUBTED;
		return may_point_to(&capture->image, word, types->types[pointee].kind)
			       ? 0
			       : CONTRADICTED;
	}
	if (pointee == HEAP_NO_TYPE)
		return CONFIRMED;
	if (types->types[pointee].kind == HEAP_TYPE_FUNCTION)
		return CONTRADICTED;

	uint64_t interior = objects_untag(word) - objects_address(&capture->objects, target);
	uint64_t prefix = inference_prefix(inference, target);

	if (interior < prefix)
		return CONFIRMED;
	interior -= prefix;

	if (!layouts_is_compound(&inference->layouts, pointee))
		return simple_score(inference, target, interior, pointee);
	if (layouts_is_start(interior))
		interior = 0;
	if (target == check->content->object && interior >= check->content->start &&
	    layouts_has_sentinel(&inference->layouts, check->whole,
				 interior - check->content->start, pointee))
		return CONFIRMED;
	if (least_size(&inference->layouts, pointee) >
		    inference_size(inference, target) - interior &&
	    !may_be_cut(inference, target, interior, pointee) &&
	    !(interior == 0 && enum_tags_may_be_kin(inference, pointee, target)))
		return may_be_end(inference, target, interior, pointee) ? 0 : CONTRADICTED;
	// A larger block may begin with such a value, but nothing shows that this one does.
	if (inference->claims.name_rank[target] > RANK_VOTE && interior == 0 &&
	    is_to_kin(check, pointee)) {
		if (leads_back(check, target, pointee))
			return MUTUAL;
		if (!may_be_kin(inference, target, pointee))
			return 0;
	}
	if (inference->claims.name_rank[target] > RANK_VOTE)
		return interior > 0 || has_size_of(inference, target, pointee) ||
				       may_be_cut(inference, target, interior, pointee)
			       ? CONFIRMED
			       : 0;
	return inference_has(inference, target, pointee, interior) ||
			       inference_is_raw(inference, target, interior)
		       ? CONFIRMED
		       : CONTRADICTED;
}

static int score_value(const struct check *check, uint64_t offset, heap_type_id id)
{
	const struct heap_types *types = check->inference->layouts.types;
	const struct heap_type *type = &types->types[id];
	const struct content *content = check->content;
	uint64_t value = 0;

	if (offset / 8 >= content->count || type->size == 0 || type->size > 8 ||
	    offset % type->size != 0)
		return 0;

	memcpy(&value, (const char *)content->words + offset, type->size);
	switch (type->kind) {
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
		return pointer_score(check, offset,
				     layouts_strip(&check->inference->layouts, type->target));
	case HEAP_TYPE_ENUM:
		return check->agreeing ||
				       layouts_is_enumerator(&check->inference->layouts, id, value,
							     ~UINT64_C(0) >> (64 - 8 * type->size))
			       ? 0
			       : CONTRADICTED;
	case HEAP_TYPE_BASE:
		if ((type->flags & HEAP_TYPE_BOOLEAN) && value > 1)
			return CONTRADICTED;
		// An integer as wide as a pointer may be one; of others, only the first of a word
		// is asked, so that a pointer that lies over two of them counts once.
		if (offset % 8 != 0 || (type->size == 8 && !(type->flags & HEAP_TYPE_FLOAT)) ||
		    !points_into_heap(check, offset))
			return 0;
		return type->size == 1 ? DOUBTED : CONTRADICTED;
	default:
		return 0;
	}
}

static int scalar_score(const struct check *check, uint64_t offset, heap_type_id id)
{
	int score = score_value(check, offset, id);

	*check->contradictions += score == CONTRADICTED;
	if (check->agreeing && score >= 0 && layouts_is_pointer(&check->inference->layouts, id) &&
	    check->content->words[offset / 8] != 0)
		++*check->agreeing;
	return score;
}

static int type_score(const struct check *check, uint64_t offset, heap_type_id id, int depth);

// A pointer contradicts characters, unless it is left over behind the end of a text.
static int characters_score(const struct check *check, uint64_t offset, uint64_t count)
{
	const struct content *content = check->content;
	const char *bytes = (const char *)content->words;
	int score = 0;

	for (uint64_t at = (offset + 7) / 8 * 8; at + 8 <= offset + count; at += 8) {
		if (at / 8 >= content->count || memchr(bytes + offset, '\0', at - offset))
			break;
		if (points_into_heap(check, at))
			score += DOUBTED;
	}
	return score;
}

static int array_score(const struct check *check, uint64_t offset, const struct heap_type *type,
		       int depth)
{
	const struct layouts *layouts = &check->inference->layouts;
	heap_type_id element = layouts_strip(layouts, type->target);
	uint64_t stride = layouts_size(layouts, element);
	int score = 0;

	if (layouts_is_character(layouts, element))
		return characters_score(check, offset, type->count);
	for (uint64_t i = 0; stride > 0 && i < type->count && i < CHECKED_ELEMENTS * 8; i++)
		score += type_score(check, offset + i * stride, element, depth + 1);
	return score;
}

// Only the first of a word's bit-fields counts: it tells if the word looks like a pointer.
static int bit_field_score(const struct check *check, uint64_t offset,
			   const struct heap_member *member)
{
	if (member->bit_offset != 0 || offset % 8 != 0)
		return 0;
	return points_into_heap(check, offset) ? CONTRADICTED : 0;
}

// True if a member of a byte or two has nothing but padding behind it, up to the end of the word.
static bool is_before_padding(const struct layouts *layouts, heap_type_id whole,
			      const struct heap_member *member)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[whole];
	heap_type_id id = layouts_strip(layouts, member->type);
	const struct heap_member *end = &types->members[type->first_member + type->members];
	uint64_t next = member + 1 < end ? member[1].offset : type->size;

	return types->types[id].kind == HEAP_TYPE_BASE && types->types[id].size <= 2 &&
	       !(member->flags & HEAP_MEMBER_BIT_FIELD) && layouts->facts[whole].is_ordered &&
	       next >= member->offset + 8;
}

// A word with such a member may hold the rest of an old pointer, which may still lead to somewhere.
static int padded_score(const struct check *check, uint64_t offset, heap_type_id id)
{
	const struct heap_type *type = &check->inference->layouts.types->types[id];
	const char *bytes = (const char *)check->content->words;

	return (type->flags & HEAP_TYPE_BOOLEAN) && (bytes[offset] & ~1) ? CONTRADICTED : 0;
}

// True for the usual names of counts of elements or bytes. Many names are asked for.
static bool is_count_name(const char *name)
{
	static const char words[26][8] = { ['s' - 'a'] = "size",  ['l' - 'a'] = "len",
					   ['c' - 'a'] = "count", ['n' - 'a'] = "num",
					   ['u' - 'a'] = "used",  ['a' - 'a'] = "alloc" };

	for (; *name != '\0'; name++) {
		unsigned letter = (unsigned char)(*name | 0x20) - 'a';

		if (letter < 26 && words[letter][0] != '\0' &&
		    strncasecmp(name, words[letter], strlen(words[letter])) == 0)
			return true;
	}
	return false;
}

// True if a member that is called a count, and is as wide as a pointer, has one into the heap.
static bool is_pointer_for_count(const struct check *check, uint64_t offset,
				 const struct heap_member *member)
{
	const struct heap_types *types = check->inference->layouts.types;
	const struct heap_type *type =
		&types->types[layouts_strip(&check->inference->layouts, member->type)];

	return type->kind == HEAP_TYPE_BASE && type->size == 8 && offset % 8 == 0 &&
	       points_into_heap(check, offset) &&
	       is_count_name(heap_types_string(types, member->name));
}

static int member_score(const struct check *check, uint64_t offset, heap_type_id whole,
			const struct heap_member *member, int depth)
{
	const struct layouts *layouts = &check->inference->layouts;

	if (member->flags & HEAP_MEMBER_VIRTUAL_BASE || offset / 8 >= check->content->count)
		return 0;
	if (member->flags & HEAP_MEMBER_BIT_FIELD)
		return bit_field_score(check, offset, member);
	if (is_before_padding(layouts, whole, member))
		return padded_score(check, offset, layouts_strip(layouts, member->type));
	if (is_pointer_for_count(check, offset, member))
		return CONTRADICTED;
	return type_score(check, offset, member->type, depth + 1);
}

// True for an object that should begin with a pointer to a table of functions, and has one into the heap. The member itself
// may lie in a base that is only declared.
static bool lacks_table(const struct check *check, uint64_t offset, const struct heap_type *type)
{
	return (type->flags & HEAP_TYPE_POLYMORPHIC) && offset % 8 == 0 &&
	       points_into_heap(check, offset);
}

static int type_score(const struct check *check, uint64_t offset, heap_type_id id, int depth)
{
	const struct heap_types *types = check->inference->layouts.types;
	int score = 0;

	id = layouts_strip(&check->inference->layouts, id);

	const struct heap_type *type = &types->types[id];

	if (depth == MAX_DEPTH || offset / 8 >= check->content->count)
		return 0;
	if (type->kind == HEAP_TYPE_ARRAY)
		return array_score(check, offset, type, depth);
	if (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS)
		return type->kind == HEAP_TYPE_UNION ? 0 : scalar_score(check, offset, id);
	if (lacks_table(check, offset, type)) {
		++*check->contradictions;
		return CONTRADICTED;
	}
	for (uint32_t i = 0; *check->left != 0 && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		--*check->left;
		if ((offset + member->offset) / 8 >= check->content->count &&
		    check->inference->layouts.facts[id].is_ordered)
			break;
		progress_step();
		score += member_score(check, offset + member->offset, id, member, depth);
	}
	return score;
}

bool content_is_zero(const struct content *content, uint64_t offset, uint64_t stride)
{
	uint64_t first = offset / 8, count = stride / 8;

	if (offset % 8 != 0 || stride % 8 != 0 || first + count > content->count)
		return false;
	for (uint64_t i = first; i < first + count; i++) {
		if (content->words[i] != 0)
			return false;
	}
	return true;
}

// Scores an element of an array. Empty places of a table may lead to an end that no type tells of.
static int element_score(const struct check *check, uint64_t offset, heap_type_id type)
{
	const struct content *content = check->content;
	int score = type_score(check, offset, type, 0);
	heap_object_id target;

	if (score != CONTRADICTED || !layouts_is_pointer(&check->inference->layouts, type))
		return score;
	target = find_target(check->inference, content->object, content->start + offset);
	if (target == HEAP_NO_OBJECT ||
	    !inference_leads_to(check->inference, target, content->object))
		return score;
	--*check->contradictions;
	return 0;
}

// Checks values of a type in a row. The last ones may not be in use yet, and hold old bytes: they
// may confirm, but not contradict. Nor may any void *.
static int elements_score(const struct check *check, uint64_t offset, heap_type_id type,
			  uint64_t elements)
{
	const struct heap_types *types = check->inference->layouts.types;
	uint64_t stride = layouts_size(&check->inference->layouts, type);
	bool strict = types->types[type].kind != HEAP_TYPE_POINTER ||
		      layouts_strip(&check->inference->layouts, types->types[type].target) !=
			      HEAP_NO_TYPE;
	uint64_t checked = stride == 1 ? CHECKED_ELEMENTS * 8 : CHECKED_ELEMENTS;
	int score = 0, zero = 0;
	bool knows_zero = false;

	if (elements < checked)
		checked = elements;
	for (uint64_t i = 0; stride > 0 && i < checked; i++) {
		bool has_zeros = content_is_zero(check->content, offset + i * stride, stride);
		int one = has_zeros && knows_zero ? zero
						  : element_score(check, offset + i * stride, type);

		if (has_zeros) {
			zero = one;
			knows_zero = true;
		}
		score += one > 0 || (strict && i * 2 < checked) ? one : 0;
	}
	return score;
}

// The numbers in the header of a flexible struct.
struct header_numbers {
	struct header_members members;
	struct header head;
	bool has_counts; // by their names
};

static void read_header(const struct check *check, heap_type_id header,
			struct header_numbers *result)
{
	uint64_t bytes = check->content->count * 8;

	*result = (struct header_numbers){ .members.count = 0 };
	headers_gather(check->inference->layouts.types, header, &result->members);
	memcpy(result->head.words, check->content->words,
	       bytes < sizeof(result->head) ? bytes : sizeof(result->head));
	for (uint32_t i = 0; i < result->members.count; i++)
		result->has_counts |= is_count_name(result->members.list[i].name);
}

/*
 * Checks the numbers in a header against the elements behind it. One of them may be their count: as
 * many as there is room for, or one less, where a NUL ends them. If any is called a size or a count, only
 * such a one may be it; and one that is larger than the whole block contradicts.
 */
static int count_score(const struct check *check, const struct header_numbers *numbers,
		       uint64_t elements)
{
	uint64_t size = inference_size(check->inference, check->content->object);

	for (uint32_t i = 0; i < numbers->members.count; i++) {
		const struct header_member *member = &numbers->members.list[i];
		uint64_t value = headers_value(member, &numbers->head);
		bool is_count = is_count_name(member->name);

		if (member->bits >= 16 && value > 0 && (is_count || !numbers->has_counts) &&
		    (value == elements || value + 1 == elements))
			return CONFIRMED;
		if (value > size && is_count)
			return CONTRADICTED;
	}
	return 0;
}

// The elements that may be in use: none, if all that is called a size or a count is 0.
static uint64_t used_elements(const struct header_numbers *numbers, uint64_t elements)
{
	for (uint32_t i = 0; i < numbers->members.count; i++) {
		const struct header_member *member = &numbers->members.list[i];

		if (is_count_name(member->name) && headers_value(member, &numbers->head) > 0)
			return elements;
	}
	return numbers->has_counts ? 0 : elements;
}

// Scores a header and the elements behind it.
static int flexible_score(const struct check *check, heap_type_id type, uint64_t elements)
{
	const struct layout_facts *facts = &check->inference->layouts.facts[type];
	struct header_numbers numbers;

	read_header(check, type, &numbers);
	return type_score(check, 0, type, 0) + count_score(check, &numbers, elements) +
	       elements_score(check, facts->start, facts->element,
			      used_elements(&numbers, elements));
}

static int score_contents(const struct inference *inference, const struct content *content,
			  heap_type_id type, uint64_t elements, uint32_t *contradictions)
{
	uint32_t left = MAX_VISITS;
	const struct check check = { inference, content, &left, contradictions, NULL, type };

	return inference->layouts.facts[type].is_flexible
		       ? flexible_score(&check, type, elements - 1)
		       : elements_score(&check, 0, type, elements);
}

int content_score(const struct inference *inference, const struct content *content,
		  heap_type_id type, uint64_t elements)
{
	uint32_t contradictions = 0;

	return score_contents(inference, content, type, elements, &contradictions);
}

struct content_verdict content_judge(const struct inference *inference,
				     const struct content *content, heap_type_id type)
{
	uint32_t contradictions = 0;
	int score = score_contents(inference, content, type, 1, &contradictions);

	return (struct content_verdict){ score, contradictions > 0 };
}

bool content_contradicts(const struct inference *inference, const struct content *content,
			 heap_type_id type)
{
	uint32_t left = MAX_VISITS, contradictions = 0;
	const struct check check = { inference, content, &left, &contradictions, NULL, type };

	type_score(&check, 0, type, 0);
	return contradictions > 0;
}

int content_score_unset(const struct inference *inference, const struct content *content,
			heap_type_id type)
{
	uint32_t left = MAX_VISITS, contradictions = 0, agreeing = 0;
	const struct check check = { inference, content, &left, &contradictions, &agreeing, type };
	int score = type_score(&check, 0, type, 0);

	return contradictions > 0 || agreeing < UNSET_AGREEING ? -1 : score;
}

// The length of the text that contents begin with: up to a NUL, or @p limit. UINT64_MAX: they begin with none.
static uint64_t text_length(const struct content *content, uint64_t limit)
{
	const unsigned char *bytes = (const unsigned char *)content->words;
	uint64_t length = 0;

	while (length < limit && bytes[length] != '\0') {
		if (bytes[length] < ' ' && !(bytes[length] >= '\t' && bytes[length] <= '\r'))
			return UINT64_MAX;
		length++;
	}
	return length;
}

// The offset of the first pointer behind a block's prefix; UINT64_MAX: there is none.
static uint64_t first_pointer(const struct inference *inference, heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge = heap_edge_from(snapshot, object, inference_prefix(inference, object));

	return edge < snapshot->edge_first[object + 1] ? snapshot->edge_slot[edge] * UINT64_C(8) -
								 inference_prefix(inference, object)
						       : UINT64_MAX;
}

bool content_is_text_and_rest(const struct inference *inference, const struct content *content,
			      uint64_t size)
{
	uint64_t length = size <= SMALL_TEXT ? text_length(content, size) : UINT64_MAX;

	// An address reads as a text of six letters.
	return inference_slack(inference, content->object) > 0 && length >= LEAST_TEXT &&
	       length < size &&
	       !(length < 8 && image_find(&inference->capture->image, content->words[0])) &&
	       first_pointer(inference, content->object) >= length - length % 8;
}

bool content_is_text(const struct inference *inference, const struct content *content,
		     uint64_t size)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id object = content->object;
	uint64_t seen = content->count * 8 < size ? content->count * 8 : size;
	uint64_t length = text_length(content, seen), start;
	uint32_t edge;

	if (length == UINT64_MAX || length == 0 || (length == seen && seen == size))
		return false;
	// A chunk may be larger than the request. Behind its text may be older contents then.
	if (inference->capture->objects.flags[object] & (ARENA_ROUNDED | ARENA_SLOT))
		seen = length + 1;
	// Pointers have zeros in them, too, and what goes before may look like text. Those of a prefix do not count.
	start = inference_prefix(inference, object) + content->start;
	edge = heap_edge_from(snapshot, object, start);
	return edge == snapshot->edge_first[object + 1] ||
	       snapshot->edge_slot[edge] * UINT64_C(8) >= start + seen;
}

bool content_is_fraction(uint64_t word)
{
	enum {
		BIAS = 0x3ff,
		EXPONENTS = 48 // on either side of 1
	};
	uint64_t exponent = word >> 52 & 0x7ff;

	return exponent > BIAS - EXPONENTS && exponent < BIAS + EXPONENTS;
}

bool content_is_sure_text(const struct inference *inference, const struct content *content,
			  uint64_t size)
{
	const char *bytes = (const char *)content->words;
	uint64_t seen = content->count * 8 < size ? content->count * 8 : size, at = 0, other = 0;

	if (!content_is_text(inference, content, size))
		return false;
	while (at < seen && bytes[at] != '\0') {
		size_t length = heap_utf8_length(bytes + at, seen - at);

		other += length == 0;
		at += length > 0 ? length : 1;
	}
	return other * FEW_OTHERS <= at;
}

// True for text of at least two characters of a width, all of them of the Latin script's first 256.
static bool is_wide(const unsigned char *bytes, uint64_t seen, uint32_t width)
{
	uint64_t at = 0;

	for (; at + width <= seen; at += width) {
		for (uint32_t i = 1; i < width; i++) {
			if (bytes[at + i] != '\0')
				return false;
		}
		if (bytes[at] == '\0')
			break;
		if (bytes[at] < ' ' && !(bytes[at] >= '\t' && bytes[at] <= '\r'))
			return false;
	}
	return at >= UINT64_C(2) * width;
}

bool content_is_wide_text(const struct content *content, uint64_t size)
{
	const unsigned char *bytes = (const unsigned char *)content->words;
	uint64_t seen = content->count * 8 < size ? content->count * 8 : size;

	return is_wide(bytes, seen, sizeof(uint32_t)) || is_wide(bytes, seen, sizeof(uint16_t));
}
