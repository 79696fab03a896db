// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DESCRIBE_H
#define DESCRIBE_H

/**
 * Objects, roots and sites in words: the forms that every command uses.
 *
 *	struct session at 0x55d0c0ffee40      the global variable popular (cache.c:50, app)
 *	struct slot[12] at 0x55d0c0ffee40     the local variable line of main (app.c:7), thread 12
 *	char[17] "hello, world" at 0x…        session_new (server.c:88)
 *	block(48) at 0x…
 *	pool of 1204 typed parts at 0x…
 *
 * All texts belong to the session, until the command ends.
 */

#include "shell/base/session.h"

/** Loads the columns that descriptions need; to be called before the others. */
HEAP_MUST_CHECK
struct heap_error *describe_load(struct session *session);

/** The same, of some objects alone. @param objects  [count] */
HEAP_MUST_CHECK
struct heap_error *describe_load_around(struct session *session, const heap_object_id *objects,
					size_t count);

/** The symbol of a method table, or its address. @param tag  number in snapshot->tags */
const char *describe_tag(struct session *session, uint32_t tag);

/**
 * A name from outside, as a part of other texts. It is escaped for a terminal; JSON has it as it
 * is, as output_string() escapes it.
 */
const char *describe_name(struct session *session, const char *name);

/** Whose malloc came before the library's, and which blocks the snapshot has nevertheless; "" if none did. */
const char *describe_other_malloc(struct session *session);

/** An object, as above. */
const char *describe_object(struct session *session, heap_object_id object);

/** Its type alone: "struct slot[12]", "block(48)", "char[17]". */
const char *describe_type_of(struct session *session, heap_object_id object);

/** The text that an array of characters holds, its beginning, or "" if it holds none. */
const char *describe_text(struct session *session, heap_object_id object);

/** The name of a type, as C writes it; for the blocks of std::make_shared() see HEAP_TYPES_SHARED_SUFFIX. */
const char *describe_type(struct session *session, heap_type_id type);

/** "struct", "class", "union", "pointer"... @param kind  enum heap_type_kind */
const char *describe_type_kind(uint8_t kind);

/** A type with its number of elements. @param size  bytes of all, for characters */
const char *describe_elements(struct session *session, heap_type_id type, uint64_t elements,
			      uint64_t size);

/** A root, as above. */
const char *describe_root(struct session *session, heap_root_id root);

/** Somewhere in the code; names as offsets in snapshot->strings. */
struct described_place {
	uint32_t function;
	uint64_t offset; /**< in that function */
	uint32_t file;
	uint32_t line;
	uint32_t module; /**< or HEAP_NO_INDEX */
	uint64_t address;
};

/** "thread 4242 (worker)"; without its name where that is not known, as of most threads of a core file. */
const char *describe_named_thread(struct session *session, uint32_t thread);

/** "main (app.c:12)", "read+0x10 (libc.so.6)", "0x7f…": the best that is known. */
const char *describe_place(struct session *session, const struct described_place *place);

/** "session_new (server.c:88)", "session_new+0x2c (libapp.so)", "0x7f…". */
const char *describe_site(struct session *session, heap_site_id site);

/**
 * A site as the end of a longer text: " from session_new (server.c:88)". It is empty where no site is known, because the
 * process ran without the library: info says so.
 *
 * @param before  it, like " from "
 */
const char *describe_with_site(struct session *session, const char *before, heap_site_id site);

/** "main (app.c:12)", "read+0x10 (libc.so.6)". */
const char *describe_frame(struct session *session, uint32_t frame);

/** Stands for the module of a block that no known module has allocated. */
const char *describe_no_module(struct session *session);

/** The file name of a module. */
const char *describe_module(struct session *session, uint32_t module);

/** An address outside the heap: "compare (app.c:12)", "0x… (app+0x1040)", or just "0x…". */
const char *describe_address(struct session *session, uint64_t address);

/** "308 B", "14.4 KiB". */
const char *describe_bytes(struct session *session, uint64_t bytes);

/** "10.0 s", "2.5 min", "3.0 h", "4.1 days". */
const char *describe_duration(struct session *session, uint64_t nanoseconds);

/** The age of an object that was born in that epoch: "at most 10.0 s". */
const char *describe_age(struct session *session, uint32_t epoch);

/** "2.5 s ago by thread 4242" of a sample; of others "at most 3.0 s ago". */
const char *describe_birth(struct session *session, heap_object_id object);

/** Tells an object's number in the trace, and its time there, if it is a sample. */
void describe_sample(struct session *session, heap_object_id object);

/** The members "address", "type", "size"... of an object, for JSON. */
void describe_object_json(struct session *session, const char *key, heap_object_id object);

/** "global", "thread-local", "local", "register", "stack", "segment" or "mapping". */
const char *describe_root_kind(uint8_t kind);

/** The members "kind", "name", "type"... of a root, for JSON. */
void describe_root_json(struct session *session, const char *key, heap_root_id root);

/**
 * Says, if so, that the sites of blocks are not known, because the process ran without the library.
 *
 * @param is_wanted  the answer is about that
 */
void describe_unknown_sites(struct session *session, bool is_wanted);

/**
 * Says, if so, that births of blocks are not known: the blocks of two snapshots are matched by them.
 *
 * @param other  of the other snapshot; NULL: there are more like this
 */
void describe_unknown_births(struct session *session, const struct session *other);

#endif
