// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

/**
 * Texts of a report's data, whose length is limited: the names of C++ templates may be very
 * long.
 */

#include "shell/base/session.h"

/** The number of bytes that a text takes in the page, escaped. */
size_t report_weight(const char *text);

/** A name, with its middle omitted if it is long. The same name always gives the same text. */
const char *report_name(struct session *session, const char *name);

#endif
