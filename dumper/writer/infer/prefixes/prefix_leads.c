// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prefixes/prefix_leads.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/prefixes/linked_prefixes.h"
#include "dumper/writer/infer/prefixes/measured_prefixes.h"

#include "lib/base/bits.h"

#include <string.h>

enum {
	FEW_HINTS = 16, // on a block: with more of them it is no single object
	MAX_WHOLES = 64,
	MIN_SIZES = 4,    // of the blocks in a list of an allocator
	LIST_SAMPLE = 16, // of these blocks
	MAX_TEXT_PREFIX = 32,
};

// The bits of two numbers of 4 bytes that are not set in counts of up to a million.
#define LARGER_THAN_COUNTS UINT64_C(0xfff00000fff00000)

// True for a place where a prefix may end. Characters may stand anywhere.
static bool may_end(const struct layouts *layouts, const struct hint *hint)
{
	if (layouts_is_character(layouts, hint->type))
		return hint->interior > 0 && hint->interior <= MAX_TEXT_PREFIX;
	return hint->interior >= 8 && hint->interior <= BLOCK_PREFIX_MAX && hint->interior % 8 == 0;
}

// Bytes of a header that a slot leads to; 0: it leads to none.
static uint64_t header_size(const struct layouts *layouts, const struct hint *hint)
{
	return layouts_is_start(hint->interior) && layouts_is_compound(layouts, hint->type)
		       ? layouts_size(layouts, hint->type)
		       : 0;
}

// Notes a slot that leads to a number or a pointer, as to an element of an array. Members of structs are such, too, so
// that only all pointers of a site together tell a prefix from these.
static void note_plain(const struct inference *inference, const struct hint *hint,
		       struct prefix_lead *plain)
{
	if (hint->interior > plain->offset)
		return;
	if (hint->interior < plain->offset ||
	    claims_prefer(&inference->layouts, hint->type, plain->type))
		plain->type = hint->type;
	plain->offset = hint->interior;
}

// True if a struct has pointers.
static bool has_pointers(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);

	return slots && slots->count > 0;
}

// True if numbers or pointers may be what a block is about, behind a header that slots lead to, if any. One with pointers
// is more than the length of an array.
static bool may_be_behind(const struct prefix_lead *lead, uint32_t offset)
{
	return lead->header == 0 || (lead->header == offset && !lead->is_linked);
}

bool prefix_lead_is_pointer(const struct inference *inference, heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;

	return layouts_is_pointer(&inference->layouts, type) &&
	       layouts_is_compound(&inference->layouts,
				   layouts_strip(&inference->layouts, types->types[type].target));
}

// True if a number in front of a lead tells how long the rest of the block is.
static bool is_measured(const struct inference *inference, heap_object_id object,
			const struct prefix_lead *lead)
{
	return measured_prefixes_have(inference, object, lead->offset,
				      layouts_size(&inference->layouts, lead->type));
}

// True if a place that slots to numbers or pointers lead to may be the end of a prefix. Where no sites are known, these
// must be pointers, or the prefix a header that slots lead to, or tell how long the rest is.
static bool may_be_plain(const struct inference *inference, heap_object_id object,
			 enum block_prefix_kind kind, const struct prefix_lead *plain)
{
	return kind == BLOCK_PREFIX_STRUCTS && plain->offset >= 8 &&
	       plain->offset <= BLOCK_PREFIX_MAX && plain->offset % 8 == 0 &&
	       plain->offset < objects_size(&inference->capture->objects, object) &&
	       (inference_has_sites(inference) || plain->header > 0 ||
		prefix_lead_is_pointer(inference, plain->type) ||
		is_measured(inference, object, plain));
}

bool prefix_lead_find_stored(const struct inference *inference, heap_object_id object,
			     enum block_prefix_kind kind, struct prefix_lead *lead)
{
	*lead = (struct prefix_lead){ .type = HEAP_NO_TYPE };
	lead->storage = kind == BLOCK_PREFIX_TEXTS
				? storage_headers_find_text(inference, object, &lead->type)
				: storage_headers_find(inference, object, &lead->type);
	if (lead->storage == HEAP_NO_TYPE)
		return false;
	lead->offset = (uint32_t)inference->layouts.facts[lead->storage].start;
	return true;
}

