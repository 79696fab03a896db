// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The heap snapshots of Chrome's DevTools (v8/src/profiler/heap-snapshot-generator.cc writes
 * them, devtools-frontend's heap_snapshot_worker reads them).
 *
 *	node 0 ─▶ (GC roots) ─▶ (Global variables) ─▶ a root each ─▶ objects
 *	       └▶ (unreachable) ─▶ objects that nothing reaches
 *
 * Peculiarities: (a) DevTools looks for names in the text, so the order of the keys counts,
 * strings last. (b) All numbers have 32 bits: larger objects are split into pieces, which the
 * first owns. (c) An object's retained size is what DevTools computes from the edges; to
 * agree with ours, the edges of leaked objects are weak.
 * (d) It cannot load more than a few million nodes, so small objects can be merged.
 */
#include "shell/print/describe.h"
#include "shell/print/node.h"
#include "shell/export/merge.h"
#include "shell/export/stacks.h"
#include "shell/print/field.h"

#include "lib/base/cleanup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODE_FIELDS = 6,
	PIECE = 1 << 30,   // bytes of a node at most
	MAX_PIECES = 4096, // of an object; a larger size is implausible, and is cut
	FIELD_SLOTS = 1 << 14,
};

// Numbers in node_types and edge_types below.
enum node_type {
	NODE_STRING = 2,
	NODE_OBJECT = 3,
	NODE_NATIVE = 8,
	NODE_SYNTHETIC = 9
};
enum edge_type {
	EDGE_ELEMENT = 1,
	EDGE_PROPERTY = 2,
	EDGE_WEAK = 6
};

static const char header[] =
	"{\"snapshot\":{\"meta\":{"
	"\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\","
	"\"trace_node_id\"],"
	"\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\","
	"\"regexp\",\"number\",\"native\",\"synthetic\",\"concatenated string\","
	"\"sliced string\",\"symbol\",\"bigint\",\"object shape\"],"
	"\"string\",\"number\",\"number\",\"number\",\"number\"],"
	"\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
	"\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\","
	"\"shortcut\",\"weak\"],\"string_or_number\",\"node\"],"
	"\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\","
	"\"script_id\",\"line\",\"column\"],"
	"\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\","
	"\"children\"],"
	"\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],"
	"\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]},";

static const char *const group_names[HEAP_ROOT_KINDS] = {
	[HEAP_ROOT_GLOBAL] = "(Global variables)",
	[HEAP_ROOT_THREAD_LOCAL] = "(Thread-local variables)",
	[HEAP_ROOT_LOCAL] = "(Local variables)",
	[HEAP_ROOT_REGISTER] = "(Registers)",
	[HEAP_ROOT_STACK] = "(Stacks)",
	[HEAP_ROOT_SEGMENT] = "(Unnamed data)",
	[HEAP_ROOT_MAPPING] = "(Other mappings)",
};

// Names of fields by type and offset: most edges have one of few names.
struct known_field {
	heap_type_id type;
	uint32_t slot;
	uint32_t text;
	uint32_t is_known;
};

struct writing {
	struct session *session;
	const struct heap_snapshot *snapshot; // of the nodes of session->divided
	FILE *file;
	struct export_texts texts;
	struct export_stacks stacks;
	struct known_field *fields; // [FIELD_SLOTS]
	uint32_t *root_node;        // [roots] number of its node; 0: it holds nothing
	heap_root_id *roots;        // [root_count] those that have one, in order
	uint32_t root_count;
	struct export_merge merge;
	heap_node_id *kept; // [kept_count] objects that are not merged, in order
	uint32_t kept_count;
	uint32_t *node_of; // [objects and parts] their nodes
	// Edges that stand for those of merged objects, by the node that they leave.
	struct extra_edge {
		uint32_t next; // plus 1; 0: none
		uint32_t node;
		uint32_t name;
	} * extras;            // [extra_count]
	uint32_t *first_extra; // [first_group] plus 1; 0: none
	uint32_t extra_count;
	uint32_t unreachable, several, first_root, first_object, first_group, first_piece, end;
	uint64_t edges;
	bool counts_only; // edges are counted, not written
	bool has_written; // a node or an edge: a comma goes before the next
};

static bool is_leaked(const struct writing *writing, heap_node_id object)
{
	return writing->session->dominators->retained[object] == 0;
}

