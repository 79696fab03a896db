// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/export.h"

#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/words/grammar.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/new_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEFAULT_DEPTH = 3,
	DEFAULT_LIMIT = 200,
};

const struct export_format export_formats[] = {
#define ENTRY(name, extension, target) { #name, extension, EXPORT_TO_##target, export_##name },
	EXPORT_FORMATS(ENTRY)
#undef ENTRY
};

const size_t export_format_count = sizeof(export_formats) / sizeof(export_formats[0]);

struct export_options export_default_options(void)
{
	return (struct export_options){
		.by = EXPORT_BY_SITES,
		.object = HEAP_NO_OBJECT,
		.depth = DEFAULT_DEPTH,
		.limit = DEFAULT_LIMIT,
	};
}

const struct export_format *export_find(const char *name)
{
	for (size_t i = 0; i < export_format_count; i++) {
		if (strcmp(export_formats[i].name, name) == 0)
			return &export_formats[i];
	}
	return NULL;
}

const char *export_names(struct session *session)
{
	const char *names = "";

	for (size_t i = 0; i < export_format_count; i++)
		names = session_format(session, "%s%s%s", names,
				       i == 0                         ? ""
				       : i + 1 == export_format_count ? " or "
								      : ", ",
				       export_formats[i].name);
	return names;
}

bool export_parse_options(int *argc, char **argv, struct export_options *options)
{
	const char *by = "sites", *min = "0";

	if (command_option(argc, argv, "--by", &by) < 0 ||
	    command_option(argc, argv, "--min", &min) < 0 || !heap_parse_size(min, &options->min) ||
	    !command_number(argc, argv, "--depth", &options->depth) ||
	    !command_number(argc, argv, "--limit", &options->limit))
		return false;
	options->by = strcmp(by, "owners") == 0 ? EXPORT_BY_OWNERS : EXPORT_BY_SITES;
	return options->by == EXPORT_BY_OWNERS || strcmp(by, "sites") == 0;
}

// --- running -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *load(struct session *session)
{
	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SITE | HEAP_COLUMN_BIRTH |
							       HEAP_COLUMN_BACKTRACE |
							       HEAP_COLUMN_SLOTS));
	HEAP_TRY(session_edges(session));
	HEAP_TRY(session_dominators(session));
	return heap_graph_need_reach(session->graph);
}

struct heap_error *export_check_complete(struct session *session, const char *path,
					 struct heap_error *error)
{
	if (error || !session_must_stop(session))
		return error;
	return heap_error_create(session_interrupted ? HEAP_ERROR_INTERRUPTED : HEAP_ERROR_SYSTEM,
				 strcmp(path, "-") == 0 ? "interrupted; the export is not complete"
							: "interrupted; %s is not written",
				 path);
}

HEAP_MUST_CHECK
static struct heap_error *run_to_stream(struct export *export, const struct export_format *format)
{
	struct new_file file;

	// The session's answer says whether the file was written.
	if (strcmp(export->path, "-") == 0) {
		export->stream = output_stream(export->session->output);
		return export_check_complete(export->session, export->path, format->run(export));
	}
	HEAP_TRY(new_file_open(&file, export->path));
	export->stream = file.stream;
	return new_file_close(
		&file, export_check_complete(export->session, export->path, format->run(export)));
}

struct heap_error *export_run(struct session *session, const struct export_format *format,
			      const struct export_options *options, const char *path)
{
	struct export export = { session, options, NULL, path };
	struct heap_error *error = load(session);

	if (error)
		return error;
	if (format->target != EXPORT_TO_STREAM && strcmp(path, "-") == 0)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s needs a file's name",
					 format->name);

	// Descriptions go to a file now, not to a terminal.
	FILE *stream = output_redirect(session->output, output_stream(session->output), false);

	error = format->target == EXPORT_TO_STREAM ? run_to_stream(&export, format)
						   : format->run(&export);
	output_redirect(session->output, stream, session->colours);
	return error;
}

// --- common texts ------------------------------------------------------------

void export_json_string(FILE *stream, const char *text)
{
	putc('"', stream);
	heap_escape_put(stream, HEAP_ESCAPE_JSON, text);
	putc('"', stream);
}

const char *export_class(struct session *session, heap_node_id node)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_types *types = &snapshot->types;
	const struct heap_part *part = heap_divided_part(session->divided, node);
	heap_object_id object = node;
	heap_type_id type = part ? part->type : snapshot->type[object];

	if (part)
		return session_format(session, "%s%s", describe_type(session, type),
				      part->elements > 1 ? "[]" : "");
	if (type == HEAP_NO_TYPE && snapshot->evidence[object] == HEAP_EVIDENCE_POOL)
		return session_format(
			session, "pool%s",
			describe_with_site(session, " from ", snapshot->site[object]));
	if (type == HEAP_NO_TYPE)
		return session_format(
			session, "block(%" PRIu64 ")%s", snapshot->size[object],
			describe_with_site(session, " from ", snapshot->site[object]));
	if (((types->types[type].flags & HEAP_TYPE_CHARACTER) && types->types[type].size == 1) ||
	    (snapshot->elements[object] > 1 && !heap_types_flexible(types, type, NULL, NULL)))
		return session_format(session, "%s[]", describe_type(session, type));
	return describe_type(session, type);
}

const char *export_root_name(struct session *session, heap_root_id number)
{
	const char *text = describe_root(session, number);

	return strncmp(text, "the ", strlen("the ")) == 0 ? text + strlen("the ") : text;
}
