// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SNAPSHOT_H
#define HEAP_SNAPSHOT_H

/**
 * What a snapshot says: objects, edges, roots, types and where all of them come from.
 *
 * Small tables (types, sites, modules, roots, threads, frames...) are there once a
 * snapshot is open. The columns that have an entry per object or edge are loaded when a
 * question asks for them, by heap_snapshot_load(). Objects are numbered from 0 by
 * ascending address; the edges of one object stand together, by ascending slot:
 *
 *	object      0        1     2          address[1], size[1], type[1]...
 *	edge_first  0        2     2     5    edges 0 and 1 leave object 0, 2..4 leave object 2
 *
 * The same structure is what heap_snapshot_write() stores, so whoever makes snapshots
 * (heapsnap-writer, a generator of test data) fills it and needs to know no format.
 *
 * After heap_snapshot_open(), and after each heap_snapshot_load(), every id and range in
 * what has been loaded is inside its table: hostile files end here.
 */

#include "lib/base/error.h"
#include "lib/types/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t heap_object_id;
typedef uint32_t heap_site_id;
typedef uint32_t heap_root_id;

#define HEAP_NO_OBJECT UINT32_MAX
#define HEAP_NO_INDEX UINT32_MAX /**< no module, thread, frame... */

/** Why an object has its type, strongest first. The values stand in snapshots. */
enum heap_evidence {
	HEAP_EVIDENCE_NONE,      /**< no type */
	HEAP_EVIDENCE_DECLARED,  /**< the program said so: heapsnap_set_type() */
	HEAP_EVIDENCE_VTABLE,    /**< its first word points to the vtable of that class */
	HEAP_EVIDENCE_POINTER,   /**< a typed slot points to its start and the size agrees */
	HEAP_EVIDENCE_EMBEDDING, /**< a typed slot points to a part of it */
	HEAP_EVIDENCE_SITE,      /**< the code that allocated it has such a variable */
	HEAP_EVIDENCE_VOTE,      /**< its siblings of the same site and size are of that type */
	HEAP_EVIDENCE_POOL,      /**< no type itself: the program cuts it up into parts */
	HEAP_EVIDENCE_KINDS,
};

enum heap_edge_flags {
	HEAP_EDGE_TYPED = 1 << 0, /**< the slot is a pointer by its object's type */
};

struct heap_module {
	uint32_t path;     /**< strings are offsets in snapshot->strings */
	uint32_t build_id; /**< lower-case hex; "" if it has none */
	uint32_t debug;    /**< file that its debug information came from; "" if there is none */
	uint32_t note;     /**< what was missed, for people; "" if nothing */
	uint64_t start;    /**< of its first mapping */
	uint64_t end;
	uint64_t bias; /**< address in memory minus address in the file */
};

struct heap_site {
	uint64_t address;  /**< the return address of the call that allocated */
	uint32_t module;   /**< or HEAP_NO_INDEX */
	uint32_t function; /**< as debug information or the symbol table has it; "" if unknown */
	uint64_t offset;   /**< of the address in that function */
	uint32_t file;     /**< "" if unknown */
	uint32_t line;
};

/** A place in the code that led to an allocation, or that is pointed to. */
struct heap_call {
	uint64_t address; /**< a return address; of what is pointed to, that */
	uint32_t module;  /**< or HEAP_NO_INDEX */
	uint32_t function;
	uint64_t offset; /**< of the address in that function */
	uint32_t file;   /**< "" if unknown */
	uint32_t line;
	uint8_t flags; /**< enum heap_frame_flags: INLINED into the next one outwards */
};

/**
 * A step of a backtrace. Backtraces that end alike share steps, so a backtrace is its
 * innermost step, and goes on with the caller's; step 0 is none.
 */
struct heap_step {
	uint32_t caller; /**< a step with a lower number; 0: the outermost that is known */
	uint32_t call;   /**< in calls */
};

/** The values stand in snapshots. */
enum heap_root_kind {
	HEAP_ROOT_GLOBAL,       /**< a global or static variable */
	HEAP_ROOT_THREAD_LOCAL, /**< a thread's copy of a thread-local variable */
	HEAP_ROOT_LOCAL,        /**< a variable or parameter of a live frame */
	HEAP_ROOT_REGISTER,     /**< a register of a thread, where no variable is known to be */
	HEAP_ROOT_STACK,        /**< a word of a frame, where no variable is known to be */
	HEAP_ROOT_SEGMENT,      /**< words of a module's data that belong to no known variable */
	HEAP_ROOT_MAPPING,      /**< another writable mapping */
	HEAP_ROOT_KINDS,
};

