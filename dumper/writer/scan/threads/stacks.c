// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/threads/stacks.h"

#include "dumper/writer/scan/modules/module_types.h"
#include "lib/base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MAX_FRAMES = 4096,     // of a thread, innermost ones; what lies above is still searched
	OUTERMOST_FRAMES = 64, // likewise, of a deeper stack
	MAX_SKIPPED = 1 << 22, // between these
	MAX_INLINED = 32,
	// A leaf function may use this much below the stack pointer (System V ABI, AMD64
	// supplement, 3.2.2).
	RED_ZONE = 128,
	PAGE = 4096,
	MAX_GUARD = 1 << 16, // below a stack, in which one that is full may have ended
};

#if defined(__aarch64__)
static const char *const register_names[HEAP_DWARF_REGISTERS] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30",
};
#else
static const char *const register_names[HEAP_DWARF_REGISTERS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", NULL,
	"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
};
#endif

struct walk {
	struct capture *capture;
	uint32_t thread;
	uint32_t *frame_capacity; // of the snapshot's table of frames
	struct heap_dwarf_registers registers;
	bool exact_pc; // not a return address: innermost, or interrupted by a signal
	bool guessed;
	uint32_t claimed_registers; // of the innermost frame, by variables
	uint64_t last_sp;           // of the frame before; 0: there was none
	bool was_exact;             // its pc
};

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	return image_read(context, address, buffer, size);
}

static bool is_code(void *context, uint64_t address)
{
	return image_is_code(context, address);
}

HEAP_MUST_CHECK
static struct heap_error *add_frame(const struct walk *walk, const struct heap_frame *frame)
{
	struct heap_snapshot *snapshot = &walk->capture->snapshot;

	HEAP_TRY(heap_reserve(snapshot->frames, *walk->frame_capacity,
			      (size_t)snapshot->frame_count + 1));
	snapshot->frames[snapshot->frame_count++] = *frame;
	return NULL;
}

// Adds the frame that the registers stand in, and those inlined into it before it.
HEAP_MUST_CHECK
static struct heap_error *add_frames(const struct walk *walk, struct module *module, uint64_t pc,
				     uint64_t cfa)
{
	struct capture *capture = walk->capture;
	struct code_place places[MAX_INLINED] = { { 0 } };
	size_t count = 1;

	if (module)
		count = module_describe(module, pc, walk->exact_pc ? pc : pc - 1, &capture->strings,
					places, MAX_INLINED);
	for (size_t i = 0; i < count; i++) {
		HEAP_TRY(add_frame(walk, &(struct heap_frame){
						 .pc = pc,
						 .cfa = cfa,
						 .module = modules_index(&capture->modules, module),
						 .function = places[i].function,
						 .offset = places[i].offset,
						 .file = places[i].file,
						 .line = places[i].line,
						 .flags = (i + 1 < count ? HEAP_FRAME_INLINED : 0) |
							  (walk->guessed ? HEAP_FRAME_GUESSED : 0),
					 }));
	}
	return NULL;
}

// Frames of one place in the code: of a function, and of those inlined there, which come first.
struct frames {
	uint32_t first, end;
};

// The frame of the function that a variable belongs to.
static uint32_t frame_of(const struct capture *capture, struct frames frames, const char *function)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (uint32_t i = frames.first; i < frames.end; i++) {
		if (strcmp(capture->strings.bytes + snapshot->frames[i].function, function) == 0)
			return i;
	}
	return frames.end - 1;
}

HEAP_MUST_CHECK
static struct heap_error *add_valued_local(struct walk *walk, struct heap_root *root,
					   uint64_t value)
{
	struct capture *capture = walk->capture;
	heap_root_id id;

	if (root->size == 0 || root->size > 8)
		root->size = 8;
	HEAP_TRY(roots_add(&capture->roots, root, &id));
	HEAP_TRY(roots_set_content(&capture->roots, id, &value, root->size));
	if (root->size != 8)
		return NULL;
	return roots_add_word(&capture->roots, id, 0, value, &capture->objects);
}

