// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef VALUE_WORD_H
#define VALUE_WORD_H

/** Values as `find` compares them: what `show` displays on one line, but texts without quotes. */

#include "shell/print/place.h"

/**
 * @param length  gets that of the text, which lives until the session's texts are released
 * @return NULL if it takes more than one value, or was not kept
 */
const char *value_word(struct session *session, const struct place *place, size_t *length);

#endif
