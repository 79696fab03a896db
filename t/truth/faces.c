// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A library of fonts: drivers are tables that say how large their faces, sizes and glyphs are, all of which one function allocates
 * through the functions of a memory object. Faces are lists of list nodes that lead to anything; each object has room for the client's data.
 */
#include "t/truth/random.h"
#include "t/truth/truth.h"

#include <stdint.h>
#include <stdio.h>

typedef struct memory_rec *memory_t;
typedef struct face_rec *face_t;
typedef struct size_rec *size_handle;
typedef struct slot_rec *slot_t;
typedef struct library_rec *library_t;
typedef struct driver_rec *driver_t;
typedef long fixed;

struct memory_rec {
	void *user;
	void *(*alloc)(memory_t memory, long size);
	void (*free)(memory_t memory, void *block);
	void *(*realloc)(memory_t memory, long old, long size, void *block);
};

struct generic {
	void *data;
	void (*finalizer)(void *object);
};

struct list_node {
	struct list_node *prev, *next;
	void *data;
};

struct list {
	struct list_node *head, *tail;
};

struct vector {
	fixed x, y;
};

struct outline {
	short n_contours, n_points;
	struct vector *points;
	char *tags;
	short *contours;
	int flags;
};

struct bitmap {
	unsigned rows, width;
	int pitch;
	unsigned char *buffer;
	unsigned char pixel_mode;
	void *palette;
};

struct stream {
	unsigned char *base;
	unsigned long size, pos;
	void *descriptor;
	memory_t memory;
};

struct charmap {
	face_t face;
	uint32_t encoding;
	uint16_t platform, id;
};

struct size_internal {
	void *module_data;
	int autohint_mode;
	fixed scale[2];
};

struct size_rec {
	face_t face;
	struct generic generic;
	unsigned short x_ppem, y_ppem;
	fixed x_scale, y_scale;
	struct size_internal *internal;
};

struct slot_internal {
	unsigned flags;
	struct vector delta;
	void *hints;
};

struct slot_rec {
	library_t library;
	face_t face;
	slot_t next;
	struct generic generic;
	struct outline outline;
	struct bitmap bitmap;
	struct slot_internal *internal;
};

struct face_internal {
	int refcount;
	fixed matrix[4];
	const void *services[3];
};

struct face_rec {
	long num_faces, num_glyphs;
	char *family, *style;
	int num_charmaps;
	struct charmap **charmaps;
	struct generic generic;
	slot_t glyph;
	size_handle size;
	driver_t driver;
	memory_t memory;
	struct stream *stream;
	struct list sizes_list;
	void *extensions;
	struct face_internal *internal;
};

struct module_class {
	unsigned long flags;
	long module_size;
	const char *name;
	const void *interface;
	int (*init)(void *module);
};

struct driver_class {
	struct module_class root;
	long face_object_size, size_object_size, slot_object_size;
	int (*init_face)(struct stream *stream, face_t face);
	int (*init_size)(size_handle size);
	int (*init_slot)(slot_t slot);
	int (*load_glyph)(slot_t slot, size_handle size, unsigned glyph);
};

struct module_rec {
	const struct module_class *clazz;
	library_t library;
	memory_t memory;
};

struct driver_rec {
	struct module_rec root;
	const struct driver_class *clazz;
	struct list faces_list;
	void *loader;
};

struct library_rec {
	memory_t memory;
	struct generic generic;
	unsigned num_modules;
	struct module_rec *modules[8];
	int refcount;
};

// The first driver: tables of a file.
struct tt_table {
	unsigned long tag, offset, length;
};

struct tt_face {
	struct face_rec root;
	unsigned long ttc_tag;
	unsigned short num_tables;
	struct tt_table *dir_tables;
	uint16_t *widths;
	void *sfnt, *psnames;
	unsigned char *cvt;
};

struct tt_zone {
	memory_t memory;
	unsigned short max_points;
	struct vector *org, *cur;
	unsigned char *tags;
};

