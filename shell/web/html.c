// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/web/html.h"

#include "lib/base/escape.h"

enum {
	SPARK_WIDTH = 120,
	SPARK_HEIGHT = 24,
};

void html_text(FILE *stream, const char *text)
{
	heap_escape_put(stream, HEAP_ESCAPE_XML, text);
}

void html_begin(FILE *stream, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>", stream);
	html_text(stream, title);
	fputs("</title>\n<style>\n"
	      "body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 80em; "
	      "color: #222; background: #fff }\n"
	      "table { border-collapse: collapse; width: 100% }\n"
	      "th, td { text-align: left; padding: .3em .8em; border-bottom: 1px solid #ddd; "
	      "vertical-align: top }\n"
	      "td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }\n"
	      "td.steady { color: #b00; font-weight: 600 }\n"
	      "code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere }\n"
	      "svg.spark { stroke: #06c; fill: none; stroke-width: 1.5 }\n"
	      "</style>\n<h1>",
	      stream);
	html_text(stream, title);
	fputs("</h1>\n", stream);
}

void html_end(FILE *stream)
{
	fputs("</html>\n", stream);
}

void html_sparkline(FILE *stream, const uint64_t *times, const uint64_t *values, size_t count)
{
	double span = (double)(times[count - 1] - times[0]);
	uint64_t most = 1;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	fprintf(stream, "<svg class=\"spark\" width=\"%d\" height=\"%d\"><polyline points=\"",
		SPARK_WIDTH, SPARK_HEIGHT);
	for (size_t i = 0; i < count; i++) {
		double x = span > 0 ? (double)(times[i] - times[0]) / span : 0;
		double y = (double)values[i] / (double)most;

		fprintf(stream, "%s%.1f,%.1f", i ? " " : "", 1 + x * (SPARK_WIDTH - 2),
			SPARK_HEIGHT - 1 - y * (SPARK_HEIGHT - 2));
	}
	fputs("\"/></svg>", stream);
}
