// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_object.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_library.h"

enum {
	SECTIONS_MAX = 24, // those that have a name in dwarf_sections.c, and the null section
};

// Its first member is the one that callers see.
struct object {
	struct heap_dwarf_object public;
	heap_dwarf_access access;
	struct heap_dwarf_section
		sections[SECTIONS_MAX]; // [count]; the first is ELF's null section
	size_t count;
};

// --- what libdwarf calls ---------------------------------------------------------------------

static int describe_section(void *context, size_t index, heap_dwarf_access_section *result)
{
	const struct object *object = context;
	const struct heap_dwarf_section *section = &object->sections[index];

	if (index >= object->count)
		return DW_DLV_NO_ENTRY;
#ifdef DW_LIBDWARF_VERSION
	*result = (heap_dwarf_access_section){ .as_name = section->name,
					       .as_addr = section->address,
					       .as_size = section->bytes.size };
#else
	*result = (heap_dwarf_access_section){ .name = section->name,
					       .addr = section->address,
					       .size = section->bytes.size };
#endif
	return DW_DLV_OK;
}

static int load_section(void *context, size_t index, Dwarf_Small **result)
{
	const struct object *object = context;

	if (index >= object->count || !object->sections[index].bytes.bytes)
		return DW_DLV_NO_ENTRY;
	*result = (Dwarf_Small *)object->sections[index].bytes.bytes;
	return DW_DLV_OK;
}

// The type of an index has become wider.
static int describe_half(void *context, Dwarf_Half index, heap_dwarf_access_section *result,
			 int *error)
{
	*error = 0;
	return describe_section(context, index, result);
}

static int load_half(void *context, Dwarf_Half index, Dwarf_Small **result, int *error)
{
	*error = 0;
	return load_section(context, index, result);
}

static Dwarf_Unsigned count_sections(void *context)
{
	return ((const struct object *)context)->count;
}

// The size of addresses, and of lengths where no unit says otherwise.
static Dwarf_Small get_word_size(void *context)
{
	(void)context;
	return 8;
}

#ifdef DW_LIBDWARF_VERSION

static int describe_wide(void *context, Dwarf_Unsigned index, heap_dwarf_access_section *result,
			 int *error)
{
	*error = 0;
	return describe_section(context, index, result);
}

static int load_wide(void *context, Dwarf_Unsigned index, Dwarf_Small **result, int *error)
{
	*error = 0;
	return load_section(context, index, result);
}

static Dwarf_Small get_byte_order(void *context)
{
	(void)context;
	return DW_END_little;
}

// An upper bound of sizes that make sense: that of the largest section.
static Dwarf_Unsigned get_file_size(void *context)
{
	const struct object *object = context;
	Dwarf_Unsigned size = 0;

	for (size_t i = 0; i < object->count; i++)
		size = object->sections[i].bytes.size > size ? object->sections[i].bytes.size
							     : size;
	return size + 1;
}

#define MEMBER(name) ((heap_dwarf_access_methods *)0)->name
#define IS_HALF(type) __builtin_types_compatible_p(typeof(MEMBER(type)), typeof(&describe_half))

static const heap_dwarf_access_methods methods = {
	.om_get_section_info =
		__builtin_choose_expr(IS_HALF(om_get_section_info), describe_half, describe_wide),
	.om_get_byte_order = get_byte_order,
	.om_get_length_size = get_word_size,
	.om_get_pointer_size = get_word_size,
	.om_get_filesize = get_file_size,
	.om_get_section_count = count_sections,
	.om_load_section =
		__builtin_choose_expr(IS_HALF(om_get_section_info), load_half, load_wide),
};

static void set_access(struct object *object)
{
	object->access = (heap_dwarf_access){ .ai_object = object, .ai_methods = &methods };
}

#else

static Dwarf_Endianness get_byte_order(void *context)
{
	(void)context;
	return DW_OBJECT_LSB;
}

static const heap_dwarf_access_methods methods = {
	.get_section_info = describe_half,
	.get_byte_order = get_byte_order,
	.get_length_size = get_word_size,
	.get_pointer_size = get_word_size,
	.get_section_count = count_sections,
	.load_section = load_half,
};

static void set_access(struct object *object)
{
	object->access = (heap_dwarf_access){ .object = object, .methods = &methods };
}

#endif

// --- objects ---------------------------------------------------------------------------------

struct heap_error *heap_dwarf_object_open(const struct heap_dwarf_section *sections, size_t count,
					  struct heap_dwarf_object **result)
{
	CLEANUP_FREE struct object *object = calloc(1, sizeof(*object));
	Dwarf_Error error = NULL;

	if (!object)
		return heap_error_out_of_memory();
	object->sections[object->count++].name = "";
	for (size_t i = 0; i < count && object->count < SECTIONS_MAX; i++)
		if (sections[i].bytes.bytes && sections[i].bytes.size)
			object->sections[object->count++] = sections[i];
	set_access(object);