struct tt_size {
	struct size_rec root;
	struct tt_zone twilight;
	long *storage;
	unsigned num_storage;
};

struct tt_slot_hints {
	void *module;
	struct vector axis[2];
	int dirty;
};

// The second: programs of charstrings.
struct cff_dict {
	double font_matrix[6];
	unsigned char *private_bytes;
	unsigned private_size;
};

struct cff_font {
	memory_t memory;
	char *name;
	unsigned num_strings;
	unsigned char **strings;
	struct cff_dict top;
	struct cff_dict *subfonts[4];
	unsigned num_subfonts;
};

struct cff_face {
	struct face_rec root;
	void *extra;
	struct cff_font *font;
};

struct cff_slot {
	struct slot_rec root;
	int hint, scaled;
	fixed x_scale, y_scale;
};

static void *ft_alloc(memory_t memory, long size)
{
	void *block = memory->alloc(memory, size);

	if (block)
		memset(block, 0, (size_t)size);
	return block;
}

#define FT_NEW(memory, T) OF(T, ft_alloc(memory, sizeof(T)))
#define FT_NEW_ARRAY(memory, T, n) ARRAY_OF(T, n, ft_alloc(memory, (long)((n) * sizeof(T))))
#define FT_TEXT(memory, n) ((char *)truth_log(ft_alloc(memory, n), TRUTH_TEXT, "char", n))

static void *system_alloc(memory_t memory, long size)
{
	(void)memory;
	return malloc((size_t)size);
}

static void system_free(memory_t memory, void *block)
{
	(void)memory;
	free(block);
}

static void *system_realloc(memory_t memory, long old, long size, void *block)
{
	(void)memory;
	(void)old;
	return realloc(block, (size_t)size);
}

static void list_add(struct list *list, struct list_node *node)
{
	node->prev = list->tail;
	node->next = NULL;
	if (list->tail)
		list->tail->next = node;
	else
		list->head = node;
	list->tail = node;
}

static char *ft_name(memory_t memory, const char *base, unsigned i)
{
	char *name = FT_TEXT(memory, 24);

	snprintf(name, 24, "%s %u", base, i);
	return name;
}

static void fill_outline(memory_t memory, struct outline *outline)
{
	outline->n_contours = 1;
	outline->n_points = (short)(4 + next() % 30);
	outline->points = FT_NEW_ARRAY(memory, struct vector, (size_t)outline->n_points);
	outline->tags = FT_TEXT(memory, outline->n_points);
	outline->contours = FT_NEW_ARRAY(memory, short, 1);
	outline->contours[0] = (short)(outline->n_points - 1);
	for (int i = 0; i < outline->n_points; i++) {
		outline->points[i] =
			(struct vector){ (long)(next() % 2048), (long)(next() % 2048) };
		outline->tags[i] = (char)(next() & 1);
	}
}

static int tt_init_face(struct stream *stream, face_t face)
{
	struct tt_face *tt = (struct tt_face *)face;

	tt->ttc_tag = 0x00010000;
	tt->num_tables = (unsigned short)(8 + next() % 8);
	tt->dir_tables = FT_NEW_ARRAY(face->memory, struct tt_table, tt->num_tables);
	for (unsigned i = 0; i < tt->num_tables; i++)
		tt->dir_tables[i] = (struct tt_table){ 0x676c7966 + i, i * 512, 500 };
	tt->widths = FT_NEW_ARRAY(face->memory, uint16_t, 64);
	for (unsigned i = 0; i < 64; i++)
		tt->widths[i] = (uint16_t)(next() % 1200);
	tt->cvt = stream->base + 16;
	return 0;
}

