// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/casts/casts.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/casts/code_casts.h"
#include "dumper/writer/scan/modules/module_types.h"
#include "lib/base/cleanup.h"
#include "lib/base/path.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_file_units.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 8,        // of structs and arrays in each other
	MAX_MEMBERS = 4096,   // that are looked at, of a holder
	MAX_CASTS = 1 << 20,  // before equal ones are joined
	MAX_FRAME = 1 << 24,  // bytes
	MAX_DEBUG = 64 << 20, // bytes of .debug_info: 30 MB of it take a second, once
};

struct search {
	struct capture *capture;
	struct module *module;
	struct HEAP_ARRAY(struct cast) found; // in the module
};

static void release(struct search *search)
{
	heap_array_deinit(&search->found);
}

// --- in code ---------------------------------------------------------------------------------

static bool is_void_pointer(const struct heap_types *types, const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_POINTER &&
	       heap_types_strip(types, type->target) == HEAP_NO_TYPE;
}

// The void pointer that a pointer leads to; HEAP_NO_TYPE: it is none, or leads to something else.
static heap_type_id void_pointer_of(const struct heap_types *types, heap_type_id id)
{
	heap_type_id pointee = heap_types_strip(types, heap_types_pointee(types, id));

	return is_void_pointer(types, &types->types[pointee]) ? pointee : HEAP_NO_TYPE;
}

// True if values of a type have void pointers, or lead to arrays of these.
// @param left  members that may still be looked at
static bool has_void_pointer(const struct heap_types *types, heap_type_id id, int depth,
			     uint32_t *left)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (is_void_pointer(types, type) || void_pointer_of(types, id) != HEAP_NO_TYPE)
		return true;
	if (depth == MAX_DEPTH)
		return false;
	if (type->kind == HEAP_TYPE_ARRAY)
		return has_void_pointer(types, type->target, depth + 1, left);
	if (!heap_types_has_members(type))
		return false;
	for (uint32_t i = 0; *left != 0 && i < type->members; i++) {
		--*left;
		if (has_void_pointer(types, types->members[type->first_member + i].type, depth + 1,
				     left))
			return true;
	}
	return false;
}

// Types of members have no place that is known, but their number in the snapshot's table.
#define NUMBERED (UINT64_C(1) << 63)

// There need be no type of pointers to a struct in static memory: that number is of the struct itself.
#define LED_TO (UINT64_C(1) << 62)

// The type that a place or number says.
static heap_type_id type_of(const struct search *search, uint64_t type)
{
	return type & NUMBERED
		       ? (heap_type_id)(type & ~NUMBERED)
		       : module_type(search->module, type, &search->capture->snapshot.types);
}

// Finds what a pointer of a type leads to.
static heap_type_id pointee_of(const struct search *search, uint64_t type)
{
	return type & LED_TO ? (heap_type_id)(type & ~LED_TO)
			     : heap_types_pointee(&search->capture->snapshot.types,
						  type_of(search, type));
}

// The struct that a pointer leads to; HEAP_NO_TYPE: it is none, or leads to none.
static heap_type_id struct_of(const struct search *search, uint64_t pointer)
{
	const struct heap_types *types = &search->capture->snapshot.types;
	heap_type_id pointee = heap_types_strip(types, pointee_of(search, pointer));

	return heap_types_has_members(&types->types[pointee]) && types->types[pointee].size > 0
		       ? pointee
		       : HEAP_NO_TYPE;
}

static unsigned find_roles(void *context, uint64_t place)
{
	struct search *search = context;
	struct heap_types *types = &search->capture->snapshot.types;
	heap_type_id pointee = struct_of(search, place), type;
	uint32_t left = MAX_MEMBERS;

	if (place & LED_TO)
		return has_void_pointer(types, pointee, 0, &left) ? CAST_HOLDER : 0;
	type = type_of(search, place);
	if (is_void_pointer(types, &types->types[heap_types_strip(types, type)]))
		return CAST_VOID;
	if (void_pointer_of(types, type) != HEAP_NO_TYPE)
		return CAST_HOLDER;
	if (pointee == HEAP_NO_TYPE)
		return 0;
	return CAST_TARGET | (has_void_pointer(types, pointee, 0, &left) ? CAST_HOLDER : 0);
}

