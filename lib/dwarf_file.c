// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf_file.h"

#include "lib/cleanup.h"
#include "lib/debug_code.h"

#include <fcntl.h>
#include <string.h>

// Code that belongs to one unit. They are disjoint in sound files.
struct heap_dwarf_range {
	uint64_t start, end;
	uint64_t die; // the unit's
};

// --- what differs between libdwarf 20210528 and 0.4 and later ----------------------------

#ifdef DW_LIBDWARF_VERSION_MAJOR
static int init(int descriptor, Dwarf_Debug *debug, Dwarf_Error *error)
{
	return dwarf_init_b(descriptor, DW_GROUPNUMBER_ANY, NULL, NULL, debug, error);
}

static void finish(Dwarf_Debug debug)
{
	dwarf_finish(debug);
}

static void end_ranges(Dwarf_Debug debug, Dwarf_Ranges *ranges, Dwarf_Signed count)
{
	dwarf_dealloc_ranges(debug, ranges, count);
}
#else
static int init(int descriptor, Dwarf_Debug *debug, Dwarf_Error *error)
{
	return dwarf_init_b(descriptor, DW_DLC_READ, DW_GROUPNUMBER_ANY, NULL, NULL, debug, error);
}

static void finish(Dwarf_Debug debug)
{
	dwarf_finish(debug, NULL);
}

static void end_ranges(Dwarf_Debug debug, Dwarf_Ranges *ranges, Dwarf_Signed count)
{
	dwarf_ranges_dealloc(debug, ranges, count);
}
#endif

// --- open and close ------------------------------------------------------------------------

struct heap_error *heap_dwarf_open(const char *path, struct heap_dwarf_file **result)
{
	CLEANUP_FREE struct heap_dwarf_file *file = calloc(1, sizeof(*file));
	CLEANUP_FREE char *name = strdup(path);
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);

	if (!file || !name)
		return heap_error_out_of_memory();
	if (descriptor < 0)
		return heap_error_create_system("%s", path);

	Dwarf_Error error = NULL;

	file->path = name;
	switch (init(descriptor, &file->debug, &error)) {
	case DW_DLV_OK:
		break;
	case DW_DLV_NO_ENTRY:
		return heap_error_create(HEAP_ERROR_ABSENT, "%s: no debug information", path);
	default:
		return heap_dwarf_error(file, error, "cannot be opened");
	}
	file->descriptor = descriptor;
	descriptor = -1;
	name = NULL;
	*result = keep(file);
	return NULL;
}

void heap_dwarf_close(struct heap_dwarf_file *file)
{
	if (!file)
		return;
	finish(file->debug);
	heap_debug_code_destroy(file->code);
	if (file->debug_units)
		heap_debug_units_close(file->debug_units);
	free(file->debug_units);
	close(file->descriptor);
	free(file->units);
	free(file->ranges);
	free(file->path);
	free(file);
}

struct heap_error *heap_dwarf_error(struct heap_dwarf_file *file, Dwarf_Error error,
				    const char *what)
{
	struct heap_error *result = heap_error_create(HEAP_ERROR_FORMAT, "%s: %s: %s", file->path,
						      what, dwarf_errmsg(error));

	dwarf_dealloc_error(file->debug, error);
	return result;
}

// Whether libdwarf found what it was asked for; its error, if it made one, is freed.
static bool found(struct heap_dwarf_file *file, int answer, Dwarf_Error error)
{
	if (answer == DW_DLV_ERROR)
		dwarf_dealloc_error(file->debug, error);
	return answer == DW_DLV_OK;
}

// --- units -----------------------------------------------------------------------------------

static bool grow(void **array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return true;

	size_t more = *capacity ? *capacity * 2 : 64;
	void *bigger = reallocarray(*array, more, size);

	if (bigger) {
		*array = bigger;
		*capacity = more;
	}
	return bigger;
}

// The offset of the DIE of the unit whose header was read last, 0 if there is none.
static uint64_t current_unit_die(struct heap_dwarf_file *file, bool in_info)
{
	Dwarf_Error error = NULL;
	Dwarf_Off offset = 0;
	Dwarf_Die die;

	if (!found(file, dwarf_siblingof_b(file->debug, NULL, in_info, &die, &error), error))
		return 0;
	if (!found(file, dwarf_dieoffset(die, &offset, &error), error))
		offset = 0;
	dwarf_dealloc_die(die);
	return offset;
}

