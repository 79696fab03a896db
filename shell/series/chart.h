// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CHART_H
#define CHART_H

/**
 * Amounts over time, stacked: what they come to, and what of it is whose.
 *
 *	8 MiB ┤         ▂▄▆            a band for each name, the largest at the bottom;
 *	      │     ▃▅▇████            on top of them all others together
 *	    0 └────────────
 *	       0 s      1.0 h
 *
 * For terminals, with colours or with letters instead; and as SVG, which needs nothing from
 * elsewhere.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct chart_band {
	const char *name;
	const uint64_t *values; /**< [points] */
};

struct chart {
	const char *title;
	bool of_bytes;            /**< else of objects */
	const double *positions;  /**< [points] where each point is on the x axis, ascending */
	const char *first, *last; /**< what stands below the first and the last point */
	size_t points;
	const struct chart_band *bands; /**< [band_count] from bottom to top */
	size_t band_count;
};

enum {
	CHART_COLOURS = 9, /**< bands beyond that begin again */
};

/** @param width, height  of the picture in characters, without the names of the bands */
void chart_print_text(const struct chart *chart, FILE *stream, unsigned width, unsigned height,
		      bool colours);

/** Writes the chart as a file of its own. */
void chart_print_svg(const struct chart *chart, FILE *stream);

/** The largest sum of all bands at a point; 1 at least. */
uint64_t chart_highest(const struct chart *chart);

/** "12", "1.2 KiB": an amount as the chart has it. @return buffer */
const char *chart_amount(const struct chart *chart, uint64_t amount, char buffer[32]);

#endif