/** Something outside the heap that holds objects. */
struct heap_root {
	uint8_t kind;      /**< enum heap_root_kind */
	uint32_t name;     /**< variable, register or section ("rbx", ".data") */
	heap_type_id type; /**< or HEAP_NO_TYPE */
	uint64_t address;  /**< 0 for what lives in a register */
	uint64_t size;     /**< bytes */
	uint32_t module;   /**< or HEAP_NO_INDEX */
	uint32_t file;     /**< where it is declared; "" if unknown */
	uint32_t line;
	uint32_t thread;       /**< in snapshot->threads, or HEAP_NO_INDEX */
	uint32_t frame;        /**< in snapshot->frames, or HEAP_NO_INDEX */
	uint64_t content;      /**< its value: offset in root_content... */
	uint64_t content_size; /**< ...and bytes kept of it; 0 if none were */
};

struct heap_root_edge {
	heap_root_id root; /**< root edges stand by root, by offset */
	heap_object_id target;
	uint64_t offset;   /**< bytes into the root */
	uint32_t interior; /**< bytes into the target that the pointer points */
	uint8_t flags;     /**< enum heap_edge_flags */
};

enum heap_thread_state {
	HEAP_THREAD_EXACT,    /**< stopped, all registers known */
	HEAP_THREAD_SLEEPING, /**< left asleep in the kernel: stack pointer and pc are known */
	HEAP_THREAD_MISSING,  /**< could not be stopped; its whole stack was taken */
};

struct heap_thread {
	uint32_t tid;
	uint32_t name;
	uint8_t state; /**< enum heap_thread_state */
	uint32_t first_frame;
	uint32_t frames;      /**< innermost first */
	uint64_t stack_start; /**< stack pointer */
	uint64_t stack_end;   /**< of its mapping */
};

enum heap_frame_flags {
	HEAP_FRAME_INLINED = 1 << 0, /**< no frame of its own: inlined into the next one */
	HEAP_FRAME_SIGNAL = 1 << 1,  /**< called by the kernel to deliver a signal */
	HEAP_FRAME_GUESSED = 1 << 2, /**< found by a heuristic, not by call frame information */
};

struct heap_frame {
	uint64_t pc;
	uint64_t cfa;    /**< canonical frame address, DWARF 5 section 6.4 */
	uint32_t module; /**< or HEAP_NO_INDEX */
	uint32_t function;
	uint64_t offset; /**< of pc in the function */
	uint32_t file;
	uint32_t line;
	uint8_t flags; /**< enum heap_frame_flags */
};

enum heap_mapping_protection {
	HEAP_MAPPING_READ = 1,
	HEAP_MAPPING_WRITE = 2,
	HEAP_MAPPING_EXECUTE = 4,
	HEAP_MAPPING_SHARED = 8,
	HEAP_MAPPING_WIPED = 16,  /**< left out of copies of the process: zeros */
	HEAP_MAPPING_UNREAD = 32, /**< pages that could not be read, such as guards: zeros */
};

/** A line of the memory map, or a part of one. */
struct heap_mapping {
	uint64_t start;
	uint64_t end;
	uint32_t protection; /**< enum heap_mapping_protection */
	uint32_t name;       /**< path, or [heap], [stack]...; "" for anonymous memory */
};

/** A typed place inside a block that the program cuts up itself: a pool's element. */
struct heap_part {
	heap_object_id object; /**< parts stand by object, by offset */
	uint64_t offset;       /**< in bytes */
	heap_type_id type;
	uint64_t elements; /**< of that type, as the column of that name has it */
	uint8_t evidence;  /**< enum heap_evidence */
};

/** An object of the sample whose backtraces are taken: when it was allocated, and by whom. */
struct heap_sample {
	heap_object_id object; /**< samples stand by object */
	uint32_t number;  /**< in the trace (lib/trace/trace.h) that info tells of; 0: not in it */
	uint64_t time_ns; /**< since 1970 */
	uint32_t thread;  /**< id */
};

/** A block whose header was damaged when the snapshot was taken. */
struct heap_damage {
	uint64_t address; /**< of the header */
	uint32_t note;    /**< what is wrong, for people */
};

