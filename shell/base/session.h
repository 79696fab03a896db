// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SESSION_H
#define SESSION_H

/**
 * One opened snapshot, and everything that was computed about it so far.
 *
 * A command requests the data that it needs; they are loaded or computed at the first request, and
 * kept. Strings that a command makes with session_…() live until the command ends.
 */

#include "lib/graph/divided.h"
#include "lib/graph/dominator_tree.h"
#include "lib/query/filter.h"
#include "lib/graph/root_sizes.h"
#include "lib/graph/paths.h"
#include "lib/graph/reachable.h"
#include "shell/base/alias.h"
#include "shell/base/output.h"
#include "shell/base/progress.h"

#include <signal.h>

/** Who holds what: each root is a group, but words of stacks and registers are one together. */
struct session_holders {
	uint32_t *group; /**< [roots] */
	uint32_t groups; /**< roots, and one more */
	uint32_t words;  /**< the group of the words: the last one; empty if nothing is one */
	const struct heap_root_sizes *all;
	struct heap_root_size *sizes; /**< [groups] */
	struct heap_joint_sizes joint;
};

struct session {
	struct heap_snapshot *snapshot;
	struct output *output;
	char *const *debug_files; /**< of --debug, NULL-terminated; NULL: there are none */
	bool quiet;
	bool quit;  /**< set by `quit` */
	bool paged; /**< long answers go to a pager: at a prompt */
	const char *
		target; /**< where answers go instead of to standard output, for messages; or NULL */
	struct aliases aliases;
	unsigned nesting; /**< files that are being sourced */
	bool colours;     /**< where the output is now */
	/** this command: words of stacks count like variables (enum heap_root_level) */
	bool is_conservative;
	bool always_conservative; /**< so do those of all commands: see session_set_conservative() */
	bool had_conservative;    /**< so do dominators and what follows */
	struct heap_graph *graph;     /**< NULL until session_graph() */
	struct heap_divided *divided; /**< NULL until session_divided() */
	/** of the nodes of session->divided; NULL until session_dominators() */
	struct heap_dominators *dominators;
	struct heap_root_sizes *root_sizes; /**< NULL until session_root_sizes() */
	struct session_holders *holders;    /**< NULL until session_holders() */
	struct heap_dominator_tree tree;    /**< all 0 until session_dominator_tree() */
	/** [answer_count] objects of the last answer: $1, $2..., or parts of pools */
	struct session_answer {
		heap_object_id object;
		uint64_t interior;
	} * answer;
	size_t answer_count, answer_capacity;
	bool answer_begun;
	uint32_t *number; /**< [objects] N of $N; 0: none. NULL until an answer has objects */
	bool numbered;    /**< descriptions of objects end with their $N: at a prompt */
	struct session_series *series; /**< the snapshots beside this one; NULL: in batch tools */
	uint8_t *
		is_new; /**< [objects] 1: the compared one lacks it; NULL until series_need_new() */
	uint64_t lines_left;
	bool has_counted; /**< objects of this snapshot, without their sizes loaded */
	bool forgets;     /**< session_remember() notes nothing: what is printed goes nowhere */
	uint64_t room;    /**< lines that the next value may take; 0: any number */
	struct session_text *texts;
	FILE *errors;
	struct progress progress; /**< given to the graph */
	/** types by where in types->strings something mentions them; private to place.c */
	struct session_mention {
		const char *mention;
		heap_type_id type;
	} mentions[64];
};

/** ^C sets it; long loops of commands look at it. */
extern volatile sig_atomic_t session_interrupted;

/** Reads a snapshot, with the types that the session's debug files tell. */
HEAP_MUST_CHECK
struct heap_error *session_read(const struct session *session, const char *path,
				struct heap_snapshot **result);

/** Opens a snapshot in a session that has none. Warns if declarations of types beside it cannot be trusted. */
HEAP_MUST_CHECK
struct heap_error *session_open(struct session *session, const char *path);

/** Frees all that a session has but its output; one without a snapshot, too. */
void session_close(struct session *session);

/** Goes on with another snapshot, and forgets all that was about the one before. */
void session_switch(struct session *session, struct heap_snapshot *snapshot);

/** Words of stacks count like variables in all that follows: --conservative of the batch programs. */
static inline void session_set_conservative(struct session *session, bool is_conservative)
{
	session->always_conservative = session->is_conservative = is_conservative;
}

