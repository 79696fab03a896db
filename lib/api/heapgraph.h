// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPGRAPH_H
#define HEAPGRAPH_H

/**
 * libheapgraph: reads heap snapshots in other programs. heapgraph(3) describes all of it.
 *
 *	struct heapgraph *graph;
 *	struct heapgraph_error *error = heapgraph_open(path, HEAPGRAPH_OBJECTS, &graph);
 *
 *	if (error)
 *		errx(2, "%s", heapgraph_error_message(error));
 *	for (heapgraph_object_id i = 0; i < heapgraph_object_count(graph); i++)
 *		bytes += heapgraph_object_size(graph, i);
 *	heapgraph_close(graph);
 *
 * Handles are opaque. The few structures below, the values of the constants and the functions do not
 * change while the library's name ends in .so.0; more may be added.
 *
 * A function that can fail returns an error, or NULL for success; on failure it leaves results
 * unchanged. Other functions return 0, NULL or a HEAPGRAPH_NO_… for something that does not exist, or
 * that heapgraph_need() has not loaded. Strings belong to the graph, and are never NULL. Only one thread
 * may use a graph at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPGRAPH_API __attribute__((visibility("default")))
#define HEAPGRAPH_MUST_CHECK HEAPGRAPH_API __attribute__((warn_unused_result))

struct heapgraph;
struct heapgraph_error;
struct heapgraph_set;

/** Objects are numbered from 0 by ascending address, roots from 0, types from 1. */
typedef uint32_t heapgraph_object_id;
typedef uint32_t heapgraph_root_id;
typedef uint32_t heapgraph_type_id;

#define HEAPGRAPH_NO_OBJECT UINT32_MAX
#define HEAPGRAPH_NO_ROOT UINT32_MAX
#define HEAPGRAPH_NO_TYPE 0

/** The version of the library at run time: "0.1". */
HEAPGRAPH_API const char *heapgraph_version(void);

/* --- errors ------------------------------------------------------------------ */

enum heapgraph_error_code {
	HEAPGRAPH_ERROR_MEMORY,      /**< allocation failed */
	HEAPGRAPH_ERROR_SYSTEM,      /**< a system call failed */
	HEAPGRAPH_ERROR_FORMAT,      /**< the file is damaged, truncated or no snapshot */
	HEAPGRAPH_ERROR_ARGUMENT,    /**< an argument is invalid */
	HEAPGRAPH_ERROR_ABSENT,      /**< there is no such field, path, content... */
	HEAPGRAPH_ERROR_INTERRUPTED, /**< stopped by the progress function */
};

HEAPGRAPH_API enum heapgraph_error_code heapgraph_error_code(const struct heapgraph_error *error);

/** Tells what was tried, on what, and why it failed; lives as long as @p error. */
HEAPGRAPH_API const char *heapgraph_error_message(const struct heapgraph_error *error);

/** Frees an error. NULL is fine. */
HEAPGRAPH_API void heapgraph_error_free(struct heapgraph_error *error);

/* --- opening ----------------------------------------------------------------- */

/** Data that the functions below need; or'ed. */
enum heapgraph_needs {
	HEAPGRAPH_OBJECTS = 1 << 0,    /**< addresses, sizes, types, sites and ages */
	HEAPGRAPH_EDGES = 1 << 1,      /**< pointers out of objects */
	HEAPGRAPH_HOLDERS = 1 << 2,    /**< pointers into objects; and EDGES */
	HEAPGRAPH_REACH = 1 << 3,      /**< reachability from roots */
	HEAPGRAPH_RETAINED = 1 << 4,   /**< retained sizes and dominators */
	HEAPGRAPH_BACKTRACES = 1 << 5, /**< calls that led to allocations */
	HEAPGRAPH_PARTS = 1 << 6,      /**< contents of pools */
};

/**
 * Opens a snapshot. Info, roots and types are always loaded.
 *
 * @param needs  enum heapgraph_needs; as for heapgraph_need()
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_open(const char *path, unsigned needs,
							    struct heapgraph **result);

/** Loads or computes the data that is not there yet. */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_need(struct heapgraph *graph,
							    unsigned needs);

/** Closes a graph; its sets must have been freed. NULL is fine. */
HEAPGRAPH_API void heapgraph_close(struct heapgraph *graph);

