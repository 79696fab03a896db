// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef INTERACTIVE_H
#define INTERACTIVE_H

/** The prompt: readline with history and completion. ^C ends a command, not the shell. */

#include "shell/base/session.h"

/** @return the exit status */
int interactive_run(struct session *session);

#endif
