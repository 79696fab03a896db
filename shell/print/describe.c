// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/describe.h"

#include "lib/base/cleanup.h"
#include "lib/base/path.h"
#include "lib/query/absent.h"
#include "lib/series/identity.h"
#include "lib/types/short_name.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <string.h>

enum {
	MAX_TEXT = 48, // of a string's bytes, shown beside its address
	MAX_TYPE_NAME = 512,
	MAX_FUNCTION_NAME = 1024,
};

static const unsigned columns = HEAP_COLUMN_ADDRESS | HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE |
				HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_EVIDENCE | HEAP_COLUMN_TAG;

// Without its parts a pool is a block: all else can be said of a damaged file.
static void load_parts(struct session *session)
{
	heap_error_destroy(heap_snapshot_load(session->snapshot, HEAP_COLUMN_PARTS));
}

struct heap_error *describe_load(struct session *session)
{
	HEAP_TRY(heap_snapshot_load(session->snapshot, columns));
	load_parts(session);
	return NULL;
}

struct heap_error *describe_load_around(struct session *session, const heap_object_id *objects,
					size_t count)
{
	HEAP_TRY(heap_snapshot_load_neighbours(session->snapshot, columns, objects, count));
	load_parts(session);
	return NULL;
}

const char *describe_name(struct session *session, const char *name)
{
	return session_keep(session,
			    output_is_json(session->output) ? strdup(name) : format_name(name));
}

const char *describe_other_malloc(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_info *info = &snapshot->info;

	if (!*info->other_malloc)
		return "";
	return session_format(session, "that of %s, which came before libheapsnap.so: %s%s",
			      describe_name(session, info->other_malloc),
			      *info->allocators ? "its blocks are those of "
			      : snapshot->object_count == 0
				      ? "its blocks are not in this snapshot"
				      : "what it passes on is in this snapshot",
			      *info->allocators ? describe_name(session, info->allocators) : "");
}

const char *describe_type(struct session *session, heap_type_id type)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id shared = heap_types_shared(types, type, NULL);
	char name[MAX_TYPE_NAME];

	heap_types_format(types, shared != HEAP_NO_TYPE ? shared : type, name, sizeof(name));
	return shared == HEAP_NO_TYPE ? describe_name(session, name)
				      : session_format(session, "%s" HEAP_TYPES_SHARED_SUFFIX,
						       describe_name(session, name));
}

static bool is_text(const struct heap_types *types, heap_type_id type)
{
	return (types->types[type].flags & HEAP_TYPE_CHARACTER) && types->types[type].size == 1;
}

const char *describe_elements(struct session *session, heap_type_id type, uint64_t elements,
			      uint64_t size)
{
	const struct heap_types *types = &session->snapshot->types;
	heap_type_id element = heap_types_counted(types, type);

	uint64_t prefix;
	heap_type_id body = heap_types_prefixed(types, type, &prefix);

	if (body != HEAP_NO_TYPE)
		return session_format(session, "%s behind %" PRIu64 " bytes",
				      describe_elements(session, body,
							elements - (element != HEAP_NO_TYPE),
							size - prefix),
				      prefix);
	if (element != HEAP_NO_TYPE)
		return session_format(session, "%s[%" PRIu64 "]", describe_type(session, element),
				      elements - 1);

	const char *name = describe_type(session, type);

	if (is_text(types, type))
		return session_format(session, "%s[%" PRIu64 "]", name, size);
	// A flexible array's elements are part of the one structure.
	if (elements <= 1 || heap_types_flexible(types, type, NULL, NULL))
		return name;
	return session_format(session, "%s[%" PRIu64 "]", name, elements);
}

// "struct node and 16 bytes": a block of which only its beginning is known.
static const char *describe_beginning(struct session *session, const struct heap_part *part)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t size = heap_snapshot_part_size(snapshot, part);
	uint64_t rest = snapshot->size[part->object] - size;

	return session_format(session, "%s and %" PRIu64 " byte%s",
			      describe_elements(session, part->type, part->elements, size), rest,
			      format_plural(rest));
}

const char *describe_type_of(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[object];

	if (type == HEAP_NO_TYPE && snapshot->evidence[object] == HEAP_EVIDENCE_POOL) {
		uint32_t parts = heap_snapshot_part_count(session->snapshot, object);
		const struct heap_part *beginning = heap_snapshot_beginning(snapshot, object);

		if (beginning)
			return describe_beginning(session, beginning);
		if (parts > 0)
			return session_format(session, "pool of %" PRIu32 " typed part%s", parts,
					      format_plural(parts));
	}
	if (type == HEAP_NO_TYPE)
		return session_format(session, "block(%" PRIu64 ")", snapshot->size[object]);
	return describe_elements(session, type, snapshot->elements[object], snapshot->size[object]);
}

