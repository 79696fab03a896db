// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/samples.h"

#include "lib/base/array.h"
#include "lib/base/library_code.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_WAY = 1024,
};

// --- loading -------------------------------------------------------------------

static uint32_t find(const struct trace_samples *samples, uint32_t number)
{
	return heap_hash_find(&samples->by_number, heap_hash_u64(number), i,
			      samples->samples[i].number == number);
}

HEAP_MUST_CHECK
static struct heap_error *begin_life(struct trace_samples *samples,
				     const struct heap_trace_event *event)
{
	uint64_t hash = heap_hash_u64(event->number);
	uint32_t earlier = find(samples, event->number);

	HEAP_TRY(heap_reserve(samples->samples, samples->capacity, (size_t)samples->count + 1));
	// In a damaged trace a number may begin twice: the later sample counts.
	if (earlier != HEAP_HASH_NONE)
		heap_hash_replace(&samples->by_number, hash, earlier, samples->count);
	else
		HEAP_TRY(heap_hash_add(&samples->by_number, hash, samples->count));
	samples->samples[samples->count++] = (struct trace_sample){
		.size = event->size,
		.born_us = event->time_us,
		.died_us = TRACE_ALIVE,
		.step = event->step,
		.number = event->number,
		.born_by = event->thread,
		.moved_in = event->moved,
	};
	return NULL;
}

static void end_life(struct trace_samples *samples, const struct heap_trace_event *event)
{
	uint32_t found = find(samples, event->number);
	struct trace_sample *sample;

	if (found == HEAP_HASH_NONE) {
		samples->unknown_frees++;
		return;
	}
	sample = &samples->samples[found];
	// Events of two threads at nearly the same time may be in the wrong order.
	sample->died_us = event->time_us > sample->born_us ? event->time_us : sample->born_us;
	sample->died_by = event->thread;
	sample->moved_out = event->moved;
}

struct heap_error *trace_samples_load(struct trace_samples *samples, const char *path)
{
	struct heap_trace_event event;
	struct heap_error *error;

	*samples = (struct trace_samples){ .shows_wrappers = samples->shows_wrappers };
	error = heap_trace_open(path, &samples->trace);
	if (error)
		return error;
	while (!error && heap_trace_next(samples->trace, &event, &error)) {
		if (event.kind == HEAP_TRACE_ALLOCATED)
			error = begin_life(samples, &event);
		else
			end_life(samples, &event);
	}
	return heap_error_within(error, "%s", path);
}

void trace_samples_deinit(struct trace_samples *samples)
{
	heap_trace_close(samples->trace);
	free(samples->samples);
	heap_hash_table_deinit(&samples->by_number);
}

// --- filters -------------------------------------------------------------------

// Matches a function, file, file:line or module, or a glob of one.
static bool is_at(const struct heap_trace_place *place, const char *pattern)
{
	const char *module = strrchr(place->module, '/');
	char line[512];

	snprintf(line, sizeof(line), "%s:%" PRIu32, place->file, place->line);
	return fnmatch(pattern, place->function, 0) == 0 || fnmatch(pattern, place->file, 0) == 0 ||
	       fnmatch(pattern, line, 0) == 0 ||
	       fnmatch(pattern, module ? module + 1 : place->module, 0) == 0;
}

static bool is_any_at(const struct heap_trace_place **places, size_t count, const char *pattern)
{
	for (size_t i = 0; i < count; i++) {
		if (is_at(places[i], pattern))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *match_calls(const struct trace_samples *samples,
				      const struct trace_filter *filter, uint32_t step,
				      bool *result)
{
	CLEANUP_FREE const struct heap_trace_place **places = NULL;
	size_t count;

	HEAP_TRY(trace_way(samples, step, &places, &count));
	*result = !filter->site || (count > 0 && is_at(places[0], filter->site));
	for (unsigned i = 0; i < filter->with_count && *result; i++)
		*result = is_any_at(places, count, filter->with[i]);
	for (unsigned i = 0; i < filter->without_count && *result; i++)
		*result = !is_any_at(places, count, filter->without[i]);
	return NULL;
}

static bool match_life(const struct trace_samples *samples, const struct trace_filter *filter,
		       const struct trace_sample *sample)
{
	bool is_alive = sample->died_us == TRACE_ALIVE;
	// The lifetime of a live block is unknown; it lasts at least until the end.
	uint64_t end = is_alive ? heap_trace_info(samples->trace)->end_us : sample->died_us;
	uint64_t lived = end > sample->born_us ? end - sample->born_us : 0;

	return (!filter->has_between ||
		(sample->born_us >= filter->between[0] && sample->born_us <= filter->between[1])) &&
	       (!filter->has_live ||
		(sample->born_us <= filter->live[1] && sample->died_us > filter->live[0])) &&
	       (!filter->has_longer || lived > filter->longer_us) &&
	       (!filter->has_shorter || (!is_alive && lived < filter->shorter_us)) &&
	       (!filter->has_thread || sample->born_by == filter->thread) &&
	       sample->size >= filter->size_min &&
	       (filter->size_max == 0 || sample->size <= filter->size_max);
}

struct heap_error *trace_samples_filter(struct trace_samples *samples,
					const struct trace_filter *filter)
{
	enum {
		NOT_ASKED,
		YES,
		NO
	};
	bool asks_for_calls = filter->site || filter->with_count || filter->without_count;
	CLEANUP_FREE uint8_t *answers = calloc((size_t)trace_samples_steps(samples) + 1, 1);
	uint32_t kept = 0;

	if (!answers)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < samples->count; i++) {
		const struct trace_sample *sample = &samples->samples[i];
		bool matches = match_life(samples, filter, sample);

		// Decides once for all samples with the same calls.
		if (matches && asks_for_calls && answers[sample->step] == NOT_ASKED) {
			HEAP_TRY(match_calls(samples, filter, sample->step, &matches));
			answers[sample->step] = matches ? YES : NO;
		}
		matches = matches && answers[sample->step] != NO;
		if (matches)
			samples->samples[kept++] = *sample;
	}
	samples->count = kept;
	return NULL;
}

uint32_t trace_samples_steps(const struct trace_samples *samples)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < samples->count; i++)
		most = samples->samples[i].step > most ? samples->samples[i].step : most;
	return most;
}

