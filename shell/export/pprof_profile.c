// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * pprof's profile.proto: a sample per stack and type, with objects and bytes in use.
 */
#include "shell/print/describe.h"
#include "shell/export/stacks.h"
#include "shell/export/pprof.h"

#include <stdlib.h>
#include <string.h>

struct profile {
	struct session *session;
	struct export_texts texts;
	struct export_stacks stacks;
	struct protobuf message, inner, innermost;
};

static void put_value_type(struct profile *profile, const char *type, const char *unit)
{
	protobuf_put_number(&profile->inner, VALUE_TYPE, export_texts_add(&profile->texts, type));
	protobuf_put_number(&profile->inner, VALUE_UNIT, export_texts_add(&profile->texts, unit));
	protobuf_put_message(&profile->message, PROFILE_SAMPLE_TYPE, &profile->inner);
}

// Locations have the numbers of frames, so that 0, which is none in pprof, is the root.
static void put_sample(struct profile *profile, const struct export_sample *sample)
{
	const struct export_stack_node *nodes = profile->stacks.nodes;
	struct protobuf *inner = &profile->inner, *innermost = &profile->innermost;

	for (uint32_t node = sample->node; node > 0; node = nodes[node].parent)
		protobuf_put_varint(innermost, nodes[node].frame);
	protobuf_put_message(inner, SAMPLE_LOCATION, innermost);
	protobuf_put_varint(innermost, sample->objects);
	protobuf_put_varint(innermost, sample->bytes);
	protobuf_put_message(inner, SAMPLE_VALUE, innermost);
	protobuf_put_number(innermost, LABEL_KEY, export_texts_add(&profile->texts, "type"));
	protobuf_put_number(innermost, LABEL_TEXT, sample->class);
	protobuf_put_message(inner, SAMPLE_LABEL, innermost);
	protobuf_put_message(&profile->message, PROFILE_SAMPLE, inner);
}

static void put_mappings(struct profile *profile)
{
	const struct heap_snapshot *snapshot = profile->session->snapshot;
	struct protobuf *inner = &profile->inner;

	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const struct heap_module *module = &snapshot->modules[i];

		protobuf_put_number(inner, MAPPING_ID, i + 1);
		protobuf_put_number(inner, MAPPING_START, module->start);
		protobuf_put_number(inner, MAPPING_LIMIT, module->end);
		protobuf_put_number(inner, MAPPING_FILE,
				    export_texts_add(&profile->texts,
						     heap_snapshot_string(snapshot, module->path)));
		protobuf_put_number(
			inner, MAPPING_BUILD_ID,
			export_texts_add(&profile->texts,
					 heap_snapshot_string(snapshot, module->build_id)));
		// Readers need not look for symbols: all that is known is here.
		for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINED; has++)
			protobuf_put_number(inner, has, true);
		protobuf_put_message(&profile->message, PROFILE_MAPPING, inner);
	}
}

// Writes a function per frame; readers merge those of one name and file.
static void put_locations(struct profile *profile)
{
	struct protobuf *inner = &profile->inner, *innermost = &profile->innermost;

	for (uint32_t i = 1; i < profile->stacks.frame_count; i++) {
		const struct export_frame *frame = &profile->stacks.frames[i];

		protobuf_put_number(inner, LOCATION_ID, i);
		protobuf_put_number(inner, LOCATION_MAPPING,
				    frame->module == HEAP_NO_INDEX ? 0 : frame->module + 1);
		protobuf_put_number(inner, LOCATION_ADDRESS, frame->address);
		protobuf_put_number(innermost, LINE_FUNCTION, i);
		protobuf_put_number(innermost, LINE_NUMBER, frame->line);
		protobuf_put_message(inner, LOCATION_LINE, innermost);
		protobuf_put_message(&profile->message, PROFILE_LOCATION, inner);

		protobuf_put_number(inner, FUNCTION_ID, i);
		protobuf_put_number(inner, FUNCTION_NAME, frame->name);
		protobuf_put_number(inner, FUNCTION_SYSTEM_NAME, frame->name);
		protobuf_put_number(inner, FUNCTION_FILE, frame->file);
		protobuf_put_message(&profile->message, PROFILE_FUNCTION, inner);
	}
}

static void put_profile(struct profile *profile)
{
	const struct heap_info *info = &profile->session->snapshot->info;

	put_value_type(profile, "inuse_objects", "count");
	put_value_type(profile, "inuse_space", "bytes");
	for (size_t i = 0; i < profile->stacks.sample_count; i++)
		put_sample(profile, &profile->stacks.samples[i]);
	put_mappings(profile);
	put_locations(profile);
	protobuf_put_number(&profile->message, PROFILE_TIME, info->time_ns);
	protobuf_put_number(&profile->message, PROFILE_COMMENT,
			    export_texts_add(&profile->texts, info->command));
	protobuf_put_number(&profile->message, PROFILE_DEFAULT_SAMPLE_TYPE,
			    export_texts_add(&profile->texts, "inuse_space"));
	for (uint32_t i = 0; i < profile->texts.offsets.count; i++) {
		const char *text = export_texts_get(&profile->texts, i);

		protobuf_put_text(&profile->message, PROFILE_STRING, text);
	}
}

struct heap_error *export_pprof(struct export *export)
{
	struct profile profile = { .session = export->session };
	struct heap_error *error;

	export_texts_init(&profile.texts);
	error = export_stacks_init(&profile.stacks, export->session, export->options->by,
				   &profile.texts);
	if (!error) {
		put_profile(&profile);
		error = profile.message.failed || profile.texts.failed
				? heap_error_out_of_memory()
				: protobuf_compress(&profile.message, export->stream);
		export_stacks_deinit(&profile.stacks);
	}
	export_texts_deinit(&profile.texts);
	free(profile.message.bytes);
	free(profile.inner.bytes);
	free(profile.innermost.bytes);
	return error;
}