// Reads the headers of one section, all to the end: libdwarf keeps its place in between.
HEAP_MUST_CHECK
static struct heap_error *read_headers(struct heap_dwarf_file *file, bool in_info, size_t *capacity)
{
	uint64_t start = 0;

	for (;;) {
		Dwarf_Error error = NULL;
		Dwarf_Unsigned length, type_offset = 0, next = 0;
		Dwarf_Half version, address_size, length_size, extension_size, type;
		Dwarf_Off abbreviations;
		Dwarf_Sig8 signature = { { 0 } };
		int answer = dwarf_next_cu_header_d(file->debug, in_info, &length, &version,
						    &abbreviations, &address_size, &length_size,
						    &extension_size, &signature, &type_offset,
						    &next, &type, &error);

		if (!found(file, answer, error)) {
			file->units_damaged |= answer == DW_DLV_ERROR;
			return NULL;
		}
		if (!grow((void **)&file->units, file->unit_count, capacity, sizeof(*file->units)))
			return heap_error_out_of_memory();

		struct heap_dwarf_unit *unit = &file->units[file->unit_count++];

		*unit = (struct heap_dwarf_unit){ .die = current_unit_die(file, in_info),
						  .end = next,
						  .in_info = in_info };
		if (type == DW_UT_type || type == DW_UT_split_type) {
			memcpy(&unit->signature, &signature, sizeof(unit->signature));
			unit->type_die = start + type_offset;
		}
		start = next;
	}
}

struct heap_error *heap_dwarf_units(struct heap_dwarf_file *file,
				    const struct heap_dwarf_unit **result, size_t *count)
{
	struct heap_error *error = NULL;
	size_t capacity = 0;

	if (!file->has_units) {
		error = read_headers(file, true, &capacity);
		if (!error)
			error = read_headers(file, false, &capacity);
		file->has_units = !error;
	}
	if (error) {
		file->unit_count = 0;
		free(keep(file->units));
		return error;
	}
	*result = file->units;
	*count = file->unit_count;
	return NULL;
}

const struct heap_dwarf_unit *heap_dwarf_find_type_unit(struct heap_dwarf_file *file,
							uint64_t signature)
{
	const struct heap_dwarf_unit *units;
	size_t count;
	struct heap_error *error = heap_dwarf_units(file, &units, &count);

	heap_error_destroy(error);
	if (error)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (units[i].signature == signature && units[i].type_die)
			return &units[i];
	return NULL;
}

struct heap_error *heap_dwarf_visit_units(struct heap_dwarf_file *file,
					  struct heap_error *(*visit)(void *context,
								      Dwarf_Die unit),
					  void *context)
{
	const struct heap_dwarf_unit *units;
	size_t count;
	struct heap_error *result = heap_dwarf_units(file, &units, &count);

	for (size_t i = 0; !result && i < count; i++) {
		Dwarf_Error error = NULL;
		Dwarf_Die die;

		if (!units[i].die || !found(file,
					    dwarf_offdie_b(file->debug, units[i].die,
							   units[i].in_info, &die, &error),
					    error))
			continue;
		result = visit(context, die);
		dwarf_dealloc_die(die);
	}
	return result;
}

// --- ranges of code --------------------------------------------------------------------------

// What the linker threw away starts at 0, or at 1 in lists where 0 would end them.
static bool is_code(uint64_t low, uint64_t high)
{
	return low > 1 && low < high;
}

typedef bool range_visitor(void *context, uint64_t low, uint64_t high);

// DW_AT_low_pc, 0 if there is none.
static uint64_t low_pc(struct heap_dwarf_file *file, Dwarf_Die die)
{
	Dwarf_Error error = NULL;
	Dwarf_Addr low;

	return found(file, dwarf_lowpc(die, &low, &error), error) ? low : 0;
}

static void visit_pcs(struct heap_dwarf_file *file, Dwarf_Die die, range_visitor *visit,
		      void *context)
{
	Dwarf_Error error = NULL;
	enum Dwarf_Form_Class class;
	uint64_t low = low_pc(file, die);
	Dwarf_Addr high;
	Dwarf_Half form;

	if (!found(file, dwarf_highpc_b(die, &high, &form, &class, &error), error))
		return;
	if (class == DW_FORM_CLASS_CONSTANT)
		high = high > UINT64_MAX - low ? UINT64_MAX : low + high;
	if (is_code(low, high))
		visit(context, low, high);
}

