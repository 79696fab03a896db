// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/snapshot/snapshot_info.h"

#include "lib/base/path.h"

#define KEY(name) \
	{ \
#name, offsetof(struct heap_info, name) \
	}

const struct heap_info_key heap_info_texts[] = {
	KEY(program), KEY(command),      KEY(host),       KEY(maker),  KEY(id),
	KEY(trace),   KEY(other_malloc), KEY(allocators), KEY(doubts), KEY(lacks),
};
const size_t heap_info_text_count = sizeof(heap_info_texts) / sizeof(heap_info_texts[0]);

const struct heap_info_key heap_info_numbers[] = {
	KEY(pid),           KEY(serial),         KEY(time_ns),
	KEY(start_time_ns), KEY(stop_ns),        KEY(clone_ns),
	KEY(content_limit), KEY(untyped),        KEY(missed_threads),
	KEY(writer_ns),     KEY(writer_bytes),   KEY(copied_bytes),
	KEY(checkpoint_ns), KEY(trace_start_ns), KEY(late_ns),
	KEY(steps),         KEY(stop_calls),     KEY(origin),
	KEY(signal),        KEY(taken),          KEY(oldest),
	KEY(core_bytes),    KEY(missing_bytes),  KEY(lost_bytes),
	KEY(fault),         KEY(fault_address),  KEY(sender),
	KEY(block_bytes),   KEY(spare_bytes),    KEY(spare_page_bytes),
	KEY(stack_bytes),   KEY(mapped_bytes),
};
const size_t heap_info_number_count = sizeof(heap_info_numbers) / sizeof(heap_info_numbers[0]);

static const char *module_name(const struct heap_snapshot *snapshot, uint32_t module)
{
	return heap_base_name(heap_snapshot_string(snapshot, snapshot->modules[module].path));
}

uint32_t heap_snapshot_program_module(const struct heap_snapshot *snapshot)
{
	const char *program = heap_base_name(snapshot->info.program);
	uint32_t found = 0;

	while (found < snapshot->module_count && strcmp(module_name(snapshot, found), program) != 0)
		found++;
	if (found < snapshot->module_count)
		return found;
	for (found = 0; found < snapshot->module_count; found++) {
		if (!strstr(module_name(snapshot, found), ".so"))
			break;
	}
	return found;
}
