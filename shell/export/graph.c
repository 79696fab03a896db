// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A part of the graph, for Graphviz and as GraphML: the objects around one, or those nearest
 * to the roots.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/print/describe.h"
#include "shell/export/export.h"
#include "shell/print/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The chosen objects, the nearest first.
struct choice {
	struct session *session;
	heap_object_id *objects; // [count]
	uint32_t count;
	uint8_t *is_chosen; // [objects]
};

static void choose(struct choice *choice, heap_object_id object, uint64_t limit)
{
	if (choice->is_chosen[object] || choice->count >= limit)
		return;
	choice->is_chosen[object] = true;
	choice->objects[choice->count++] = object;
}

// Visits the targets of an object, and on demand its referrers.
static void choose_around(struct choice *choice, heap_object_id object, bool both, uint64_t limit)
{
	const struct heap_snapshot *snapshot = choice->session->snapshot;
	const struct heap_graph *graph = choice->session->graph;

	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++)
		choose(choice, snapshot->edge_target[i], limit);
	for (uint32_t i = graph->in_first[object]; both && i < graph->in_first[object + 1]; i++)
		choose(choice, graph->in_source[i], limit);
}

HEAP_MUST_CHECK
static struct heap_error *choose_objects(struct choice *choice,
					 const struct export_options *options)
{
	const struct heap_snapshot *snapshot = choice->session->snapshot;
	size_t count = snapshot->object_count;
	bool around_one = options->object != HEAP_NO_OBJECT;
	uint32_t from = 0;

	choice->objects = calloc(count + 1, sizeof(*choice->objects));
	choice->is_chosen = calloc(count + 1, 1);
	if (!choice->objects || !choice->is_chosen)
		return heap_error_out_of_memory();
	if (around_one)
		choose(choice, options->object, options->limit);
	for (uint64_t i = 0; !around_one && i < snapshot->root_edge_count; i++)
		choose(choice, snapshot->root_edges[i].target, options->limit);
	for (uint64_t step = 0; step < options->depth && from < choice->count; step++) {
		uint32_t end = choice->count;

		for (; from < end; from++)
			choose_around(choice, choice->objects[from], around_one, options->limit);
	}
	return NULL;
}

// --- writing -----------------------------------------------------------------

struct style {
	void (*begin)(FILE *file, const char *name);
	void (*object)(FILE *file, struct session *session, heap_object_id object);
	void (*root)(FILE *file, struct session *session, heap_root_id root);
	void (*edge)(FILE *file, const char *from, const char *to, const char *field, bool typed);
	const char *end;
};

static void write_objects(const struct choice *choice, const struct style *style, FILE *file)
{
	for (uint32_t i = 0; i < choice->count && !session_must_stop(choice->session); i++) {
		const void *mark = session_mark(choice->session);

		style->object(file, choice->session, choice->objects[i]);
		session_release(choice->session, mark);
	}
}

static void write_edges_of(const struct choice *choice, const struct style *style, FILE *file,
			   heap_object_id object)
{
	struct session *session = choice->session;
	const struct heap_snapshot *snapshot = session->snapshot;

	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		const void *mark = session_mark(session);
		heap_object_id target = snapshot->edge_target[i];

		if (choice->is_chosen[target])
			style->edge(file, session_format(session, "o%" PRIu32, object),
				    session_format(session, "o%" PRIu32, target),
				    field_of_object(session, object,
						    (uint64_t)snapshot->edge_slot[i] * 8),
				    snapshot->edge_flags[i] & HEAP_EDGE_TYPED);
		session_release(session, mark);
	}
}

// Writes the roots that hold chosen objects. Root edges are sorted by root.
static void write_roots(const struct choice *choice, const struct style *style, FILE *file)
{
	struct session *session = choice->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_root_id last = UINT32_MAX;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const void *mark = session_mark(session);

		if (!choice->is_chosen[edge->target])
			continue;
		if (edge->root != last)
			style->root(file, session, edge->root);
		last = edge->root;
		style->edge(file, session_format(session, "r%" PRIu32, edge->root),
			    session_format(session, "o%" PRIu32, edge->target),
			    field_of_root(session, edge->root, edge->offset),
			    edge->flags & HEAP_EDGE_TYPED);
		session_release(session, mark);
	}
}

HEAP_MUST_CHECK
static struct heap_error *write_graph(struct export *export, const struct style *style)
{
	CLEANUP_FREE heap_object_id *objects = NULL;
	CLEANUP_FREE uint8_t *is_chosen = NULL;
	struct choice choice = { .session = export->session };
	struct heap_error *error;

