// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_call_frames.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_sections.h"
#include "lib/dwarf/dwarf_constants.h"
#include "lib/dwarf/elf_section.h"

#include <string.h>

enum {
	REMEMBERED_MAX = 16, // rows on the stack of DW_CFA_remember_state

	// Linux Standard Base Core 5.0, 10.5.1: the lower half says how a pointer is written, the
	// upper what it is relative to.
	POINTER_WIDTH = 0x0f,
	POINTER_BASE = 0x70,
	POINTER_RELATIVE = 0x10, // to its own place
	POINTER_INDIRECT = 0x80,
	POINTER_OMITTED = 0xff,

	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
};

// Code, and the entry that describes it.
struct range {
	uint64_t low, high;
	uint64_t offset; // of its FDE
};

struct heap_dwarf_call_frames {
	struct heap_dwarf_bytes section;
	uint64_t address;
	bool is_debug;
	struct range *ranges; // [count] by address
	size_t count, capacity;
	Elf *elf; // owns the section; NULL if the caller does
};

// A CIE: the part that the FDEs of similar functions share.
struct common {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t return_register;
	uint8_t pointer_encoding;
	unsigned address_size;
	bool has_augmentation_data; // in the entries that refer to it
	bool is_signal;
	struct heap_dwarf_cursor instructions;
};

// --- entries -----------------------------------------------------------------

// An entry of the table, of either kind.
struct entry {
	struct heap_dwarf_cursor cursor; // at what follows the id, up to the entry's end
	uint64_t id;                     // of an FDE: where its CIE is
	uint64_t next;
	bool is_common;
};

// @return false at the end of the table; an empty entry is a terminator, and more may follow it
static bool read_entry(const struct heap_dwarf_call_frames *frames, uint64_t offset,
		       struct entry *entry)
{
	struct heap_dwarf_cursor cursor =
		heap_dwarf_cursor(frames->section, offset, frames->section.size);
	unsigned width = 4;
	uint64_t length = heap_dwarf_fixed(&cursor, 4);

	if (length == 0xffffffff) {
		width = 8;
		length = heap_dwarf_fixed(&cursor, 8);
	}
	if (cursor.bad || length > (uint64_t)(cursor.end - cursor.at))
		return false;
	cursor.end = cursor.at + length;
	entry->next = (uint64_t)(cursor.end - frames->section.bytes);

	// .eh_frame's ids are of 4 bytes, and tell how far back the CIE is.
	uint64_t place = (uint64_t)(cursor.at - frames->section.bytes);

	entry->id = heap_dwarf_fixed(&cursor, frames->is_debug ? width : 4);
	entry->is_common = entry->id == 0;
	if (frames->is_debug)
		entry->is_common = entry->id == (width == 4 ? 0xffffffff : UINT64_MAX);
	else
		entry->id = place - entry->id;
	entry->cursor = cursor;
	if (length == 0)
		entry->cursor.bad = true;
	return true;
}

// A pointer, as the encoding says. What it would be relative to may not be known here.
static uint64_t read_pointer(const struct heap_dwarf_call_frames *frames,
			     struct heap_dwarf_cursor *cursor, uint8_t encoding,
			     unsigned address_size)
{
	uint64_t place = frames->address + (uint64_t)(cursor->at - frames->section.bytes);
	uint64_t value = 0;

	switch (encoding & POINTER_WIDTH) {
	case 0x0:
		value = heap_dwarf_fixed(cursor, address_size);
		break;
	case 0x1:
		value = heap_dwarf_unsigned(cursor);
		break;
	case 0x2:
		value = heap_dwarf_fixed(cursor, 2);
		break;
	case 0x3:
		value = heap_dwarf_fixed(cursor, 4);
		break;
	case 0x4:
	case 0xc:
		value = heap_dwarf_fixed(cursor, 8);
		break;
	case 0x9:
		value = (uint64_t)heap_dwarf_signed(cursor);
		break;
	case 0xa:
		value = (uint64_t)(int16_t)heap_dwarf_fixed(cursor, 2);
		break;
	case 0xb:
		value = (uint64_t)(int32_t)heap_dwarf_fixed(cursor, 4);
		break;
	default:
		cursor->bad = true;
	}
	if ((encoding & POINTER_BASE) == POINTER_RELATIVE)
		value += place;
	else if (encoding & POINTER_BASE)
		cursor->bad = true;
	return value;
}

