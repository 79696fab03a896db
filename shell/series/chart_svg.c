// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/chart.h"
#include "shell/web/html.h"

enum {
	WIDTH = 900,
	LEFT = 90,
	TOP = 50,
	PLOT_WIDTH = 780,
	PLOT_HEIGHT = 340,
	LINE_HEIGHT = 20,
	TICKS = 5,
};

static const char *const fills[CHART_COLOURS] = { "#0072b2", "#e69f00", "#009e73",
						  "#cc3377", "#785ef0", "#c8a800",
						  "#56b4e9", "#8c5a2b", "#999999" };

static double x_of(const struct chart *chart, size_t point)
{
	double from = chart->positions[0], to = chart->positions[chart->points - 1];

	return to > from ? LEFT + (chart->positions[point] - from) / (to - from) * PLOT_WIDTH
			 : LEFT + (double)point * PLOT_WIDTH;
}

// The upper edge of the first @p bands bands.
static double y_of(const struct chart *chart, size_t bands, size_t point, uint64_t highest)
{
	double sum = 0;

	for (size_t i = 0; i < bands; i++)
		sum += (double)chart->bands[i].values[point];
	return TOP + PLOT_HEIGHT * (1 - sum / (double)highest);
}

static void print_band(const struct chart *chart, FILE *stream, size_t band, uint64_t highest)
{
	fprintf(stream, "<polygon fill=\"%s\" points=\"", fills[band % CHART_COLOURS]);
	for (size_t i = 0; i < chart->points; i++)
		fprintf(stream, "%.1f,%.1f ", x_of(chart, i), y_of(chart, band + 1, i, highest));
	for (size_t i = chart->points; i-- > 0;)
		fprintf(stream, "%.1f,%.1f%s", x_of(chart, i), y_of(chart, band, i, highest),
			i ? " " : "");
	fputs("\"><title>", stream);
	html_text(stream, chart->bands[band].name);
	fputs("</title></polygon>\n", stream);
}

static void print_axes(const struct chart *chart, FILE *stream, uint64_t highest)
{
	for (int i = 0; i <= TICKS; i++) {
		double y = TOP + (double)PLOT_HEIGHT * (TICKS - i) / TICKS;
		char buffer[32];

		fprintf(stream,
			"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			LEFT, LEFT + PLOT_WIDTH, y, y, LEFT - 8, y + 4,
			chart_amount(chart, highest / TICKS * (uint64_t)i, buffer));
	}
	fprintf(stream, "<text x=\"%d\" y=\"%d\">", LEFT, TOP + PLOT_HEIGHT + LINE_HEIGHT);
	html_text(stream, chart->first);
	fprintf(stream, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT + PLOT_WIDTH,
		TOP + PLOT_HEIGHT + LINE_HEIGHT);
	html_text(stream, chart->last);
	fputs("</text>\n", stream);
}

static void print_legend(const struct chart *chart, FILE *stream)
{
	for (size_t i = 0; i < chart->band_count; i++) {
		const struct chart_band *band = &chart->bands[chart->band_count - 1 - i];
		int y = TOP + PLOT_HEIGHT + LINE_HEIGHT * ((int)i + 3);
		char first[32], last[32];

		fprintf(stream,
			"<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>"
			"<text x=\"%d\" y=\"%d\">",
			LEFT, y - 10, fills[(chart->band_count - 1 - i) % CHART_COLOURS], LEFT + 20,
			y);
		html_text(stream, band->name);
		fprintf(stream, ": %s → %s</text>\n", chart_amount(chart, band->values[0], first),
			chart_amount(chart, band->values[chart->points - 1], last));
	}
}

void chart_print_svg(const struct chart *chart, FILE *stream)
{
	int height = TOP + PLOT_HEIGHT + LINE_HEIGHT * ((int)chart->band_count + 4);
	uint64_t highest = chart_highest(chart);

	fprintf(stream,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"28\" "
		"font-size=\"17\">",
		WIDTH, height, WIDTH, height, WIDTH, height, LEFT);
	html_text(stream, chart->title);
	fputs("</text>\n", stream);
	for (size_t i = 0; i < chart->band_count; i++)
		print_band(chart, stream, i, highest);
	print_axes(chart, stream, highest);
	print_legend(chart, stream);
	fputs("</svg>\n", stream);
}
