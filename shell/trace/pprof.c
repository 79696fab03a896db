// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/pprof.h"

#include "lib/base/cleanup.h"
#include "shell/export/texts.h"
#include "shell/export/pprof.h"

#include <math.h>
#include <string.h>

enum {
	VALUES = 2, // all that was allocated, and what is live
};

// The sums of a path's samples in the profile.
struct way {
	struct trace_estimate sums[VALUES];
};

struct profile {
	const struct trace_samples *samples;
	struct export_texts texts;
	struct protobuf message, inner, innermost;
	uint64_t locations; // that have been written
};

static void put_value_type(struct profile *profile, const char *type, const char *unit)
{
	protobuf_put_number(&profile->inner, VALUE_TYPE, export_texts_add(&profile->texts, type));
	protobuf_put_number(&profile->inner, VALUE_UNIT, export_texts_add(&profile->texts, unit));
	protobuf_put_message(&profile->message, PROFILE_SAMPLE_TYPE, &profile->inner);
}

// Writes a location and a function per step; readers merge functions of one name.
static void put_location(struct profile *profile, const struct heap_trace_place *place)
{
	struct protobuf *inner = &profile->inner, *innermost = &profile->innermost;
	char text[1024];
	uint32_t name = export_texts_add(
		&profile->texts,
		*place->function ? place->function : trace_place_text(place, text, sizeof(text)));

	profile->locations++;
	protobuf_put_number(inner, LOCATION_ID, profile->locations);
	protobuf_put_number(inner, LOCATION_ADDRESS, place->address);
	protobuf_put_number(innermost, LINE_FUNCTION, profile->locations);
	protobuf_put_number(innermost, LINE_NUMBER, place->line);
	protobuf_put_message(inner, LOCATION_LINE, innermost);
	protobuf_put_message(&profile->message, PROFILE_LOCATION, inner);
	protobuf_put_number(inner, FUNCTION_ID, profile->locations);
	protobuf_put_number(inner, FUNCTION_NAME, name);
	protobuf_put_number(inner, FUNCTION_SYSTEM_NAME, name);
	protobuf_put_number(inner, FUNCTION_FILE, export_texts_add(&profile->texts, place->file));
	protobuf_put_message(&profile->message, PROFILE_FUNCTION, inner);
}

HEAP_MUST_CHECK
static struct heap_error *put_way(struct profile *profile, uint32_t step, const struct way *way)
{
	CLEANUP_FREE const struct heap_trace_place **places = NULL;
	uint64_t first = profile->locations + 1;
	struct protobuf sample = { 0 };
	size_t count;
	struct heap_error *error = trace_way(profile->samples, step, &places, &count);

	if (error)
		return error;
	for (size_t i = 0; i < count; i++)
		put_location(profile, places[i]);
	for (size_t i = 0; i < count; i++)
		protobuf_put_varint(&profile->inner, first + i);
	protobuf_put_message(&sample, SAMPLE_LOCATION, &profile->inner);
	for (int i = 0; i < VALUES; i++) {
		protobuf_put_varint(&profile->inner, (uint64_t)llround(way->sums[i].objects));
		protobuf_put_varint(&profile->inner, (uint64_t)llround(way->sums[i].bytes));
	}
	protobuf_put_message(&sample, SAMPLE_VALUE, &profile->inner);
	protobuf_put_message(&profile->message, PROFILE_SAMPLE, &sample);
	free(sample.bytes);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *put_samples(struct profile *profile, uint64_t time_us)
{
	const struct trace_samples *samples = profile->samples;
	uint32_t steps = trace_samples_steps(samples) + 1;
	CLEANUP_FREE struct way *ways = calloc(steps, sizeof(*ways));

	if (!ways)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < samples->count; i++) {
		const struct trace_sample *sample = &samples->samples[i];
		struct way *way = &ways[sample->step];

		trace_estimate_add(&way->sums[0], samples, sample);
		if (trace_is_live(sample, time_us))
			trace_estimate_add(&way->sums[1], samples, sample);
	}
	for (uint32_t i = 0; i < steps; i++) {
		if (ways[i].sums[0].samples)
			HEAP_TRY(put_way(profile, i, &ways[i]));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *put_profile(struct profile *profile, uint64_t time_us)
{
	const struct heap_trace_info *info = heap_trace_info(profile->samples->trace);
	struct heap_error *error;

	put_value_type(profile, "alloc_objects", "count");
	put_value_type(profile, "alloc_space", "bytes");
	put_value_type(profile, "inuse_objects", "count");
	put_value_type(profile, "inuse_space", "bytes");
	error = put_samples(profile, time_us);
	protobuf_put_number(&profile->message, PROFILE_TIME, info->start_ns);
	protobuf_put_number(&profile->message, PROFILE_DEFAULT_SAMPLE_TYPE,
			    export_texts_add(&profile->texts, "alloc_space"));
	for (uint32_t i = 0; i < profile->texts.offsets.count; i++) {
		const char *text = export_texts_get(&profile->texts, i);

		protobuf_put_text(&profile->message, PROFILE_STRING, text);
	}
	return error;
}

struct heap_error *trace_pprof_write(const struct trace_samples *samples, uint64_t time_us,
				     FILE *file)
{
	struct profile profile = { .samples = samples };
	struct heap_error *error;

	export_texts_init(&profile.texts);
	error = put_profile(&profile, time_us);
	if (!error)
		error = profile.message.failed || profile.texts.failed
				? heap_error_out_of_memory()
				: protobuf_compress(&profile.message, file);
	export_texts_deinit(&profile.texts);
	free(profile.message.bytes);
	free(profile.inner.bytes);
	free(profile.innermost.bytes);
	return error;
}
