// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * dangling: pointers into the heap, to places where no object lives any more.
 *
 *	struct session *last;        0x5f0040 ─▶ ░░░░░░  freed, and not handed out again
 *
 * Their types say that they are pointers, and they point into memory of the heap, but between two
 * objects. An object has been freed there: following the pointer is a use after free. A pointer
 * right behind an object is the end of an array.
 *
 * Contents that were not kept are not examined. Local variables that are not in use yet, or no
 * longer, may dangle legitimately, so they come last. The C library's own variables are left
 * out: malloc's point to freed memory on purpose.
 */
#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"
#include "shell/base/format.h"
#include "shell/series/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHORT_LIST = 50,     // pointers that are shown without --limit
	MAX_READ = 1 << 20,  // bytes of an object
	MAX_SLOTS = 1 << 14, // pointers in a type
	WRITABLE = 2,        // PROT_WRITE
};

struct region {
	uint64_t start, end;
};

// Where the pointers of a type are; found once for each.
struct layout {
	bool is_known;
	uint32_t count;
	uint64_t *offsets; // [count] ascending, the session's
};

struct search {
	struct session *session;
	struct region *regions; // [region_count] where the objects lie, ascending
	uint32_t region_count;
	struct layout *layouts; // [types.count]
	uint64_t *collected;    // [MAX_SLOTS]
	uint32_t collected_count;
	uint8_t *bytes; // [MAX_READ]
	uint64_t limit, found, looked_at;
};

// --- memory of the heap ------------------------------------------------------

// Memory of the heap begins with an object: before the first there is only malloc's own.
static void find_regions(struct search *search)
{
	const struct heap_snapshot *snapshot = search->session->snapshot;

	for (uint32_t i = 0; i < snapshot->mapping_count; i++) {
		const struct heap_mapping *mapping = &snapshot->mappings[i];
		heap_object_id before = heap_snapshot_find_before(snapshot, mapping->start);
		heap_object_id first = before == HEAP_NO_OBJECT ? 0 : before + 1;

		if ((mapping->protection & WRITABLE) && first < snapshot->object_count &&
		    snapshot->address[first] < mapping->end)
			search->regions[search->region_count++] =
				(struct region){ snapshot->address[first], mapping->end };
	}
}

static bool is_heap(const struct search *search, uint64_t address)
{
	uint32_t region =
		heap_partition_point(i, 0, search->region_count, search->regions[i].end <= address);

	return region < search->region_count && address >= search->regions[region].start;
}

static bool dangles(const struct search *search, uint64_t address)
{
	const struct heap_snapshot *snapshot = search->session->snapshot;

	if (!is_heap(search, address) || heap_snapshot_find(snapshot, address) != HEAP_NO_OBJECT)
		return false;

	heap_object_id before = heap_snapshot_find_before(snapshot, address);

	return before != HEAP_NO_OBJECT &&
	       address - snapshot->address[before] != snapshot->size[before];
}

// --- pointers of types -------------------------------------------------------

static bool collect(void *context, uint64_t offset, heap_type_id pointer)
{
	struct search *search = context;

	(void)pointer;
	if (search->collected_count == MAX_SLOTS)
		return false;
	search->collected[search->collected_count++] = offset;
	return true;
}