/** Gets the work that is being done, and the share that is done, 0 to 1. @return false to stop */
typedef bool heapgraph_progress(void *context, const char *what, double share);

/** Sets a function to be called during long work; NULL for none. */
HEAPGRAPH_API void heapgraph_set_progress(struct heapgraph *graph, heapgraph_progress *progress,
					  void *context);

/** Limits the memory of all graphs' columns, in bytes; others go to temporary files. */
HEAPGRAPH_API void heapgraph_set_memory(uint64_t bytes);

/** Gets "program", "command", "host", "maker" or "id", see heapsnap(5). @return NULL: no such key */
HEAPGRAPH_API const char *heapgraph_info_text(const struct heapgraph *graph, const char *key);

/** Gets "pid", "serial", "time_ns", "content_limit"... @return false: no such key */
HEAPGRAPH_API bool heapgraph_info_number(const struct heapgraph *graph, const char *key,
					 uint64_t *result);

/* --- objects ----------------------------------------------------------------- */

/** Why an object has its type, strongest first. */
enum heapgraph_evidence {
	HEAPGRAPH_EVIDENCE_NONE,      /**< no type is known */
	HEAPGRAPH_EVIDENCE_DECLARED,  /**< the program said so */
	HEAPGRAPH_EVIDENCE_VTABLE,    /**< its first word points to that class's vtable */
	HEAPGRAPH_EVIDENCE_POINTER,   /**< a pointer of that type points to its start */
	HEAPGRAPH_EVIDENCE_EMBEDDING, /**< a pointer points to a part of it */
	HEAPGRAPH_EVIDENCE_SITE,      /**< the code that allocated it has that type */
	HEAPGRAPH_EVIDENCE_VOTE,      /**< objects of the same site and size are of that type */
	HEAPGRAPH_EVIDENCE_POOL,      /**< no type: the program divides it into parts */
};

/** The number of objects; without OBJECTS, too. */
HEAPGRAPH_API uint32_t heapgraph_object_count(const struct heapgraph *graph);

HEAPGRAPH_API uint64_t heapgraph_object_address(const struct heapgraph *graph,
						heapgraph_object_id object);

/** An object's size in bytes, as requested by the program. */
HEAPGRAPH_API uint64_t heapgraph_object_size(const struct heapgraph *graph,
					     heapgraph_object_id object);

/** An object's type; for an array, that of its elements. */
HEAPGRAPH_API heapgraph_type_id heapgraph_object_type(const struct heapgraph *graph,
						      heapgraph_object_id object);

/** The number of values of its type; with a flexible array, 1 + the array's elements. */
HEAPGRAPH_API uint64_t heapgraph_object_elements(const struct heapgraph *graph,
						 heapgraph_object_id object);

HEAPGRAPH_API enum heapgraph_evidence heapgraph_object_evidence(const struct heapgraph *graph,
								heapgraph_object_id object);

/** An upper bound of its age when the snapshot was taken, in ns. */
HEAPGRAPH_API uint64_t heapgraph_object_age(const struct heapgraph *graph,
					    heapgraph_object_id object);

/** A place in the source; "" and 0 if unknown. */
struct heapgraph_place {
	const char *function;
	const char *file;   /**< of an allocation with its directories, as the compiler was told */
	const char *module; /**< path of the program or library */
	uint64_t line;
};

/** Gets the place of its allocation. @return false, and nothing known, if there is no such object */
HEAPGRAPH_API bool heapgraph_object_site(const struct heapgraph *graph, heapgraph_object_id object,
					 struct heapgraph_place *result);

/**
 * The calls that led to its allocation, innermost first; none if backtraces were not recorded. For an
 * object without a backtrace, that of the first object of the same site and size. Need BACKTRACES.
 */
HEAPGRAPH_API uint32_t heapgraph_backtrace_count(const struct heapgraph *graph,
						 heapgraph_object_id object);
HEAPGRAPH_API bool heapgraph_backtrace(const struct heapgraph *graph, heapgraph_object_id object,
				       uint32_t index, struct heapgraph_place *result);

/** A typed part of a block that the program divides itself, HEAPGRAPH_EVIDENCE_POOL. */
struct heapgraph_part {
	uint64_t offset; /**< bytes from the block's start */
	uint64_t size;
	uint64_t elements; /**< of its type */
	heapgraph_type_id type;
	uint32_t evidence; /**< enum heapgraph_evidence */
};

