// SPDX-License-Identifier: LGPL-2.1-or-later
#include "dumper/stacks/frame_rules.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

enum {
	MAX_MODULES = 1024,
	MAX_REMEMBERED = 8, // states of DW_CFA_remember_state
	MAX_INSTRUCTIONS = 1024,
	MAX_GROUPS = 10,  // of a number of 64 bits
	MAX_LETTERS = 16, // of an augmentation; compilers write up to 5
};

// --- modules -------------------------------------------------------------------

#ifdef DLFO_STRUCT_HAS_EH_DBASE
typedef struct dl_find_object found_object;
#else
// As glibc 2.35 has it; the library may run with a newer libc than it was built with.
typedef struct {
	unsigned long long flags;
	void *dlfo_map_start;
	void *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame;
	unsigned long long reserved[7];
} found_object;
#endif

// Lock-free and async-signal-safe by its documentation. NULL: an older libc.
static int (*find_object)(void *address, found_object *result);

static uint64_t signal_return; // where handlers return to, if the tables do not say; 0: they do

static struct heapsnap_code noted[MAX_MODULES];
static uint32_t noted_count;

// The program's own, with all its segments: of a program with gaps between them, as on machines with
// large pages, libc tells only the segment that an address is in.
static struct heapsnap_code program;

static struct heapsnap_code describe_module(const struct dl_phdr_info *info)
{
	struct heapsnap_code code = { .start = UINT64_MAX, .path = info->dlpi_name };

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_GNU_EH_FRAME)
			code.table = start;
		if (header->p_type != PT_LOAD)
			continue;
		code.start = start < code.start ? start : code.start;
		code.end = start + header->p_memsz > code.end ? start + header->p_memsz : code.end;
	}
	return code;
}

static int note_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct heapsnap_code code = describe_module(info);

	(void)size;
	(void)context;
	if (noted_count < MAX_MODULES && code.start < code.end)
		noted[noted_count++] = code;
	return 0;
}

// The first module is the program.
static int note_program(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	program = describe_module(info);
	return 1;
}

/*
 * Handlers return to code in the vdso that has no tables on machines without SA_RESTORER. Its first
 * instruction is at their return address; a nop comes before it.
 */
static uint64_t find_signal_return(void)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
	const ElfW(Phdr) * segment;

	for (int i = 0; image && i < header->e_phnum; i++) {
		segment = (const ElfW(Phdr) *)(image + header->e_phoff) + i;
		for (uint64_t at = 0; segment->p_type == PT_LOAD && at + 8 <= segment->p_filesz;
		     at += 4) {
			if (heapsnap_is_signal_return(image + segment->p_offset + at))
				return (uint64_t)image + segment->p_offset + at;
		}
	}
	return 0;
}

void heapsnap_code_init(void)
{
	signal_return = find_signal_return();
	*(void **)&find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
	dl_iterate_phdr(find_object ? note_program : note_module, NULL);
}

bool heapsnap_code_find(uint64_t address, struct heapsnap_code *result)
{
	found_object found;

	if (!find_object) {
		for (uint32_t i = 0; i < noted_count; i++) {
			if (address >= noted[i].start && address < noted[i].end) {
				*result = noted[i];
				return true;
			}
		}
		return false;
	}
	if (find_object((void *)address, &found) != 0)
		return false;
	*result = (struct heapsnap_code){
		.start = (uint64_t)found.dlfo_map_start,
		.end = (uint64_t)found.dlfo_map_end,
		.table = (uint64_t)found.dlfo_eh_frame,
		.path = found.dlfo_link_map ? found.dlfo_link_map->l_name : NULL,
	};
	if (address >= program.start && address < program.end) {
		result->start = program.start;
		result->end = program.end;
	}
	return true;
}

// --- reading ---------------------------------------------------------------------

