// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A system of classes in C: instances begin with a pointer to their class, a block that is made when
 * the first instance is, and that has the virtual functions. Several classes have instances of one
 * size, some add nothing to their parent, and containers know no more than struct instance.
 */
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

struct class
{
	const struct class_info *info;
	struct class *parent;
};

struct instance {
	struct class *class;
	unsigned references;
};

struct class_info {
	const char *name;
	size_t class_size, instance_size;
	void (*initialize)(struct class *class);
};

struct widget {
	struct instance base;
	struct instance *owner;
	int x, y;
};

struct widget_class {
	struct class base;
	void (*draw)(struct widget *self);
	void (*resize)(struct widget *self, int width, int height);
};

struct label {
	struct widget base;
	char *text;
};

struct button {
	struct widget base;
	void (*clicked)(void);
};

struct button_class {
	struct widget_class base;
	void (*press)(struct button *self);
};

struct slider {
	struct widget base;
	double value;
};

struct separator {
	struct widget base;
};

struct box {
	struct widget base;
	struct instance **children;
	unsigned count;
};

static void widget_resize(struct widget *self, int width, int height)
{
	self->x += width;
	self->y += height;
}

static void label_draw(struct widget *self)
{
	struct label *label = (struct label *)self;

	label->text[0] ^= 1;
}

static void button_draw(struct widget *self)
{
	struct button *button = (struct button *)self;

	if (button->clicked)
		button->clicked();
}

static void button_press(struct button *self)
{
	self->clicked = NULL;
}

static void slider_draw(struct widget *self)
{
	struct slider *slider = (struct slider *)self;

	slider->value *= 2;
}

static void separator_draw(struct widget *self)
{
	struct separator *separator = (struct separator *)self;

	separator->base.x++;
}

static void box_draw(struct widget *self)
{
	struct box *box = (struct box *)self;

	for (unsigned i = 0; i < box->count; i++) {
		struct widget *child = (struct widget *)box->children[i];

		((struct widget_class *)child->base.class)->draw(child);
	}
}

#define WIDGET(name) \
	static void name##_class_init(struct class *class) \
	{ \
		struct widget_class *widget = (struct widget_class *)class; \
		widget->draw = name##_draw; \
		widget->resize = widget_resize; \
	} \
	static const struct class_info name##_info = { #name, sizeof(struct widget_class), \
						       sizeof(struct name), name##_class_init }

WIDGET(label);
WIDGET(slider);
WIDGET(separator);
WIDGET(box);

static void button_class_init(struct class *class)
{
	struct button_class *button = (struct button_class *)class;

	button->base.draw = button_draw;
	button->base.resize = widget_resize;
	button->press = button_press;
}

static const struct class_info button_info = { "button", sizeof(struct button_class),
					       sizeof(struct button), button_class_init };

static struct class *classes[8];

static struct class *find_class(const struct class_info *info)
{
	for (int i = 0; i < 8; i++) {
		if (classes[i] && classes[i]->info == info)
			return classes[i];
		if (classes[i])
			continue;
		classes[i] = truth_log(
			calloc(1, info->class_size), TRUTH_ARRAY,
			info == &button_info ? "struct button_class" : "struct widget_class", 1);
		classes[i]->info = info;
		info->initialize(classes[i]);
		return classes[i];
	}
	return NULL;
}

static void *create(const struct class_info *info, const char *name)
{
	struct instance *instance = truth_log(calloc(1, info->instance_size), TRUTH_ARRAY, name, 1);

	instance->class = find_class(info);
	instance->references = 1;
	return instance;
}

static struct instance *make(int i, struct instance *owner)
{
	struct widget *widget;
	char text[32];

	switch (i % 4) {
	case 0:
		snprintf(text, sizeof(text), "label %d", i);
		widget = create(&label_info, "struct label");
		((struct label *)widget)->text = TEXT(strdup(text));
		break;
	case 1:
		widget = create(&button_info, "struct button");
		break;
	case 2:
		widget = create(&slider_info, "struct slider");
		((struct slider *)widget)->value = i;
		break;
	default:
		widget = create(&separator_info, "struct separator");
		break;
	}
	widget->owner = owner;
	widget->x = i;
	return &widget->base;
}

int main(void);

static struct instance *windows[300];

// As in glibc's nsswitch: two of them have the size of a widget's block.
struct module {
	int state;
	void (*functions[64])(void);
	void *handle;
	struct module *next;
	char name[];
};

struct action {
	struct module *module;
	unsigned bits;
};

struct actions {
	struct action *lists[16];
};

// Captures while a local variable is not set yet: the stack has old words there.
__attribute__((noinline)) static void capture(struct instance *widget)
{
	struct actions unset;
	uint64_t words[16] = { (uintptr_t)&unset,
			       UINT64_C(0x5b57e4a6b34cfd00),
			       (uintptr_t)widget,
			       0x12b,
			       0x10,
			       0x7408,
			       0,
			       0x73,
			       UINT64_C(0x3000000020),
			       (uintptr_t)main,
			       0x1a4,
			       (uintptr_t)classes[1],
			       1,
			       (uintptr_t)main,
			       0xa211 };

	memcpy(&unset, words, sizeof(unset));
	__asm__ volatile("" : : "r"(&unset) : "memory");
	memset(words, 0, sizeof(words));
	__asm__ volatile("" : : "r"(words) : "memory");
	truth_capture();
	__asm__ volatile("" : : "r"(&unset) : "memory");
}

int main(void)
{
	for (int i = 0; i < 300; i++) {
		struct box *box = create(&box_info, "struct box");

		box->count = 8 + (unsigned)i % 9;
		box->children = NEW_ARRAY(struct instance *, box->count);
		for (unsigned j = 0; j < box->count; j++)
			box->children[j] = make(i + (int)j, &box->base.base);
		windows[i] = &box->base.base;
	}
	capture(((struct box *)windows[299])->children[0]);
	for (int i = 0; i < 300; i++)
		((struct widget_class *)windows[i]->class)->draw((struct widget *)windows[i]);
	return 0;
}