/** The parts of an object, by ascending offset. Need OBJECTS and PARTS. */
HEAPGRAPH_API uint32_t heapgraph_part_count(const struct heapgraph *graph,
					    heapgraph_object_id object);
HEAPGRAPH_API bool heapgraph_part(const struct heapgraph *graph, heapgraph_object_id object,
				  uint32_t index, struct heapgraph_part *result);

/** The object that contains an address. */
HEAPGRAPH_API heapgraph_object_id heapgraph_object_at(const struct heapgraph *graph,
						      uint64_t address);

/**
 * Reads the kept bytes of an object; fastest in ascending order of objects.
 *
 * @param buffer  [size]
 * @param kept    gets the number of bytes
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_object_content(struct heapgraph *graph,
								      heapgraph_object_id object,
								      void *buffer, size_t size,
								      size_t *kept);

/* --- types and fields -------------------------------------------------------- */

enum heapgraph_type_kind {
	HEAPGRAPH_TYPE_UNKNOWN,
	HEAPGRAPH_TYPE_BASE,
	HEAPGRAPH_TYPE_STRUCT,
	HEAPGRAPH_TYPE_CLASS,
	HEAPGRAPH_TYPE_UNION,
	HEAPGRAPH_TYPE_ENUM,
	HEAPGRAPH_TYPE_POINTER,
	HEAPGRAPH_TYPE_REFERENCE,
	HEAPGRAPH_TYPE_ARRAY,
	HEAPGRAPH_TYPE_TYPEDEF,
	HEAPGRAPH_TYPE_CONST,
	HEAPGRAPH_TYPE_VOLATILE,
	HEAPGRAPH_TYPE_ATOMIC,
	HEAPGRAPH_TYPE_FUNCTION,
	HEAPGRAPH_TYPE_MEMBER_POINTER,
};

/** The number of types; their ids are 1 to this. */
HEAPGRAPH_API uint32_t heapgraph_type_count(const struct heapgraph *graph);

HEAPGRAPH_API enum heapgraph_type_kind heapgraph_type_kind(const struct heapgraph *graph,
							   heapgraph_type_id type);

/** Formats a name in C's syntax, "struct session *[12]", as snprintf(3). @return its whole length */
HEAPGRAPH_API size_t heapgraph_type_name(const struct heapgraph *graph, heapgraph_type_id type,
					 char *buffer, size_t size);

/** Bytes of one value; 0 if unknown. */
HEAPGRAPH_API uint64_t heapgraph_type_size(const struct heapgraph *graph, heapgraph_type_id type);

/** The type that it points to, is an array of, or is another name of. */
HEAPGRAPH_API heapgraph_type_id heapgraph_type_target(const struct heapgraph *graph,
						      heapgraph_type_id type);

/** Elements of an array type. */
HEAPGRAPH_API uint64_t heapgraph_type_elements(const struct heapgraph *graph,
					       heapgraph_type_id type);

/** The type behind typedefs, const, volatile and atomic. */
HEAPGRAPH_API heapgraph_type_id heapgraph_type_strip(const struct heapgraph *graph,
						     heapgraph_type_id type);

/** The first type after @p after of that name, or glob: "struct session", "session", "char *". */
HEAPGRAPH_API heapgraph_type_id heapgraph_type_find(const struct heapgraph *graph, const char *name,
						    heapgraph_type_id after);

struct heapgraph_field {
	const char *name; /**< "" if it has none; of a base class, its type's */
	heapgraph_type_id type;
	uint32_t bit_size;   /**< of a bit-field, else 0 */
	uint32_t bit_offset; /**< above the offset, from the least significant bit */
	uint32_t is_base;    /**< 1 for a base class */
	uint64_t offset;     /**< bytes from the start of the whole */
};

/** The number of fields of a struct, class or union. */
HEAPGRAPH_API uint32_t heapgraph_field_count(const struct heapgraph *graph, heapgraph_type_id type);

/** @return false if there is no such field */
HEAPGRAPH_API bool heapgraph_field(const struct heapgraph *graph, heapgraph_type_id type,
				   uint32_t index, struct heapgraph_field *result);

/**
 * Finds a field by its path: "next", "list.next", "slots[3].value"; in an array of the type,
 * "[3].value". Base classes and unnamed members are searched, too.
 */
HEAPGRAPH_API bool heapgraph_field_find(const struct heapgraph *graph, heapgraph_type_id type,
					const char *path, struct heapgraph_field *result);