// A place in a module's tables. Reading beyond the end gives zeros, and is remembered.
struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static uint64_t read_bytes(struct reader *reader, size_t size)
{
	uint64_t value = 0;

	if (size > (size_t)(reader->end - reader->at)) {
		reader->failed = true;
		reader->at = reader->end;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return value;
}

static inline uint8_t read_byte(struct reader *reader)
{
	if (reader->at < reader->end)
		return *reader->at++;
	reader->failed = true;
	return 0;
}

// LEB128 of either kind. @param sign  whether its last group's highest bit is one
static uint64_t read_groups(struct reader *reader, unsigned *bits, bool *sign)
{
	uint64_t value = 0;
	uint8_t byte;

	*bits = 0;
	do {
		byte = read_byte(reader);
		if (*bits < 64)
			value |= (uint64_t)(byte & 0x7f) << *bits;
		*bits += 7;
	} while (byte & 0x80 && *bits < 7 * MAX_GROUPS);
	reader->failed = reader->failed || byte & 0x80;
	*sign = byte & 0x40;
	return value;
}

static inline uint64_t read_unsigned(struct reader *reader)
{
	unsigned bits;
	bool sign;

	// Most numbers have one group.
	if (reader->at < reader->end && *reader->at < 0x80)
		return *reader->at++;
	return read_groups(reader, &bits, &sign);
}

static int64_t read_signed(struct reader *reader)
{
	unsigned bits;
	bool sign;
	uint64_t value = read_groups(reader, &bits, &sign);

	return (int64_t)(sign && bits < 64 ? value | ~UINT64_C(0) << bits : value);
}

// DW_EH_PE_…: how a pointer is written.
enum pointer_encoding {
	POINTER_ABSOLUTE = 0x00,
	POINTER_UDATA2 = 0x02,
	POINTER_UDATA4 = 0x03,
	POINTER_UDATA8 = 0x04,
	POINTER_SDATA2 = 0x0a,
	POINTER_SDATA4 = 0x0b,
	POINTER_SDATA8 = 0x0c,
	POINTER_FORMAT = 0x0f,
	POINTER_FROM_HERE = 0x10,
	POINTER_FROM_TABLE = 0x30,
	POINTER_BASE = 0x70,
	POINTER_OMITTED = 0xff,
};

// @param table  what POINTER_FROM_TABLE is relative to
static uint64_t read_pointer(struct reader *reader, uint8_t encoding, uint64_t table)
{
	uint64_t here = (uint64_t)reader->at;
	uint64_t value;

	if (encoding == POINTER_OMITTED)
		return 0;
	switch (encoding & POINTER_FORMAT) {
	case POINTER_ABSOLUTE:
	case POINTER_UDATA8:
	case POINTER_SDATA8:
		value = read_bytes(reader, 8);
		break;
	case POINTER_UDATA4:
		value = read_bytes(reader, 4);
		break;
	case POINTER_SDATA4:
		value = (uint64_t)(int32_t)read_bytes(reader, 4);
		break;
	case POINTER_UDATA2:
		value = read_bytes(reader, 2);
		break;
	case POINTER_SDATA2:
		value = (uint64_t)(int16_t)read_bytes(reader, 2);
		break;
	default:
		reader->failed = true;
		return 0;
	}
	switch (encoding & POINTER_BASE) {
	case 0:
		return value;
	case POINTER_FROM_HERE:
		return value + here;
	case POINTER_FROM_TABLE:
		return value + table;
	default:
		reader->failed = true;
		return 0;
	}
}

// A reader of the module's memory from an address on.
static struct reader reader_at(const struct heapsnap_code *code, uint64_t address)
{
	bool inside = address >= code->start && address < code->end;

	return (struct reader){
		.at = (const uint8_t *)(inside ? address : code->end),
		.end = (const uint8_t *)code->end,
		.failed = !inside,
	};
}

// --- functions -------------------------------------------------------------------

// The state of the table's program after the instructions so far.
struct state {
	struct heapsnap_rule rule;
	uint8_t base;          // register that a CFA is relative to; rule.kind follows from it
	bool is_outermost;     // the return address is undefined
	uint8_t back;          // enum heapsnap_rule_return
	int64_t return_offset; // bytes, from the CFA
};

// A common information entry, as it is read. Nearly all functions of a module share one.
struct common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column;
	struct state initial; // after its instructions, which come before each function's
	bool is_understood;   // these instructions
	bool is_signal;       // the code that a signal's handler returns to
	bool is_sized;        // descriptions have the length of their augmentation
	uint8_t encoding;     // of the code's addresses; POINTER_OMITTED if it is not understood
};

// A frame description entry.
struct description {
	uint64_t start, end;    // of its code
	struct reader specific; // the function's instructions
	struct common common;
};