// The member, or element, that an offset of a value lies in; of a union the last member. @return HEAP_NO_TYPE: none
static heap_type_id step_in(const struct heap_types *types, const struct heap_type *type,
			    uint64_t *offset)
{
	const struct heap_member *members = &types->members[type->first_member];
	uint64_t stride, behind;

	if (type->kind == HEAP_TYPE_ARRAY) {
		stride = heap_types_size(types, type->target);
		*offset = stride > 0 ? *offset % stride : *offset;
		return type->target;
	}
	if (!heap_types_has_members(type))
		return HEAP_NO_TYPE;
	behind = heap_partition_point(i, 0, type->members, members[i].offset <= *offset);
	if (behind == 0)
		return HEAP_NO_TYPE;
	*offset -= members[behind - 1].offset;
	return members[behind - 1].type;
}

// The number of the type of the pointer at an offset of a type; 0: there is none, or in a union.
static uint64_t find_pointer(const struct search *search, heap_type_id id, uint64_t offset)
{
	const struct heap_types *types = &search->capture->snapshot.types;

	progress_step();
	for (int depth = 0; depth < MAX_DEPTH && id != HEAP_NO_TYPE; depth++) {
		const struct heap_type *type;

		id = heap_types_strip(types, id);
		type = &types->types[id];
		if (type->kind == HEAP_TYPE_POINTER)
			return offset == 0 ? NUMBERED | id : 0;
		if (type->kind == HEAP_TYPE_UNION)
			return 0;
		id = step_in(types, type, &offset);
	}
	return 0;
}

static uint64_t find_member(void *context, uint64_t holder, uint32_t offset)
{
	const struct search *search = context;

	return find_pointer(search, pointee_of(search, holder), offset);
}

// The type of the static variable at an address. @param offset  gets that of the address in it
static heap_type_id variable_at(const struct search *search, uint64_t address, uint64_t *offset)
{
	const struct heap_dwarf_info *debug = &search->module->debug;
	const struct heap_dwarf_variable *list = debug->variables;
	uint32_t behind = heap_partition_point(
		i, 0, debug->variable_count,
		!(list[i].flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL) && list[i].address <= address);
	heap_type_id type;

	// Variables that the linker has left out stay at address 0.
	if (behind == 0 || list[behind - 1].address == 0)
		return HEAP_NO_TYPE;
	type = search->module->type_map[list[behind - 1].type];
	*offset = address - list[behind - 1].address;
	return *offset < heap_types_size(&search->capture->snapshot.types, type) ? type
										 : HEAP_NO_TYPE;
}

static uint64_t find_variable(void *context, uint64_t address)
{
	const struct search *search = context;
	uint64_t offset = 0;

	return find_pointer(search, variable_at(search, address, &offset), offset);
}

static uint64_t find_static(void *context, uint64_t address, uint32_t *inner)
{
	const struct search *search = context;
	const struct heap_types *types = &search->capture->snapshot.types;
	uint64_t offset = 0;
	heap_type_id id = heap_types_strip(types, variable_at(search, address, &offset));

	for (int depth = 0; depth < MAX_DEPTH && types->types[id].kind == HEAP_TYPE_ARRAY; depth++)
		id = heap_types_strip(types, step_in(types, &types->types[id], &offset));
	if (!heap_types_has_members(&types->types[id]) || offset > UINT32_MAX)
		return 0;
	*inner = (uint32_t)offset;
	return LED_TO | id;
}

// Registers that cannot be mistaken for each other.
static void make_registers(struct heap_dwarf_registers *registers)
{
	registers->known = UINT64_MAX;
	for (int i = 0; i < HEAP_DWARF_REGISTERS; i++)
		registers->value[i] = UINT64_C(0x100000000) * (uint64_t)(i + 1);
}

static bool read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	(void)address;
	(void)buffer;
	(void)size;
	return false;
}

static bool find_frame(void *context, uint64_t pc, uint8_t reg, int64_t *distance)
{
	const struct search *search = context;
	struct heap_dwarf_unwinder *unwinder = module_unwinder(search->module);
	struct heap_dwarf_registers registers;
	uint64_t cfa = 0, before;
	bool is_signal;

	progress_step();
	make_registers(&registers);
	before = registers.value[reg];
	if (unwinder)
		heap_dwarf_unwinder_step(unwinder, pc, read_nothing, NULL, &registers, &cfa,
					 &is_signal);
	*distance = (int64_t)(before - cfa);
	return cfa != 0 && *distance <= 0 && *distance >= -MAX_FRAME;
}

static bool read_code(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct search *search = context;

	progress_step();
	return image_read(&search->capture->image, address + search->module->bias, buffer, size);
}

