// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Heap dumps as those of a JVM (hprof_file.h), for VisualVM, Eclipse's Memory Analyzer and others.
 *
 *	a root ─▶ an object of a class that is named as the variable ─▶ objects ─▶ objects
 *
 * Peculiarities: (a) Roots have no names there, so each is an object of its own. (b) Ids of objects are
 * their addresses; those of roots and classes lie where no address of a program does. (c) Readers look
 * for some classes of the JVM, so these are there, without objects. (d) Values come from the bytes
 * that the snapshot keeps of an object; those beyond are 0. (e) A pool whose parts are objects of their own
 * is an array of the pointers that are in none of these.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/export/export.h"
#include "shell/export/hprof_classes.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/print/node.h"

#include <string.h>

enum {
	ID = 8, // bytes
	WORD = 8,
	OBJECT_BYTES =
		16,   // of a java.lang.Object: VisualVM then takes other classes' sizes as they are
	NO_TRACE = 1, // serial number of the stack trace that has no frames
	ROOT_FIELDS_MOST = 1000,
	ARRAY_HEAD = ID + 4 + 4 + ID,
	BYTES_HEAD = ID + 4 + 4 + 1,
	CLASS_HEAD = ID + 4 + 6 * ID + 4 + 2 + 2 + 2,
	FIELD_BYTES = ID + 1,
	PIECE = 4096,
};

// Elements of an array, whose part must fit into 32 bits.
static const uint64_t ELEMENTS_MOST = UINT64_C(1) << 28;
static const uint64_t BYTES_MOST = UINT64_C(1) << 31;

static const uint64_t CLASS_ID = UINT64_C(1) << 60;
static const uint64_t ROOT_ID = UINT64_C(1) << 61;

// Classes that readers look for, and a field that they expect in one of them; NULL: none.
static const struct {
	const char *name, *field;
} known_classes[] = {
	{ "java/lang/Object", NULL },
	{ "java/lang/Class", NULL },
	{ "java/lang/String", NULL },
	{ "java/lang/Thread", NULL },
	{ "[B", NULL },
	{ "java/lang/ref/WeakReference", NULL },
	{ "java/lang/ref/SoftReference", NULL },
	{ "java/lang/ref/FinalReference", NULL },
	{ "java/lang/ref/PhantomReference", NULL },
	{ "java/lang/ref/Reference", "referent" },
};

enum {
	KNOWN_CLASSES = sizeof(known_classes) / sizeof(known_classes[0]),
};

// A root that holds objects, and its pointers: [first, end) of the snapshot's root edges.
struct holder {
	heap_root_id root;
	uint64_t first, end;
	uint32_t name;        // in the texts
	uint32_t first_field; // in the names of fields
	bool has_fields;
};

// The kept bytes of a block. Parts are written by blocks.
struct block_bytes {
	heap_object_id object;
	uint8_t *bytes;
	size_t capacity, kept;
};

struct writing {
	struct session *session;
	const struct heap_snapshot *nodes; // objects, and parts of pools
	struct block_bytes block;
	struct hprof_file file;
	struct export_texts texts; // their numbers are the ids of strings
	struct hprof_classes classes;
	uint32_t known[KNOWN_CLASSES], known_fields[KNOWN_CLASSES]; // names
	struct HEAP_ARRAY(struct holder) holders;
	struct HEAP_ARRAY(uint32_t) root_fields; // names
};

static void writing_deinit(struct writing *writing)
{
	free(writing->block.bytes);
	hprof_deinit(&writing->file);
	hprof_classes_deinit(&writing->classes);
	export_texts_deinit(&writing->texts);
	heap_array_deinit(&writing->holders);
	heap_array_deinit(&writing->root_fields);
}

// --- classes ---------------------------------------------------------------------

static uint64_t class_id(size_t number)
{
	return CLASS_ID + (KNOWN_CLASSES + number) * WORD;
}

static uint64_t root_class_id(const struct writing *writing, size_t holder)
{
	return class_id(writing->classes.list.count + holder);
}

static uint64_t root_id(size_t holder)
{
	return ROOT_ID + holder * WORD;
}

static void write_string(struct hprof_file *file, uint32_t id, const char *text)
{
	char *name = heap_escape(HEAP_ESCAPE_NAME, text, strlen(text));

	file->failed |= !name;
	if (!name)
		return;
	hprof_begin_record(file, HPROF_STRING, (uint32_t)(ID + strlen(name)));
	hprof_put(file, id, ID);
	hprof_put_bytes(file, name, strlen(name));
	free(name);
}

