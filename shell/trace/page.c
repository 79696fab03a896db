// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/page.h"

#include "lib/base/array.h"
#include "lib/base/search.h"
#include "shell/base/output.h"
#include "shell/web/page.h"
#include "shell/web/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX = 1024,
	MOST_SAMPLES = 8000000, // the limit of a JavaScript string is 512 MiB
	LINE = 3,               // bytes encoded at a time
};

#define DEAD_NEVER UINT32_MAX

// --- numbers for what many samples share -------------------------------------------

/** Distinct values, sorted; columns refer to them by index. */
struct dictionary {
	uint64_t *values; // [count]
	uint32_t count;
};

// Takes the values: [count]
static void dictionary_init(struct dictionary *dictionary, uint64_t *values, size_t count)
{
	uint32_t kept = 0;

	if (count > 0)
		qsort(values, count, sizeof(*values), heap_order_u64);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || values[i] != values[kept - 1])
			values[kept++] = values[i];
	}
	*dictionary = (struct dictionary){ values, kept };
}

static void dictionary_deinit(struct dictionary *dictionary)
{
	free(dictionary->values);
}

static uint32_t dictionary_get(const struct dictionary *dictionary, uint64_t value)
{
	const uint64_t *found = bsearch(&value, dictionary->values, dictionary->count,
					sizeof(value), heap_order_u64);

	return (uint32_t)(found - dictionary->values);
}

// --- columns -----------------------------------------------------------------------

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *encode(const uint8_t *bytes, size_t size)
{
	char *text = malloc((size + 2) / LINE * 4 + 1), *at = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < size; i += LINE) {
		size_t left = size - i;
		uint32_t three = (uint32_t)bytes[i] << 16 |
				 (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);

		*at++ = digits[three >> 18];
		*at++ = digits[three >> 12 & 63];
		*at++ = left > 1 ? digits[three >> 6 & 63] : '=';
		*at++ = left > 2 ? digits[three & 63] : '=';
	}
	*at = '\0';
	return text;
}

// Little-endian, as every machine with a browser is.
HEAP_MUST_CHECK
static struct heap_error *tell_column(struct output *output, const char *name,
				      const uint32_t *values, size_t count)
{
	CLEANUP_FREE uint8_t *bytes = malloc(count * sizeof(*values) + 1);
	CLEANUP_FREE char *text = NULL;

	for (size_t i = 0; bytes && i < count * sizeof(*values); i++)
		bytes[i] = (uint8_t)(values[i / sizeof(*values)] >> i % sizeof(*values) * 8);
	text = bytes ? encode(bytes, count * sizeof(*values)) : NULL;
	if (!text)
		return heap_error_out_of_memory();
	output_string(output, name, text);
	return NULL;
}

// --- what is told of a trace -------------------------------------------------------

struct telling {
	struct output *output;
	const struct trace_samples *samples;
	uint64_t tick_us;
};

// The value of a sample in a column.
typedef uint64_t sample_value(const struct telling *telling, const struct trace_sample *sample);

static uint64_t born(const struct telling *telling, const struct trace_sample *sample)
{
	return sample->born_us / telling->tick_us;
}

static uint64_t died(const struct telling *telling, const struct trace_sample *sample)
{
	return sample->died_us == TRACE_ALIVE ? DEAD_NEVER : sample->died_us / telling->tick_us;
}

static uint64_t size_of(const struct telling *telling, const struct trace_sample *sample)
{
	(void)telling;
	return sample->size;
}

static uint64_t step_of(const struct telling *telling, const struct trace_sample *sample)
{
	(void)telling;
	return sample->step;
}

static uint64_t thread_of(const struct telling *telling, const struct trace_sample *sample)
{
	(void)telling;
	return sample->born_by;
}

