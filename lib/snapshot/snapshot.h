// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SNAPSHOT_H
#define HEAP_SNAPSHOT_H

/**
 * A snapshot: objects, edges, roots, types, and the code that they come from.
 *
 * Opening a snapshot reads its small tables (types, sites, modules, roots, threads, frames...).
 * Columns, which have a value per object or edge, are loaded on demand by heap_snapshot_load().
 * Objects are numbered from 0 by ascending address. Edges are a compressed sparse row (CSR) matrix:
 * sorted by the object that they leave, then by slot.
 *
 *	object      0        1     2          address[1], size[1], type[1]...
 *	edge_first  0        2     2     5    edges 0 and 1 leave object 0, 2..4 leave object 2
 *
 * heap_snapshot_write() stores the same structure, so programs that make snapshots (heapsnap-writer,
 * a generator of test data) fill it and need not know the format.
 *
 * heap_snapshot_open() and heap_snapshot_load() check every id and range that they read, so nothing
 * else needs to distrust a file.
 */

#include "lib/base/error.h"
#include "lib/types/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t heap_object_id;
typedef uint32_t heap_site_id;
typedef uint32_t heap_root_id;

/** The most objects, pointers, and rows of a table. */
#define HEAP_COUNT_MAX (UINT32_MAX - 1)

#define HEAP_NO_OBJECT UINT32_MAX
#define HEAP_NO_INDEX UINT32_MAX /**< no module, thread, frame... */

/** Why an object has its type, strongest first. The values are stored in snapshots. */
enum heap_evidence {
	HEAP_EVIDENCE_NONE,      /**< no type */
	HEAP_EVIDENCE_DECLARED,  /**< the program said so: heapsnap_set_type() */
	HEAP_EVIDENCE_VTABLE,    /**< its first word points to the vtable of that class */
	HEAP_EVIDENCE_POINTER,   /**< a typed slot points to its start and the size agrees */
	HEAP_EVIDENCE_EMBEDDING, /**< a typed slot points to a part of it */
	HEAP_EVIDENCE_SITE,      /**< the code that allocated it has such a variable */
	HEAP_EVIDENCE_VOTE,      /**< its siblings of the same site and size are of that type */
	HEAP_EVIDENCE_POOL,      /**< no type itself: the program divides it into parts */
	HEAP_EVIDENCE_TAG, /**< its pointer tag is that of blocks of a known type, or its enum tag names it */
	HEAP_EVIDENCE_METHODS, /**< the functions that its tag leads to have that receiver */
	HEAP_EVIDENCE_SHAPE,   /**< no name: where its words hold pointers, texts and numbers */
	HEAP_EVIDENCE_CAST,    /**< code casts a void pointer that leads to it */
	HEAP_EVIDENCE_KINDS,
};

enum heap_edge_flags {
	HEAP_EDGE_TYPED = 1 << 0, /**< the type of the object has a pointer at that slot */
};

struct heap_module {
	uint32_t path;     /**< strings are offsets in snapshot->strings */
	uint32_t build_id; /**< lower-case hex; "" if it has none */
	uint32_t debug;    /**< file that its debug information came from; "" if there is none */
	uint32_t note;     /**< what is missing, for people; "" if nothing */
	uint64_t start;    /**< of its first mapping */
	uint64_t end;
	uint64_t bias; /**< address in memory minus address in the file */
};

enum heap_site_flags {
	/** In a wrapper of malloc; its blocks belong to callers that were not sampled. */
	HEAP_SITE_CALLER_UNKNOWN = 1 << 0,
};

struct heap_site {
	uint64_t address;  /**< the return address of the call that allocated */
	uint32_t module;   /**< or HEAP_NO_INDEX */
	uint32_t function; /**< from debug information or the symbol table; "" if unknown */
	uint64_t offset;   /**< of the address in that function */
	uint32_t file;     /**< "" if unknown */
	uint32_t line;
	uint32_t flags; /**< enum heap_site_flags */
};

/** A place in the code: a call that led to an allocation, or the target of a code pointer. */
struct heap_call {
	uint64_t address; /**< the return address; of a target, its own */
	uint32_t module;  /**< or HEAP_NO_INDEX */
	uint32_t function;
	uint64_t offset; /**< of the address in that function */
	uint32_t file;   /**< "" if unknown */
	uint32_t line;
	uint8_t flags; /**< enum heap_frame_flags: INLINED into the next one outwards */
};

