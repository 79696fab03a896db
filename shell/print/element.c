// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/element.h"

#include "shell/print/value_print.h"
#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/print/place.h"

#include <inttypes.h>

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

	HEAP_TRY(place_load(session, element->object, element->root, &value));
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