/** Scalars; strings are owned by the snapshot and never NULL. */
struct heap_info {
	const char *program; /**< file name of the executable */
	const char *command; /**< command line, arguments separated by spaces */
	const char *host;
	const char *maker; /**< "heapsnap 0.1" */
	const char *id;    /**< unique to this snapshot: 32 hex digits */
	uint64_t pid;
	uint64_t serial;         /**< 0 for the first of a process */
	uint64_t time_ns;        /**< since 1970, UTC, when the program was frozen */
	uint64_t start_time_ns;  /**< since 1970, when the library was loaded */
	uint64_t stop_ns;        /**< how long threads were stopped */
	uint64_t clone_ns;       /**< of which the clone took */
	uint64_t stop_calls;     /**< system calls that stopping them took; 0: not noted */
	uint64_t content_limit;  /**< bytes kept of each object; UINT64_MAX for all */
	uint64_t untyped;        /**< 1: it was to be written without types of objects */
	uint64_t missed_threads; /**< threads that could not be stopped */
	/* What writing it took; 0 in snapshots of before that was noted. */
	uint64_t writer_ns;     /**< from the freezing to the storing */
	uint64_t writer_bytes;  /**< the writer's memory, at most */
	uint64_t copied_bytes;  /**< pages that the program wrote to meanwhile: there were two */
	uint64_t late_ns;       /**< types are incomplete: that was its time; 0: they are not */
	uint64_t steps;         /**< of the loops of type inference */
	uint64_t checkpoint_ns; /**< since 1970, of heapsnap_checkpoint(); 0: there was none */
	const char *trace;      /**< path of the trace of the process, the last; "": none */
	/** File of a malloc that came before the library's, whose blocks are not here; "": none */
	const char *other_malloc;
	uint64_t trace_start_ns; /**< since 1970, when it began: as its file says; 0: none */
};

/** What heap_snapshot_load() loads. */
enum heap_columns {
	HEAP_COLUMN_ADDRESS = 1 << 0,
	HEAP_COLUMN_SIZE = 1 << 1,
	HEAP_COLUMN_TYPE = 1 << 2,
	HEAP_COLUMN_ELEMENTS = 1 << 3,
	HEAP_COLUMN_EVIDENCE = 1 << 4,
	HEAP_COLUMN_SITE = 1 << 5,
	HEAP_COLUMN_BIRTH = 1 << 6,
	HEAP_COLUMN_BACKTRACE = 1 << 7,
	HEAP_COLUMN_RIVAL = 1 << 8,
	HEAP_COLUMN_RIVALS = 1 << 9,
	HEAP_COLUMN_EDGES = 1 << 10, /**< edge_first, edge_target */
	HEAP_COLUMN_SLOTS = 1 << 11, /**< edge_slot; and QUALITY */
	HEAP_COLUMN_PARTS = 1 << 12,
	HEAP_COLUMN_QUALITY = 1 << 13, /**< edge_interior, edge_flags; and EDGES */
	HEAP_COLUMN_ALL = (1 << 14) - 1,
};

struct heap_snapshot {
	char *path; /**< as it was opened; NULL if made in memory */
	struct heap_info info;
	char *info_bytes; /**< private: what info's strings are in */
	char *strings;    /**< [string_size]; [0] is "" */
	uint64_t string_size;
	struct heap_types types;
	struct heap_module *modules; /**< [module_count] by address */
	uint32_t module_count;
	struct heap_site *sites; /**< [site_count] */
	uint32_t site_count;
	struct heap_call *calls; /**< [call_count] of all backtraces */
	uint32_t call_count;
	struct heap_step *steps; /**< [step_count] [0] is none, where there are any */
	uint32_t step_count;
	struct heap_call *functions; /**< [function_count] that words point to, by address */
	uint32_t function_count;
	struct heap_root *roots; /**< [root_count] */
	uint32_t root_count;
	struct heap_root_edge *root_edges; /**< [root_edge_count] by root, by offset */
	uint64_t root_edge_count;
	struct heap_thread *threads; /**< [thread_count] */
	uint32_t thread_count;
	struct heap_frame *frames; /**< [frame_count] by thread, innermost first */
	uint32_t frame_count;
	struct heap_mapping *mappings; /**< [mapping_count] by address */
	uint32_t mapping_count;
	struct heap_damage *damages; /**< [damage_count] */
	uint32_t damage_count;
	struct heap_sample *samples; /**< [sample_count] by object */
	uint32_t sample_count;
	/** [epoch_count] when each birth epoch began, ns since 1970, ascending */
	uint64_t *epochs;
	uint32_t epoch_count;
	uint8_t *root_content; /**< [root_content_size] */
	uint64_t root_content_size;

