// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SUSPECTS_HTML_H
#define SUSPECTS_HTML_H

/** The groups of suspects as a page, with a small picture of how each kind has grown. */

#include "shell/suspects.h"

void suspects_print_html(FILE *stream, struct session *session, const struct heap_census *census,
			 const struct suspects *suspects);

#endif
