// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The boxes of a document, whose union leads to other boxes, lines, bytes or texts. Nodes of the document begin with a number that
 * tells elements from texts, boxes with one that tells their own kinds.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	ELEMENT = 1,
	TEXT_NODE = 3,
	DEPTH = 6,
	PIXELS = 120, // bytes
	LETTERS = 16, // of a line
};

enum {
	BLOCK,
	LINES,
	IMAGE,
};

struct node {
	uint8_t type, dirty;
	uint16_t count;
	struct node *parent;
};

struct element {
	struct node node;
	const char *tag;
	struct box *box;
	uint16_t room;
	struct node *children[];
};

struct text {
	struct node node;
	uint32_t length;
	char letters[];
};

struct glyph {
	uint16_t number;
	float advance;
};

struct line {
	struct line *next;
	struct glyph *glyphs;
	int count;
	float y;
};

struct box {
	int kind;
	float x, y, width, height;
	struct box *parent, *next;
	union {
		struct {
			struct box *first, *last;
		} block;
		struct {
			struct line *lines;
			struct text *of;
		} text;
		struct {
			uint8_t *pixels;
			int width, height;
		} image;
	} u;
	struct element *element;
};

static struct element *root;

static struct text *text_create(struct node *parent)
{
	char letters[64];
	size_t length = (size_t)snprintf(letters, sizeof(letters), "some words, %u of them%.*s",
					 (unsigned)(next() % 1000), (int)(next() % 20),
					 " and more and more and");
	struct text *text = NEW_FLEXIBLE(struct text, sizeof(*text) + length + 1);

	text->node = (struct node){ TEXT_NODE, 0, 0, parent };
	text->length = (uint32_t)length;
	memcpy(text->letters, letters, length + 1);
	return text;
}

static struct element *element_create(struct node *parent, int depth)
{
	uint16_t count = depth > 0 ? 3 + next() % 4 : 1;
	struct element *element =
		NEW_FLEXIBLE(struct element, sizeof(*element) + count * sizeof(struct node *));

	memset(element, 0, sizeof(*element));
	element->node = (struct node){ ELEMENT, 0, count, parent };
	element->tag = count % 2 ? "div" : "p";
	element->room = count;
	for (uint16_t i = 0; i < count; i++)
		element->children[i] = depth > 0 && i % 2 == 0
					       ? &element_create(&element->node, depth - 1)->node
					       : &text_create(&element->node)->node;
	return element;
}

static struct box *box_create(struct box *parent, int kind, struct element *element)
{
	struct box *box = NEW_ZEROED(struct box);

	box->kind = kind;
	box->parent = parent;
	box->element = element;
	box->y = next() % 800 * .5f;
	box->width = 100;
	box->height = 20;
	if (!parent)
		return box;
	if (parent->u.block.last)
		parent->u.block.last->next = box;
	else
		parent->u.block.first = box;
	parent->u.block.last = box;
	return box;
}

static void add_lines(struct box *box)
{
	struct text *text = box->u.text.of;

	for (uint32_t at = 0; at < text->length; at += LETTERS) {
		struct line *line = NEW(struct line);

		line->count = text->length - at < LETTERS ? (int)(text->length - at) : LETTERS;
		line->y = (float)at;
		line->glyphs = NEW_ARRAY(struct glyph, line->count);
		for (int i = 0; i < line->count; i++)
			line->glyphs[i] =
				(struct glyph){ (uint16_t)text->letters[at + (uint32_t)i], 7.5f };
		line->next = box->u.text.lines;
		box->u.text.lines = line;
	}
}

static void add_pixels(struct box *box)
{
	box->u.image.width = 6;
	box->u.image.height = 5;
	box->u.image.pixels = (uint8_t *)NEW_TEXT(PIXELS);
	for (int i = 0; i < PIXELS; i++)
		box->u.image.pixels[i] = (uint8_t)(next() >> 3);
}

static void lay_out(struct element *element, struct box *parent)
{
	int is_image = element->node.count == 1 && next() % 3 == 0;

	element->box = box_create(parent, is_image ? IMAGE : BLOCK, element);
	if (is_image) {
		add_pixels(element->box);
		return;
	}
	for (uint16_t i = 0; i < element->node.count; i++) {
		struct node *node = element->children[i];
		struct box *box;

		if (node->type == ELEMENT) {
			lay_out((struct element *)node, element->box);
			continue;
		}
		box = box_create(element->box, LINES, element);
		box->u.text.of = (struct text *)node;
		add_lines(box);
	}
}

int main(void)
{
	root = element_create(NULL, DEPTH);
	lay_out(root, NULL);
	truth_capture();
	printf("%d\n", root->box->kind);
	return 0;
}
