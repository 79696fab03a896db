// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/candidates_html.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/web/html.h"

#include <inttypes.h>

// Prints a chart of the objects, or of the bytes if only these grow.
static void print_spark(FILE *stream, const struct heap_census *census,
			const struct candidate_group *group)
{
	size_t length = heap_census_length(census);
	CLEANUP_FREE uint64_t *values = calloc(length, sizeof(*values));

	for (size_t i = 0; values && i < length; i++) {
		struct heap_amount amount = heap_census_amount(census, group->kind, i);

		values[i] = candidates_grow_in_size(group) ? amount.bytes : amount.objects;
	}
	if (values)
		html_sparkline(stream, heap_census_times(census), values, length);
}

static void print_group(FILE *stream, struct session *session, const struct heap_census *census,
			const struct candidate_group *group)
{
	fprintf(stream, "<tr><td class=\"number\">%" PRIu64 "<td class=\"number\">%s<td><code>",
		group->objects, describe_bytes(session, group->bytes));
	html_text(stream, group->name);
	fprintf(stream, "</code><td class=\"%s\">", heap_trend_name(candidates_trend(group)));
	html_text(stream, candidates_verdict(session, census, group));
	fputs("<td>", stream);
	print_spark(stream, census, group);
	fputs("\n", stream);
}

void candidates_print_html(FILE *stream, struct session *session, const struct heap_census *census,
			   const struct candidates *candidates)
{
	const struct heap_info *info = &session->snapshot->info;

	html_begin(stream, session_format(session, "What grows in %s", info->program));
	fprintf(stream,
		"<p>pid %" PRIu64 ", %zu snapshots over %s; %zu object%s came and stayed.</p>\n",
		info->pid, heap_census_length(census),
		describe_duration(session, info->time_ns - heap_census_times(census)[0]),
		candidates->count, format_plural(candidates->count));
	fputs("<table>\n<tr><th class=\"number\">objects<th "
	      "class=\"number\">bytes<th>what<th>growth"
	      "<th>objects of that kind, or their bytes, over time\n",
	      stream);
	for (size_t i = 0; i < candidates->group_count; i++)
		print_group(stream, session, census, &candidates->groups[i]);
	fputs("</table>\n", stream);
	html_end(stream);
}
