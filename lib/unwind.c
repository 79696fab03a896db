// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/unwind.h"

#include "lib/cleanup.h"
#include "lib/dwarf_expression.h"

#include <stdlib.h>
#include <string.h>

enum {
	CACHE_SLOTS = 1 << 12,
	SEARCH_WORDS = 4096, // for a frame pointer that is not known
	SEARCH_REACH = 64 << 20,
};

// What libdwarf calls "same value" and "undefined" in a table of rules.
enum {
	RULE_SAME = 1035,
	RULE_UNDEFINED = 1034,
	RULE_CFA = 1436,
};

// A table of call frame information: .eh_frame or .debug_frame.
struct table {
	struct heap_dwarf_file *file;
	Dwarf_Cie *cies;
	Dwarf_Signed cie_count;
	Dwarf_Fde *fdes;
	Dwarf_Signed fde_count;
};

// The rules of one row, for one pc.
struct row {
	uint64_t pc;
	bool found;
	bool is_signal;
	uint8_t return_register;
	Dwarf_Regtable_Entry3 cfa;
	Dwarf_Regtable_Entry3 rules[HEAP_REGISTERS];
};

struct heap_unwinder {
	struct heap_dwarf_file *module;
	struct table tables[3];
	size_t table_count;
	struct row *cache[CACHE_SLOTS];
};

// --- tables ------------------------------------------------------------------

typedef int list_reader(Dwarf_Debug debug, Dwarf_Cie **cies, Dwarf_Signed *cie_count,
			Dwarf_Fde **fdes, Dwarf_Signed *fde_count, Dwarf_Error *error);

static void add_table(struct heap_unwinder *unwinder, struct heap_dwarf_file *file,
		      list_reader *read_list)
{
	struct table table = { .file = file };
	Dwarf_Error error = NULL;
	int result = read_list(file->debug, &table.cies, &table.cie_count, &table.fdes,
			       &table.fde_count, &error);

	if (result == DW_DLV_OK)
		unwinder->tables[unwinder->table_count++] = table;
	else if (result == DW_DLV_ERROR)
		dwarf_dealloc_error(file->debug, error);
}

// Registers that no instruction mentions keep their value.
static void configure(Dwarf_Debug debug)
{
	dwarf_set_frame_rule_table_size(debug, 128);
	dwarf_set_frame_cfa_value(debug, RULE_CFA);
	dwarf_set_frame_same_value(debug, RULE_SAME);
	dwarf_set_frame_undefined_value(debug, RULE_UNDEFINED);
	dwarf_set_frame_rule_initial_value(debug, RULE_SAME);
}

struct heap_error *heap_unwinder_create(const char *module, struct heap_dwarf_file *debug,
					struct heap_unwinder **result)
{
	struct heap_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return heap_error_out_of_memory();

	struct heap_error *error = heap_dwarf_open(module, &unwinder->module);

	// A module without unwind tables of its own may have some in its debug file.
	if (error && heap_error_code(error) != HEAP_ERROR_ABSENT) {
		heap_unwinder_destroy(unwinder);
		return error;
	}
	heap_error_destroy(error);
	if (unwinder->module) {
		configure(unwinder->module->debug);
		add_table(unwinder, unwinder->module, dwarf_get_fde_list_eh);
		add_table(unwinder, unwinder->module, dwarf_get_fde_list);
	}
	if (debug) {
		configure(debug->debug);
		add_table(unwinder, debug, dwarf_get_fde_list);
	}
	*result = unwinder;
	return NULL;
}

void heap_unwinder_destroy(struct heap_unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		free(unwinder->cache[i]);
	for (size_t i = 0; i < unwinder->table_count; i++) {
		const struct table *table = &unwinder->tables[i];

		dwarf_fde_cie_list_dealloc(table->file->debug, table->cies, table->cie_count,
					   table->fdes, table->fde_count);
	}
	heap_dwarf_close(unwinder->module);
	free(unwinder);
}

// --- rows --------------------------------------------------------------------

static bool read_augmentation(struct table *table, Dwarf_Fde fde, struct row *row)
{
	Dwarf_Cie cie;
	Dwarf_Unsigned bytes, code_alignment, length;
	Dwarf_Small version;
	char *augmentation;
	Dwarf_Signed data_alignment;
	Dwarf_Half return_register, offset_size;
	Dwarf_Ptr instructions;
	Dwarf_Error error = NULL;

	if (dwarf_get_cie_of_fde(fde, &cie, &error) != DW_DLV_OK ||
	    dwarf_get_cie_info_b(cie, &bytes, &version, &augmentation, &code_alignment,
				 &data_alignment, &return_register, &instructions, &length,
				 &offset_size, &error) != DW_DLV_OK) {
		dwarf_dealloc_error(table->file->debug, error);
		return false;
	}
	row->return_register = (uint8_t)return_register;
	// LSB Core 5.0, 10.6.1.1.1: 'S' marks the trampolines of signals.
	row->is_signal = augmentation && strchr(augmentation, 'S');
	return return_register < HEAP_REGISTERS;
}