/*
 * The first place behind its start that slots lead to, if they lead nowhere before, or to a header that
 * ends there. Of several types there the one that says more.
 */
bool prefix_lead_find(const struct inference *inference, heap_object_id object,
		      enum block_prefix_kind kind, struct prefix_lead *lead)
{
	const struct layouts *layouts = &inference->layouts;
	struct prefix_lead plain = { .offset = UINT32_MAX,
				     .is_plain = true,
				     .storage = HEAP_NO_TYPE };
	uint32_t seen = 0;

	if (prefix_lead_find_stored(inference, object, kind, lead))
		return true;
	*lead = (struct prefix_lead){ .offset = UINT32_MAX, .storage = HEAP_NO_TYPE };
	if (claims_are_good(&inference->claims, object))
		return false;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (++seen > FEW_HINTS)
			return false;
		if (hint->either)
			continue;
		if (!layouts_is_compound(layouts, hint->type) &&
		    !layouts_is_character(layouts, hint->type)) {
			note_plain(inference, hint, &plain);
			continue;
		}
		if (hint->interior > lead->offset)
			continue;
		if (header_size(layouts, hint) > 0) {
			if (kind == BLOCK_PREFIX_TEXTS ||
			    (lead->header > 0 && lead->header != header_size(layouts, hint)))
				return false;
			lead->header = header_size(layouts, hint);
			lead->is_linked |= has_pointers(layouts, hint->type);
			continue;
		}
		if (!may_end(layouts, hint))
			return false;
		if (hint->interior < lead->offset || claims_prefer(layouts, hint->type, lead->type))
			*lead = (struct prefix_lead){ hint->type, hint->interior,  lead->header,
						      false,      lead->is_linked, HEAP_NO_TYPE };
	}
	plain.header = lead->header;
	if (lead->offset == UINT32_MAX && may_be_behind(lead, plain.offset) &&
	    may_be_plain(inference, object, kind, &plain)) {
		*lead = plain;
		return true;
	}
	return lead->offset != UINT32_MAX && (lead->header == 0 || lead->header == lead->offset) &&
	       layouts_is_character(layouts, lead->type) == (kind == BLOCK_PREFIX_TEXTS) &&
	       lead->offset < objects_size(&inference->capture->objects, object);
}

static bool is_empty(struct layout_wholes wholes)
{
	return wholes.at == wholes.end;
}

// True if there is a type of a size with such a part.
static bool has_whole(const struct layouts *layouts, heap_type_id part, uint64_t offset,
		      uint64_t size)
{
	return !is_empty(layouts_exact_wholes(layouts, part, offset, size,
					      layouts_slack(layouts, size))) ||
	       !is_empty(layouts_flexible_wholes(layouts, part, offset, size));
}

// True if there is a type of a size that has one of a union's members there.
static bool has_alternative(const struct layouts *layouts, heap_type_id part, uint64_t offset,
			    uint64_t size)
{
	const struct heap_type *type = &layouts->types->types[part];

	for (uint32_t i = 0; type->kind == HEAP_TYPE_UNION && i < type->members; i++) {
		const struct heap_member *member = &layouts->types->members[type->first_member + i];
		heap_type_id alternative = layouts_strip(layouts, member->type);

		progress_step();
		if (layouts_is_compound(layouts, alternative) &&
		    has_whole(layouts, alternative, offset, size))
			return true;
	}
	return false;
}

/*
 * True if a lead may be to a part of a larger struct though that has no part of the lead's type: pointers to a union, or
 * to one of its members, lead to what has another member, as those to all objects of an interpreter do.
 */
static bool may_be_alternative(const struct layouts *layouts, const struct prefix_lead *lead,
			       uint64_t size)
{
	uint64_t rest = size - lead->offset;
	const struct layout_wholes wholes =
		layouts_exact_wholes(layouts, lead->type, 0, rest, layouts_slack(layouts, rest));

	if (has_alternative(layouts, lead->type, lead->offset, size))
		return true;
	for (const struct layout_part *at = wholes.at;
	     at < wholes.end && at - wholes.at < MAX_WHOLES; at++) {
		if (has_alternative(layouts, at->whole, lead->offset, size))
			return true;
	}
	return false;
}

