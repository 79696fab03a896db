// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A toolkit of widgets. The classes of its objects have one function each; its hash tables keep anything in chains of nodes, so that
 * the table itself has no void pointer; settings are such tables; the corners of shapes are arrays whose length may be that of another
 * struct that begins with one; and a cache holds pages by void pointers, of which few are in the hands of readers.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

enum {
	DEPTH = 4,
	BUCKETS = 16,
	SETTINGS = 60,
	SHAPES = 60,
	PAGES = 170,
	READERS = 25,
};

struct list {
	void *data;
	struct list *next;
};

struct entry {
	void *key, *value;
	unsigned hash;
	struct entry *next;
};

struct table {
	struct entry **buckets;
	unsigned size, count;
	void (*free_key)(void *), (*free_value)(void *);
	unsigned (*hash)(const void *);
};

struct closure {
	int references;
	void (*callback)(void *widget, void *data);
	void *data;
	void (*destroy)(void *);
	struct closure *next;
};

struct object;

struct class
{
	const char *name;
	size_t size;
	void (*finalize)(struct object *);
	struct class *parent;
};

struct object {
	struct class *class;
	int references;
	struct table *data;
};

struct widget {
	struct object base;
	struct widget *parent;
	struct list *children;
	int x, y, width, height;
	struct closure *clicked, *changed;
};

struct label {
	struct widget base;
	char *text;
	float alignment;
};

struct undo {
	char *text;
	int at;
	struct undo *next;
};

struct input {
	struct widget base;
	char *buffer;
	int room, cursor;
	struct undo *undo;
};

struct animation {
	struct widget *widget;
	int step;
};

struct download {
	struct label *status;
	char *url;
	long bytes;
};

struct variant {
	int references;
	char type;
	union {
		long number;
		double fraction;
		char *text;
		struct {
			struct variant **items;
			unsigned count;
		} array;
	};
};

struct corner {
	float x, y, z;
};

struct pin {
	struct corner at;
	uint32_t id;
};

struct shape {
	struct corner *corners;
	unsigned count;
	struct pin *pin;
	struct shape *next;
};

struct page {
	uint32_t starts[4];
	uint32_t count;
	void *owner;
};

struct reader {
	struct page *page;
	uint32_t at;
	struct reader *next;
};

struct slot {
	uint64_t key;
	void *page;
	uint32_t charge;
};

static struct widget *window;
static struct table *settings;
static struct shape *shapes;
static struct slot *cache;
static struct reader *readers;

static int random_below(int limit)
{
	return (int)(next() % (uint64_t)limit);
}

// --- lists and tables ------------------------------------------------------------

static struct list *prepend(struct list *list, void *data)
{
	struct list *first = NEW(struct list);

	first->data = data;
	first->next = list;
	return first;
}

static unsigned hash_text(const void *key)
{
	unsigned hash = 5381;

	for (const unsigned char *at = key; *at; at++)
		hash = hash * 33 + *at;
	return hash;
}

static unsigned hash_pointer(const void *key)
{
	return (unsigned)((uintptr_t)key >> 4);
}

static struct table *make_table(unsigned (*hash)(const void *), void (*free_key)(void *),
				void (*free_value)(void *))
{
	struct table *table = NEW_ZEROED(struct table);

	table->size = BUCKETS;
	table->buckets = NEW_ZEROED_ARRAY(struct entry *, BUCKETS);
	table->hash = hash;
	table->free_key = free_key;
	table->free_value = free_value;
	return table;
}

static void put(struct table *table, void *key, void *value)
{
	unsigned hash = table->hash(key);
	struct entry *entry = NEW(struct entry);

	entry->key = key;
	entry->value = value;
	entry->hash = hash;
	entry->next = table->buckets[hash % BUCKETS];
	table->buckets[hash % BUCKETS] = entry;
	table->count++;
}

// --- settings ----------------------------------------------------------------------

static void free_variant(void *data)
{
	struct variant *variant = data;

	if (variant->type == 's')
		free(variant->text);
	for (unsigned i = 0; variant->type == 'a' && i < variant->array.count; i++)
		free_variant(variant->array.items[i]);
	free(variant);
}

static struct variant *make_variant(int depth)
{
	struct variant *variant = NEW_ZEROED(struct variant);

	variant->references = 1;
	switch (random_below(depth ? 4 : 3)) {
	case 0:
		variant->type = 'i';
		variant->number = random_below(100000);
		break;
	case 1:
		variant->type = 'd';
		variant->fraction = random_below(100000) / 3.0;
		break;
	case 2:
		variant->type = 's';
		variant->text = TEXT(strdup("a value of the settings"));
		break;
	default:
		variant->type = 'a';
		variant->array.count = 1 + random_below(4);
		variant->array.items = NEW_ARRAY(struct variant *, variant->array.count);
		for (unsigned i = 0; i < variant->array.count; i++)
			variant->array.items[i] = make_variant(depth - 1);
	}
	return variant;
}

// --- widgets -------------------------------------------------------------------------

static void finalize_widget(struct object *object)
{
	struct widget *widget = (struct widget *)object;

	free(widget->children);
}