static void write_load(struct hprof_file *file, uint64_t id, uint32_t name)
{
	hprof_begin_record(file, HPROF_LOAD_CLASS, 4 + ID + 4 + ID);
	hprof_put(file, (id - CLASS_ID) / WORD + 1, 4);
	hprof_put(file, id, ID);
	hprof_put(file, NO_TRACE, 4);
	hprof_put(file, name, ID);
}

static void begin_class(struct hprof_file *file, uint64_t id, uint32_t size, size_t fields)
{
	hprof_begin_part(file, HPROF_CLASS, CLASS_HEAD + fields * FIELD_BYTES);
	hprof_put(file, id, ID);
	hprof_put(file, NO_TRACE, 4);
	hprof_put(file, id == CLASS_ID ? 0 : CLASS_ID, ID); // all are subclasses of Object
	for (int i = 0; i < 5; i++)
		hprof_put(file, 0, ID); // loader, signers, domain, two that are reserved
	hprof_put(file, (size + WORD - 1) / WORD * WORD, 4); // a JVM's are aligned
	hprof_put(file, 0, 2);                               // constants
	hprof_put(file, 0, 2);                               // static fields
	hprof_put(file, fields, 2);
}

static void put_field(struct hprof_file *file, uint32_t name, enum hprof_type type)
{
	hprof_put(file, name, ID);
	hprof_put(file, type, 1);
}

static void write_classes(struct writing *writing)
{
	struct hprof_file *file = &writing->file;

	for (size_t i = 0; i < KNOWN_CLASSES; i++) {
		uint32_t field = writing->known_fields[i];

		begin_class(file, CLASS_ID + i * WORD, OBJECT_BYTES + (field ? ID : 0), field != 0);
		if (field)
			put_field(file, field, HPROF_OBJECT);
	}
	for (size_t i = 0; i < writing->classes.list.count; i++) {
		const struct hprof_class *class = &writing->classes.list.items[i];

		if (class->shape == HPROF_BYTES)
			continue;
		begin_class(file, class_id(i), class->size, class->fields.count);
		for (size_t j = 0; j < class->fields.count; j++)
			put_field(file, class->fields.items[j].name, class->fields.items[j].type);
	}
	for (size_t i = 0; i < writing->holders.count; i++) {
		const struct holder *holder = &writing->holders.items[i];
		size_t fields = holder->has_fields ? holder->end - holder->first : 0;

		begin_class(file, root_class_id(writing, i), (uint32_t)(fields * WORD), fields);
		for (size_t j = 0; j < fields; j++)
			put_field(file, writing->root_fields.items[holder->first_field + j],
				  HPROF_OBJECT);
	}
}

static void write_names(struct writing *writing)
{
	struct hprof_file *file = &writing->file;

	for (uint32_t i = 1; i < writing->texts.offsets.count; i++)
		write_string(file, i, export_texts_get(&writing->texts, i));
	for (size_t i = 0; i < KNOWN_CLASSES; i++)
		write_load(file, CLASS_ID + i * WORD, writing->known[i]);
	for (size_t i = 0; i < writing->classes.list.count; i++) {
		if (writing->classes.list.items[i].shape != HPROF_BYTES)
			write_load(file, class_id(i), writing->classes.list.items[i].name);
	}
	for (size_t i = 0; i < writing->holders.count; i++)
		write_load(file, root_class_id(writing, i), writing->holders.items[i].name);
	hprof_begin_record(file, HPROF_STACK_TRACE, 4 + 4 + 4);
	hprof_put(file, NO_TRACE, 4);
	hprof_put(file, 0, 4); // of no thread
	hprof_put(file, 0, 4); // frames
}

// --- objects ---------------------------------------------------------------------

static bool is_pool_edge(const struct writing *writing, uint32_t edge)
{
	return heap_divided_edge(writing->session->divided, edge) == UINT32_MAX;
}

// The id of the object that an edge of the graph of nodes leads to.
static uint64_t target_of(const struct writing *writing, uint32_t edge)
{
	return node_address(writing->session, writing->nodes->edge_target[edge]);
}

