// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/std_any.h"

#include "lib/types/templates.h"
#include "shell/print/place.h"

#include <string.h>

// The template whose instances copy and destroy what a std::any has, behind the namespace; NULL: another function.
static const char *find_any_manager(const char *name, bool *is_inside)
{
	static const struct {
		const char *name;
		bool is_inside; // the std::any, not in a block of its own
	} managers[] = {
		{ "any::_Manager_internal<", true },
		{ "any::_Manager_external<", false },
		{ "__any_imp::_SmallHandler<", true },
		{ "__any_imp::_LargeHandler<", false },
	};
	const char *bare = place_skip_standard(name);

	for (size_t i = 0; bare && i < sizeof(managers) / sizeof(*managers); i++) {
		if (strncmp(bare, managers[i].name, strlen(managers[i].name)) == 0) {
			*is_inside = managers[i].is_inside;
			return bare;
		}
	}
	return NULL;
}

const char *std_any_type(struct session *session, uint64_t manager, bool *is_inside)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_call *function = heap_snapshot_function(snapshot, manager);
	const char *name = function ? heap_snapshot_string(snapshot, function->function) : "";
	size_t length;
	const char *argument;

	name = find_any_manager(name, is_inside);
	if (!name)
		return NULL;
	length = heap_template_length(name);
	name = session_format(session, "%.*s", (int)length, name);
	argument = length > 0 ? heap_template_argument(name, 0, &length) : NULL;
	return argument ? session_format(session, "%.*s", (int)length, argument) : NULL;
}