// Pieces of an object, besides its own node.
static uint32_t pieces_of(uint64_t size)
{
	uint64_t pieces = size > PIECE ? (size - 1) / PIECE : 0;

	return pieces < MAX_PIECES ? (uint32_t)pieces : MAX_PIECES;
}

// --- nodes -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *number_roots(struct writing *writing)
{
	const struct heap_snapshot *snapshot = writing->snapshot;

	writing->root_node = calloc((size_t)snapshot->root_count + 1, sizeof(uint32_t));
	writing->roots = calloc((size_t)snapshot->root_count + 1, sizeof(heap_root_id));
	if (!writing->root_node || !writing->roots)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		heap_root_id root = snapshot->root_edges[i].root;

		if (writing->root_node[root])
			continue;
		writing->root_node[root] = writing->first_root + writing->root_count;
		writing->roots[writing->root_count++] = root;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *number_objects(struct writing *writing)
{
	const struct heap_snapshot *snapshot = writing->snapshot;

	writing->kept = calloc((size_t)snapshot->object_count + 1, sizeof(*writing->kept));
	writing->node_of = calloc((size_t)snapshot->object_count + 1, sizeof(*writing->node_of));
	if (!writing->kept || !writing->node_of)
		return heap_error_out_of_memory();
	for (heap_node_id i = 0; i < snapshot->object_count; i++) {
		if (export_is_merged(&writing->merge, i))
			continue;
		writing->node_of[i] = writing->first_object + writing->kept_count;
		writing->kept[writing->kept_count++] = i;
	}
	return NULL;
}

static uint64_t count_pieces(const struct writing *writing)
{
	uint64_t pieces = 0;

	for (uint32_t i = 0; i < writing->kept_count; i++)
		pieces += pieces_of(writing->snapshot->size[writing->kept[i]]);
	for (uint32_t i = 0; i < writing->merge.group_count; i++)
		pieces += pieces_of(writing->merge.groups[i].bytes);
	return pieces;
}

// Counts the nodes, and finds where each kind of them begins.
HEAP_MUST_CHECK
static struct heap_error *number_nodes(struct writing *writing)
{
	uint64_t end;

	writing->unreachable = 2 + HEAP_ROOT_KINDS;
	writing->several = writing->unreachable + 1;
	writing->first_root = writing->several + (writing->merge.group_count > 0);
	HEAP_TRY(number_roots(writing));
	writing->first_object = writing->first_root + writing->root_count;
	HEAP_TRY(number_objects(writing));
	writing->first_group = writing->first_object + writing->kept_count;
	writing->first_piece = writing->first_group + writing->merge.group_count;
	end = writing->first_piece + count_pieces(writing);
	if (end > UINT32_MAX / NODE_FIELDS)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "the format has no room for so many objects");
	writing->end = (uint32_t)end;
	return NULL;
}

// --- what merged objects leave behind ----------------------------------------

static uint32_t node_of_owner(const struct writing *writing, heap_node_id owner)
{
	uint32_t objects = writing->session->divided->objects;

	if (owner == EXPORT_OWNER_NONE)
		return writing->unreachable;
	if (owner == EXPORT_OWNER_SEVERAL)
		return writing->several;
	return owner < objects ? writing->node_of[owner] : writing->root_node[owner - objects];
}

static void add_extra(struct writing *writing, uint32_t from, uint32_t to, uint32_t name)
{
	writing->extras[writing->extra_count] =
		(struct extra_edge){ writing->first_extra[from], to, name };
	writing->first_extra[from] = ++writing->extra_count;
}

// Links groups to their owners, and targets of merged objects to their dominators.
HEAP_MUST_CHECK
static struct heap_error *link_extras(struct writing *writing)
{
	const struct export_merge *merge = &writing->merge;
	const heap_node_id *nearest = writing->session->dominators->nearest;
	size_t most = merge->group_count ? (size_t)merge->group_count + writing->kept_count : 0;

	writing->extras = calloc(most + 1, sizeof(*writing->extras));
	writing->first_extra = calloc((size_t)writing->first_group + 1, sizeof(uint32_t));
	if (!writing->extras || !writing->first_extra)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < merge->group_count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "(%" PRIu64 " merged)", merge->groups[i].objects);
		add_extra(writing, node_of_owner(writing, merge->groups[i].owner),
			  writing->first_group + i, export_texts_add(&writing->texts, name));
	}
	for (uint32_t i = 0; i < writing->kept_count; i++) {
		heap_node_id object = writing->kept[i];

		if (merge->is_adopted[object])
			add_extra(writing, node_of_owner(writing, nearest[object]),
				  writing->node_of[object],
				  export_texts_add(&writing->texts, "(through merged ones)"));
	}
	return NULL;
}

