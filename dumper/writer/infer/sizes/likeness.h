// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIKENESS_H
#define LIKENESS_H

/**
 * Likeness: where no sites are known, as after an attach, a block without a name gets the type of five or
 * more others of its size, if the pointers in it lead to what theirs do, or one to the middle of it leads to a
 * part of that type. Where casts or contents alone have told the type of those (void_pointers.h), what its pointers
 * lead to need not have a name yet, as where the program keeps most of them in a library's table of which nothing is
 * known. So leaked blocks, which nothing leads to, get the types of those that are still in use, and the nodes of a
 * list through their links are named at once rather than one after another. No other type of that size may agree as
 * well.
 *
 * At last, for what no root leads to, one block in use is enough; or none, if the pointers in it lead to a struct that
 * is likely by its own, too; but where a library's types are not known, which may have leaked what looks like the program's,
 * neither is. How well contents agree does not decide between two types then, and texts alone,
 * which may be an array of texts, are not enough.
 */

#include "dumper/writer/infer/inference.h"

/**
 * Claims such blocks that have no name.
 *
 * @param is_last  when nothing else is left: those that no root leads to, and that lead to what may be of the
 *                 right type by its size and contents. Of structs that leaked together, none has a name yet
 * @param claimed  counted up
 */
HEAP_MUST_CHECK
struct heap_error *likeness_claim(struct inference *inference, bool is_last, uint64_t *claimed);

#endif