// DWARF 5: .debug_rnglists.
static void visit_rnglist(struct heap_dwarf_file *file, Dwarf_Attribute attribute, Dwarf_Half form,
			  uint64_t value, range_visitor *visit, void *context)
{
	Dwarf_Error error = NULL;
	Dwarf_Rnglists_Head head;
	Dwarf_Unsigned count, where;

	if (!found(file,
		   dwarf_rnglists_get_rle_head(attribute, form, value, &head, &count, &where,
					       &error),
		   error))
		return;
	for (Dwarf_Unsigned i = 0; i < count; i++) {
		unsigned length, kind;
		Dwarf_Unsigned raw1, raw2, low, high;
		Dwarf_Bool no_addresses = 0;

		if (!found(file,
			   dwarf_get_rnglists_entry_fields_a(head, i, &length, &kind, &raw1, &raw2,
							     &no_addresses, &low, &high, &error),
			   error) ||
		    kind == DW_RLE_end_of_list)
			break;
		if (no_addresses || kind == DW_RLE_base_address || kind == DW_RLE_base_addressx)
			continue;
		if (is_code(low, high) && !visit(context, low, high))
			break;
	}
	dwarf_dealloc_rnglists_head(head);
}

// DWARF 3 and 4: .debug_ranges.
static void visit_ranges_section(struct heap_dwarf_file *file, Dwarf_Die unit, Dwarf_Die die,
				 uint64_t offset, range_visitor *visit, void *context)
{
	Dwarf_Error error = NULL;
	Dwarf_Off real;
	Dwarf_Ranges *ranges;
	Dwarf_Signed count;
	Dwarf_Unsigned bytes;
	uint64_t base = low_pc(file, unit);

	if (!found(file,
		   dwarf_get_ranges_b(file->debug, offset, die, &real, &ranges, &count, &bytes,
				      &error),
		   error))
		return;
	for (Dwarf_Signed i = 0; i < count && ranges[i].dwr_type != DW_RANGES_END; i++) {
		if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION) {
			base = ranges[i].dwr_addr2;
			continue;
		}
		if (is_code(base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2) &&
		    !visit(context, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2))
			break;
	}
	end_ranges(file->debug, ranges, count);
}

// The value of DW_AT_ranges: an offset, or an index.
static bool ranges_value(struct heap_dwarf_file *file, Dwarf_Attribute attribute, Dwarf_Half *form,
			 uint64_t *result)
{
	Dwarf_Error error = NULL;
	Dwarf_Unsigned index;
	Dwarf_Off offset;

	if (!found(file, dwarf_whatform(attribute, form, &error), error))
		return false;
	if (*form != DW_FORM_rnglistx &&
	    found(file, dwarf_global_formref(attribute, &offset, &error), error)) {
		*result = offset;
		return true;
	}
	if (!found(file, dwarf_formudata(attribute, &index, &error), error))
		return false;
	*result = index;
	return true;
}

void heap_dwarf_visit_ranges(struct heap_dwarf_file *file, Dwarf_Die unit, Dwarf_Die die,
			     range_visitor *visit, void *context)
{
	Dwarf_Error error = NULL;
	Dwarf_Attribute attribute;
	Dwarf_Half form, version = 0, offset_size;
	uint64_t value;

	if (!found(file, dwarf_attr(die, DW_AT_ranges, &attribute, &error), error)) {
		visit_pcs(file, die, visit, context);
		return;
	}
	dwarf_get_version_of_die(die, &version, &offset_size);
	if (ranges_value(file, attribute, &form, &value)) {
		if (version >= 5)
			visit_rnglist(file, attribute, form, value, visit, context);
		else
			visit_ranges_section(file, unit, die, value, visit, context);
	}
	dwarf_dealloc_attribute(attribute);
}

// --- units by address ------------------------------------------------------------------------

struct gathering {
	struct heap_dwarf_file *file;
	size_t capacity;
	uint64_t die;
	bool failed; // memory
};