// The text that a character array holds, its first MAX_TEXT bytes; NULL if it is something else.
static const char *load_text(struct session *session, heap_object_id object, size_t *length)
{
	char *bytes = session_allocate(session, MAX_TEXT + 1);
	size_t kept;

	if (!bytes)
		return NULL;

	struct heap_error *error =
		heap_snapshot_read_content(session->snapshot, object, bytes, MAX_TEXT, &kept);

	if (error) {
		heap_error_destroy(error);
		return NULL;
	}
	*length = strnlen(bytes, kept);
	if (kept == 0 || (*length == 0 && kept > 1 && bytes[kept - 1]))
		return NULL;
	return bytes;
}

// The same, quoted; "" if there is none.
static const char *quote_text(struct session *session, heap_object_id object)
{
	size_t length;
	const char *text = load_text(session, object, &length);

	if (!text)
		return "";

	const char *escaped = session_keep(session, format_escaped(text, length));
	bool cut = length == MAX_TEXT && session->snapshot->size[object] > MAX_TEXT;

	return session_format(session, " \"%s\"%s", escaped, cut ? "…" : "");
}

const char *describe_text(struct session *session, heap_object_id object)
{
	size_t length;
	const char *text = load_text(session, object, &length);

	return text ? session_format(session, "%.*s", (int)length, text) : "";
}

// " ($3)" at a prompt, where a person wants to go on from there.
static const char *number_of(struct session *session, heap_object_id object)
{
	size_t number = session->numbered ? session_remember(session, object) : 0;

	return number == 0 ? "" : session_format(session, " ($%zu)", number);
}

const char *describe_tag(struct session *session, uint32_t tag)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *name = heap_snapshot_string(snapshot, snapshot->tags[tag].name);

	return *name ? describe_name(session, name)
		     : session_format(session, "%#" PRIx64, snapshot->tags[tag].address);
}

// " (PyDict_Type)": the method table that tells what an object is.
static const char *tag_of(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint32_t tag = snapshot->tag ? snapshot->tag[object] : 0;
	const char *name = tag == 0 ? "" : describe_tag(session, tag - 1);

	// A class is told by its type already, and those of members and of the library say nothing.
	if (*name == '\0' || strncmp(name, "std::", strlen("std::")) == 0 ||
	    strncmp(name, "vtable for ", strlen("vtable for ")) == 0 ||
	    (strstr(name, "::") && strstr(describe_type_of(session, object), name)))
		return "";
	return session_format(session, " (%s)", name);
}

const char *describe_object(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const char *text = is_text(&snapshot->types, snapshot->type[object])
				   ? quote_text(session, object)
				   : "";

	return session_format(
		session, "%s%s%s%s%s at %s%#" PRIx64 "%s%s",
		output_colour(session->output, COLOUR_TYPE), describe_type_of(session, object),
		output_colour(session->output, COLOUR_PLAIN), tag_of(session, object), text,
		output_colour(session->output, COLOUR_ADDRESS), snapshot->address[object],
		output_colour(session->output, COLOUR_PLAIN), number_of(session, object));
}

// --- places ------------------------------------------------------------------

static const char *safe_string(struct session *session, uint32_t offset)
{
	return describe_name(session, heap_snapshot_string(session->snapshot, offset));
}

// A function's name, in the short form of names of C++.
static const char *safe_function(struct session *session, uint32_t offset)
{
	char name[MAX_FUNCTION_NAME];

	heap_short_name(heap_snapshot_string(session->snapshot, offset), name, sizeof(name));
	return describe_name(session, name);
}

const char *describe_no_module(struct session *session)
{
	const char *taken = heap_unprepared(session->snapshot);

	return taken ? session_format(session, "(not known: taken %s)", taken) : "(no module)";
}

