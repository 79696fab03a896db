// SPDX-License-Identifier: GPL-3.0-or-later
// Builds up a large heap of GLib's: objects with properties, in lists and in a hash table. Under
// G_SLICE=always-malloc each piece is a block of its own.
//
//	gobject [OBJECTS]
#include <glib-object.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	GObject parent;
	char *name;
	GList *links;
	GValue value;
} Thing;

typedef GObjectClass ThingClass;

GType thing_get_type(void);
G_DEFINE_TYPE(Thing, thing, G_TYPE_OBJECT)

static void thing_finalize(GObject *object)
{
	Thing *thing = (Thing *)object;

	g_free(thing->name);
	g_list_free(thing->links);
	g_value_unset(&thing->value);
	G_OBJECT_CLASS(thing_parent_class)->finalize(object);
}

static void thing_class_init(ThingClass *class)
{
	class->finalize = thing_finalize;
}

static void thing_init(Thing *thing)
{
	g_value_init(&thing->value, G_TYPE_STRING);
}

static Thing *make(unsigned number)
{
	Thing *thing = g_object_new(thing_get_type(), NULL);

	thing->name = g_strdup_printf("thing %u", number);
	g_value_set_string(&thing->value, number % 2 ? "odd" : "even");
	for (unsigned i = 0; i < 5; i++)
		thing->links = g_list_prepend(thing->links, thing);
	return thing;
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 200000;
	GHashTable *things = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_object_unref);

	for (unsigned i = 0; i < count; i++) {
		Thing *thing = make(i);

		g_hash_table_insert(things, thing->name, thing);
		if (i % 4 == 3) {
			char *name = g_strdup_printf("thing %u", i / 2);

			g_hash_table_remove(things, name);
			g_free(name);
		}
	}
	printf("%u\n", g_hash_table_size(things));
	g_hash_table_destroy(things);
	return 0;
}
