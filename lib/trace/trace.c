// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The format is described in dumper/trace/trace_format.h.
 */
#include "lib/trace/trace.h"

#include "lib/base/array.h"
#include "lib/base/search.h"
#include "lib/base/varint.h"
#include "lib/trace/trace_parts.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum {
	MAGIC_SIZE = 8,
	HEAD_SIZE = 8,
	MAX_CHUNK = 1 << 16,
	MAX_MODULES = 1 << 20,
	MAX_STEPS = 1 << 24,
	MAX_WRAPPERS = 1 << 14,
	VERSION = 1,
};

static const char magic[MAGIC_SIZE + 1] = "HSTRACE1";

enum tag {
	TAG_BEGIN = 1,
	TAG_MODULE,
	TAG_STEP,
	TAG_ALLOCATED,
	TAG_ALLOCATED_MOVED,
	TAG_FREED,
	TAG_FREED_MOVED,
	TAG_THREAD,
	TAG_DROPPED,
	TAG_END,
	TAG_WRAPPER,
};

HEAP_MAKES_ERROR
static struct heap_error *damaged(const struct heap_trace *trace, const char *what)
{
	return heap_error_create(HEAP_ERROR_FORMAT, "damaged near byte %zu: %s",
				 (size_t)(trace->at - trace->bytes), what);
}

// --- numbers and strings ---------------------------------------------------------

static bool get_number(struct heap_trace *trace, uint64_t *result)
{
	const uint8_t *next = heap_varint_get(trace->at, trace->chunk_end, result);

	if (!next)
		return false;
	trace->at = next;
	return true;
}

static bool get_u32(struct heap_trace *trace, uint32_t *result)
{
	uint64_t value;

	if (!get_number(trace, &value) || value > UINT32_MAX)
		return false;
	*result = (uint32_t)value;
	return true;
}

static bool get_difference(struct heap_trace *trace, uint64_t *value)
{
	uint64_t difference;

	if (!get_number(trace, &difference))
		return false;
	*value += (uint64_t)heap_unzigzag(difference);
	return true;
}

// The same for 32-bit numbers, whose differences have 64 bits.
static bool get_difference_u32(struct heap_trace *trace, uint32_t *value)
{
	uint64_t wide = *value;

	if (!get_difference(trace, &wide) || wide > UINT32_MAX)
		return false;
	*value = (uint32_t)wide;
	return true;
}

// @return malloc'd; NULL if it is cut off, or memory is short
static char *get_string(struct heap_trace *trace)
{
	uint64_t length;
	char *text;

	if (!get_number(trace, &length) || length > (uint64_t)(trace->chunk_end - trace->at))
		return NULL;
	text = strndup((const char *)trace->at, length);
	trace->at += length;
	return text;
}

