// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/method_tables.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/scan/modules/module_types.h"
#include "dumper/writer/scan/image/page_cache.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	TABLE_WORDS = 64,    // of a table, that are read
	NESTED_WORDS = 40,   // of a table that a table leads to
	MIN_FUNCTIONS = 2,   // in a table
	MIN_IN_VARIABLE = 1, // in one that is a variable: a class may have but a destructor
	MIN_BLOCKS = 2,      // that point to a table
	MAX_FUNCTIONS = 1 << 14,
	LOCAL_WEIGHT = 1,
};

struct search {
	struct capture *capture;
	struct pages *pages;
	uint64_t data_start, data_end;  // of all modules
	const struct head_words *heads; // of static memory
	struct head_words in_heap;      // pointers to blocks that have pointers to code
	// Known functions: each has the receivers [first, first + count) of `known`.
	struct HEAP_ARRAY(struct method_table) functions;
	struct heap_hash_table by_function;
	struct HEAP_ARRAY(struct method_receiver) known;
};

static bool is_code(const struct search *search, uint64_t address)
{
	return address >= search->data_start && address < search->data_end &&
	       image_is_code(&search->capture->image, address);
}

static bool is_static(const struct search *search, uint64_t address)
{
	if (address < search->data_start || address >= search->data_end)
		return false;
	return modules_find(&search->capture->modules, address) != NULL &&
	       !is_code(search, address);
}

// --- words that may lead to tables ---------------------------------------------

// Pointers into the heap are edges, and not among the capture's head words.
HEAP_MUST_CHECK
static struct heap_error *count_edges(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->capture->snapshot;
	const struct objects *objects = &search->capture->objects;

	for (heap_object_id i = 0; i < objects->count && !progress_is_late(); i++) {
		progress_step();
		for (uint32_t j = snapshot->edge_first[i];
		     j < snapshot->edge_first[i + 1] && snapshot->edge_slot[j] < HEAD_WORDS; j++) {
			heap_object_id target = snapshot->edge_target[j];

			if (heap_bit_get(search->heads->with_code, target) &&
			    snapshot->edge_interior[j] <= METHOD_TABLE_HEAD)
				HEAP_TRY(head_words_count(&search->in_heap,
							  objects_address(objects, target) +
								  snapshot->edge_interior[j]));
		}
	}
	return NULL;
}

// --- the functions of a table --------------------------------------------------

// Adds a type that a function handles, once.
HEAP_MUST_CHECK
static struct heap_error *add_known(struct search *search, struct method_table *function,
				    heap_type_id type, uint32_t weight)
{
	for (uint32_t i = 0; i < function->receivers; i++) {
		struct method_receiver *known = &search->known.items[function->first_receiver + i];

		if (known->type == type) {
			known->weight += weight;
			return NULL;
		}
	}
	function->receivers++;
	return heap_array_append(&search->known, ((struct method_receiver){ type, weight, 1 }));
}

HEAP_MUST_CHECK
static struct heap_error *find_function(struct search *search, uint64_t address,
					struct method_table *result)
{
	uint64_t hash = heap_hash_u64(address);
	uint32_t at = heap_hash_find(&search->by_function, hash, i,
				     search->functions.items[i].address == address);
	struct module *module = modules_find(&search->capture->modules, address);
	CLEANUP_FREE struct module_site_type *types = NULL;
	size_t count = 0;

	*result = (struct method_table){ .address = address,
					 .first_receiver = (uint32_t)search->known.count };
	if (at != HEAP_HASH_NONE) {
		*result = search->functions.items[at];
		return NULL;
	}
	if (!module || !module->dwarf || search->functions.count == MAX_FUNCTIONS)
		return NULL;

	struct heap_error *error = module_site_types(
		module, address, &search->capture->snapshot.types, &types, &count);

	// Damage in a function's information costs the types that it would have told.
	heap_error_destroy(error);
	if (error)
		count = 0;

	const struct module_site_type *receiver = module_site_receiver(types, count);

	for (size_t i = 0; i < count; i++) {
		const struct module_site_type *type = &types[i];
		bool is_parameter = type->kind == HEAP_DWARF_SITE_PARAMETER;

		if (type->depth != types[count - 1].depth || type->kind == HEAP_DWARF_SITE_RETURN ||
		    (is_parameter && type != receiver))
			continue;
		HEAP_TRY(
			add_known(search, result,
				  heap_types_strip(&search->capture->snapshot.types, type->pointee),
				  is_parameter ? METHOD_TABLE_PARAMETER : LOCAL_WEIGHT));
	}
	HEAP_TRY(heap_array_append(&search->functions, *result));
	return heap_hash_add(&search->by_function, hash, (uint32_t)search->functions.count - 1);
}

HEAP_MUST_CHECK
static struct heap_error *add_receiver(struct method_tables *tables, struct method_table *table,
				       const struct method_receiver *receiver)
{
	for (uint32_t i = 0; i < table->receivers; i++) {
		struct method_receiver *known = &tables->receivers.items[table->first_receiver + i];

		if (known->type == receiver->type) {
			known->weight += receiver->weight;
			known->functions += receiver->functions;
			return NULL;
		}
	}
	table->receivers++;
	return heap_array_append(&tables->receivers, *receiver);
}

