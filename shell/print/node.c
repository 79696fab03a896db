// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/node.h"

#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/print/part.h"

enum {
	WORD = 8,
};

const char *node_describe(struct session *session, heap_node_id node)
{
	const struct heap_divided *divided = session->divided;
	const struct heap_part *part = heap_divided_part(divided, node);

	if (part)
		return part_describe(session, part);
	return heap_divided_is_object(divided, node)
		       ? describe_object(session, node)
		       : describe_root(session, node - divided->objects);
}

void node_json(struct session *session, const char *prefix, heap_node_id node)
{
	const struct heap_divided *divided = session->divided;
	const struct heap_part *part = heap_divided_part(divided, node);

	if (part)
		part_json(session, session_format(session, "%spart", prefix), part);
	else if (heap_divided_is_object(divided, node))
		describe_object_json(session, session_format(session, "%sobject", prefix), node);
	else
		describe_root_json(session, session_format(session, "%sroot", prefix),
				   node - divided->objects);
}

uint64_t node_address(const struct session *session, heap_node_id node)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	return part ? session->snapshot->address[part->object] + part->offset
		    : session->snapshot->address[node];
}

uint64_t node_size(const struct session *session, heap_node_id node)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	return part ? session->divided->graph->snapshot->size[node] : session->snapshot->size[node];
}

uint64_t node_retained(const struct session *session, heap_node_id node)
{
	return node < session->snapshot->object_count ? session_retained(session, node)
						      : session->dominators->retained[node];
}

uint64_t node_elements(const struct session *session, heap_node_id node)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	return part ? part->elements : session->snapshot->elements[node];
}

uint32_t node_slot(const struct session *session, heap_node_id node, uint32_t edge)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	return session->snapshot->edge_slot[edge] - (part ? (uint32_t)(part->offset / WORD) : 0);
}

const char *node_field_at(struct session *session, heap_node_id node, uint64_t offset)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	return part ? field_of_part(session, part, part->offset + offset)
		    : field_of_object(session, node, offset);
}

const char *node_field(struct session *session, heap_node_id node, uint32_t edge)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);
	uint64_t offset = (uint64_t)session->snapshot->edge_slot[edge] * WORD;

	return node_field_at(session, node, part ? offset - part->offset : offset);
}

const char *node_interior(struct session *session, heap_node_id node, uint64_t interior)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	return part ? field_interior_of_part(session, part, interior)
		    : field_interior(session, node, interior);
}

void node_print_leaked(struct session *session, heap_node_id node)
{
	struct output *output = session->output;

	output_text(output, "no root reaches %s: leaked\n", node_describe(session, node));
	output_open_object(output, NULL);
	node_json(session, "", node);
	output_number(output, "own", node_size(session, node));
	output_number(output, "retained", 0);
}

void node_remember(struct session *session, heap_node_id node)
{
	const struct heap_part *part = heap_divided_part(session->divided, node);

	if (part)
		session_remember_part(session, part->object, part->offset);
	else if (heap_divided_is_object(session->divided, node))
		session_remember(session, node);
}