// The id of the object that a word of an object or a part points to; 0: null. @param edge  the next, which moves on
static uint64_t target_at(const struct writing *writing, heap_node_id node, uint32_t *edge,
			  uint64_t slot)
{
	const struct heap_divided *divided = writing->session->divided;
	uint32_t end = writing->nodes->edge_first[node + 1];

	for (; *edge < end; ++*edge) {
		if (is_pool_edge(writing, *edge))
			continue;

		uint32_t at = node_slot(writing->session, node, heap_divided_edge(divided, *edge));

		if (at >= slot)
			return at == slot ? target_of(writing, *edge) : 0;
	}
	return 0;
}

// The id of the pool that a part keeps; 0: none.
static uint64_t pool_of(const struct writing *writing, heap_node_id node)
{
	const struct heap_snapshot *nodes = writing->nodes;

	for (uint32_t i = nodes->edge_first[node]; i < nodes->edge_first[node + 1]; i++) {
		if (is_pool_edge(writing, i))
			return target_of(writing, i);
	}
	return 0;
}

// The kept bytes of an object or a part. @param result  the writing's, until the next call
HEAP_MUST_CHECK
static struct heap_error *read_bytes(struct writing *writing, heap_node_id node,
				     const uint8_t **result, size_t *kept)
{
	struct heap_snapshot *snapshot = writing->session->snapshot;
	const struct heap_part *part = heap_divided_part(writing->session->divided, node);
	heap_object_id object = part ? part->object : node;
	struct block_bytes *block = &writing->block;
	uint64_t size = snapshot->size[object], offset = part ? part->offset : 0;

	size = size < snapshot->info.content_limit ? size : snapshot->info.content_limit;
	if (!block->bytes || block->object != object) {
		HEAP_TRY(heap_reserve(block->bytes, block->capacity, size + 1));
		HEAP_TRY(heap_snapshot_read_content(snapshot, object, block->bytes, size,
						    &block->kept));
		block->object = object;
	}
	offset = offset < block->kept ? offset : block->kept;
	*result = block->bytes + offset;
	*kept = block->kept - offset;
	if (*kept > writing->nodes->size[node])
		*kept = writing->nodes->size[node];
	return NULL;
}

// A number of the program, which has it little-endian; 0 where its bytes are not kept.
static uint64_t number_at(const uint8_t *bytes, size_t kept, uint32_t offset, unsigned size)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < size && offset + size <= kept; i++)
		number |= (uint64_t)bytes[offset + i] << 8 * i;
	return number;
}

HEAP_MUST_CHECK
static struct heap_error *write_fields(struct writing *writing, heap_node_id node,
				       const struct hprof_class *class, uint64_t id)
{
	uint32_t edge = writing->nodes->edge_first[node];
	size_t fields = class->fields.count - class->has_pool;
	struct hprof_file *file = &writing->file;
	const uint8_t *bytes;
	size_t kept;

	HEAP_TRY(read_bytes(writing, node, &bytes, &kept));
	hprof_begin_part(file, HPROF_INSTANCE, ID + 4 + ID + 4 + class->size);
	hprof_put(file, node_address(writing->session, node), ID);
	hprof_put(file, NO_TRACE, 4);
	hprof_put(file, id, ID);
	hprof_put(file, class->size, 4);
	for (size_t i = 0; i < fields; i++) {
		const struct hprof_field *field = &class->fields.items[i];
		unsigned size = hprof_type_size(field->type);

		hprof_put(file,
			  field->type == HPROF_OBJECT
				  ? target_at(writing, node, &edge, field->offset / WORD)
				  : number_at(bytes, kept, field->offset, size),
			  size);
	}
	if (class->has_pool)
		hprof_put(file, pool_of(writing, node), ID);
	return NULL;
}

static void begin_words(struct hprof_file *file, uint64_t object, uint64_t count, uint64_t class)
{
	hprof_begin_part(file, HPROF_OBJECT_ARRAY, ARRAY_HEAD + count * ID);
	hprof_put(file, object, ID);
	hprof_put(file, NO_TRACE, 4);
	hprof_put(file, count, 4);
	hprof_put(file, class, ID);
}