	uint32_t object_count;
	uint32_t edge_count;

	/* Columns: NULL until loaded. */
	uint64_t *address;    /**< [object_count] ascending */
	uint64_t *size;       /**< [object_count] bytes that were asked for */
	heap_type_id *type;   /**< [object_count] the element's type; HEAP_NO_TYPE: unknown */
	uint64_t *elements;   /**< [object_count] of that type; 1 unless an array; flexible
				   array members count here: 1 + their elements */
	uint8_t *evidence;    /**< [object_count] enum heap_evidence */
	heap_site_id *site;   /**< [object_count] in sites */
	uint32_t *birth;      /**< [object_count] epoch in which it was allocated */
	uint32_t *backtrace;  /**< [object_count] how it came to be: see heap_backtrace_step() */
	heap_type_id *rival;  /**< [object_count] what else typed pointers took it for */
	uint32_t *rivals;     /**< [object_count] how many of them did, whatever for */
	uint32_t *edge_first; /**< [object_count + 1] */
	heap_object_id *edge_target; /**< [edge_count] */
	uint32_t *edge_slot;         /**< [edge_count] where in the source: byte offset / 8 */
	uint32_t *edge_interior;     /**< [edge_count] bytes into the target; UINT32_MAX: or more */
	uint8_t *edge_flags;         /**< [edge_count] enum heap_edge_flags */
	struct heap_part *parts;     /**< [part_count] */
	uint32_t part_count;

	struct heap_file *file;         /**< open for what is not loaded; NULL if made in memory */
	struct heap_contents *contents; /**< private: what is known of where contents are */
	struct heap_around *around;     /**< private: columns that are loaded in part */
	/** What people say that objects are: lib/snapshot/declarations.h; NULL: nothing. */
	struct heap_declarations *declarations;
	/** There are some, written by somebody who could not write the snapshot: not believed. */
	bool declarations_ignored;
};

/**
 * Opens a snapshot and reads its tables; columns stay where they are.
 *
 * @return NULL; or an error that begins with the path: HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT
 *         (what heap_file_open() says; a table is damaged, and which), HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_open(const char *path, struct heap_snapshot **result);

/** The same of bytes in memory, which must outlive the result; for tests and fuzzing. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_open_memory(const uint8_t *bytes, size_t size,
					     struct heap_snapshot **result);

/** NULL is fine. */
void heap_snapshot_close(struct heap_snapshot *snapshot);

/**
 * Loads columns that are not loaded yet.
 *
 * An error names the section; the other columns can still be loaded, and those that have
 * been loaded stay.
 *
 * @param columns  enum heap_columns, or'ed
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_load(struct heap_snapshot *snapshot, unsigned columns);

/**
 * Gives the sizes of all objects to who needs them once and in order: the column is not loaded
 * for that.
 *
 * @param sizes  [objects] in bytes
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_sizes(const struct heap_snapshot *snapshot, uint64_t *sizes);

/**
 * Loads columns around some objects: their values are there then, and those of the pointers that
 * leave them. Of other objects, values may be 0 until heap_snapshot_load() is asked for the
 * columns. EDGES, QUALITY and PARTS are loaded as a whole, and so is what would be loaded for the
 * most part.
 *
 * @param objects  [count]
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_load_around(struct heap_snapshot *snapshot, unsigned columns,
					     const heap_object_id *objects, size_t count);

/** How good a pointer is. */
struct heap_edge_quality {
	uint32_t edge;     /**< of which it is asked */
	uint32_t interior; /**< as in edge_interior */
	uint8_t flags;     /**< enum heap_edge_flags */
};

