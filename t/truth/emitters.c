// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects of types that are registered as the program runs: a type has a block with the sizes of its classes and instances, which one function
 * allocates. Signals have closures with data of anyone; properties are values with a type; data is kept in lists by quark.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef size_t type_id;
typedef uint32_t quark;
typedef struct type_node type_node;

struct type_class {
	type_id type;
};

struct type_instance {
	struct type_class *klass;
};

struct type_info {
	uint16_t class_size, instance_size;
	void (*class_init)(void *klass, void *data);
	void (*instance_init)(struct type_instance *instance, void *klass);
};

struct type_node {
	const char *name;
	type_node *parent;
	uint16_t n_children, depth;
	type_id *children;
	struct type_info *info;
	struct type_class *klass;
	const char *truth;
};

struct value {
	type_id type;
	union {
		int v_int;
		uint64_t v_uint64;
		double v_double;
		void *v_pointer;
	} data[2];
};

struct data_element {
	quark key;
	void *data;
	void (*destroy)(void *);
};

struct data_list {
	uint32_t len, alloc;
	struct data_element data[];
};

struct object {
	struct type_instance instance;
	unsigned ref_count;
	struct data_list *qdata;
};

struct object_class {
	struct type_class type_class;
	void (*set_property)(struct object *, unsigned, const struct value *);
	void (*dispose)(struct object *);
	void (*finalize)(struct object *);
	size_t n_properties;
	struct param_spec **properties;
};

struct param_spec {
	const char *name;
	type_id value_type, owner;
	struct value default_value;
};

struct closure {
	unsigned ref_count : 15, floating : 1, in_marshal : 1, n_notifiers : 8;
	void (*marshal)(struct closure *, struct value *, unsigned, const struct value *);
	void *data;
	struct notify_data *notifiers;
};

struct cclosure {
	struct closure closure;
	void (*callback)(void);
};

struct notify_data {
	void *data;
	void (*notify)(void *, struct closure *);
};

struct handler {
	unsigned long id;
	struct handler *next, *prev;
	quark detail;
	unsigned signal;
	unsigned blocked : 16, after : 1;
	void *instance;
	struct closure *closure;
};

struct handler_list {
	unsigned signal;
	struct handler *handlers, *tail;
};

struct handler_array {
	unsigned n;
	struct handler_list lists[];
};

struct bsearch_entry {
	void *instance;
	struct handler_array *array;
};

struct signal_node {
	unsigned id;
	type_id owner;
	const char *name;
	unsigned n_params;
	type_id *param_types;
	struct closure *class_closure;
};

struct list {
	void *data;
	struct list *next, *prev;
};

// The toolkit.
struct widget_private {
	int width, height;
	char *name;
	struct object *style;
	double opacity;
	uint8_t visible : 1, sensitive : 1, state : 4;
};

struct widget {
	struct object parent;
	struct widget_private *priv;
	struct widget *container;
};

struct widget_class {
	struct object_class parent_class;
	void (*draw)(struct widget *, void *context);
	void (*size_request)(struct widget *, int *width, int *height);
};

struct box {
	struct widget widget;
	struct list *children;
	int spacing;
};

struct label {
	struct widget widget;
	char *text;
	struct attribute *attributes;
	unsigned n_attributes;
};

struct attribute {
	int start, end;
	double value;
};

struct button {
	struct widget widget;
	struct widget *child;
	char *action;
};

struct button_class {
	struct widget_class parent_class;
	void (*clicked)(struct button *);
};

struct adjustment {
	struct object parent;
	double value, lower, upper, step;
};

// The application.
struct document {
	char *path;
	unsigned pages;
	struct document *next;
};

struct click_data {
	struct document *document;
	struct label *status;
	int count;
};

struct spin_data {
	double factor;
	struct adjustment *other;
};

struct tooltip {
	char *text;
	int delay;
};

static type_node *nodes[16];
static unsigned node_count = 1;
static struct bsearch_entry *handlers;
static unsigned handler_count, handler_alloc;
static struct signal_node *signals[8];
static unsigned signal_count = 1;
static unsigned long handler_ids;

static void *g_malloc0(size_t size)
{
	void *block = calloc(1, size);

	if (!block)
		abort();
	return block;
}

#define g_new0(T, n) ARRAY_OF(T, n, g_malloc0(sizeof(T) * (n)))

static type_id type_register(const char *name, const char *truth, type_id parent,
			     const struct type_info *info)
{
	type_node *node = g_new0(type_node, 1);

	node->name = name;
	node->truth = truth;
	node->info = g_new0(struct type_info, 1);
	*node->info = *info;
	if (parent) {
		type_node *p = nodes[parent];

		node->parent = p;
		node->depth = p->depth + 1;
		p->children = RENEW_ARRAY(type_id, p->children, (size_t)p->n_children + 1);
		p->children[p->n_children++] = node_count;
	}
	nodes[node_count] = node;
	return node_count++;
}