const char *describe_module(struct session *session, uint32_t module)
{
	if (module == HEAP_NO_INDEX)
		return "";

	const char *path = safe_string(session, session->snapshot->modules[module].path);
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *describe_place(struct session *session, const struct described_place *place)
{
	const char *name = safe_function(session, place->function);
	const char *source = heap_base_name(safe_string(session, place->file));
	const char *module = describe_module(session, place->module);

	if (*name && *source && place->line > 0)
		return session_format(session, "%s (%s:%" PRIu32 ")", name, source, place->line);
	if (*name && place->module != HEAP_NO_INDEX && place->offset == 0)
		return session_format(session, "%s (%s)", name, module);
	if (*name && place->module != HEAP_NO_INDEX)
		return session_format(session, "%s+%#" PRIx64 " (%s)", name, place->offset, module);
	if (place->module != HEAP_NO_INDEX)
		return session_format(session, "%s+%#" PRIx64, module, place->offset);
	return session_format(session, "0x%" PRIx64, place->address);
}

static const char *describe_unknown_code(struct session *session)
{
	const char *taken = heap_unprepared(session->snapshot);

	return taken ? session_format(session, "code that is not known: taken %s", taken)
		     : "code that is not known";
}

const char *describe_with_site(struct session *session, const char *before, heap_site_id site)
{
	return heap_unprepared(session->snapshot)
		       ? ""
		       : session_format(session, "%s%s", before, describe_site(session, site));
}

const char *describe_site(struct session *session, heap_site_id number)
{
	const struct heap_site *site = &session->snapshot->sites[number];
	const char *place;

	if (site->address == 0)
		return describe_unknown_code(session);
	place = describe_place(session, &(struct described_place){ site->function, site->offset,
								   site->file, site->line,
								   site->module, site->address });
	return site->flags & HEAP_SITE_CALLER_UNKNOWN
		       ? session_format(session, "%s, caller not sampled", place)
		       : place;
}

const char *describe_frame(struct session *session, uint32_t number)
{
	const struct heap_frame *frame = &session->snapshot->frames[number];

	return describe_place(session, &(struct described_place){ frame->function, frame->offset,
								  frame->file, frame->line,
								  frame->module, frame->pc });
}

// Names the target of a pointer to code, which is nearly always the beginning of a function.
static const char *describe_function(struct session *session, const struct heap_call *code)
{
	const char *place = describe_place(session, &(struct described_place){
							    .function = code->function,
							    .offset = code->offset,
							    .file = code->file,
							    .line = code->line,
							    .module = code->module,
							    .address = code->address,
						    });

	if (code->offset == 0 || code->line == 0)
		return place;
	return session_format(session, "%s+%#" PRIx64 " (%s:%" PRIu32 ")",
			      safe_function(session, code->function), code->offset,
			      heap_base_name(safe_string(session, code->file)), code->line);
}

const char *describe_address(struct session *session, uint64_t address)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_call *code = heap_snapshot_function(snapshot, address);

	if (code)
		return describe_function(session, code);
	for (uint32_t i = 0; i < snapshot->module_count; i++) {
		const struct heap_module *module = &snapshot->modules[i];

		if (address >= module->start && address < module->end)
			return session_format(session, "%#" PRIx64 " (%s+%#" PRIx64 ")", address,
					      describe_module(session, i), address - module->start);
	}
	return session_format(session, "%#" PRIx64, address);
}

const char *describe_bytes(struct session *session, uint64_t bytes)
{
	char buffer[FORMAT_BYTES_MAX];

	return session_format(session, "%s", format_bytes(bytes, buffer));
}

const char *describe_duration(struct session *session, uint64_t nanoseconds)
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = { { 86400, "days" }, { 3600, "h" }, { 60, "min" } };
	double seconds = (double)nanoseconds / 1e9;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (seconds >= units[i].seconds)
			return session_format(session, "%.1f %s", seconds / units[i].seconds,
					      units[i].name);
	}
	return session_format(session, "%.1f s", seconds);
}

const char *describe_birth(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_sample *sample = heap_snapshot_sample(snapshot, object);
	uint64_t now = snapshot->info.time_ns;

	if (!sample)
		return session_format(session, "%s ago",
				      describe_age(session, snapshot->birth[object]));
	return session_format(
		session, "%s ago by thread %" PRIu32,
		describe_duration(session, now > sample->time_ns ? now - sample->time_ns : 0),
		sample->thread);
}

void describe_sample(struct session *session, heap_object_id object)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_sample *sample = heap_snapshot_sample(snapshot, object);
	const char *name = strrchr(snapshot->info.trace, '/');

	if (!sample)
		return;
	output_open_object(session->output, "sample");
	output_number(session->output, "time_ns", sample->time_ns);
	output_number(session->output, "thread", sample->thread);
	if (sample->number > 0) {
		uint64_t us = heap_sample_trace_us(snapshot, sample);

		output_text(session->output, "  sample %" PRIu32 " of %s, at %.6f s of it\n",
			    sample->number,
			    describe_name(session, name ? name + 1 : snapshot->info.trace),
			    (double)us / 1e6);
		output_string(session->output, "trace", snapshot->info.trace);
		output_number(session->output, "number", sample->number);
		output_number(session->output, "trace_us", us);
	}
	output_close(session->output);
}

