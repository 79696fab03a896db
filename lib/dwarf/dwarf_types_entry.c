// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_types_unit.h"

#include "lib/dwarf/dwarf_constants.h"

#include <string.h>

enum {
	CHAIN_MAX = 16, // typedefs and qualifiers of a bit-field's type
};

// No object is larger; beyond it, sums of offsets could overflow.
#define SIZE_MAX_SANE (UINT64_MAX / 16)

// --- types ---------------------------------------------------------------------------------

static uint8_t base_flags(const struct heap_dwarf_die *entry)
{
	switch (entry->encoding) {
	case DW_ATE_boolean:
		return HEAP_TYPE_BOOLEAN;
	case DW_ATE_float:
		// As large as the x87's, but another format.
		return entry->name && strstr(entry->name, "loat128") ? 0 : HEAP_TYPE_FLOAT;
	case DW_ATE_signed:
		return HEAP_TYPE_SIGNED;
	case DW_ATE_signed_char:
		return HEAP_TYPE_SIGNED | HEAP_TYPE_CHARACTER;
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
	case DW_ATE_ASCII:
	case DW_ATE_UCS:
		return HEAP_TYPE_CHARACTER;
	default:
		return 0;
	}
}

static uint8_t kind_of(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_base_type:
	case DW_TAG_string_type:
	case DW_TAG_set_type:
	case DW_TAG_file_type:
	case DW_TAG_unspecified_type:
		return HEAP_TYPE_BASE;
	case DW_TAG_structure_type:
		return HEAP_TYPE_STRUCT;
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
		return HEAP_TYPE_CLASS;
	case DW_TAG_union_type:
		return HEAP_TYPE_UNION;
	case DW_TAG_enumeration_type:
		return HEAP_TYPE_ENUM;
	case DW_TAG_pointer_type:
		return HEAP_TYPE_POINTER;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return HEAP_TYPE_REFERENCE;
	case DW_TAG_array_type:
		return HEAP_TYPE_ARRAY;
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		return HEAP_TYPE_TYPEDEF;
	case DW_TAG_const_type:
	case DW_TAG_immutable_type:
		return HEAP_TYPE_CONST;
	case DW_TAG_volatile_type:
		return HEAP_TYPE_VOLATILE;
	case DW_TAG_atomic_type:
		return HEAP_TYPE_ATOMIC;
	case DW_TAG_subroutine_type:
		return HEAP_TYPE_FUNCTION;
	case DW_TAG_ptr_to_member_type:
		return HEAP_TYPE_MEMBER_POINTER;
	case DW_TAG_restrict_type:
	case DW_TAG_packed_type:
	case DW_TAG_shared_type:
	case DW_TAG_subrange_type:
	case DW_TAG_generic_subrange:
		return HEAP_TYPE_ALIAS;
	default:
		return HEAP_TYPE_UNKNOWN;
	}
}

bool heap_unit_is_aggregate(uint16_t tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_interface_type || tag == DW_TAG_union_type;
}

// What lies where an array is said to be that has its elements elsewhere (DWARF 5, section 5.18.1): Fortran's
// allocatable arrays and pointers to arrays, Ada's accesses to unconstrained ones. The descriptors of both begin
// with a pointer to the elements.
static uint8_t descriptor_kind(const struct heap_dwarf_die *entry)
{
	bool begins_with_pointer = entry->location_size == 2 &&
				   entry->location[0] == DW_OP_push_object_address &&
				   entry->location[1] == DW_OP_deref;

	return begins_with_pointer ? HEAP_TYPE_POINTER : HEAP_TYPE_UNKNOWN;
}