	HEAP_TRY(heap_graph_need_reverse(export->session->graph));
	error = choose_objects(&choice, export->options);
	objects = choice.objects;
	is_chosen = choice.is_chosen;
	if (error)
		return error;
	style->begin(export->stream, export->session->snapshot->info.program);
	write_objects(&choice, style, export->stream);
	write_roots(&choice, style, export->stream);
	for (uint32_t i = 0; i < choice.count && !session_must_stop(export->session); i++)
		write_edges_of(&choice, style, export->stream, choice.objects[i]);
	fputs(style->end, export->stream);
	return NULL;
}

// --- dot ---------------------------------------------------------------------

static void put_dot_text(FILE *file, const char *text)
{
	fputc('"', file);
	heap_escape_put(file, HEAP_ESCAPE_DOT, text);
	fputc('"', file);
}

static void begin_dot(FILE *file, const char *name)
{
	fputs("digraph ", file);
	put_dot_text(file, name);
	fputs(" {\n\trankdir=LR;\n\tnode [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
	      "\tedge [fontname=\"sans-serif\", fontsize=9];\n",
	      file);
}

static void put_dot_object(FILE *file, struct session *session, heap_object_id object)
{
	fprintf(file, "\to%" PRIu32 " [label=\"", object);
	heap_escape_put(file, HEAP_ESCAPE_DOT, describe_object(session, object));
	fprintf(file, "\\n%s\"];\n", describe_bytes(session, session->snapshot->size[object]));
}

static void put_dot_root(FILE *file, struct session *session, heap_root_id root)
{
	fprintf(file, "\tr%" PRIu32 " [shape=ellipse, label=", root);
	put_dot_text(file, export_root_name(session, root));
	fputs("];\n", file);
}

static void put_dot_edge(FILE *file, const char *from, const char *to, const char *field,
			 bool typed)
{
	fprintf(file, "\t%s -> %s [label=", from, to);
	put_dot_text(file, field);
	fprintf(file, "%s];\n", typed ? "" : ", style=dashed");
}

struct heap_error *export_dot(struct export *export)
{
	static const struct style style = { begin_dot, put_dot_object, put_dot_root, put_dot_edge,
					    "}\n" };

	return write_graph(export, &style);
}

// --- graphml -----------------------------------------------------------------

static void put_xml_data(FILE *file, const char *key, const char *text)
{
	fprintf(file, "<data key=\"%s\">", key);
	heap_escape_put(file, HEAP_ESCAPE_XML, text);
	fputs("</data>", file);
}

static void begin_graphml(FILE *file, const char *name)
{
	static const char *const keys[][3] = {
		{ "kind", "node", "string" },  { "type", "node", "string" },
		{ "label", "node", "string" }, { "address", "node", "string" },
		{ "size", "node", "long" },    { "retained", "node", "long" },
		{ "field", "edge", "string" }, { "typed", "edge", "boolean" },
	};

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
	      file);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		fprintf(file, "<key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n",
			keys[i][0], keys[i][1], keys[i][0], keys[i][2]);
	fputs("<graph id=\"", file);
	heap_escape_put(file, HEAP_ESCAPE_XML, name);
	fputs("\" edgedefault=\"directed\">\n", file);
}

static void put_graphml_object(FILE *file, struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	fprintf(file, "<node id=\"o%" PRIu32 "\">", object);
	put_xml_data(file, "kind", "object");
	put_xml_data(file, "type", describe_type_of(session, object));
	put_xml_data(file, "label", describe_object(session, object));
	fprintf(file,
		"<data key=\"address\">0x%" PRIx64 "</data><data key=\"size\">%" PRIu64
		"</data><data key=\"retained\">%" PRIu64 "</data></node>\n",
		snapshot->address[object], snapshot->size[object],
		session_retained(session, object));
}

static void put_graphml_root(FILE *file, struct session *session, heap_root_id root)
{
	fprintf(file, "<node id=\"r%" PRIu32 "\">", root);
	put_xml_data(file, "kind", "root");
	put_xml_data(file, "type", describe_type(session, session->snapshot->roots[root].type));
	put_xml_data(file, "label", export_root_name(session, root));
	fputs("</node>\n", file);
}

static void put_graphml_edge(FILE *file, const char *from, const char *to, const char *field,
			     bool typed)
{
	fprintf(file, "<edge source=\"%s\" target=\"%s\">", from, to);
	put_xml_data(file, "field", field);
	put_xml_data(file, "typed", typed ? "true" : "false");
	fputs("</edge>\n", file);
}

struct heap_error *export_graphml(struct export *export)
{
	static const struct style style = { begin_graphml, put_graphml_object, put_graphml_root,
					    put_graphml_edge, "</graph>\n</graphml>\n" };

	return write_graph(export, &style);
}