// The letters after "z": each says what stands in the augmentation data.
static void read_augmentation(const struct heap_dwarf_call_frames *frames,
			      struct heap_dwarf_cursor *cursor, const char *letters,
			      struct common *common)
{
	for (; *letters && !cursor->bad; letters++) {
		switch (*letters) {
		case 'R':
			common->pointer_encoding = heap_dwarf_fixed(cursor, 1);
			break;
		case 'L': // of pointers that only exceptions need
			heap_dwarf_skip(cursor, 1);
			break;
		case 'P': {
			uint8_t encoding = heap_dwarf_fixed(cursor, 1);

			if (encoding != POINTER_OMITTED)
				read_pointer(frames, cursor, encoding & POINTER_WIDTH,
					     common->address_size);
			break;
		}
		case 'S':
			common->is_signal = true;
			break;
		case 'B': // aarch64: return addresses are signed with the other key
		case 'G': // aarch64: frames with memory tags
			break;
		default:
			return;
		}
	}
}

static bool read_common(const struct heap_dwarf_call_frames *frames, uint64_t offset,
			struct common *common)
{
	struct entry entry;

	if (!read_entry(frames, offset, &entry) || entry.cursor.bad || !entry.is_common)
		return false;

	struct heap_dwarf_cursor *cursor = &entry.cursor;
	unsigned version = heap_dwarf_fixed(cursor, 1);
	const char *letters = heap_dwarf_string(cursor);

	*common = (struct common){ .address_size = 8 };
	if (version == 0 || version > 5)
		return false;
	if (strncmp(letters, "eh", 2) == 0) { // gcc 2
		heap_dwarf_skip(cursor, 8);
		letters += 2;
	}
	if (frames->is_debug && version >= 4) {
		common->address_size = heap_dwarf_fixed(cursor, 1);
		if (heap_dwarf_fixed(cursor, 1) != 0) // of a segment's selector
			return false;
	}
	common->code_alignment = heap_dwarf_unsigned(cursor);
	common->data_alignment = heap_dwarf_signed(cursor);
	common->return_register =
		version == 1 ? heap_dwarf_fixed(cursor, 1) : heap_dwarf_unsigned(cursor);
	if (*letters == 'z') {
		uint64_t size = heap_dwarf_unsigned(cursor);
		const uint8_t *data = heap_dwarf_skip(cursor, size);
		struct heap_dwarf_cursor augmentation = { data, data + (data ? size : 0), !data };

		common->has_augmentation_data = true;
		read_augmentation(frames, &augmentation, letters + 1, common);
		if (augmentation.bad)
			return false;
	} else if (*letters) {
		return false; // its data has no length: what follows cannot be found
	}
	common->instructions = *cursor;
	return !cursor->bad && common->address_size <= 8 &&
	       common->return_register < HEAP_DWARF_REGISTERS;
}

// Reads the range of code of an FDE, and leaves the cursor behind it.
static bool read_range(const struct heap_dwarf_call_frames *frames, const struct common *common,
		       struct heap_dwarf_cursor *cursor, struct range *range)
{
	uint8_t encoding = common->pointer_encoding;

	if (encoding & POINTER_INDIRECT)
		return false;
	range->low = read_pointer(frames, cursor, encoding, common->address_size);

	uint64_t size =
		read_pointer(frames, cursor, encoding & POINTER_WIDTH, common->address_size);

	range->high = range->low + size;
	return !cursor->bad && range->high > range->low;
}