static int tt_init_size(size_handle size)
{
	struct tt_size *tt = (struct tt_size *)size;

	tt->num_storage = 16;
	tt->storage = FT_NEW_ARRAY(size->face->memory, long, 16);
	tt->twilight.memory = size->face->memory;
	tt->twilight.max_points = 12;
	tt->twilight.org = FT_NEW_ARRAY(size->face->memory, struct vector, 12);
	tt->twilight.cur = FT_NEW_ARRAY(size->face->memory, struct vector, 12);
	tt->twilight.tags = FT_NEW_ARRAY(size->face->memory, unsigned char, 12);
	for (unsigned i = 0; i < 12; i++)
		tt->twilight.cur[i].x = tt->twilight.org[i].x = (long)(next() % 4096);
	return 0;
}

static int tt_init_slot(slot_t slot)
{
	struct tt_slot_hints *hints = FT_NEW(slot->face->memory, struct tt_slot_hints);

	hints->module = slot->face->driver;
	hints->axis[0].x = (long)(next() % 100);
	slot->internal->hints = hints;
	return 0;
}

static int tt_load_glyph(slot_t slot, size_handle size, unsigned glyph)
{
	(void)size;
	(void)glyph;
	fill_outline(slot->face->memory, &slot->outline);
	return 0;
}

static int cff_init_face(struct stream *stream, face_t face)
{
	struct cff_face *cff = (struct cff_face *)face;
	struct cff_font *font = FT_NEW(face->memory, struct cff_font);

	(void)stream;
	cff->extra = font;
	cff->font = font;
	font->memory = face->memory;
	font->name = ft_name(face->memory, "CFF", (unsigned)next() % 100);
	font->num_strings = 20;
	font->strings = FT_NEW_ARRAY(face->memory, unsigned char *, 20);
	for (unsigned i = 0; i < 20; i++)
		font->strings[i] = stream->base + i * 10;
	font->num_subfonts = 2;
	for (unsigned i = 0; i < 2; i++) {
		font->subfonts[i] = FT_NEW(face->memory, struct cff_dict);
		font->subfonts[i]->font_matrix[0] = 0.001;
		font->subfonts[i]->private_size = 40;
	}
	return 0;
}

static int cff_init_slot(slot_t slot)
{
	((struct cff_slot *)slot)->scaled = 1;
	return 0;
}

static int cff_load_glyph(slot_t slot, size_handle size, unsigned glyph)
{
	struct cff_slot *cff = (struct cff_slot *)slot;

	cff->x_scale = size->x_scale;
	slot->bitmap.rows = slot->bitmap.width = 8 + glyph % 8;
	slot->bitmap.pitch = (int)slot->bitmap.width;
	slot->bitmap.buffer = FT_NEW_ARRAY(slot->face->memory, unsigned char,
					   slot->bitmap.rows * slot->bitmap.width);
	for (unsigned i = 0; i < slot->bitmap.rows * slot->bitmap.width; i++)
		slot->bitmap.buffer[i] = (unsigned char)next();
	return 0;
}

static const struct driver_class tt_driver = { { 1, sizeof(struct driver_rec), "truetype", NULL,
						 NULL },
					       sizeof(struct tt_face),
					       sizeof(struct tt_size),
					       sizeof(struct slot_rec),
					       tt_init_face,
					       tt_init_size,
					       tt_init_slot,
					       tt_load_glyph };
static const struct driver_class cff_driver = { { 1, sizeof(struct driver_rec), "cff", NULL, NULL },
						sizeof(struct cff_face),
						sizeof(struct size_rec),
						sizeof(struct cff_slot),
						cff_init_face,
						NULL,
						cff_init_slot,
						cff_load_glyph };
static const char *const type_names[2][3] = {
	{ "struct tt_face", "struct tt_size", "struct slot_rec" },
	{ "struct cff_face", "struct size_rec", "struct cff_slot" }
};

static void add_module(library_t library, const struct driver_class *clazz)
{
	struct driver_rec *driver = truth_log(ft_alloc(library->memory, clazz->root.module_size),
					      TRUTH_ARRAY, "struct driver_rec", 1);

	driver->root.clazz = &clazz->root;
	driver->root.library = library;
	driver->root.memory = library->memory;
	driver->clazz = clazz;
	library->modules[library->num_modules++] = &driver->root;
}