const char *describe_age(struct session *session, uint32_t epoch)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint64_t born = snapshot->epochs[epoch], now = snapshot->info.time_ns;

	return session_format(session, "at most %s",
			      describe_duration(session, now > born ? now - born : 0));
}

// --- roots -------------------------------------------------------------------

static const char *describe_thread(struct session *session, uint32_t thread)
{
	if (thread == HEAP_NO_INDEX)
		return "";
	return session_format(session, "thread %" PRIu32, session->snapshot->threads[thread].tid);
}

const char *describe_named_thread(struct session *session, uint32_t thread)
{
	const char *name = safe_string(session, session->snapshot->threads[thread].name);

	return session_format(session, "%s%s%s%s", describe_thread(session, thread),
			      *name ? " (" : "", name, *name ? ")" : "");
}

static const char *frame_function(struct session *session, uint32_t frame)
{
	const char *name = safe_function(session, session->snapshot->frames[frame].function);

	return *name ? name
		     : session_format(session, "0x%" PRIx64, session->snapshot->frames[frame].pc);
}

static const char *describe_variable(struct session *session, const struct heap_root *root,
				     const char *kind, const char *module)
{
	const char *file = safe_string(session, root->file);
	const char *name = safe_string(session, root->name);

	if (*file)
		return session_format(session, "the %s %s (%s:%" PRIu32 "%s%s)", kind, name, file,
				      root->line, *module ? ", " : "", module);
	return session_format(session, "the %s %s%s%s%s", kind, name, *module ? " (" : "", module,
			      *module ? ")" : "");
}

static const char *describe_local(struct session *session, const struct heap_root *root)
{
	const char *file = safe_string(session, root->file);
	const char *name = safe_string(session, root->name);
	const char *function =
		root->frame == HEAP_NO_INDEX ? "" : frame_function(session, root->frame);
	const char *place =
		*file ? session_format(session, " (%s:%" PRIu32 ")", file, root->line) : "";

	return session_format(session, "the local variable %s of %s%s, %s", name, function, place,
			      describe_thread(session, root->thread));
}

// Words of a module's data: ".bss+0x40, near stdout"; ".data" alone tells no place.
static const char *describe_data(struct session *session, const struct heap_root *root)
{
	const char *place = safe_string(session, root->name);
	bool is_known = strchr(place, '+') != NULL;

	return session_format(session, "unnamed data of %s%s%s%s",
			      describe_module(session, root->module), is_known ? " (" : "",
			      is_known ? place : "", is_known ? ")" : "");
}

static const char *describe_rest(struct session *session, const struct heap_root *root)
{
	const char *thread = describe_thread(session, root->thread);

	switch (root->kind) {
	case HEAP_ROOT_REGISTER:
		return session_format(
			session, "the register %s in %s, %s", safe_string(session, root->name),
			root->frame == HEAP_NO_INDEX ? "?" : frame_function(session, root->frame),
			thread);
	case HEAP_ROOT_STACK:
		if (root->frame == HEAP_NO_INDEX)
			return session_format(session, "the stack of %s", thread);
		return session_format(session, "the stack of %s, %s",
				      frame_function(session, root->frame), thread);
	case HEAP_ROOT_SEGMENT:
		return describe_data(session, root);
	default:
		if (*thread)
			return session_format(session, "the %s of %s",
					      safe_string(session, root->name), thread);
		if (!*safe_string(session, root->name))
			return session_format(session, "the mapping at %#" PRIx64, root->address);
		return session_format(session, "the mapping %s at %#" PRIx64,
				      safe_string(session, root->name), root->address);
	}
}

const char *describe_root(struct session *session, heap_root_id number)
{
	const struct heap_root *root = &session->snapshot->roots[number];
	const char *text;

	switch (root->kind) {
	case HEAP_ROOT_GLOBAL:
		text = describe_variable(session, root, "global variable",
					 describe_module(session, root->module));
		break;
	case HEAP_ROOT_THREAD_LOCAL:
		text = session_format(session, "%s, %s",
				      describe_variable(session, root, "thread-local variable",
							describe_module(session, root->module)),
				      describe_thread(session, root->thread));
		break;
	case HEAP_ROOT_LOCAL:
		text = describe_local(session, root);
		break;
	default:
		text = describe_rest(session, root);
	}
	return session_format(session, "%s%s%s", output_colour(session->output, COLOUR_ROOT), text,
			      output_colour(session->output, COLOUR_PLAIN));
}

