// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf_attributes.h"

#include <string.h>

// An entry may complete one that completes another; a loop of them is damage.
enum {
	ORIGINS_MAX = 8,
};

// Whether libdwarf found what it was asked for; its error, if it made one, is freed.
static bool found(struct heap_dwarf_file *file, int answer, Dwarf_Error error)
{
	if (answer == DW_DLV_ERROR)
		dwarf_dealloc_error(file->debug, error);
	return answer == DW_DLV_OK;
}

Dwarf_Half heap_dwarf_tag(struct heap_dwarf_file *file, Dwarf_Die die)
{
	Dwarf_Error error = NULL;
	Dwarf_Half tag;

	return found(file, dwarf_tag(die, &tag, &error), error) ? tag : 0;
}

uint64_t heap_dwarf_offset(struct heap_dwarf_file *file, Dwarf_Die die)
{
	Dwarf_Error error = NULL;
	Dwarf_Off offset;

	return found(file, dwarf_dieoffset(die, &offset, &error), error) ? offset : 0;
}

uint64_t heap_dwarf_unit_offset(struct heap_dwarf_file *file, Dwarf_Die die)
{
	Dwarf_Error error = NULL;
	Dwarf_Off offset;

	return found(file, dwarf_CU_dieoffset_given_die(die, &offset, &error), error) ? offset : 0;
}

static Dwarf_Die die_at(struct heap_dwarf_file *file, uint64_t offset, bool in_info)
{
	Dwarf_Error error = NULL;
	Dwarf_Die die;

	return found(file, dwarf_offdie_b(file->debug, offset, in_info, &die, &error), error)
		       ? die
		       : NULL;
}

Dwarf_Die heap_dwarf_at(struct heap_dwarf_file *file, uint64_t offset)
{
	return die_at(file, offset, true);
}

Dwarf_Die heap_dwarf_child(struct heap_dwarf_file *file, Dwarf_Die die)
{
	Dwarf_Error error = NULL;
	Dwarf_Die child;

	return found(file, dwarf_child(die, &child, &error), error) ? child : NULL;
}

Dwarf_Die heap_dwarf_sibling(struct heap_dwarf_file *file, Dwarf_Die die)
{
	Dwarf_Error error = NULL;
	bool in_info = dwarf_get_die_infotypes_flag(die);
	Dwarf_Die sibling;

	return found(file, dwarf_siblingof_b(file->debug, die, in_info, &sibling, &error), error)
		       ? sibling
		       : NULL;
}

bool heap_dwarf_attribute(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
			  Dwarf_Attribute *result)
{
	Dwarf_Error error = NULL;

	return found(file, dwarf_attr(die, attribute, result, &error), error);
}

bool heap_dwarf_unsigned(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
			 uint64_t *result)
{
	Dwarf_Attribute value;

	if (!heap_dwarf_attribute(file, die, attribute, &value))
		return false;

	Dwarf_Error error = NULL;
	Dwarf_Half form = 0;
	Dwarf_Unsigned number;
	Dwarf_Signed negative;
	bool ok = found(file, dwarf_whatform(value, &form, &error), error);

	// libdwarf refuses to give what is negative as unsigned.
	if (ok && (form == DW_FORM_sdata || form == DW_FORM_implicit_const)) {
		ok = found(file, dwarf_formsdata(value, &negative, &error), error);
		number = ok ? (Dwarf_Unsigned)negative : 0;
	} else if (ok) {
		ok = found(file, dwarf_formudata(value, &number, &error), error);
	}
	if (ok)
		*result = number;
	dwarf_dealloc_attribute(value);
	return ok;
}

bool heap_dwarf_flag(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute)
{
	Dwarf_Attribute value;

	if (!heap_dwarf_attribute(file, die, attribute, &value))
		return false;

	Dwarf_Error error = NULL;
	Dwarf_Bool flag = 0;
	bool ok = found(file, dwarf_formflag(value, &flag, &error), error);

	dwarf_dealloc_attribute(value);
	return ok && flag;
}

bool heap_dwarf_address(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
			uint64_t *result)
{
	Dwarf_Attribute value;

	if (!heap_dwarf_attribute(file, die, attribute, &value))
		return false;

	Dwarf_Error error = NULL;
	Dwarf_Addr address;
	bool ok = found(file, dwarf_formaddr(value, &address, &error), error);

	if (ok)
		*result = address;
	dwarf_dealloc_attribute(value);
	return ok;
}

const char *heap_dwarf_text(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute)
{
	Dwarf_Error error = NULL;
	char *text;

	return found(file, dwarf_die_text(die, attribute, &text, &error), error) ? text : NULL;
}

// @param in_info  whether the offset is one in .debug_info, not in .debug_types
static bool reference(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
		      uint64_t *offset, bool *in_info)
{
	Dwarf_Attribute value;

	if (!heap_dwarf_attribute(file, die, attribute, &value))
		return false;

	Dwarf_Error error = NULL;
	Dwarf_Half form;
	Dwarf_Off target;
	Dwarf_Sig8 signature;
	const struct heap_dwarf_unit *unit;
	bool ok = found(file, dwarf_whatform(value, &form, &error), error);

	if (ok && form == DW_FORM_ref_sig8) {
		uint64_t number;

		ok = found(file, dwarf_formsig8(value, &signature, &error), error);
		memcpy(&number, &signature, sizeof(number));
		unit = ok ? heap_dwarf_find_type_unit(file, number) : NULL;
		ok = unit;
		if (unit) {
			*offset = unit->type_die;
			*in_info = unit->in_info;
		}
	} else if (ok && form != DW_FORM_GNU_ref_alt && form != DW_FORM_ref_sup4 &&
		   form != DW_FORM_ref_sup8) {
		ok = found(file, dwarf_global_formref(value, &target, &error), error);
		if (ok) {
			*offset = target;
			*in_info = form == DW_FORM_ref_addr || dwarf_get_die_infotypes_flag(die);
		}
	} else {
		ok = false;
	}
	dwarf_dealloc_attribute(value);
	return ok;
}

