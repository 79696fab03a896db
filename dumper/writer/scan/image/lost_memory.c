// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/image/lost_memory.h"

#include "lib/base/path.h"
#include "lib/dwarf/dwarf_registers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct losses {
	size_t stacks, modules;
	const char *first_module;
	uint64_t other; // bytes
};

// @return how many threads' stacks are in a segment, and have been cut off
static size_t count_stacks(const struct core *core, const struct core_segment *segment)
{
	size_t count = 0;

	for (size_t i = 0; i < core->threads.count; i++) {
		uint64_t pointer = core->threads.items[i].registers[HEAP_DWARF_REGISTER_SP];

		count += pointer >= segment->start && pointer < segment->end &&
			 core_is_lost(core, pointer);
	}
	return count;
}

static void count_losses(const struct core *core, struct losses *losses)
{
	const char *module = "";

	for (size_t i = 0; i < core->segments.count; i++) {
		const struct core_segment *segment = &core->segments.items[i];
		size_t stacks = segment->is_lost ? count_stacks(core, segment) : 0;

		if (!segment->is_lost)
			continue;
		losses->stacks += stacks;
		if (segment->name[0] != '\0' && strcmp(segment->name, module) != 0) {
			module = segment->name;
			losses->first_module = losses->first_module ? losses->first_module : module;
			losses->modules++;
		} else if (segment->name[0] == '\0' && stacks == 0) {
			losses->other += segment->wanted - segment->size;
		}
	}
}

HEAP_PRINTF(3, 4)
static void add(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	if (length > 0 && length + 2 < size)
		length = (size_t)(stpcpy(text + length, ", ") - text);
	va_start(arguments, format);
	vsnprintf(text + length, size - length, format, arguments);
	va_end(arguments);
}

void lost_memory_describe(const struct core *core, char *text, size_t size)
{
	struct losses losses = { 0 };

	text[0] = '\0';
	count_losses(core, &losses);
	if (losses.stacks > 0 && core->threads.count == 1)
		add(text, size, "the stack of its thread");
	else if (losses.stacks > 0)
		add(text, size, "the stacks of %zu of %zu threads", losses.stacks,
		    core->threads.count);
	if (losses.modules == 1)
		add(text, size, "the variables of %.64s", heap_base_name(losses.first_module));
	else if (losses.modules > 1)
		add(text, size, "the variables of %.64s and %zu other module%s",
		    heap_base_name(losses.first_module), losses.modules - 1,
		    losses.modules == 2 ? "" : "s");
	if (losses.other > 0)
		add(text, size, "%" PRIu64 " KiB of other memory", losses.other / 1024);
}
