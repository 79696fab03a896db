// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Trees and links in disguise: red-black nodes embedded in records, whose parent pointers
 * carry the colour, and a list whose links are exclusive-or'ed.
 */
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rb_node {
	uintptr_t parent_colour; // bit 0: black
	struct rb_node *right, *left;
} __attribute__((aligned(sizeof(long))));

struct rb_root {
	struct rb_node *node;
};

#define RED 0
#define BLACK 1
#define rb_parent(node) ((struct rb_node *)((node)->parent_colour & ~(uintptr_t)3))
#define rb_colour(node) ((node)->parent_colour & 1)
#define rb_entry(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static void rb_set(struct rb_node *node, struct rb_node *parent, uintptr_t colour)
{
	node->parent_colour = (uintptr_t)parent | colour;
}

static void replace_child(struct rb_root *root, struct rb_node *old, struct rb_node *new)
{
	struct rb_node *parent = rb_parent(old);

	if (!parent)
		root->node = new;
	else if (parent->left == old)
		parent->left = new;
	else
		parent->right = new;
}

static void rotate(struct rb_root *root, struct rb_node *node, bool to_left)
{
	struct rb_node *up = to_left ? node->right : node->left;
	struct rb_node *moved = to_left ? up->left : up->right;

	replace_child(root, node, up);
	rb_set(up, rb_parent(node), rb_colour(up));
	*(to_left ? &node->right : &node->left) = moved;
	if (moved)
		rb_set(moved, node, rb_colour(moved));
	*(to_left ? &up->left : &up->right) = node;
	rb_set(node, up, rb_colour(node));
}

static void rb_insert(struct rb_root *root, struct rb_node *node)
{
	struct rb_node *parent, *grand, *uncle;

	while ((parent = rb_parent(node)) && rb_colour(parent) == RED) {
		bool is_left;
		grand = rb_parent(parent);
		is_left = grand->left == parent;
		uncle = is_left ? grand->right : grand->left;
		if (uncle && rb_colour(uncle) == RED) {
			rb_set(uncle, grand, BLACK);
			rb_set(parent, grand, BLACK);
			rb_set(grand, rb_parent(grand), RED);
			node = grand;
			continue;
		}
		if (node == (is_left ? parent->right : parent->left)) {
			rotate(root, parent, is_left);
			parent = node;
		}
		rb_set(parent, rb_parent(parent), BLACK);
		rb_set(grand, rb_parent(grand), RED);
		rotate(root, grand, !is_left);
		break;
	}
	rb_set(root->node, NULL, BLACK);
}

struct extent {
	uint64_t start, length;
	struct rb_node by_start;
	struct rb_node by_length;
	struct file *file;
};

struct file {
	struct rb_node by_inode;
	uint64_t inode;
	struct rb_root extents;
	char name[];
};

struct xlink { // neighbours exclusive-or'ed
	uintptr_t both;
	struct extent *extent;
	uint32_t stamp;
};

static struct rb_root files, free_by_length;
static struct xlink *first, *last;

static void insert_file(struct file *file)
{
	struct rb_node **at = &files.node, *parent = NULL;

	while (*at) {
		parent = *at;
		at = file->inode < rb_entry(parent, struct file, by_inode)->inode ? &parent->left
										  : &parent->right;
	}
	file->by_inode.left = file->by_inode.right = NULL;
	rb_set(&file->by_inode, parent, RED);
	*at = &file->by_inode;
	rb_insert(&files, &file->by_inode);
}

static void insert_extent(struct rb_root *root, struct extent *extent)
{
	struct rb_node **at = &root->node, *parent = NULL;

	while (*at) {
		parent = *at;
		at = extent->start < rb_entry(parent, struct extent, by_start)->start
			     ? &parent->left
			     : &parent->right;
	}
	extent->by_start.left = extent->by_start.right = NULL;
	rb_set(&extent->by_start, parent, RED);
	*at = &extent->by_start;
	rb_insert(root, &extent->by_start);
}

static void insert_by_length(struct extent *extent)
{
	struct rb_node **at = &free_by_length.node, *parent = NULL;

	while (*at) {
		parent = *at;
		at = extent->length < rb_entry(parent, struct extent, by_length)->length
			     ? &parent->left
			     : &parent->right;
	}
	extent->by_length.left = extent->by_length.right = NULL;
	rb_set(&extent->by_length, parent, RED);
	*at = &extent->by_length;
	rb_insert(&free_by_length, &extent->by_length);
}

static void remember(struct extent *extent, uint32_t stamp)
{
	struct xlink *link = NEW(struct xlink);

	link->extent = extent;
	link->stamp = stamp;
	link->both = (uintptr_t)last;
	if (last)
		last->both ^= (uintptr_t)link;
	else
		first = link;
	last = link;
}

static struct file *create_file(uint64_t inode)
{
	char name[64];
	int length = snprintf(name, sizeof(name), "file-%llu.%s", (unsigned long long)inode,
			      inode % 3 ? "txt" : "archive.gz");
	struct file *file = NEW_FLEXIBLE(struct file, sizeof(*file) + (size_t)length + 1);

	file->inode = inode;
	file->extents.node = NULL;
	memcpy(file->name, name, (size_t)length + 1);
	insert_file(file);
	return file;
}

static struct extent *create_extent(struct file *file, uint64_t start, uint64_t length)
{
	struct extent *extent = NEW_ZEROED(struct extent);

	extent->start = start;
	extent->length = length;
	extent->file = file;
	if (file)
		insert_extent(&file->extents, extent);
	else
		insert_by_length(extent);
	return extent;
}

int main(void)
{
	uint64_t random = 88172645463325252u, sum = 0;
	struct xlink *before = NULL;

	for (int i = 0; i < 400; i++) {
		struct file *file;
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		file = create_file(random % 100000);
		for (unsigned j = 0; j < 1 + random % 9; j++)
			remember(create_extent(file, j * 4096, 4096), (uint32_t)i);
		if (i % 2)
			create_extent(NULL, random % 4096, random % 65536);
	}
	truth_capture();
	for (struct xlink *link = first; link;) {
		struct xlink *next = (struct xlink *)(link->both ^ (uintptr_t)before);
		sum += link->extent->length;
		before = link;
		link = next;
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
