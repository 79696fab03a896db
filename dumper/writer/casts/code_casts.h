// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CODE_CASTS_H
#define CODE_CASTS_H

/**
 * Casts in code: what the program takes for a T, though the member that holds it is a void pointer.
 *
 *	struct job *job = node->data;		mov 0x10(%rbx),%rdi
 *
 * Debug information says nothing of an assignment, but it tells in which registers variables are at each address. A
 * load from the register that `node` is in, into the one that `job` is in behind it, is such a cast; so is
 * a store. Where code is not optimized, variables are in memory, and each is loaded before it is used. Void pointers
 * also go through functions: cast_paths.h. Those in an array may have an index:
 *
 *	struct gateway *gateway = connection->contexts[plugin->id];	mov 0x28(%rdi),%rax
 *									mov (%rax,%rdx,8),%rbx
 *
 * A container of anything that is handed to a function together with the pointer tells more: that of one member, or
 * variable, may have one type of values alone.
 *
 *	struct client *client = map_get(office->clients, key);
 *
 * What a member leads to has the type that it is declared with, though no variable has it: `walk->map->slots[i].value`.
 * So has what a function returns, wherever it is put (cast_results.h).
 *
 * (DWARF 5, sections 2.6 and 4.1.)
 */

#include "dumper/writer/casts/code_cast_visitor.h"
#include "lib/dwarf/dwarf_code.h"

/** Visits the casts in the code of a file. Damage costs the functions that it is in. */
HEAP_MUST_CHECK
struct heap_error *code_casts_visit(struct heap_dwarf_file *file,
				    const struct code_cast_visitor *visitor);

#endif