static void new_size(face_t face, const char *type)
{
	const struct driver_class *clazz = face->driver->clazz;
	struct list_node *node = FT_NEW(face->memory, struct list_node);
	size_handle size =
		truth_log(ft_alloc(face->memory, clazz->size_object_size), TRUTH_ARRAY, type, 1);

	size->face = face;
	size->internal = FT_NEW(face->memory, struct size_internal);
	size->x_ppem = size->y_ppem = (unsigned short)(8 + next() % 40);
	size->x_scale = size->y_scale = size->x_ppem * 65536L;
	if (clazz->init_size)
		clazz->init_size(size);
	node->data = size;
	list_add(&face->sizes_list, node);
	face->size = size;
}

static void new_slot(face_t face, const char *type)
{
	const struct driver_class *clazz = face->driver->clazz;
	slot_t slot =
		truth_log(ft_alloc(face->memory, clazz->slot_object_size), TRUTH_ARRAY, type, 1);

	slot->face = face;
	slot->library = face->driver->root.library;
	slot->internal = FT_NEW(face->memory, struct slot_internal);
	clazz->init_slot(slot);
	slot->next = face->glyph;
	face->glyph = slot;
	clazz->load_glyph(slot, face->size, (unsigned)next());
}

static face_t open_face(library_t library, unsigned module, unsigned i)
{
	driver_t driver = (driver_t)library->modules[module];
	const struct driver_class *clazz = driver->clazz;
	face_t face = truth_log(ft_alloc(library->memory, clazz->face_object_size), TRUTH_ARRAY,
				type_names[module][0], 1);
	struct stream *stream = FT_NEW(library->memory, struct stream);
	struct list_node *node;

	stream->size = 256;
	stream->base = FT_NEW_ARRAY(library->memory, unsigned char, 256);
	for (unsigned j = 0; j < 256; j++)
		stream->base[j] = (unsigned char)next();
	stream->memory = library->memory;
	face->driver = driver;
	face->memory = library->memory;
	face->stream = stream;
	face->internal = FT_NEW(library->memory, struct face_internal);
	face->internal->refcount = 1;
	face->family = ft_name(library->memory, "Family", i);
	face->style = ft_name(library->memory, "Bold", i);
	clazz->init_face(stream, face);
	face->num_charmaps = 2;
	face->charmaps = FT_NEW_ARRAY(library->memory, struct charmap *, 2);
	for (unsigned j = 0; j < 2; j++) {
		face->charmaps[j] = FT_NEW(library->memory, struct charmap);
		*face->charmaps[j] = (struct charmap){ face, 0x756e6963, 3, (uint16_t)j };
	}
	for (unsigned j = 0; j < 3; j++)
		new_size(face, type_names[module][1]);
	for (unsigned j = 0; j < 4; j++)
		new_slot(face, type_names[module][2]);
	node = FT_NEW(library->memory, struct list_node);
	node->data = face;
	list_add(&driver->faces_list, node);
	return face;
}

// The client's data of a face.
struct cached_face {
	char *path;
	unsigned hits;
	face_t face;
	struct cached_face *older;
};

static library_t library;
static struct cached_face *newest;

int main(void)
{
	struct memory_rec *memory = NEW(struct memory_rec);

	*memory = (struct memory_rec){ NULL, system_alloc, system_free, system_realloc };
	library = FT_NEW(memory, struct library_rec);
	library->memory = memory;
	add_module(library, &tt_driver);
	add_module(library, &cff_driver);
	for (unsigned i = 0; i < 60; i++) {
		struct cached_face *cached = NEW_ZEROED(struct cached_face);
		face_t face = open_face(library, i % 2, i);

		cached->path = TEXT(strdup(i % 2 ? "/usr/share/fonts/opentype/a.otf"
						 : "/usr/share/fonts/truetype/b.ttf"));
		cached->older = newest;
		face->generic.data = cached;
		if (i % 3)
			cached->face = face;
		newest = cached;
	}
	truth_capture();
	return (int)library->num_modules - 2;
}