static void put_node(struct writing *writing, uint32_t number, enum node_type type, uint32_t name,
		     uint64_t size, uint64_t edges, uint32_t trace_node)
{
	fprintf(writing->file, "%s\n%d,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32,
		writing->has_written ? "," : "", type, name, (uint64_t)number * 2 + 1, size, edges,
		trace_node);
	writing->has_written = true;
}

static uint32_t text_of(struct writing *writing, const char *text)
{
	return export_texts_add(&writing->texts, text);
}

static bool is_text(const struct heap_snapshot *snapshot, heap_node_id object)
{
	const struct heap_type *type = &snapshot->types.types[snapshot->type[object]];

	return (type->flags & HEAP_TYPE_CHARACTER) && type->size == 1;
}

static void put_object_node(struct writing *writing, heap_node_id object, uint64_t edges)
{
	const struct heap_snapshot *snapshot = writing->snapshot;
	const struct heap_divided *divided = writing->session->divided;
	uint64_t size = snapshot->size[object];
	uint32_t trace_node = writing->stacks.of_object[heap_divided_block(divided, object)] + 1;
	uint32_t number = writing->node_of[object];
	const char *text = is_text(snapshot, object) && !heap_divided_part(divided, object)
				   ? describe_text(writing->session, object)
				   : "";

	if (*text)
		put_node(writing, number, NODE_STRING, text_of(writing, text),
			 size > PIECE ? PIECE : size, edges, trace_node);
	else
		put_node(writing, number,
			 snapshot->type[object] == HEAP_NO_TYPE ? NODE_NATIVE : NODE_OBJECT,
			 text_of(writing, export_class(writing->session, object)),
			 size > PIECE ? PIECE : size, edges, trace_node);
}

// --- edges -------------------------------------------------------------------

static void put_edge(struct writing *writing, enum edge_type type, uint32_t name, uint32_t node)
{
	writing->edges++;
	if (writing->counts_only)
		return;
	fprintf(writing->file, "%s\n%d,%" PRIu32 ",%" PRIu32, writing->has_written ? "," : "", type,
		name, node * NODE_FIELDS);
	writing->has_written = true;
}

// "next" for ".next".
static const char *without_dot(const char *field)
{
	return field[0] == '.' ? field + 1 : field;
}

// @param edge  of the snapshot, or UINT32_MAX
static uint32_t field_name(struct writing *writing, heap_node_id object, uint32_t edge)
{
	const struct heap_snapshot *snapshot = writing->snapshot;
	heap_type_id type = snapshot->type[object];
	uint32_t slot;
	bool is_array = node_elements(writing->session, object) > 1;
	const void *mark = session_mark(writing->session);
	struct known_field *known;
	uint32_t text;

	if (edge == UINT32_MAX)
		return text_of(writing, "(part)");
	slot = node_slot(writing->session, object, edge);
	known = &writing->fields[(type * UINT32_C(2654435761) + slot * UINT32_C(40503)) %
				 FIELD_SLOTS];
	if (!is_array && type && known->is_known && known->type == type && known->slot == slot)
		return known->text;
	text = text_of(writing, without_dot(node_field(writing->session, object, edge)));
	session_release(writing->session, mark);
	if (!is_array)
		*known = (struct known_field){ type, slot, text, true };
	return text;
}

// True if an object is an array of pointers: its edges have numbers.
static bool is_pointer_array(const struct writing *writing, heap_node_id object)
{
	const struct heap_snapshot *snapshot = writing->snapshot;
	heap_type_id type = heap_types_strip(&snapshot->types, snapshot->type[object]);

	return node_elements(writing->session, object) > 1 &&
	       snapshot->types.types[type].kind == HEAP_TYPE_POINTER;
}

static void put_pieces_edges(struct writing *writing, uint64_t size, uint32_t *next_piece)
{
	for (uint32_t i = pieces_of(size); i > 0; i--)
		put_edge(writing, EDGE_PROPERTY, text_of(writing, "(continued)"), (*next_piece)++);
}