static bool add_range(void *context, uint64_t low, uint64_t high)
{
	struct gathering *gathering = context;
	struct heap_dwarf_file *file = gathering->file;

	if (!grow((void **)&file->ranges, file->range_count, &gathering->capacity,
		  sizeof(*file->ranges))) {
		gathering->failed = true;
		return false;
	}
	file->ranges[file->range_count++] = (struct heap_dwarf_range){ low, high, gathering->die };
	return true;
}

static void add_aranges(struct gathering *gathering)
{
	struct heap_dwarf_file *file = gathering->file;
	Dwarf_Error error = NULL;
	Dwarf_Arange *aranges;
	Dwarf_Signed count;

	if (!found(file, dwarf_get_aranges(file->debug, &aranges, &count, &error), error))
		return;
	for (Dwarf_Signed i = 0; i < count; i++) {
		Dwarf_Unsigned segment, segment_size, length;
		Dwarf_Addr start;
		Dwarf_Off die;

		if (found(file,
			  dwarf_get_arange_info_b(aranges[i], &segment, &segment_size, &start,
						  &length, &die, &error),
			  error) &&
		    is_code(start, start + length)) {
			gathering->die = die;
			add_range(gathering, start, start + length);
		}
		dwarf_dealloc(file->debug, aranges[i], DW_DLA_ARANGE);
	}
	dwarf_dealloc(file->debug, aranges, DW_DLA_LIST);
}

static int compare_dies(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

// The units that .debug_aranges tells of, sorted; a DIE is never at 0.
static uint64_t *told_of(const struct heap_dwarf_file *file)
{
	uint64_t *dies = calloc(file->range_count + 1, sizeof(*dies));

	for (size_t i = 0; dies && i < file->range_count; i++)
		dies[i + 1] = file->ranges[i].die;
	if (dies)
		qsort(dies, file->range_count + 1, sizeof(*dies), compare_dies);
	return dies;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct heap_dwarf_range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

// clang leaves .debug_aranges out, so that some units of a file may have it and others not.
HEAP_MUST_CHECK
static struct heap_error *gather_ranges(struct heap_dwarf_file *file)
{
	struct gathering gathering = { .file = file };
	const struct heap_dwarf_unit *units;
	size_t count;
	struct heap_error *failure = heap_dwarf_units(file, &units, &count);

	if (failure)
		return failure;
	add_aranges(&gathering);

	CLEANUP_FREE uint64_t *told = told_of(file);
	size_t told_count = file->range_count + 1;

	for (size_t i = 0; told && i < count && units[i].in_info; i++) {
		Dwarf_Error error = NULL;
		Dwarf_Die die;

		if (!units[i].die ||
		    bsearch(&units[i].die, told, told_count, sizeof(*told), compare_dies) ||
		    !found(file, dwarf_offdie_b(file->debug, units[i].die, true, &die, &error),
			   error))
			continue;
		gathering.die = units[i].die;
		heap_dwarf_visit_ranges(file, die, die, add_range, &gathering);
		dwarf_dealloc_die(die);
	}
	if (!told || gathering.failed) {
		file->range_count = 0;
		free(keep(file->ranges));
		return heap_error_out_of_memory();
	}
	if (file->range_count)
		qsort(file->ranges, file->range_count, sizeof(*file->ranges), compare_ranges);
	file->has_ranges = true;
	return NULL;
}

// The last range that starts at or before pc, if it reaches that far.
static const struct heap_dwarf_range *range_of(const struct heap_dwarf_file *file, uint64_t pc)
{
	size_t low = 0, high = file->range_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->ranges[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low && pc < file->ranges[low - 1].end ? &file->ranges[low - 1] : NULL;
}

struct heap_error *heap_dwarf_find_unit(struct heap_dwarf_file *file, uint64_t pc,
					Dwarf_Die *result)
{
	struct heap_error *failure = file->has_ranges ? NULL : gather_ranges(file);

	if (failure)
		return failure;

	const struct heap_dwarf_range *range = range_of(file, pc);
	Dwarf_Error error = NULL;
	Dwarf_Die die;

	if (!range) {
		*result = NULL;
		return NULL;
	}
	if (dwarf_offdie_b(file->debug, range->die, true, &die, &error) != DW_DLV_OK)
		return heap_dwarf_error(file, error, "compilation unit");
	*result = die;
	return NULL;
}
