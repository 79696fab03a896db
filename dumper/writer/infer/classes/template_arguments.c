// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/template_arguments.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/base/supervisor.h"
#include "dumper/writer/scan/modules/functions.h"
#include "dumper/writer/scan/modules/module_types.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_function_arguments.h"

enum {
	MAX_FUNCTIONS = 1 << 14,
};

HEAP_MUST_CHECK
static struct heap_error *ask(struct module *module, uint64_t pc,
			      struct heap_dwarf_function_arguments *found)
{
	struct heap_dwarf_code *code;

	isolation_suspect(module->start);
	if (heap_dwarf_function_arguments_recall(found, module->answers, pc))
		return NULL;
	HEAP_TRY(heap_dwarf_file_code(module->dwarf, &code));
	HEAP_TRY(heap_dwarf_function_arguments_find(found, code, pc));
	heap_dwarf_function_arguments_note(found, module->answers, pc);
	return NULL;
}

// A struct, or what a pointer leads to that the function was made for: the deleter of a pointer.
static heap_type_id find_struct(const struct heap_types *types, heap_type_id id)
{
	heap_type_id result = heap_types_strip(types, id);

	if (heap_types_is_pointer(types, result))
		result = heap_types_strip(types, heap_types_pointee(types, result));
	return heap_types_has_members(&types->types[result]) ? result : HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *add_function(struct template_arguments *arguments,
				       struct capture *capture, struct module *module,
				       uint64_t address,
				       struct heap_dwarf_function_arguments *found)
{
	struct heap_types *types = &capture->snapshot.types;
	struct template_function function = { .address = address,
					      .first = (uint32_t)arguments->types.count };
	struct heap_error *error = ask(module, address - module->bias, found);

	// Damage in a function's information costs the types that it would have told.
	if (error && heap_error_code(error) == HEAP_ERROR_MEMORY)
		return error;
	if (error) {
		heap_error_destroy(error);
		return NULL;
	}
	for (size_t i = 0; i < found->types.count; i++) {
		heap_type_id type =
			find_struct(types, module_type(module, found->types.items[i], types));

		if (type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(heap_array_append(&arguments->types, type));
		function.count++;
	}
	return function.count == 0 ? NULL : heap_array_append(&arguments->functions, function);
}

struct heap_error *template_arguments_init(struct template_arguments *arguments,
					   struct capture *capture)
{
	CLEANUP(heap_dwarf_function_arguments_deinit)
	struct heap_dwarf_function_arguments found = { 0 };
	CLEANUP_FREE uint64_t *addresses = NULL;
	const struct module *last = NULL;
	uint32_t count = 0;

	HEAP_TRY(functions_list(&capture->functions, &addresses, &count));
	// In the order of addresses those of a unit follow each other.
	for (uint32_t i = 0; i < count && i < MAX_FUNCTIONS && !progress_is_late(); i++) {
		struct module *module = modules_find(&capture->modules, addresses[i]);

		progress_flush();
		if (!module || !module->dwarf)
			continue;
		if (module != last) {
			heap_dwarf_function_arguments_deinit(&found);
			found = (struct heap_dwarf_function_arguments){ 0 };
		}
		last = module;
		HEAP_TRY(add_function(arguments, capture, module, addresses[i], &found));
	}
	return NULL;
}

void template_arguments_deinit(struct template_arguments *arguments)
{
	heap_array_deinit(&arguments->functions);
	heap_array_deinit(&arguments->types);
}

const heap_type_id *template_arguments_find(const struct template_arguments *arguments,
					    uint64_t address, size_t *count)
{
	const struct template_function *list = arguments->functions.items;
	size_t at =
		heap_partition_point(i, 0, arguments->functions.count, list[i].address < address);

	*count = 0;
	if (at == arguments->functions.count || list[at].address != address)
		return NULL;
	*count = list[at].count;
	return &arguments->types.items[list[at].first];
}