struct heap_type heap_unit_type(const struct heap_unit_reader *reader,
				const struct heap_dwarf_die *entry)
{
	struct heap_type type = { .kind = kind_of(entry->tag) };
	uint64_t pointer_size = reader->unit->address_size;

	if (entry->has & HEAP_DWARF_HAS_DATA_LOCATION)
		return (struct heap_type){ .kind = descriptor_kind(entry), .size = pointer_size };
	if (entry->has & HEAP_DWARF_HAS_SIZE && entry->size <= SIZE_MAX_SANE)
		type.size = entry->size;
	// A type that a type unit defines has no size here, and may lack DW_AT_declaration.
	if (type.kind >= HEAP_TYPE_STRUCT && type.kind <= HEAP_TYPE_ENUM &&
	    (entry->has & HEAP_DWARF_IS_DECLARATION || !(entry->has & HEAP_DWARF_HAS_SIZE)))
		type.flags |= HEAP_TYPE_DECLARATION;
	switch (type.kind) {
	case HEAP_TYPE_BASE:
		type.flags |= base_flags(entry);
		// Its characters. How many there are may be known at run time only (DWARF 5, section 5.11).
		if (entry->tag == DW_TAG_string_type) {
			type.flags = HEAP_TYPE_CHARACTER;
			type.size = 1;
		}
		// decltype(nullptr), or the void of an old compiler, which is no type.
		if (entry->tag == DW_TAG_unspecified_type) {
			if (entry->name && strcmp(entry->name, "void") == 0)
				type.kind = HEAP_TYPE_ALIAS;
			type.size = pointer_size;
		}
		break;
	case HEAP_TYPE_CLASS:
	case HEAP_TYPE_STRUCT:
		if (entry->has & HEAP_DWARF_IS_CONTAINING)
			type.flags |= HEAP_TYPE_POLYMORPHIC;
		break;
	case HEAP_TYPE_POINTER:
	case HEAP_TYPE_REFERENCE:
		type.size = type.size ? type.size : pointer_size;
		break;
	case HEAP_TYPE_CONST:
	case HEAP_TYPE_VOLATILE:
	case HEAP_TYPE_ATOMIC:
	case HEAP_TYPE_TYPEDEF:
	case HEAP_TYPE_FUNCTION:
		type.size = 0;
		break;
	}
	return type;
}

// Where arrays begin whose DIE does not say it (DWARF 5, table 7.17).
static int64_t default_lower_bound(uint64_t language)
{
	static const uint8_t from_one[] = {
		DW_LANG_Ada83,
		DW_LANG_Cobol74,
		DW_LANG_Cobol85,
		DW_LANG_Fortran77,
		DW_LANG_Fortran90,
		DW_LANG_Pascal83,
		DW_LANG_Modula2,
		DW_LANG_Ada95,
		DW_LANG_Fortran95,
		DW_LANG_PLI,
		DW_LANG_Modula3,
		DW_LANG_Julia,
		DW_LANG_Fortran03,
		DW_LANG_Fortran08,
		0x2d, // Fortran 2018, Ada 2005 and 2012: newer than DWARF 5
		0x2e,
		0x2f,
	};

	for (size_t i = 0; i < sizeof(from_one); i++)
		if (language == from_one[i])
			return 1;
	return 0;
}

struct heap_unit_dimension heap_unit_dimension(const struct heap_unit_reader *reader,
					       const struct heap_dwarf_die *entry)
{
	int64_t lower = entry->lower_bound;
	uint64_t count;

	if (entry->has & HEAP_DWARF_HAS_COUNT)
		return (struct heap_unit_dimension){
			entry->array_count <= SIZE_MAX_SANE ? entry->array_count : 0, false
		};
	if (!(entry->has & HEAP_DWARF_HAS_UPPER_BOUND) || entry->has & HEAP_DWARF_IS_DYNAMIC)
		return (struct heap_unit_dimension){ 0, true };
	if (!(entry->has & HEAP_DWARF_HAS_LOWER_BOUND))
		lower = default_lower_bound(reader->entries.language);
	// The bounds -1 of int x[0], of any width.
	count = (uint64_t)entry->upper_bound - (uint64_t)lower + 1;
	if (entry->upper_bound == UINT32_MAX || count > SIZE_MAX_SANE)
		count = 0;
	return (struct heap_unit_dimension){ count, false };
}

