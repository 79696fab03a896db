// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Windows of classes: a window ends in bytes that its class has asked for, and what it shows is behind a void pointer. The
 * items of some lists are as many bytes as a window with such an end, and made by code that has pointers to windows.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

enum {
	FRAMES = 40,
	CONTROLS = 6,
	FONTS = 40,
};

struct area {
	long left, top, right, bottom;
};

struct window;

struct class
{
	unsigned style;
	long (*handle)(void *handle, unsigned message, long value);
	int extra;
	char *name;
};

struct window {
	unsigned style;
	struct area area;
	struct class *class;
	struct window *parent, *child, *next;
	char *title;
	void *menu, *content;
	char extra[];
};

struct customer {
	int id;
	double balance;
	char name[24];
};

struct item {
	char *text;
	long data;
};

struct list {
	int count, selected;
	struct item *items;
};

struct edit {
	char *text;
	int length, position;
	char **lines;
	int count;
};

struct font {
	unsigned short kind, height;
	unsigned flags;
	char *name;
};

struct font *fonts[FONTS];
static struct window *desktop;
static struct class *classes[3];

static long handle_edit(void *handle, unsigned message, long value)
{
	struct window *window = handle;
	struct edit *edit = window->content;

	edit->position = (int)value;
	return edit->length + (long)message;
}

static long handle_list(void *handle, unsigned message, long value)
{
	struct window *window = handle;
	struct list *list = window->content;
	struct customer *customer = (struct customer *)list->items[value].data;

	list->selected = (int)value;
	return customer->id + (long)message;
}

static long handle_frame(void *handle, unsigned message, long value)
{
	struct window *window = handle;
	return window->style + message + value;
}

static struct class *class_new(const char *name, int extra, long (*handle)(void *, unsigned, long))
{
	struct class *class = NEW_ZEROED(struct class);

	class->name = TEXT(strdup(name));
	class->extra = extra;
	class->handle = handle;
	return class;
}

static struct window *window_new(struct class *class, struct window *parent, const char *title)
{
	struct window *window =
		FLEXIBLE_OF(struct window, calloc(1, sizeof(struct window) + class->extra));

	window->class = class;
	window->title = TEXT(strdup(title));
	window->parent = parent;
	if (!parent)
		return window;
	window->next = parent->child;
	parent->child = window;
	return window;
}

// All in one function, as compilers make of small ones.
int main(void)
{
	classes[0] = class_new("edit", 0, handle_edit);
	classes[1] = class_new("list", 8, handle_list);
	classes[2] = class_new("frame", 16, handle_frame);
	desktop = window_new(classes[2], NULL, "desktop");
	for (int i = 0; i < FRAMES; i++) {
		struct window *frame = window_new(classes[2], desktop, "Main frame of a program");

		for (int k = 0; k < CONTROLS; k++) {
			struct window *window = window_new(classes[k % 2], frame, "control");

			if (k % 2 == 0) {
				struct edit *edit = NEW_ZEROED(struct edit);

				window->content = edit;
				edit->text = TEXT(strdup("a line of text\nand more"));
				edit->count = 2;
				edit->lines = NEW_ARRAY(char *, 2);
				edit->lines[0] = edit->text;
				edit->lines[1] = edit->text + 15;
			} else {
				struct list *list = NEW_ZEROED(struct list);

				window->content = list;
				list->count = 3 + k;
				list->items = NEW_ARRAY(struct item, list->count);
				for (int j = 0; j < list->count; j++) {
					struct customer *customer = NEW(struct customer);

					customer->id = j;
					customer->balance = j * 1.5;
					strcpy(customer->name, "Miller");
					list->items[j].text = TEXT(strdup("Miller, A."));
					list->items[j].data = (long)customer;
				}
			}
			window->class->handle(window, 1, (long)(next() % 4));
		}
	}
	for (int i = 0; i < FONTS; i++) {
		struct font *font = NEW_ZEROED(struct font);

		fonts[i] = font;
		font->kind = 2;
		font->height = 12;
		font->name = TEXT(strdup("Helvetica"));
	}
	truth_capture();
	return 0;
}
