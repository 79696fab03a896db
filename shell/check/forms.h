// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FORMS_H
#define FORMS_H

/**
 * The verdict of a check, as text, JSON, JUnit XML (a test case per finding) or SARIF 2.1.0 (a result
 * per failure, at the line that allocates).
 */

#include "shell/check/check.h"

enum check_form {
	CHECK_TEXT,
	CHECK_JSON,
	CHECK_JUNIT,
	CHECK_SARIF,
	CHECK_FORMS,
};

/** "text", "json", "junit", "sarif". @return CHECK_FORMS for another word */
enum check_form check_form_parse(const char *word);

/** The mode that the session's output must be in. */
enum output_mode check_form_mode(enum check_form form);

/** Writes the verdict to the session's output. @param suite  name in JUnit; NULL: the program's */
void check_print(const struct check *check, struct session *session, enum check_form form,
		 const char *suite);

#endif