/**
 * Reads the value of an object's field by its path, as for heapgraph_field_find().
 *
 * HEAPGRAPH_ERROR_ABSENT: its type has no such field, or its bytes were not kept;
 * HEAPGRAPH_ERROR_ARGUMENT: the field is of another kind.
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_integer(struct heapgraph *graph,
								     heapgraph_object_id object,
								     const char *path,
								     int64_t *result);

/** The same for any number. */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_real(struct heapgraph *graph,
								  heapgraph_object_id object,
								  const char *path, double *result);

/**
 * Gets the object that a pointer points to or into, or HEAPGRAPH_NO_OBJECT; also for bytes that were
 * not kept. Needs EDGES.
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_object(struct heapgraph *graph,
								    heapgraph_object_id object,
								    const char *path,
								    heapgraph_object_id *result);

/**
 * Reads a string: that in an array of characters, or in the heap at the target of a pointer.
 *
 * @param buffer  gets at most @p size bytes, including a NUL
 * @param length  gets the length of the kept string, which may be more; may be NULL
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_text(struct heapgraph *graph,
								  heapgraph_object_id object,
								  const char *path, char *buffer,
								  size_t size, size_t *length);

/* --- edges ------------------------------------------------------------------- */

enum heapgraph_edge_flags {
	HEAPGRAPH_EDGE_TYPED = 1 << 0, /**< the type of the source has a pointer there */
};

/** A pointer to or into an object. */
struct heapgraph_edge {
	heapgraph_object_id source; /**< HEAPGRAPH_NO_OBJECT: the source is a root */
	heapgraph_root_id root;     /**< HEAPGRAPH_NO_ROOT: the source is an object */
	heapgraph_object_id target;
	uint32_t flags;    /**< enum heapgraph_edge_flags */
	uint64_t offset;   /**< bytes from the source's, or the root's, start */
	uint64_t interior; /**< bytes into the target; UINT32_MAX: that or more */
};

/** Pointers out of an object, by ascending offset. Need EDGES. */
HEAPGRAPH_API uint32_t heapgraph_out_count(const struct heapgraph *graph,
					   heapgraph_object_id object);
HEAPGRAPH_API bool heapgraph_out(const struct heapgraph *graph, heapgraph_object_id object,
				 uint32_t index, struct heapgraph_edge *result);

/** Pointers into an object, those of roots first. Need HOLDERS. */
HEAPGRAPH_API uint32_t heapgraph_in_count(const struct heapgraph *graph,
					  heapgraph_object_id object);
HEAPGRAPH_API bool heapgraph_in(const struct heapgraph *graph, heapgraph_object_id object,
				uint32_t index, struct heapgraph_edge *result);

/**
 * Finds a shortest path from a root, which begins with the root's edge. Needs HOLDERS.
 *
 * @param edges  [room] gets the path's first edges
 * @param count  gets the length of the path, which may be more
 * @return NULL; HEAPGRAPH_ERROR_ABSENT if no root reaches the object
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_path(struct heapgraph *graph,
							    heapgraph_object_id object,
							    struct heapgraph_edge *edges,
							    size_t room, size_t *count);

/* --- roots ------------------------------------------------------------------- */

enum heapgraph_root_kind {
	HEAPGRAPH_ROOT_GLOBAL,       /**< a global or static variable */
	HEAPGRAPH_ROOT_THREAD_LOCAL, /**< a thread's copy of a thread-local variable */
	HEAPGRAPH_ROOT_LOCAL,        /**< a variable or parameter of a live frame */
	HEAPGRAPH_ROOT_REGISTER,     /**< a register that holds no known variable */
	HEAPGRAPH_ROOT_STACK,        /**< a word of a stack outside of known variables */
	HEAPGRAPH_ROOT_SEGMENT,      /**< words of a module's data outside of known variables */
	HEAPGRAPH_ROOT_MAPPING,      /**< another writable mapping */
};

HEAPGRAPH_API uint32_t heapgraph_root_count(const struct heapgraph *graph);
HEAPGRAPH_API enum heapgraph_root_kind heapgraph_root_kind(const struct heapgraph *graph,
							   heapgraph_root_id root);
HEAPGRAPH_API const char *heapgraph_root_name(const struct heapgraph *graph,
					      heapgraph_root_id root);
