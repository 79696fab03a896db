// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXPORT_H
#define EXPORT_H

/**
 * Snapshots in the formats of other tools.
 *
 *	heapsnapshot   the Memory panel of Chrome's DevTools, memlab
 *	pprof          go tool pprof, Pyroscope, Parca
 *	perfetto       ui.perfetto.dev, trace_processor
 *	hprof          VisualVM, Eclipse's Memory Analyzer
 *	collapsed      flamegraph.pl, inferno; a line per stack
 *	speedscope     speedscope.app
 *	dot, graphml   Graphviz; Gephi, yEd, networkx
 *	csv, sqlite    tables, for queries in SQL
 *	rows           ClickHouse, or another column store that has many machines' snapshots
 *
 * To add one: write its function in shell/export/NAME.c, add its line to EXPORT_FORMATS, and
 * describe it in man/heapsh-export.1.
 */

#include "shell/base/session.h"

#include <stdio.h>

/** The stacks along which bytes are summed up. */
enum export_by {
	EXPORT_BY_SITES,  /**< the calls that led to the allocation */
	EXPORT_BY_OWNERS, /**< the dominator tree, types in place of objects */
};

struct export_options {
	enum export_by by;
	heap_object_id object; /**< of graphs: the centre; HEAP_NO_OBJECT: the roots */
	uint64_t depth;        /**< of graphs: steps from there */
	uint64_t limit;        /**< of graphs: objects */
	uint64_t min;          /**< of heapsnapshot: bytes; objects that retain less are merged */
};

enum export_target {
	EXPORT_TO_STREAM,    /**< one file, which may be a pipe */
	EXPORT_TO_DIRECTORY, /**< a file per table in a directory */
	EXPORT_TO_DATABASE,  /**< a file that may hold others already */
};

/** An export: the snapshot, the options, and the target. */
struct export
{
	struct session *session;
	const struct export_options *options;
	FILE *stream;     /**< of EXPORT_TO_STREAM; errors are checked at the end */
	const char *path; /**< as it was given */
};

struct export_format {
	const char *name;
	const char *extension; /**< of files' names, without the dot; "" for directories */
	enum export_target target;
	struct heap_error *(*run)(struct export *export);
};

// clang-format off
#define EXPORT_FORMATS(_) \
	_(heapsnapshot, "heapsnapshot", STREAM) \
	_(pprof, "pb.gz", STREAM) \
	_(collapsed, "collapsed", STREAM) \
	_(speedscope, "speedscope.json", STREAM) \
	_(perfetto, "pftrace", STREAM) \
	_(hprof, "hprof", STREAM) \
	_(dot, "dot", STREAM) \
	_(graphml, "graphml", STREAM) \
	_(csv, "csv", DIRECTORY) \
	_(sqlite, "sqlite", DATABASE) \
	_(rows, "rows.tsv.gz", STREAM) \
	_(object_rows, "object_rows.tsv.gz", STREAM) \
	_(edge_rows, "edge_rows.tsv.gz", STREAM)
// clang-format on

#define EXPORT_DECLARE(name, extension, target) \
	HEAP_MUST_CHECK \
	struct heap_error *export_##name(struct export *export);
EXPORT_FORMATS(EXPORT_DECLARE)
#undef EXPORT_DECLARE

extern const struct export_format export_formats[];
extern const size_t export_format_count;

/** The default options. */
struct export_options export_default_options(void);

/** @return NULL if there is none of that name */
const struct export_format *export_find(const char *name);

/** "heapsnapshot, pprof... or sqlite". */
const char *export_names(struct session *session);

/**
 * Writes the session's snapshot to a file, which is overwritten once all is written; databases
 * are added to. An export that fails or is interrupted leaves nothing.
 *
 * @param path  "-" for standard output, where the format is a stream
 */
HEAP_MUST_CHECK
struct heap_error *export_run(struct session *session, const struct export_format *format,
			      const struct export_options *options, const char *path);

/** Removes --by, --depth and --limit from the arguments. @return false if they are wrong */
bool export_parse_options(int *argc, char **argv, struct export_options *options);

// --- what several formats have in common ---------------------------------------------------

/**
 * Checks a file before it is moved into place.
 *
 * @param error  of writing it, returned if there is one
 * @return HEAP_ERROR_INTERRUPTED if the export was interrupted, and so is incomplete
 */
HEAP_MUST_CHECK
struct heap_error *export_check_complete(struct session *session, const char *path,
					 struct heap_error *error);

/** A JSON string with its quotes. */
void export_json_string(FILE *stream, const char *text);

/** The class that an object is counted in: "struct slot[]", "char[]", "block(48) from f+0x2c". */
const char *export_class(struct session *session, heap_node_id node);

/** "popular (cache.c:50)": a root in few words. */
const char *export_root_name(struct session *session, heap_root_id root);

#endif