HEAP_MUST_CHECK
static struct heap_error *add_function(struct search *search, struct method_tables *tables,
				       struct method_table *table, uint64_t address)
{
	struct method_table function;

	HEAP_TRY(find_function(search, address, &function));
	for (uint32_t i = 0; i < function.receivers; i++)
		HEAP_TRY(add_receiver(tables, table,
				      &search->known.items[function.first_receiver + i]));
	return NULL;
}

// The variable of the program's that has an address, by debug information. @return NULL: none is known
static const struct heap_dwarf_variable *find_variable(const struct module *module,
						       uint64_t address)
{
	const struct heap_dwarf_variable *variables = module->debug.variables;
	size_t count =
		heap_partition_point(i, 0, module->debug.variable_count,
				     !(variables[i].flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL));
	size_t at =
		heap_partition_point(i, 0, count, variables[i].address <= address - module->bias);

	return at == 0 ? NULL : &variables[at - 1];
}

// The type of the variable that begins at an address, or of the element of one that is an array: there may be a table for
// each kind of object. @return HEAP_NO_TYPE if debug information tells none
static heap_type_id find_type(const struct search *search, uint64_t address)
{
	const struct heap_types *types = &search->capture->snapshot.types;
	const struct module *module = modules_find(&search->capture->modules, address);
	const struct heap_dwarf_variable *variable = module ? find_variable(module, address) : NULL;
	heap_type_id type;
	uint64_t offset;

	if (!variable)
		return HEAP_NO_TYPE;
	type = heap_types_strip(types, module->type_map[variable->type]);
	offset = address - module->bias - variable->address;
	if (offset > 0 && offset >= heap_types_size(types, type))
		return HEAP_NO_TYPE;
	while (types->types[type].kind == HEAP_TYPE_ARRAY) {
		heap_type_id element = heap_types_strip(types, types->types[type].target);
		uint64_t size = heap_types_size(types, element);

		progress_step();
		if (size == 0 || !(heap_types_has_members(&types->types[element]) ||
				   types->types[element].kind == HEAP_TYPE_ARRAY))
			break;
		type = element;
		offset %= size;
	}
	return offset == 0 ? type : HEAP_NO_TYPE;
}

// Bytes of what begins at an address, as far as debug information, symbols or blocks tell.
static uint64_t find_extent(const struct search *search, uint64_t address, heap_object_id *object)
{
	const struct objects *objects = &search->capture->objects;
	const struct module *module = modules_find(&search->capture->modules, address);
	const struct heap_types *types = &search->capture->snapshot.types;
	heap_type_id type = find_type(search, address);
	const struct heap_symbol *symbol;

	*object = HEAP_NO_OBJECT;
	if (heap_types_has_members(&types->types[type]))
		return heap_types_size(types, type);
	if (!module) {
		*object = objects_find(objects, address);
		return *object == HEAP_NO_OBJECT ? 0
						 : objects_address(objects, *object) +
							   objects_size(objects, *object) - address;
	}
	symbol = module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_OBJECT,
						    address - module->bias)
			     : NULL;
	if (!symbol || symbol->size == 0)
		return TABLE_WORDS * 8;
	return symbol->address + module->bias + symbol->size - address;
}

// True if a variable of the program's begins at an address, or a struct in an array, and nothing larger than a table.
static bool is_variable(const struct search *search, uint64_t address)
{
	const struct module *module = modules_find(&search->capture->modules, address);
	const struct heap_types *types = &search->capture->snapshot.types;
	heap_type_id type = find_type(search, address);
	const struct heap_symbol *symbol =
		module && module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_OBJECT,
							     address - module->bias)
				      : NULL;

	if (heap_types_has_members(&types->types[type]))
		return heap_types_size(types, type) <= TABLE_WORDS * 8;
	return symbol && symbol->address + module->bias == address && symbol->size > 0 &&
	       symbol->size <= TABLE_WORDS * 8;
}

static uint32_t read_words(const struct search *search, uint64_t address, uint64_t extent,
			   uint64_t *words, uint32_t most)
{
	uint32_t count = extent / 8 < most ? (uint32_t)(extent / 8) : most;

	pages_read(search->pages, address, words, count * 8);
	return count;
}

// Adds the functions of a table that a table leads to: those for numbers, for sequences.
HEAP_MUST_CHECK
static struct heap_error *add_nested(struct search *search, struct method_tables *tables,
				     struct method_table *table, uint64_t address)
{
	uint64_t words[NESTED_WORDS];
	heap_object_id object;
	uint32_t count = read_words(search, address, find_extent(search, address, &object), words,
				    NESTED_WORDS);