// --- the table ---------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_range(struct heap_dwarf_call_frames *frames,
				    const struct range *range)
{
	HEAP_TRY(heap_reserve(frames->ranges, frames->capacity, frames->count + 1));
	frames->ranges[frames->count++] = *range;
	return NULL;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

HEAP_MUST_CHECK
static struct heap_error *index_entries(struct heap_dwarf_call_frames *frames)
{
	struct common common = { 0 };
	uint64_t common_offset = UINT64_MAX; // of the one that was read last
	bool common_is_good = false, sorted = true;
	struct entry entry;

	for (uint64_t offset = 0; offset < frames->section.size; offset = entry.next) {
		struct range range = { .offset = offset };

		if (!read_entry(frames, offset, &entry))
			break;
		if (entry.cursor.bad || entry.is_common)
			continue;
		if (entry.id != common_offset) {
			common_is_good = read_common(frames, entry.id, &common);
			common_offset = entry.id;
		}
		// Code that the linker has left out is at 0, or at 1 in lld's files.
		if (!common_is_good || !read_range(frames, &common, &entry.cursor, &range) ||
		    range.low <= 1)
			continue;
		sorted &= frames->count == 0 || frames->ranges[frames->count - 1].low <= range.low;
		HEAP_TRY(add_range(frames, &range));
	}
	if (!sorted)
		qsort(frames->ranges, frames->count, sizeof(*frames->ranges), compare_ranges);
	return NULL;
}

struct heap_error *heap_dwarf_call_frames_parse(const uint8_t *bytes, size_t size, uint64_t address,
						bool is_debug,
						struct heap_dwarf_call_frames **result)
{
	struct heap_dwarf_call_frames *frames = calloc(1, sizeof(*frames));
	struct heap_error *error = frames ? NULL : heap_error_out_of_memory();

	if (error)
		return error;
	*frames = (struct heap_dwarf_call_frames){
		.section = { bytes, size },
		.address = address,
		.is_debug = is_debug,
	};
	error = index_entries(frames);
	if (error)
		heap_dwarf_call_frames_close(frames);
	else
		*result = frames;
	return error;
}

void heap_dwarf_call_frames_close(struct heap_dwarf_call_frames *frames)
{
	if (!frames)
		return;
	elf_end(frames->elf);
	free(frames->ranges);
	free(frames);
}

// --- files -------------------------------------------------------------------

// The section's bytes, decompressed; NULL if it is not there.
static Elf_Data *find_section(Elf *elf, const char *wanted, uint64_t *address)
{
	GElf_Shdr header;
	Elf_Scn *section = heap_elf_find_section(elf, wanted, &header);

	if (!section || (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0))
		return NULL;
	*address = header.sh_addr;
	return elf_getdata(section, NULL);
}

struct heap_error *heap_dwarf_call_frames_open(const char *path, bool is_debug,
					       struct heap_dwarf_call_frames **result)
{
	CLEANUP_CLOSE int descriptor = -1;
	const char *section = is_debug ? ".debug_frame" : ".eh_frame";
	uint64_t address = 0;

	HEAP_TRY(heap_regular_file_open(path, &descriptor));
	elf_version(EV_CURRENT);

	Elf *elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);

	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: not an ELF file", path);
	}
	// As of the module's file: it stays mapped, and needs no descriptor.
	if (elf_cntl(elf, ELF_C_FDREAD) != 0) {
		elf_end(elf);
		return heap_error_create(HEAP_ERROR_FORMAT, "%s: cannot be read", path);
	}

	const Elf_Data *data = find_section(elf, section, &address);
	struct heap_error *error =
		data && data->d_buf
			? heap_dwarf_call_frames_parse(data->d_buf, data->d_size, address, is_debug,
						       result)
			: heap_error_create(HEAP_ERROR_ABSENT, "%s: no %s", path, section);

	if (error) {
		elf_end(elf);
		return error;
	}
	(*result)->elf = elf;
	return NULL;
}

struct heap_dwarf_bytes heap_dwarf_call_frames_section(const struct heap_dwarf_call_frames *frames)
{
	return frames->section;
}

// --- rows --------------------------------------------------------------------

// A table's program, run up to the pc.
struct program {
	const struct heap_dwarf_call_frames *frames;
	const struct common *common;
	uint64_t pc, location;
	struct heap_dwarf_frame_row *row;
	struct heap_dwarf_frame_row initial; // after the instructions of the CIE
	struct heap_dwarf_frame_row remembered[REMEMBERED_MAX];
	unsigned remembered_count;
};

// Registers that are not followed (of vectors, of floating point) have no rule.
static void set_rule(struct program *program, uint64_t reg, struct heap_dwarf_frame_rule rule)
{
	if (reg < HEAP_DWARF_REGISTERS)
		program->row->rules[reg] = rule;
}