// The type of the pointer that a member of a struct is; HEAP_NO_TYPE: it is none.
static heap_type_id pointer_at(const struct heap_types *types, heap_type_id holder, uint64_t offset)
{
	for (int depth = 0; depth < MAX_DEPTH && holder != HEAP_NO_TYPE; depth++) {
		const struct heap_type *type;

		holder = heap_types_strip(types, holder);
		type = &types->types[holder];
		if (type->kind == HEAP_TYPE_POINTER)
			return offset == 0 ? holder : HEAP_NO_TYPE;
		holder = step_in(types, type, &offset);
	}
	return HEAP_NO_TYPE;
}

// The void pointer that is cast: a member of a struct, or an element of any array of them.
static struct cast describe_holder(const struct search *search, const struct code_cast *found)
{
	struct heap_types *types = &search->capture->snapshot.types;
	struct cast result = { .holder = struct_of(search, found->holder),
			       .offset = found->offset };
	heap_type_id pointer;

	if (!found->is_element && result.holder != HEAP_NO_TYPE)
		return result;
	pointer = found->is_element ? pointer_at(types, result.holder, found->offset)
				    : type_of(search, found->holder);
	return (struct cast){ .holder = void_pointer_of(types, pointer) };
}

// Notes the place of the container. An address is one in the file, until all modules' casts are together.
static void describe_container(const struct search *search, const struct cast_container *found,
			       struct cast *cast)
{
	struct heap_types *types = &search->capture->snapshot.types;

	cast->at = found->at;
	cast->is_pointer = found->is_pointer;
	if (found->holder)
		cast->container = struct_of(search, found->holder);
	if (found->holder && module_type_number(search->module, cast->container, types) == 0) {
		cast->container = HEAP_NO_TYPE;
		cast->at = 0;
		cast->is_pointer = false;
	}
}

// True if a member is declared to be a pointer to something else than void: its type tells where it leads.
static bool is_typed(const struct search *search, const struct cast *cast)
{
	uint64_t number = find_pointer(search, cast->holder, cast->offset);
	const struct heap_types *types = &search->capture->snapshot.types;

	return number != 0 && !is_void_pointer(types, &types->types[type_of(search, number)]);
}

// A type that is not in the module's own table is none that a block has.
HEAP_MUST_CHECK
static struct heap_error *add_cast(void *context, const struct code_cast *found)
{
	struct search *search = context;
	struct heap_types *types = &search->capture->snapshot.types;
	struct cast cast = describe_holder(search, found);

	cast.target = struct_of(search, found->target);
	describe_container(search, &found->container, &cast);
	if (search->found.count == MAX_CASTS ||
	    module_type_number(search->module, cast.holder, types) == 0 ||
	    module_type_number(search->module, cast.target, types) == 0 || is_typed(search, &cast))
		return NULL;
	return heap_array_append(&search->found, cast);
}

static bool is_late(void *context)
{
	(void)context;
	return progress_is_late();
}

static int compare(const void *left, const void *right)
{
	const struct cast *a = left, *b = right;

	if (a->holder != b->holder)
		return a->holder < b->holder ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->target != b->target)
		return a->target < b->target ? -1 : 1;
	if (a->container != b->container)
		return a->container < b->container ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->is_pointer - b->is_pointer;
}

