// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Flame graphs: collapsed stacks, a line each, and the files of speedscope.app. The class of
 * the objects is the innermost frame, which stacks of owners have already.
 */
#include "lib/base/escape.h"
#include "shell/export/stacks.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	MAX_FRAMES = 1024, // of a stack
};

// Lists the frames of a stack, outermost first. @return their number
static size_t list_frames(const struct export_stacks *stacks, uint32_t node,
			  uint32_t frames[MAX_FRAMES])
{
	size_t count = 0;

	for (uint32_t at = node; at > 0 && count < MAX_FRAMES; at = stacks->nodes[at].parent)
		frames[count++] = stacks->nodes[at].frame;
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t other = frames[i];

		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = other;
	}
	return count;
}

// --- collapsed ---------------------------------------------------------------

// A semicolon ends a frame, and a line a stack.
static void put_frame(FILE *file, const char *name, bool is_first)
{
	if (!is_first)
		fputc(';', file);
	heap_escape_put(file, HEAP_ESCAPE_FOLDED, name);
}

static void put_stack(const struct export *export, const struct export_stacks *stacks,
		      const struct export_sample *sample)
{
	uint32_t frames[MAX_FRAMES];
	size_t count = list_frames(stacks, sample->node, frames);

	for (size_t i = 0; i < count; i++)
		put_frame(export->stream,
			  export_texts_get(stacks->texts, stacks->frames[frames[i]].name), i == 0);
	if (export->options->by != EXPORT_BY_OWNERS)
		put_frame(export->stream, export_texts_get(stacks->texts, sample->class),
			  count == 0);
	fprintf(export->stream, " %" PRIu64 "\n", sample->bytes);
}

struct heap_error *export_collapsed(struct export *export)
{
	CLEANUP(export_texts_deinit) struct export_texts texts;
	CLEANUP(export_stacks_deinit) struct export_stacks stacks = { 0 };

	export_texts_init(&texts);
	HEAP_TRY(export_stacks_init(&stacks, export->session, export->options->by, &texts));
	for (size_t i = 0; i < stacks.sample_count; i++)
		put_stack(export, &stacks, &stacks.samples[i]);
	return NULL;
}

// --- speedscope --------------------------------------------------------------

struct speedscope {
	FILE *file;
	struct export_texts *texts;
	struct export_stacks *stacks;
	enum export_by by;
	uint32_t *class_frame; // [texts] number of the frame of a class; 0: none yet
};

static void put_frames(struct speedscope *scope)
{
	const struct export_stacks *stacks = scope->stacks;
	uint32_t count = stacks->frame_count;

	for (uint32_t i = 0; i < stacks->frame_count; i++) {
		const struct export_frame *frame = &stacks->frames[i];

		fprintf(scope->file, "%s\n{\"name\":", i ? "," : "");
		export_json_string(scope->file, export_texts_get(scope->texts, frame->name));
		if (frame->file) {
			fputs(",\"file\":", scope->file);
			export_json_string(scope->file,
					   export_texts_get(scope->texts, frame->file));
		}
		if (frame->line)
			fprintf(scope->file, ",\"line\":%" PRIu32, frame->line);
		fputs("}", scope->file);
	}
	for (size_t i = 0; i < stacks->sample_count; i++) {
		uint32_t class = stacks->samples[i].class;

		if (scope->class_frame[class])
			continue;
		scope->class_frame[class] = count++;
		fputs(",\n{\"name\":", scope->file);
		export_json_string(scope->file, export_texts_get(scope->texts, class));
		fputs("}", scope->file);
	}
}

static uint64_t weight_of(const struct export_sample *sample, bool in_bytes)
{
	return in_bytes ? sample->bytes : sample->objects;
}

static void put_profile(const struct speedscope *scope, const char *name, bool in_bytes)
{
	const struct export_stacks *stacks = scope->stacks;
	uint64_t total = 0;

	for (size_t i = 0; i < stacks->sample_count; i++)
		total += weight_of(&stacks->samples[i], in_bytes);
	fprintf(scope->file,
		"{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"startValue\":0,"
		"\"endValue\":%" PRIu64 ",\n\"samples\":[",
		name, in_bytes ? "bytes" : "none", total);
	for (size_t i = 0; i < stacks->sample_count; i++) {
		uint32_t frames[MAX_FRAMES];
		size_t count = list_frames(stacks, stacks->samples[i].node, frames);

		fprintf(scope->file, "%s\n[", i ? "," : "");
		if (scope->by != EXPORT_BY_OWNERS && count < MAX_FRAMES)
			frames[count++] = scope->class_frame[stacks->samples[i].class];
		for (size_t j = 0; j < count; j++)
			fprintf(scope->file, "%s%" PRIu32, j ? "," : "", frames[j]);
		fputs("]", scope->file);
	}
	fputs("],\n\"weights\":[", scope->file);
	for (size_t i = 0; i < stacks->sample_count; i++)
		fprintf(scope->file, "%s%" PRIu64, i ? "," : "",
			weight_of(&stacks->samples[i], in_bytes));
	fputs("]}", scope->file);
}

static void put_speedscope(struct speedscope *scope, const char *name)
{
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"heapsh " HEAPSH_VERSION "\",\"name\":",
	      scope->file);
	export_json_string(scope->file, name);
	fputs(",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", scope->file);
	put_frames(scope);
	fputs("]},\n\"profiles\":[\n", scope->file);
	put_profile(scope, "bytes", true);
	fputs(",\n", scope->file);
	put_profile(scope, "objects", false);
	fputs("]}\n", scope->file);
}

struct heap_error *export_speedscope(struct export *export)
{
	CLEANUP(export_texts_deinit) struct export_texts texts;
	CLEANUP(export_stacks_deinit) struct export_stacks stacks = { 0 };

	export_texts_init(&texts);
	HEAP_TRY(export_stacks_init(&stacks, export->session, export->options->by, &texts));

	CLEANUP_FREE uint32_t *class_frame = calloc(texts.offsets.count, sizeof(*class_frame));
	struct speedscope scope = { export->stream, &texts, &stacks, export->options->by,
				    class_frame };

	if (!class_frame)
		return heap_error_out_of_memory();
	put_speedscope(&scope, export->session->snapshot->info.program);
	return NULL;
}
