// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Classes by their vtables.
 *
 *	block ─▶ vtable of D:  … virtual bases' offsets
 *	                       offset to top = 0          word - 16
 *	                       type information ─▶ …, name "1D"
 *	         word ───────▶ first virtual function
 *
 * The vtable's symbol, _ZTV and the class, names the class; where there are no symbols, the
 * vtable's type information does (Itanium C++ ABI, 2.5.2 and 2.9.5). A pointer to the vtable of a
 * base that is not at the object's start has another offset to top, and never lies in the first
 * word of an object. A class without debug information becomes a type without members.
 *
 * Debug information has no name of a lambda, and each compiler one of its own for a class that a template makes
 * for it. Then the functions in the vtable tell the class: one of them has it as its receiver.
 *
 * A vtable is looked up once, when the first block points to it: programs have many more vtables
 * than that.
 */
#include "dumper/writer/infer/classes/vtables.h"

#include "dumper/writer/infer/class_names.h"
#include "dumper/writer/scan/modules/module_types.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"
#include "lib/base/search.h"
#include "lib/types/templates.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	CACHE = 4096, // a power of 2
	MAX_NAME = 2048,
	MAX_FUNCTIONS = 8,   // of a vtable, to be asked for their receivers
	MAX_ENUMERATORS = 6, // among a class's arguments, to try all spellings
};

struct vtable {
	uint64_t start;
	uint64_t end;
	const char *symbol; // the module's
};

// The class that a word was found to stand for.
struct known {
	uint64_t word;
	heap_type_id type;
};

struct vtables {
	struct capture *capture;
	struct class_names *names;
	struct vtable *tables; // [count] by address
	size_t count, capacity;
	heap_type_id *opaque; // [opaque_count] that were added here
	size_t opaque_count, opaque_capacity;
	uint64_t start, end; // of all modules
	struct known known[CACHE];
};

// --- names -------------------------------------------------------------------

static heap_type_id find_class(const struct vtables *vtables, const char *name)
{
	heap_type_id type = class_names_find(vtables->names, name, strlen(name));
	uint8_t kind = vtables->capture->snapshot.types.types[type].kind;

	return kind == HEAP_TYPE_CLASS || kind == HEAP_TYPE_STRUCT ? type : HEAP_NO_TYPE;
}

static const char *find_enumerator(const struct heap_types *types, heap_type_id id, int64_t value)
{
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; type->kind == HEAP_TYPE_ENUM && i < type->members; i++) {
		const struct heap_enumerator *enumerator =
			&types->enumerators[type->first_member + i];

		if (enumerator->value == value)
			return heap_types_string(types, enumerator->name);
	}
	return NULL;
}

// Where the scope of an unscoped enumeration's enumerators ends: that of its own name.
static size_t scope_length(const char *name, size_t length)
{
	while (length > 0 && name[length - 1] != ':')
		length--;
	return length;
}

// An enumerator's value among a symbol's template arguments: "(policy)2".
struct cast {
	size_t length;     // of "policy"
	size_t whole;      // of all of it
	const char *value; // its enumerator's name
};

static bool find_cast(const struct vtables *vtables, const char *name, struct cast *cast)
{
	size_t length = *name == '(' ? strcspn(name + 1, "(),<>") : 0;
	const char *number = name + length + 2;
	char *end;

	if (length == 0 || name[1 + length] != ')' ||
	    !(isdigit((unsigned char)*number) || *number == '-'))
		return false;

	heap_type_id type = class_names_find(vtables->names, name + 1, length);
	int64_t value = strtoll(number, &end, 10);

	*cast = (struct cast){ length, (size_t)(end - name),
			       find_enumerator(&vtables->capture->snapshot.types, type, value) };
	return cast->value != NULL;
}

// The name with enumerators as clang has them in debug information, "policy::locked" or
// "locked", where symbols and gcc have "(policy)2".
// @param scoped  a bit per enumerator: whether it is written with its enumeration's name
// @return how many it has; 0 also if the name is too long
static unsigned name_enumerators(const struct vtables *vtables, const char *name, unsigned scoped,
				 char result[MAX_NAME])
{
	size_t at = 0;
	unsigned count = 0;

	while (*name && at < MAX_NAME - 1) {
		struct cast cast;

		if (!find_cast(vtables, name, &cast)) {
			result[at++] = *name++;
			continue;
		}

		bool with = scoped >> (count % 32) & 1;
		int scope = (int)(with ? cast.length : scope_length(name + 1, cast.length));
		int written = snprintf(result + at, MAX_NAME - at, "%.*s%s%s", scope, name + 1,
				       with ? "::" : "", cast.value);

		if (written < 0 || (size_t)written >= MAX_NAME - at)
			return 0;
		at += (size_t)written;
		name += cast.whole;
		count++;
	}
	result[at] = '\0';
	return *name ? 0 : count;
}