	for (uint32_t i = 0; i < count; i++) {
		if (is_code(search, words[i]))
			HEAP_TRY(add_function(search, tables, table, words[i]));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_table(struct search *search, struct method_tables *tables,
				    const struct head_word *word)
{
	struct method_table table = { .address = word->word,
				      .blocks = word->count,
				      .first_receiver = (uint32_t)tables->receivers.count };
	uint64_t words[TABLE_WORDS];
	uint32_t count, functions = 0;

	count = read_words(search, word->word, find_extent(search, word->word, &table.object),
			   words, TABLE_WORDS);
	for (uint32_t i = 0; i < count; i++)
		functions += is_code(search, words[i]);
	if (functions < (is_variable(search, word->word) ? MIN_IN_VARIABLE : MIN_FUNCTIONS))
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		if (is_code(search, words[i]))
			HEAP_TRY(add_function(search, tables, &table, words[i]));
		else if (words[i] % 8 == 0 && is_static(search, words[i]))
			HEAP_TRY(add_nested(search, tables, &table, words[i]));
	}
	table.type = find_type(search, table.address);
	HEAP_TRY(heap_array_append(&tables->list, table));
	return heap_hash_add(&tables->by_address, heap_hash_u64(table.address),
			     (uint32_t)tables->list.count - 1);
}

// --- callbacks ---------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_callback(struct search *search, struct method_tables *tables,
				       const struct head_word *word)
{
	struct method_table callback = { .address = word->word,
					 .blocks = word->count,
					 .object = HEAP_NO_OBJECT,
					 .first_receiver = (uint32_t)tables->receivers.count };

	HEAP_TRY(add_function(search, tables, &callback, word->word));
	if (callback.receivers == 0)
		return NULL;
	HEAP_TRY(heap_array_append(&tables->callbacks, callback));
	return heap_hash_add(&tables->by_callback, heap_hash_u64(callback.address),
			     (uint32_t)tables->callbacks.count - 1);
}

HEAP_MUST_CHECK
static struct heap_error *add_callbacks(struct search *search, struct method_tables *tables)
{
	const struct head_words *heads = search->heads;

	for (size_t i = 0; i < heads->list.count && !progress_is_late(); i++) {
		progress_flush();
		if (is_code(search, heads->list.items[i].word))
			HEAP_TRY(add_callback(search, tables, &heads->list.items[i]));
	}
	return NULL;
}

// --- all -------------------------------------------------------------------------

static void find_bounds(struct search *search)
{
	const struct modules *modules = &search->capture->modules;

	for (size_t i = 0; i < modules->count; i++) {
		if (search->data_start == 0 || modules->modules[i].start < search->data_start)
			search->data_start = modules->modules[i].start;
		if (modules->modules[i].end > search->data_end)
			search->data_end = modules->modules[i].end;
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_tables(struct search *search, struct method_tables *tables,
				     const struct head_words *heads)
{
	for (size_t i = 0; i < heads->list.count && !progress_is_late(); i++) {
		const struct head_word *word = &heads->list.items[i];

		progress_flush(); // one may take long: all variables of its functions are read
		if (word->count >= MIN_BLOCKS && !is_code(search, word->word))
			HEAP_TRY(add_table(search, tables, word));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_all(struct search *search, struct method_tables *tables)
{
	if (!search->pages)
		return heap_error_out_of_memory();
	find_bounds(search);
	HEAP_TRY(add_tables(search, tables, search->heads));
	HEAP_TRY(add_callbacks(search, tables));
	if (!search->heads->has_code)
		return NULL;
	HEAP_TRY(count_edges(search));
	return add_tables(search, tables, &search->in_heap);
}

struct heap_error *method_tables_init(struct method_tables *tables, struct capture *capture,
				      const struct head_words *heads)
{
	struct search search = {
		.capture = capture,
		.pages = pages_create(&capture->image, PAGES_IN_ORDER),
		.heads = heads,
	};
	struct heap_error *error = find_all(&search, tables);

	pages_destroy(search.pages);
	head_words_deinit(&search.in_heap);
	heap_array_deinit(&search.functions);
	heap_hash_table_deinit(&search.by_function);
	heap_array_deinit(&search.known);
	return error;
}

void method_tables_deinit(struct method_tables *tables)
{
	heap_array_deinit(&tables->list);
	heap_array_deinit(&tables->callbacks);
	heap_array_deinit(&tables->receivers);
	heap_hash_table_deinit(&tables->by_address);
	heap_hash_table_deinit(&tables->by_callback);
}

const struct method_table *method_tables_find(const struct method_tables *tables, uint64_t address)
{
	uint32_t at = heap_hash_find(&tables->by_address, heap_hash_u64(address), i,
				     tables->list.items[i].address == address);

	return at == HEAP_HASH_NONE ? NULL : &tables->list.items[at];
}

const struct method_table *method_tables_find_callback(const struct method_tables *tables,
						       uint64_t address)
{
	uint32_t found = heap_hash_find(&tables->by_callback, heap_hash_u64(address), i,
					tables->callbacks.items[i].address == address);

	return found == HEAP_HASH_NONE ? NULL : &tables->callbacks.items[found];
}
