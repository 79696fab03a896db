// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef THIN_TEMPLATES_H
#define THIN_TEMPLATES_H

/**
 * Class templates that are a thin layer over containers of void pointers.
 *
 *	template <class T> class ListOf { AnyList *list; }	AnyList ─▶ Cell ─▶ void *
 *	template <class T> class VectorOf : AnyVector		AnyVector { void *begin; }
 *
 * Their arguments name the targets of their void pointers. Each such container gets copies of the parts that nothing
 * but templates leads to (type_copies.h). So the void pointers of ListOf<event> are told apart from those of ListOf<route>
 * by the type that has them.
 *
 * A hash table may keep nodes behind void pointers, as other things lie there, too. They are declared inside of the template:
 *
 *	Map<K, V>::Table { void **buckets; }			Map<K, V>::Table::Node { pair<K, V> pair; Node *next; }
 */

#include "dumper/writer/infer/layout.h"
#include "lib/base/array.h"

/** A type that void pointers may lead to. */
struct thin_content {
	heap_type_id type;
	bool is_behind; /**< the argument is no more than a pointer to it, and lies in the place of a void pointer */
	bool is_node; /**< it is declared inside of the template, and leads to its own kind */
};

/** An instance of such a template. */
struct thin_template {
	heap_type_id id;
	heap_type_id first, end;          /**< its copies: [first, end) */
	uint32_t first_content, contents; /**< in contents */
};

struct thin_templates {
	struct HEAP_ARRAY(struct thin_template) list; /**< by id, and by their copies */
	struct HEAP_ARRAY(struct thin_content) contents;
};

/** Finds those of a table, and adds copies of types to it. thin_templates_deinit() frees the result, also after an error. */
HEAP_MUST_CHECK
struct heap_error *thin_templates_init(struct thin_templates *templates, struct heap_types *types);

void thin_templates_deinit(struct thin_templates *templates);

/**
 * The innermost instance around a member, or the one that a copied type works for.
 *
 * @param offset  of the member in the type
 * @return NULL: there is none
 */
const struct thin_template *thin_templates_find(const struct thin_templates *templates,
						const struct layouts *layouts, heap_type_id type,
						uint64_t offset);

#endif
