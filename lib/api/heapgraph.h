// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPGRAPH_H
#define HEAPGRAPH_H

/**
 * libheapgraph: heap snapshots for analyses of one's own. All of it is in heapgraph(3).
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
 * Handles are opaque. The few structures below, the values of the constants and the functions
 * stay as they are while the library's name ends in .so.0; more may come.
 *
 * What can fail returns an error, NULL for success, and leaves results as they are then. What
 * cannot fail answers 0, NULL or a HEAPGRAPH_NO_… when asked for something that there is not,
 * or that heapgraph_need() has not been asked for. Texts belong to the graph, and are never NULL.
 * A graph is for one thread at a time.
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

/** Of the library that runs: "0.1". */
HEAPGRAPH_API const char *heapgraph_version(void);

/* --- errors ------------------------------------------------------------------ */

enum heapgraph_error_code {
	HEAPGRAPH_ERROR_MEMORY,      /**< allocation failed */
	HEAPGRAPH_ERROR_SYSTEM,      /**< a system call failed */
	HEAPGRAPH_ERROR_FORMAT,      /**< the file is damaged, truncated or no snapshot */
	HEAPGRAPH_ERROR_ARGUMENT,    /**< what was asked makes no sense */
	HEAPGRAPH_ERROR_ABSENT,      /**< there is no such field, way, content... */
	HEAPGRAPH_ERROR_INTERRUPTED, /**< the progress function said stop */
};

HEAPGRAPH_API enum heapgraph_error_code heapgraph_error_code(const struct heapgraph_error *error);

/** What was tried, on what, and why it failed; lives as long as @p error. */
HEAPGRAPH_API const char *heapgraph_error_message(const struct heapgraph_error *error);

/** Ends an error. NULL is fine. */
HEAPGRAPH_API void heapgraph_error_free(struct heapgraph_error *error);

/* --- opening ----------------------------------------------------------------- */

/** What the functions below need; or'ed. */
enum heapgraph_needs {
	HEAPGRAPH_OBJECTS = 1 << 0,    /**< addresses, sizes, types, sites and ages */
	HEAPGRAPH_EDGES = 1 << 1,      /**< pointers out of objects */
	HEAPGRAPH_HOLDERS = 1 << 2,    /**< pointers into objects; and EDGES */
	HEAPGRAPH_REACH = 1 << 3,      /**< what is leaked */
	HEAPGRAPH_RETAINED = 1 << 4,   /**< retained sizes and dominators */
	HEAPGRAPH_BACKTRACES = 1 << 5, /**< what led to allocations */
	HEAPGRAPH_PARTS = 1 << 6,      /**< what is in pools */
};

/**
 * Opens a snapshot, of which info, roots and types are there at once.
 *
 * @param needs  enum heapgraph_needs; as by heapgraph_need()
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_open(const char *path, unsigned needs,
							    struct heapgraph **result);

/** Loads or computes what is not there yet. */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_need(struct heapgraph *graph,
							    unsigned needs);

/** Closes it; sets must have been freed. NULL is fine. */
HEAPGRAPH_API void heapgraph_close(struct heapgraph *graph);

/** Is told what is done, and which share of it, 0 to 1. @return whether to go on */
typedef bool heapgraph_progress(void *context, const char *what, double share);

/** @param progress  called in long work from now on; NULL for none */
HEAPGRAPH_API void heapgraph_set_progress(struct heapgraph *graph, heapgraph_progress *progress,
					  void *context);

/** How many bytes of memory all graphs' columns may take; more go to temporary files. */
HEAPGRAPH_API void heapgraph_set_memory(uint64_t bytes);

/** "program", "command", "host", "maker" or "id", see heapsnap(5). NULL: no such key. */
HEAPGRAPH_API const char *heapgraph_info_text(const struct heapgraph *graph, const char *key);

/** "pid", "serial", "time_ns", "content_limit"... @return whether there is such a key */
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
	HEAPGRAPH_EVIDENCE_SITE,      /**< the code that allocated it means that type */
	HEAPGRAPH_EVIDENCE_VOTE,      /**< its siblings are of that type */
	HEAPGRAPH_EVIDENCE_POOL,      /**< no type: the program cuts it up into parts */
};

/** Known without OBJECTS. */
HEAPGRAPH_API uint32_t heapgraph_object_count(const struct heapgraph *graph);

HEAPGRAPH_API uint64_t heapgraph_object_address(const struct heapgraph *graph,
						heapgraph_object_id object);

/** Bytes that the program asked for. */
HEAPGRAPH_API uint64_t heapgraph_object_size(const struct heapgraph *graph,
					     heapgraph_object_id object);

/** An array's is that of its elements. */
HEAPGRAPH_API heapgraph_type_id heapgraph_object_type(const struct heapgraph *graph,
						      heapgraph_object_id object);

