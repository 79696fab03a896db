// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COMPLETE_H
#define COMPLETE_H

/**
 * Completion by readline of the word under the cursor: commands and aliases first, then a
 * command's operands. Its synopsis names its options and their values, its description the
 * kinds of words; shell/words/offers.h has the names of the snapshot.
 */

#include "shell/base/session.h"

/** Sets readline up. @param session  must outlive the prompt */
void complete_begin(struct session *session);

#endif