static void put_extra_edges(struct writing *writing, uint32_t node)
{
	for (uint32_t at = writing->first_extra[node]; at; at = writing->extras[at - 1].next)
		put_edge(writing, EDGE_PROPERTY, writing->extras[at - 1].name,
			 writing->extras[at - 1].node);
}

static void put_object_edges(struct writing *writing, heap_node_id object, uint32_t *next_piece)
{
	const struct heap_snapshot *snapshot = writing->snapshot;
	const struct heap_dominators *dominators = writing->session->dominators;
	bool is_array = is_pointer_array(writing, object), leaked = is_leaked(writing, object);

	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		heap_node_id target = snapshot->edge_target[i];
		bool is_weak = (leaked && !is_leaked(writing, target)) ||
			       heap_dominators_level(dominators, object) !=
				       heap_dominators_level(dominators, target);
		uint32_t edge = heap_divided_edge(writing->session->divided, i);
		bool has_numbers = is_array && edge != UINT32_MAX;

		if (export_is_merged(&writing->merge, target))
			continue;
		if (writing->counts_only)
			writing->edges++;
		else
			put_edge(writing,
				 is_weak       ? EDGE_WEAK
				 : has_numbers ? EDGE_ELEMENT
					       : EDGE_PROPERTY,
				 has_numbers && !is_weak ? node_slot(writing->session, object, edge)
							 : field_name(writing, object, edge),
				 writing->node_of[target]);
	}
	put_pieces_edges(writing, snapshot->size[object], next_piece);
}

static void put_group_edges(struct writing *writing, uint8_t kind)
{
	const struct heap_snapshot *snapshot = writing->snapshot;

	for (uint32_t i = 0; i < writing->root_count; i++) {
		const struct heap_root *root = &snapshot->roots[writing->roots[i]];

		if (root->kind == kind)
			put_edge(writing, EDGE_PROPERTY,
				 text_of(writing, heap_snapshot_string(snapshot, root->name)),
				 writing->root_node[writing->roots[i]]);
	}
}

// @param at  the root's first edge; moved behind its last
static void put_root_edges(struct writing *writing, heap_root_id root, uint64_t *at)
{
	const struct heap_snapshot *snapshot = writing->snapshot;

	for (; *at < snapshot->root_edge_count && snapshot->root_edges[*at].root == root; ++*at) {
		const struct heap_root_edge *edge = &snapshot->root_edges[*at];
		const void *mark = session_mark(writing->session);
		const char *field = field_of_root(writing->session, root, edge->offset);
		// DevTools ignores weak edges for dominators, as we do (enum heap_root_level).
		bool is_weak = heap_root_edge_level(writing->session->graph, edge) !=
			       heap_dominators_level(writing->session->dominators, edge->target);

		if (!export_is_merged(&writing->merge, edge->target))
			put_edge(writing, is_weak ? EDGE_WEAK : EDGE_PROPERTY,
				 text_of(writing, *field ? without_dot(field) : "value"),
				 writing->node_of[edge->target]);
		session_release(writing->session, mark);
	}
}

static void put_unreachable_edges(struct writing *writing)
{
	uint32_t number = 0;

	for (heap_node_id i = 0; i < writing->snapshot->object_count; i++) {
		if (is_leaked(writing, i) && !export_is_merged(&writing->merge, i))
			put_edge(writing, EDGE_ELEMENT, number++, writing->node_of[i]);
	}
}

// --- both, in the same order -------------------------------------------------

struct walk {
	struct writing *writing;
	uint64_t root_edge;
	uint32_t piece;
};

// The edges of one node.
static void put_edges_of(struct walk *walk, uint32_t node)
{
	struct writing *writing = walk->writing;

	if (node == 0) {
		put_edge(writing, EDGE_ELEMENT, 1, 1);
		put_edge(writing, EDGE_ELEMENT, 2, writing->unreachable);
	} else if (node == 1) {
		for (uint32_t i = 0; i < HEAP_ROOT_KINDS; i++)
			put_edge(writing, EDGE_ELEMENT, i + 1, 2 + i);
		if (writing->several < writing->first_root)
			put_edge(writing, EDGE_ELEMENT, HEAP_ROOT_KINDS + 1, writing->several);
	} else if (node < writing->unreachable) {
		put_group_edges(writing, (uint8_t)(node - 2));
	} else if (node == writing->unreachable) {
		put_unreachable_edges(writing);
	} else if (node >= writing->first_root && node < writing->first_object) {
		put_root_edges(writing, writing->roots[node - writing->first_root],
			       &walk->root_edge);
	} else if (node >= writing->first_group) {
		put_pieces_edges(writing, writing->merge.groups[node - writing->first_group].bytes,
				 &walk->piece);
	} else if (node >= writing->first_object) {
		put_object_edges(writing, writing->kept[node - writing->first_object],
				 &walk->piece);
	}
	if (node < writing->first_group)
		put_extra_edges(writing, node);
}

