// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COMPLETE_H
#define COMPLETE_H

/**
 * What readline offers for the word under the cursor: commands and aliases first, then what the
 * command takes. Its synopsis says which options it has and what follows them, its description
 * which words; shell/words/offers.h has the names of the snapshot.
 */

#include "shell/base/session.h"

/** Sets readline up. @param session  must outlive the prompt */
void complete_begin(struct session *session);

#endif