/**
 * A step of a backtrace. Backtraces with the same outer calls share steps: they are a tree (a trie),
 * and a backtrace is its innermost step. Step 0 is none.
 */
struct heap_step {
	uint32_t caller; /**< a step with a lower number; 0: this is the outermost known */
	uint32_t call;   /**< in calls */
};

/** The values are stored in snapshots. */
enum heap_root_kind {
	HEAP_ROOT_GLOBAL,       /**< a global or static variable */
	HEAP_ROOT_THREAD_LOCAL, /**< a thread's copy of a thread-local variable */
	HEAP_ROOT_LOCAL,        /**< a variable or parameter of a live frame */
	HEAP_ROOT_REGISTER,     /**< a register of a thread that holds no known variable */
	HEAP_ROOT_STACK,        /**< a word of a frame that belongs to no known variable */
	HEAP_ROOT_SEGMENT,      /**< words of a module's data that belong to no known variable */
	HEAP_ROOT_MAPPING,      /**< another writable mapping */
	HEAP_ROOT_KINDS,
};

/** Something outside the heap that holds objects. */
struct heap_root {
	uint8_t kind;      /**< enum heap_root_kind */
	uint32_t name;     /**< variable, register or place ("rbx", ".bss+0x40, near stdout") */
	heap_type_id type; /**< or HEAP_NO_TYPE */
	uint64_t address;  /**< 0 if it is in a register */
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
	heap_root_id root; /**< root edges are sorted by root, then by offset */
	heap_object_id target;
	uint64_t offset;   /**< bytes into the root */
	uint32_t interior; /**< bytes from the start of the target to what the pointer points to */
	uint8_t flags;     /**< enum heap_edge_flags */
};

enum heap_thread_state {
	HEAP_THREAD_EXACT,    /**< stopped, all registers known */
	HEAP_THREAD_SLEEPING, /**< left asleep in the kernel: stack pointer and pc are known */
	HEAP_THREAD_MISSING,  /**< could not be stopped; its whole stack was scanned */
};

struct heap_thread {
	uint32_t tid;
	uint32_t name;
	uint8_t state; /**< enum heap_thread_state */
	uint32_t first_frame;
	uint32_t frames;      /**< innermost first */
	uint64_t stack_start; /**< stack pointer */
	uint64_t stack_end;   /**< of its mapping */
	uint32_t skipped;     /**< frames that are left out of a deep stack */
	uint32_t
		skipped_at; /**< number of those that come before them; if that is all, there may be more */
};

enum heap_frame_flags {
	HEAP_FRAME_INLINED = 1 << 0, /**< has no frame of its own: inlined into the next one */
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
	HEAP_MAPPING_WIPED = 16,  /**< excluded from copies of the process: zeros */
	HEAP_MAPPING_UNREAD = 32, /**< pages that could not be read, such as guards: zeros */
};

/** A line of the memory map, or a part of one. */
struct heap_mapping {
	uint64_t start;
	uint64_t end;
	uint32_t protection; /**< enum heap_mapping_protection */
	uint32_t name;       /**< path, or [heap], [stack]...; "" for anonymous memory */
};

/** A typed part of a block that the program divides itself: an element of a pool. */
struct heap_part {
	heap_object_id object; /**< parts are sorted by object, then by offset */
	uint64_t offset;       /**< in bytes */
	heap_type_id type;
	uint64_t elements; /**< of that type, as in the column of that name */
	uint8_t evidence;  /**< enum heap_evidence */
};

/** An array whose elements the program hands out one by one: each belongs to those who point to it. */
struct heap_slab {
	heap_object_id object; /**< slabs are sorted by object; of a type, and several elements */
};

/** A sampled object, with the time and the thread of its allocation. */
struct heap_sample {
	heap_object_id object; /**< samples are sorted by object */
	uint32_t number;  /**< in the trace (lib/trace/trace.h) that info names; 0: not in it */
	uint64_t time_ns; /**< since 1970 */
	uint32_t thread;  /**< id */
};

/** A method table that tells what blocks are: a type object, a class, a table of operations. */
struct heap_tag {
	uint64_t address; /**< what the blocks' tags point to */
	uint32_t name;    /**< its symbol, or the type that it has on the heap; "" if unknown */
};

/** A block whose header was damaged when the snapshot was taken. */
struct heap_damage {
	uint64_t address; /**< of the header */
	uint32_t note;    /**< what is wrong, for people */
};

