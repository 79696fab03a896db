// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/chart.h"

#include "lib/base/escape.h"
#include "shell/base/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

// Indexes into the 256 colours of terminals; the last one is for the remainder.
static const int colours_of_bands[CHART_COLOURS] = { 33, 208, 34, 161, 99, 178, 37, 130, 245 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

uint64_t chart_highest(const struct chart *chart)
{
	uint64_t highest = 1;

	for (size_t i = 0; i < chart->points; i++) {
		uint64_t sum = 0;

		for (size_t j = 0; j < chart->band_count; j++)
			sum += chart->bands[j].values[i];
		highest = sum > highest ? sum : highest;
	}
	return highest;
}

const char *chart_amount(const struct chart *chart, uint64_t amount, char buffer[32])
{
	if (chart->of_bytes)
		return format_bytes(amount, buffer);
	snprintf(buffer, 32, "%" PRIu64, amount);
	return buffer;
}

// --- a column ------------------------------------------------------------------------

// How high each band reaches at a place between two points, summed from below.
static void measure_column(const struct chart *chart, double at, double *tops)
{
	size_t point = 0;
	double sum = 0, share;

	while (point + 2 < chart->points && chart->positions[point + 1] < at)
		point++;

	size_t next = chart->points > 1 ? point + 1 : point;
	double span = chart->positions[next] - chart->positions[point];

	share = span > 0 ? (at - chart->positions[point]) / span : 0;
	for (size_t i = 0; i < chart->band_count; i++) {
		const uint64_t *values = chart->bands[i].values;

		sum += (double)values[point] * (1 - share) + (double)values[next] * share;
		tops[i] = sum;
	}
}

// The band at a height, or band_count above all of them.
static size_t band_at(const struct chart *chart, const double *tops, double height)
{
	size_t band = 0;

	while (band < chart->band_count && tops[band] <= height)
		band++;
	return band;
}

static void print_cell_with_colours(const struct chart *chart, FILE *stream, const double *tops,
				    double bottom, double unit)
{
	static const char *const eighths[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	size_t below = band_at(chart, tops, bottom);
	size_t above = band_at(chart, tops, bottom + unit * 0.999);
	int part;

	if (below == chart->band_count) {
		putc(' ', stream);
		return;
	}
	part = below == above ? 8 : (int)fmax(0, fmin(8, (tops[below] - bottom) / unit * 8 + 0.5));
	fprintf(stream, "\x1b[38;5;%dm", colours_of_bands[below % CHART_COLOURS]);
	if (above < chart->band_count && part < 8)
		fprintf(stream, "\x1b[48;5;%dm", colours_of_bands[above % CHART_COLOURS]);
	fprintf(stream, "%s\x1b[0m", eighths[part]);
}

static void print_cell(const struct chart *chart, FILE *stream, const double *tops, double bottom,
		       double unit)
{
	size_t band = band_at(chart, tops, bottom + unit / 2);

	putc(band == chart->band_count ? ' ' : letters[band % (sizeof(letters) - 1)], stream);
}

// --- the picture ---------------------------------------------------------------------

static void print_rows(const struct chart *chart, FILE *stream, unsigned width, unsigned height,
		       bool colours, const double *tops)
{
	double highest = (double)chart_highest(chart), unit = highest / height;

	for (unsigned row = height; row-- > 0;) {
		char buffer[32];
		const char *label = "";

		if (row + 1 == height || row + 1 == height / 2)
			label = chart_amount(chart, (uint64_t)fmin(unit * (row + 1), 1e19), buffer);
		fprintf(stream, "%10s %s", label, *label ? "┤" : "│");
		for (unsigned column = 0; column < width; column++)
			(colours ? print_cell_with_colours : print_cell)(
				chart, stream, tops + column * chart->band_count, unit * row, unit);
		putc('\n', stream);
	}
	fprintf(stream, "%10s └", "0");
	for (unsigned column = 0; column < width; column++)
		fputs("─", stream);
	heap_print(stream, "\n%11s %-*s%s\n", "", (int)width - 12, chart->first, chart->last);
}

static void print_legend(const struct chart *chart, FILE *stream, bool colours)
{
	for (size_t i = chart->band_count; i-- > 0;) {
		const struct chart_band *band = &chart->bands[i];
		char first[32], last[32];

		if (colours)
			fprintf(stream, "\x1b[38;5;%dm█\x1b[0m",
				colours_of_bands[i % CHART_COLOURS]);
		else
			putc(letters[i % (sizeof(letters) - 1)], stream);
		heap_print(stream, " %10s → %10s  %s\n",
			   chart_amount(chart, band->values[0], first),
			   chart_amount(chart, band->values[chart->points - 1], last), band->name);
	}
}

void chart_print_text(const struct chart *chart, FILE *stream, unsigned width, unsigned height,
		      bool colours)
{
	double *tops = calloc((size_t)width * chart->band_count + 1, sizeof(*tops));
	double from = chart->positions[0], to = chart->positions[chart->points - 1];

	if (!tops)
		return;
	for (unsigned column = 0; column < width; column++)
		measure_column(chart, from + (to - from) * column / (width > 1 ? width - 1 : 1),
			       tops + column * chart->band_count);
	print_rows(chart, stream, width, height, colours, tops);
	print_legend(chart, stream, colours);
	free(tops);
}
