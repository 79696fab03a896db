// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LONE_HEADERS_H
#define LONE_HEADERS_H

/**
 * Headers before a value of any type, in blocks whose sizes would do for arrays of them as well:
 *
 *	struct header { int references, length; } *header = malloc(sizeof(*header) + length + 1);
 *	memcpy(header + 1, text, length + 1);
 *
 * Any contents are numbers, so that they do not speak against elements that have nothing else. But no array is as long as
 * half an element, nor is there a text in all but its first element, nor are there numbers with fractions. Nor have nearly all
 * arrays of a site an address where their elements have two numbers.
 */

#include "dumper/writer/infer/content.h"

struct inference;

/**
 * True if a block that would be an array is its first element, a header, with bytes behind it: a text, numbers with fractions, or
 * as many bytes as no array has, in that block or in most that its code makes. Thread-safe.
 */
bool lone_headers_are(const struct inference *inference, const struct content *content,
		      const struct layout_claim *claim);

/**
 * True if it may be so, as what would be one of the elements behind the first cannot be one. An array's last elements may have
 * old bytes, too: nearly all blocks of a site have to agree. Thread-safe.
 */
bool lone_headers_may_be(const struct inference *inference, const struct content *content,
			 const struct layout_claim *claim);

#endif