static heap_type_id find_with_enumerators(const struct vtables *vtables, const char *name)
{
	char other[MAX_NAME];
	heap_type_id type = HEAP_NO_TYPE;
	unsigned count = name_enumerators(vtables, name, 0, other);

	for (unsigned scoped = 0;
	     type == HEAP_NO_TYPE && count > 0 && count <= MAX_ENUMERATORS && scoped >> count == 0;
	     scoped++) {
		if (name_enumerators(vtables, name, scoped, other) == count)
			type = find_class(vtables, other);
	}
	return type;
}

// A class inside a function, "fill()::local", of which debug information only says "local".
static heap_type_id find_local(const struct vtables *vtables, const char *name)
{
	const char *scope = strstr(name, ")::");

	if (!scope || strpbrk(scope + 3, "<(:"))
		return HEAP_NO_TYPE;
	return find_class(vtables, scope + 3);
}

// --- receivers ---------------------------------------------------------------

static bool is_constant(const struct vtables *vtables, uint64_t address)
{
	const struct image_mapping *mapping = image_find(&vtables->capture->image, address);

	return mapping && mapping->kind == IMAGE_FILE && address % 8 == 0;
}

static bool is_code(const struct vtables *vtables, uint64_t address)
{
	const struct image_mapping *mapping = image_find(&vtables->capture->image, address);

	return mapping && (mapping->protection & 4);
}

// The pointee of a function's first parameter. What a damaged one would have told is lost.
static heap_type_id find_receiver(struct vtables *vtables, uint64_t function)
{
	struct heap_types *types = &vtables->capture->snapshot.types;
	struct module *module = modules_find(&vtables->capture->modules, function);
	CLEANUP_FREE struct module_site_type *found = NULL;
	const struct module_site_type *receiver;
	struct heap_error *error;
	size_t count = 0;

	if (!module || !module->dwarf)
		return HEAP_NO_TYPE;
	error = module_site_types(module, function, types, &found, &count);
	heap_error_destroy(error);
	receiver = error ? NULL : module_site_receiver(found, count);
	return receiver ? heap_types_strip(types, receiver->pointee) : HEAP_NO_TYPE;
}

// True if a class is an instance of the template that a name begins with.
static bool is_instance(const struct heap_types *types, heap_type_id id, const char *name)
{
	const struct heap_type *type = &types->types[id];
	const char *own = heap_types_string(types, type->name);
	size_t length = strcspn(name, "<") + 1;

	return (type->kind == HEAP_TYPE_CLASS || type->kind == HEAP_TYPE_STRUCT) &&
	       type->size > 0 && strncmp(own, name, length) == 0 && heap_template_is_instance(own);
}