/** Begins a command. @param keeps_answer  its objects are added to those of the last answer */
void session_begin_command(struct session *session, bool keeps_answer);

/** Forgets all texts. */
void session_end_command(struct session *session);

/**
 * Forgets the texts made since @p mark, for commands that say something of each of many
 * objects. @param mark  what session_mark() gave
 */
void session_release(struct session *session, const void *mark);
const void *session_mark(const struct session *session);

/** For SESSION_SCOPE(). */
struct session_scope {
	struct session *session;
	const void *mark;
};

/** Forgets the texts that are made from here on when the block is left. */
#define SESSION_SCOPE(its_session) \
	__attribute__((cleanup(session_scope_end), unused)) struct session_scope scope_ = { \
		its_session, session_mark(its_session) \
	}

static inline void session_scope_end(struct session_scope *scope)
{
	session_release(scope->session, scope->mark);
}

/**
 * Counts a line of a value or a type. A hostile file can nest structures so that they have
 * more members than anybody can wait for; an honest one has no more than four a byte.
 *
 * @return false, and so says session_must_stop(), when that is too many
 */
bool session_take_line(struct session *session);

/** Allows as many lines as @p bytes of values can have. */
void session_allow_lines(struct session *session, uint64_t bytes);

/** True if a command should stop: after ^C, or when nobody reads the answer any more. */
bool session_must_stop(const struct session *session);

/** Memory that lives until the command ends. NULL if there is none. */
void *session_allocate(struct session *session, size_t size);

/** Takes over malloc'd text; "" for NULL. */
const char *session_keep(struct session *session, char *text);

__attribute__((format(printf, 2, 3))) const char *session_format(struct session *session,
								 const char *format, ...);

/** The graph, forward edges alone, for who needs no sizes. */
HEAP_MUST_CHECK
struct heap_error *session_pointers(struct session *session);

/** The graph, forward edges alone. */
HEAP_MUST_CHECK
struct heap_error *session_edges(struct session *session);

/** The graph, with reverse edges. */
HEAP_MUST_CHECK
struct heap_error *session_graph(struct session *session);

/** The graph in which parts of pools are nodes: session->divided. */
HEAP_MUST_CHECK
struct heap_error *session_divided(struct session *session);

/** The graph of the nodes of session->divided, forward edges alone. */
HEAP_MUST_CHECK
struct heap_error *session_nodes(struct session *session, struct heap_graph **result);

/**
 * The nodes of session->divided as objects of a snapshot.
 *
 * @param columns  of SIZE, TYPE and SITE; there are no others
 */
HEAP_MUST_CHECK
struct heap_error *session_node_columns(struct session *session, unsigned columns,
					const struct heap_snapshot **result);

/** The same with all three. */
HEAP_MUST_CHECK
struct heap_error *session_node_kinds(struct session *session, const struct heap_snapshot **result);

/** The dominators of the nodes of session->divided. */
HEAP_MUST_CHECK
struct heap_error *session_dominators(struct session *session);

/** The bytes that an object retains, with its parts; 0: it is leaked. After session_dominators(). */
static inline uint64_t session_retained(const struct session *session, heap_object_id object)
{
	return heap_divided_retained(session->divided, object);
}

/** The dominator tree from its top. */
HEAP_MUST_CHECK
struct heap_error *session_dominator_tree(struct session *session);

/** The nodes that each root holds. @param result  the session's */
HEAP_MUST_CHECK
struct heap_error *session_root_sizes(struct session *session,
				      const struct heap_root_sizes **result);

/** The options of lib/graph for them. */
static inline struct heap_holders session_heap_holders(const struct session_holders *holders)
{
	return (struct heap_holders){ holders->all, &holders->joint, holders->group,
				      holders->words };
}

/** Who holds what, alone and together. @param result  the session's */
HEAP_MUST_CHECK
struct heap_error *session_root_holders(struct session *session,
					const struct session_holders **result);

/** The same, and the dominators. */
HEAP_MUST_CHECK
struct heap_error *session_holders(struct session *session, const struct session_holders **result);

/** Notes an object as one of this answer, once. @return N of its $N; 0: there is no memory */
size_t session_remember(struct session *session, heap_object_id object);

/** The same of a part of a pool. @param offset  bytes into it */
void session_remember_part(struct session *session, heap_object_id object, uint64_t offset);

#endif
