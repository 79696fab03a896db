// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/locals.h"

#include "lib/cleanup.h"
#include "lib/demangle.h"
#include "lib/dwarf_attributes.h"
#include "lib/dwarf_expression.h"

#include <string.h>

enum {
	MAX_NESTING = 64,
	MAX_LOCALS = 4096, // of a frame
};

struct search {
	struct heap_dwarf_file *file;
	const struct heap_locals_frame *frame;
	struct heap_expression_frame expression;
	Dwarf_Die unit;
	struct heap_dwarf_files files;
	const char *function;     // whose scope is being searched
	struct heap_locals found; // outermost scope first
	size_t capacity;
	bool short_of_memory;
};

// --- locations ---------------------------------------------------------------

static bool is_range(Dwarf_Small kind)
{
	return kind != DW_LLE_end_of_list && kind != DW_LLE_base_address &&
	       kind != DW_LLE_base_addressx;
}

// Evaluates the entry of a location list, or the one expression, that counts at the pc.
static bool evaluate_list(const struct search *search, Dwarf_Loc_Head_c head, Dwarf_Unsigned count,
			  struct heap_expression_result *result)
{
	unsigned list_kind = DW_LKIND_unknown;
	Dwarf_Error error = NULL;

	if (dwarf_get_loclist_head_kind(head, &list_kind, &error) != DW_DLV_OK)
		return false;
	for (Dwarf_Unsigned i = 0; i < count; i++) {
		Dwarf_Small kind, source;
		Dwarf_Unsigned raw_low, raw_high, operations, expression_offset, entry_offset;
		Dwarf_Bool no_addresses;
		Dwarf_Addr low, high;
		Dwarf_Locdesc_c expression;

		if (dwarf_get_locdesc_entry_d(head, i, &kind, &raw_low, &raw_high, &no_addresses,
					      &low, &high, &operations, &expression, &source,
					      &expression_offset, &entry_offset,
					      &error) != DW_DLV_OK)
			return false;
		if (list_kind != DW_LKIND_expression &&
		    (!is_range(kind) || search->frame->pc < low || search->frame->pc >= high))
			continue;
		return operations > 0 &&
		       heap_expression_evaluate(expression, operations, &search->expression, NULL,
						result);
	}
	return false;
}

static bool evaluate_attribute(const struct search *search, Dwarf_Die die, Dwarf_Half number,
			       struct heap_expression_result *result)
{
	Dwarf_Attribute attribute;
	Dwarf_Loc_Head_c head = NULL;
	Dwarf_Unsigned count = 0;
	Dwarf_Error error = NULL;
	bool done = false;

	if (!heap_dwarf_attribute(search->file, die, number, &attribute))
		return false;
	if (dwarf_get_loclist_c(attribute, &head, &count, &error) == DW_DLV_OK) {
		done = evaluate_list(search, head, count, result);
		dwarf_loc_head_c_dealloc(head);
	} else if (error) {
		dwarf_dealloc_error(search->file->debug, error);
	}
	dwarf_dealloc_attribute(attribute);
	return done;
}

// DW_AT_frame_base: an address, or the register that holds it.
static void find_frame_base(struct search *search, Dwarf_Die function)
{
	const struct heap_registers *registers = search->frame->registers;
	struct heap_expression_result base;

	search->expression.has_frame_base = false;
	if (!evaluate_attribute(search, function, DW_AT_frame_base, &base))
		return;
	if (base.kind == HEAP_EXPRESSION_REGISTER) {
		if (base.value >= HEAP_REGISTERS || !(registers->known >> base.value & 1))
			return;
		base.value = registers->value[base.value];
	}
	search->expression.frame_base = base.value;
	search->expression.has_frame_base = true;
}

// --- variables ---------------------------------------------------------------

static struct heap_local *add_local(struct search *search)
{
	if (search->found.count == search->capacity) {
		size_t capacity = search->capacity ? search->capacity * 2 : 16;
		void *larger = realloc(search->found.locals, capacity * sizeof(struct heap_local));

		if (!larger) {
			search->short_of_memory = true;
			return NULL;
		}
		search->found.locals = larger;
		search->capacity = capacity;
	}
	return &search->found.locals[search->found.count++];
}

static void place(const struct search *search, const struct heap_expression_result *location,
		  struct heap_local *local)
{
	const struct heap_registers *registers = search->frame->registers;

	switch (location->kind) {
	case HEAP_EXPRESSION_ADDRESS:
		local->kind = HEAP_LOCATION_MEMORY;
		local->address = location->value;
		break;
	case HEAP_EXPRESSION_VALUE:
		local->kind = HEAP_LOCATION_VALUE;
		local->value = location->value;
		break;
	case HEAP_EXPRESSION_REGISTER:
		local->reg = (uint8_t)location->value;
		local->kind = HEAP_LOCATION_REGISTER;
		if (registers->saved_at[local->reg]) {
			local->kind = HEAP_LOCATION_MEMORY;
			local->address = registers->saved_at[local->reg];
		}
		break;
	}
}

