// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Heap graphs of Perfetto (protos/perfetto/trace/profiling/heap_graph.proto), as its importer reads them
 * (src/trace_processor/importers/proto/heap_graph_module.cc).
 *
 *	a root ─▶ an object named as the variable ─▶ objects ─▶ objects
 *
 * Peculiarities: (a) Roots have no names there, so each is an object without bytes, of a type of that
 * name. (b) Packets of one graph are numbered from 0 on, and all but the last are continued. (c) An object
 * whose references and their fields differ in number is dropped. (d) A field's name ends at its first
 * space; what precedes that is taken for its type. (e) A self_size of 0 would be replaced by the type's,
 * which is not given, therefore.
 */
#include "lib/base/cleanup.h"
#include "shell/export/export.h"
#include "shell/export/pprof.h"
#include "shell/export/texts.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/print/node.h"

#include <string.h>

enum {
	TRACE_PACKET = 1,
	PACKET_PROCESS_TREE = 2,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_HEAP_GRAPH = 56,
	TREE_PROCESS = 1,
	PROCESS_PID = 1,
	PROCESS_COMMAND = 3,
	GRAPH_PID = 1,
	GRAPH_OBJECT = 2,
	GRAPH_FIELD_NAME = 4,
	GRAPH_CONTINUED = 5,
	GRAPH_INDEX = 6,
	GRAPH_ROOT = 7,
	GRAPH_TYPE = 9,
	OBJECT_ID = 1,
	OBJECT_TYPE = 2,
	OBJECT_SIZE = 3,
	OBJECT_FIELDS = 4,
	OBJECT_REFERENCES = 5,
	TYPE_ID = 1,
	TYPE_NAME = 3,
	ROOT_OBJECTS = 1,
	ROOT_TYPE = 2,
	NAME_ID = 1,
	NAME_TEXT = 2,
	PACKET_MOST = 1 << 20, // bytes after which another packet begins
	SEQUENCE = 1,
};

// HeapGraphRoot.Type
static const uint8_t root_types[HEAP_ROOT_KINDS] = {
	[HEAP_ROOT_GLOBAL] = 5,       // ROOT_STICKY_CLASS
	[HEAP_ROOT_THREAD_LOCAL] = 8, // ROOT_THREAD_OBJECT
	[HEAP_ROOT_LOCAL] = 3,        // ROOT_JAVA_FRAME
	[HEAP_ROOT_REGISTER] = 4,     // ROOT_NATIVE_STACK
	[HEAP_ROOT_STACK] = 4,        // the same
	[HEAP_ROOT_SEGMENT] = 5,      // ROOT_STICKY_CLASS
	[HEAP_ROOT_MAPPING] = 13,     // ROOT_VM_INTERNAL
};

struct writing {
	struct session *session;
	const struct heap_snapshot *nodes; // objects, and parts of pools
	FILE *file;
	struct export_texts types, fields; // their numbers are the ids
	struct protobuf graph;             // of the packet that is being filled
	struct protobuf object, field_ids, references;
	struct protobuf packet, trace; // scratch
	uint64_t index;                // of that packet
};

static void writing_deinit(struct writing *writing)
{
	struct protobuf *messages[] = { &writing->graph,      &writing->object, &writing->field_ids,
					&writing->references, &writing->packet, &writing->trace };

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		free(messages[i]->bytes);
	export_texts_deinit(&writing->types);
	export_texts_deinit(&writing->fields);
}

// --- packets -------------------------------------------------------------------------

// Writes the packet's message, which is emptied.
HEAP_MUST_CHECK
static struct heap_error *write_packet(struct writing *writing, unsigned field,
				       struct protobuf *message)
{
	struct protobuf *packet = &writing->packet, *trace = &writing->trace;

	protobuf_put_number(packet, PACKET_TIMESTAMP, writing->session->snapshot->info.time_ns);
	protobuf_put_number(packet, PACKET_SEQUENCE, SEQUENCE);
	protobuf_put_message(packet, field, message);
	trace->size = 0;
	protobuf_put_message(trace, TRACE_PACKET, packet);
	if (trace->failed)
		return heap_error_out_of_memory();
	fwrite(trace->bytes, 1, trace->size, writing->file);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *write_graph(struct writing *writing, bool continued)
{
	struct protobuf *graph = &writing->graph;

	protobuf_put_number(graph, GRAPH_PID, writing->session->snapshot->info.pid);
	protobuf_put_number(graph, GRAPH_CONTINUED, continued);
	protobuf_put_number(graph, GRAPH_INDEX, writing->index++);
	return write_packet(writing, PACKET_HEAP_GRAPH, graph);
}

HEAP_MUST_CHECK
static struct heap_error *write_if_full(struct writing *writing)
{
	return writing->graph.size < PACKET_MOST ? NULL : write_graph(writing, true);
}

// Names the process, so that the user interface shows the graph below it.
HEAP_MUST_CHECK
static struct heap_error *write_process(struct writing *writing)
{
	const struct heap_info *info = &writing->session->snapshot->info;

