// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_wrappers.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_constants.h"

enum {
	LEAST_SIZE = 4,       // bytes of a number that can be a size
	MOST_PARAMETERS = 16, // of a function, template parameters included
	MOST_NAMES = 16,      // typedefs and qualifiers of a type
};

// The attributes of a type.
struct type {
	uint64_t target; // place of the type it is made of; HEAP_DWARF_NOWHERE: void, or of none
	uint64_t size, encoding;
	uint16_t tag;
};

static void note_type(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	struct type *type = context;

	if (name == DW_AT_type && value->kind == HEAP_DWARF_REFERENCE_VALUE)
		type->target = value->number;
	if (name == DW_AT_byte_size)
		type->size = value->number;
	if (name == DW_AT_encoding)
		type->encoding = value->number;
}

static bool is_name(uint16_t tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

// The type behind typedefs and qualifiers; all zeros for void.
HEAP_MUST_CHECK
static struct heap_error *find_type(struct heap_dwarf_code *code, uint64_t place,
				    struct type *result)
{
	*result = (struct type){ .target = place };
	for (int i = 0; i < MOST_NAMES && result->target; i++) {
		const struct heap_dwarf_dies *dies;
		uint64_t next, at = result->target;
		bool children;

		*result = (struct type){ .target = HEAP_DWARF_NOWHERE };
		HEAP_TRY(heap_dwarf_code_visit(code, at, note_type, result, &dies, &result->tag,
					       &children, &next));
		if (!is_name(result->tag))
			return NULL;
	}
	*result = (struct type){ 0 };
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *is_pointer_to_void(struct heap_dwarf_code *code, uint64_t place,
					     bool *result)
{
	struct type type, target;

	*result = false;
	HEAP_TRY(find_type(code, place, &type));
	if (type.tag != DW_TAG_pointer_type)
		return NULL;
	HEAP_TRY(find_type(code, type.target, &target));
	*result = target.tag == 0 || target.tag == DW_TAG_unspecified_type;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *is_number(struct heap_dwarf_code *code, uint64_t parameter, bool *result)
{
	struct heap_dwarf_description entry;
	struct type type;

	HEAP_TRY(heap_dwarf_code_describe(code, parameter, &entry));
	HEAP_TRY(find_type(code, entry.type, &type));
	*result = type.tag == DW_TAG_base_type && type.size >= LEAST_SIZE &&
		  (type.encoding == DW_ATE_signed || type.encoding == DW_ATE_unsigned);
	return NULL;
}

// The DIEs of parameters are the first below that of a function, in the order of its declaration.
HEAP_MUST_CHECK
static struct heap_error *takes_number(struct heap_dwarf_code *code, uint64_t function,
				       bool *result)
{
	const struct heap_dwarf_dies *dies;
	bool children;
	uint16_t tag;
	uint64_t place, next;

	*result = false;
	HEAP_TRY(heap_dwarf_code_visit(code, function, heap_dwarf_ignore_attribute, NULL, &dies,
				       &tag, &children, &place));
	for (int i = 0; i < MOST_PARAMETERS && children && !*result; i++) {
		bool has_children;

		HEAP_TRY(heap_dwarf_code_visit(code, place, heap_dwarf_ignore_attribute, NULL,
					       &dies, &tag, &has_children, &next));
		if (tag == DW_TAG_formal_parameter)
			HEAP_TRY(is_number(code, place, result));
		else if (tag == 0 || has_children)
			return NULL;
		place = next;
	}
	return NULL;
}

struct heap_error *heap_dwarf_is_wrapper(struct heap_dwarf_code *code, uint64_t place, bool *result)
{
	struct heap_dwarf_description entry;

	*result = false;
	HEAP_TRY(heap_dwarf_code_describe(code, place, &entry));
	if (!entry.type)
		return NULL;
	HEAP_TRY(is_pointer_to_void(code, entry.type, result));
	return *result ? takes_number(code, entry.original ? entry.original : entry.root, result)
		       : NULL;
}
