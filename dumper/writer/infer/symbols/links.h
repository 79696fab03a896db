// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LINKS_H
#define LINKS_H

/**
 * Linked lists and trees by the graph of pointers alone, for blocks whose type has no name.
 *
 *	list of links        doubly linked        tree
 *	a ─▶ b ─▶ c          a ⇄ b ⇄ c            a ─▶ b, c      b ─▶ d
 *
 * The blocks of one kind are nodes of a list if each of them has a pointer at one place to another of them, no two
 * lead to the same one, and no cycle is among them. They are nodes of a tree if they have several such places,
 * and no node is reached from two of these either. Two places whose pointers lead back to each other are the links
 * of a doubly linked list, which may be circular; one that leads back to the node above is a tree's parent.
 *
 * Pointers that are unrelated would collide: the number of collisions to be expected among random ones decides
 * how many links are a proof.
 */

#include "dumper/writer/scan/capture.h"

enum link_role {
	LINK_NONE,
	LINK_NEXT,
	LINK_PREVIOUS,
	LINK_CHILD,
	LINK_PARENT,
};

enum {
	LINK_WORDS = 64, /**< of a block, that are examined */
};

struct links {
	uint8_t role[LINK_WORDS]; /**< [word of a block] enum link_role */
	bool is_list, is_tree;
};

/**
 * Finds the links among blocks of one kind.
 *
 * @param members  [count] all objects of the kind, in ascending order
 */
HEAP_MUST_CHECK
struct heap_error *links_find(struct links *links, const struct capture *capture,
			      const heap_object_id *members, uint32_t count);

#endif
