// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CANDIDATES_HTML_H
#define CANDIDATES_HTML_H

/** The groups of candidates as a page, with a small picture of how each kind has grown. */

#include "shell/series/candidates.h"

/** Writes the page. @param session  of the latest snapshot */
void candidates_print_html(FILE *stream, struct session *session, const struct heap_census *census,
			   const struct candidates *candidates);

#endif