static bool read_row(struct table *table, uint64_t pc, struct row *row)
{
	Dwarf_Fde fde;
	Dwarf_Addr low, high, row_pc;
	Dwarf_Error error = NULL;
	Dwarf_Regtable_Entry3 rules[128];
	Dwarf_Regtable3 registers = { .rt3_reg_table_size = 128, .rt3_rules = rules };
	int result = dwarf_get_fde_at_pc(table->fdes, pc, &fde, &low, &high, &error);

	if (result == DW_DLV_OK && !read_augmentation(table, fde, row))
		return false;
	if (result == DW_DLV_OK)
		result = dwarf_get_fde_info_for_all_regs3(fde, pc, &registers, &row_pc, &error);
	if (result == DW_DLV_ERROR)
		dwarf_dealloc_error(table->file->debug, error);
	if (result != DW_DLV_OK)
		return false;
	row->cfa = registers.rt3_cfa_rule;
	memcpy(row->rules, rules, sizeof(row->rules));
	return true;
}

static const struct row *find_row(struct heap_unwinder *unwinder, uint64_t pc)
{
	struct row **slot =
		&unwinder->cache[(pc * UINT64_C(0x9e3779b97f4a7c15) >> 40) % CACHE_SLOTS];

	if (*slot && (*slot)->pc == pc)
		return *slot;

	struct row *row = *slot ? *slot : malloc(sizeof(*row));

	if (!row)
		return NULL;
	memset(row, 0, sizeof(*row));
	row->pc = pc;
	*slot = row;
	for (size_t i = 0; i < unwinder->table_count && !row->found; i++)
		row->found = read_row(&unwinder->tables[i], pc, row);
	return row;
}

// --- stepping ----------------------------------------------------------------

struct step {
	const struct row *row;
	struct heap_expression_frame frame;
	const struct heap_registers *before;
	struct heap_registers after;
};

static bool is_known(const struct heap_registers *registers, unsigned number)
{
	return number < HEAP_REGISTERS && (registers->known >> number & 1);
}

static bool find_cfa(struct step *step, uint64_t *cfa)
{
	const Dwarf_Regtable_Entry3 *rule = &step->row->cfa;
	struct heap_expression_result result;

	switch (rule->dw_value_type) {
	case DW_EXPR_OFFSET:
		if (!is_known(step->before, rule->dw_regnum))
			return false;
		*cfa = step->before->value[rule->dw_regnum] + rule->dw_offset_or_block_len;
		return true;
	case DW_EXPR_EXPRESSION:
	case DW_EXPR_VAL_EXPRESSION:
		if (!heap_expression_evaluate(rule->dw_block_ptr, rule->dw_offset_or_block_len,
					      &step->frame, NULL, &result))
			return false;
		*cfa = result.value;
		return true;
	default:
		return false;
	}
}

static void set_saved(struct step *step, unsigned number, uint64_t address)
{
	uint64_t value;

	if (!step->frame.read(step->frame.context, address, &value, sizeof(value)))
		return;
	step->after.value[number] = value;
	step->after.saved_at[number] = address;
	step->after.known |= UINT64_C(1) << number;
}

static void set_value(struct step *step, unsigned number, uint64_t value)
{
	step->after.value[number] = value;
	step->after.saved_at[number] = 0;
	step->after.known |= UINT64_C(1) << number;
}

static void copy_register(struct step *step, unsigned number, unsigned from)
{
	if (!is_known(step->before, from))
		return;
	step->after.value[number] = step->before->value[from];
	step->after.saved_at[number] = step->before->saved_at[from];
	step->after.known |= UINT64_C(1) << number;
}

static void apply_expression(struct step *step, unsigned number, const Dwarf_Regtable_Entry3 *rule)
{
	struct heap_expression_result result;
	uint64_t cfa = step->frame.cfa;

	if (!heap_expression_evaluate(rule->dw_block_ptr, rule->dw_offset_or_block_len,
				      &step->frame, &cfa, &result))
		return;
	if (rule->dw_value_type == DW_EXPR_EXPRESSION)
		set_saved(step, number, result.value);
	else
		set_value(step, number, result.value);
}

// Registers that a called function need not keep (System V ABI, AMD64 supplement, 3.2.1;
// Procedure Call Standard for the Arm 64-bit Architecture, 6.1.1).
static bool is_lost_by_calls(unsigned number)
{
#if defined(__aarch64__)
	return number <= 18;
#else
	return number == 0 || number == 1 || number == 2 || number == 4 || number == 5 ||
	       (number >= 8 && number <= 11);
#endif
}

