// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NODE_H
#define NODE_H

/** Nodes of the graph in which parts of pools are objects of their own: session_divided(). */

#include "shell/base/session.h"

/** An object, a part or a root. */
const char *node_describe(struct session *session, heap_node_id node);

/** The same for JSON, as "object", "part" or "root" after the prefix. */
void node_json(struct session *session, const char *prefix, heap_node_id node);

/** The address of an object or a part. Needs ADDRESS. */
uint64_t node_address(const struct session *session, heap_node_id node);

/** The bytes of an object or a part; of an object with those of its parts. Needs SIZE. */
uint64_t node_size(const struct session *session, heap_node_id node);

/** The bytes that a node retains; a pool with its parts. After session_dominators(). */
uint64_t node_retained(const struct session *session, heap_node_id node);

/** The number of elements of an object or a part. Needs TYPE, and for parts PARTS. */
uint64_t node_elements(const struct session *session, heap_node_id node);

/** The word of an object or a part that a pointer lies in. @param edge  of the snapshot */
uint32_t node_slot(const struct session *session, heap_node_id node, uint32_t edge);

/** The place of a byte in an object or a part. @param offset  from its own start */
const char *node_field_at(struct session *session, heap_node_id node, uint64_t offset);

/** The place of a pointer in an object or a part. @param edge  of the snapshot */
const char *node_field(struct session *session, heap_node_id node, uint32_t edge);

/** The remark on a pointer into an object or a part: field_interior(). @param interior  bytes into the node */
const char *node_interior(struct session *session, heap_node_id node, uint64_t interior);

/** Says that no root reaches an object or a part, so that it retains nothing. Needs SIZE. */
void node_print_leaked(struct session *session, heap_node_id node);

/** Notes an object or a part for $N; nothing for a root. */
void node_remember(struct session *session, heap_node_id node);

#endif
