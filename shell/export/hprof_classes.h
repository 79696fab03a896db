// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HPROF_CLASSES_H
#define HPROF_CLASSES_H

/**
 * Classes of a JVM for the types of a snapshot.
 *
 *	struct session      a class whose fields cover it: pointers are objects, numbers have their size
 *	struct slot[12],    an array of objects, an element for each word, which is null where the word
 *	untyped blocks,     holds no pointer; for a pool that keeps a part alone, the part where it lies
 *	pools
 *	char[]              an array of bytes
 *
 * A word that holds a pointer in any object of a class is an object's in all of them, whatever the
 * type says of it. Parts of pools are objects of their own (lib/graph/divided.h); a class has one more field
 * at its end, the pool, if any object of it is a part that keeps one.
 */

#include "shell/base/session.h"
#include "shell/export/hprof_file.h"
#include "shell/export/texts.h"

#include <stdbool.h>
#include <stdint.h>

enum hprof_shape {
	HPROF_FIELDS,
	HPROF_WORDS,
	HPROF_BYTES,
};

struct hprof_field {
	uint32_t name;   /**< in the texts */
	uint32_t offset; /**< in the object */
	uint8_t type;    /**< enum hprof_type */
};

struct hprof_class {
	uint32_t name; /**< in the texts */
	uint8_t shape; /**< enum hprof_shape */
	uint32_t size; /**< bytes of an instance that has fields */
	heap_node_id example;
	bool has_pool;     /**< the last of its fields is the pool that it is a part of */
	uint8_t *pointers; /**< bit per word that is a pointer in any of its objects */
	struct HEAP_ARRAY(struct hprof_field) fields; /**< by offset, without gaps */
};

struct hprof_classes {
	struct export_texts *texts;
	struct session *session;           /**< private */
	const struct heap_snapshot *nodes; /**< private */
	struct HEAP_ARRAY(struct hprof_class) list;
	struct heap_hash_table by_name; /**< private */
	uint32_t *of_node;              /**< [objects and parts] in the list */
};

/**
 * Finds the class of each object and part.
 *
 * @param nodes  of session_nodes()
 */
HEAP_MUST_CHECK
struct heap_error *hprof_classes_init(struct hprof_classes *classes, struct session *session,
				      const struct heap_snapshot *nodes,
				      struct export_texts *texts);

/** The field of a part that keeps its pool, rather than points to it. */
#define HPROF_POOL_FIELD "(pool)"

void hprof_classes_deinit(struct hprof_classes *classes);

#endif