static void put_group_node(struct writing *writing, uint32_t node, uint64_t edges)
{
	const struct export_merge_group *group =
		&writing->merge.groups[node - writing->first_group];

	put_node(writing, node, NODE_OBJECT, group->class,
		 group->bytes > PIECE ? PIECE : group->bytes, edges, 0);
}

static void put_node_of(struct writing *writing, uint32_t node, uint64_t edges)
{
	struct session *session = writing->session;

	if (node == 0)
		put_node(writing, node, NODE_SYNTHETIC, 0, 0, edges, 0);
	else if (node == 1)
		put_node(writing, node, NODE_SYNTHETIC, text_of(writing, "(GC roots)"), 0, edges,
			 0);
	else if (node < writing->unreachable)
		put_node(writing, node, NODE_SYNTHETIC, text_of(writing, group_names[node - 2]), 0,
			 edges, 0);
	else if (node == writing->unreachable)
		put_node(writing, node, NODE_SYNTHETIC, text_of(writing, "(unreachable)"), 0, edges,
			 0);
	else if (node < writing->first_root)
		put_node(writing, node, NODE_SYNTHETIC, text_of(writing, "(several roots)"), 0,
			 edges, 0);
	else if (node < writing->first_object)
		put_node(writing, node, NODE_NATIVE,
			 text_of(writing,
				 export_root_name(session,
						  writing->roots[node - writing->first_root])),
			 0, edges, 0);
	else if (node < writing->first_group)
		put_object_node(writing, writing->kept[node - writing->first_object], edges);
	else
		put_group_node(writing, node, edges);
}

static struct walk begin_walk(struct writing *writing)
{
	writing->edges = 0;
	writing->has_written = false;
	return (struct walk){ writing, 0, writing->first_piece };
}

static void put_pieces_of(struct writing *writing, uint64_t size, uint32_t *node)
{
	for (uint32_t i = pieces_of(size); i > 0; i--) {
		size -= PIECE;
		put_node(writing, (*node)++, NODE_NATIVE, text_of(writing, "(continued)"),
			 size > PIECE ? PIECE : size, 0, 0);
	}
}

static void put_pieces(struct writing *writing)
{
	uint32_t node = writing->first_piece;

	for (uint32_t i = 0; i < writing->kept_count; i++)
		put_pieces_of(writing, writing->snapshot->size[writing->kept[i]], &node);
	for (uint32_t i = 0; i < writing->merge.group_count; i++)
		put_pieces_of(writing, writing->merge.groups[i].bytes, &node);
}

static void put_nodes(struct writing *writing)
{
	struct walk walk = begin_walk(writing);

	fputs("\"nodes\":[", writing->file);
	writing->counts_only = true;
	for (uint32_t i = 0; i < writing->first_piece && !session_must_stop(writing->session);
	     i++) {
		const void *mark = session_mark(writing->session);
		uint64_t before = writing->edges;

		put_edges_of(&walk, i);
		put_node_of(writing, i, writing->edges - before);
		session_release(writing->session, mark);
	}
	put_pieces(writing);
	writing->counts_only = false;
}

static void put_edges(struct writing *writing)
{
	struct walk walk = begin_walk(writing);

	fputs("],\n\"edges\":[", writing->file);
	for (uint32_t i = 0; i < writing->first_piece && !session_must_stop(writing->session);
	     i++) {
		const void *mark = session_mark(writing->session);

		put_edges_of(&walk, i);
		session_release(writing->session, mark);
	}
}

// --- where objects were allocated --------------------------------------------

static void put_trace_functions(struct writing *writing)
{
	const struct export_stacks *stacks = &writing->stacks;

	fputs("],\n\"trace_function_infos\":[", writing->file);
	for (uint32_t i = 0; i < stacks->frame_count; i++) {
		const struct export_frame *frame = &stacks->frames[i];

		fprintf(writing->file,
			"%s\n%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",0",
			i ? "," : "", i, frame->name, frame->file, frame->file, frame->line);
	}
}