HEAPGRAPH_API heapgraph_type_id heapgraph_root_type(const struct heapgraph *graph,
						    heapgraph_root_id root);

/** A root's address; 0 if it is in a register. */
HEAPGRAPH_API uint64_t heapgraph_root_address(const struct heapgraph *graph,
					      heapgraph_root_id root);
HEAPGRAPH_API uint64_t heapgraph_root_size(const struct heapgraph *graph, heapgraph_root_id root);

/** The id of a root's thread; 0 if it belongs to none. */
HEAPGRAPH_API uint32_t heapgraph_root_thread(const struct heapgraph *graph, heapgraph_root_id root);

/** Gets the place of its declaration; for a local variable, with the function. */
HEAPGRAPH_API bool heapgraph_root_place(const struct heapgraph *graph, heapgraph_root_id root,
					struct heapgraph_place *result);

/** Pointers of a root, by ascending offset. */
HEAPGRAPH_API uint64_t heapgraph_root_out_count(const struct heapgraph *graph,
						heapgraph_root_id root);
HEAPGRAPH_API bool heapgraph_root_out(const struct heapgraph *graph, heapgraph_root_id root,
				      uint64_t index, struct heapgraph_edge *result);

/* --- reachability, retained sizes -------------------------------------------- */

enum heapgraph_reach {
	HEAPGRAPH_REACH_NOT,      /**< leaked */
	HEAPGRAPH_REACH_INTERIOR, /**< only through pointers into the interior of objects */
	HEAPGRAPH_REACH_START,    /**< through pointers to the start of objects */
};

/** Needs REACH. */
HEAPGRAPH_API enum heapgraph_reach heapgraph_object_reach(const struct heapgraph *graph,
							  heapgraph_object_id object);

/**
 * Bytes that would be freed with it, including its own; 0: leaked. Need RETAINED. Words of stacks and
 * registers that no variable explains take nothing from variables: they retain what nothing else
 * leads to. So do variables of a call take nothing from those of its callers, and from global ones. Of a
 * pool its parts' bytes and what they retain are included, though others may hold them.
 */
HEAPGRAPH_API uint64_t heapgraph_object_retained(const struct heapgraph *graph,
						 heapgraph_object_id object);
HEAPGRAPH_API uint64_t heapgraph_root_retained(const struct heapgraph *graph,
					       heapgraph_root_id root);

/** The immediate dominator, if that is an object or a part of one. Needs RETAINED. */
HEAPGRAPH_API heapgraph_object_id heapgraph_object_dominator(const struct heapgraph *graph,
							     heapgraph_object_id object);

/** The immediate dominator, if that is a root. Needs RETAINED. */
HEAPGRAPH_API heapgraph_root_id heapgraph_object_dominating_root(const struct heapgraph *graph,
								 heapgraph_object_id object);

/* --- sets -------------------------------------------------------------------- */

/**
 * Finds the objects that match a filter of heapsh(1): "type 'struct session' size >64 or untyped". An
 * object in a filter is an address. Loads the data that the filter needs.
 *
 * @param result  freed by heapgraph_set_free()
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_find(struct heapgraph *graph,
							    const char *filter,
							    struct heapgraph_set **result);

/** Creates an empty set. */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_set_create(struct heapgraph *graph,
								  struct heapgraph_set **result);

/** The objects that a set retains: all that would be freed with it. Loads the data that it needs. */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_set_retained(struct heapgraph_set *set,
								    struct heapgraph_set **result);

/** NULL is fine. */
HEAPGRAPH_API void heapgraph_set_free(struct heapgraph_set *set);

HEAPGRAPH_API void heapgraph_set_add(struct heapgraph_set *set, heapgraph_object_id object);
HEAPGRAPH_API bool heapgraph_set_has(const struct heapgraph_set *set, heapgraph_object_id object);

/** The first object of a set from @p from on, itself included; or HEAPGRAPH_NO_OBJECT. */
HEAPGRAPH_API heapgraph_object_id heapgraph_set_next(const struct heapgraph_set *set,
						     heapgraph_object_id from);

HEAPGRAPH_API uint64_t heapgraph_set_count(const struct heapgraph_set *set);

/** The bytes of all objects of a set. Needs OBJECTS. */
HEAPGRAPH_API uint64_t heapgraph_set_bytes(const struct heapgraph_set *set);

#ifdef __cplusplus
}
#endif

#endif