/** How many of its type it is; of a flexible array 1 + the array's elements. */
HEAPGRAPH_API uint64_t heapgraph_object_elements(const struct heapgraph *graph,
						 heapgraph_object_id object);

HEAPGRAPH_API enum heapgraph_evidence heapgraph_object_evidence(const struct heapgraph *graph,
								heapgraph_object_id object);

/** Its age when the snapshot was taken, in ns: at most that. */
HEAPGRAPH_API uint64_t heapgraph_object_age(const struct heapgraph *graph,
					    heapgraph_object_id object);

/** Somewhere in the source; "" and 0 for what is not known. */
struct heapgraph_place {
	const char *function;
	const char *file;
	const char *module; /**< path of the program or library */
	uint64_t line;
};

/** Where it was allocated. @return false, and all unknown, if there is no such object */
HEAPGRAPH_API bool heapgraph_object_site(const struct heapgraph *graph, heapgraph_object_id object,
					 struct heapgraph_place *result);

/**
 * The calls that led to its allocation, innermost first; none if they were not taken. Of an object
 * without a backtrace it is that of the first object of the same site and size. Need BACKTRACES.
 */
HEAPGRAPH_API uint32_t heapgraph_backtrace_count(const struct heapgraph *graph,
						 heapgraph_object_id object);
HEAPGRAPH_API bool heapgraph_backtrace(const struct heapgraph *graph, heapgraph_object_id object,
				       uint32_t index, struct heapgraph_place *result);

/** A typed place in a block that the program cuts up itself, HEAPGRAPH_EVIDENCE_POOL. */
struct heapgraph_part {
	uint64_t offset; /**< bytes from the block's start */
	uint64_t size;
	uint64_t elements; /**< of its type */
	heapgraph_type_id type;
	uint32_t evidence; /**< enum heapgraph_evidence */
};

/** By ascending offset. Need OBJECTS and PARTS. */
HEAPGRAPH_API uint32_t heapgraph_part_count(const struct heapgraph *graph,
					    heapgraph_object_id object);
HEAPGRAPH_API bool heapgraph_part(const struct heapgraph *graph, heapgraph_object_id object,
				  uint32_t index, struct heapgraph_part *result);

/** The object that an address lies in. */
HEAPGRAPH_API heapgraph_object_id heapgraph_object_at(const struct heapgraph *graph,
						      uint64_t address);

/**
 * Reads what was kept of its bytes; fastest by ascending objects.
 *
 * @param buffer  [size]
 * @param kept    gets how many bytes there were
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

/** Types are 1 to this. */
HEAPGRAPH_API uint32_t heapgraph_type_count(const struct heapgraph *graph);

HEAPGRAPH_API enum heapgraph_type_kind heapgraph_type_kind(const struct heapgraph *graph,
							   heapgraph_type_id type);

/** As C has it, "struct session *[12]"; as snprintf(3). @return the length of the whole name */
HEAPGRAPH_API size_t heapgraph_type_name(const struct heapgraph *graph, heapgraph_type_id type,
					 char *buffer, size_t size);

/** Bytes of one value; 0 if that is not known. */
HEAPGRAPH_API uint64_t heapgraph_type_size(const struct heapgraph *graph, heapgraph_type_id type);

/** What it points to, is made of or is another name of. */
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
	const char *name; /**< "" without one; a base class has its type's */
	heapgraph_type_id type;
	uint32_t bit_size;   /**< of a bit-field, else 0 */
	uint32_t bit_offset; /**< above the offset, from the least significant bit */
	uint32_t is_base;    /**< 1 for a base class */
	uint64_t offset;     /**< bytes from the start of the whole */
};

/** Of a struct, class or union. */
HEAPGRAPH_API uint32_t heapgraph_field_count(const struct heapgraph *graph, heapgraph_type_id type);

/** @return false if there is no such field */
HEAPGRAPH_API bool heapgraph_field(const struct heapgraph *graph, heapgraph_type_id type,
				   uint32_t index, struct heapgraph_field *result);

/**
 * Finds a field by its name, "next", "list.next", "slots[3].value"; in an array of the type
 * "[3].value". Base classes and unnamed members are looked through.
 */
HEAPGRAPH_API bool heapgraph_field_find(const struct heapgraph *graph, heapgraph_type_id type,
					const char *path, struct heapgraph_field *result);

/**
 * The values of an object's fields by their names, as heapgraph_field_find() has them.
 *
 * HEAPGRAPH_ERROR_ABSENT: its type has no such field, or its bytes were not kept;
 * HEAPGRAPH_ERROR_ARGUMENT: the field is of another kind.
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_integer(struct heapgraph *graph,
								     heapgraph_object_id object,
								     const char *path,
								     int64_t *result);

/** The same of any number. */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_real(struct heapgraph *graph,
								  heapgraph_object_id object,
								  const char *path, double *result);

