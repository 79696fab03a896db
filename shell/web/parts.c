// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/web/parts.h"

#include <stddef.h>
#include <string.h>

// clang-format off
#define PARTS(_) \
	_(head_html, "head.html", "head.html") \
	_(bar_html, "bar.html", "bar.html") \
	_(script_html, "script.html", "script.html") \
	_(page_css, "page.css", "page.css") \
	_(d3_path, "d3-path", "vendor/d3-path/d3-path.min.js") \
	_(d3_shape, "d3-shape", "vendor/d3-shape/d3-shape.min.js") \
	_(d3_hierarchy, "d3-hierarchy", "vendor/d3-hierarchy/d3-hierarchy.min.js") \
	_(base_js, "base.js", "base.js") \
	_(links_js, "links.js", "links.js") \
	_(tables_js, "tables.js", "tables.js") \
	_(charts_js, "charts.js", "charts.js") \
	_(holdings_js, "holdings.js", "holdings.js") \
	_(objects_js, "objects.js", "objects.js") \
	_(page_js, "page.js", "page.js") \
	_(trace_css, "trace.css", "trace/trace.css") \
	_(samples_js, "samples.js", "trace/samples.js") \
	_(filters_js, "filters.js", "trace/filters.js") \
	_(timeline_js, "timeline.js", "trace/timeline.js") \
	_(lifetimes_js, "lifetimes.js", "trace/lifetimes.js") \
	_(flames_js, "flames.js", "trace/flames.js") \
	_(sites_js, "sites.js", "trace/sites.js") \
	_(trace_js, "trace.js", "trace/trace.js")
// clang-format on

// Paths are relative to the build's working directory. The Makefile has the dependencies.
#define EMBED(symbol, name, file) \
	__asm__(".pushsection .rodata\nreport_" #symbol ":\n.incbin \"shell/web/" file \
		"\"\n.byte 0\n.popsection\n"); \
	extern const char report_##symbol[] __attribute__((visibility("hidden")));

EMBED(page_html, "", "page.html")
EMBED(trace_html, "", "trace/trace.html")
PARTS(EMBED)

static const struct report_part parts[] = {
#define ENTRY(symbol, name, file) { name, report_##symbol },
	PARTS(ENTRY)
#undef ENTRY
};

const char *report_frame(void)
{
	return report_page_html;
}

const char *report_trace_frame(void)
{
	return report_trace_html;
}

const char *report_part(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strlen(parts[i].name) == length && memcmp(parts[i].name, name, length) == 0)
			return parts[i].text;
	}
	return NULL;
}