// True if the code that allocates a block handles a struct whose bytes begin at an offset.
static bool has_struct_of_bytes(const struct inference *inference, heap_object_id object,
				uint32_t offset)
{
	const struct site_types *types = inference_site_types(inference, object);

	for (uint32_t i = 0; i < types->count; i++) {
		const struct layout_facts *facts = &inference->layouts.facts[types->list[i].type];

		if (facts->is_flexible && facts->start == offset &&
		    layouts_is_character(&inference->layouts,
					 layouts_strip(&inference->layouts, facts->element)))
			return true;
	}
	return false;
}

// True if a block reads as text from its start on. A number before the lead may look like a few letters.
static bool begins_with_text(const struct inference *inference, const struct content *content,
			     uint64_t size, uint32_t offset)
{
	size_t letters = offset < sizeof(*content->words) ? offset : sizeof(*content->words);

	return content->count > 0 && !memchr(content->words, '\0', letters) &&
	       content_is_text(inference, content, size);
}

enum prefix_reading prefix_lead_read_text(const struct inference *inference, heap_object_id object,
					  uint32_t offset, bool is_stored, uint64_t *words)
{
	const struct capture *capture = inference->capture;
	uint64_t size = objects_size(&capture->objects, object);
	struct content content;

	content_read(inference, object, words, &content);
	if (begins_with_text(inference, &content, size, offset) ||
	    (!is_stored && has_struct_of_bytes(inference, object, offset)))
		return READING_EMBEDDED;
	content.start = is_stored ? offset : 0;
	memmove(words, (const char *)words + offset, content.count * 8 - offset);
	// The words that the move leaves at the end are behind the block, or not whole.
	if (content.count * UINT64_C(8) < size)
		content.count -= (offset + 7) / 8;
	return content.count > 0 && content_is_text(inference, &content, size - offset)
		       ? READING_PREFIX
		       : READING_OTHER;
}

const struct method_table *prefix_lead_find_table(const struct inference *inference,
						  heap_object_id object,
						  const struct prefix_lead *lead)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, lead->type);
	uint64_t start = objects_address(&inference->capture->objects, object) + lead->offset;
	uint64_t size = objects_size(&inference->capture->objects, object) - lead->offset;
	const struct method_table *table = NULL;

	for (uint32_t i = 0; !table && slots && i < slots->count; i++) {
		uint64_t offset = slots->list[i].offset, word = 0;

		if (offset >= BLOCK_PREFIX_MAX || offset + sizeof(word) > size)
			break;
		if (!layouts_is_compound(&inference->layouts, slots->list[i].pointee))
			continue;
		pages_read(inference->pages, start + offset, &word, sizeof(word));
		table = method_tables_find(&inference->pointer_tags.tables, word);
	}
	return table;
}

// True if typed slots lead to a block's start, or to what lies before an offset.
static bool is_led_before(const struct inference *inference, heap_object_id object, uint32_t offset)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (!layouts_is_character(&inference->layouts, hint->type) &&
		    (layouts_is_start(hint->interior) || hint->interior < offset))
			return true;
	}
	return false;
}

bool prefix_lead_may_be_linked(const struct inference *inference, const struct prefix_lead *lead)
{
	return lead->offset == sizeof(uint64_t) && lead->header == 0 &&
	       !inference_has_sites(inference);
}

// True if the bytes before the lead are a link to where another block begins, as all that a region has to free. The last
// one of such a list is one that the link of another leads to.
static bool is_linked(const struct inference *inference, heap_object_id object,
		      const struct prefix_lead *lead)
{
	heap_object_id next = linked_prefixes_next(inference, object);
	uint64_t word = 1;

	if (!prefix_lead_may_be_linked(inference, lead))
		return false;
	if (next != HEAP_NO_OBJECT)
		return !claims_are_good(&inference->claims, next) &&
		       !is_led_before(inference, next, lead->offset);
	if (!inference->block_prefixes.are_next ||
	    !heap_bit_get(inference->block_prefixes.are_next, object))
		return false;
	pages_read(inference->pages, objects_address(&inference->capture->objects, object), &word,
		   sizeof(word));
	return word == 0;
}

