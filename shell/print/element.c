// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/element.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"

#include <inttypes.h>

enum {
	MAX_CONTENT = 16 << 20, // bytes that are read of an object
};

// The bytes of the object or variable around it.
HEAP_MUST_CHECK
static struct heap_error *load(struct session *session, const struct element *element,
			       struct value *value)
{
	struct heap_snapshot *snapshot = session->snapshot;

	if (element->object == HEAP_NO_OBJECT) {
		const struct heap_root *root = &snapshot->roots[element->root];

		*value = (struct value){ .bytes = snapshot->root_content + root->content,
					 .kept = root->content_size,
					 .size = root->size,
					 .object = HEAP_NO_OBJECT,
					 .address = root->address };
		return NULL;
	}

	uint64_t size = snapshot->size[element->object], wanted = size;

	if (wanted > snapshot->info.content_limit)
		wanted = snapshot->info.content_limit;
	if (wanted > MAX_CONTENT)
		wanted = MAX_CONTENT;

	uint8_t *bytes = session_allocate(session, wanted);
	size_t kept;

	if (!bytes)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_snapshot_read_content(snapshot, element->object, bytes, wanted, &kept));
	if (kept < size) // the edges say what bytes that were not kept do not
		HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_SLOTS));
	*value = (struct value){ .bytes = bytes,
				 .kept = kept,
				 .size = size,
				 .object = element->object,
				 .address = snapshot->address[element->object] };
	return NULL;
}

static void print_header(struct session *session, const struct element *element)
{
	struct output *output = session->output;
	bool in_object = element->object != HEAP_NO_OBJECT;
	uint64_t size = heap_types_size(&session->snapshot->types, element->type);
	const char *type = describe_type(session, element->type);

	output_text(output, "%s: %s, %s, in %s\n", element->path,
		    element->count
			    ? session_format(session, "%" PRIu64 " of %s", element->count, type)
			    : type,
		    describe_bytes(session, size * (element->count ? element->count : 1)),
		    in_object ? describe_object(session, element->object)
			      : describe_root(session, element->root));
	if (in_object)
		describe_object_json(session, "object", element->object);
	else
		describe_root_json(session, "root", element->root);
	output_string(output, "type", type);
	output_number(output, "offset", element->offset);
}

struct heap_error *element_print(struct session *session, const struct element *element,
				 enum value_limit limit)
{
	uint64_t stride = heap_types_size(&session->snapshot->types, element->type);
	struct value value;

	HEAP_TRY(load(session, element, &value));
	output_open_object(session->output, NULL);
	print_header(session, element);
	if (element->count == 0) {
		value_print_members_at(session, &value, element->type, element->offset, 2, limit);
		return NULL;
	}
	session_allow_lines(session, value.kept);
	output_open_object(session->output, "elements");
	for (uint64_t i = 0; i < element->count && !session_must_stop(session); i++)
		value_print(session, &value, element->type, element->offset + i * stride,
			    session_format(session, "[%" PRIu64 "]", element->first + i), 2, limit);
	output_close(session->output);
	return NULL;
}