static void sort(struct cast *list, size_t *count)
{
	size_t kept = 0;

	if (*count)
		qsort(list, *count, sizeof(*list), compare);
	for (size_t i = 0; i < *count; i++) {
		if (kept == 0 || compare(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	}
	*count = kept;
}

// --- the cache -------------------------------------------------------------------------------

// Types have their numbers in the module's table there.
static const struct heap_dwarf_question question = { HEAP_DWARF_QUESTION_CASTS, 0, 0 };

static void note_casts(struct search *search)
{
	const struct heap_types *types = &search->capture->snapshot.types;
	struct heap_dwarf_answer_writer writer = { .answers = search->module->answers };

	heap_dwarf_answer_put(&writer, search->found.count);
	for (size_t i = 0; i < search->found.count; i++) {
		const struct cast *cast = &search->found.items[i];

		heap_dwarf_answer_put(&writer,
				      module_type_number(search->module, cast->holder, types));
		heap_dwarf_answer_put(&writer,
				      module_type_number(search->module, cast->target, types));
		heap_dwarf_answer_put(&writer, cast->offset);
		heap_dwarf_answer_put(&writer,
				      module_type_number(search->module, cast->container, types));
		heap_dwarf_answer_put(&writer, cast->at);
		heap_dwarf_answer_put(&writer, cast->is_pointer);
	}
	heap_dwarf_answer_add(&writer, &question);
}

// @param is_known  gets false if they are not in the cache
HEAP_MUST_CHECK
static struct heap_error *recall_casts(struct search *search, bool *is_known)
{
	const struct module *module = search->module;
	struct heap_dwarf_answer answer;
	uint64_t count;

	*is_known = heap_dwarf_answers_find(module->answers, &question, &answer);
	if (!*is_known)
		return NULL;
	count = heap_dwarf_answer_next_count(&answer, MAX_CASTS);
	for (uint64_t i = 0; i < count && !answer.is_bad; i++) {
		uint64_t holder = heap_dwarf_answer_next(&answer);
		uint64_t target = heap_dwarf_answer_next(&answer);
		uint64_t offset = heap_dwarf_answer_next(&answer);
		uint64_t container = heap_dwarf_answer_next(&answer);
		uint64_t at = heap_dwarf_answer_next(&answer);
		bool is_pointer = heap_dwarf_answer_next(&answer) != 0;

		if (holder >= module->debug.types.count || target >= module->debug.types.count ||
		    container >= module->debug.types.count)
			answer.is_bad = true;
		else
			HEAP_TRY(heap_array_append(
				&search->found,
				((struct cast){ module->type_map[holder], module->type_map[target],
						(uint32_t)offset, module->type_map[container], at,
						is_pointer })));
	}
	*is_known = heap_dwarf_answer_is_good(&answer);
	return NULL;
}

// --- all of them -----------------------------------------------------------------------------

// True if the code of a module is looked through: that of a browser takes longer than anybody waits.
HEAP_MUST_CHECK
static struct heap_error *is_small(const struct module *module, bool *result)
{
	struct heap_dwarf_units *units;

	HEAP_TRY(heap_dwarf_file_units(module->dwarf, &units));
	*result = units->main.info.size <= MAX_DEBUG;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_in_code(struct search *search)
{
	const struct code_cast_visitor visitor = {
		.read = read_code,
		.role = find_roles,
		.member = find_member,
		.variable = find_variable,
		.statics = find_static,
		.is_fixed = search->module->bias == 0,
		.frame = find_frame,
		.visit = add_cast,
		.is_late = is_late,
		.context = search,
	};
	bool is_wanted = false;
	struct heap_error *error = is_small(search->module, &is_wanted);

	if (!error && is_wanted)
		error = code_casts_visit(search->module->dwarf, &visitor);
	if (error && heap_error_code(error) != HEAP_ERROR_MEMORY) {
		module_note_error(search->module, error);
		return NULL;
	}
	sort(search->found.items, &search->found.count);
	if (!error && !progress_is_late())
		note_casts(search);
	return error;
}

// True if a cast is one of the C library or its loader, of any array of void pointers: that is one of their own.
static bool is_of_libc(const struct capture *capture, const struct module *module,
		       const struct cast *cast)
{
	const struct heap_types *types = &capture->snapshot.types;
	const char *name = heap_base_name(module->path);

	return is_void_pointer(types, &types->types[cast->holder]) &&
	       (strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
		strncmp(name, "ld-", 3) == 0);
}

HEAP_MUST_CHECK
static struct heap_error *find_in_module(struct capture *capture, struct module *module,
					 struct casts *casts)
{
	CLEANUP(release) struct search search = { .capture = capture, .module = module };
	bool is_known;

	isolation_suspect(module->start);
	HEAP_TRY(recall_casts(&search, &is_known));
	if (!is_known) {
		search.found.count = 0;
		HEAP_TRY(find_in_code(&search));
	}
	for (size_t i = 0; i < search.found.count; i++) {
		struct cast cast = search.found.items[i];

		if (cast.container == HEAP_NO_TYPE && cast.at != 0)
			cast.at += module->bias;
		if (!is_of_libc(capture, module, &cast))
			HEAP_TRY(heap_array_append(&casts->list, cast));
	}
	return NULL;
}

struct heap_error *casts_init(struct casts *casts, struct capture *capture)
{
	for (size_t i = 0; i < capture->modules.count && !progress_is_late(); i++) {
		if (capture->modules.modules[i].dwarf)
			HEAP_TRY(find_in_module(capture, &capture->modules.modules[i], casts));
	}
	sort(casts->list.items, &casts->list.count);
	return NULL;
}

void casts_deinit(struct casts *casts)
{
	heap_array_deinit(&casts->list);
}

const struct cast *casts_find(const struct casts *casts, heap_type_id holder, uint64_t offset,
			      size_t *count)
{
	const struct cast *list = casts->list.items;
	size_t first = heap_partition_point(
		i, 0, casts->list.count,
		list[i].holder < holder || (list[i].holder == holder && list[i].offset < offset));
	size_t end = first;

	while (end < casts->list.count && list[end].holder == holder && list[end].offset == offset)
		end++;
	*count = end - first;
	return *count ? &list[first] : NULL;
}