/** How the snapshot was taken. */
enum heap_origin {
	HEAP_ORIGIN_LIBRARY,  /**< by libheapsnap.so in the process */
	HEAP_ORIGIN_ATTACHED, /**< from outside: there are no sites, births and requested sizes */
	HEAP_ORIGIN_CORE,     /**< from a core file: nor these */
	HEAP_ORIGIN_TRACED,   /**< by libheapsnap-trace.so in the process: nor these */
};

/** Why the processor could not access memory, so that a process was ended. */
enum heap_fault {
	HEAP_FAULT_NONE,      /**< that was not the cause */
	HEAP_FAULT_UNMAPPED,  /**< nothing is mapped there */
	HEAP_FAULT_FORBIDDEN, /**< it may not be accessed so: written to, or executed */
	HEAP_FAULT_NO_FILE, /**< the file that is mapped there ends before, or could not be read */
	HEAP_FAULT_UNKNOWN, /**< at no address that a program can have; which is not known */
	HEAP_FAULT_OTHER,
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
	uint64_t stop_ns;        /**< time that threads were stopped */
	uint64_t clone_ns;       /**< part of that: the clone */
	uint64_t stop_calls;     /**< system calls for stopping them; 0: not recorded */
	uint64_t content_limit;  /**< bytes kept of each object; UINT64_MAX for all */
	uint64_t untyped;        /**< 1: written without types of objects, as requested */
	uint64_t missed_threads; /**< threads that could not be stopped */
	/* The costs of writing; 0 in snapshots of older versions. */
	uint64_t
		writer_ns; /**< from the stop to the end of writing; of a core from when it was opened */
	uint64_t writer_bytes; /**< peak memory of the writer */
	uint64_t
		copied_bytes; /**< pages that the program wrote to meanwhile: copied by the kernel */
	uint64_t late_ns; /**< the time limit that left types incomplete; 0: they are complete */
	uint64_t steps;   /**< of the loops of type inference */
	uint64_t checkpoint_ns; /**< since 1970, of heapsnap_checkpoint(); 0: there was none */
	const char *trace;      /**< path of the process's latest trace; "": none */
	/** File of a malloc that precedes the library's, whose blocks are missing here; "": none */
	const char *other_malloc;
	uint64_t trace_start_ns; /**< since 1970, when the trace began: as in its file; 0: none */
	uint64_t origin;         /**< enum heap_origin: what is therefore known */
	uint64_t
		taken; /**< enum heap_origin: by whom; other than origin if the library was there */
	uint64_t signal;        /**< of a core file: that ended the process; 0: none */
	uint64_t fault;         /**< enum heap_fault, of that signal */
	uint64_t fault_address; /**< that was accessed, if the fault has one */
	uint64_t sender; /**< process id of another process that sent the signal; 0: none did */
	uint64_t oldest; /**< it has so many of the oldest samples and a path to each; 0: all */
	/* Without the library: */
	const char *allocators; /**< those whose structures told the blocks, "glibc"; "": none */
	const char *doubts;     /**< inconsistencies in these structures; "": none */
	/**
	 * Memory that is lost, so that what pointed where is not known: of a core file, what has been cut off and is in no
	 * other file; or else huge pages that the kernel has taken from the frozen copy.
	 */
	uint64_t lost_bytes;
	/* These are of a core file; 0 and "" otherwise: */
	uint64_t core_bytes;    /**< memory that it should have */
	uint64_t missing_bytes; /**< of these have been cut off */
	const char *lacks;      /**< what lay in those, for people; "": nothing */
	/*
	 * What the private memory is used for that the process has touched, but for modules' data. All of them are 0 in
	 * snapshots of older versions.
	 */
	uint64_t block_bytes; /**< live blocks, as far as they are touched */
	uint64_t spare_bytes; /**< what allocators have beside them: headers, caches, free memory */
	uint64_t spare_page_bytes; /**< part of that: whole pages without a block */
	uint64_t stack_bytes;      /**< of threads, with what else each thread has */
	uint64_t mapped_bytes;     /**< the rest: the process has mapped it without malloc */
};