HEAP_MUST_CHECK
static struct heap_error *add_local(struct walk *walk, struct module *module,
				    const struct heap_dwarf_local *local, struct frames frames)
{
	struct capture *capture = walk->capture;
	heap_type_id type = module_type(module, local->type, &capture->snapshot.types);
	struct heap_root root = {
		.kind = HEAP_ROOT_LOCAL,
		.name = strings_add(&capture->strings, local->name),
		.type = type,
		.size = heap_types_size(&capture->snapshot.types, type),
		.module = modules_index(&capture->modules, module),
		.file = strings_add(&capture->strings, local->file),
		.line = local->line,
		.thread = walk->thread,
		.frame = frame_of(capture, frames, local->function),
	};

	switch ((enum heap_dwarf_location_kind)local->kind) {
	case HEAP_DWARF_LOCATION_MEMORY:
		if (root.size == 0)
			return NULL;
		root.address = local->address;
		return roots_add_variable(&capture->roots, &root, &capture->image,
					  &capture->objects, CAPTURE_VARIABLE_BYTES);
	case HEAP_DWARF_LOCATION_REGISTER:
		if (local->reg >= HEAP_DWARF_REGISTERS ||
		    !(walk->registers.known >> local->reg & 1))
			return NULL;
		walk->claimed_registers |= UINT32_C(1) << (local->reg & 31);
		return add_valued_local(walk, &root, walk->registers.value[local->reg]);
	case HEAP_DWARF_LOCATION_VALUE:
		return add_valued_local(walk, &root, local->value);
	case HEAP_DWARF_LOCATION_NOWHERE:
		break;
	}
	return NULL;
}

static void release_types(struct unplaced_frame *frame)
{
	heap_array_deinit(&frame->types);
}

HEAP_MUST_CHECK
static struct heap_error *add_locals(struct walk *walk, struct module *module, uint64_t pc,
				     uint64_t cfa, struct frames frames,
				     const struct heap_dwarf_registers *caller)
{
	CLEANUP(heap_dwarf_locals_deinit) struct heap_dwarf_locals locals = { 0 };
	CLEANUP(release_types)
	struct unplaced_frame unplaced = {
		.module = module,
		.low = walk->registers.value[HEAP_DWARF_REGISTER_SP],
		.high = cfa,
		.registers = &walk->registers,
	};
	struct heap_dwarf_locals_frame frame = {
		.with_nowhere = !capture_has_headers(walk->capture),
		.pc = (walk->exact_pc ? pc : pc - 1) - module->bias,
		.is_caller = !walk->exact_pc,
		.bias = module->bias,
		.cfa = cfa,
		.registers = &walk->registers,
		.caller = caller,
		.read = read_memory,
		.context = &walk->capture->image,
	};

	module_locals(module, &frame, &locals);
	for (size_t i = 0; i < locals.count; i++) {
		const struct heap_dwarf_local *local = &locals.locals[i];

		if (local->kind != HEAP_DWARF_LOCATION_NOWHERE)
			HEAP_TRY(add_local(walk, module, local, frames));
		else
			HEAP_TRY(heap_array_append(
				&unplaced.types,
				module_type(module, local->type, &walk->capture->snapshot.types)));
	}
	if (!frame.with_nowhere || unplaced.low == 0)
		return NULL;
	return unplaced_note(&walk->capture->unplaced, &unplaced, &walk->capture->snapshot.types,
			     &walk->capture->image, &walk->capture->objects);
}

// One frame up by call frame information, or the frame pointer where that does not lead on.
static bool step_by_rules(struct walk *walk, struct module *module, uint64_t pc, uint64_t *cfa)
{
	const struct image *image = &walk->capture->image;
	struct heap_dwarf_unwinder *unwinder = module ? module_unwinder(module) : NULL;
	bool is_signal = false;

	*cfa = 0;
	if (unwinder) {
		uint64_t lookup = (walk->exact_pc ? pc : pc - 1) - module->bias;
		enum heap_dwarf_unwind_result result =
			heap_dwarf_unwinder_step(unwinder, lookup, read_memory, (void *)image,
						 &walk->registers, cfa, &is_signal);

		if (result == HEAP_DWARF_UNWIND_LOST &&
		    !(walk->registers.known >> HEAP_DWARF_REGISTER_FRAME & 1) &&
		    heap_dwarf_unwinder_guess_frame_pointer(read_memory, is_code, (void *)image,
							    &walk->registers)) {
			walk->guessed = true;
			result = heap_dwarf_unwinder_step(unwinder, lookup, read_memory,
							  (void *)image, &walk->registers, cfa,
							  &is_signal);
		}
		walk->exact_pc = is_signal;
		return result == HEAP_DWARF_UNWIND_CALLER;
	}
	return false;
}