static void instance_init(type_node *node, struct type_instance *instance, void *klass)
{
	if (node->parent)
		instance_init(node->parent, instance, klass);
	if (node->info->instance_init)
		node->info->instance_init(instance, klass);
}

static struct type_class *class_ref(type_id type, const char *truth)
{
	type_node *node = nodes[type];

	if (!node->klass) {
		struct type_class *klass =
			truth_log(g_malloc0(node->info->class_size), TRUTH_ARRAY, truth, 1);

		if (node->parent)
			memcpy(klass, node->parent->klass, node->parent->info->class_size);
		klass->type = type;
		node->klass = klass;
		if (node->info->class_init)
			node->info->class_init(klass, NULL);
	}
	return node->klass;
}

static struct object *object_new(type_id type)
{
	type_node *node = nodes[type];
	struct type_instance *instance =
		truth_log(g_malloc0(node->info->instance_size), TRUTH_ARRAY, node->truth, 1);

	instance->klass = node->klass;
	((struct object *)instance)->ref_count = 1;
	instance_init(node, instance, node->klass);
	return (struct object *)instance;
}

static void set_data(struct object *object, quark key, void *data, void (*destroy)(void *))
{
	struct data_list *list = object->qdata;

	if (!list || list->len == list->alloc) {
		uint32_t alloc = list ? list->alloc * 2 : 2, len = list ? list->len : 0;

		list = RENEW_FLEXIBLE(struct data_list, list,
				      sizeof(*list) + alloc * sizeof(list->data[0]));
		list->alloc = alloc;
		list->len = len;
		object->qdata = list;
	}
	list->data[list->len++] = (struct data_element){ key, data, destroy };
}

static void marshal(struct closure *closure, struct value *result, unsigned n,
		    const struct value *params)
{
	struct cclosure *cc = (struct cclosure *)closure;

	(void)result;
	(void)n;
	((void (*)(void *, void *))cc->callback)(params[0].data[0].v_pointer, closure->data);
}

static struct closure *cclosure_new(void (*callback)(void), void *data,
				    void (*destroy)(void *, struct closure *))
{
	struct cclosure *closure = g_new0(struct cclosure, 1);

	closure->closure.ref_count = 1;
	closure->closure.marshal = marshal;
	closure->closure.data = data;
	closure->callback = callback;
	if (destroy) {
		closure->closure.notifiers = g_new0(struct notify_data, 1);
		closure->closure.n_notifiers = 1;
		*closure->closure.notifiers = (struct notify_data){ data, destroy };
	}
	return &closure->closure;
}

static void connect(void *instance, unsigned signal, void (*callback)(void), void *data,
		    void (*destroy)(void *, struct closure *))
{
	struct handler *handler = g_new0(struct handler, 1);
	struct handler_array *array = NULL;
	struct handler_list *list;

	for (unsigned i = 0; i < handler_count; i++) {
		if (handlers[i].instance == instance)
			array = handlers[i].array;
	}
	if (!array) {
		if (handler_count == handler_alloc) {
			handler_alloc = handler_alloc ? handler_alloc * 2 : 32;
			handlers = RENEW_ARRAY(struct bsearch_entry, handlers, handler_alloc);
		}
		array = FLEXIBLE_OF(struct handler_array,
				    g_malloc0(sizeof(*array) + 3 * sizeof(array->lists[0])));
		handlers[handler_count++] = (struct bsearch_entry){ instance, array };
	}
	list = &array->lists[signal % 3];
	array->n = 3;
	list->signal = signal;
	handler->id = ++handler_ids;
	handler->signal = signal;
	handler->instance = instance;
	handler->closure = cclosure_new(callback, data, destroy);
	handler->prev = list->tail;
	if (list->tail)
		list->tail->next = handler;
	else
		list->handlers = handler;
	list->tail = handler;
}

static type_id object_type, widget_type, box_type, label_type, button_type, adjustment_type;

static void widget_init(struct type_instance *instance, void *klass)
{
	struct widget *widget = (struct widget *)instance;

	(void)klass;
	widget->priv = g_new0(struct widget_private, 1);
	widget->priv->opacity = 1.0;
	widget->priv->visible = 1;
	widget->priv->name = TEXT(strdup("a widget"));
}

static void label_finalize(struct object *object)
{
	struct label *label = (struct label *)object;

	free(label->text);
}

static void label_class_init(void *klass, void *data)
{
	(void)data;
	((struct object_class *)klass)->finalize = label_finalize;
}

static void button_class_init(void *klass, void *data)
{
	struct object_class *object_class = klass;

	(void)data;
	object_class->n_properties = 2;
	object_class->properties = g_new0(struct param_spec *, 2);
	for (int i = 0; i < 2; i++) {
		object_class->properties[i] = g_new0(struct param_spec, 1);
		object_class->properties[i]->name = i ? "action" : "child";
		object_class->properties[i]->default_value.type = 3;
	}
}