// --- JSON --------------------------------------------------------------------

// A header before the elements counts as one, unless it is just their number.
static uint64_t count_elements(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return snapshot->elements[object] -
	       (heap_types_counted(&snapshot->types, snapshot->type[object]) != HEAP_NO_TYPE);
}

void describe_object_json(struct session *session, const char *key, heap_object_id object)
{
	struct output *output = session->output;
	const struct heap_snapshot *snapshot = session->snapshot;

	if (!output_is_json(output))
		return;
	output_open_object(output, key);
	output_address(output, "address", snapshot->address[object]);
	output_string(output, "type", describe_type_of(session, object));
	output_number(output, "size", snapshot->size[object]);
	output_number(output, "elements", count_elements(snapshot, object));
	output_string(output, "evidence", heap_evidence_name(snapshot->evidence[object]));
	if (snapshot->tag && snapshot->tag[object])
		output_string(output, "tag", describe_tag(session, snapshot->tag[object] - 1));
	if (is_text(&snapshot->types, snapshot->type[object])) {
		size_t length;
		const char *text = load_text(session, object, &length);

		if (text)
			output_string(output, "text", text);
	}
	output_close(output);
}

const char *describe_root_kind(uint8_t kind)
{
	static const char *const kinds[HEAP_ROOT_KINDS] = {
		[HEAP_ROOT_GLOBAL] = "global",   [HEAP_ROOT_THREAD_LOCAL] = "thread-local",
		[HEAP_ROOT_LOCAL] = "local",     [HEAP_ROOT_REGISTER] = "register",
		[HEAP_ROOT_STACK] = "stack",     [HEAP_ROOT_SEGMENT] = "segment",
		[HEAP_ROOT_MAPPING] = "mapping",
	};

	return kinds[kind];
}

void describe_root_json(struct session *session, const char *key, heap_root_id number)
{
	struct output *output = session->output;
	const struct heap_root *root = &session->snapshot->roots[number];

	if (!output_is_json(output))
		return;
	output_open_object(output, key);
	output_string(output, "kind", describe_root_kind(root->kind));
	output_string(output, "name", heap_snapshot_string(session->snapshot, root->name));
	output_string(output, "description", describe_root(session, number));
	output_string(output, "type", describe_type(session, root->type));
	output_address(output, "address", root->address);
	output_number(output, "size", root->size);
	output_string(output, "module", describe_module(session, root->module));
	output_string(output, "file", heap_snapshot_string(session->snapshot, root->file));
	output_number(output, "line", root->line);
	if (root->thread != HEAP_NO_INDEX)
		output_number(output, "thread", session->snapshot->threads[root->thread].tid);
	output_close(output);
}

void describe_unknown_sites(struct session *session, bool is_wanted)
{
	if (!is_wanted || session->snapshot->info.origin == HEAP_ORIGIN_LIBRARY)
		return;
	output_text(session->output, "Nobody had prepared the process: where blocks were allocated "
				     "is not known\n");
	output_string(session->output, "sites_are", "not known");
}

void describe_unknown_births(struct session *session, const struct session *other)
{
	if (heap_knows_births(session->snapshot) && (!other || heap_knows_births(other->snapshot)))
		return;
	output_text(session->output,
		    "When blocks were allocated is not known: those at one address with alike "
		    "contents count as the same\n");
	output_string(session->output, "births_are", "not known");
}

const char *describe_type_kind(uint8_t kind)
{
	static const char *const names[] = {
		[HEAP_TYPE_UNKNOWN] = "unknown",   [HEAP_TYPE_BASE] = "base",
		[HEAP_TYPE_POINTER] = "pointer",   [HEAP_TYPE_REFERENCE] = "reference",
		[HEAP_TYPE_ARRAY] = "array",       [HEAP_TYPE_STRUCT] = "struct",
		[HEAP_TYPE_CLASS] = "class",       [HEAP_TYPE_UNION] = "union",
		[HEAP_TYPE_ENUM] = "enum",         [HEAP_TYPE_TYPEDEF] = "typedef",
		[HEAP_TYPE_FUNCTION] = "function",
	};

	return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "other";
}
