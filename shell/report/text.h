// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

/**
 * Texts of a report's data, which are bounded: names of C++ templates have no end, and a page
 * has.
 */

#include "shell/base/session.h"

/** How many bytes a text takes in the page: some characters have to be escaped there. */
size_t report_weight(const char *text);

/** A name with its middle left out if it is long. The same name always gives the same text. */
const char *report_name(struct session *session, const char *name);

#endif