/** Columns for heap_snapshot_load(). */
enum heap_columns {
	HEAP_COLUMN_ADDRESS = 1 << 0,
	HEAP_COLUMN_SIZE = 1 << 1,
	HEAP_COLUMN_TYPE = 1 << 2,
	HEAP_COLUMN_ELEMENTS = 1 << 3,
	HEAP_COLUMN_EVIDENCE = 1 << 4,
	HEAP_COLUMN_SITE = 1 << 5,
	HEAP_COLUMN_BIRTH = 1 << 6,
	HEAP_COLUMN_BACKTRACE = 1 << 7,
	HEAP_COLUMN_CONFLICT_TYPE = 1 << 8,
	HEAP_COLUMN_CONFLICTS = 1 << 9,
	HEAP_COLUMN_TAG = 1 << 10,
	HEAP_COLUMN_EDGES = 1 << 11, /**< edge_first, edge_target */
	HEAP_COLUMN_SLOTS = 1 << 12, /**< edge_slot; and QUALITY */
	HEAP_COLUMN_PARTS = 1 << 13,
	HEAP_COLUMN_QUALITY = 1 << 14, /**< edge_interior, edge_flags; and EDGES */
	HEAP_COLUMN_ALL = (1 << 15) - 1,
	/** Columns that declarations change, which are loaded as a whole if there are any. */
	HEAP_DECLARED_COLUMNS = HEAP_COLUMN_TYPE | HEAP_COLUMN_ELEMENTS | HEAP_COLUMN_EVIDENCE |
				HEAP_COLUMN_QUALITY,
};

struct heap_snapshot {
	char *path; /**< as it was opened; NULL if made in memory */
	struct heap_info info;
	char *info_bytes; /**< private: the strings of info */
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
	struct heap_call *functions; /**< [function_count] targets of code pointers, by address */
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
	struct heap_tag *tags; /**< [tag_count] */
	uint32_t tag_count;
	struct heap_slab *slabs; /**< [slab_count] by object */
	uint32_t slab_count;
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
	uint64_t *address;   /**< [object_count] ascending */
	uint64_t *size;      /**< [object_count] bytes, as requested by the program */
	heap_type_id *type;  /**< [object_count] the element's type; HEAP_NO_TYPE: unknown */
	uint64_t *elements;  /**< [object_count] of that type; 1 unless an array; with a flexible
				   array member, 1 + its elements */
	uint8_t *evidence;   /**< [object_count] enum heap_evidence */
	heap_site_id *site;  /**< [object_count] in sites */
	uint32_t *birth;     /**< [object_count] epoch in which it was allocated */
	uint32_t *backtrace; /**< [object_count] of its allocation: see heap_backtrace_step() */
	heap_type_id
		*conflict_type; /**< [object_count] another type that typed pointers to it have */
	uint32_t *tag;          /**< [object_count] number in tags, plus 1; 0: it has none */
	uint32_t *conflicts;    /**< [object_count] pointers with other types than the object's */
	uint32_t *edge_first;   /**< [object_count + 1] */
	heap_object_id *edge_target; /**< [edge_count] */
	uint32_t *edge_slot;         /**< [edge_count] byte offset in the source, / 8 */
	uint32_t *edge_interior;     /**< [edge_count] bytes into the target; UINT32_MAX: or more */
	uint8_t *edge_flags;         /**< [edge_count] enum heap_edge_flags */
	struct heap_part *parts;     /**< [part_count] */
	uint32_t part_count;

	struct heap_file *file;             /**< for loading columns; NULL if made in memory */
	struct heap_contents *contents;     /**< private: the index of contents */
	struct heap_neighbours *neighbours; /**< private: columns that are loaded in part */
	struct heap_constants
		*constants; /**< private: files that constants are read from, or NULL */
	/** Types that people have declared objects to be of: lib/snapshot/declarations.h, or NULL. */
	struct heap_declarations *declarations;
	/** True if declarations were ignored: their author could not have written the snapshot. */
	bool declarations_ignored;
};

/**
 * Opens a snapshot and reads its tables, but no columns.
 *
 * @return NULL; or an error that begins with the path: HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT
 *         (of heap_file_open(), or naming the damaged table), HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_open(const char *path, struct heap_snapshot **result);

/** The same from another file than that whose name the snapshot, and its declarations, have. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_open_as(const char *path, const char *name,
					 struct heap_snapshot **result);

/** The same from bytes in memory, which must outlive the result; for tests and fuzzing. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_open_memory(const uint8_t *bytes, size_t size,
					     struct heap_snapshot **result);

/** Frees the tables and columns of a snapshot that was made in memory; it is all zeros then. */
void heap_snapshot_deinit(struct heap_snapshot *snapshot);

