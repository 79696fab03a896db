// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OFFERS_H
#define OFFERS_H

/**
 * The names of a snapshot that begin like a word: what completion offers.
 *
 *	struct offers offers = { .begin = "sess" };
 *
 *	offer_types(&offers, session);
 *	for (i...) offers.list.items[i]        "session", "struct session_cache"
 *	offers_deinit(&offers);
 *
 * Names that matter come alone as long as one of them fits: types that objects have, variables of
 * the program itself. Only where none fits are all others offered.
 */

#include "lib/base/array.h"
#include "shell/base/session.h"

struct offers {
	const char *begin; /**< the word as far as it has been typed */
	/** malloc'd; names that a terminal would not show as they are are left out */
	struct HEAP_ARRAY(char *) list;
};

void offers_deinit(struct offers *offers);

/** Adds a name, if it begins like the word. */
void offer(struct offers *offers, const char *name);

/** Adds each of a NULL-terminated list. */
void offer_each(struct offers *offers, const char *const *names);

/** Adds the alternatives of "type|site|size". @param length  of them all */
void offer_alternatives(struct offers *offers, const char *alternatives, size_t length);

/** Types by their names, with and without struct. */
void offer_types(struct offers *offers, struct session *session);

/** Variables, with & before them if the word has it. */
void offer_variables(struct offers *offers, const struct session *session);

/** Local variables. */
void offer_locals(struct offers *offers, const struct session *session);

/** $1, $2... of the last list; where the word is an address, the addresses of its objects. */
void offer_answers(struct offers *offers, struct session *session);

/**
 * The members that can follow a path.
 *
 * @param path  OBJ before the last . or ->
 * @param lead  put before each of them: the part of the path that the word has
 */
void offer_members(struct offers *offers, struct session *session, const char *path,
		   const char *lead);

/** Fields of the types called @p type; NULL: of all that objects have. */
void offer_fields(struct offers *offers, struct session *session, const char *type);

/** The enumerators that the field can be, of the types called @p type; NULL: of any type. */
void offer_values(struct offers *offers, struct session *session, const char *type,
		  const char *field);

/** Functions and files that allocated. @param with_calls  also those on the way there */
void offer_places(struct offers *offers, const struct session *session, bool with_calls);

/** The file names of the modules. */
void offer_modules(struct offers *offers, const struct session *session);

/** The ids of threads. */
void offer_threads(struct offers *offers, const struct session *session);

#endif
