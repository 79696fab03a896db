// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of classes in chunks of pages: a page has chunks of one size class, which begin at a different place in each
 * page, and tells about itself at its end. Only void pointers lead to most objects, whose class is a block with
 * functions. Free chunks keep what they held, behind a link to the next one.
 */
#include "t/truth/classes.h"
#include "t/truth/random.h"

#include <stdint.h>
#include <stdio.h>

enum {
	WIDGETS = 6000,
	CLASSES = 8, // of 16 bytes, 32, ...
};

// At the end of a page.
struct page {
	struct page *next;
	unsigned used;
	char *first;
};

struct free_chunk {
	struct free_chunk *next;
};

static struct free_chunk *free_chunks[CLASSES + 1];
static struct page *pages;

static void add_page(size_t class)
{
	static unsigned colour;
	size_t size = class <= 3 ? 512 : 1024, chunk = class * 16;
	char *start = POOL(void, malloc(size));
	struct page *page = (struct page *)(start + size - sizeof(*page));
	char *first = start + colour++ % 3 * 16;

	*page = (struct page){ pages, 0, first };
	pages = page;
	for (char *at = first; at + chunk <= (char *)page; at += chunk) {
		struct free_chunk *one = (struct free_chunk *)at;

		one->next = free_chunks[class];
		free_chunks[class] = one;
	}
}

static void *chunk_alloc(size_t size)
{
	size_t class = (size + 15) / 16;
	struct free_chunk *chunk;

	if (!free_chunks[class])
		add_page(class);
	chunk = free_chunks[class];
	free_chunks[class] = chunk->next;
	return memset(chunk, 0, size);
}

static void chunk_free(void *chunk, size_t size)
{
	size_t class = (size + 15) / 16;
	struct free_chunk *one = chunk;

	PART_FREE(chunk);
	one->next = free_chunks[class];
	free_chunks[class] = one;
}

#define CHUNK(T) PART(T, chunk_alloc(sizeof(T)))
#define CHUNK_OF(T, address) PART(T, address)

struct colour { // 32 bytes, as item
	double red, green, blue;
	unsigned users;
};

struct item {
	struct item *next;
	void *object;
	char *label;
};

// The part of a real_list that callers see.
struct list {
	void **items;
	unsigned count;
};

struct real_list { // 32 bytes, as two lists
	void **items;
	unsigned count, room;
	unsigned references;
	void (*release)(void *item);
};

struct label {
	struct object object;
	char *text;
	struct colour *colour;
};

struct box {
	struct object object;
	struct item *items;
	unsigned count;
	double width, height;
};

struct image {
	struct object object;
	struct colour *palette[4];
	char *path;
	uint64_t bytes;
};

struct window {
	struct object object;
	struct box *root;
	struct label *title;
	struct image *icon;
	struct colour *background;
	struct list *children;
	char *role;
	double scale;
	unsigned number;
};

static void **objects;

__attribute__((noinline)) static void *create(struct class *class)
{
	struct object *object = chunk_alloc(class->size);

	object->class = class;
	object->references = 1;
	return object;
}

static void clear_label(void *object)
{
	struct label *label = object;

	FREE(label->text);
	label->colour->users--;
}

static void describe_label(const void *object)
{
	const struct label *label = object;

	printf("%s\n", label->text);
}

static void clear_items(struct box *box)
{
	for (struct item *item = box->items, *next; item; item = next) {
		next = item->next;
		FREE(item->label);
		chunk_free(item, sizeof(*item));
	}
	box->items = NULL;
}

static void clear_box(void *object)
{
	struct box *box = object;

	clear_items(box);
}

static void describe_box(const void *object)
{
	const struct box *box = object;

	printf("%u %g\n", box->count, box->width);
}

static void clear_image(void *object)
{
	struct image *image = object;

	FREE(image->path);
}

static void describe_image(const void *object)
{
	const struct image *image = object;

	printf("%s\n", image->path);
}

static void clear_window(void *object)
{
	struct window *window = object;

	FREE(window->role);
}

static void describe_window(const void *object)
{
	const struct window *window = object;

	printf("%u %s\n", window->number, window->role);
}

static struct colour *new_colour(unsigned number)
{
	struct colour *colour = CHUNK(struct colour);

	*colour = (struct colour){ 0.25, (double)number, 0.5, number % 7 };
	return colour;
}

static void *new_label(struct class *class, unsigned number)
{
	struct label *label = CHUNK_OF(struct label, create(class));

	label->text = new_text("label", number);
	label->colour = new_colour(number);
	return label;
}

static void *new_box(struct class *class, unsigned count)
{
	struct box *box = CHUNK_OF(struct box, create(class));

	for (unsigned i = 0; count > 0 && i < 3; i++) {
		struct item *item = CHUNK(struct item);

		*item = (struct item){ box->items, objects[next() % count], new_text("item", i) };
		box->items = item;
		box->count++;
	}
	box->width = 0.5 * (double)count;
	return box;
}

static void *new_image(struct class *class, unsigned number)
{
	struct image *image = CHUNK_OF(struct image, create(class));

	for (unsigned i = 0; i < number % 4; i++)
		image->palette[i] = new_colour(number + i);
	image->path = new_text("/usr/share/images/image", number);
	image->bytes = number;
	return image;
}

static struct list *new_list(void *first, void *second)
{
	struct real_list *list = CHUNK(struct real_list);

	list->room = 4;
	list->references = 1;
	list->items = NEW_ZEROED_ARRAY(void *, list->room);
	list->items[list->count++] = first;
	list->items[list->count++] = second;
	return (struct list *)list;
}

static void *new_window(struct class *class, unsigned number, void *label, void *box, void *image)
{
	struct window *window = CHUNK_OF(struct window, create(class));

	window->root = box;
	window->title = label;
	window->icon = image;
	window->background = new_colour(number);
	window->children = new_list(label, box);
	window->role = new_text("role", number);
	window->scale = 1.5;
	window->number = number;
	return window;
}

// Frees some chunks, which stay free.
static void shrink(unsigned count)
{
	for (unsigned i = 1; i < count; i += 12)
		clear_items(objects[i]);
}

int main(void)
{
	struct class *labels =
		new_class("label", sizeof(struct label), clear_label, describe_label);
	struct class *boxes = new_class("box", sizeof(struct box), clear_box, describe_box);
	struct class *images =
		new_class("image", sizeof(struct image), clear_image, describe_image);
	struct class *windows =
		new_class("window", sizeof(struct window), clear_window, describe_window);

	objects = NEW_ZEROED_ARRAY(void *, WIDGETS);
	for (unsigned i = 0; i < WIDGETS; i++) {
		if (i % 4 == 0)
			objects[i] = new_label(labels, i);
		else if (i % 4 == 1)
			objects[i] = new_box(boxes, i);
		else if (i % 4 == 2)
			objects[i] = new_image(images, i);
		else
			objects[i] = new_window(windows, i, objects[i - 3], objects[i - 2],
						objects[i - 1]);
	}
	shrink(WIDGETS);
	truth_capture();
	use_first(objects, 4);
	return 0;
}