/** Closes a snapshot that was opened. NULL is fine. */
void heap_snapshot_close(struct heap_snapshot *snapshot);

/**
 * Loads those of the columns that are not loaded yet.
 *
 * An error names the section. Columns that have been loaded stay, and others can still be loaded.
 *
 * @param columns  enum heap_columns, or'ed
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_load(struct heap_snapshot *snapshot, unsigned columns);

/**
 * Reads the sizes of all objects without loading the column, for callers that need them once and
 * in order.
 *
 * @param sizes  [objects] in bytes
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_sizes(const struct heap_snapshot *snapshot, uint64_t *sizes);

enum {
	HEAP_SIZES_PIECE = 65536, /**< objects whose sizes are in one block of the file */
};

/**
 * Reads the sizes of objects [first, first + count), as heap_snapshot_read_sizes() does. A caller that goes
 * through all objects reads HEAP_SIZES_PIECE of them at a time, from a multiple of that on.
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_some_sizes(const struct heap_snapshot *snapshot,
						 heap_object_id first, uint32_t count,
						 uint64_t *sizes);

/**
 * Sums the sizes of some objects without loading the column: only blocks that hold their sizes are
 * decompressed, by several threads.
 *
 * @param objects  a bit per object (lib/base/bits.h)
 * @param sum      gets bytes
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_sum_sizes(const struct heap_snapshot *snapshot,
					   const uint8_t *objects, uint64_t *sum);

/**
 * Loads columns for some objects: their values, and those of the edges that leave them. Values of
 * other objects may be 0 until heap_snapshot_load() loads the columns. EDGES, QUALITY and PARTS are
 * loaded as a whole, and so is a column if the objects need a large part of it.
 *
 * @param objects  [count]
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_load_neighbours(struct heap_snapshot *snapshot, unsigned columns,
						 const heap_object_id *objects, size_t count);

/** The quality of a pointer: whether it is typed, and where in its target it points to. */
struct heap_edge_quality {
	uint32_t edge;     /**< set by the caller */
	uint32_t interior; /**< as in edge_interior */
	uint8_t flags;     /**< enum heap_edge_flags */
};

/**
 * Looks up the quality of some pointers without loading QUALITY.
 *
 * @param qualities  [count] with ascending edges; the other members are filled in
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_find_quality(struct heap_snapshot *snapshot,
					      struct heap_edge_quality *qualities, size_t count);

/**
 * Does what heap_snapshot_find() does, but loads only a part of ADDRESS and SIZE.
 *
 * @param result  the object, or HEAP_NO_OBJECT
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_locate(struct heap_snapshot *snapshot, uint64_t address,
					heap_object_id *result);

/**
 * Reads the kept bytes of an object. Loads SIZE if it is not loaded.
 *
 * Reading objects in ascending order costs little more than decompressing all contents once; in
 * another order, each call decompresses a block of 64 KiB.
 *
 * @param buffer  [size] the caller's
 * @param kept    gets the number of bytes read: min(size, object's size, info.content_limit)
 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_content(struct heap_snapshot *snapshot, heap_object_id object,
					      void *buffer, size_t size, size_t *kept);

/** Gives heap_snapshot_write() the first @p size bytes of an object. */
typedef struct heap_error *heap_content_reader(void *context, heap_object_id object,
					       uint64_t address, uint8_t *buffer, size_t size);

/**
 * Gives heap_snapshot_write() values of a column (one of enum heap_columns) that is NULL.
 *
 * @param values  [count] zeros to fill in, of the objects from @p first on
 */
typedef void heap_column_maker(void *context, enum heap_columns column, heap_object_id first,
			       uint32_t count, uint64_t *values);

struct heap_stored_edges; // lib/snapshot/stored_edges.h

/** The source of data that heap_snapshot_write() does not find in the structure. */
struct heap_snapshot_source {
	heap_content_reader *content; /**< called for each object in order; NULL: nothing is kept */
	/** Called for columns that are NULL, by several threads at once; NULL: these are zeros. */
	heap_column_maker *column;
	struct heap_stored_edges *edges; /**< of all objects; NULL: they are in the snapshot */
	/**
	 * Gets the flags of stored edges [first, first + count); called by several threads at once.
	 * NULL: these are zeros.
	 */
	void (*edge_flags)(void *context, uint64_t first, size_t count, uint64_t *flags);
	void *context;
};