/**
 * Looks up how good some pointers are, where QUALITY need not be loaded and is not: what is
 * decoded for it is forgotten again.
 *
 * @param qualities  [count] their edges ascend; the rest is filled in
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_find_quality(struct heap_snapshot *snapshot,
					      struct heap_edge_quality *qualities, size_t count);

/**
 * heap_snapshot_find() where not all of ADDRESS and SIZE need be loaded: loads them around it.
 *
 * @param result  the object, or HEAP_NO_OBJECT
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_locate(struct heap_snapshot *snapshot, uint64_t address,
					heap_object_id *result);

/**
 * Reads what was kept of an object's bytes. Loads SIZE if it is not loaded.
 *
 * Reading objects in ascending order costs little more than decompressing all contents
 * once; in another order, a block of 64 KiB per call.
 *
 * @param buffer  [size] the caller's
 * @param kept    how many bytes it got: min(size, object's size, info.content_limit)
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_content(struct heap_snapshot *snapshot, heap_object_id object,
					      void *buffer, size_t size, size_t *kept);

/** Gives heap_snapshot_write() the first @p size bytes of an object. */
typedef struct heap_error *heap_content_reader(void *context, heap_object_id object,
					       uint64_t address, uint8_t *buffer, size_t size);

/**
 * Gives it the values of a column (one of enum heap_columns) that is no array.
 *
 * @param values  [count] zeros, the caller's: of the objects from @p first on
 */
typedef void heap_column_maker(void *context, enum heap_columns column, heap_object_id first,
			       uint32_t count, uint64_t *values);

struct heap_stored_edges; // lib/snapshot/stored_edges.h

/** Where heap_snapshot_write() gets what is not in the structure. */
struct heap_snapshot_source {
	heap_content_reader *content; /**< asked for each object in order; NULL: nothing is kept */
	heap_column_maker *column;    /**< asked for what is NULL; NULL: it is all zeros */
	struct heap_stored_edges *edges; /**< of all objects; NULL: they are in the snapshot */
	void *context;
};

/**
 * Stores a snapshot whose tables and columns are filled in, or those of objects left NULL for the
 * source to make.
 *
 * @param descriptor  open for writing, empty; neither synced nor closed
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_write(const struct heap_snapshot *snapshot, int descriptor,
				       const struct heap_snapshot_source *source);

static inline const char *heap_snapshot_string(const struct heap_snapshot *snapshot,
					       uint32_t offset)
{
	return snapshot->strings + offset;
}

/** The innermost step of an object's backtrace, or 0. */
static inline uint32_t heap_backtrace_step(uint32_t backtrace)
{
	return backtrace >> 1;
}

/** Whether it is its own: else it is the one of the first block of its site and size. */
static inline bool heap_backtrace_is_own(uint32_t backtrace)
{
	return backtrace & 1;
}

/**
 * The object that an edge leaves: the last one whose edges begin there or before.
 *
 * @param first  [objects] number of each object's first edge
 */
heap_object_id heap_edge_source(const uint32_t *first, uint32_t objects, uint32_t edge);

/** The first edge of a root, or of a later one: they stand by root. */
uint64_t heap_snapshot_first_root_edge(const struct heap_snapshot *snapshot, heap_root_id root);

/** What is known of an object as a sample; NULL if it is none. */
const struct heap_sample *heap_snapshot_sample(const struct heap_snapshot *snapshot,
					       heap_object_id object);

/** µs from the beginning of the trace to its allocation. @param sample  has a number */
static inline uint64_t heap_sample_trace_us(const struct heap_snapshot *snapshot,
					    const struct heap_sample *sample)
{
	return sample->time_ns > snapshot->info.trace_start_ns
		       ? (sample->time_ns - snapshot->info.trace_start_ns) / 1000
		       : 0;
}

/** The parts of an object: [*first, result). Needs PARTS. */
uint32_t heap_snapshot_parts(const struct heap_snapshot *snapshot, heap_object_id object,
			     uint32_t *first);

/** Bytes of a part; never more than are left of its object. Needs SIZE. */
uint64_t heap_snapshot_part_size(const struct heap_snapshot *snapshot,
				 const struct heap_part *part);

/** What is known of the code at an address that words of the program point to, or NULL. */
const struct heap_call *heap_snapshot_function(const struct heap_snapshot *snapshot,
					       uint64_t address);

/** The object that @p address lies in, or HEAP_NO_OBJECT. Needs ADDRESS and SIZE. */
heap_object_id heap_snapshot_find(const struct heap_snapshot *snapshot, uint64_t address);

/** The last object that begins before @p address, or HEAP_NO_OBJECT. Needs ADDRESS. */
heap_object_id heap_snapshot_find_before(const struct heap_snapshot *snapshot, uint64_t address);

#endif