// True if a block is in a list of blocks of several sizes, whose links are at an offset: only an allocator makes one. A
// program's own lists have nodes of one size or two.
static bool has_sizes(const struct inference *inference, heap_object_id object, uint64_t offset)
{
	uint64_t sizes[MIN_SIZES];
	uint32_t count = 0;

	for (int i = 0; i < LIST_SAMPLE && object != HEAP_NO_OBJECT && count < MIN_SIZES; i++) {
		uint64_t size = objects_size(&inference->capture->objects, object);
		uint32_t at = 0;

		progress_step();
		while (at < count && sizes[at] != size)
			at++;
		if (at == count)
			sizes[count++] = size;
		object = linked_prefixes_follow(inference, object, (uint32_t)offset);
	}
	return count == MIN_SIZES;
}

// True if typed slots lead to a block's header, so that it is no prefix.
static bool has_led_header(const struct inference *inference, heap_object_id object, uint32_t bytes)
{
	return inference_prefix(inference, object) != bytes &&
	       (claims_are_good(&inference->claims, object) ||
		is_led_before(inference, object, bytes));
}

bool prefix_lead_is_doubly_linked(const struct inference *inference, heap_object_id object,
				  const struct prefix_lead *lead)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	bool is_listed = false;

	if (inference_has_sites(inference) || lead->header > 0 || lead->offset % 8 != 0)
		return false;
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		heap_object_id target = snapshot->edge_target[i];
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8);

		if (offset >= lead->offset)
			break;
		if (snapshot->edge_interior[i] != 0)
			return false;
		if (target == object)
			continue;
		if (has_led_header(inference, target, lead->offset))
			return false;
		is_listed |= linked_prefixes_lead_back(inference, target, object, lead->offset) &&
			     has_sizes(inference, object, offset);
	}
	return is_listed;
}

// True if a lead is to structs that are parts of others, as the links of lists are, or to pointers to such: these stand
// behind other members.
static bool is_to_parts(const struct inference *inference, const struct prefix_lead *lead)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id type = lead->type;

	if (layouts_is_pointer(layouts, type))
		type = layouts_strip(layouts, layouts->types->types[type].target);
	return layouts_is_link(layouts, type) || layouts_is_part_inside(layouts, type);
}

// True if there is no pointer before the lead, as in a header that counts what is behind it. The headers of allocators
// whose blocks form trees have some.
static bool is_behind_numbers(const struct inference *inference, heap_object_id object,
			      const struct prefix_lead *lead)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[object];

	return !is_to_parts(inference, lead) &&
	       (first == snapshot->edge_first[object + 1] ||
		snapshot->edge_slot[first] * UINT64_C(8) >= lead->offset);
}

// True if there are pointers to blocks or zeros behind the lead, up to what may be no part of the block.
static bool is_behind_pointers(const struct inference *inference, heap_object_id object,
			       const struct prefix_lead *lead, uint64_t *words)
{
	uint64_t size = objects_size(&inference->capture->objects, object);
	uint64_t end = size - layouts_slack(&inference->layouts, size);
	struct content content;

	content_read(inference, object, words, &content);
	for (uint64_t at = lead->offset; at + 8 <= end && at / 8 < content.count; at += 8) {
		if (words[at / 8] != 0 &&
		    heap_edge_at(&inference->capture->snapshot, object, at) == UINT32_MAX)
			return false;
	}
	return heap_edge_at(&inference->capture->snapshot, object, lead->offset) != UINT32_MAX;
}

// True if what lies behind the lead is a whole number of values.
static bool is_array(const struct inference *inference, heap_object_id object,
		     const struct prefix_lead *lead)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t size = objects_size(&inference->capture->objects, object);
	uint64_t stride = layouts_size(layouts, lead->type);

	return stride > 0 && (size - lead->offset) % stride <= layouts_slack(layouts, size);
}