// An entry's length; its end becomes the reader's. Linkers do not write 64-bit DWARF.
static void enter(struct reader *reader)
{
	uint64_t length = read_bytes(reader, 4);

	if (length == 0 || length == 0xffffffff || length > (uint64_t)(reader->end - reader->at))
		reader->failed = true;
	else
		reader->end = reader->at + length;
}

// @return the encoding of the code's addresses, or POINTER_OMITTED if it is not understood
static uint8_t read_augmentation(struct reader *reader, const char *letters, struct common *common)
{
	uint8_t encoding = POINTER_ABSOLUTE;
	uint64_t length;
	const uint8_t *end;

	if (*letters == '\0')
		return encoding;
	if (*letters != 'z')
		return POINTER_OMITTED;
	length = read_unsigned(reader);
	if (length > (uint64_t)(reader->end - reader->at))
		return POINTER_OMITTED;
	end = reader->at + length;
	for (letters++; *letters; letters++) {
		if (*letters == 'R')
			encoding = read_byte(reader);
		else if (*letters == 'P')
			read_pointer(reader, read_byte(reader) & POINTER_FORMAT, 0);
		else if (*letters == 'L')
			read_byte(reader);
		else if (*letters == 'S')
			common->is_signal = true;
		else if (!strchr(HEAPSNAP_AUGMENTATIONS, *letters))
			return POINTER_OMITTED;
	}
	reader->at = end;
	return encoding;
}

static bool run(const struct common *common, struct reader reader, uint64_t start, uint64_t address,
		struct state *state);

// @return the encoding of the code's addresses, or POINTER_OMITTED
static uint8_t read_common_entry(struct reader reader, struct common *common)
{
	const char *letters;
	uint8_t version, encoding;

	enter(&reader);
	if (read_bytes(&reader, 4) != 0)
		return POINTER_OMITTED;
	version = read_byte(&reader);
	letters = (const char *)reader.at;
	for (int i = 0; read_byte(&reader) != 0; i++) {
		if (i == MAX_LETTERS)
			return POINTER_OMITTED;
	}
	if (reader.failed || (version != 1 && version != 3))
		return POINTER_OMITTED;
	common->is_sized = *letters == 'z';
	common->code_align = read_unsigned(&reader);
	common->data_align = read_signed(&reader);
	common->return_column = version == 1 ? read_byte(&reader) : read_unsigned(&reader);
	encoding = read_augmentation(&reader, letters, common);
	if (reader.failed)
		return POINTER_OMITTED;
	common->is_understood = run(common, reader, 0, UINT64_MAX, &common->initial);
	return encoding;
}

// The last common information entry that the thread has read.
static __thread struct {
	uint64_t entry; // 0: none
	uint32_t age;
	uint32_t changes; // a signal's handler may have read another one meanwhile
	struct common common;
} last;

static uint32_t age; // of all that threads have read

void heapsnap_rules_forget(void)
{
	__atomic_add_fetch(&age, 1, __ATOMIC_RELAXED);
}

static struct common read_common(const struct heapsnap_code *code, uint64_t entry)
{
	uint32_t now = __atomic_load_n(&age, __ATOMIC_RELAXED), changes = last.changes;
	struct common common = { 0 };

	if (last.entry == entry && last.age == now) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		common = last.common;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (last.changes == changes)
			return common;
		common = (struct common){ 0 };
	}
	common.encoding = read_common_entry(reader_at(code, entry), &common);
	last.changes++;
	last.entry = 0; // as long as the rest does not belong together
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	last.age = now;
	last.common = common;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	last.entry = entry;
	return common;
}

static bool read_description(const struct heapsnap_code *code, uint64_t entry,
			     struct description *description)
{
	struct reader reader = reader_at(code, entry);
	uint64_t here, common;
	uint8_t encoding;

	enter(&reader);
	here = (uint64_t)reader.at;
	common = here - read_bytes(&reader, 4);
	if (reader.failed || common == here)
		return false;
	description->common = read_common(code, common);
	encoding = description->common.encoding;
	if (encoding == POINTER_OMITTED)
		return false;
	description->start = read_pointer(&reader, encoding, 0);
	description->end = description->start + read_pointer(&reader, encoding & POINTER_FORMAT, 0);
	if (description->common.is_sized) {
		uint64_t length = read_unsigned(&reader);

		if (length > (uint64_t)(reader.end - reader.at))
			return false;
		reader.at += length;
	}
	description->specific = reader;
	return !reader.failed;
}