// The first child of each node, and the next of the same parent. @return [2][count], or NULL
static uint32_t *link_children(const struct export_stacks *stacks)
{
	uint32_t *links = calloc((size_t)stacks->count * 2, sizeof(*links));

	for (uint32_t i = stacks->count; links && --i > 0;) {
		links[stacks->count + i] = links[stacks->nodes[i].parent];
		links[stacks->nodes[i].parent] = i;
	}
	return links;
}

// Nested, without recursion: [id, function, count, size, [children]]
HEAP_MUST_CHECK
static struct heap_error *put_trace_tree(struct writing *writing)
{
	const struct export_stacks *stacks = &writing->stacks;
	CLEANUP_FREE uint32_t *links = link_children(stacks);
	uint32_t node = 0;

	if (!links)
		return heap_error_out_of_memory();
	fputs("],\n\"trace_tree\":[", writing->file);
	for (;;) {
		const struct export_stack_node *at = &stacks->nodes[node];

		fprintf(writing->file, "%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",[",
			node + 1, at->frame, at->objects, at->bytes);
		if (links[node]) {
			node = links[node];
			continue;
		}
		fputs("]", writing->file);
		while (node > 0 && links[stacks->count + node] == 0) {
			node = stacks->nodes[node].parent;
			fputs("]", writing->file);
		}
		if (node == 0)
			break;
		node = links[stacks->count + node];
		fputs(",", writing->file);
	}
	return NULL;
}

static void put_strings(struct writing *writing)
{
	fputs("],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[", writing->file);
	for (uint32_t i = 0; i < writing->texts.offsets.count; i++) {
		fputs(i ? ",\n" : "\n", writing->file);
		export_json_string(writing->file, export_texts_get(&writing->texts, i));
	}
	fputs("]}\n", writing->file);
}

// --- the file ----------------------------------------------------------------

static uint64_t count_edges(struct writing *writing)
{
	struct walk walk = begin_walk(writing);

	writing->counts_only = true;
	for (uint32_t i = 0; i < writing->first_piece; i++) {
		const void *mark = session_mark(writing->session);

		put_edges_of(&walk, i);
		session_release(writing->session, mark);
	}
	writing->counts_only = false;
	return writing->edges;
}

HEAP_MUST_CHECK
static struct heap_error *put_all(struct writing *writing)
{
	HEAP_TRY(number_nodes(writing));
	HEAP_TRY(link_extras(writing));
	fputs(header, writing->file);
	fprintf(writing->file,
		"\"node_count\":%" PRIu32 ",\"edge_count\":%" PRIu64
		",\"trace_function_count\":%" PRIu32 "},\n",
		writing->end, count_edges(writing), writing->stacks.frame_count);
	put_nodes(writing);
	put_edges(writing);
	put_trace_functions(writing);
	HEAP_TRY(put_trace_tree(writing));
	put_strings(writing);
	return writing->texts.failed ? heap_error_out_of_memory() : NULL;
}

static void writing_deinit(struct writing *writing)
{
	export_merge_deinit(&writing->merge);
	export_stacks_deinit(&writing->stacks);
	export_texts_deinit(&writing->texts);
	free(writing->fields);
	free(writing->root_node);
	free(writing->kept);
	free(writing->node_of);
	free(writing->extras);
	free(writing->first_extra);
	free(writing->roots);
}

struct heap_error *export_heapsnapshot(struct export *export)
{
	CLEANUP(writing_deinit)
	struct writing writing = {
		.session = export->session,
		.file = export->stream,
		.fields = calloc(FIELD_SLOTS, sizeof(*writing.fields)),
	};

	struct heap_graph *nodes;

	export_texts_init(&writing.texts);
	if (!writing.fields)
		return heap_error_out_of_memory();
	HEAP_TRY(session_nodes(writing.session, &nodes));
	writing.snapshot = nodes->snapshot;
	HEAP_TRY(export_stacks_init(&writing.stacks, writing.session, EXPORT_BY_SITES,
				    &writing.texts));
	HEAP_TRY(export_merge_init(&writing.merge, writing.session, writing.snapshot,
				   export->options->min, &writing.texts));
	return put_all(&writing);
}