static void set_offset(struct program *program, uint64_t reg, enum heap_dwarf_frame_rule_kind kind,
		       int64_t factored)
{
	uint64_t offset = (uint64_t)factored * (uint64_t)program->common->data_alignment;

	set_rule(program, reg,
		 (struct heap_dwarf_frame_rule){ .kind = kind, .offset = (int64_t)offset });
}

static struct heap_dwarf_frame_rule read_expression(struct heap_dwarf_cursor *cursor,
						    enum heap_dwarf_frame_rule_kind kind)
{
	uint64_t size = heap_dwarf_unsigned(cursor);

	return (struct heap_dwarf_frame_rule){ .kind = kind,
					       .bytes = heap_dwarf_skip(cursor, size),
					       .size = size };
}

static void restore_rule(struct program *program, uint64_t reg)
{
	if (reg < HEAP_DWARF_REGISTERS)
		program->row->rules[reg] = program->initial.rules[reg];
}

static void advance(struct program *program, uint64_t delta)
{
	program->location += delta * program->common->code_alignment;
}

// Those that define the CFA.
static bool run_cfa(struct program *program, struct heap_dwarf_cursor *cursor, uint8_t opcode)
{
	struct heap_dwarf_frame_rule *cfa = &program->row->cfa;
	uint64_t reg = cfa->reg;

	switch (opcode) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
		reg = heap_dwarf_unsigned(cursor);
		break;
	}
	switch (opcode) {
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_offset:
		*cfa = (struct heap_dwarf_frame_rule){ .kind = HEAP_DWARF_FRAME_OFFSET,
						       .reg = reg,
						       .offset = (int64_t)heap_dwarf_unsigned(
							       cursor) };
		return true;
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_offset_sf:
		*cfa = (struct heap_dwarf_frame_rule){
			.kind = HEAP_DWARF_FRAME_OFFSET,
			.reg = reg,
			.offset = (int64_t)((uint64_t)heap_dwarf_signed(cursor) *
					    (uint64_t)program->common->data_alignment),
		};
		return true;
	case DW_CFA_def_cfa_register:
		cfa->kind = HEAP_DWARF_FRAME_OFFSET;
		cfa->reg = reg;
		return true;
	case DW_CFA_def_cfa_expression:
		*cfa = read_expression(cursor, HEAP_DWARF_FRAME_EXPRESSION);
		return true;
	default:
		return false;
	}
}

// Those that set a register's rule.
static bool run_rule(struct program *program, struct heap_dwarf_cursor *cursor, uint8_t opcode)
{
	uint64_t reg = heap_dwarf_unsigned(cursor);

	switch (opcode) {
	case DW_CFA_offset_extended:
		set_offset(program, reg, HEAP_DWARF_FRAME_SAVED,
			   (int64_t)heap_dwarf_unsigned(cursor));
		return true;
	case DW_CFA_offset_extended_sf:
		set_offset(program, reg, HEAP_DWARF_FRAME_SAVED, heap_dwarf_signed(cursor));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_offset(program, reg, HEAP_DWARF_FRAME_SAVED,
			   (int64_t)(0 - heap_dwarf_unsigned(cursor)));
		return true;
	case DW_CFA_val_offset:
		set_offset(program, reg, HEAP_DWARF_FRAME_OFFSET,
			   (int64_t)heap_dwarf_unsigned(cursor));
		return true;
	case DW_CFA_val_offset_sf:
		set_offset(program, reg, HEAP_DWARF_FRAME_OFFSET, heap_dwarf_signed(cursor));
		return true;
	case DW_CFA_restore_extended:
		restore_rule(program, reg);
		return true;
	case DW_CFA_undefined:
		set_rule(program, reg,
			 (struct heap_dwarf_frame_rule){ .kind = HEAP_DWARF_FRAME_UNDEFINED });
		return true;
	case DW_CFA_same_value:
		set_rule(program, reg,
			 (struct heap_dwarf_frame_rule){ .kind = HEAP_DWARF_FRAME_SAME });
		return true;
	case DW_CFA_register:
		set_rule(program, reg,
			 (struct heap_dwarf_frame_rule){ .kind = HEAP_DWARF_FRAME_REGISTER,
							 .reg = heap_dwarf_unsigned(cursor) });
		return true;
	case DW_CFA_expression:
		set_rule(program, reg, read_expression(cursor, HEAP_DWARF_FRAME_SAVED_EXPRESSION));
		return true;
	case DW_CFA_val_expression:
		set_rule(program, reg, read_expression(cursor, HEAP_DWARF_FRAME_EXPRESSION));
		return true;
	case DW_CFA_GNU_args_size:
		return true;
	default:
		return false;
	}
}