static void finalize_label(struct object *object)
{
	struct label *label = (struct label *)object;

	free(label->text);
	finalize_widget(object);
}

static void finalize_input(struct object *object)
{
	struct input *input = (struct input *)object;

	free(input->buffer);
	finalize_widget(object);
}

static struct class object_class = { "object", sizeof(struct object), NULL, NULL };
static struct class widget_class = { "widget", sizeof(struct widget), finalize_widget,
				     &object_class };
static struct class label_class = { "label", sizeof(struct label), finalize_label, &widget_class };
static struct class input_class = { "input", sizeof(struct input), finalize_input, &widget_class };

static void *make_object(struct class *class)
{
	struct object *object = calloc(1, class->size);

	object->class = class;
	object->references = 1;
	return object;
}

static void count_click(void *widget, void *data)
{
	struct download *download = data;

	download->bytes += widget != NULL;
}

static void show_change(void *widget, void *data)
{
	struct animation *animation = data;

	animation->step += widget != NULL;
}

static void free_download(void *data)
{
	struct download *download = data;

	free(download->url);
	free(download);
}

static struct animation *make_animation(struct widget *widget)
{
	struct animation *animation = NEW(struct animation);

	animation->widget = widget;
	animation->step = 3;
	return animation;
}

static struct download *make_download(void)
{
	struct download *download = NEW_ZEROED(struct download);

	download->url = TEXT(strdup("https://example.org/feed.xml"));
	download->bytes = random_below(100000);
	return download;
}

static void connect(struct closure **signal, void (*callback)(void *, void *), void *data,
		    void (*destroy)(void *))
{
	struct closure *closure = NEW(struct closure);

	*closure = (struct closure){ 1, callback, data, destroy, *signal };
	*signal = closure;
}

static struct widget *make_label(void)
{
	struct label *label = OF(struct label, make_object(&label_class));

	label->text = TEXT(strdup("Hello, world of widgets"));
	label->alignment = 0.5F;
	return &label->base;
}

static struct widget *make_input(void)
{
	struct input *input = OF(struct input, make_object(&input_class));

	input->room = 32;
	input->buffer = NEW_TEXT(32);
	strcpy(input->buffer, "what was typed");
	for (int i = random_below(3); i > 0; i--) {
		struct undo *undo = NEW(struct undo);

		*undo = (struct undo){ TEXT(strdup("what was type")), i, input->undo };
		input->undo = undo;
	}
	return &input->base;
}

static struct widget *make_widget(struct widget *parent, int depth)
{
	struct widget *widget = depth > 0         ? OF(struct widget, make_object(&widget_class))
				: random_below(2) ? make_label()
						  : make_input();

	widget->parent = parent;
	widget->width = 100;
	if (random_below(2)) {
		widget->base.data = make_table(hash_pointer, NULL, free);
		put(widget->base.data, &widget_class, make_animation(widget));
	}
	if (random_below(2))
		connect(&widget->clicked, count_click, make_download(), free_download);
	if (random_below(3) == 0)
		connect(&widget->changed, show_change, make_animation(widget), free);
	for (int i = depth > 0 ? 2 + random_below(4) : 0; i > 0; i--)
		widget->children = prepend(widget->children, make_widget(widget, depth - 1));
	return widget;
}

// --- shapes and pages --------------------------------------------------------------------

static void make_shape(int number)
{
	struct shape *shape = NEW(struct shape);

	shape->count = 2 + random_below(5);
	shape->corners = NEW_ARRAY(struct corner, shape->count);
	for (unsigned i = 0; i < shape->count; i++)
		shape->corners[i] = (struct corner){ (float)i, (float)i * 0.5F, 1 };
	shape->pin = NEW(struct pin);
	*shape->pin = (struct pin){ { 1, 2.5F, 3 }, (uint32_t)number };
	shape->next = shapes;
	shapes = shape;
}

static struct page *make_page(void)
{
	struct page *page = NEW(struct page);

	*page = (struct page){ { 0, 100, 200, 300 }, 4, cache };
	return page;
}

static void read_page(void *page)
{
	struct reader *reader = NEW(struct reader);

	*reader = (struct reader){ page, 1, readers };
	readers = reader;
}

int main(int argc, char **argv)
{
	char key[40];

	(void)argv;
	window = make_widget(NULL, DEPTH);
	settings = make_table(hash_text, free, free_variant);
	for (int i = 0; i < SETTINGS; i++) {
		snprintf(key, sizeof(key), "group/key-%d", i);
		put(settings, TEXT(strdup(key)), make_variant(3));
	}
	for (int i = 0; i < SHAPES; i++)
		make_shape(i);
	cache = NEW_ZEROED_ARRAY(struct slot, PAGES);
	for (uint32_t i = 0; i < PAGES; i++)
		cache[i] = (struct slot){ i, make_page(), 40 };
	for (int i = 0; i < READERS; i++)
		read_page(cache[i * PAGES / READERS].page);
	truth_capture();
	return (argc > 1) + window->x + (int)settings->count + (int)shapes->count +
		       (int)cache->charge + (int)readers->at ==
	       0;
}