	int status = dwarf_object_init_b(&object->access, NULL, NULL, DW_GROUPNUMBER_ANY,
					 &object->public.debug, &error);

	if (status == DW_DLV_NO_ENTRY)
		return heap_error_create(HEAP_ERROR_ABSENT, "no sections with debug information");
	if (status != DW_DLV_OK) {
		struct heap_error *failure = heap_error_create(
			HEAP_ERROR_FORMAT, "debug information: %s", dwarf_errmsg(error));

		dwarf_dealloc_error(NULL, error);
		return failure;
	}
	*result = &keep(object)->public;
	return NULL;
}

struct heap_error *heap_dwarf_object_open_bytes(struct heap_dwarf_bytes bytes,
						struct heap_dwarf_object **result)
{
	struct heap_dwarf_section section = { .name = ".debug_abbrev", .bytes = bytes };
	Dwarf_Abbrev abbreviation;
	Dwarf_Unsigned length, count;
	Dwarf_Error error = NULL;

	HEAP_TRY(heap_dwarf_object_open(&section, 1, result));
	if (heap_dwarf_object_succeeded(
		    *result,
		    dwarf_get_abbrev((*result)->debug, 0, &abbreviation, &length, &count, &error),
		    error))
		dwarf_dealloc((*result)->debug, abbreviation, DW_DLA_ABBREV);
	return NULL;
}

// libdwarf of 2021 believes the headers of .debug_loclists (DWARF 5, section 7.29).
static bool has_sound_headers(struct heap_dwarf_bytes section)
{
	struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, 0, section.size);

	while (!cursor.bad && cursor.at < cursor.end) {
		unsigned offset_size = 4;
		uint64_t length = heap_dwarf_fixed(&cursor, 4);

		if (length == 0xffffffff) {
			offset_size = 8;
			length = heap_dwarf_fixed(&cursor, 8);
		}

		const uint8_t *start = heap_dwarf_skip(&cursor, length);
		struct heap_dwarf_cursor header = { start, cursor.at, false };

		if (!start)
			return false;

		unsigned version = heap_dwarf_fixed(&header, 2);
		unsigned address_size = heap_dwarf_fixed(&header, 1);
		unsigned segment_size = heap_dwarf_fixed(&header, 1);

		heap_dwarf_skip(&header, heap_dwarf_fixed(&header, 4) * offset_size);
		if (header.bad || version != 5 || (address_size != 8 && address_size != 4) ||
		    segment_size)
			return false;
	}
	return !cursor.bad;
}

struct heap_error *heap_dwarf_object_open_file(const struct heap_dwarf_sections *sections,
					       struct heap_dwarf_object **result)
{
	struct heap_dwarf_section list[SECTIONS_MAX];
	size_t count = heap_dwarf_sections_list(sections, list, SECTIONS_MAX);

	for (size_t i = 0; i < count; i++)
		if (list[i].bytes.bytes == sections->location_lists.bytes &&
		    !has_sound_headers(list[i].bytes))
			list[i].bytes = (struct heap_dwarf_bytes){ 0 };
	return heap_dwarf_object_open(list, count, result);
}

void heap_dwarf_object_close(struct heap_dwarf_object *object)
{
	if (!object)
		return;
	heap_dwarf_finish(object->debug);
	free(object);
}

// libdwarf gives a split unit the bases of its skeleton when it goes from header to header, and
// not when it reads a DIE. @return the number of headers
static size_t read_headers(struct heap_dwarf_object *split)
{
	Dwarf_Unsigned length, type_offset, next;
	Dwarf_Off abbreviations;
	Dwarf_Half version, address_size, offset_size, extension_size, type;
	Dwarf_Sig8 signature;
	Dwarf_Error error = NULL;
	size_t count = 0;

	while (heap_dwarf_object_succeeded(
		split,
		dwarf_next_cu_header_d(split->debug, true, &length, &version, &abbreviations,
				       &address_size, &offset_size, &extension_size, &signature,
				       &type_offset, &next, &type, &error),
		error))
		count++;
	return count;
}

void heap_dwarf_object_tie(struct heap_dwarf_object *split, const struct heap_dwarf_object *main,
			   size_t skeletons)
{
	Dwarf_Error error = NULL;
	size_t count = 1;

	if (!heap_dwarf_object_succeeded(
		    split, dwarf_set_tied_dbg(split->debug, main->debug, &error), error))
		return;
	// The release of 2021 reads one more skeleton for each header, and gives up if it is the
	// wrong one. When as many headers have been read it knows them all.
	for (size_t searches = 0; count && searches < skeletons; searches += count)
		count = read_headers(split);
	read_headers(split);
}

bool heap_dwarf_object_succeeded(const struct heap_dwarf_object *object, int status,
				 struct Dwarf_Error_s *error)
{
	if (status == DW_DLV_ERROR && error)
		dwarf_dealloc_error(object->debug, error);
	return status == DW_DLV_OK;
}