/**
 * Writes a snapshot whose tables and columns are filled in. Columns of objects may be NULL: the
 * source makes these.
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

/**
 * Finds the module of the program itself: the one with the program's name, or else the first that is no library.
 * A program may go by the name of a link to its file.
 *
 * @return its index; module_count if there is none
 */
uint32_t heap_snapshot_program_module(const struct heap_snapshot *snapshot);

/** The innermost step of an object's backtrace, or 0. */
static inline uint32_t heap_backtrace_step(uint32_t backtrace)
{
	return backtrace >> 1;
}

/** True if the backtrace is the object's own; else it is that of the first block of its site and size. */
static inline bool heap_backtrace_is_own(uint32_t backtrace)
{
	return backtrace & 1;
}

/** The time at which an object's birth epoch began, ns since 1970. Needs BIRTH. */
static inline uint64_t heap_snapshot_birth_ns(const struct heap_snapshot *snapshot,
					      heap_object_id object)
{
	return snapshot->epochs[snapshot->birth[object]];
}

/** The first edge of an object at @p offset bytes or above, or the end of its edges. Needs SLOTS. */
uint32_t heap_edge_from(const struct heap_snapshot *snapshot, heap_object_id object,
			uint64_t offset);

/** The edge of an object at @p offset bytes, or UINT32_MAX. Needs SLOTS. */
uint32_t heap_edge_at(const struct heap_snapshot *snapshot, heap_object_id object, uint64_t offset);

/**
 * The object that an edge leaves.
 *
 * @param first  [objects] number of each object's first edge
 */
heap_object_id heap_edge_source(const uint32_t *first, uint32_t objects, uint32_t edge);

/** The first edge of a root, or of the next root that has edges. */
uint64_t heap_snapshot_first_root_edge(const struct heap_snapshot *snapshot, heap_root_id root);

/** The sample of an object, or NULL if it was not sampled. */
const struct heap_sample *heap_snapshot_sample(const struct heap_snapshot *snapshot,
					       heap_object_id object);

/** µs from the start of the trace to the allocation. @param sample  has a number */
static inline uint64_t heap_sample_trace_us(const struct heap_snapshot *snapshot,
					    const struct heap_sample *sample)
{
	return sample->time_ns > snapshot->info.trace_start_ns
		       ? (sample->time_ns - snapshot->info.trace_start_ns) / 1000
		       : 0;
}

/** The parts of an object: [*first, result). There are none unless PARTS is loaded. */
uint32_t heap_snapshot_parts(const struct heap_snapshot *snapshot, heap_object_id object,
			     uint32_t *first);

/** How many parts an object has. */
static inline uint32_t heap_snapshot_part_count(const struct heap_snapshot *snapshot,
						heap_object_id object)
{
	uint32_t first, end = heap_snapshot_parts(snapshot, object, &first);

	return end - first;
}

/**
 * The part with which a block begins, if it is the only one: all that is known of the block. Needs TYPE and EVIDENCE.
 *
 * @return NULL: it has a type, or other parts, or none
 */
const struct heap_part *heap_snapshot_beginning(const struct heap_snapshot *snapshot,
						heap_object_id object);

/** True if an object is a slab. */
bool heap_snapshot_is_slab(const struct heap_snapshot *snapshot, heap_object_id object);

/** The innermost part that contains the byte at an offset of an object, or NULL. Needs SIZE. */
const struct heap_part *heap_snapshot_part_at(const struct heap_snapshot *snapshot,
					      heap_object_id object, uint64_t offset);

/** The bytes of all objects together. Needs SIZE. */
uint64_t heap_snapshot_bytes(const struct heap_snapshot *snapshot);

/** Bytes of a part, up to the end of its object at most. Needs SIZE. */
uint64_t heap_snapshot_part_size(const struct heap_snapshot *snapshot,
				 const struct heap_part *part);

/** The code at an address, if a word of the program points to it, or NULL. */
const struct heap_call *heap_snapshot_function(const struct heap_snapshot *snapshot,
					       uint64_t address);

/** The object that contains @p address, or HEAP_NO_OBJECT. Needs ADDRESS and SIZE. */
heap_object_id heap_snapshot_find(const struct heap_snapshot *snapshot, uint64_t address);

/** The last object that begins before @p address, or HEAP_NO_OBJECT. Needs ADDRESS. */
heap_object_id heap_snapshot_find_before(const struct heap_snapshot *snapshot, uint64_t address);

#endif