/** @param dictionary  whose indexes are written; NULL: the values themselves */
HEAP_MUST_CHECK
static struct heap_error *tell_samples(struct telling *telling, const char *name,
				       sample_value *value, const struct dictionary *dictionary)
{
	uint32_t count = telling->samples->count;
	CLEANUP_FREE uint32_t *column = malloc(((size_t)count + 1) * sizeof(*column));

	if (!column)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++) {
		uint64_t one = value(telling, &telling->samples->samples[i]);

		column[i] = dictionary ? dictionary_get(dictionary, one) : (uint32_t)one;
	}
	return tell_column(telling->output, name, column, count);
}

HEAP_MUST_CHECK
static struct heap_error *collect(const struct telling *telling, sample_value *value,
				  struct dictionary *result)
{
	uint32_t count = telling->samples->count;
	uint64_t *values = malloc(((size_t)count + 1) * sizeof(*values));

	if (!values)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++)
		values[i] = value(telling, &telling->samples->samples[i]);
	dictionary_init(result, values, count);
	return NULL;
}

// Writes each size with the number of blocks that a sample of it stands for.
HEAP_MUST_CHECK
static struct heap_error *tell_sizes(struct telling *telling)
{
	CLEANUP(dictionary_deinit) struct dictionary sizes = { 0 };

	HEAP_TRY(collect(telling, size_of, &sizes));
	output_open_array(telling->output, "sizes");
	for (uint32_t i = 0; i < sizes.count; i++) {
		double p = heap_trace_probability(telling->samples->trace, sizes.values[i]);

		output_open_object(telling->output, NULL);
		output_number(telling->output, "bytes", sizes.values[i]);
		output_real(telling->output, "probability", p);
		output_close(telling->output);
	}
	output_close(telling->output);
	return tell_samples(telling, "size", size_of, &sizes);
}

HEAP_MUST_CHECK
static struct heap_error *tell_threads(struct telling *telling)
{
	CLEANUP(dictionary_deinit) struct dictionary threads = { 0 };

	HEAP_TRY(collect(telling, thread_of, &threads));
	output_open_array(telling->output, "threads");
	for (uint32_t i = 0; i < threads.count; i++)
		output_number(telling->output, NULL, threads.values[i]);
	output_close(telling->output);
	return tell_samples(telling, "thread", thread_of, &threads);
}

// --- call paths --------------------------------------------------------------------

struct ways {
	uint32_t *begins; // [ways + 1] indexes of places
	uint64_t *places; // [count] addresses of what belongs to the trace
	size_t count, capacity;
};

HEAP_MUST_CHECK
static struct heap_error *add_way(struct ways *ways, const struct trace_samples *samples,
				  uint32_t step)
{
	CLEANUP_FREE const struct heap_trace_place **places = NULL;
	size_t count;

	HEAP_TRY(trace_way(samples, step, &places, &count));
	HEAP_TRY(heap_reserve(ways->places, ways->capacity, ways->count + count));
	for (size_t i = 0; i < count; i++)
		ways->places[ways->count++] = (uintptr_t)places[i];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *collect_ways(struct ways *ways, const struct trace_samples *samples,
				       const struct dictionary *steps)
{
	ways->begins = calloc((size_t)steps->count + 1, sizeof(*ways->begins));
	if (!ways->begins)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < steps->count; i++) {
		HEAP_TRY(add_way(ways, samples, (uint32_t)steps->values[i]));
		ways->begins[i + 1] = (uint32_t)ways->count;
	}
	return NULL;
}

static void tell_place(struct output *output, const struct heap_trace_place *place)
{
	const char *slash = strrchr(place->module, '/');
	char text[TEXT_MAX];

	output_open_object(output, NULL);
	output_string(output, "text", trace_place_text(place, text, sizeof(text)));
	output_string(output, "function", place->function);
	output_string(output, "file", place->file);
	output_number(output, "line", place->line);
	output_string(output, "module", slash ? slash + 1 : place->module);
	output_close(output);
}