// The stack of rows.
static bool run_state(struct program *program, uint8_t opcode)
{
	if (opcode == DW_CFA_remember_state) {
		if (program->remembered_count == REMEMBERED_MAX)
			return false;
		program->remembered[program->remembered_count++] = *program->row;
		return true;
	}
	if (program->remembered_count == 0)
		return false;
	*program->row = program->remembered[--program->remembered_count];
	return true;
}

// @return false if the opcode is unknown
static bool run_one(struct program *program, struct heap_dwarf_cursor *cursor, uint8_t opcode)
{
	switch (opcode & 0xc0) {
	case DW_CFA_advance_loc:
		advance(program, opcode & 0x3f);
		return true;
	case DW_CFA_offset:
		set_offset(program, opcode & 0x3f, HEAP_DWARF_FRAME_SAVED,
			   (int64_t)heap_dwarf_unsigned(cursor));
		return true;
	case DW_CFA_restore:
		restore_rule(program, opcode & 0x3f);
		return true;
	}
	switch (opcode) {
	case DW_CFA_nop:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
	case CFA_AARCH64_NEGATE_RA_STATE: // where return addresses are signed
		return true;
	case DW_CFA_set_loc:
		program->location =
			read_pointer(program->frames, cursor, program->common->pointer_encoding,
				     program->common->address_size);
		return true;
	case DW_CFA_advance_loc1:
		advance(program, heap_dwarf_fixed(cursor, 1));
		return true;
	case DW_CFA_advance_loc2:
		advance(program, heap_dwarf_fixed(cursor, 2));
		return true;
	case DW_CFA_advance_loc4:
		advance(program, heap_dwarf_fixed(cursor, 4));
		return true;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		return run_state(program, opcode);
	default:
		return run_cfa(program, cursor, opcode) || run_rule(program, cursor, opcode);
	}
}

// @return false if an instruction up to the pc is damaged
static bool run(struct program *program, struct heap_dwarf_cursor cursor)
{
	while (cursor.at < cursor.end) {
		bool is_known = run_one(program, &cursor, *cursor.at++);

		if (!is_known || cursor.bad)
			return false;
		if (program->location > program->pc)
			return true;
	}
	return true;
}

static const struct range *find_range(const struct heap_dwarf_call_frames *frames, uint64_t pc)
{
	size_t at = heap_partition_point(i, 0, frames->count, frames->ranges[i].low <= pc);

	return at > 0 && pc < frames->ranges[at - 1].high ? &frames->ranges[at - 1] : NULL;
}

bool heap_dwarf_call_frames_find(const struct heap_dwarf_call_frames *frames, uint64_t pc,
				 struct heap_dwarf_frame_row *row)
{
	const struct range *range = find_range(frames, pc);
	struct common common;
	struct entry entry;
	struct range again;

	if (!range || !read_entry(frames, range->offset, &entry) ||
	    !read_common(frames, entry.id, &common) ||
	    !read_range(frames, &common, &entry.cursor, &again))
		return false;
	if (common.has_augmentation_data)
		heap_dwarf_skip(&entry.cursor, heap_dwarf_unsigned(&entry.cursor));

	struct program program = {
		.frames = frames, .common = &common, .pc = UINT64_MAX, .row = row
	};

	*row = (struct heap_dwarf_frame_row){ .is_signal = common.is_signal,
					      .return_register = (uint8_t)common.return_register };
	if (entry.cursor.bad || !run(&program, common.instructions))
		return false;
	program.initial = *row;
	program.pc = pc;
	program.location = range->low;
	return run(&program, entry.cursor);
}