static void look_at_variable(struct search *search, Dwarf_Die die)
{
	struct heap_expression_result location;
	const char *name = heap_dwarf_name(search->file, die);
	uint64_t number;

	// Variables with an address of their own are globals, found elsewhere.
	if (!*name || search->found.count == MAX_LOCALS ||
	    !evaluate_attribute(search, die, DW_AT_location, &location) || location.is_fixed)
		return;
	if (location.kind == HEAP_EXPRESSION_REGISTER &&
	    (location.value >= HEAP_REGISTERS ||
	     !(search->frame->registers->known >> location.value & 1)))
		return;

	struct heap_local *local = add_local(search);

	if (!local)
		return;
	*local = (struct heap_local){ .name = strdup(name), .function = strdup(search->function) };
	place(search, &location, local);
	if (heap_dwarf_inherited_unsigned(search->file, die, DW_AT_decl_file, &number))
		local->file = strdup(heap_dwarf_files_name(&search->files, number));
	else
		local->file = strdup("");
	if (heap_dwarf_inherited_unsigned(search->file, die, DW_AT_decl_line, &number))
		local->line = (uint32_t)number;
	if (heap_dwarf_inherited_reference_offset(search->file, die, DW_AT_type, &number))
		local->type = number;
	if (!local->name || !local->function || !local->file)
		search->short_of_memory = true;
}

// --- scopes ------------------------------------------------------------------

static void search_scope(struct search *search, Dwarf_Die scope, int nesting);

static char *function_name(struct heap_dwarf_file *file, Dwarf_Die die)
{
	const char *linkage = heap_dwarf_linkage_name(file, die);

	return *linkage ? heap_demangle(linkage) : strdup(heap_dwarf_name(file, die));
}

static void enter(struct search *search, Dwarf_Die die, Dwarf_Half tag, int nesting)
{
	const char *outer = search->function;
	CLEANUP_FREE char *name = NULL;

	if (!heap_dwarf_covers(search->file, search->unit, die, search->frame->pc))
		return;
	if (tag == DW_TAG_subprogram)
		find_frame_base(search, die);
	if (tag != DW_TAG_lexical_block) {
		name = function_name(search->file, die);
		search->function = name ? name : "";
	}
	search_scope(search, die, nesting + 1);
	search->function = outer;
}

static void look_at(struct search *search, Dwarf_Die die, int nesting)
{
	Dwarf_Half tag = heap_dwarf_tag(search->file, die);

	switch (tag) {
	case DW_TAG_variable:
	case DW_TAG_formal_parameter:
		if (*search->function)
			look_at_variable(search, die);
		break;
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
		enter(search, die, tag, nesting);
		break;
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		search_scope(search, die, nesting + 1);
		break;
	}
}

static void search_scope(struct search *search, Dwarf_Die scope, int nesting)
{
	Dwarf_Die child = nesting < MAX_NESTING ? heap_dwarf_child(search->file, scope) : NULL;

	while (child) {
		look_at(search, child, nesting);

		Dwarf_Die next = heap_dwarf_sibling(search->file, child);

		dwarf_dealloc_die(child);
		child = next;
	}
}

static void reverse(struct heap_locals *locals)
{
	for (size_t i = 0; i < locals->count / 2; i++) {
		struct heap_local other = locals->locals[i];

		locals->locals[i] = locals->locals[locals->count - 1 - i];
		locals->locals[locals->count - 1 - i] = other;
	}
}

struct heap_error *heap_locals_find(struct heap_dwarf_file *file,
				    const struct heap_locals_frame *frame,
				    struct heap_locals *result)
{
	CLEANUP_DIE Dwarf_Die unit = NULL;
	struct search search = {
		.file = file,
		.frame = frame,
		.expression = {
			.registers = frame->registers,
			.cfa = frame->cfa,
			.bias = frame->bias,
			.read = frame->read,
			.context = frame->context,
		},
		.function = "",
	};
	struct heap_error *error = heap_dwarf_find_unit(file, frame->pc, &unit);

	*result = (struct heap_locals){ 0 };
	if (error || !unit)
		return error;
	search.unit = unit;
	heap_dwarf_files_read(file, unit, &search.files);
	search_scope(&search, unit, 0);
	heap_dwarf_files_deinit(&search.files);
	if (search.short_of_memory) {
		heap_locals_deinit(&search.found);
		return heap_error_out_of_memory();
	}
	reverse(&search.found);
	*result = search.found;
	return NULL;
}

void heap_locals_deinit(struct heap_locals *locals)
{
	for (size_t i = 0; i < locals->count; i++) {
		free(locals->locals[i].name);
		free(locals->locals[i].function);
		free(locals->locals[i].file);
	}
	free(locals->locals);
}