// The last entry of .eh_frame_hdr's table that begins at or below the address.
static uint64_t search_table(const struct heapsnap_code *code, uint64_t address)
{
	enum {
		SORTED = POINTER_FROM_TABLE | POINTER_SDATA4, // what all linkers write
	};
	struct row {
		int32_t code;
		int32_t entry;
	} __attribute__((packed));
	struct reader reader = reader_at(code, code->table);
	uint8_t version = read_byte(&reader), frame = read_byte(&reader);
	uint8_t counted = read_byte(&reader), sorted = read_byte(&reader);
	uint64_t low = 0, high;
	const struct row *rows;

	if (reader.failed || version != 1 || sorted != SORTED || counted == POINTER_OMITTED)
		return 0;
	read_pointer(&reader, frame, code->table);
	high = read_pointer(&reader, counted, code->table);
	rows = (const struct row *)reader.at;
	if (reader.failed || high > (uint64_t)(reader.end - reader.at) / sizeof(*rows))
		return 0;
	// A loop of its own: the dumper uses nothing of lib.
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (code->table + (uint64_t)(int64_t)rows[middle].code <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? code->table + (uint64_t)(int64_t)rows[low - 1].entry : 0;
}

static bool find_description(uint64_t address, struct description *description)
{
	struct heapsnap_code code;
	uint64_t entry;

	if (!heapsnap_code_find(address, &code) || code.table == 0)
		return false;
	entry = search_table(&code, address);
	return entry != 0 && read_description(&code, entry, description) &&
	       address >= description->start && address < description->end;
}

uint64_t heapsnap_function_find(uint64_t address, uint64_t *end)
{
	struct description description;

	if (!find_description(address, &description))
		return 0;
	*end = description.end;
	return description.start;
}

// --- call frame instructions -------------------------------------------------------

static void set_base(struct state *state, uint64_t base)
{
	state->base = base > UINT8_MAX ? UINT8_MAX : (uint8_t)base;
	state->rule.kind = base == HEAPSNAP_DWARF_STACK   ? HEAPSNAP_RULE_STACK
			   : base == HEAPSNAP_DWARF_FRAME ? HEAPSNAP_RULE_FRAME
							  : HEAPSNAP_RULE_NONE;
}

static void set_offset(struct state *state, int64_t offset)
{
	int64_t units = offset / HEAPSNAP_RULE_UNIT;

	state->rule.offset = (heapsnap_rule_offset)units;
	if (state->rule.offset * (int64_t)HEAPSNAP_RULE_UNIT != offset)
		state->rule.kind = HEAPSNAP_RULE_NONE;
}

// The caller's frame pointer is saved at an offset from the CFA or from the frame pointer.
static void set_frame(struct state *state, enum heapsnap_rule_frame at, int64_t offset)
{
	int64_t units = offset / HEAPSNAP_RULE_PLACE_UNIT;
	bool fits = units == (int16_t)units && offset % HEAPSNAP_RULE_PLACE_UNIT == 0;

	state->rule.frame = fits ? at : HEAPSNAP_FRAME_LOST;
	state->rule.frame_offset = (int16_t)units;
}

// A register is saved at CFA + offset.
static void set_saved(struct state *state, uint64_t column, int64_t offset)
{
	if (column == HEAPSNAP_DWARF_RETURN) {
		state->back = HEAPSNAP_RETURN_AT_CFA;
		state->return_offset = offset;
		state->is_outermost = false;
	} else if (column == HEAPSNAP_DWARF_FRAME) {
		set_frame(state, HEAPSNAP_FRAME_AT_CFA, offset);
	}
}

// A register has a rule that we do not follow.
static void set_lost(struct state *state, uint64_t column)
{
	if (column == HEAPSNAP_DWARF_RETURN)
		state->back = HEAPSNAP_RETURN_LOST;
	else if (column == HEAPSNAP_DWARF_FRAME)
		state->rule.frame = HEAPSNAP_FRAME_LOST;
}

static void set_same(struct state *state, uint64_t column)
{
	if (column == HEAPSNAP_DWARF_RETURN)
		state->back = HEAPSNAP_RETURN_SAME;
	else if (column == HEAPSNAP_DWARF_FRAME)
		state->rule.frame = HEAPSNAP_FRAME_SAME;
}

static void restore(struct state *state, const struct state *initial, uint64_t column)
{
	if (column == HEAPSNAP_DWARF_RETURN) {
		state->back = initial->back;
		state->return_offset = initial->return_offset;
		state->is_outermost = initial->is_outermost;
	} else if (column == HEAPSNAP_DWARF_FRAME) {
		state->rule.frame = initial->rule.frame;
		state->rule.frame_offset = initial->rule.frame_offset;
	}
}

/*
 * An expression; only "fp + number" is understood, and for a CFA the word there: gcc writes
 * both for functions that align their stacks.
 */
static bool read_expression(struct reader *reader, bool is_cfa, int64_t *offset)
{
	enum {
		OP_DEREF = 0x06,
		OP_BREG_FRAME = 0x70 + HEAPSNAP_DWARF_FRAME,
	};
	uint64_t length = read_unsigned(reader);
	struct reader inner = *reader;
	bool known;

	if (length > (uint64_t)(reader->end - reader->at)) {
		reader->failed = true;
		return false;
	}
	inner.end = inner.at + length;
	reader->at = inner.end;
	known = read_byte(&inner) == OP_BREG_FRAME;
	*offset = read_signed(&inner);
	if (is_cfa)
		known = known && read_byte(&inner) == OP_DEREF;
	return known && !inner.failed && inner.at == inner.end;
}

static void define_by_expression(struct state *state, struct reader *reader)
{
	int64_t offset;

	set_base(state, UINT8_MAX);
	if (!read_expression(reader, true, &offset))
		return;
	state->rule.kind = HEAPSNAP_RULE_SAVED;
	set_offset(state, offset);
}

static void save_by_expression(struct state *state, struct reader *reader)
{
	uint64_t column = read_unsigned(reader);
	int64_t offset;
	bool known = read_expression(reader, false, &offset);

	set_lost(state, column);
	if (known && column == HEAPSNAP_DWARF_FRAME)
		set_frame(state, HEAPSNAP_FRAME_AT_FRAME, offset);
}

// DW_CFA_…; the first three have an operand in their lower 6 bits.
enum instruction {
	CFA_ADVANCE = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOCATION = 0x01,
	CFA_ADVANCE_1 = 0x02,
	CFA_ADVANCE_2 = 0x03,
	CFA_ADVANCE_4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEFINE = 0x0c,
	CFA_DEFINE_REGISTER = 0x0d,
	CFA_DEFINE_OFFSET = 0x0e,
	CFA_DEFINE_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_SIGNED = 0x11,
	CFA_DEFINE_SIGNED = 0x12,
	CFA_DEFINE_OFFSET_SIGNED = 0x13,
	CFA_VALUE_OFFSET = 0x14,
	CFA_VALUE_OFFSET_SIGNED = 0x15,
	CFA_VALUE_EXPRESSION = 0x16,
	CFA_ARGUMENTS_SIZE = 0x2e,
};

// Instructions that define the CFA. @return false if it is another one
static bool run_definition(struct state *state, struct reader *reader, uint8_t code, int64_t align)
{
	switch (code) {
	case CFA_DEFINE:
		set_base(state, read_unsigned(reader));
		set_offset(state, (int64_t)read_unsigned(reader));
		return true;
	case CFA_DEFINE_SIGNED:
		set_base(state, read_unsigned(reader));
		set_offset(state, read_signed(reader) * align);
		return true;
	case CFA_DEFINE_REGISTER:
		set_base(state, read_unsigned(reader));
		return true;
	case CFA_DEFINE_OFFSET:
		set_base(state, state->base);
		set_offset(state, (int64_t)read_unsigned(reader));
		return true;
	case CFA_DEFINE_OFFSET_SIGNED:
		set_base(state, state->base);
		set_offset(state, read_signed(reader) * align);
		return true;
	case CFA_DEFINE_EXPRESSION:
		define_by_expression(state, reader);
		return true;
	default:
		return false;
	}
}

// Instructions that define where a register is saved. @return false if it is another one
static bool run_register(struct state *state, const struct state *initial, struct reader *reader,
			 uint8_t code, int64_t align)
{
	uint64_t column;
	int64_t ignored;

	switch (code) {
	case CFA_OFFSET_EXTENDED:
		column = read_unsigned(reader);
		set_saved(state, column, (int64_t)read_unsigned(reader) * align);
		return true;
	case CFA_OFFSET_SIGNED:
		column = read_unsigned(reader);
		set_saved(state, column, read_signed(reader) * align);
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(state, initial, read_unsigned(reader));
		return true;
	case CFA_UNDEFINED:
		column = read_unsigned(reader);
		set_lost(state, column);
		state->is_outermost = state->is_outermost || column == HEAPSNAP_DWARF_RETURN;
		return true;
	case CFA_SAME:
		set_same(state, read_unsigned(reader));
		return true;
	case CFA_REGISTER:
	case CFA_VALUE_OFFSET:
	case CFA_VALUE_OFFSET_SIGNED:
		set_lost(state, read_unsigned(reader));
		read_unsigned(reader);
		return true;
	case CFA_EXPRESSION:
		save_by_expression(state, reader);
		return true;
	case CFA_VALUE_EXPRESSION:
		set_lost(state, read_unsigned(reader));
		read_expression(reader, false, &ignored);
		return true;
	default:
		return false;
	}
}

// How far an instruction advances the code's address, in units; -1 if it does not.
static int64_t read_advance(struct reader *reader, uint8_t code)
{
	if ((code & 0xc0) == CFA_ADVANCE)
		return code & 0x3f;
	switch (code) {
	case CFA_ADVANCE_1:
		return read_byte(reader);
	case CFA_ADVANCE_2:
		return (int64_t)read_bytes(reader, 2);
	case CFA_ADVANCE_4:
		return (int64_t)read_bytes(reader, 4);
	default:
		return -1;
	}
}

/*
 * Runs instructions up to the address.
 *
 * @param start  where the function begins
 * @return false if there is an instruction that is not understood
 */
static bool run(const struct common *common, struct reader reader, uint64_t start, uint64_t address,
		struct state *state)
{
	const struct state *initial = &common->initial;
	struct state remembered[MAX_REMEMBERED];
	unsigned depth = 0;
	uint64_t at = start;

	for (int i = 0; !reader.failed && reader.at < reader.end; i++) {
		uint8_t code = read_byte(&reader);
		int64_t advance = read_advance(&reader, code);

		if (i == MAX_INSTRUCTIONS)
			return false;
		if (advance >= 0) {
			at += (uint64_t)advance * common->code_align;
			if (at > address)
				return true;
		} else if ((code & 0xc0) == CFA_OFFSET) {
			set_saved(state, code & 0x3f,
				  (int64_t)read_unsigned(&reader) * common->data_align);
		} else if ((code & 0xc0) == CFA_RESTORE) {
			restore(state, initial, code & 0x3f);
		} else if (code == CFA_REMEMBER && depth < MAX_REMEMBERED) {
			remembered[depth++] = *state;
		} else if (code == CFA_RESTORE_STATE && depth > 0) {
			*state = remembered[--depth];
		} else if (code == CFA_ARGUMENTS_SIZE) {
			read_unsigned(&reader);
		} else if (code != CFA_NOP && !heapsnap_is_cfa_ignored(code) &&
			   !run_definition(state, &reader, code, common->data_align) &&
			   !run_register(state, initial, &reader, code, common->data_align)) {
			return false;
		}
	}
	return !reader.failed;
}

static struct heapsnap_rule rule_of(const struct description *description, uint64_t address)
{
	const struct heapsnap_rule none = { .kind = HEAPSNAP_RULE_NONE };
	const struct common *common = &description->common;
	struct state state = common->initial;

	if (common->is_signal)
		return (struct heapsnap_rule){ .kind = HEAPSNAP_RULE_SIGNAL };
	if (common->return_column != HEAPSNAP_DWARF_RETURN || !common->is_understood ||
	    !run(common, description->specific, description->start, address, &state))
		return none;
	if (state.is_outermost)
		return (struct heapsnap_rule){ .kind = HEAPSNAP_RULE_OUTERMOST };
	return heapsnap_rule_set_return(&state.rule, state.back, state.return_offset) ? state.rule
										      : none;
}

struct heapsnap_rule heapsnap_rule_find(uint64_t address)
{
	struct description description;

	if (!find_description(address, &description))
		return (struct heapsnap_rule){ .kind = address + 1 == signal_return
							       ? HEAPSNAP_RULE_SIGNAL
							       : HEAPSNAP_RULE_GUESS };
	return rule_of(&description, address);
}
