// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/modules/standard.h"

#include "dumper/base/standard_library.h"
#include "lib/base/library_code.h"

bool standard_has(const struct module *module, const struct strings *strings, uint64_t lookup,
		  const struct code_place *outermost)
{
	const struct heap_symbol *symbol =
		module->elf ? heap_elf_find_symbol(module->elf, HEAP_SYMBOL_FUNCTION,
						   lookup - module->bias)
			    : NULL;

	return heapsnap_is_standard_library(module->path) ||
	       (symbol && heapsnap_is_standard_name(symbol->name)) ||
	       heap_is_library_function(strings->bytes + outermost->function);
}

size_t standard_skip(const struct module *module, const struct strings *strings, uint64_t lookup,
		     const struct code_place *places, size_t count)
{
	if (heapsnap_is_standard_library(module->path))
		return count;
	for (size_t i = 0; i + 1 < count; i++) {
		if (!heap_is_library_function(strings->bytes + places[i].function) &&
		    !heap_is_library_header(strings->bytes + places[i].file))
			return i;
	}
	return count > 0 && standard_has(module, strings, lookup, &places[count - 1]) ? count
										      : count - 1;
}