/**
 * The object that a pointer points to or into, HEAPGRAPH_NO_OBJECT if to none. Known of bytes
 * that were not kept, too. Needs EDGES.
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_object(struct heapgraph *graph,
								    heapgraph_object_id object,
								    const char *path,
								    heapgraph_object_id *result);

/**
 * The text in an array of characters, or that a pointer to characters points to in the heap.
 *
 * @param buffer  gets at most @p size bytes, a NUL always among them
 * @param length  gets what was kept of the text, which may be more; may be NULL
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_field_text(struct heapgraph *graph,
								  heapgraph_object_id object,
								  const char *path, char *buffer,
								  size_t size, size_t *length);

/* --- edges ------------------------------------------------------------------- */

enum heapgraph_edge_flags {
	HEAPGRAPH_EDGE_TYPED = 1 << 0, /**< the types say that a pointer is there */
};

/** A pointer to or into an object. */
struct heapgraph_edge {
	heapgraph_object_id source; /**< HEAPGRAPH_NO_OBJECT: a root's */
	heapgraph_root_id root;     /**< HEAPGRAPH_NO_ROOT: an object's */
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
 * A shortest way from a root: the root's edge first. Needs HOLDERS.
 *
 * @param edges  [room] gets the first of them
 * @param count  gets their number, which may be more
 * @return NULL; HEAPGRAPH_ERROR_ABSENT if no root leads there
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
	HEAPGRAPH_ROOT_REGISTER,     /**< a register, where no variable is known to be */
	HEAPGRAPH_ROOT_STACK,        /**< a word of a stack, the same */
	HEAPGRAPH_ROOT_SEGMENT,      /**< words of a module's data, the same */
	HEAPGRAPH_ROOT_MAPPING,      /**< another writable mapping */
};

HEAPGRAPH_API uint32_t heapgraph_root_count(const struct heapgraph *graph);
HEAPGRAPH_API enum heapgraph_root_kind heapgraph_root_kind(const struct heapgraph *graph,
							   heapgraph_root_id root);
HEAPGRAPH_API const char *heapgraph_root_name(const struct heapgraph *graph,
					      heapgraph_root_id root);
HEAPGRAPH_API heapgraph_type_id heapgraph_root_type(const struct heapgraph *graph,
						    heapgraph_root_id root);

/** 0 for what lives in a register. */
HEAPGRAPH_API uint64_t heapgraph_root_address(const struct heapgraph *graph,
					      heapgraph_root_id root);
HEAPGRAPH_API uint64_t heapgraph_root_size(const struct heapgraph *graph, heapgraph_root_id root);

/** The thread's number, 0 if it is no thread's. */
HEAPGRAPH_API uint32_t heapgraph_root_thread(const struct heapgraph *graph, heapgraph_root_id root);

/** Where it is declared, and of a local variable in which function. */
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
	HEAPGRAPH_REACH_INTERIOR, /**< only by way of pointers into objects */
	HEAPGRAPH_REACH_START,
};

/** Needs REACH. */
HEAPGRAPH_API enum heapgraph_reach heapgraph_object_reach(const struct heapgraph *graph,
							  heapgraph_object_id object);

/** Bytes that would be free without it, its own included; 0: leaked. Need RETAINED. */
HEAPGRAPH_API uint64_t heapgraph_object_retained(const struct heapgraph *graph,
						 heapgraph_object_id object);
HEAPGRAPH_API uint64_t heapgraph_root_retained(const struct heapgraph *graph,
					       heapgraph_root_id root);

/** The nearest object that all ways to it lead through, if it is one. Needs RETAINED. */
HEAPGRAPH_API heapgraph_object_id heapgraph_object_dominator(const struct heapgraph *graph,
							     heapgraph_object_id object);

/** The root that all ways to it begin at, if its nearest dominator is one. Needs RETAINED. */
HEAPGRAPH_API heapgraph_root_id heapgraph_object_dominating_root(const struct heapgraph *graph,
								 heapgraph_object_id object);

/* --- sets -------------------------------------------------------------------- */

/**
 * Objects that a filter matches, as heapsh(1) has them: "type 'struct session' size >64 or
 * untyped". An object in a filter is an address. What the filter needs is loaded.
 *
 * @param result  freed by heapgraph_set_free()
 */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_find(struct heapgraph *graph,
							    const char *filter,
							    struct heapgraph_set **result);

/** An empty set. */
HEAPGRAPH_MUST_CHECK struct heapgraph_error *heapgraph_set_create(struct heapgraph *graph,
								  struct heapgraph_set **result);

/** What objects retain together: all that would be free without them. Loads what it needs. */
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

/** Needs OBJECTS. */
HEAPGRAPH_API uint64_t heapgraph_set_bytes(const struct heapgraph_set *set);

#ifdef __cplusplus
}
#endif

#endif