static int compare_offsets(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static const struct layout *find_layout(struct search *search, heap_type_id type)
{
	struct layout *layout = &search->layouts[type];

	if (layout->is_known)
		return layout;
	layout->is_known = true;
	search->collected_count = 0;
	heap_types_visit_pointers(&search->session->snapshot->types, type, collect, search);
	if (search->collected_count == 0)
		return layout;
	qsort(search->collected, search->collected_count, sizeof(*search->collected),
	      compare_offsets);
	layout->offsets = session_allocate(search->session,
					   search->collected_count * sizeof(*layout->offsets));
	if (!layout->offsets)
		return layout;
	for (uint32_t i = 0; i < search->collected_count; i++) {
		// Members of a union lie over each other.
		if (i == 0 || search->collected[i] != search->collected[i - 1])
			layout->offsets[layout->count++] = search->collected[i];
	}
	return layout;
}

// --- the answer --------------------------------------------------------------

// "0x5f04010, 48 bytes behind struct node at 0x5f03fe0"
static const char *describe_target(const struct search *search, uint64_t address)
{
	struct session *session = search->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id before = heap_snapshot_find_before(snapshot, address);

	return session_format(session, "%#" PRIx64 ", %" PRIu64 " bytes behind %s", address,
			      address - snapshot->address[before] - snapshot->size[before],
			      describe_object(session, before));
}

// @param root  or UINT32_MAX: an object's
static void print_found(struct search *search, heap_object_id object, heap_root_id root,
			uint64_t offset, uint64_t address)
{
	struct session *session = search->session;
	struct output *output = session->output;
	const void *mark = session_mark(session);

	if (search->found++ < search->limit) {
		bool is_root = root != UINT32_MAX;
		const char *field = is_root ? field_of_root(session, root, offset)
					    : field_of_object(session, object, offset);
		const char *holder =
			is_root ? describe_root(session, root) : describe_object(session, object);

		output_text(output, "%s%s%s = %s\n", field, *field ? " of " : "", holder,
			    describe_target(search, address));
		output_open_object(output, NULL);
		output_string(output, "field", field);
		if (is_root)
			describe_root_json(session, "root", root);
		else
			describe_object_json(session, "object", object);
		output_address(output, "pointer", address);
		output_string(output, "target", describe_target(search, address));
		output_close(output);
		if (!is_root)
			session_remember(session, object);
	}
	session_release(session, mark);
}

// Looks at the pointers in one value. @param bytes  [kept] of it
static void look_at(struct search *search, heap_type_id type, uint64_t elements,
		    const uint8_t *bytes, uint64_t kept, heap_object_id object, heap_root_id root,
		    uint64_t from)
{
	const struct heap_types *types = &search->session->snapshot->types;
	const struct layout *layout = find_layout(search, type);
	uint64_t size = heap_types_size(types, type), address;

	if (layout->count == 0 || size == 0)
		return;
	if (heap_types_flexible(types, type, NULL, NULL))
		elements = 1;
	for (uint64_t i = 0; i < elements && i < kept / 8 && i * size < kept; i++) {
		for (uint32_t j = 0; j < layout->count; j++) {
			uint64_t offset = i * size + layout->offsets[j];

			if (offset > kept || kept - offset < sizeof(address))
				return;
			memcpy(&address, bytes + offset, sizeof(address));
			search->looked_at++;
			if (dangles(search, address))
				print_found(search, object, root, from + offset, address);
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *look_at_objects(struct search *search, struct heap_filter *filter)
{
	struct heap_snapshot *snapshot = search->session->snapshot;
	const struct heap_progress *progress = &search->session->progress.progress;
	size_t kept;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		HEAP_TRY(heap_progress_step(progress, "pointers", i, snapshot->object_count));
		if (snapshot->type[i] == HEAP_NO_TYPE ||
		    find_layout(search, snapshot->type[i])->count == 0 ||
		    !heap_filter_matches(filter, i))
			continue;
		if (session_must_stop(search->session))
			break;
		HEAP_TRY(heap_snapshot_read_content(snapshot, i, search->bytes, MAX_READ, &kept));
		look_at(search, snapshot->type[i], snapshot->elements[i], search->bytes, kept, i,
			UINT32_MAX, 0);
	}
	return session_filter_finish(search->session, filter);
}

static bool is_of_libc(struct session *session, const struct heap_root *root)
{
	const char *module = describe_module(session, root->module);

	return strncmp(module, "libc.", strlen("libc.")) == 0 ||
	       strncmp(module, "libc-", strlen("libc-")) == 0 ||
	       strncmp(module, "ld-", strlen("ld-")) == 0;
}

// Those that live long first, which is the order of their kinds.
static void look_at_roots(struct search *search)
{
	const struct heap_snapshot *snapshot = search->session->snapshot;

	for (int kind = HEAP_ROOT_GLOBAL; kind <= HEAP_ROOT_LOCAL; kind++) {
		for (heap_root_id i = 0; i < snapshot->root_count; i++) {
			const struct heap_root *root = &snapshot->roots[i];
			const void *mark = session_mark(search->session);
			bool skip = root->kind != kind || root->type == HEAP_NO_TYPE ||
				    is_of_libc(search->session, root);

			session_release(search->session, mark);
			if (skip)
				continue;
			if (session_must_stop(search->session))
				return;
			look_at(search, root->type, 1, snapshot->root_content + root->content,
				root->content_size, HEAP_NO_OBJECT, i, 0);
		}
	}
}

// --- the command -------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *prepare(struct search *search)
{
	struct session *session = search->session;
	const struct heap_snapshot *snapshot = session->snapshot;

	search->regions = session_allocate(session, (snapshot->mapping_count + 1u) *
							    sizeof(*search->regions));
	search->layouts =
		session_allocate(session, (snapshot->types.count + 1u) * sizeof(*search->layouts));
	search->collected = session_allocate(session, MAX_SLOTS * sizeof(*search->collected));
	search->bytes = session_allocate(session, MAX_READ);
	if (!search->regions || !search->layouts || !search->collected || !search->bytes)
		return heap_error_out_of_memory();
	find_regions(search);
	return NULL;
}

static enum command_status find_dangling(struct search *search, struct heap_filter *filter,
					 bool with_roots)
{
	struct output *output = search->session->output;
	struct heap_error *error = prepare(search);

	output_open_object(output, NULL);
	output_open_array(output, "pointers");
	if (!error)
		error = look_at_objects(search, filter);
	if (!error && with_roots)
		look_at_roots(search);
	output_close(output);
	if (error)
		return command_fail(search->session, error);
	if (!search->session->quiet)
		output_text(output, "%s: %" PRIu64 " dangling of %" PRIu64 " pointers\n",
			    session_interrupted ? "Found before the interruption" : "Total",
			    search->found, search->looked_at);
	if (session_interrupted)
		output_boolean(output, "interrupted", true);
	output_number(output, "count", search->found);
	output_number(output, "looked_at", search->looked_at);
	output_close(output);
	return search->found ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status dangling_run(struct session *session, int argc, char **argv)
{
	struct search search = {
		.session = session,
		.limit = output_is_json(session->output) ? UINT64_MAX : SHORT_LIST,
	};
	struct heap_filter *filter;

	if (!command_limit(&argc, argv, &search.limit))
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error)
		error = session_filter(session, argc - 1, argv + 1, &filter);
	if (error)
		return command_fail(session, error);

	enum command_status status = find_dangling(&search, filter, argc == 1);

	heap_filter_destroy(filter);
	return status;
}

const struct command dangling_command = {
	.name = "dangling",
	.synopsis = "[--all | --limit N] [FILTER...]",
	.summary = "pointers into the heap to where no object lives any more",
	.details =
		"Each is what remains of a freed object, and a use after free if it is followed.\n"
		"Only typed pointers are tested: first those of objects, as far as their contents\n"
		"were kept, then those of variables; local variables may not be in use. Filters\n"
		"restrict it to the pointers of the objects that match. Shows 50, unless --limit "
		"or\n"
		"--all says otherwise.\n"
		"\n"
		"  dangling\n"
		"  dangling type 'struct session'",
	.run = dangling_run,
	.words = WORDS_FILTER,
};