// Reads numbers or pointers behind the lead.
static enum prefix_reading read_plain(const struct inference *inference, heap_object_id object,
				      const struct prefix_lead *lead, uint64_t *words)
{
	if (inference_has_sites(inference))
		return is_array(inference, object, lead) ? READING_ARRAY : READING_OTHER;
	if (!prefix_lead_is_pointer(inference, lead->type))
		return is_array(inference, object, lead) ? READING_PREFIX : READING_OTHER;
	return is_behind_pointers(inference, object, lead, words) ? READING_PREFIX : READING_OTHER;
}

// True if the numbers with fractions that a value has would be tinier than any that programs have, as those that counts of up
// to a million read as: one of 8 bytes, or two of 4.
static bool has_counts_for_fractions(const struct inference *inference, heap_type_id type,
				     const struct content *content)
{
	uint64_t all = 0;

	if (!layouts_has_fractions_alone(&inference->layouts, type))
		return false;
	for (size_t i = 0; i < content->count; i++)
		all |= content->words[i];
	return all != 0 && (all & LARGER_THAN_COUNTS) == 0;
}

// True if a lead may be to an element in the middle of an array of structs that begins with the block: the first of them
// may have any numbers.
static bool is_to_element(const struct inference *inference, heap_object_id object,
			  const struct prefix_lead *lead, uint64_t *words)
{
	uint64_t stride = layouts_size(&inference->layouts, lead->type);
	struct content content;

	return layouts_is_compound(&inference->layouts, lead->type) && stride > 0 &&
	       lead->offset % stride == 0 &&
	       content_read_value(inference, object, 0, lead->type, words, &content) &&
	       !content_contradicts(inference, &content, lead->type) &&
	       !has_counts_for_fractions(inference, lead->type, &content);
}

// True if contents say that a lead is to such an element: the first one has pointers of its own.
static bool has_element_before(const struct inference *inference, heap_object_id object,
			       const struct prefix_lead *lead, uint64_t *words)
{
	struct content content;

	return is_array(inference, object, lead) && has_pointers(&inference->layouts, lead->type) &&
	       is_to_element(inference, object, lead, words) &&
	       content_read_value(inference, object, 0, lead->type, words, &content) &&
	       content_score(inference, &content, lead->type, 1) > 0 &&
	       !is_linked(inference, object, lead) &&
	       !prefix_lead_is_doubly_linked(inference, object, lead);
}

// True if a lead's type, or a larger one that begins with it, fits what is behind it.
static bool fits(const struct inference *inference, const struct prefix_lead *lead, uint64_t size)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t rest = size - lead->offset;

	return layouts_fit(layouts, lead->type, rest, layouts_slack(layouts, rest)).fit !=
		       LAYOUT_NONE ||
	       has_whole(layouts, lead->type, 0, rest);
}

enum prefix_reading prefix_lead_read(const struct inference *inference, heap_object_id object,
				     const struct prefix_lead *lead, uint64_t *words)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t size = objects_size(&inference->capture->objects, object);

	if (layouts_is_character(layouts, lead->type))
		return prefix_lead_read_text(inference, object, lead->offset,
					     lead->storage != HEAP_NO_TYPE, words);
	if (lead->storage != HEAP_NO_TYPE)
		return fits(inference, lead, size) ? READING_PREFIX : READING_EMBEDDED;
	if (has_whole(layouts, lead->type, lead->offset, size) ||
	    may_be_alternative(layouts, lead, size))
		return READING_EMBEDDED;
	// A header that slots lead to is more than a prefix.
	if (lead->header == 0 && is_measured(inference, object, lead) &&
	    !is_to_element(inference, object, lead, words))
		return READING_MEASURED;
	if (!inference_has_sites(inference) && !prefix_lead_find_table(inference, object, lead) &&
	    !is_linked(inference, object, lead) &&
	    !prefix_lead_is_doubly_linked(inference, object, lead) &&
	    !is_behind_numbers(inference, object, lead))
		return READING_EMBEDDED;
	if (lead->is_plain)
		return read_plain(inference, object, lead, words);
	if (has_element_before(inference, object, lead, words))
		return READING_EMBEDDED;
	if (fits(inference, lead, size))
		return READING_PREFIX;
	return is_array(inference, object, lead) ? READING_ARRAY : READING_OTHER;
}