// --- members -------------------------------------------------------------------------------

// Bytes of the type at a place, through typedefs and qualifiers; 0 if unknown.
HEAP_MUST_CHECK
static struct heap_error *size_of(struct heap_unit_reader *reader, uint64_t place, uint64_t *result)
{
	struct heap_dwarf_die entry;

	*result = 0;
	for (int i = 0; i < CHAIN_MAX && place; i++) {
		struct heap_error *error = heap_unit_reader_entry(reader, place, &entry);

		if (error || entry.has & HEAP_DWARF_HAS_SIZE) {
			*result = error ? 0 : entry.size;
			return error;
		}
		place = entry.type;
	}
	return NULL;
}

// Where a member is: a constant, or the one expression that compilers have for one.
static bool member_offset(const struct heap_dwarf_die *entry, uint64_t *result)
{
	if (!entry->location_size) {
		*result = entry->offset;
		return true;
	}

	struct heap_dwarf_cursor cursor = { entry->location, entry->location + entry->location_size,
					    false };

	switch (heap_dwarf_fixed(&cursor, 1)) {
	case DW_OP_plus_uconst:
		*result = heap_dwarf_unsigned(&cursor);
		return !cursor.bad && cursor.at == cursor.end;
	case DW_OP_constu:
		*result = heap_dwarf_unsigned(&cursor);
		return heap_dwarf_fixed(&cursor, 1) == DW_OP_plus && !cursor.bad &&
		       cursor.at == cursor.end;
	default:
		return false;
	}
}

// Little endian: where a bit-field's least significant bit is, from the struct's start.
static uint64_t first_bit(const struct heap_dwarf_die *entry, uint64_t offset, uint64_t storage)
{
	if (entry->has & HEAP_DWARF_HAS_DATA_BITS)
		return entry->data_bits;
	if (entry->has & HEAP_DWARF_HAS_BIT_OFFSET)
		return offset * 8 + storage * 8 - entry->bit_offset - entry->bit_size;
	return offset * 8;
}

// Said by its storage unit where it lies in one, else by its first byte.
static void place_bits(struct heap_member *member, uint64_t first, uint64_t size, uint64_t storage)
{
	uint64_t bits = storage * 8;

	if (!storage || storage > 8 || first % bits + size > bits)
		bits = 8;
	member->flags |= HEAP_MEMBER_BIT_FIELD;
	member->offset = first / bits * (bits / 8);
	member->bit_offset = first % bits;
	member->bit_size = size;
}

struct heap_error *heap_unit_place_member(struct heap_unit_reader *reader,
					  const struct heap_dwarf_die *entry,
					  struct heap_member *result, bool *is_placed)
{
	struct heap_member member = { 0 };
	struct heap_error *error = NULL;
	uint64_t storage = 0, offset;

	*is_placed = false;
	if (entry->tag == DW_TAG_inheritance)
		member.flags |= HEAP_MEMBER_BASE;
	if (!member_offset(entry, &offset)) {
		if (entry->tag != DW_TAG_inheritance)
			return NULL;
		member.flags |= HEAP_MEMBER_VIRTUAL_BASE;
		offset = 0;
	}
	if (offset > SIZE_MAX_SANE || entry->data_bits > SIZE_MAX_SANE || entry->bit_size > 128)
		return NULL;
	member.offset = offset;
	if (entry->name && strncmp(entry->name, "_vptr", 5) == 0 &&
	    (entry->name[5] == '.' || entry->name[5] == '$'))
		member.flags |= HEAP_MEMBER_VTABLE;
	if (entry->bit_size) {
		storage = entry->has & HEAP_DWARF_HAS_SIZE ? entry->size : 0;
		if (!storage)
			error = size_of(reader, entry->type, &storage);
		if (error)
			return error;

		uint64_t first = first_bit(entry, offset, storage < 1024 ? storage : 0);

		if (first > SIZE_MAX_SANE)
			return NULL;
		place_bits(&member, first, entry->bit_size, storage);
	}
	*result = member;
	*is_placed = true;
	return NULL;
}

