// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COMPLETE_H
#define COMPLETE_H

/**
 * What readline offers for the word under the cursor: commands and aliases first, then what
 * the command takes (its options and their arguments, filters and what belongs behind each of
 * them, types, functions, modules, variables, $1...), and files behind `source` and `>`.
 */

#include "shell/base/session.h"

/** Sets readline up. @param session  must outlive the prompt */
void complete_begin(struct session *session);

#endif