// A word for each of an object's, and one for the pool that a part keeps.
static void write_words(struct writing *writing, heap_node_id node, uint64_t id)
{
	uint32_t edge = writing->nodes->edge_first[node];
	uint64_t words = (writing->nodes->size[node] + WORD - 1) / WORD;
	uint64_t pool = pool_of(writing, node);

	words = words < ELEMENTS_MOST ? words : ELEMENTS_MOST;
	begin_words(&writing->file, node_address(writing->session, node), words + (pool != 0), id);
	for (uint64_t i = 0; i < words; i++)
		hprof_put(&writing->file, target_at(writing, node, &edge, i), ID);
	if (pool)
		hprof_put(&writing->file, pool, ID);
}

// All pointers of a block that are in none of its parts, and the parts that it keeps.
static void write_pool(struct writing *writing, heap_node_id node, uint64_t id)
{
	const struct heap_snapshot *nodes = writing->nodes;
	uint64_t edges = nodes->edge_first[node + 1] - nodes->edge_first[node];
	uint64_t words = nodes->size[node] / WORD;

	words = words < ELEMENTS_MOST ? words : ELEMENTS_MOST;
	words = words > edges ? words : edges;
	begin_words(&writing->file, node_address(writing->session, node), words, id);
	for (uint64_t i = 0; i < words; i++)
		hprof_put(&writing->file,
			  i < edges ? target_of(writing, nodes->edge_first[node] + (uint32_t)i) : 0,
			  ID);
}

HEAP_MUST_CHECK
static struct heap_error *write_bytes(struct writing *writing, heap_node_id node)
{
	static const uint8_t zeros[PIECE];
	struct hprof_file *file = &writing->file;
	uint64_t size = writing->nodes->size[node];
	const uint8_t *bytes;
	size_t kept;