// --- locations -----------------------------------------------------------------------------

// The first operation: what an address is made of.
static bool first_operation(const struct heap_unit_reader *reader, struct heap_dwarf_cursor *cursor,
			    uint64_t *result, bool *is_address)
{
	uint8_t operation = heap_dwarf_fixed(cursor, 1);
	unsigned address_size = reader->unit->address_size;

	*is_address = false;
	switch (operation) {
	case DW_OP_addr:
		*is_address = true;
		*result = heap_dwarf_fixed(cursor, address_size);
		return !cursor->bad;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		*is_address = true;
		return heap_dwarf_dies_address(&reader->entries, heap_dwarf_unsigned(cursor),
					       result);
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return heap_dwarf_dies_address(&reader->entries, heap_dwarf_unsigned(cursor),
					       result);
	case DW_OP_const4u:
		*result = heap_dwarf_fixed(cursor, 4);
		return !cursor->bad;
	case DW_OP_const8u:
		*result = heap_dwarf_fixed(cursor, 8);
		return !cursor->bad;
	case DW_OP_constu:
		*result = heap_dwarf_unsigned(cursor);
		return !cursor->bad;
	default:
		return false;
	}
}

// Reads a place: up to the end, or to the size of a piece.
//
// @param is_located  gets false for what is no address: a constant
// @return false if it is not understood
static bool read_place(const struct heap_unit_reader *reader, struct heap_dwarf_cursor *cursor,
		       struct heap_unit_variable *result, bool *is_located)
{
	bool is_address, is_value = false, thread_local = false;
	uint64_t address, tombstone = reader->unit->address_size == 4 ? UINT32_MAX : UINT64_MAX;

	if (!first_operation(reader, cursor, &address, &is_address))
		return false;

	uint64_t start = address;

	while (cursor->at < cursor->end && *cursor->at != DW_OP_piece) {
		switch (heap_dwarf_fixed(cursor, 1)) {
		case DW_OP_plus_uconst:
			address += heap_dwarf_unsigned(cursor);
			break;
		case DW_OP_form_tls_address:
		case DW_OP_GNU_push_tls_address:
			thread_local = true;
			break;
		case DW_OP_stack_value:
			is_value = true;
			break;
		default:
			return false;
		}
	}
	// A bare number is no place; and the linker leaves 0 or -1 for what it threw away.
	*is_located = !is_value && (is_address || thread_local) &&
		      (thread_local || (start != 0 && start < tombstone - 1));
	result->address = address;
	result->thread_local = thread_local;
	return !cursor->bad;
}

bool heap_unit_locate(const struct heap_unit_reader *reader, const struct heap_dwarf_die *entry,
		      struct heap_unit_variable *result)
{
	struct heap_dwarf_cursor cursor = { entry->location, entry->location + entry->location_size,
					    false };
	bool is_located;

	return entry->location_size && read_place(reader, &cursor, result, &is_located) &&
	       is_located && cursor.at == cursor.end;
}

bool heap_unit_next_piece(const struct heap_unit_reader *reader, struct heap_dwarf_cursor *cursor,
			  struct heap_unit_variable *result)
{
	while (cursor->at < cursor->end) {
		bool is_located = false;

		result->piece_start += result->piece_size;
		result->piece_size = 0;
		// One that the compiler left out has a size only.
		if ((*cursor->at != DW_OP_piece &&
		     !read_place(reader, cursor, result, &is_located)) ||
		    heap_dwarf_fixed(cursor, 1) != DW_OP_piece)
			return false;
		result->piece_size = heap_dwarf_unsigned(cursor);
		if (cursor->bad || result->piece_size > SIZE_MAX_SANE ||
		    result->piece_start > SIZE_MAX_SANE)
			return false;
		if (is_located && result->piece_size > 0)
			return true;
	}
	return false;
}
