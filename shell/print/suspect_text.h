// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SUSPECT_TEXT_H
#define SUSPECT_TEXT_H

/**
 * The places where a heap gathers (lib/graph/suspects.h), in words:
 *
 *	300 × struct date, held by struct table at 0x5f0010
 *	If they should be fewer, look for who takes them out again, and when.
 */

#include "lib/graph/suspects.h"
#include "shell/base/session.h"

/** "one", "group", "chain". */
const char *suspect_text_kind(enum heap_suspect_kind kind);

/** An object's type, or "untyped blocks of SITE". */
const char *suspect_text_type(struct session *session, heap_object_id object);

const char *suspect_text_describe(struct session *session, const struct heap_suspect *suspect);

/** Advice on a suspect. */
const char *suspect_text_advice(struct session *session, const struct heap_suspect *suspect);

#endif