	size = size < BYTES_MOST ? size : BYTES_MOST;
	HEAP_TRY(read_bytes(writing, node, &bytes, &kept));
	kept = kept < size ? kept : size;
	hprof_begin_part(file, HPROF_PRIMITIVE_ARRAY, BYTES_HEAD + size);
	hprof_put(file, node_address(writing->session, node), ID);
	hprof_put(file, NO_TRACE, 4);
	hprof_put(file, size, 4);
	hprof_put(file, HPROF_BYTE, 1);
	hprof_put_bytes(file, bytes, kept);
	for (uint64_t at = kept; at < size; at += PIECE)
		hprof_put_bytes(file, zeros, size - at < PIECE ? size - at : PIECE);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_object(struct writing *writing, heap_node_id node)
{
	uint32_t number = writing->classes.of_node[node];
	const struct hprof_class *class = &writing->classes.list.items[number];
	heap_node_id first;

	switch ((enum hprof_shape) class->shape) {
	case HPROF_FIELDS:
		return write_fields(writing, node, class, class_id(number));
	case HPROF_BYTES:
		return write_bytes(writing, node);
	case HPROF_WORDS:
		break;
	}
	if (heap_divided_parts(writing->session->divided, node, &first) > first)
		write_pool(writing, node, class_id(number));
	else
		write_words(writing, node, class_id(number));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_objects(struct writing *writing)
{
	struct session *session = writing->session;
	uint32_t count = writing->nodes->object_count;

	for (heap_node_id i = 0; i < count && !session_must_stop(session); i++) {
		HEAP_TRY(heap_progress_step(&session->progress.progress, "hprof", i, count));
		HEAP_TRY(write_object(writing, i));
	}
	return NULL;
}

// --- roots -----------------------------------------------------------------------

// Root edges are sorted by root; roots that hold nothing are left out.
HEAP_MUST_CHECK
static struct heap_error *find_holders(struct writing *writing)
{
	struct session *session = writing->session;
	const struct heap_snapshot *nodes = writing->nodes;

	for (uint64_t i = 0; i < nodes->root_edge_count;) {
		struct holder holder = { .root = nodes->root_edges[i].root, .first = i };
		SESSION_SCOPE(session);

		while (i < nodes->root_edge_count && nodes->root_edges[i].root == holder.root)
			i++;
		holder.end = i;
		holder.name =
			export_texts_add(&writing->texts, export_root_name(session, holder.root));
		holder.has_fields = i - holder.first <= ROOT_FIELDS_MOST;
		holder.first_field = (uint32_t)writing->root_fields.count;
		for (uint64_t j = holder.first; j < i && holder.has_fields; j++) {
			const char *field =
				field_of_root(session, holder.root, nodes->root_edges[j].offset);

			field = *field == '.' ? field + 1 : *field ? field : "value";
			HEAP_TRY(heap_array_append(&writing->root_fields,
						   export_texts_add(&writing->texts, field)));
		}
		HEAP_TRY(heap_array_append(&writing->holders, holder));
	}
	return NULL;
}

static void write_holder(struct writing *writing, size_t number)
{
	const struct holder *holder = &writing->holders.items[number];
	uint64_t count = holder->end - holder->first;
	uint64_t class = root_class_id(writing, number);
	struct hprof_file *file = &writing->file;

	if (count > ELEMENTS_MOST)
		count = ELEMENTS_MOST;
	if (holder->has_fields) {
		hprof_begin_part(file, HPROF_INSTANCE, ID + 4 + ID + 4 + count * ID);
		hprof_put(file, root_id(number), ID);
		hprof_put(file, NO_TRACE, 4);
		hprof_put(file, class, ID);
		hprof_put(file, count * ID, 4);
	} else {
		begin_words(file, root_id(number), count, class);
	}
	for (uint64_t i = 0; i < count; i++)
		hprof_put(file,
			  node_address(writing->session,
				       writing->nodes->root_edges[holder->first + i].target),
			  ID);
}

// Serial numbers of threads count from 1; a local variable's frame is not told.
static void write_root(struct writing *writing, size_t number)
{
	static const uint8_t parts[HEAP_ROOT_KINDS] = {
		[HEAP_ROOT_GLOBAL] = HPROF_ROOT_STICKY_CLASS,
		[HEAP_ROOT_THREAD_LOCAL] = HPROF_ROOT_THREAD_BLOCK,
		[HEAP_ROOT_LOCAL] = HPROF_ROOT_JAVA_FRAME,
		[HEAP_ROOT_REGISTER] = HPROF_ROOT_NATIVE_STACK,
		[HEAP_ROOT_STACK] = HPROF_ROOT_NATIVE_STACK,
		[HEAP_ROOT_SEGMENT] = HPROF_ROOT_STICKY_CLASS,
		[HEAP_ROOT_MAPPING] = HPROF_ROOT_UNKNOWN,
	};
	const struct heap_snapshot *snapshot = writing->session->snapshot;
	const struct heap_root *root = &snapshot->roots[writing->holders.items[number].root];
	enum hprof_part part = parts[root->kind];
	bool has_thread = part == HPROF_ROOT_THREAD_BLOCK || part == HPROF_ROOT_NATIVE_STACK ||
			  part == HPROF_ROOT_JAVA_FRAME;
	struct hprof_file *file = &writing->file;

	hprof_begin_part(file, part,
			 ID + (has_thread ? 4 : 0) + (part == HPROF_ROOT_JAVA_FRAME ? 4 : 0));
	hprof_put(file, root_id(number), ID);
	if (has_thread)
		hprof_put(file, root->thread == HEAP_NO_INDEX ? 0 : root->thread + 1, 4);
	if (part == HPROF_ROOT_JAVA_FRAME)
		hprof_put(file, UINT32_MAX, 4);
}

// --- all -------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *gather(struct writing *writing)
{
	export_texts_init(&writing->texts);
	for (size_t i = 0; i < KNOWN_CLASSES; i++) {
		const char *field = known_classes[i].field;

		writing->known[i] = export_texts_add(&writing->texts, known_classes[i].name);
		writing->known_fields[i] = export_texts_add(&writing->texts, field ? field : "");
	}
	HEAP_TRY(hprof_classes_init(&writing->classes, writing->session, writing->nodes,
				    &writing->texts));
	HEAP_TRY(find_holders(writing));
	return writing->texts.failed ? heap_error_out_of_memory() : NULL;
}

struct heap_error *export_hprof(struct export *export)
{
	CLEANUP(writing_deinit) struct writing writing = { .session = export->session };
	struct heap_graph *nodes;

	HEAP_TRY(session_nodes(export->session, &nodes));
	writing.nodes = nodes->snapshot;
	HEAP_TRY(gather(&writing));
	hprof_begin(&writing.file, export->stream,
		    export->session->snapshot->info.time_ns / 1000000);
	write_names(&writing);
	write_classes(&writing);
	HEAP_TRY(write_objects(&writing));
	for (size_t i = 0; i < writing.holders.count; i++) {
		write_holder(&writing, i);
		write_root(&writing, i);
	}
	return hprof_end(&writing.file);
}