	protobuf_put_number(&writing->object, PROCESS_PID, info->pid);
	protobuf_put_text(&writing->object, PROCESS_COMMAND, info->program);
	protobuf_put_message(&writing->graph, TREE_PROCESS, &writing->object);
	return write_packet(writing, PACKET_PROCESS_TREE, &writing->graph);
}

// --- the graph -----------------------------------------------------------------------

static uint64_t object_id(heap_node_id node)
{
	return (uint64_t)node + 1;
}

static void put_reference(struct writing *writing, const char *field, heap_node_id target)
{
	char *name = (char *)(*field ? field : "value");

	if (strchr(name, ' ')) {
		name = session_allocate(writing->session, strlen(field) + 1);
		if (!name) {
			writing->object.failed = true;
			return;
		}
		strcpy(name, field);
		for (char *at = name; *at; at++)
			*at = *at == ' ' ? '_' : *at;
	}
	protobuf_put_varint(&writing->field_ids, export_texts_add(&writing->fields, name));
	protobuf_put_varint(&writing->references, object_id(target));
}

static void put_object(struct writing *writing, uint64_t id, const char *type, uint64_t size)
{
	struct protobuf *object = &writing->object;

	protobuf_put_number(object, OBJECT_ID, id);
	protobuf_put_number(object, OBJECT_TYPE, export_texts_add(&writing->types, type));
	protobuf_put_number(object, OBJECT_SIZE, size);
	if (writing->references.size > 0) {
		protobuf_put_message(object, OBJECT_FIELDS, &writing->field_ids);
		protobuf_put_message(object, OBJECT_REFERENCES, &writing->references);
	}
	protobuf_put_message(&writing->graph, GRAPH_OBJECT, object);
}

// The pointers that leave an object or a part, and what joins a part to its pool.
static void put_references(struct writing *writing, heap_node_id node)
{
	struct session *session = writing->session;
	const struct heap_snapshot *nodes = writing->nodes;

	for (uint32_t i = nodes->edge_first[node]; i < nodes->edge_first[node + 1]; i++) {
		uint32_t edge = heap_divided_edge(session->divided, i);

		put_reference(writing,
			      edge == UINT32_MAX ? "(part)" : node_field(session, node, edge),
			      nodes->edge_target[i]);
	}
}

HEAP_MUST_CHECK
static struct heap_error *write_objects(struct writing *writing)
{
	struct session *session = writing->session;
	const struct heap_snapshot *nodes = writing->nodes;

	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		SESSION_SCOPE(session);

		if (session_must_stop(session))
			break;
		HEAP_TRY(heap_progress_step(&session->progress.progress, "perfetto", i,
					    nodes->object_count));
		put_references(writing, i);
		put_object(writing, object_id(i), export_class(session, i), nodes->size[i]);
		HEAP_TRY(write_if_full(writing));
	}
	return NULL;
}

static void put_root(struct writing *writing, heap_root_id root)
{
	struct session *session = writing->session;
	uint64_t id = object_id(heap_divided_root(session->divided, root));
	struct protobuf *message = &writing->object;

	put_object(writing, id, export_root_name(session, root), 0);
	protobuf_put_varint(&writing->references, id);
	protobuf_put_message(message, ROOT_OBJECTS, &writing->references);
	protobuf_put_number(message, ROOT_TYPE, root_types[session->snapshot->roots[root].kind]);
	protobuf_put_message(&writing->graph, GRAPH_ROOT, message);
}

// Root edges are sorted by root; roots that hold nothing are left out.
HEAP_MUST_CHECK
static struct heap_error *write_roots(struct writing *writing)
{
	struct session *session = writing->session;
	const struct heap_snapshot *nodes = writing->nodes;

	for (uint64_t i = 0; i < nodes->root_edge_count;) {
		heap_root_id root = nodes->root_edges[i].root;
		SESSION_SCOPE(session);

		for (; i < nodes->root_edge_count && nodes->root_edges[i].root == root; i++)
			put_reference(writing,
				      field_of_root(session, root, nodes->root_edges[i].offset),
				      nodes->root_edges[i].target);
		put_root(writing, root);
		HEAP_TRY(write_if_full(writing));
	}
	return NULL;
}

// Writes the names that the graph has used, after the graph.
HEAP_MUST_CHECK
static struct heap_error *write_names(struct writing *writing)
{
	struct protobuf *message = &writing->object;

	if (writing->types.failed || writing->fields.failed)
		return heap_error_out_of_memory();
	for (uint32_t i = 1; i < writing->types.offsets.count; i++) {
		protobuf_put_number(message, TYPE_ID, i);
		protobuf_put_text(message, TYPE_NAME, export_texts_get(&writing->types, i));
		protobuf_put_message(&writing->graph, GRAPH_TYPE, message);
		HEAP_TRY(write_if_full(writing));
	}
	for (uint32_t i = 1; i < writing->fields.offsets.count; i++) {
		protobuf_put_number(message, NAME_ID, i);
		protobuf_put_text(message, NAME_TEXT, export_texts_get(&writing->fields, i));
		protobuf_put_message(&writing->graph, GRAPH_FIELD_NAME, message);
		HEAP_TRY(write_if_full(writing));
	}
	return NULL;
}

struct heap_error *export_perfetto(struct export *export)
{
	CLEANUP(writing_deinit)
	struct writing writing = { .session = export->session, .file = export->stream };

	struct heap_graph *nodes;

	export_texts_init(&writing.types);
	export_texts_init(&writing.fields);
	HEAP_TRY(session_nodes(writing.session, &nodes));
	writing.nodes = nodes->snapshot;
	HEAP_TRY(write_process(&writing));
	HEAP_TRY(write_objects(&writing));
	HEAP_TRY(write_roots(&writing));
	HEAP_TRY(write_names(&writing));
	return write_graph(&writing, false);
}
