// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_FRAME_RULES_H
#define HEAPSNAP_FRAME_RULES_H

/**
 * How to get from a function's frame to its caller's, by the tables that compilers write for
 * exceptions and debuggers: .eh_frame, found through .eh_frame_hdr.
 *
 *	high   ┌────────────────┐
 *	       │ the caller's   │
 *	CFA ─▶ ├────────────────┤ ◀─ the caller's sp
 *	       │ return address │    on x86-64 at CFA - 8, or we do not follow the rule
 *	       │ caller's fp    │    where the rule says, if it has been saved
 *	       │ …              │ ◀─ sp
 *	low    └────────────────┘
 *
 * A rule holds the part of the tables that nearly all code needs: where the canonical
 * frame address (CFA) is in terms of sp or fp (rbp, x29), and where the caller's fp and the return
 * address are (machine.h). Sources: Linux Standard Base 5.0, 10.6 (.eh_frame); DWARF 5, 6.4; System V
 * ABI, AMD64 supplement, 3.7.
 *
 * Everything here but heapsnap_code_init() is async-signal-safe.
 */

#include "dumper/stacks/machine.h"

#include <stdbool.h>
#include <stdint.h>

/** A module's code in memory. */
struct heapsnap_code {
	uint64_t start, end; /**< of the whole module */
	uint64_t table;      /**< its .eh_frame_hdr; 0: it has none */
	const char *path;    /**< of its file, as the dynamic linker has it; or NULL */
};

/** Notes the modules, if libc cannot list them at any time (before glibc 2.35). */
void heapsnap_code_init(void);

/** Finds the module with code at @p address. @return false: there is none, @p result is untouched */
bool heapsnap_code_find(uint64_t address, struct heapsnap_code *result);

/** The rule for the code at @p address. Not cached: some 300 ns. */
struct heapsnap_rule heapsnap_rule_find(uint64_t address);

/** Forgets what threads have read of modules' tables: one of these has been unmapped. */
void heapsnap_rules_forget(void);

/**
 * Where the function begins that has code at @p address; 0 if the tables don't say.
 *
 * @param end  gets where it ends
 */
uint64_t heapsnap_function_find(uint64_t address, uint64_t *end);

#endif