// --- sums ----------------------------------------------------------------------

void trace_estimate_add(struct trace_estimate *estimate, const struct trace_samples *samples,
			const struct trace_sample *sample)
{
	double p = heap_trace_probability(samples->trace, sample->size);
	double size = (double)sample->size;

	if (p <= 0)
		return;
	estimate->samples++;
	estimate->objects += 1 / p;
	estimate->bytes += size / p;
	estimate->variance += size * size * (1 - p) / (p * p);
}

double trace_estimate_error(const struct trace_estimate *estimate)
{
	return 2 * sqrt(estimate->variance);
}

struct change {
	uint64_t time_us;
	double bytes;
};

// Deaths first: a block that dies at the birth of another need not coexist with it.
static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;

	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

struct heap_error *trace_samples_peak(const struct trace_samples *samples, uint64_t *time_us)
{
	CLEANUP_FREE struct change *changes =
		calloc((size_t)samples->count * 2 + 1, sizeof(*changes));
	double live = 0, most = 0;
	size_t count = 0;

	if (!changes)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < samples->count; i++) {
		const struct trace_sample *sample = &samples->samples[i];
		struct trace_estimate one = { 0 };

		trace_estimate_add(&one, samples, sample);
		changes[count++] = (struct change){ sample->born_us, one.bytes };
		if (sample->died_us != TRACE_ALIVE)
			changes[count++] = (struct change){ sample->died_us, -one.bytes };
	}
	qsort(changes, count, sizeof(*changes), compare_changes);
	*time_us = 0;
	for (size_t i = 0; i < count; i++) {
		live += changes[i].bytes;
		if (live > most) {
			most = live;
			*time_us = changes[i].time_us;
		}
	}
	return NULL;
}

// --- places --------------------------------------------------------------------

const char *trace_place_text(const struct heap_trace_place *place, char *buffer, size_t size)
{
	const char *slash = strrchr(place->module, '/');
	const char *module = slash ? slash + 1 : place->module;

	if (place->line > 0)
		snprintf(buffer, size, "%s (%s:%" PRIu32 ")", place->function, place->file,
			 place->line);
	else if (*place->function)
		snprintf(buffer, size, "%s+0x%" PRIx64 " (%s)", place->function, place->offset,
			 module);
	else if (*module)
		snprintf(buffer, size, "%s+0x%" PRIx64, module, place->offset);
	else
		snprintf(buffer, size, "0x%" PRIx64, place->address);
	return buffer;
}

// Skips the innermost calls of libraries, unless there are no others.
static uint32_t skip_wrappers(const struct trace_samples *samples, uint32_t step)
{
	uint32_t caller = step;

	while (!samples->shows_wrappers && caller && heap_trace_is_wrapper(samples->trace, caller))
		caller = heap_trace_caller(samples->trace, caller);
	return caller ? caller : step;
}

static bool is_skipped(const struct heap_trace_place *place)
{
	return place->is_wrapper || heap_is_library_function(place->function) ||
	       (place->inlined && heap_is_library_header(place->file));
}

// Counts the calls on the inside that are in a standard library or an inlined wrapper. Instances of a library's
// templates lie in the module that calls them. A library that calls itself is the site.
static size_t count_skipped(const struct heap_trace_place *const *way, size_t count)
{
	size_t inside = 0;

	while (inside < count && is_skipped(way[inside]))
		inside++;
	return inside < count && strcmp(way[inside]->module, way[0]->module) == 0 ? inside : 0;
}

struct heap_error *trace_way(const struct trace_samples *samples, uint32_t step,
			     const struct heap_trace_place ***result, size_t *count)
{
	CLEANUP_FREE const struct heap_trace_place **way = malloc(MAX_WAY * sizeof(*way));

	*count = 0;
	if (!way)
		return heap_error_out_of_memory();
	step = skip_wrappers(samples, step);
	for (; step; step = heap_trace_caller(samples->trace, step)) {
		const struct heap_trace_place *places;
		size_t place_count;
		struct heap_error *error =
			heap_trace_places(samples->trace, step, &places, &place_count);

		if (error)
			return error;
		for (size_t i = 0; i < place_count && *count < MAX_WAY; i++)
			way[(*count)++] = &places[i];
		if (strcmp(places[place_count - 1].function, "main") == 0)
			break; // its callers are the same in all programs
	}
	if (!samples->shows_wrappers) {
		size_t inside = count_skipped(way, *count);

		*count -= inside;
		memmove(way, way + inside, *count * sizeof(*way));
	}
	*result = keep(way);
	return NULL;
}

struct heap_error *trace_site_text(const struct trace_samples *samples, uint32_t step, char *buffer,
				   size_t size)
{
	CLEANUP_FREE const struct heap_trace_place **places = NULL;
	size_t count;

	HEAP_TRY(trace_way(samples, step, &places, &count));
	*buffer = '\0';
	if (count > 0)
		trace_place_text(places[0], buffer, size);
	return NULL;
}