HEAP_MUST_CHECK
static struct heap_error *tell_places(struct telling *telling, const struct ways *ways,
				      uint32_t count)
{
	CLEANUP_FREE uint64_t *all = malloc((ways->count + 1) * sizeof(*all));
	CLEANUP_FREE uint32_t *column = malloc((ways->count + 1) * sizeof(*column));
	struct dictionary places;

	if (!all || !column)
		return heap_error_out_of_memory();
	if (ways->count > 0)
		memcpy(all, ways->places, ways->count * sizeof(*all));
	dictionary_init(&places, all, ways->count);
	output_open_array(telling->output, "places");
	for (uint32_t i = 0; i < places.count; i++)
		tell_place(telling->output, (const void *)(uintptr_t)places.values[i]);
	output_close(telling->output);
	for (size_t i = 0; i < ways->count; i++)
		column[i] = dictionary_get(&places, ways->places[i]);
	HEAP_TRY(tell_column(telling->output, "way_places", column, ways->count));
	return tell_column(telling->output, "way_begins", ways->begins, count + 1);
}

static void ways_deinit(struct ways *ways)
{
	free(ways->begins);
	free(ways->places);
}

HEAP_MUST_CHECK
static struct heap_error *tell_ways(struct telling *telling)
{
	CLEANUP(dictionary_deinit) struct dictionary steps = { 0 };
	CLEANUP(ways_deinit) struct ways ways = { 0 };

	HEAP_TRY(collect(telling, step_of, &steps));
	HEAP_TRY(collect_ways(&ways, telling->samples, &steps));
	HEAP_TRY(tell_places(telling, &ways, steps.count));
	return tell_samples(telling, "way", step_of, &steps);
}

// --- all of it ---------------------------------------------------------------------

static void tell_trace(struct telling *telling, uint64_t peak_us, const char *name)
{
	const struct heap_trace_info *info = heap_trace_info(telling->samples->trace);

	output_string(telling->output, "heapsh", HEAPSH_VERSION);
	output_string(telling->output, "file", name);
	output_string(telling->output, "program", info->program);
	output_number(telling->output, "pid", info->pid);
	output_number(telling->output, "start_ms", info->start_ns / 1000000);
	output_number(telling->output, "end_us", info->end_us);
	output_number(telling->output, "peak_us", peak_us);
	output_number(telling->output, "tick_us", telling->tick_us);
	output_number(telling->output, "mean", info->mean);
	output_number(telling->output, "dropped", info->dropped);
	output_boolean(telling->output, "ended", info->ended);
}

HEAP_MUST_CHECK
static struct heap_error *tell(struct telling *telling, uint64_t peak_us, const char *name)
{
	output_open_object(telling->output, NULL);
	tell_trace(telling, peak_us, name);
	HEAP_TRY(tell_samples(telling, "born", born, NULL));
	HEAP_TRY(tell_samples(telling, "died", died, NULL));
	HEAP_TRY(tell_sizes(telling));
	HEAP_TRY(tell_threads(telling));
	HEAP_TRY(tell_ways(telling));
	output_close(telling->output);
	return NULL;
}

struct heap_error *trace_page_write(FILE *stream, const struct trace_samples *samples,
				    uint64_t peak_us, const char *name)
{
	const struct heap_trace_info *info = heap_trace_info(samples->trace);
	struct telling telling = { .samples = samples, .tick_us = info->end_us / INT32_MAX + 1 };
	CLEANUP_FREE char *data = NULL;
	size_t size = 0;
	FILE *memory;
	struct heap_error *error;

	if (samples->count > MOST_SAMPLES)
		return heap_error_create(
			HEAP_ERROR_ARGUMENT,
			"%u samples are too many for a page: filters choose among them",
			samples->count);
	memory = open_memstream(&data, &size);
	telling.output = memory ? output_create(memory, OUTPUT_JSON, false) : NULL;
	error = telling.output ? tell(&telling, peak_us, name) : heap_error_out_of_memory();
	if (telling.output && !output_finish(telling.output) && !error)
		error = heap_error_out_of_memory();
	output_destroy(telling.output);
	if (memory && fclose(memory) != 0 && !error)
		error = heap_error_out_of_memory();
	if (!error)
		page_write(stream, report_trace_frame(), info->program, data, size);
	return error;
}