static void types_init(void)
{
	object_type = type_register("Object", "struct object", 0,
				    &(struct type_info){ sizeof(struct object_class),
							 sizeof(struct object), NULL, NULL });
	widget_type =
		type_register("Widget", "struct widget", object_type,
			      &(struct type_info){ sizeof(struct widget_class),
						   sizeof(struct widget), NULL, widget_init });
	box_type = type_register(
		"Box", "struct box", widget_type,
		&(struct type_info){ sizeof(struct widget_class), sizeof(struct box), NULL, NULL });
	label_type =
		type_register("Label", "struct label", widget_type,
			      &(struct type_info){ sizeof(struct widget_class),
						   sizeof(struct label), label_class_init, NULL });
	button_type = type_register("Button", "struct button", widget_type,
				    &(struct type_info){ sizeof(struct button_class),
							 sizeof(struct button), button_class_init,
							 NULL });
	adjustment_type =
		type_register("Adjustment", "struct adjustment", object_type,
			      &(struct type_info){ sizeof(struct object_class),
						   sizeof(struct adjustment), NULL, NULL });
	class_ref(object_type, "struct object_class");
	class_ref(widget_type, "struct widget_class");
	class_ref(box_type, "struct widget_class");
	class_ref(label_type, "struct widget_class");
	class_ref(button_type, "struct button_class");
	class_ref(adjustment_type, "struct object_class");
	for (unsigned i = 0; i < 3; i++) {
		struct signal_node *node = g_new0(struct signal_node, 1);

		node->id = signal_count;
		node->name = i == 0 ? "clicked" : i == 1 ? "changed" : "destroy";
		node->n_params = 1;
		node->param_types = g_new0(type_id, 1);
		signals[signal_count++] = node;
	}
}

static void on_clicked(struct button *button, void *data)
{
	struct click_data *click = data;

	click->count += button->action != NULL;
}

static void on_changed(struct adjustment *adjustment, void *data)
{
	struct spin_data *spin = data;

	spin->other->value = adjustment->value * spin->factor;
}

static void on_destroy(struct widget *widget, void *data)
{
	struct document *document = data;

	document->pages -= widget->priv->visible;
}

static void free_click(void *data, struct closure *closure)
{
	(void)closure;
	FREE((struct click_data *)data);
}

static void free_tooltip(void *data)
{
	struct tooltip *tooltip = data;

	free(tooltip->text);
	free(tooltip);
}

static void box_add(struct box *box, struct widget *child)
{
	struct list *link = g_new0(struct list, 1);

	link->data = child;
	link->next = box->children;
	if (box->children)
		box->children->prev = link;
	box->children = link;
	child->container = &box->widget;
}

static struct label *label_new(const char *text)
{
	struct label *label = (struct label *)object_new(label_type);

	label->text = TEXT(strdup(text));
	label->n_attributes = 1 + next() % 3;
	label->attributes = g_new0(struct attribute, label->n_attributes);
	for (unsigned i = 0; i < label->n_attributes; i++)
		label->attributes[i] = (struct attribute){ (int)i, (int)i + 4, 1.5 };
	return label;
}

static struct box *windows[50];

int main(void)
{
	struct document *documents = NULL;
	struct adjustment *last = NULL;

	types_init();
	for (unsigned i = 0; i < 50; i++) {
		struct box *box = (struct box *)object_new(box_type);
		struct document *document = NEW(struct document);

		*document = (struct document){ TEXT(strdup("/home/ada/letter.odt")), i, documents };
		documents = document;
		windows[i] = box;
		for (unsigned j = 0; j < 4; j++) {
			struct label *label = label_new("Open the file");
			struct button *button = (struct button *)object_new(button_type);
			struct click_data *click = NEW(struct click_data);

			button->child = &label->widget;
			button->action = TEXT(strdup("file.open"));
			*click = (struct click_data){ document, label, 0 };
			connect(button, 1, (void (*)(void))on_clicked, click, free_click);
			box_add(box, &label->widget);
			box_add(box, &button->widget);
			if (j == 0) {
				struct tooltip *tooltip = NEW(struct tooltip);

				*tooltip = (struct tooltip){ TEXT(strdup("Opens it")), 500 };
				set_data(&button->widget.parent, 7, tooltip, free_tooltip);
			}
		}
		connect(box, 3, (void (*)(void))on_destroy, document, NULL);
		if (i % 2) {
			struct adjustment *adjustment =
				(struct adjustment *)object_new(adjustment_type);
			struct spin_data *spin = NEW(struct spin_data);

			adjustment->upper = 100;
			adjustment->value = 5.5;
			*spin = (struct spin_data){ 2.5, last };
			connect(adjustment, 2, (void (*)(void))on_changed, spin, NULL);
			set_data(&box->widget.parent, 9, adjustment, NULL);
			last = adjustment;
		}
	}
	truth_capture();
	return windows[next() % 50]->children == NULL;
}