// One frame up. @param cfa  of this frame; 0: not known
static bool step(struct walk *walk, struct module *module, uint64_t pc, uint64_t *cfa)
{
	bool was_guessed = walk->guessed;
	uint64_t interrupted_sp;

	if (walk->exact_pc &&
	    heap_dwarf_unwinder_step_wild(read_memory, is_code, &walk->capture->image,
					  &walk->registers, cfa)) {
		walk->exact_pc = false;
		return true;
	}
	if (step_by_rules(walk, module, pc, cfa))
		return true;
	if (!heap_dwarf_unwinder_step_signal(read_memory, &walk->capture->image, &walk->registers,
					     &interrupted_sp))
		return false;
	*cfa = interrupted_sp;
	walk->exact_pc = true;
	walk->guessed = was_guessed;
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *add_registers(struct walk *walk, uint32_t frame)
{
	struct capture *capture = walk->capture;
	uint64_t interior;

	for (uint32_t i = 0; i < HEAP_DWARF_REGISTERS; i++) {
		if (!register_names[i] || !(walk->registers.known >> i & 1) ||
		    (walk->claimed_registers >> i & 1) ||
		    objects_resolve(&capture->objects, walk->registers.value[i], &interior) ==
			    HEAP_NO_OBJECT)
			continue;

		struct heap_root root = {
			.kind = HEAP_ROOT_REGISTER,
			.name = strings_add(&capture->strings, register_names[i]),
			.size = 8,
			.module = HEAP_NO_INDEX,
			.thread = walk->thread,
			.frame = frame,
		};

		HEAP_TRY(add_valued_local(walk, &root, walk->registers.value[i]));
	}
	return NULL;
}

// A frame that the walk has come to, and its caller's registers.
struct position {
	struct walk before;
	struct module *module;
	uint64_t pc, cfa;
	bool has_caller;
	struct heap_dwarf_registers caller;
};

// Steps over one frame. @return false if there is none
static bool advance(struct walk *walk, struct position *at)
{
	uint64_t pc = walk->registers.value[HEAP_DWARF_REGISTER_PC];
	uint64_t sp = walk->registers.value[HEAP_DWARF_REGISTER_SP];

	// Stacks grow down: the caller's frame lies above. A signal handler may have a stack of
	// its own, sigaltstack(2). A leaf function may have no frame: where the return address
	// is in a register, the stack pointer is then its caller's, too.
	if ((pc == 0 && !walk->exact_pc) ||
	    (walk->last_sp != 0 && !walk->exact_pc &&
	     (sp < walk->last_sp || (sp == walk->last_sp && !walk->was_exact))))
		return false;
	walk->last_sp = sp;
	walk->was_exact = walk->exact_pc;
	at->module = modules_find_code(&walk->capture->modules, walk->exact_pc ? pc : pc - 1);
	at->before = *walk;
	at->pc = pc;
	at->has_caller = step(walk, at->module, pc, &at->cfa);
	if (pc == 0 && !at->has_caller)
		return false;
	// A signal's trampoline: its address follows no call, but begins a function.
	if (at->has_caller && walk->exact_pc)
		at->before.exact_pc = true;
	at->before.guessed = walk->guessed;
	if (walk->guessed && !(at->before.registers.known >> HEAP_DWARF_REGISTER_FRAME & 1) &&
	    at->has_caller) {
		// Its variables are relative to the guessed frame pointer.
		at->before.registers.known |= UINT64_C(1) << HEAP_DWARF_REGISTER_FRAME;
		at->before.registers.value[HEAP_DWARF_REGISTER_FRAME] = at->cfa - 16;
	}
	at->caller = walk->registers;
	return true;
}

// Adds a frame with its variables.
HEAP_MUST_CHECK
static struct heap_error *add_position(struct position *at)
{
	const struct capture *capture = at->before.capture;
	uint32_t first = capture->snapshot.frame_count;

	HEAP_TRY(add_frames(&at->before, at->module, at->pc, at->cfa));
	// Variables of this project's library hold nothing for the program. Their words count
	// as any on a stack: a thread may be about to return a block.
	if (!at->module || !at->module->dwarf || capture_is_own(capture, at->module))
		return NULL;
	return add_locals(&at->before, at->module, at->pc, at->cfa,
			  (struct frames){ first, capture->snapshot.frame_count },
			  at->has_caller ? &at->caller : NULL);
}

// Adds the outermost frames of a deep stack: they tell who has begun to recurse. Those in between are left out.
HEAP_MUST_CHECK
static struct heap_error *walk_outermost(struct walk *walk, struct heap_thread *stack)
{
	CLEANUP_FREE struct position *last = malloc(OUTERMOST_FRAMES * sizeof(*last));
	uint32_t count = 0;

	if (!last)
		return heap_error_out_of_memory();
	stack->skipped_at = walk->capture->snapshot.frame_count - stack->first_frame;
	while (count < MAX_SKIPPED && advance(walk, &last[count % OUTERMOST_FRAMES])) {
		if (!last[count++ % OUTERMOST_FRAMES].has_caller)
			break;
	}
	stack->skipped = count;
	if (count == MAX_SKIPPED)
		return NULL;
	stack->skipped = count > OUTERMOST_FRAMES ? count - OUTERMOST_FRAMES : 0;
	for (uint32_t i = stack->skipped; i < count; i++)
		HEAP_TRY(add_position(&last[i % OUTERMOST_FRAMES]));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_thread(struct walk *walk, struct heap_thread *stack)
{
	struct position at;

	for (int depth = 0; depth < MAX_FRAMES; depth++) {
		if (!advance(walk, &at))
			return NULL;
		HEAP_TRY(add_position(&at));
		if (depth == 0)
			HEAP_TRY(
				add_registers(&at.before, walk->capture->snapshot.frame_count - 1));
		if (!at.has_caller)
			return NULL;
	}
	return walk_outermost(walk, stack);
}

static void read_thread_name(const struct capture *capture, uint32_t tid, char name[32])
{
	char path[64];

	name[0] = '\0';
	if (capture->image.core) {
		if (tid == capture->process.pid)
			snprintf(name, 32, "%s", capture->core.program);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", capture->process.pid, tid);

	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = descriptor < 0 ? 0 : read(descriptor, name, 31);

	name[length < 0 ? 0 : length] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

// The mapping that the stack pointer points into. If the stack is full, that is below the stack: in a page
// that guards it, or in nothing. @return NULL if there is none
static const struct image_mapping *find_stack(const struct image *image, uint64_t sp)
{
	for (uint64_t at = sp; at - sp <= MAX_GUARD; at += PAGE) {
		const struct image_mapping *mapping = image_find(image, at);

		if (mapping && (mapping->protection & PROT_WRITE))
			return mapping;
	}
	return image_find(image, sp);
}

// Where the stack lies that sp points into: in its mapping, or in the block that a coroutine's stack is.
static void set_extent(const struct capture *capture, struct heap_thread *stack, uint64_t sp)
{
	heap_object_id object = objects_find(&capture->objects, sp);
	const struct image_mapping *mapping = find_stack(&capture->image, sp);

	stack->stack_start = mapping && mapping->start > sp ? mapping->start : sp;
	stack->stack_end = mapping ? mapping->end : sp;
	if (object != HEAP_NO_OBJECT)
		stack->stack_end = objects_address(&capture->objects, object) +
				   objects_size(&capture->objects, object);
}

static enum heap_thread_state thread_state(const struct heapsnap_thread *thread)
{
	switch (thread->state) {
	case HEAPSNAP_THREAD_STOPPED:
		return HEAP_THREAD_EXACT;
	case HEAPSNAP_THREAD_SLEEPING:
		return HEAP_THREAD_SLEEPING;
	default:
		return HEAP_THREAD_MISSING;
	}
}

HEAP_MUST_CHECK
static struct heap_error *unwind_thread(struct capture *capture, uint32_t index,
					uint32_t *frame_capacity)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;
	const struct heapsnap_thread *thread = &capture->threads[index];
	struct heap_thread *stack = &snapshot->threads[index];
	struct walk walk = {
		.capture = capture,
		.thread = index,
		.frame_capacity = frame_capacity,
		.exact_pc = true,
	};
	char name[32];

	read_thread_name(capture, thread->tid, name);
	*stack = (struct heap_thread){
		.tid = thread->tid,
		.name = strings_add(&capture->strings, name),
		.state = (uint8_t)thread_state(thread),
		.first_frame = snapshot->frame_count,
	};
	set_extent(capture, stack, thread->registers[HEAP_DWARF_REGISTER_SP]);
	if (stack->state == HEAP_THREAD_MISSING && stack->stack_start == 0)
		return NULL;
	memcpy(walk.registers.value, thread->registers, sizeof(walk.registers.value));
	walk.registers.known = thread->known;
	HEAP_TRY(walk_thread(&walk, stack));
	stack->frames = snapshot->frame_count - stack->first_frame;
	return NULL;
}

struct heap_error *stacks_unwind(struct capture *capture)
{
	struct heap_snapshot *snapshot = &capture->snapshot;
	uint32_t frame_capacity = 0;

	_Static_assert((int)HEAP_DWARF_REGISTERS == (int)HEAPSNAP_REGISTERS,
		       "one set of registers");
	snapshot->threads =
		calloc((size_t)capture->process.thread_count + 1, sizeof(*snapshot->threads));
	if (!snapshot->threads)
		return heap_error_out_of_memory();
	snapshot->thread_count = capture->process.thread_count;
	for (uint32_t i = 0; i < snapshot->thread_count; i++)
		HEAP_TRY(unwind_thread(capture, i, &frame_capacity));
	return NULL;
}

// --- variables of frames that are known ----------------------------------------

HEAP_MUST_CHECK
static struct heap_error *gather_frame(struct capture *capture, uint32_t thread, uint32_t number,
				       bool exact_pc)
{
	const struct heap_frame *frame = &capture->snapshot.frames[number];
	struct walk walk = { .capture = capture, .thread = thread, .exact_pc = exact_pc };
	struct module *module =
		modules_find(&capture->modules, exact_pc ? frame->pc : frame->pc - 1);

	if (!module || !module->dwarf || (frame->flags & HEAP_FRAME_INLINED) || frame->cfa == 0)
		return NULL;
	return add_locals(&walk, module, frame->pc, frame->cfa,
			  (struct frames){ number, number + 1 }, NULL);
}

struct heap_error *stacks_gather_locals(struct capture *capture)
{
	const struct heap_snapshot *snapshot = &capture->snapshot;

	for (uint32_t i = 0; i < snapshot->thread_count; i++) {
		const struct heap_thread *thread = &snapshot->threads[i];

		for (uint32_t j = 0; j < thread->frames; j++)
			HEAP_TRY(gather_frame(capture, i, thread->first_frame + j, j == 0));
	}
	return NULL;
}

// --- words -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *gather_range(struct capture *capture, uint32_t thread, uint32_t frame,
				       uint64_t low, uint64_t high)
{
	low = (low + 7) & ~UINT64_C(7);
	high &= ~UINT64_C(7);
	if (low >= high)
		return NULL;

	struct heap_root root = {
		.kind = HEAP_ROOT_STACK,
		.address = low,
		.size = high - low,
		.module = HEAP_NO_INDEX,
		.thread = thread,
		.frame = frame,
	};

	if (frame != HEAP_NO_INDEX) {
		root.name = capture->snapshot.frames[frame].function;
		root.module = capture->snapshot.frames[frame].module;
	}
	return roots_gather(&capture->roots, &root, &capture->image, &capture->objects,
			    ROOTS_ALL_WORDS);
}

HEAP_MUST_CHECK
static struct heap_error *gather_thread(struct capture *capture, uint32_t index)
{
	const struct heap_thread *stack = &capture->snapshot.threads[index];
	uint64_t low = stack->stack_start;

	if (low == 0)
		return NULL;
	low = low > RED_ZONE ? low - RED_ZONE : 0;
	for (uint32_t i = 0; i < stack->frames; i++) {
		const struct heap_frame *frame = &capture->snapshot.frames[stack->first_frame + i];

		if ((frame->flags & HEAP_FRAME_INLINED) || frame->cfa <= low ||
		    frame->cfa > stack->stack_end)
			continue;
		// Words of frames that are left out count for none.
		HEAP_TRY(gather_range(capture, index,
				      stack->skipped > 0 && i == stack->skipped_at
					      ? HEAP_NO_INDEX
					      : stack->first_frame + i,
				      low, frame->cfa));
		low = frame->cfa;
	}
	return gather_range(capture, index, HEAP_NO_INDEX, low, stack->stack_end);
}

struct heap_error *stacks_gather_words(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->process.thread_count; i++)
		HEAP_TRY(gather_thread(capture, i));
	return NULL;
}