static void apply_rule(struct step *step, unsigned number)
{
	const Dwarf_Regtable_Entry3 *rule = &step->row->rules[number];

	switch (rule->dw_value_type) {
	case DW_EXPR_EXPRESSION:
	case DW_EXPR_VAL_EXPRESSION:
		apply_expression(step, number, rule);
		return;
	case DW_EXPR_VAL_OFFSET:
		set_value(step, number, step->frame.cfa + rule->dw_offset_or_block_len);
		return;
	}
	if (rule->dw_regnum == RULE_UNDEFINED)
		return;
	if (rule->dw_regnum == RULE_SAME) {
		if (step->row->is_signal || !is_lost_by_calls(number))
			copy_register(step, number, number);
		return;
	}
	if (rule->dw_offset_relevant)
		set_saved(step, number, step->frame.cfa + rule->dw_offset_or_block_len);
	else
		copy_register(step, number, rule->dw_regnum);
}

static enum heap_unwind_result find_return_address(struct step *step)
{
	unsigned column = step->row->return_register;
	const Dwarf_Regtable_Entry3 *rule = &step->row->rules[column];

	if (rule->dw_value_type == DW_EXPR_OFFSET && rule->dw_regnum == RULE_UNDEFINED)
		return HEAP_UNWIND_END;
	if (!is_known(&step->after, column))
		return HEAP_UNWIND_LOST;
	if (step->after.value[column] == 0)
		return HEAP_UNWIND_END;
	set_value(step, HEAP_REGISTER_PC, step->after.value[column]);
	return HEAP_UNWIND_CALLER;
}

enum heap_unwind_result heap_unwinder_step(struct heap_unwinder *unwinder, uint64_t pc,
					   heap_memory_reader *read, void *context,
					   struct heap_registers *registers, uint64_t *cfa,
					   bool *is_signal)
{
	struct step step = {
		.row = find_row(unwinder, pc),
		.frame = { .registers = registers, .read = read, .context = context },
		.before = registers,
	};

	*cfa = 0;
	*is_signal = false;
	if (!step.row || !step.row->found || !find_cfa(&step, &step.frame.cfa))
		return HEAP_UNWIND_LOST;
	*cfa = step.frame.cfa;
	*is_signal = step.row->is_signal;
	for (unsigned i = 0; i < HEAP_REGISTERS; i++) {
		if (i != HEAP_REGISTER_SP)
			apply_rule(&step, i);
	}
	// The stack pointer before the call is the CFA, unless a rule says otherwise.
	if (step.row->rules[HEAP_REGISTER_SP].dw_regnum != RULE_SAME ||
	    step.row->rules[HEAP_REGISTER_SP].dw_value_type != DW_EXPR_OFFSET)
		apply_rule(&step, HEAP_REGISTER_SP);
	if (!is_known(&step.after, HEAP_REGISTER_SP))
		set_value(&step, HEAP_REGISTER_SP, step.frame.cfa);

	enum heap_unwind_result result = find_return_address(&step);

	if (result == HEAP_UNWIND_CALLER)
		*registers = step.after;
	return result;
}

// --- guessing ----------------------------------------------------------------

// Whether the bytes before a return address are a call.
static bool follows_call(uint64_t address, heap_memory_reader *read, void *context)
{
#if defined(__aarch64__)
	uint32_t instruction;

	return read(context, address - 4, &instruction, 4) &&
	       ((instruction & 0xfc000000) == 0x94000000 || // bl
		(instruction & 0xfffffc1f) == 0xd63f0000);  // blr
#else
	uint8_t bytes[7];

	if (!read(context, address - 7, bytes, sizeof(bytes)))
		return false;
	if (bytes[2] == 0xe8) // call rel32
		return true;
	// ff /2: call through a register or memory, 2 to 7 bytes long.
	for (int at = 0; at <= 5; at++) {
		if (bytes[at] == 0xff && (bytes[at + 1] >> 3 & 7) == 2)
			return true;
	}
	return false;
#endif
}

bool heap_unwinder_guess_frame_pointer(heap_memory_reader *read, heap_code_test *is_code,
				       void *context, struct heap_registers *registers)
{
	uint64_t sp = registers->value[HEAP_REGISTER_SP];
	uint64_t words[2];

	if (!is_known(registers, HEAP_REGISTER_SP))
		return false;
	for (uint64_t slot = (sp + 7) & ~UINT64_C(7); slot < sp + SEARCH_WORDS * 8; slot += 8) {
		if (!read(context, slot, words, sizeof(words)))
			return false;
		// A saved frame pointer leads up the stack; that of the outermost frame may be
		// anything small.
		bool plausible =
			(words[0] > slot && words[0] - slot < SEARCH_REACH) || words[0] < 4096;

		if (!plausible || !is_code(context, words[1]) ||
		    !follows_call(words[1], read, context))
			continue;
		registers->value[HEAP_REGISTER_FRAME] = slot;
		registers->saved_at[HEAP_REGISTER_FRAME] = 0;
		registers->known |= UINT64_C(1) << HEAP_REGISTER_FRAME;
		return true;
	}
	return false;
}