// An instance of a template whose name has another spelling in debug information, as that for a lambda.
static heap_type_id find_by_functions(struct vtables *vtables, const char *name, uint64_t table)
{
	if (!strchr(name, '<') || name[strlen(name) - 1] != '>')
		return HEAP_NO_TYPE;
	for (int i = 0; i < MAX_FUNCTIONS; i++) {
		uint64_t function;

		if (!image_read(&vtables->capture->image, table + (uint64_t)i * 8, &function, 8) ||
		    !is_code(vtables, function))
			return HEAP_NO_TYPE;

		heap_type_id type = find_receiver(vtables, function);

		if (type != HEAP_NO_TYPE &&
		    is_instance(&vtables->capture->snapshot.types, type, name))
			return type;
	}
	return HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *add_opaque(struct vtables *vtables, const char *name,
				     heap_type_id *result)
{
	struct heap_types *types = &vtables->capture->snapshot.types;
	struct heap_type type = {
		.kind = HEAP_TYPE_CLASS,
		.flags = HEAP_TYPE_DECLARATION | HEAP_TYPE_POLYMORPHIC,
	};

	for (size_t i = 0; i < vtables->opaque_count; i++) {
		*result = vtables->opaque[i];
		if (strcmp(heap_types_string(types, types->types[*result].name), name) == 0)
			return NULL;
	}
	HEAP_TRY(heap_reserve(vtables->opaque, vtables->opaque_capacity,
			      (size_t)vtables->opaque_count + 1));

	HEAP_TRY(heap_types_add_string(types, name, &type.name));
	HEAP_TRY(heap_types_add(types, &type, result));
	vtables->opaque[vtables->opaque_count++] = *result;
	return NULL;
}

// The class of a vtable's symbol. @param table  where its functions begin
static heap_type_id resolve(struct vtables *vtables, const char *symbol, uint64_t table)
{
	CLEANUP_FREE char *name = heap_demangle_vtable(symbol);
	heap_type_id type = name ? find_class(vtables, name) : HEAP_NO_TYPE;

	if (!name || strncmp(name, "_ZTV", 4) == 0)
		return HEAP_NO_TYPE;
	if (type == HEAP_NO_TYPE)
		type = find_with_enumerators(vtables, name);
	if (type == HEAP_NO_TYPE)
		type = find_local(vtables, name);
	if (type == HEAP_NO_TYPE)
		type = find_by_functions(vtables, name, table);
	if (type == HEAP_NO_TYPE) {
		// One class less, should memory be short.
		struct heap_error *error = add_opaque(vtables, name, &type);

		heap_error_destroy(error);
		if (error)
			type = HEAP_NO_TYPE;
	}
	return type;
}

// --- memory ------------------------------------------------------------------

// The class by type information: type_info's second word is its name, the type as symbols
// have it, with a * before it if it is not to be compared by address.
static heap_type_id find_by_information(struct vtables *vtables, uint64_t information,
					uint64_t table)
{
	const struct image *image = &vtables->capture->image;
	uint64_t words[2];
	char symbol[MAX_NAME] = "_ZTV", name[MAX_NAME - 4];
	const struct image_mapping *mapping;

	if (!is_constant(vtables, information) ||
	    !image_read(image, information, words, sizeof(words)) ||
	    !is_constant(vtables, words[0]))
		return HEAP_NO_TYPE;
	mapping = image_find(image, words[1]);
	if (!mapping || mapping->kind != IMAGE_FILE)
		return HEAP_NO_TYPE;
	image_read_string(image, words[1], name, sizeof(name));

	const char *mangled = name + (*name == '*');

	// A class: its length and name, or one inside another, or of std.
	if (!isdigit((unsigned char)*mangled) && !strchr("NSZ", *mangled))
		return HEAP_NO_TYPE;
	strcat(symbol, mangled);
	return *mangled ? resolve(vtables, symbol, table) : HEAP_NO_TYPE;
}

static const struct vtable *find_symbol(const struct vtables *vtables, uint64_t word)
{
	size_t at = heap_partition_point(i, 0, vtables->count, vtables->tables[i].end <= word);

	// A vtable pointer points past the offset to top and the type information, so never to
	// the symbol itself.
	return at < vtables->count && vtables->tables[at].start < word ? &vtables->tables[at]
								       : NULL;
}

static heap_type_id look_up(struct vtables *vtables, uint64_t word)
{
	const struct vtable *vtable = find_symbol(vtables, word);
	uint64_t words[3]; // offset to top, type information, first virtual function

	if (!is_constant(vtables, word) ||
	    !image_read(&vtables->capture->image, word - 16, words, 16) || words[0] != 0)
		return HEAP_NO_TYPE;
	if (vtable)
		return resolve(vtables, vtable->symbol, word);
	if (!image_read(&vtables->capture->image, word, &words[2], 8) ||
	    !is_code(vtables, words[2]))
		return HEAP_NO_TYPE;
	return find_by_information(vtables, words[1], word);
}

void vtables_bounds(const struct vtables *vtables, uint64_t *low, uint64_t *high)
{
	*low = vtables->start;
	*high = vtables->end;
}

heap_type_id vtables_find(struct vtables *vtables, uint64_t word)
{
	if (word < vtables->start || word >= vtables->end || word % 8)
		return HEAP_NO_TYPE;

	struct known *known = &vtables->known[word / 8 % CACHE];

	if (known->word != word)
		*known = (struct known){ word, look_up(vtables, word) };
	return known->type;
}

// --- symbols -----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add(struct vtables *vtables, const struct vtable *table)
{
	HEAP_TRY(heap_reserve(vtables->tables, vtables->capacity, (size_t)vtables->count + 1));
	vtables->tables[vtables->count++] = *table;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_module(struct vtables *vtables, const struct module *module)
{
	if (vtables->start == 0 || module->start < vtables->start)
		vtables->start = module->start;
	if (module->end > vtables->end)
		vtables->end = module->end;
	for (size_t i = 0; module->elf && i < module->elf->symbol_count; i++) {
		const struct heap_symbol *symbol = &module->elf->symbols[i];

		if (symbol->kind != HEAP_SYMBOL_OBJECT || strncmp(symbol->name, "_ZTV", 4) != 0)
			continue;
		HEAP_TRY(add(vtables, &(struct vtable){
					      .start = symbol->address + module->bias,
					      .end = symbol->address + module->bias + symbol->size,
					      .symbol = symbol->name,
				      }));
	}
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct vtable *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void destroy(struct vtables **vtables)
{
	vtables_destroy(*vtables);
}

struct heap_error *vtables_create(struct capture *capture, struct vtables **result)
{
	CLEANUP(destroy) struct vtables *vtables = calloc(1, sizeof(*vtables));

	if (!vtables)
		return heap_error_out_of_memory();
	vtables->capture = capture;
	HEAP_TRY(class_names_create(&capture->snapshot.types, &vtables->names));
	for (size_t i = 0; i < capture->modules.count; i++)
		HEAP_TRY(add_module(vtables, &capture->modules.modules[i]));
	if (vtables->count > 0)
		qsort(vtables->tables, vtables->count, sizeof(*vtables->tables), compare);
	*result = keep(vtables);
	return NULL;
}

void vtables_destroy(struct vtables *vtables)
{
	if (!vtables)
		return;
	class_names_destroy(vtables->names);
	free(vtables->opaque);
	free(vtables->tables);
	free(vtables);
}
