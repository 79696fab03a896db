// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef METHOD_TABLES_H
#define METHOD_TABLES_H

/**
 * Method tables: memory that leads to functions, and to which the heads of many blocks point. They
 * are how runtimes written in C tell their objects apart: type objects, classes, tables of operations.
 *
 *	block ─▶ table ─▶ dict_dealloc(struct dict *), dict_length(struct object *)...
 *
 * One function is enough in a variable of the program's: a class of objects may have but a destructor. So it is in a struct that
 * is an element of an array, which is a table of its own.
 *
 * The functions know the type of their receiver: that of the first parameter, or of the local variable
 * that it is cast to. So debug information limits the types of the blocks.
 *
 * A callback, which is in the heads of blocks itself, likewise knows the type of the void * that it is called with.
 */

#include "dumper/writer/scan/capture.h"
#include "dumper/writer/scan/head_words.h"

#include "lib/base/array.h"
#include "lib/base/hash_table.h"

enum {
	METHOD_TABLE_HEAD = HEAD_WORDS * 8, /**< bytes of a block that may point to its table */
	METHOD_TABLE_PARAMETER = 4,         /**< weight of a function's first parameter */
};

/** A type that the functions of a table have as their receiver. */
struct method_receiver {
	heap_type_id type;  /**< stripped; as the capture's table has it */
	uint32_t weight;    /**< how much the functions speak for it */
	uint32_t functions; /**< that do */
};

struct method_table {
	uint64_t address;
	uint32_t blocks;       /**< words in blocks' heads that point to it */
	heap_object_id object; /**< the block that it is, or HEAP_NO_OBJECT: static memory */
	heap_type_id
		type; /**< stripped, of the variable or element that it is; HEAP_NO_TYPE: not known */
	uint32_t first_receiver; /**< in receivers */
	uint32_t receivers;
};

struct method_tables {
	struct HEAP_ARRAY(struct method_table) list;
	struct HEAP_ARRAY(struct method_table) callbacks; /**< each of one function, its address */
	struct HEAP_ARRAY(struct method_receiver) receivers;
	struct heap_hash_table by_address, by_callback;
};

/** Finds the tables, and the types of their receivers, which may add types to the capture's. */
HEAP_MUST_CHECK
struct heap_error *method_tables_init(struct method_tables *tables, struct capture *capture,
				      const struct head_words *heads);

void method_tables_deinit(struct method_tables *tables);

/** The table that begins at an address, or NULL. */
const struct method_table *method_tables_find(const struct method_tables *tables, uint64_t address);

/** Likewise the callback at an address. */
const struct method_table *method_tables_find_callback(const struct method_tables *tables,
						       uint64_t address);

#endif