bool heap_dwarf_reference_offset(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute,
				 uint64_t *result)
{
	uint64_t offset;
	bool in_info;

	if (!reference(file, die, attribute, &offset, &in_info) || !in_info)
		return false;
	*result = offset;
	return true;
}

Dwarf_Die heap_dwarf_reference(struct heap_dwarf_file *file, Dwarf_Die die, Dwarf_Half attribute)
{
	uint64_t offset;
	bool in_info;

	return reference(file, die, attribute, &offset, &in_info) ? die_at(file, offset, in_info)
								  : NULL;
}

Dwarf_Die heap_dwarf_origin(struct heap_dwarf_file *file, Dwarf_Die die)
{
	Dwarf_Die origin = heap_dwarf_reference(file, die, DW_AT_abstract_origin);

	return origin ? origin : heap_dwarf_reference(file, die, DW_AT_specification);
}

// Walks from an entry to what it completes, until one of them has what is looked for.
static bool look_up(struct heap_dwarf_file *file, Dwarf_Die die,
		    bool (*look)(struct heap_dwarf_file *file, Dwarf_Die die, void *context),
		    void *context)
{
	CLEANUP_DIE Dwarf_Die own = NULL;

	for (int i = 0; i < ORIGINS_MAX; i++) {
		if (look(file, die, context))
			return true;

		Dwarf_Die origin = heap_dwarf_origin(file, die);

		if (own)
			dwarf_dealloc_die(own);
		own = die = origin;
		if (!die)
			break;
	}
	return false;
}

struct wanted {
	Dwarf_Half attribute, alternative;
	const char *text;
	uint64_t number;
};

static bool look_for_text(struct heap_dwarf_file *file, Dwarf_Die die, void *context)
{
	struct wanted *wanted = context;

	wanted->text = heap_dwarf_text(file, die, wanted->attribute);
	if (!wanted->text && wanted->alternative)
		wanted->text = heap_dwarf_text(file, die, wanted->alternative);
	return wanted->text;
}

static bool look_for_unsigned(struct heap_dwarf_file *file, Dwarf_Die die, void *context)
{
	struct wanted *wanted = context;

	return heap_dwarf_unsigned(file, die, wanted->attribute, &wanted->number);
}

static bool look_for_reference(struct heap_dwarf_file *file, Dwarf_Die die, void *context)
{
	struct wanted *wanted = context;

	return heap_dwarf_reference_offset(file, die, wanted->attribute, &wanted->number);
}

const char *heap_dwarf_name(struct heap_dwarf_file *file, Dwarf_Die die)
{
	struct wanted wanted = { .attribute = DW_AT_name };

	return look_up(file, die, look_for_text, &wanted) ? wanted.text : "";
}

const char *heap_dwarf_linkage_name(struct heap_dwarf_file *file, Dwarf_Die die)
{
	struct wanted wanted = { .attribute = DW_AT_linkage_name,
				 .alternative = DW_AT_MIPS_linkage_name };

	return look_up(file, die, look_for_text, &wanted) ? wanted.text : "";
}

bool heap_dwarf_inherited_unsigned(struct heap_dwarf_file *file, Dwarf_Die die,
				   Dwarf_Half attribute, uint64_t *result)
{
	struct wanted wanted = { .attribute = attribute };

	if (!look_up(file, die, look_for_unsigned, &wanted))
		return false;
	*result = wanted.number;
	return true;
}

bool heap_dwarf_inherited_reference_offset(struct heap_dwarf_file *file, Dwarf_Die die,
					   Dwarf_Half attribute, uint64_t *result)
{
	struct wanted wanted = { .attribute = attribute };

	if (!look_up(file, die, look_for_reference, &wanted))
		return false;
	*result = wanted.number;
	return true;
}

struct cover {
	uint64_t pc;
	bool covers;
};

static bool compare_range(void *context, uint64_t low, uint64_t high)
{
	struct cover *cover = context;

	cover->covers = cover->pc >= low && cover->pc < high;
	return !cover->covers;
}

bool heap_dwarf_covers(struct heap_dwarf_file *file, Dwarf_Die unit, Dwarf_Die die, uint64_t pc)
{
	struct cover cover = { .pc = pc };

	heap_dwarf_visit_ranges(file, unit, die, compare_range, &cover);
	return cover.covers;
}

void heap_dwarf_files_read(struct heap_dwarf_file *file, Dwarf_Die unit,
			   struct heap_dwarf_files *result)
{
	Dwarf_Error error = NULL;
	Dwarf_Half version = 0, offset_size;
	Dwarf_Signed count;
	char **paths;

	*result = (struct heap_dwarf_files){ .debug = file->debug };
	if (!found(file, dwarf_srcfiles(unit, &paths, &count, &error), error))
		return;
	result->paths = paths;
	result->count = count;
	dwarf_get_version_of_die(unit, &version, &offset_size);
	result->first = version < 5;
}

void heap_dwarf_files_deinit(struct heap_dwarf_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		dwarf_dealloc(files->debug, files->paths[i], DW_DLA_STRING);
	if (files->paths)
		dwarf_dealloc(files->debug, files->paths, DW_DLA_LIST);
	*files = (struct heap_dwarf_files){ 0 };
}

const char *heap_dwarf_files_name(const struct heap_dwarf_files *files, uint64_t number)
{
	if (number < files->first || number - files->first >= files->count)
		return "";

	const char *path = files->paths[number - files->first];
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