// --- records -----------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *read_begin(struct heap_trace *trace)
{
	uint64_t version;

	if (trace->program)
		return damaged(trace, "it begins twice");
	if (!get_number(trace, &version) || version != VERSION)
		return damaged(trace, "a version that this program does not know");
	if (!get_u32(trace, &trace->info.pid) || !get_number(trace, &trace->info.start_ns) ||
	    !get_number(trace, &trace->info.mean) || trace->info.mean == 0)
		return damaged(trace, "its beginning");
	trace->program = get_string(trace);
	if (!trace->program)
		return damaged(trace, "the program's name");
	trace->info.program = trace->program;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_module(struct heap_trace *trace)
{
	struct heap_trace_module module = { 0 };
	uint64_t size;

	if (trace->module_count == MAX_MODULES)
		return damaged(trace, "too many modules");
	HEAP_TRY(heap_reserve(trace->modules, trace->module_capacity, trace->module_count + 1));
	if (!get_number(trace, &module.start) || !get_number(trace, &size) ||
	    __builtin_add_overflow(module.start, size, &module.end))
		return damaged(trace, "a module");
	module.path = get_string(trace);
	if (!module.path)
		return damaged(trace, "a module's path");
	trace->modules[trace->module_count++] = module;
	return NULL;
}

static uint32_t find_module(const struct heap_trace *trace, uint64_t address)
{
	for (uint32_t i = trace->module_count; i > 0; i--) {
		if (address > trace->modules[i - 1].start && address <= trace->modules[i - 1].end)
			return i - 1;
	}
	return UINT32_MAX;
}

HEAP_MUST_CHECK
static struct heap_error *read_step(struct heap_trace *trace)
{
	uint32_t back;

	if (trace->step_count == MAX_STEPS)
		return damaged(trace, "too many calls");
	HEAP_TRY(heap_reserve(trace->steps, trace->step_capacity, trace->step_count + 1));
	if (!get_difference(trace, &trace->address) || !get_u32(trace, &back) ||
	    back >= trace->step_count)
		return damaged(trace, "a call");
	trace->steps[trace->step_count] = (struct heap_trace_step){
		.address = trace->address,
		.caller = back ? trace->step_count - back : 0,
		.module = find_module(trace, trace->address),
	};
	trace->step_count++;
	return NULL;
}

static bool has_wrapper(const struct heap_trace *trace, uint64_t address)
{
	return heap_sorted_has_u64(trace->wrappers, trace->wrapper_count, address);
}

HEAP_MUST_CHECK
static struct heap_error *read_wrapper(struct heap_trace *trace)
{
	uint64_t address = trace->address;
	size_t place;

	if (!get_difference(trace, &address))
		return damaged(trace, "a wrapper");
	if (trace->wrapper_count == MAX_WRAPPERS || has_wrapper(trace, address))
		return NULL;
	if (!trace->wrappers)
		trace->wrappers = malloc(MAX_WRAPPERS * sizeof(*trace->wrappers));
	if (!trace->wrappers)
		return heap_error_out_of_memory();
	place = heap_lower_bound_u64(trace->wrappers, trace->wrapper_count, address);
	memmove(&trace->wrappers[place + 1], &trace->wrappers[place],
		(trace->wrapper_count++ - place) * sizeof(*trace->wrappers));
	trace->wrappers[place] = address;
	return NULL;
}

static bool get_time(struct heap_trace *trace)
{
	if (!get_difference(trace, &trace->time_us))
		return false;
	// A thread may record its events a moment later than another one.
	if ((int64_t)trace->time_us > (int64_t)trace->info.end_us)
		trace->info.end_us = trace->time_us;
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *read_allocated(struct heap_trace *trace, struct heap_trace_event *event)
{
	event->kind = HEAP_TRACE_ALLOCATED;
	if (!get_time(trace) || !get_difference_u32(trace, &trace->allocated) ||
	    !get_number(trace, &event->size) || !get_difference_u32(trace, &trace->step) ||
	    trace->step == 0 || trace->step >= trace->step_count)
		return damaged(trace, "an allocation");
	event->number = trace->allocated;
	event->step = trace->step;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_freed(struct heap_trace *trace, struct heap_trace_event *event)
{
	event->kind = HEAP_TRACE_FREED;
	if (!get_time(trace) || !get_difference_u32(trace, &trace->freed))
		return damaged(trace, "a free");
	event->number = trace->freed;
	return NULL;
}

// Reads a record that is no event.
HEAP_MUST_CHECK
static struct heap_error *read_other(struct heap_trace *trace, uint8_t tag)
{
	uint64_t count;

	switch (tag) {
	case TAG_BEGIN:
		return read_begin(trace);
	case TAG_MODULE:
		return read_module(trace);
	case TAG_STEP:
		return read_step(trace);
	case TAG_THREAD:
		return get_u32(trace, &trace->thread) ? NULL : damaged(trace, "a thread");
	case TAG_DROPPED:
		if (!get_number(trace, &count))
			return damaged(trace, "a count");
		trace->info.dropped += count;
		return NULL;
	case TAG_WRAPPER:
		return read_wrapper(trace);
	case TAG_END:
		trace->info.ended = true;
		return get_time(trace) ? NULL : damaged(trace, "its end");
	default:
		return damaged(trace, "a record of a kind that this program does not know");
	}
}

// --- chunks ------------------------------------------------------------------------

static uint32_t checksum(const uint8_t *bytes, uint32_t size)
{
	uint32_t sum = 2166136261u;

	for (uint32_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

// @return false at the end of the last complete chunk
static bool enter_chunk(struct heap_trace *trace, struct heap_error **error)
{
	size_t left = trace->size - (size_t)(trace->at - trace->bytes);
	uint32_t head[2];

	if (left < HEAD_SIZE)
		return false;
	memcpy(head, trace->at, HEAD_SIZE);
	if (head[0] > MAX_CHUNK) {
		*error = damaged(trace, "a chunk's length");
		return false;
	}
	if (head[0] > left - HEAD_SIZE)
		return false;
	trace->at += HEAD_SIZE;
	trace->chunk_end = trace->at + head[0];
	if (checksum(trace->at, head[0]) != head[1]) {
		*error = damaged(trace, "a chunk's checksum");
		return false;
	}
	return true;
}

bool heap_trace_next(struct heap_trace *trace, struct heap_trace_event *event,
		     struct heap_error **error)
{
	*error = NULL;
	for (;;) {
		uint8_t tag;

		while (trace->at == trace->chunk_end) {
			if (!enter_chunk(trace, error))
				return false;
		}
		tag = *trace->at++;
		*event = (struct heap_trace_event){
			.moved = tag == TAG_ALLOCATED_MOVED || tag == TAG_FREED_MOVED,
			.thread = trace->thread,
		};
		if (tag == TAG_ALLOCATED || tag == TAG_ALLOCATED_MOVED)
			*error = read_allocated(trace, event);
		else if (tag == TAG_FREED || tag == TAG_FREED_MOVED)
			*error = read_freed(trace, event);
		else
			*error = read_other(trace, tag);
		if (*error)
			return false;
		if (tag >= TAG_ALLOCATED && tag <= TAG_FREED_MOVED) {
			event->time_us = (int64_t)trace->time_us < 0 ? 0 : trace->time_us;
			return true;
		}
	}
}

// --- opening -------------------------------------------------------------------------

static bool is_trace(const char *start)
{
	return memcmp(start, magic, MAGIC_SIZE) == 0;
}

HEAP_MUST_CHECK
static struct heap_error *read_all(const char *path, struct heap_trace *trace)
{
	// O_NONBLOCK: opening a pipe of that name must not wait for its writer.
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char start[MAGIC_SIZE];
	size_t used = 0;
	ssize_t got = 1;

	if (file < 0 || fstat(file, &status) != 0)
		return heap_error_create_system("%s", path);
	if (!S_ISREG(status.st_mode))
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: no regular file", path);
	// Before memory for all of it is taken: it may be any file, of any size.
	if (pread(file, start, MAGIC_SIZE, 0) != MAGIC_SIZE || !is_trace(start))
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: not a trace of heapsnap", path);
	trace->bytes = malloc((size_t)status.st_size + 1);
	if (!trace->bytes)
		return heap_error_out_of_memory();
	while (used < (size_t)status.st_size && got > 0) {
		got = read(file, trace->bytes + used, (size_t)status.st_size - used);
		if (got < 0)
			return heap_error_create_system("%s", path);
		used += (size_t)got;
	}
	trace->size = used;
	return NULL;
}

// Reads the first record, which must be there.
HEAP_MUST_CHECK
static struct heap_error *begin(struct heap_trace *trace)
{
	struct heap_error *error = NULL;

	if (trace->size < MAGIC_SIZE || !is_trace((const char *)trace->bytes))
		return heap_error_create(HEAP_ERROR_FORMAT, "not a trace of heapsnap");
	trace->at = trace->chunk_end = trace->bytes + MAGIC_SIZE;
	HEAP_TRY(heap_reserve(trace->steps, trace->step_capacity, 1));
	trace->steps[trace->step_count++] = (struct heap_trace_step){ .module = UINT32_MAX };
	if (!enter_chunk(trace, &error) || trace->at == trace->chunk_end || *trace->at != TAG_BEGIN)
		return error ? error
			     : heap_error_create(HEAP_ERROR_FORMAT, "cut off at its beginning");
	trace->at++;
	return read_begin(trace);
}

static void close_trace(struct heap_trace **trace)
{
	heap_trace_close(*trace);
}

struct heap_error *heap_trace_open(const char *path, struct heap_trace **result)
{
	CLEANUP(close_trace) struct heap_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return heap_error_out_of_memory();
	HEAP_TRY(read_all(path, trace));
	HEAP_TRY(heap_error_within(begin(trace), "%s", path));
	*result = keep(trace);
	return NULL;
}

struct heap_error *heap_trace_open_memory(const void *bytes, size_t size,
					  struct heap_trace **result)
{
	CLEANUP(close_trace) struct heap_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return heap_error_out_of_memory();
	trace->bytes = malloc(size + 1);
	if (!trace->bytes)
		return heap_error_out_of_memory();
	memcpy(trace->bytes, bytes, size);
	trace->size = size;
	HEAP_TRY(begin(trace));
	*result = keep(trace);
	return NULL;
}

void heap_trace_close(struct heap_trace *trace)
{
	if (!trace)
		return;
	for (uint32_t i = 0; i < trace->step_count; i++)
		free(trace->steps[i].places);
	for (uint32_t i = 0; i < trace->module_count; i++)
		heap_trace_module_deinit(&trace->modules[i]);
	free(trace->steps);
	free(trace->modules);
	free(trace->wrappers);
	free(trace->program);
	free(trace->bytes);
	free(trace);
}

// --- questions -----------------------------------------------------------------------

const struct heap_trace_info *heap_trace_info(const struct heap_trace *trace)
{
	return &trace->info;
}

double heap_trace_probability(const struct heap_trace *trace, uint64_t size)
{
	return -expm1(-(double)size / (double)trace->info.mean);
}

bool heap_trace_is_wrapper(const struct heap_trace *trace, uint32_t step)
{
	return step > 0 && step < trace->step_count &&
	       has_wrapper(trace, trace->steps[step].address);
}

uint32_t heap_trace_caller(const struct heap_trace *trace, uint32_t step)
{
	return step < trace->step_count ? trace->steps[step].caller : 0;
}
