// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/lone_headers.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

enum {
	WORD = 8,
	NEIGHBOURS = 8,       // sizes of a site on either side of a block's own
	LEAST_TEXT = 4,       // letters; fewer may be numbers
	LEAST_FRACTIONS = 4,  // words of them
	SHORT_EXPONENTS = 30, // of a float
};

// True for a byte of text in ASCII or UTF-8, which has no bytes like those of small negative numbers.
static bool is_printable(unsigned char byte)
{
	return (byte >= ' ' && byte < 0xf8) || (byte >= '\t' && byte <= '\r');
}

// True if all that is behind an element is a text, whose NUL is among the last bytes that the program has asked for.
static bool has_text(const struct inference *inference, const struct content *content,
		     uint64_t stride)
{
	const unsigned char *bytes = (const unsigned char *)content->words;
	uint64_t size = inference_size(inference, content->object), at = stride;
	uint64_t slack = inference_slack(inference, content->object);

	if (size > content->count * WORD)
		return false;
	while (at < size && is_printable(bytes[at]))
		at++;
	return at < size && bytes[at] == '\0' && at - stride >= LEAST_TEXT &&
	       size - at - 1 <= slack;
}

static bool is_short_fraction(uint64_t half)
{
	uint64_t exponent = half >> 23 & 0xff;

	return half == 0 ||
	       (exponent > 0x7f - SHORT_EXPONENTS && exponent < 0x7f + SHORT_EXPONENTS);
}

// True for two numbers with fractions, of which one may be zero.
static bool has_short_fractions(uint64_t word)
{
	return word != 0 && is_short_fraction(word & UINT32_MAX) && is_short_fraction(word >> 32);
}

// True if all numbers behind an element have fractions, and those in it do not: read as whole numbers, they would be large.
static bool has_fractions(const struct content *content, uint64_t stride)
{
	uint64_t doubles = 0, floats = 0, all = 0;

	if (stride % WORD != 0 || content_is_fraction(content->words[0]) ||
	    has_short_fractions(content->words[0]))
		return false;
	for (uint64_t i = stride / WORD; i < content->count; i++) {
		uint64_t word = content->words[i];

		if (word == 0)
			continue;
		all++;
		doubles += content_is_fraction(word);
		floats += has_short_fractions(word);
		if (doubles < all && floats < all)
			return false;
	}
	return all >= LEAST_FRACTIONS;
}

// True if no array of elements has a size: all of its bytes are asked for, and they are no multiple of the elements' alignment.
static bool is_odd(const struct inference *inference, uint64_t size, uint64_t stride)
{
	uint64_t alignment = stride & -stride;

	return layouts_slack(&inference->layouts, size) == 0 &&
	       size % (alignment < WORD ? alignment : WORD) != 0;
}

// True if most sizes that the code of a block makes, next to that of the block, are those of no array.
static bool are_odd(const struct inference *inference, heap_object_id object, uint64_t stride)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t own = kinds_of(inference, object), odd = 0, all = 0;
	uint32_t first = own < NEIGHBOURS ? 0 : own - NEIGHBOURS;

	if (!inference_knows_site(inference, kinds->kinds[own].site))
		return false;
	for (uint32_t i = first; i < kinds->count && i <= own + NEIGHBOURS; i++) {
		progress_step();
		if (kinds->kinds[i].site != kinds->kinds[own].site)
			continue;
		all++;
		odd += is_odd(inference, kinds->kinds[i].size, stride);
	}
	return odd * 2 >= all;
}

bool lone_headers_are(const struct inference *inference, const struct content *content,
		      const struct layout_claim *claim)
{
	uint64_t stride = layouts_size(&inference->layouts, claim->type);

	if (claim->elements <= 1 || stride < WORD / 2 ||
	    !layouts_is_compound(&inference->layouts, claim->type) ||
	    !layouts_has_integers_alone(&inference->layouts, claim->type))
		return false;
	return has_text(inference, content, stride) || has_fractions(content, stride) ||
	       are_odd(inference, content->object, stride);
}

// True if what would be one of an array's elements behind the first cannot be one.
static bool has_no_element(const struct inference *inference, const struct content *content,
			   heap_type_id type)
{
	uint64_t words = layouts_size(&inference->layouts, type) / WORD;

	if (words == 0 || layouts_size(&inference->layouts, type) % WORD != 0)
		return false;
	for (uint64_t at = words; at + words <= content->count; at += words) {
		const struct content element = { content->object, content->words + at, words,
						 content->start + at * WORD };

		progress_step();
		if (content_contradicts(inference, &element, type))
			return true;
	}
	return false;
}

bool lone_headers_may_be(const struct inference *inference, const struct content *content,
			 const struct layout_claim *claim)
{
	return lone_headers_are(inference, content, claim) ||
	       (claim->elements > 1 && layouts_is_compound(&inference->layouts, claim->type) &&
		has_no_element(inference, content, claim->type));
}
